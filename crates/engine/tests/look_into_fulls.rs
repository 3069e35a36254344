//! Fulls that have lived: the same answers from the plain file, by tree, and from the packed one, front to back, although
//! old leaves with other values lie between the live ones; and what damaged ones are called.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use bbolt::{Appender, Builder, Cancel};
use engine::look::{Ask, Full, Keys, Look, Query, ROW_HEAD_BYTES, Side};
use etcd_data::kv::KeyValueRef;
use etcd_data::{RecordKey, Revision};
use pack::{Codec, Packer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const KEYS: u64 = 300;
const MAINS: i64 = 4000;
const COMPACTED: i64 = 700;

#[derive(Clone)]
struct Change {
    main: i64,
    key: Vec<u8>,
    tombstone: bool,
    create: i64,
    version: i64,
    value: Vec<u8>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) % bound
    }
}

/// One change a main; values of up to three pages, so that leaves overflow and lie across frames.
fn history(seed: u64) -> Vec<Change> {
    let mut random = Random(seed | 1);
    let mut live: BTreeMap<Vec<u8>, (i64, i64)> = BTreeMap::new();
    (2..=MAINS)
        .map(|main| {
            let key = format!("k/{:04}", random.below(KEYS)).into_bytes();
            let known = live.get(&key).copied();
            let tombstone = known.is_some() && random.below(5) == 0;
            let (create, version) = match known {
                _ if tombstone => (0, 0),
                Some((create, version)) => (create, version + 1),
                None => (main, 1),
            };
            if tombstone {
                live.remove(&key);
            } else {
                live.insert(key.clone(), (create, version));
            }
            let bytes = if random.below(9) == 0 {
                random.below(12_000)
            } else {
                random.below(2_500)
            };
            let value = (0..if tombstone { 0 } else { bytes })
                .map(|_| random.below(256) as u8)
                .collect();
            Change {
                main,
                key,
                tombstone,
                create,
                version,
                value,
            }
        })
        .collect()
}

/// What a compaction at `COMPACTED` leaves.
fn compacted(changes: &[Change]) -> Vec<Change> {
    let newest: BTreeMap<&[u8], i64> = changes
        .iter()
        .filter(|change| change.main <= COMPACTED)
        .map(|change| (change.key.as_slice(), change.main))
        .collect();
    let stays = |change: &&Change| {
        change.main > COMPACTED
            || (!change.tombstone && newest[change.key.as_slice()] == change.main)
    };
    changes.iter().filter(stays).cloned().collect()
}

fn fill(to: &mut Appender, changes: &[Change]) {
    to.replace_bucket(b"key", |records| {
        changes.iter().try_for_each(|change| {
            let kv = KeyValueRef {
                key: &change.key,
                create_revision: change.create,
                mod_revision: if change.tombstone { 0 } else { change.main },
                version: change.version,
                value: &change.value,
                lease: 0,
            };
            let (mut value, revision) = (Vec::new(), Revision::new(change.main, 0));
            kv.encode(&mut value);
            records.put(
                &RecordKey {
                    revision,
                    tombstone: change.tombstone,
                }
                .to_bytes(),
                &value,
            )
        })
    })
    .unwrap();
}

/// Written three times over: the pages of the first two are free, and hold other histories.
fn aged(dir: &Path, seed: u64, changes: &[Change]) -> PathBuf {
    let path = dir.join(format!("db-{seed}"));
    let mut builder = Builder::create(&path, 4096).unwrap();
    fill(&mut builder, &history(seed + 1000));
    builder.commit().unwrap();
    for changes in [&history(seed + 2000)[..1000], changes] {
        let mut appender = Appender::open(&path).unwrap();
        fill(&mut appender, changes);
        appender
            .replace_bucket(b"meta", |records| {
                records.put(b"finishedCompactRev", &Revision::new(COMPACTED, 0).to_key())
            })
            .unwrap();
        appender.commit().unwrap();
    }
    path
}

fn packed(path: &Path) -> PathBuf {
    let target = path.with_extension("zst");
    let mut packer = Packer::create(&target, Codec::Zstd).unwrap();
    packer.write(&std::fs::read(path).unwrap()).unwrap();
    packer.finish().unwrap();
    target
}

type Row = (u8, Vec<u8>, i64, i64, Vec<u8>);

fn rows(full: &Full, keys: Keys, ask: Ask) -> engine::Result<Vec<Row>> {
    let spill_dir = std::env::temp_dir();
    let mut look = Look::new(Query {
        keys,
        ask,
        with_values: true,
        spill_dir,
    });
    look.add_full(full, 7, Side::Both, -1, &Cancel::never())?;
    let mut answer = look.answer()?;
    let mut found = Vec::new();
    while let Some(batch) = answer.next_batch(50_000, &Cancel::never())? {
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            let word =
                |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
            let long = |at: usize| i64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
            assert_eq!(word(8), 7);
            let body = &rest[ROW_HEAD_BYTES..word(0)];
            let (key, value) = body.split_at(word(12));
            found.push((
                rest[4],
                key.to_vec(),
                long(24),
                long(72),
                value[..word(16)].to_vec(),
            ));
            rest = &rest[word(0)..];
        }
    }
    Ok(found)
}

