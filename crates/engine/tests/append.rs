//! Appending deltas gives the bucket that an etcd would have which lived through the same history.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod base;

use base::support::{Event, Random, header, history, response};
use base::{
    append_to, assert_sound, between, bucket, cluster, ebd, records_of, small_blocks, up_to,
    write_base,
};
use bbolt::{Cancel, Db};
use delta::DeltaWriter;
use engine::{DeltaFiles, append};
use etcd_data::leases::Lease;
use etcd_data::{Seat, prove_records};
use std::path::{Path, PathBuf};

fn assert_holds(path: &Path, events: &[Event]) {
    let expected = records_of(events).into_iter().collect();
    assert!(bucket(path, "key") == expected, "the key bucket differs");
    assert_sound(path);
}

#[test]
fn any_cut_into_base_and_overlapping_deltas_gives_the_same_bucket() {
    for seed in 0..60 {
        let mut random = Random::new(seed + 1);
        let dir = tempfile::tempdir().unwrap();
        let events = history(seed, 1, 300);
        let path = dir.path().join("base");
        let after = 1 + random.below(280).cast_signed();
        write_base(&path, &up_to(&events, after), 4096, &[]);
        let mut deltas = Vec::new();
        let mut reached = after;
        while reached < 301 {
            let first = (reached + 1 - random.below(20).cast_signed()).max(2);
            let last = (first + random.below(90).cast_signed()).min(301);
            let name = format!("{}", deltas.len());
            deltas.push(ebd(dir.path(), &name, &between(&events, first, last)));
            reached = reached.max(last);
        }
        let until = match random.below(3) {
            0 => Some(after + random.below(40).cast_signed()),
            1 => Some(301),
            _ => None,
        };
        let appended = append_to(&path, &deltas, until).unwrap();
        let end = until.unwrap_or(301).min(301);
        assert_eq!(appended.revision, end, "seed {seed}");
        let added = between(&events, after + 1, end);
        assert_eq!(appended.events, added.len() as u64);
        let time = |event: &Event| 1_700_000_000_000 + event.main;
        assert_eq!(appended.last_event_ms, added.last().map(time));
        assert_holds(&path, &up_to(&events, end));
        let db = Db::open(&path).unwrap();
        let proof = prove_records(&db, after, &appended.checkpoints, &Cancel::never());
        if end > after {
            assert_eq!(proof.unwrap().records, added.len() as u64);
        }
    }
}

#[test]
fn every_page_size_an_empty_base_and_an_inline_bucket() {
    for page_size in [1024, 2048, 4096, 8192, 16384, 32768, 65536] {
        for after in [1, 2, 4, 40, 400] {
            let dir = tempfile::tempdir().unwrap();
            let mut events = history(7, 1, 500);
            let large = Event::put(502, b"large", &vec![7; 200_000]);
            events.push(large);
            let path = dir.path().join("base");
            write_base(&path, &up_to(&events, after), page_size, &[]);
            let delta = ebd(dir.path(), "d", &between(&events, after + 1, 502));
            append_to(&path, &[delta], None).unwrap();
            assert_holds(&path, &events);
            assert_eq!(Db::open(&path).unwrap().page_size(), page_size);
        }
    }
}

#[test]
fn a_file_beyond_its_high_water_mark_ends_there_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let events = history(3, 1, 200);
    let path = dir.path().join("base");
    write_base(&path, &up_to(&events, 100), 4096, &[]);
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() + (16 << 20) + 1000)
        .unwrap();
    let delta = ebd(dir.path(), "d", &between(&events, 101, 201));
    append_to(&path, &[delta], None).unwrap();
    assert_holds(&path, &events);
    let db = Db::open(&path).unwrap();
    let end = db.high_water() * u64::from(db.page_size());
    assert_eq!(path.metadata().unwrap().len(), end);
}

#[test]
fn a_persisted_freelist_as_the_bbolt_tool_writes_it() {
    let tool = Path::new(&std::env::var("HOME").unwrap()).join(".cache/etcdbr/bbolt/bbolt");
    let dir = tempfile::tempdir().unwrap();
    let events = history(3, 1, 400);
    let (packed, path) = (dir.path().join("packed"), dir.path().join("base"));
    write_base(&packed, &up_to(&events, 300), 4096, &[]);
    let compacted = std::process::Command::new(tool)
        .args(["compact", "-o"])
        .args([&path, &packed])
        .output()
        .unwrap();
    assert!(compacted.status.success(), "{compacted:?}");
    assert_ne!(Db::open(&path).unwrap().meta().freelist, u64::MAX);
    let delta = ebd(dir.path(), "d", &between(&events, 290, 401));
    append_to(&path, &[delta], None).unwrap();
    assert_holds(&path, &events);
}

