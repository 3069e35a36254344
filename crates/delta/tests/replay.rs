//! Deltas as transactions: an etcd that is given them, in whatever order they arrive, lives through the same history.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice
)]

mod support;

use delta::{Cancel, Error, Options, Replay};
use std::path::PathBuf;
use support::etcd_model::EtcdModel;
use support::{Dir, Event, Random, history, replay, write_ebd};

const SMALL: Options = Options {
    block_bytes: 500,
    codec: delta::Codec::Zstd,
    zstd_level: 1,
};

fn between(events: &[Event], first: i64, last: i64) -> Vec<Event> {
    events
        .iter()
        .filter(|event| (first..=last).contains(&event.main))
        .cloned()
        .collect()
}

#[test]
fn requests_applied_in_order_make_the_same_history() {
    for seed in 0..20 {
        let dir = Dir::new();
        let events = history(seed, 10, 300);
        let path = dir.path("d.ebd");
        write_ebd(&path, &events, &SMALL);
        let (requests, _, replay) = replay(10, &[path]).unwrap();
        let mut etcd = EtcdModel::at(10);
        for request in &requests {
            assert!(
                etcd.apply(request),
                "its guard must hold when its turn has come"
            );
        }
        assert_eq!(etcd.events, events);
        assert_eq!((etcd.revision, replay.position()), (310, 310));
    }
}

/// Requests arrive in any order within a window; one that comes too early fails its guard and is sent again. A barrier
/// waits until everything before it is acknowledged.
#[test]
fn guarded_requests_in_flight_in_any_order_make_the_same_history() {
    let mut repeated = 0;
    for seed in 0..200 {
        let dir = Dir::new();
        let events = history(seed, 10, 120);
        let path = dir.path("d.ebd");
        write_ebd(&path, &events, &SMALL);
        let (requests, barriers, _) = replay(10, &[path]).unwrap();
        let mut random = Random::new(seed);
        let mut etcd = EtcdModel::at(10);
        let (mut next, mut flying): (usize, Vec<usize>) = (0, Vec::new());
        while next < requests.len() || !flying.is_empty() {
            while next < requests.len()
                && flying.len() < 16
                && (!barriers[next] || flying.is_empty())
            {
                flying.push(next);
                next += 1;
                if barriers[next - 1] {
                    break;
                }
            }
            let arriving = random.below(flying.len() as u64) as usize;
            if etcd.apply(&requests[flying[arriving]]) {
                flying.swap_remove(arriving);
            } else {
                repeated += 1;
                assert!(
                    repeated < 1_000_000,
                    "seed {seed}: a request is never applied, the order was lost"
                );
            }
        }
        assert_eq!(etcd.events, events, "seed {seed}");
    }
    assert!(
        repeated > 1000,
        "the test must have provoked what it is about"
    );
}

#[test]
fn puts_and_updates_need_no_barrier() {
    let dir = Dir::new();
    let path = dir.path("d.ebd");
    let mut events: Vec<Event> = (11..=500)
        .map(|main| Event::put(main, format!("k{main}").as_bytes(), b"v"))
        .collect();
    events
        .extend((501..=520).map(|main| Event::delete(main, format!("k{}", main - 400).as_bytes())));
    write_ebd(&path, &events, &SMALL);
    let (_, barriers, _) = replay(10, &[path]).unwrap();
    let at: Vec<usize> = (0..barriers.len())
        .filter(|&index| barriers[index])
        .collect();
    assert_eq!(
        at,
        [0, 506],
        "the first request, and one in a long chain of deletions"
    );
}

#[test]
fn a_key_put_and_deleted_in_one_revision_goes_into_sibling_transactions() {
    let dir = Dir::new();
    let path = dir.path("d.ebd");
    let main = |main| {
        move |(delete, key): (bool, &str)| {
            if delete {
                Event::delete(main, key.as_bytes())
            } else {
                Event::put(main, key.as_bytes(), b"v")
            }
        }
    };
    let mut events: Vec<Event> = [
        (false, "a"),
        (false, "b"),
        (true, "a"),
        (false, "c"),
        (true, "c"),
    ]
    .map(main(3))
    .into();
    events.extend([(true, "b"), (false, "d")].map(main(4)));
    events.extend([(false, "e"), (true, "e")].map(main(5)));
    events.extend([(true, "d")].map(main(6)));
    write_ebd(&path, &events, &SMALL);
    let (requests, barriers, _) = replay(2, &[path]).unwrap();
    let mut etcd = EtcdModel::at(2);
    assert!(requests.iter().all(|request| etcd.apply(request)));
    assert_eq!(etcd.events, events);
    assert_eq!(
        barriers,
        [true, false, false, true],
        "put and deleted leaves no trace that a compare could see"
    );
}