fn state(changes: &[Change], at: i64) -> BTreeMap<&[u8], &Change> {
    let mut state = BTreeMap::new();
    for change in changes.iter().filter(|change| change.main <= at) {
        if change.tombstone {
            state.remove(change.key.as_slice());
        } else {
            state.insert(change.key.as_slice(), change);
        }
    }
    state
}

fn all() -> Keys {
    Keys::Prefix(b"k/".to_vec())
}

#[test]
fn plain_and_packed_give_the_answers_of_the_history() {
    let dir = tempfile::tempdir().unwrap();
    for seed in 1..4 {
        let changes = history(seed);
        let plain_path = aged(dir.path(), seed, &compacted(&changes));
        let packed_path = packed(&plain_path);
        let open =
            |path: &Path, codec| Full::open(path, codec, dir.path(), &Cancel::never()).unwrap();
        let fulls = [
            open(&plain_path, Codec::None),
            open(&packed_path, Codec::Zstd),
        ];
        for full in &fulls {
            assert_eq!(
                (full.facts().revision, full.facts().compacted),
                (changes.last().unwrap().main, COMPACTED)
            );
            for at in [COMPACTED, COMPACTED + 1, 2000, MAINS, MAINS + 5] {
                let state = state(&changes, at);
                let expected: Vec<Row> = state
                    .iter()
                    .map(|(key, change)| (0, key.to_vec(), change.main, 0, change.value.clone()))
                    .collect();
                assert!(
                    rows(full, all(), Ask::State { at }).unwrap() == expected,
                    "seed {seed}, state at {at}"
                );
                for key in (0..KEYS + 1)
                    .step_by(23)
                    .map(|key| format!("k/{key:04}").into_bytes())
                {
                    let found = rows(full, Keys::One(key.clone()), Ask::State { at }).unwrap();
                    let wanted: Vec<Row> = expected
                        .iter()
                        .filter(|row| row.1 == key)
                        .cloned()
                        .collect();
                    assert!(
                        found == wanted,
                        "seed {seed}, {} at {at}",
                        key.escape_ascii()
                    );
                }
            }
            let (before, after) = (state(&changes, 1500), state(&changes, 3000));
            let told = rows(
                full,
                all(),
                Ask::Difference {
                    from: 1500,
                    to: 3000,
                },
            )
            .unwrap();
            let main = |state: &BTreeMap<&[u8], &Change>, key: &[u8]| {
                state.get(key).map(|change| change.main)
            };
            let differing = before
                .keys()
                .chain(after.keys())
                .collect::<std::collections::BTreeSet<_>>();
            let differing = differing
                .into_iter()
                .filter(|key| main(&before, key) != main(&after, key));
            assert_eq!(
                told.iter().map(|row| row.1.as_slice()).collect::<Vec<_>>(),
                differing.copied().collect::<Vec<_>>()
            );
        }
        let told = |full| rows(full, all(), Ask::History { to: 3500 }).unwrap();
        assert!(told(&fulls[0]) == told(&fulls[1]), "seed {seed}");
        let older = rows(&fulls[1], all(), Ask::State { at: COMPACTED - 1 }).unwrap_err();
        assert_eq!(older.code(), "COMPACTED", "{older}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 6);
}

#[test]
fn a_damaged_full_gives_the_answer_or_an_error_and_the_same_packed() {
    let dir = tempfile::tempdir().unwrap();
    let changes = history(9);
    let path = aged(dir.path(), 9, &compacted(&changes));
    let (bytes, cancel) = (std::fs::read(&path).unwrap(), Cancel::never());
    let mut random = Random(77);
    let mut refused = 0;
    for round in 0..40 {
        let mut damaged = bytes.clone();
        let page = 2 + random.below(bytes.len() as u64 / 4096 - 2) as usize;
        match round % 4 {
            0 => damaged[page * 4096 + random.below(48) as usize] ^= 1 << random.below(8),
            1 => damaged[page * 4096..][..4096].fill(random.below(2) as u8 * 0xff),
            2 => damaged.copy_within((page - 1) * 4096..page * 4096, page * 4096),
            _ => damaged.truncate(page * 4096 + random.below(4096) as usize),
        }
        std::fs::write(&path, &damaged).unwrap();
        let _ = std::fs::remove_file(path.with_extension("zst"));
        let zst = packed(&path);
        let ask = |path: &Path, codec| {
            let full = Full::open(path, codec, dir.path(), &cancel)?;
            rows(&full, all(), Ask::State { at: MAINS })
        };
        match (ask(&path, Codec::None), ask(&zst, Codec::Zstd)) {
            (Ok(plain), Ok(packed)) => assert!(plain == packed, "round {round}"),
            // The order from leaf to leaf is only seen by tree.
            (Err(plain), Ok(_)) => assert_eq!(plain.code(), "NOT_SORTED", "round {round}: {plain}"),
            (Ok(_), Err(packed)) => panic!("round {round}: only the packed one: {packed}"),
            (Err(plain), Err(packed)) => {
                refused += 1;
                for error in [plain, packed] {
                    let codes = ["CORRUPT", "TRUNCATED", "NOT_SORTED", "UNSUPPORTED"];
                    assert!(codes.contains(&error.code()), "round {round}: {error}");
                }
            }
        }
    }
    assert!(refused > 10, "{refused}");
}