#[test]
fn only_leases_that_appended_records_name_are_granted_and_the_base_knows_its_own() {
    let put = |main: i64, lease| Event {
        lease,
        ..Event::put(main, format!("k{main}").as_bytes(), b"v")
    };
    let dir = tempfile::tempdir().unwrap();
    let events = [
        put(2, 5),
        put(3, 6),
        put(4, -7),
        put(5, 5),
        put(6, 8),
        put(7, 9),
    ];
    let path = dir.path().join("base");
    write_base(&path, &events[..2], 4096, &[Lease::granted(5, 50)]);
    let delta = dir.path().join("d");
    let mut writer = DeltaWriter::create(&delta, header(3), &small_blocks()).unwrap();
    for event in &events[1..] {
        let bytes = response(99, false, std::slice::from_ref(event));
        writer.push_response(&bytes, 1_700_000_000_000).unwrap();
    }
    let grant = |id| delta::Lease {
        id,
        granted_ttl: 60,
    };
    writer.finish(&[5, 6, -7, 9].map(grant)).unwrap();
    append_to(&path, &[delta], Some(6)).unwrap();
    let expected = [Lease::granted(5, 50), Lease::granted(-7, 60)];
    let expected = expected.map(|lease| (lease.key().to_vec(), lease.encode()));
    assert_eq!(bucket(&path, "lease"), expected.into());
    assert_holds(&path, &events[..5]);
}

#[test]
fn whatever_stops_it_leaves_the_base_as_it_was_and_fit_for_another_try() {
    /// Gives one file, then fails or stops.
    struct Broken(Option<PathBuf>, Cancel);
    impl DeltaFiles for Broken {
        fn next_file(&mut self) -> engine::Result<Option<(PathBuf, i64)>> {
            let next = self.0.take();
            if next.is_none() {
                self.1.cancel();
            }
            Ok(next.map(|path| (path, i64::MAX)))
        }
        fn reached(&mut self, _: i64) {}
    }
    let dir = tempfile::tempdir().unwrap();
    let events = history(9, 1, 400);
    let path = dir.path().join("base");
    write_base(&path, &up_to(&events, 200), 4096, &[]);
    let names = ["key", "meta", "members", "lease"];
    let before = names.map(|name| bucket(&path, name));
    let good = ebd(dir.path(), "good", &between(&events, 201, 300));
    let gap = ebd(dir.path(), "gap", &between(&events, 302, 401));
    let cut = dir.path().join("cut");
    let bytes = std::fs::read(&good).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let mut flipped = bytes.clone();
    // In the payload of a block.
    flipped[400] ^= 4;
    let wrong = dir.path().join("wrong");
    std::fs::write(&wrong, flipped).unwrap();
    for (last, code) in [
        (gap, "REVISION_GAP"),
        (cut, "TRUNCATED"),
        (wrong, "CHECKSUM"),
    ] {
        let error = append_to(&path, &[good.clone(), last], None).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert!(matches!(error, engine::Error::Delta(_)));
        assert_eq!(names.map(|name| bucket(&path, name)), before);
    }
    let (cancel, cluster) = (Cancel::new(), cluster());
    let mut broken = Broken(Some(good.clone()), cancel.clone());
    let error = append(&path, &mut broken, &Seat::new(&cluster), &cancel).unwrap_err();
    assert_eq!(error.code(), "CANCELLED");
    assert_eq!(names.map(|name| bucket(&path, name)), before);
    let rest = ebd(dir.path(), "rest", &between(&events, 301, 401));
    append_to(&path, &[good, rest], None).unwrap();
    assert_holds(&path, &events);
}

#[test]
fn a_wrong_write_is_found_by_the_checkpoints() {
    let dir = tempfile::tempdir().unwrap();
    let events = history(9, 1, 400);
    let path = dir.path().join("base");
    write_base(&path, &up_to(&events, 100), 4096, &[]);
    let files = [(101, 200), (201, 300), (301, 401)].map(|(first, last)| {
        ebd(
            dir.path(),
            &format!("{first}"),
            &between(&events, first, last),
        )
    });
    let appended = append_to(&path, &files, None).unwrap();
    let prove = || {
        let db = Db::open(&path).unwrap();
        prove_records(&db, 100, &appended.checkpoints, &Cancel::never())
    };
    assert!(prove().is_ok());
    let value = records_of(&between(&events, 250, 250)).remove(0).1;
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes
        .windows(value.len())
        .rposition(|window| window == value);
    bytes[at.unwrap() + value.len() - 1] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let text = prove().unwrap_err().to_string();
    assert!(text.contains("revisions 201 to 300"), "{text}");
}
