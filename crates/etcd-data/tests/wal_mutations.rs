//! Any bytes give a verdict: the fuzzers' seeds, and random changes to logs. `ETCDBR_MUTATIONS=10000` for the full
//! form; `ETCDBR_SEED` repeats another run.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

#[path = "../fuzz/exercise.rs"]
mod exercise;
mod fixture;

use std::fs;
use std::path::{Path, PathBuf};

use fixture::wal::{WalBuilder, put_request, snap_file, unpack_member};

const SHORT_FORM: u64 = 1_000;

#[test]
fn each_corpus_file_comes_to_an_end() {
    let dir = memory_dir();
    let mut files = 0;
    for (target, exercise) in [
        ("wal", exercise::wal as fn(&Path, &[u8])),
        ("raft", exercise::raft),
    ] {
        for seed in fs::read_dir(corpus().join(target)).unwrap() {
            let bytes = fs::read(seed.unwrap().path()).unwrap();
            for cut in (0..=bytes.len()).step_by(1 + bytes.len() / 40) {
                exercise(dir.path(), &bytes[..cut]);
            }
            files += 1;
        }
    }
    assert!(files >= 8);
}

#[test]
fn each_mutation_gets_a_verdict() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let count = number("ETCDBR_MUTATIONS").unwrap_or(SHORT_FORM);
    let mut random = Random(number("ETCDBR_SEED").unwrap_or(1) << 20 | 0x5EED);
    let dir = memory_dir();
    let mut shapes: Vec<Vec<u8>> = logs().iter().map(WalBuilder::fuzz_input).collect();
    for set in ["etcd-3.4", "etcd-3.7"] {
        shapes.push(head_of_a_real_log(set));
    }
    for _ in 0..count {
        let mut bytes = shapes[random.below(shapes.len() as u64) as usize].clone();
        for _ in 0..=random.below(3) {
            damage(&mut bytes, &mut random);
        }
        exercise::wal(dir.path(), &bytes);
        exercise::raft(dir.path(), &bytes[..bytes.len().min(600)]);
    }
}

/// `ETCDBR_WRITE_CORPUS=1` writes them anew.
#[test]
fn the_seeds_are_what_the_fixtures_make() {
    for (name, seed) in seeds() {
        let path = corpus().join(name);
        if std::env::var_os("ETCDBR_WRITE_CORPUS").is_some() {
            fs::write(&path, &seed).unwrap();
        }
        assert!(fs::read(&path).unwrap() == seed, "{}", path.display());
    }
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    let txn = b"\x08\x4d\x32\x1c\x0a\x00\x12\x0a\x12\x08\x0a\x01k\x12\x01v\x18\x05\x1a\x0c\x22\x0a\x12\x08\x12\x06\x0a\x01k\x12\x01v";
    let logs = logs();
    let made = logs.iter().enumerate();
    let mut seeds: Vec<(String, Vec<u8>)> = made
        .map(|(number, log)| (format!("wal/log-{number}"), log.fuzz_input()))
        .collect();
    for (name, seed) in [
        ("wal/etcd-3.4", head_of_a_real_log("etcd-3.4")),
        ("raft/put", put_request(10)),
        ("raft/snap", snap_file(7, 2)),
        ("raft/txn", txn.to_vec()),
        ("raft/state", b"\x08\x02\x10\x11\x18\x09".to_vec()),
    ] {
        seeds.push((name.to_owned(), seed));
    }
    seeds
}

fn logs() -> Vec<WalBuilder> {
    let mut one = WalBuilder::new();
    (1..=4).for_each(|index| one.put(index, 1));
    one.state(1, 4);
    let mut three = one.clone();
    three.next_file(5);
    three.entry(5, 1, &put_request(1500));
    three.snapshot(2, 1);
    three.state(2, 5);
    three.next_file(6);
    three.put(6, 2);
    three.put(6, 3);
    three.put(7, 3);
    three.state(3, 7);
    let mut torn = one.clone();
    torn.entry(5, 1, &put_request(1500));
    let at = torn.offset() - 900;
    torn.files[0].1[at..].fill(0);
    vec![WalBuilder::new(), one, three, torn]
}

/// The first records of one that an etcd wrote, as one file.
fn head_of_a_real_log(set: &str) -> Vec<u8> {
    const HEAD_BYTES: usize = 20_000;
    let dir = tempfile::tempdir().unwrap();
    let wal = unpack_member(set, dir.path()).join("wal");
    let first = fs::read_dir(wal).unwrap().next().unwrap().unwrap().path();
    let mut bytes = fs::read(first).unwrap();
    bytes.truncate(HEAD_BYTES);
    bytes.insert(0, 0);
    bytes
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    if bytes.len() < 2 {
        return;
    }
    let at = random.below(bytes.len() as u64) as usize;
    match random.below(8) {
        0..=2 => bytes[at] ^= 1 << random.below(8),
        3 => bytes[at] = random.next() as u8,
        4 => bytes.truncate(at.max(1)),
        5 => bytes
            .iter_mut()
            .skip(at)
            .take(700)
            .for_each(|byte| *byte = 0),
        6 => {
            let copy: Vec<u8> = bytes.iter().skip(at).take(200).copied().collect();
            bytes.extend(copy);
        }
        _ => {
            let odd = [0, 1, u64::MAX, 1 << 56, 0x87 << 56 | 5, 1 << 40][random.below(6) as usize];
            let at = at / 8 * 8 + 1;
            for (byte, new) in bytes.iter_mut().skip(at).zip(odd.to_le_bytes()) {
                *byte = new;
            }
        }
    }
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

fn memory_dir() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
    .unwrap()
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