#[test]
fn a_transaction_that_etcd_would_refuse_is_damage() {
    for (first, second) in [(false, false), (true, false), (true, true)] {
        let dir = Dir::new();
        let path = dir.path("d.ebd");
        let event = |delete| {
            if delete {
                Event::delete(3, b"k")
            } else {
                Event::put(3, b"k", b"v")
            }
        };
        write_ebd(&path, &[event(first), event(second)], &SMALL);
        assert_eq!(replay(2, &[path]).err().unwrap().code(), "CORRUPT");
    }
}

#[test]
fn hazards_1_and_3_overlapping_deltas_are_applied_once() {
    let events = history(5, 100, 400);
    let dir = Dir::new();
    let file = |first: i64, last: i64| -> PathBuf {
        let path = dir.path(&format!("{first}-{last}.ebd"));
        write_ebd(&path, &between(&events, first, last), &SMALL);
        path
    };
    let whole = replay(100, &[file(101, 500)]).unwrap();
    let pieces = [
        file(101, 200),
        file(101, 213),
        file(150, 160),
        file(190, 400),
        file(400, 401),
        file(402, 500),
    ];
    for after in [100, 101, 150, 199, 200, 212, 213, 214, 400, 499, 500] {
        let (requests, _, replayed) = replay(after, &pieces).unwrap();
        assert_eq!(requests.len() as i64, 500 - after);
        assert_eq!(replayed.position(), 500);
        let alone = replay(after, &[dir.path("101-500.ebd")]).unwrap();
        assert_eq!(replayed.checkpoint(), alone.2.checkpoint());
        assert_eq!(requests.last(), alone.0.last());
    }
    assert_eq!(whole.2.position(), 500);
}

#[test]
fn a_gap_between_deltas_names_the_missing_revisions_before_any_request() {
    let events = history(5, 100, 50);
    let dir = Dir::new();
    let path = dir.path("d.ebd");
    write_ebd(&path, &between(&events, 121, 150), &SMALL);
    let error = Replay::new(117).open(&path).unwrap_err();
    assert_eq!(error.code(), "REVISION_GAP");
    let text = error.to_string();
    assert!(
        text.contains("118-120") && text.contains("starts at 121, expected 118"),
        "{text}"
    );
    let Error::In { source, .. } = error else {
        panic!()
    };
    assert!(matches!(
        *source,
        Error::RevisionGap {
            first_missing: 118,
            last_missing: 120,
            ..
        }
    ));
}

#[test]
fn leases_are_named_once_and_before_they_are_needed() {
    let dir = Dir::new();
    let paths = [dir.path("a.ebd"), dir.path("b.ebd")];
    let put = |main: i64, lease| Event {
        lease,
        ..Event::put(main, format!("k{main}").as_bytes(), b"v")
    };
    write_ebd(
        &paths[0],
        &[put(3, 9), put(4, 0), put(5, -9), put(6, 9)],
        &SMALL,
    );
    write_ebd(&paths[1], &[put(7, 9), put(8, i64::MAX)], &SMALL);
    let mut replay = Replay::new(2);
    let mut named = Vec::new();
    for path in &paths {
        replay.open(path).unwrap();
        while let Some(batch) = replay.next_batch(&Cancel::never()).unwrap() {
            named.extend(batch.leases);
        }
    }
    assert_eq!(named, [9, -9, i64::MAX]);
}

#[test]
fn a_file_must_be_read_to_its_end_before_the_next() {
    let dir = Dir::new();
    let path = dir.path("d.ebd");
    write_ebd(&path, &history(5, 100, 50), &SMALL);
    let mut replay = Replay::new(100);
    replay.open(&path).unwrap();
    assert_eq!(replay.open(&path).unwrap_err().code(), "USAGE");
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(replay.next_batch(&cancel).unwrap_err().code(), "CANCELLED");
}

#[test]
fn a_file_counts_as_far_as_it_is_told_to() {
    let dir = Dir::new();
    let events = history(5, 100, 60);
    let paths = [dir.path("a.ebd"), dir.path("b.ebd")];
    write_ebd(&paths[0], &between(&events, 101, 130), &SMALL);
    write_ebd(&paths[1], &between(&events, 131, 160), &SMALL);
    let (all, _, _) = replay(100, &paths).unwrap();
    for until in [100, 101, 115, 130, 131, 159, 160] {
        let mut cut = Replay::new(100);
        let mut requests = 0;
        for path in &paths {
            cut.open_through(path, until).unwrap();
            while let Some(batch) = cut.next_batch(&Cancel::never()).unwrap() {
                requests += batch.revisions();
            }
        }
        assert_eq!(requests as i64, until - 100);
        assert_eq!(cut.position(), until);
        if until > 100 {
            assert_eq!(cut.last_arrived_ms(), Some(1_700_000_000_000 + until));
            let alone = dir.path(&format!("{until}"));
            write_ebd(&alone, &between(&events, 101, until), &SMALL);
            let whole = replay(100, &[alone]).unwrap();
            assert_eq!(whole.2.checkpoint(), cut.checkpoint());
            assert_eq!(whole.0.last(), all.get(whole.0.len() - 1));
        }
    }
}
