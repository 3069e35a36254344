//! Compaction against etcd's own algorithm, on histories with every shape of transaction.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code"
)]

#[path = "support/key_index.rs"]
mod key_index;
#[path = "support/mod.rs"]
mod support;

use bbolt::{Cancel, Db};
use engine::{Compacted, Compaction, Source, compact};
use etcd_data::{Meta, RecordDigest, hash_kv};
use key_index::{Rule, compacted};
use proptest::prelude::*;
use std::path::Path;
use support::delta_support::{Event, history};
use support::*;

/// So small that a dozen keys need no second scan and some hundreds do.
const TINY_TABLE: usize = 4 << 10;

fn run(made: &Made, compaction: Compaction, target: &Path) -> engine::Result<Compacted> {
    let source = Source {
        base: &made.base,
        deltas: &made.deltas,
        until: None,
    };
    let never = Cancel::never();
    compact(&source, &compaction, target, &never, &|_| {})
}

fn digest(records: &Records) -> (u64, [u8; 32]) {
    let mut digest = RecordDigest::new();
    records
        .iter()
        .for_each(|(key, value)| digest.update(key, value));
    (digest.records(), digest.checkpoint())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn survivors_are_those_of_etcds_key_index(
        seed: u64, mains in 1i64..80, cuts in proptest::collection::vec(0.0f64..1.0, 0..4), at in 0.0f64..=1.0, new_rule: bool,
    ) {
        let events = history(seed, 1, mains);
        let last = events.last().unwrap().main;
        let mut splits: Vec<i64> = cuts.iter().map(|cut| 1 + (*cut * last as f64) as i64).collect();
        splits.sort_unstable();
        splits.dedup();
        let made = make(&events, &splits);
        let at = 2 + (at * (last - 2) as f64) as i64;
        let target = made.dir.path().join("compacted.db");
        let compaction = Compaction { keeps_tombstones_at: new_rule, ..Compaction::at(at) };
        let done = run(&made, compaction, &target).unwrap();
        let expected = compacted(&made.records, at, if new_rule { Rule::New } else { Rule::Old });
        prop_assert_eq!(key_records(&target), expected.clone());
        prop_assert_eq!((done.packed.records, done.packed.sha256), digest(&expected));
        prop_assert_eq!(done.packed.revision, last);
        assert_sound(&target);
        let meta = Meta::read(&Db::open(&target).unwrap()).unwrap();
        prop_assert_eq!((meta.finished_compact, meta.scheduled_compact), (Some(at), Some(at)));
        prop_assert_eq!(meta.consistent_index, Some(77));
        for name in ["lease", "members", "something newer", "alarm", "auth"] {
            prop_assert_eq!(bucket(&target, name.as_bytes()), bucket(&made.base, name.as_bytes()));
        }
    }

    /// The base may have been compacted before, by either rule; what counts is the later compaction.
    #[test]
    fn a_compaction_of_what_was_compacted_is_the_same(seed: u64, first in 2i64..40, more in 1i64..40, old_first: bool) {
        let events = history(seed, 1, 80);
        let made = make(&events, &[40]);
        let earlier = made.dir.path().join("earlier.db");
        let until_40 = Source { base: &made.base, deltas: &made.deltas[..0], until: Some(40) };
        let rule = Compaction { keeps_tombstones_at: !old_first, ..Compaction::at(first) };
        compact(&until_40, &rule, &earlier, &Cancel::never(), &|_| {}).unwrap();
        let again = Made { base: earlier, ..made };
        let target = again.dir.path().join("compacted.db");
        run(&again, Compaction::at(first + more), &target).unwrap();
        prop_assert_eq!(key_records(&target), compacted(&again.records, first + more, Rule::New));
    }
}

#[test]
fn keys_beyond_the_table_are_found_by_further_scans() {
    let events: Vec<Event> = (0..3000)
        .map(|at| Event::put(2 + at, format!("key-{:04}", at % 1500).as_bytes(), b"v"))
        .collect();
    let made = make(&events, &[700, 1900]);
    let target = made.dir.path().join("compacted.db");
    let tiny = Compaction {
        table_bytes: TINY_TABLE,
        ..Compaction::at(made.last)
    };
    let done = run(&made, tiny, &target).unwrap();
    assert!(done.scans > 4, "{} scans", done.scans);
    assert_eq!(done.live_keys, 1500);
    assert_eq!(
        key_records(&target),
        compacted(&made.records, made.last, Rule::New)
    );
}

/// Nothing is alive, and the last record is gone by the old rule: the marks alone say where the store is.
#[test]
fn an_empty_result_keeps_its_revision() {
    let events = [Event::put(2, b"a", b"v"), Event::delete(3, b"a")];
    for (new_rule, left) in [(true, 1), (false, 0)] {
        let made = make(&events, &[2]);
        let target = made.dir.path().join("compacted.db");
        let compaction = Compaction {
            keeps_tombstones_at: new_rule,
            ..Compaction::at(3)
        };
        let done = run(&made, compaction, &target).unwrap();
        assert_eq!((done.live_keys, done.packed.records), (0, left));
        let info = etcd_data::inspect(&Db::open(&target).unwrap(), &Cancel::never()).unwrap();
        assert_eq!((info.revision, info.compact_revision), (3, 3));
        assert_eq!(assert_sound(&target), 0);
    }
}

/// HashKV of what is left is the one that the whole history gives under the same compact revision.
#[test]
fn hash_kv_is_that_of_an_etcd_compacted_there() {
    let events = history(7, 1, 300);
    let made = make(&events, &[]);
    let target = made.dir.path().join("compacted.db");
    run(&made, Compaction::at(250), &target).unwrap();
    let hash =
        |path: &Path| hash_kv(&Db::open(path).unwrap(), made.last, 250, &Cancel::never()).unwrap();
    assert_eq!(hash(&target), hash(&made.base));
    assert!(hash(&target).comparable);
}

#[test]
fn a_revision_that_cannot_be_is_refused_and_leaves_nothing() {
    let events = history(3, 1, 50);
    let made = make(&events, &[30]);
    let target = made.dir.path().join("compacted.db");
    let code = |at| run(&made, Compaction::at(at), &target).unwrap_err().code();
    assert_eq!(code(52), "USAGE");
    write_marked(&made, 20);
    assert_eq!(code(20), "COMPACTED");
    assert_eq!(code(19), "COMPACTED");
    assert!(!target.exists());
    run(&made, Compaction::at(21), &target).unwrap();
    assert_eq!(code(22), "EXISTS");
    assert!(target.exists(), "what was there is not removed");
}

fn write_marked(made: &Made, finished: i64) {
    let records = key_records(&made.base);
    std::fs::remove_file(&made.base).unwrap();
    write_base(&made.base, &records, Some(finished));
}

#[test]
fn a_gap_is_named_and_a_stop_is_obeyed() {
    let events = history(3, 1, 50);
    let mut made = make(&events, &[10, 20, 30]);
    let target = made.dir.path().join("compacted.db");
    let cancelled = Cancel::new();
    cancelled.cancel();
    let source = Source {
        base: &made.base,
        deltas: &made.deltas,
        until: None,
    };
    let stopped = compact(&source, &Compaction::at(51), &target, &cancelled, &|_| {});
    assert_eq!(stopped.unwrap_err().code(), "CANCELLED");
    made.deltas.remove(1);
    let error = run(&made, Compaction::at(51), &target).unwrap_err();
    assert_eq!(error.code(), "REVISION_GAP");
    assert!(error.to_string().contains("21-30"), "{error}");
    assert!(!target.exists());
}
