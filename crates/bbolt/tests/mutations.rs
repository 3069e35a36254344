//! Random damage to files of many shapes: check, scan and append come back with a verdict, in time.
//!
//! `ETCDBR_MUTATIONS=10000` is the full form; `ETCDBR_SEED` repeats another run.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

#[path = "../fuzz/exercise.rs"]
mod exercise;
mod files;

use files::{Random, Raw, sample};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SHORT_FORM: u64 = 1_000;
/// For one mutation, all three exercises. They take milliseconds; a machine under load takes more.
const BOUND: Duration = Duration::from_secs(10);
const ODD: [u64; 10] = [
    0,
    1,
    2,
    3,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

#[test]
fn each_mutation_gets_a_verdict() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let (count, seed) = (
        number("ETCDBR_MUTATIONS").unwrap_or(SHORT_FORM),
        number("ETCDBR_SEED").unwrap_or(1),
    );
    let dir = memory_dir();
    let shapes = shapes(dir.path());
    let (mut noticed, mut unreadable, mut refused) = (0, 0, 0);
    for round in 0..count {
        let mut random = Random((seed << 32 | round).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let shape = &shapes[random.below(shapes.len() as u64) as usize];
        let mut raw = Raw {
            bytes: shape.bytes.clone(),
            page_bytes: shape.page_bytes,
        };
        for _ in 0..=random.below(3) {
            mutate(&mut raw, &mut random);
        }
        let path = raw.write(dir.path());
        let start = Instant::now();
        let sound = exercise::check(&path);
        let readable = exercise::scan(&path);
        let swept = exercise::sweep(&path, 5000);
        let extended = exercise::append(&path);
        assert!(
            start.elapsed() < BOUND,
            "seed {seed}, round {round}: {:?}",
            start.elapsed()
        );
        assert!(
            !sound || is_readable(&readable),
            "seed {seed}, round {round}: the check passes, the scan fails: {readable:?}"
        );
        if let (true, Ok(scanned)) = (sound, &readable) {
            assert_eq!(
                swept.as_ref().ok(),
                Some(scanned),
                "seed {seed}, round {round}: {swept:?}"
            );
        }
        if sound && extended {
            assert!(
                exercise::check(&path),
                "seed {seed}, round {round}: damaged by the append"
            );
        }
        noticed += u64::from(!sound);
        unreadable += u64::from(readable.is_err());
        refused += u64::from(!extended);
    }
    println!(
        "{count} mutations: check noticed {noticed}, scan failed on {unreadable}, append on {refused}"
    );
    assert!(noticed > count / 3);
}

/// A bucket inside a bucket is sound, if unknown to scans.
fn is_readable(scan: &bbolt::Result<u64>) -> bool {
    scan.as_ref()
        .map_or_else(|error| error.code() == "UNSUPPORTED", |_| true)
}

fn shapes(dir: &Path) -> Vec<Raw> {
    let sizes = [
        (1024, 900),
        (1024, 20),
        (4096, 3000),
        (16384, 2000),
        (65536, 1500),
    ];
    let mut shapes: Vec<Raw> = sizes
        .iter()
        .map(|(size, records)| Raw::read(&sample(dir, *size, *records)))
        .collect();
    for escaped in [false, true] {
        let mut raw = Raw::read(&dir.join("sample-1024-900"));
        let free = raw.add_pages(40);
        raw.add_freelist(&free, escaped);
        shapes.push(raw);
    }
    let mut longer = Raw::read(&dir.join("sample-4096-3000"));
    longer.bytes.resize(longer.bytes.len() + 5000, 0);
    shapes.push(longer);
    shapes
}

fn mutate(raw: &mut Raw, random: &mut Random) {
    let pages = raw.pages();
    let page = random.below(pages);
    let length = raw.bytes.len() as u64;
    match random.below(10) {
        0 => raw.bytes[random.below(length) as usize] ^= 1 << random.below(8),
        1 => raw.bytes[random.below(length) as usize] = random.next() as u8,
        2..=4 => set_field(raw, page, random),
        5 => raw.set_metas(16 + 8 * random.below(5) as usize, odd(random, pages)),
        6 => {
            let copy = raw.bytes[raw.at(random.below(pages), 0)..][..raw.page_bytes].to_vec();
            raw.set(page, 0, &copy);
            if random.below(2) == 0 {
                raw.set(page, 0, &page.to_le_bytes());
            }
        }
        7 => raw.set(page, 0, &vec![random.below(2) as u8 * 0xff; raw.page_bytes]),
        8 => relink(raw, random),
        _ => raw.bytes.truncate(
            raw.page_bytes * 2 + random.below(length - raw.page_bytes as u64 * 2) as usize,
        ),
    }
    if raw.pages() < 2 {
        raw.bytes.resize(raw.page_bytes * 2, 0);
    }
}

/// A field of the header or of the element table, where a wrong number hurts most.
fn set_field(raw: &mut Raw, page: u64, random: &mut Random) {
    let pages = raw.pages();
    let value = odd(random, pages).to_le_bytes();
    let table = usize::from(raw.u16(page, 10)).min(raw.page_bytes / 16 - 2) as u64;
    let (at, bytes) = match random.below(6) {
        0 => (0, 8),
        1 => (8, 2),
        2 => (10, 2),
        3 => (12, 4),
        4 => (16 + 4 * random.below(4 * table.max(1)) as usize, 4),
        _ => (16 + 8 * random.below(2 * table.max(1)) as usize, 8),
    };
    raw.set(page, at, &value[..bytes]);
}

/// A branch points at a page that exists, but is not its own.
fn relink(raw: &mut Raw, random: &mut Random) {
    let branches = raw.with_flags(1);
    let pages = raw.pages();
    if let Some(branch) = branches
        .get(random.below(branches.len() as u64) as usize)
        .copied()
    {
        let element = random
            .below(u64::from(raw.u16(branch, 10)).min(raw.page_bytes as u64 / 16 - 2))
            as usize;
        raw.set(
            branch,
            16 + 16 * element + 8,
            &random.below(pages).to_le_bytes(),
        );
    }
}

fn odd(random: &mut Random, pages: u64) -> u64 {
    match random.below(4) {
        0 => ODD[random.below(ODD.len() as u64) as usize],
        1 => random.below(pages + 3),
        2 => pages.wrapping_sub(random.below(3)),
        _ => random.next(),
    }
}

/// Syncing costs nothing in memory.
fn memory_dir() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    }
    .unwrap()
}
