//! What has happened to others, by the number in the project's list of hazards.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first thing that is not as said"
)]

mod files;

use bbolt::check::{CheckOptions, FindingKind as Kind, Report, check_file};
use bbolt::{Appender, Cancel, Db};
use files::{NAME, Random, Raw, key, put};
use std::path::Path;
use std::time::{Duration, Instant};

fn report(path: &Path) -> Report {
    check_file(path, &CheckOptions::default(), &Cancel::never(), &|_| ()).unwrap()
}

fn kinds(report: &Report) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    kinds
}

/// A file shorter than its high-water mark made the server die of SIGBUS after a "successful" restore.
#[test]
fn hazard_22_file_shorter_than_its_high_water_mark() {
    let dir = tempfile::tempdir().unwrap();
    let whole = Raw::sample(dir.path());
    for length in [
        whole.bytes.len() * 6 / 10,
        whole.bytes.len() - whole.page_bytes,
        whole.bytes.len() - 1,
    ] {
        let path = dir.path().join("cut");
        std::fs::write(&path, &whole.bytes[..length]).unwrap();
        assert_eq!(Db::open(&path).unwrap_err().code(), "TRUNCATED");
        assert_eq!(
            Appender::open(&path).map(|_| ()).unwrap_err().code(),
            "TRUNCATED"
        );
        assert_eq!(std::fs::metadata(&path).unwrap().len(), length as u64);
        assert!(kinds(&report(&path)).contains(&Kind::Truncated));
    }
}

/// bbolt's own check dies of such files, or never ends.
#[test]
fn hazard_23_random_single_byte_flips_give_a_verdict() {
    const FLIPS: u64 = 400;
    const BOUND: Duration = Duration::from_secs(2);
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::read(&files::sample(dir.path(), 4096, 20_000));
    assert!(raw.bytes.len() > 1_500_000);
    let mut random = Random(23);
    for _ in 0..FLIPS {
        let at = random.below(raw.bytes.len() as u64) as usize;
        let old = raw.bytes[at];
        raw.bytes[at] ^= 1 << random.below(8);
        let path = raw.write(dir.path());
        let start = Instant::now();
        report(&path);
        assert!(start.elapsed() < BOUND, "byte {at}");
        raw.bytes[at] = old;
    }
}

/// The freelist's page is said to be a meta, a leaf, or nowhere: to be reported, and no obstacle.
#[test]
fn hazard_24_bad_freelist_is_reported_and_the_data_is_readable() {
    let dir = tempfile::tempdir().unwrap();
    let whole = Raw::sample(dir.path());
    let places = [
        0,
        1,
        whole.leaves()[3],
        whole.pages(),
        whole.pages() + 1,
        1 << 63,
    ];
    for place in places {
        let mut raw = Raw {
            bytes: whole.bytes.clone(),
            page_bytes: whole.page_bytes,
        };
        raw.set_metas(32, place);
        let path = raw.write(dir.path());
        let found = report(&path);
        assert_eq!(kinds(&found), [Kind::FreelistPage], "{place}");
        assert!(found.is_readable() && !found.is_ok());
        assert_eq!(
            Db::open(&path)
                .unwrap()
                .bucket(NAME)
                .unwrap()
                .unwrap()
                .last()
                .unwrap()
                .unwrap()
                .0,
            key(899)
        );
        let mut repaired = Appender::open(&path).unwrap();
        put(&mut repaired, b"added", 0..5, 5);
        assert!(!repaired.commit().unwrap().has_freelist());
        assert!(report(&path).is_ok());
    }
}

#[test]
fn hazard_24_freelist_with_wrong_ids() {
    let dir = tempfile::tempdir().unwrap();
    let cases: [(Damage<'_>, &[Kind]); 8] = [
        (&|raw| add_free(raw, |free| free.to_vec(), false), &[]),
        (&|raw| add_free(raw, |free| free.to_vec(), true), &[]),
        (
            &|raw| add_free(raw, |free| vec![free[0], free[1], free[1], free[2]], false),
            &[Kind::FreelistDuplicate],
        ),
        (
            &|raw| add_free(raw, |free| vec![free[1], free[0], free[2]], false),
            &[Kind::FreelistOrder],
        ),
        (
            &|raw| add_free(raw, |free| vec![0, free[0], free[1], free[2]], false),
            &[Kind::FreelistRange],
        ),
        (
            &|raw| add_free(raw, |free| vec![free[0], free[1], free[2], 1 << 50], true),
            &[Kind::FreelistRange],
        ),
        (
            &|raw| add_free(raw, |free| vec![free[0], free[2]], false),
            &[Kind::UnreachableUnfreed],
        ),
        (
            &|raw| {
                let leaf = raw.leaves()[0];
                add_free(raw, |free| vec![leaf, free[0], free[1], free[2]], false);
            },
            &[Kind::ReachableFreed],
        ),
    ];
    for (damage, expected) in cases {
        let mut raw = Raw::sample(dir.path());
        std::fs::remove_file(dir.path().join("sample-1024-900")).unwrap();
        damage(&mut raw);
        let found = report(&raw.write(dir.path()));
        assert_eq!(kinds(&found), expected, "{found:#?}");
        assert!(found.is_readable());
    }
}

#[test]
fn hazard_24_freelist_count_beyond_its_page() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    add_free(&mut raw, |free| free.to_vec(), true);
    let page = raw.u64(0, 16 + 32);
    for count in [1_000, u64::MAX, 1 << 61] {
        raw.set(page, 16, &count.to_le_bytes());
        assert_eq!(kinds(&report(&raw.write(dir.path()))), [Kind::FreelistPage]);
    }
}

#[test]
fn hazard_24_freelist_with_70000_ids() {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    let free = raw.add_pages(70_000);
    raw.add_freelist(&free, true);
    let found = report(&raw.write(dir.path()));
    assert!(found.is_ok(), "{found:#?}");
}

type Damage<'a> = &'a dyn Fn(&mut Raw);

/// Three free pages and a freelist that lists what `choose` makes of them.
fn add_free(raw: &mut Raw, choose: impl FnOnce(&[u64]) -> Vec<u64>, escaped: bool) {
    let free = raw.add_pages(3);
    raw.add_freelist(&choose(&free), escaped);
}
