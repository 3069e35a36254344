//! Any bytes give a verdict: random changes anywhere in a real snapshot, then every reader over it. None may panic, hang or
//! ask for memory that the file does not justify. `ETCDBR_MUTATIONS=10000` for the full form.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

mod fixture;

use std::fs;
use std::path::Path;

use bbolt::{Cancel, Db};
use etcd_data::inspect::last_record_at;
use etcd_data::member_dir::ClusterSpec;
use etcd_data::trailer::{MissingTrailer, check_trailer};
use etcd_data::unknown_leases::leases_referred_to;
use etcd_data::{
    Checkpoint, MvccOptions, ReplaySeat, Seat, assemble, hash_kv, hash_kv_latest, inspect,
    mvcc_check, prepare_replay_base, prove_records, unknown_leases,
};
use fixture::Unpacked;

const SHORT_FORM: u64 = 250;
const SEED: u64 = 0x5EED_0FE7;

#[test]
fn every_reader_and_writer_gives_a_verdict() {
    let cases = std::env::var("ETCDBR_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(SHORT_FORM);
    let sources = ["etcd-3.4", "etcd-3.7"].map(Unpacked::state_of);
    let originals = sources
        .iter()
        .map(|source| fs::read(source.path()).unwrap())
        .collect::<Vec<_>>();
    let work = tempfile::tempdir().unwrap();
    let mut random = Random(SEED);
    for case in 0..cases {
        let which = (case % 2) as usize;
        let mut bytes = originals[which].clone();
        damage(&mut bytes, &mut random);
        let path = work.path().join("damaged.db");
        fs::write(&path, &bytes).unwrap();
        read_all(&path);
        write_all(&path, &sources[which].path(), work.path());
    }
}

/// Single bytes and short runs, biased to where small pages and headers lie; sometimes a cut.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        let at = match random.below(3) {
            0 => random.below(bytes.len() as u64) as usize,
            _ => (random.below(bytes.len() as u64 / 4096) * 4096 + random.below(64)) as usize,
        };
        let run = 1 + random.below(8) as usize;
        for byte in bytes.iter_mut().skip(at).take(run) {
            *byte = random.next() as u8;
        }
    }
    if random.below(10) == 0 {
        bytes.truncate(random.below(bytes.len() as u64) as usize);
    }
}

fn read_all(path: &Path) {
    let cancel = Cancel::never();
    let _ = check_trailer(path, MissingTrailer::Allow, &cancel, &mut |_| {});
    let Ok(db) = Db::open(path) else { return };
    let _ = inspect(&db, &cancel);
    let _ = last_record_at(&db, 1200);
    let _ = mvcc_check(&db, MvccOptions::default(), &cancel);
    let _ = hash_kv_latest(&db, &cancel);
    let _ = hash_kv(&db, 1300, 1100, &cancel);
    let _ = unknown_leases(&db, &cancel);
    let _ = leases_referred_to(&db, 1000, &cancel);
    let _ = prove_records(
        &db,
        1000,
        &[Checkpoint {
            revision: 1200,
            sha256: [0; 32],
        }],
        &cancel,
    );
}

fn write_all(path: &Path, sound: &Path, work: &Path) {
    let cluster = ClusterSpec::single("m1", "http://127.0.0.1:1", "t")
        .resolve()
        .unwrap();
    let cancel = Cancel::never();
    let prepared = work.join("prepared.db");
    let seat = ReplaySeat {
        cluster: &cluster,
        target: None,
        extra_leases: &[1],
    };
    let _ = prepare_replay_base(path, &prepared, &seat, &cancel, &mut |_| {});
    let _ = fs::remove_file(&prepared);
    let _ = assemble(path, sound, &[], &Seat::new(&cluster), &cancel);
}

/// xorshift64*: the same cases every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 8
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }
}
