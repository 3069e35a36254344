//! Watch responses and deltas made up for tests, from a seeded history that etcd could have had.
#![allow(dead_code, missing_docs)]

pub mod etcd_model;

use delta::event::Change;
use delta::{Cancel, DeltaFile, DeltaWriter, Header, Kind, Options, Replay, Summary};
use etcd_data::kv::KeyValueRef;
use etcd_data::proto::{put_bytes_field, put_varint_field};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const CLUSTER: u64 = 0xDEAD_BEEF_0BAD_CAFE;

/// An owned event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub delete: bool,
    pub key: Vec<u8>,
    pub create: i64,
    pub main: i64,
    pub version: i64,
    pub value: Vec<u8>,
    pub lease: i64,
}

impl Event {
    pub fn put(main: i64, key: &[u8], value: &[u8]) -> Self {
        Self {
            delete: false,
            key: key.to_vec(),
            create: main,
            main,
            version: 1,
            value: value.to_vec(),
            lease: 0,
        }
    }

    pub fn delete(main: i64, key: &[u8]) -> Self {
        Self {
            delete: true,
            key: key.to_vec(),
            create: 0,
            main,
            version: 0,
            value: Vec::new(),
            lease: 0,
        }
    }

    pub fn change(&self) -> Change<'_> {
        let kind = if self.delete { Kind::Delete } else { Kind::Put };
        let kv = KeyValueRef {
            key: &self.key,
            create_revision: self.create,
            mod_revision: self.main,
            version: self.version,
            value: &self.value,
            lease: self.lease,
        };
        Change { kind, kv }
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.change().encode(&mut out);
        out
    }
}

/// A `WatchResponse` as etcd would send it.
pub fn response(header_revision: i64, fragment: bool, events: &[Event]) -> Vec<u8> {
    let mut out = control(header_revision);
    if fragment {
        put_varint_field(&mut out, 7, 1);
    }
    for event in events {
        put_bytes_field(&mut out, 11, &event.bytes());
    }
    out
}

/// A response without events: progress, or the front of another.
pub fn control(header_revision: i64) -> Vec<u8> {
    let mut header = Vec::new();
    put_varint_field(&mut header, 1, CLUSTER);
    put_varint_field(&mut header, 2, 7);
    put_varint_field(&mut header, 3, header_revision.cast_unsigned());
    let mut out = Vec::new();
    put_bytes_field(&mut out, 1, &header);
    out
}

pub fn created(header_revision: i64) -> Vec<u8> {
    let mut out = control(header_revision);
    put_varint_field(&mut out, 3, 1);
    out
}

pub fn header(start_revision: i64) -> Header {
    Header {
        cluster_id: CLUSTER,
        member_id: 7,
        server_version: "3.6.16".into(),
        predecessor_name: "Full-00000000-00000001-1700000000.zst".into(),
        predecessor_sha256: Some([3; 32]),
        start_revision,
        created_ms: 1_700_000_000_000,
        timeline: None,
    }
}

pub struct Dir {
    dir: tempfile::TempDir,
}

impl Dir {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Writes one `.ebd` with one response per main revision.
pub fn write_ebd(path: &Path, events: &[Event], options: &Options) -> Summary {
    let mut writer = DeltaWriter::create(path, header(events[0].main), options).unwrap();
    for chunk in events.chunk_by(|a, b| a.main == b.main) {
        writer
            .push_response(
                &response(9_999_999, false, chunk),
                1_700_000_000_000 + chunk[0].main,
            )
            .unwrap();
    }
    writer.finish(&[]).unwrap()
}

/// Every event of a delta of either format, by way of the `.ebd` reader.
pub fn read_events(path: &Path) -> Vec<Event> {
    let dir = Dir::new();
    let local = dir.path("local.ebd");
    delta::transcode(path, &local, &Options::default(), &Cancel::never()).unwrap();
    let mut reader = delta::EbdReader::open(&local).unwrap();
    let mut out = Vec::new();
    while let Some(block) = reader.next_block().unwrap() {
        let mut events = block.events();
        while let Some(stored) = events.next_event().unwrap() {
            let change = Change::parse(stored.bytes).unwrap();
            let kv = change.kv;
            out.push(Event {
                delete: change.kind == Kind::Delete,
                key: kv.key.to_vec(),
                create: kv.create_revision,
                main: kv.mod_revision,
                version: kv.version,
                value: kv.value.to_vec(),
                lease: kv.lease,
            });
        }
    }
    out
}

pub fn verify(path: &Path) -> delta::Result<Summary> {
    DeltaFile::open(path)?.verify(&Cancel::never())
}

/// Replays files above a revision: all requests, their barriers, and the digest.
pub fn replay(after: i64, paths: &[PathBuf]) -> delta::Result<(Vec<Vec<u8>>, Vec<bool>, Replay)> {
    let mut replay = Replay::new(after);
    let (mut requests, mut barriers) = (Vec::new(), Vec::new());
    for path in paths {
        replay.open(path)?;
        while let Some(batch) = replay.next_batch(&Cancel::never())? {
            let mut start = 0;
            for (end, barrier) in batch.ends.iter().zip(&batch.barriers) {
                requests.push(batch.bytes[start..*end as usize].to_vec());
                barriers.push(*barrier == 1);
                start = *end as usize;
            }
        }
    }
    Ok((requests, barriers, replay))
}

/// A small generator of numbers: the same seed gives the same history everywhere.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// A history of `mains` transactions above `after`: puts, deletes, transactions, put-and-delete of one key, leases.
pub fn history(seed: u64, after: i64, mains: i64) -> Vec<Event> {
    let mut random = Random::new(seed);
    let mut live: BTreeMap<Vec<u8>, (i64, i64)> = BTreeMap::new();
    let mut events = Vec::new();
    for main in after + 1..=after + mains {
        let ops = if random.below(4) == 0 {
            1 + random.below(6)
        } else {
            1
        };
        let mut touched = std::collections::BTreeSet::new();
        for _ in 0..ops {
            let key = format!("k{}", random.below(12)).into_bytes();
            if !touched.insert(key.clone()) {
                continue;
            }
            if live.contains_key(&key) && random.below(2) == 0 {
                live.remove(&key);
                events.push(Event::delete(main, &key));
                continue;
            }
            let (create, version) = live
                .get(&key)
                .map_or((main, 1), |(create, version)| (*create, version + 1));
            let lease = if random.below(5) == 0 {
                random.next().cast_signed()
            } else {
                0
            };
            let size = random.below(60) as usize;
            let value = random.bytes(size);
            events.push(Event {
                delete: false,
                key: key.clone(),
                create,
                main,
                version,
                value,
                lease,
            });
            live.insert(key.clone(), (create, version));
            if random.below(4) == 0 {
                live.remove(&key);
                events.push(Event::delete(main, &key));
            }
        }
    }
    events
}
