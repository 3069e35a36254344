//! The packed writer: every record and every bucket, nothing else, from bases of any shape.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code"
)]

#[path = "support/mod.rs"]
mod support;

use bbolt::check::{CheckOptions, check_file};
use bbolt::{Appender, Cancel, Db};
use delta::{DeltaWriter, Options};
use engine::{Packed, Source, pack};
use etcd_data::leases::Lease;
use etcd_data::prove_records;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use support::delta_support::{Event, header, history, response};
use support::*;

fn run(made: &Made, until: Option<i64>, target: &Path) -> engine::Result<Packed> {
    let source = Source {
        base: &made.base,
        deltas: &made.deltas,
        until,
    };
    pack(&source, target, &Cancel::never(), &|_| {})
}

#[test]
fn base_and_deltas_become_one_packed_file() {
    let events = history(11, 1, 400);
    let made = make(&events, &[150, 260]);
    let target = made.dir.path().join("packed.db");
    let done = run(&made, None, &target).unwrap();
    assert_eq!(done.revision, made.last);
    assert_eq!(done.records, made.records.len() as u64);
    let base_records = key_records(&made.base).len() as u64;
    assert_eq!(done.events, done.records - base_records);
    let proof = prove_records(
        &Db::open(&target).unwrap(),
        150,
        &[done.above_base.unwrap()],
        &Cancel::never(),
    );
    assert_eq!(proof.unwrap().records, done.events);
    assert_eq!(done.bytes, target.metadata().unwrap().len());
    assert_eq!(key_records(&target), made.records);
    assert_sound(&target);
    assert_eq!(bucket(&target, b"lease"), bucket(&made.base, b"lease"));
    for name in ["meta", "members", "something newer", "cluster"] {
        assert_eq!(
            bucket(&target, name.as_bytes()),
            bucket(&made.base, name.as_bytes()),
            "{name}"
        );
    }
}

/// Hazard 5: what a delta grants is granted, what the base knows of a lease stays, and what no record names is left out.
#[test]
fn hazard_5_leases_of_the_deltas_are_written() {
    let leased = |main, lease| Event {
        lease,
        ..Event::put(main, format!("k{main}").as_bytes(), b"v")
    };
    let events = [
        leased(2, 0),
        leased(3, 9),
        leased(4, LEASE.id),
        leased(5, 11),
    ];
    let mut made = make(&events, &[2]);
    let path = made.dir.path().join("granting.ebd");
    let mut writer = DeltaWriter::create(&path, header(3), &Options::default()).unwrap();
    for event in &events[1..] {
        let one = response(99, false, std::slice::from_ref(event));
        writer.push_response(&one, 1_700_000_000_000).unwrap();
    }
    let grant = |id, granted_ttl| delta::Lease { id, granted_ttl };
    writer
        .finish(&[grant(9, 30), grant(11, 40), grant(LEASE.id, 1)])
        .unwrap();
    made.deltas = vec![path];
    let target = made.dir.path().join("packed.db");
    run(&made, Some(4), &target).unwrap();
    let expected =
        [Lease::granted(9, 30), LEASE].map(|lease| (lease.key().to_vec(), lease.encode()));
    assert_eq!(bucket(&target, b"lease"), expected.into_iter().collect());
}

#[test]
fn it_ends_where_it_is_told_to() {
    let events = history(12, 1, 100);
    let made = make(&events, &[30, 60]);
    let target = made.dir.path().join("packed.db");
    assert_eq!(run(&made, Some(75), &target).unwrap().revision, 75);
    let last = key_records(&target).pop().unwrap().0;
    assert_eq!(last[..8], 75i64.to_be_bytes());
    std::fs::remove_file(&target).unwrap();
    assert_eq!(run(&made, Some(20), &target).unwrap_err().code(), "USAGE");
    assert_eq!(
        run(&made, Some(102), &target).unwrap_err().code(),
        "REVISION_GAP"
    );
    assert!(!target.exists());
}

