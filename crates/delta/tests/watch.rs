//! Watch responses at their edges: fragments, catch-up, lagging members, broken streams, control messages.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod support;

use delta::{DeltaWriter, Error, Options};
use etcd_data::proto::{put_bytes_field, put_varint_field};
use support::{
    CLUSTER, Dir, Event, control, created, header, history, read_events, response, verify,
};

fn puts(mains: std::ops::RangeInclusive<i64>) -> Vec<Event> {
    mains
        .map(|main| Event::put(main, format!("k{main}").as_bytes(), b"v"))
        .collect()
}

fn writer(dir: &Dir, start: i64) -> DeltaWriter {
    DeltaWriter::create(
        &dir.path("d.ebd"),
        header(start),
        &Options {
            block_bytes: 256,
            ..Options::default()
        },
    )
    .unwrap()
}

#[test]
fn hazard_12_a_catch_up_response_is_not_a_position() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 1001);
    writer.push_response(&created(4000), 1).unwrap();
    let first = writer
        .push_response(&response(4000, false, &puts(1001..=2000)), 1)
        .unwrap();
    assert_eq!(
        (
            first.first_revision,
            first.last_revision,
            first.head.header_revision
        ),
        (1001, 2000, 4000)
    );
    assert_eq!(writer.resume_revision(), 2001);
    writer
        .push_response(&response(4000, false, &puts(2001..=4000)), 2)
        .unwrap();
    let progress = writer.push_response(&control(4100), 3).unwrap();
    assert_eq!((progress.events, progress.head.header_revision), (0, 4100));
    assert_eq!(writer.stats().last_revision, 4000);
    let summary = writer.finish(&[]).unwrap();
    assert_eq!(
        (
            summary.first_revision,
            summary.last_revision,
            summary.events
        ),
        (1001, 4000, 3000)
    );
    assert_eq!(read_events(&dir.path("d.ebd")), puts(1001..=4000));
}

#[test]
fn hazard_13_fragments_of_one_transaction_make_one_revision() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 5);
    let events: Vec<Event> = (0..10_000)
        .map(|i| Event::put(5, format!("k{i}").as_bytes(), b"value"))
        .collect();
    for (index, piece) in events.chunks(777).enumerate() {
        let fragment = (index + 1) * 777 < events.len();
        let pushed = writer
            .push_response(&response(5, fragment, piece), 1)
            .unwrap();
        assert_eq!(pushed.head.fragment, fragment);
        assert_eq!(writer.stats().partial, fragment);
        assert_eq!(writer.stats().last_revision, if fragment { 0 } else { 5 });
    }
    let summary = writer.finish(&[]).unwrap();
    assert_eq!(
        (
            summary.last_revision,
            summary.events,
            summary.revision_events_max
        ),
        (5, 10_000, 10_000)
    );
    assert_eq!(read_events(&dir.path("d.ebd")), events);
}

#[test]
fn hazard_13_four_values_of_1_4_mb_in_one_transaction() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 5);
    let events: Vec<Event> = (0..4)
        .map(|i| Event::put(5, &[b'a' + i], &vec![i; 1_400_000]))
        .collect();
    writer
        .push_response(&response(5, true, &events[..2]), 1)
        .unwrap();
    writer
        .push_response(&response(5, true, &events[2..3]), 1)
        .unwrap();
    writer
        .push_response(&response(5, false, &events[3..]), 1)
        .unwrap();
    writer.finish(&[]).unwrap();
    assert_eq!(read_events(&dir.path("d.ebd")), events);
}

#[test]
fn a_stream_that_breaks_between_fragments_is_resumed_at_the_same_revision() {
    for pieces in 1..40 {
        let dir = Dir::new();
        let mut writer = writer(&dir, 3);
        let large: Vec<Event> = (0..40)
            .map(|i| Event::put(5, format!("k{i:02}").as_bytes(), &[7; 60]))
            .collect();
        writer
            .push_response(&response(4, false, &puts(3..=4)), 1)
            .unwrap();
        for event in &large[..pieces] {
            writer
                .push_response(&response(5, true, std::slice::from_ref(event)), 2)
                .unwrap();
        }
        assert_eq!(writer.finish(&[]).unwrap_err().code(), "USAGE");
        assert_eq!(
            writer.push_response(&created(5), 3).unwrap_err().code(),
            "USAGE"
        );
        assert_eq!(writer.drop_partial().unwrap(), 5);
        assert_eq!(writer.stats().last_revision, 4);
        writer.push_response(&created(6), 3).unwrap();
        writer
            .push_response(&response(6, false, &large), 4)
            .unwrap();
        writer
            .push_response(&response(6, false, &puts(6..=6)), 5)
            .unwrap();
        assert_eq!(writer.finish(&[]).unwrap().last_revision, 6);
        let expected: Vec<Event> = puts(3..=4)
            .into_iter()
            .chain(large)
            .chain(puts(6..=6))
            .collect();
        assert_eq!(read_events(&dir.path("d.ebd")), expected);
    }
}

#[test]
fn dropping_without_a_partial_revision_keeps_everything() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 3);
    assert_eq!(writer.drop_partial().unwrap(), 3);
    writer
        .push_response(&response(4, false, &puts(3..=4)), 1)
        .unwrap();
    assert_eq!(writer.drop_partial().unwrap(), 5);
    assert_eq!(writer.finish(&[]).unwrap().events, 2);
}

