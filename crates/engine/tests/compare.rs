//! Base and deltas beside a later full: equal when they are of one history, whatever was compacted; else the first
//! revision that differs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code"
)]

#[path = "support/mod.rs"]
mod support;

use bbolt::{Cancel, Db};
use engine::{Compaction, Comparison, Source, compact, compare_with_later};
use etcd_data::{RecordKey, hash_kv};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use support::delta_support::{Event, history};
use support::*;

fn compare(made: &Made, later: &Path) -> engine::Result<Comparison> {
    compare_with_later(&made.base, &made.deltas, later, &Cancel::never(), &|_| {})
}

/// The later full: the whole history, or what a compaction at `at` left of it.
fn later(made: &Made, events: &[Event], at: Option<i64>, new_rule: bool) -> PathBuf {
    let whole = made.dir.path().join("whole.db");
    write_base(&whole, &records_of(events), None);
    let Some(at) = at else { return whole };
    let target = made.dir.path().join("later.db");
    let source: Source<'_, PathBuf> = Source {
        base: &whole,
        deltas: &[],
        until: None,
    };
    let compaction = Compaction {
        keeps_tombstones_at: new_rule,
        ..Compaction::at(at)
    };
    let never = Cancel::never();
    compact(&source, &compaction, &target, &never, &|_| {}).unwrap();
    target
}

/// Whether HashKV, as etcd has it, can tell the two apart.
fn hashes_equal(a: &Path, b: &Path, revision: i64, at: i64) -> bool {
    let hash =
        |path: &Path| hash_kv(&Db::open(path).unwrap(), revision, at, &Cancel::never()).unwrap();
    let (a, b) = (hash(a), hash(b));
    !a.comparable || !b.comparable || a.hash == b.hash
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn one_history_is_equal_whatever_was_compacted(
        seed: u64, mains in 2i64..80, split in 0.0f64..1.0, at in proptest::option::of(0.0f64..=1.0), new_rule: bool,
        beyond in 0i64..5,
    ) {
        let events = history(seed, 1, mains + beyond);
        let last = mains + 1;
        let first_split = 1 + (split * (last - 1) as f64) as i64;
        let made = make(&events, &[first_split, (first_split + last) / 2]);
        let until: Vec<Event> = events.iter().filter(|event| event.main <= last).cloned().collect();
        let at = at.map(|at| 2 + (at * (last - 2) as f64) as i64);
        let later = later(&made, &until, at, new_rule);
        let found = compare(&made, &later).unwrap();
        prop_assert_eq!(found.difference, None);
        prop_assert_eq!((found.revision, found.compact_revision), (last, at.unwrap_or(-1)));
        prop_assert!(at.is_some() || found.records == records_of(&until).len() as u64);
    }

    #[test]
    fn a_changed_value_is_found_at_its_revision_or_was_compacted_away(
        seed: u64, mains in 3i64..60, pick in 0.0f64..1.0, at in proptest::option::of(0.0f64..=1.0),
    ) {
        let events = history(seed, 1, mains);
        let last = events.last().unwrap().main;
        let mut changed = events.clone();
        let puts: Vec<usize> = (0..events.len()).filter(|at| !events[*at].delete && events[*at].main > 2).collect();
        prop_assume!(!puts.is_empty());
        let place = puts[(pick * puts.len() as f64) as usize % puts.len()];
        changed[place].value.push(1);
        let made = make(&changed, &[2]);
        let at = at.map(|at| 2 + (at * (last - 2) as f64) as i64);
        let later = later(&made, &events, at, true);
        let found = compare(&made, &later).unwrap();
        let applied = made.dir.path().join("applied.db");
        write_base(&applied, &records_of(&changed), None);
        let equal = hashes_equal(&applied, &later, last, at.unwrap_or(-1));
        match found.difference {
            Some(difference) => {
                prop_assert_eq!(difference.revision, events[place].main);
                prop_assert!(difference.what.contains("other ones in the later full"), "{}", difference.what);
            }
            None => prop_assert!(equal && at.is_some_and(|at| at >= events[place].main)),
        }
        if !equal {
            prop_assert!(compare(&made, &later).unwrap().difference.is_some());
        }
    }
}

fn small() -> Vec<Event> {
    let put = |main, key: &[u8], value: &[u8]| Event::put(main, key, value);
    vec![
        put(2, b"a", b"1"),
        put(3, b"b", b"1"),
        put(4, b"c", b"1"),
        put(4, b"d", b"1"),
        Event::delete(5, b"c"),
        put(6, b"e", b"1"),
    ]
}

fn without(place: usize) -> Vec<Event> {
    let mut events = small();
    events.remove(place);
    events
}

#[test]
fn an_event_that_a_delta_has_lost_is_found() {
    let made = make(&without(3), &[3]);
    let found = compare(&made, &later(&made, &small(), None, true)).unwrap();
    let difference = found.difference.unwrap();
    assert_eq!((difference.revision, found.records), (4, 3));
    assert_eq!(
        difference.what,
        "record 4/1 of \"d\" is in the later full and not in base and deltas"
    );
}

#[test]
fn an_event_too_many_is_found() {
    let made = make(&small(), &[3]);
    let found = compare(&made, &later(&made, &without(3), None, true)).unwrap();
    let difference = found.difference.unwrap();
    assert_eq!(difference.revision, 4);
    assert!(
        difference
            .what
            .ends_with("is in base and deltas and not in the later full")
    );
}

#[test]
fn what_the_base_has_lost_is_found_below_the_compaction() {
    let made = make(&without(0), &[3]);
    let found = compare(&made, &later(&made, &small(), Some(5), true)).unwrap();
    assert_eq!(found.difference.unwrap().revision, 2);
}

#[test]
fn deltas_that_do_not_reach_the_later_full_are_a_gap() {
    let made = make(&small()[..4], &[3]);
    let error = compare(&made, &later(&made, &small(), None, true)).unwrap_err();
    assert_eq!(error.code(), "REVISION_GAP");
}

#[test]
fn a_base_above_the_later_full_is_refused() {
    let made = make(&small(), &[]);
    let error = compare(&made, &later(&made, &small()[..3], None, true)).unwrap_err();
    assert_eq!(error.code(), "USAGE");
}

#[test]
fn records_of_the_base_count_too() {
    let made = make(&small(), &[4]);
    let mut records = records_of(&small());
    let place = records
        .iter()
        .position(|(key, _)| RecordKey::parse(key).unwrap().revision.main == 2)
        .unwrap();
    let other = records_of(&[Event::put(2, b"a", b"2")]);
    records[place] = other[0].clone();
    let later = made.dir.path().join("later.db");
    write_base(&later, &records, None);
    assert_eq!(
        compare(&made, &later).unwrap().difference.unwrap().revision,
        2
    );
}

#[test]
fn a_cancelled_comparison_ends() {
    let made = make(&history(1, 1, 40), &[3]);
    let later = later(&made, &history(1, 1, 40), None, true);
    let cancel = Cancel::new();
    cancel.cancel();
    let ended = compare_with_later(&made.base, &made.deltas, &later, &cancel, &|_| {});
    assert_eq!(ended.unwrap_err().code(), "CANCELLED");
}