/// Space that replaced buckets left behind is gone.
#[test]
fn free_space_is_not_taken_over() {
    let events: Vec<Event> = (2..500)
        .map(|main| Event::put(main, format!("k{main}").as_bytes(), &[7; 900]))
        .collect();
    let made = make(&events, &[400]);
    let (bloated, records) = (&made.base, key_records(&made.base));
    let mut appender = Appender::open(bloated).unwrap();
    for _ in 0..3 {
        appender
            .replace_bucket::<bbolt::Error>(b"key", |out| {
                records
                    .iter()
                    .try_for_each(|(key, value)| out.put(key, value))
            })
            .unwrap();
    }
    appender.commit().unwrap();
    let target = made.dir.path().join("packed.db");
    run(&made, None, &target).unwrap();
    assert!(target.metadata().unwrap().len() * 2 < bloated.metadata().unwrap().len());
    assert_eq!(key_records(&target), made.records);
    assert_sound(&target);
}

/// Hazard 24: a freelist that points nowhere, in otherwise sound data.
#[test]
fn hazard_24_a_base_with_a_bad_freelist_gives_a_sound_file() {
    let events = history(13, 1, 200);
    let made = make(&events, &[150]);
    for freelist in [0u64, 1, 3, 1 << 40, u64::MAX - 1] {
        set_freelist(&made.base, freelist);
        let report = check_file(
            &made.base,
            &CheckOptions::default(),
            &Cancel::never(),
            &|_| {},
        )
        .unwrap();
        assert!(!report.is_ok() && report.is_readable(), "{freelist}");
        let target = made.dir.path().join(format!("packed-{freelist}.db"));
        run(&made, None, &target).unwrap();
        assert_eq!(key_records(&target), made.records);
        assert_sound(&target);
    }
}

fn set_freelist(path: &Path, freelist: u64) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    for page in 0..2u64 {
        let at = page * 4096 + 16;
        let mut meta = [0u8; 64];
        file.read_exact_at(&mut meta, at).unwrap();
        meta[32..40].copy_from_slice(&freelist.to_le_bytes());
        let sum = meta[..56]
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
        meta[56..].copy_from_slice(&sum.to_le_bytes());
        file.write_all_at(&meta, at).unwrap();
    }
}

/// Damage that hides records is named, and nothing is left behind.
#[test]
fn damage_in_base_or_delta_is_named_and_leaves_nothing() {
    let events: Vec<Event> = (2..800)
        .map(|main| Event::put(main, format!("k{main}").as_bytes(), &[7; 300]))
        .collect();
    let made = make(&events, &[500]);
    let target = made.dir.path().join("packed.db");
    let delta = made.deltas[0].clone();
    let length = delta.metadata().unwrap().len();
    flip(&delta, length / 2);
    let error = run(&made, None, &target).unwrap_err();
    assert_eq!(error.code(), "CHECKSUM");
    assert!(error.to_string().contains("0.ebd"), "{error}");
    flip(&delta, length / 2);
    // A leaf that says it has more elements than fit.
    flip(&made.base, 4096 * 9 + 11);
    assert_eq!(run(&made, None, &target).unwrap_err().code(), "CORRUPT");
    flip(&made.base, 4096 * 9 + 11);
    let half = made.base.metadata().unwrap().len() / 2;
    let whole = std::fs::read(&made.base).unwrap();
    OpenOptions::new()
        .write(true)
        .open(&made.base)
        .unwrap()
        .set_len(half)
        .unwrap();
    assert_eq!(run(&made, None, &target).unwrap_err().code(), "TRUNCATED");
    std::fs::write(&made.base, whole).unwrap();
    assert!(!target.exists());
    run(&made, None, &target).unwrap();
}

fn flip(path: &Path, at: u64) {
    let file: File = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x40], at).unwrap();
}