#[test]
fn a_later_main_completes_the_one_before_even_in_fragments() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 3);
    writer
        .push_response(&response(5, true, &puts(3..=4)), 1)
        .unwrap();
    assert_eq!(writer.stats().last_revision, 3);
    assert_eq!(writer.drop_partial().unwrap(), 4);
    writer
        .push_response(&response(5, true, &puts(4..=4)), 1)
        .unwrap();
    writer.push_response(&control(5), 1).unwrap();
    assert!(
        writer.stats().partial,
        "progress does not complete a revision"
    );
    writer
        .push_response(&response(5, false, &puts(5..=5)), 1)
        .unwrap();
    assert_eq!(writer.finish(&[]).unwrap().last_revision, 5);
}

#[test]
fn events_before_the_start_of_the_watch_are_dropped() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 10);
    let pushed = writer
        .push_response(&response(11, false, &puts(4..=11)), 1)
        .unwrap();
    assert_eq!(
        (pushed.dropped, pushed.events, pushed.first_revision),
        (6, 2, 10)
    );
    writer.push_response(&created(11), 2).unwrap();
    let pushed = writer
        .push_response(&response(12, false, &puts(9..=12)), 2)
        .unwrap();
    assert_eq!(
        (pushed.dropped, pushed.events),
        (3, 1),
        "a new watch may deliver again what is complete"
    );
    assert_eq!(writer.finish(&[]).unwrap().events, 3);
}

#[test]
fn hazard_9_nothing_is_taken_twice_and_nothing_goes_back() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 3);
    writer
        .push_response(&response(6, false, &puts(3..=6)), 1)
        .unwrap();
    for again in [puts(6..=6), puts(5..=7), puts(3..=3)] {
        assert_eq!(
            writer
                .push_response(&response(7, false, &again), 2)
                .unwrap_err()
                .code(),
            "NOT_SORTED"
        );
    }
    let back: Vec<Event> = puts(7..=8).into_iter().rev().collect();
    assert_eq!(
        writer
            .push_response(&response(8, false, &back), 2)
            .unwrap_err()
            .code(),
        "REVISION_GAP"
    );
    assert_eq!(
        writer.stats().last_revision,
        6,
        "a refused response leaves the delta as it was"
    );
    writer
        .push_response(&response(7, false, &puts(7..=7)), 3)
        .unwrap();
    assert_eq!(writer.finish(&[]).unwrap().last_revision, 7);
    assert_eq!(read_events(&dir.path("d.ebd")), puts(3..=7));
}

#[test]
fn a_hole_names_the_missing_revisions() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 3);
    let error = writer
        .push_response(&response(9, false, &puts(7..=9)), 1)
        .unwrap_err();
    assert_eq!(error.code(), "REVISION_GAP");
    let Error::In { source, .. } = error else {
        panic!("{error}")
    };
    let Error::RevisionGap {
        first_missing,
        last_missing,
        ..
    } = *source
    else {
        panic!("{source}")
    };
    assert_eq!((first_missing, last_missing), (3, 6));
    assert_eq!(
        writer.finish(&[]).unwrap_err().code(),
        "USAGE",
        "nothing was taken"
    );
}

#[test]
fn control_responses_are_told() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 3);
    let pushed = writer.push_response(&created(9), 1).unwrap();
    assert!(pushed.head.created && !pushed.head.canceled);
    assert_eq!(
        (
            pushed.head.cluster_id,
            pushed.head.member_id,
            pushed.head.header_revision
        ),
        (CLUSTER, 7, 9)
    );
    let mut cancel = control(9);
    put_varint_field(&mut cancel, 2, u64::MAX);
    put_varint_field(&mut cancel, 4, 1);
    put_varint_field(&mut cancel, 5, 77);
    put_bytes_field(
        &mut cancel,
        6,
        b"mvcc: required revision has been compacted",
    );
    put_varint_field(&mut cancel, 99, 1);
    let head = writer.push_response(&cancel, 2).unwrap().head;
    assert_eq!(
        (head.watch_id, head.canceled, head.compact_revision),
        (-1, true, 77)
    );
    assert_eq!(
        head.cancel_reason,
        "mvcc: required revision has been compacted"
    );
}

#[test]
fn another_cluster_is_refused() {
    let dir = Dir::new();
    let other = delta::Header {
        cluster_id: 1,
        ..header(3)
    };
    let mut writer = DeltaWriter::create(&dir.path("d.ebd"), other, &Options::default()).unwrap();
    assert_eq!(
        writer
            .push_response(&response(3, false, &puts(3..=3)), 1)
            .unwrap_err()
            .code(),
        "MISMATCH"
    );
}

#[test]
fn a_response_cut_at_any_byte_is_refused_whole_or_taken_whole() {
    let whole = response(9, false, &history(3, 2, 4));
    for cut in 0..whole.len() {
        let dir = Dir::new();
        let mut writer = writer(&dir, 3);
        match writer.push_response(&whole[..cut], 1) {
            Ok(pushed) => assert_eq!(writer.stats().events, pushed.events),
            Err(error) => {
                assert!(matches!(error.code(), "TRUNCATED" | "CORRUPT"), "{error}");
                assert_eq!(writer.stats().events, 0);
            }
        }
    }
}

#[test]
fn sealing_by_time_leaves_a_file_that_verifies() {
    let dir = Dir::new();
    let mut writer = writer(&dir, 3);
    for main in 3..=30 {
        writer
            .push_response(&response(main, main % 3 == 0, &puts(main..=main)), main)
            .unwrap();
        writer.seal().unwrap();
    }
    writer.drop_partial().unwrap();
    writer.sync().unwrap();
    let summary = writer.finish(&[]).unwrap();
    assert_eq!(summary.last_revision, 29);
    assert_eq!(verify(&dir.path("d.ebd")).unwrap().events, 27);
}
