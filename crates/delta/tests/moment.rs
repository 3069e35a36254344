//! What had arrived at a time, and what one revision holds, of deltas of either format.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod support;

use delta::{Cancel, Compression, DeltaWriter, Moment, Options, event_at, moment_of};
use std::path::{Path, PathBuf};
use support::{Dir, Event, header, history, response, write_ebd};

const EPOCH: i64 = 1_700_000_000_000;

/// One put per revision from 10 on, arriving at these milliseconds; blocks of a few events.
fn arriving(path: &Path, offsets: &[i64]) {
    let options = Options {
        block_bytes: 60,
        ..Options::default()
    };
    let mut writer = DeltaWriter::create(path, header(10), &options).unwrap();
    for (main, offset) in (10..).zip(offsets) {
        let event = Event::put(main, b"key", b"value");
        writer
            .push_response(&response(99, false, &[event]), EPOCH + offset)
            .unwrap();
    }
    writer.finish(&[]).unwrap();
}

fn both_formats(dir: &Dir, ebd: &Path) -> [PathBuf; 2] {
    let json = dir.path("json.gz");
    let _ = std::fs::remove_file(&json);
    delta::export(ebd, &json, Compression::Gzip, &Cancel::never()).unwrap();
    [ebd.to_owned(), json]
}

fn at(path: &Path, offset: i64) -> Moment {
    moment_of(path, EPOCH + offset, &Cancel::never()).unwrap()
}

#[test]
fn the_last_revision_at_or_before_a_time_is_found() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    arriving(&path, &[0, 5, 5, 20, 30]);
    for path in both_formats(&dir, &path) {
        for (offset, reached, next) in [
            (-1, None, Some(0)),
            (0, Some((10, 0)), Some(5)),
            (4, Some((10, 0)), Some(5)),
            (5, Some((12, 5)), Some(20)),
            (19, Some((12, 5)), Some(20)),
            (29, Some((13, 20)), Some(30)),
            (30, Some((14, 30)), None),
            (99, Some((14, 30)), None),
        ] {
            let found = at(&path, offset);
            let reached = reached.map(|(main, offset)| (main, EPOCH + offset));
            assert_eq!(found.reached, reached, "{offset} in {}", path.display());
            assert_eq!(found.next_ms, next.map(|offset| EPOCH + offset));
            assert_eq!((found.first_revision, found.last_revision), (10, 14));
            assert_eq!(found.set_back_ms, 0);
        }
    }
}

#[test]
fn a_clock_that_was_set_back_never_gives_a_later_event_without_an_earlier_one() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    arriving(&path, &[100, 101, 50, 51, 120]);
    for path in both_formats(&dir, &path) {
        assert_eq!(at(&path, 60).reached, None);
        assert_eq!(at(&path, 100).reached, Some((10, EPOCH + 100)));
        let found = at(&path, 110);
        assert_eq!(found.reached, Some((13, EPOCH + 51)));
        assert_eq!((found.next_ms, found.set_back_ms), (Some(EPOCH + 120), 51));
    }
}

#[test]
fn a_transaction_that_arrived_in_two_parts_is_not_cut() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let mut writer = DeltaWriter::create(&path, header(10), &Options::default()).unwrap();
    let put = |main, key: &[u8]| Event::put(main, key, b"");
    let pushes = [
        (false, put(10, b"a"), 0),
        (true, put(11, b"a"), 5),
        (false, put(11, b"b"), 9),
    ];
    for (fragment, event, offset) in pushes {
        writer
            .push_response(&response(11, fragment, &[event]), EPOCH + offset)
            .unwrap();
    }
    writer.finish(&[]).unwrap();
    for path in both_formats(&dir, &path) {
        assert_eq!(at(&path, 8).reached, Some((10, EPOCH)));
        assert_eq!(at(&path, 9).reached, Some((11, EPOCH + 9)));
    }
}

#[test]
fn every_revision_gives_its_last_event() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    let events = history(3, 40, 60);
    let options = Options {
        block_bytes: 300,
        ..Options::default()
    };
    write_ebd(&path, &events, &options);
    for path in both_formats(&dir, &path) {
        for of_main in events.chunk_by(|a, b| a.main == b.main) {
            let last = of_main.last().unwrap();
            let found = event_at(&path, last.main, &Cancel::never())
                .unwrap()
                .unwrap();
            assert_eq!(
                (found.key, found.tombstone, found.revision.sub),
                (last.key.clone(), last.delete, of_main.len() as i64 - 1),
                "{}",
                path.display()
            );
        }
        assert_eq!(event_at(&path, 40, &Cancel::never()).unwrap(), None);
        assert_eq!(event_at(&path, 101, &Cancel::never()).unwrap(), None);
    }
}

#[test]
fn a_damaged_delta_is_no_answer() {
    let dir = Dir::new();
    let path = dir.path("a.ebd");
    arriving(&path, &[0, 1, 2]);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(moment_of(&path, EPOCH + 1, &Cancel::never()).is_err());
}
