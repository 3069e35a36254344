//! Answers against a plain map, with buffers so small that everything is spilled and merged in several rounds.

use super::entry::{Entry, Head};
use super::*;
use bbolt::Cancel;
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One change of a key; page 0 counts without asking.
#[derive(Debug, Clone)]
struct Given {
    key: u8,
    tombstone: bool,
    page: u64,
    main: i64,
    value: Vec<u8>,
}

fn given() -> impl Strategy<Value = Vec<Given>> {
    let one = (0..6_u8, any::<bool>(), 0..4_u64, vec(any::<u8>(), 0..40));
    vec(one, 0..300).prop_map(|all| {
        let mains = 1_i64..;
        all.into_iter()
            .zip(mains)
            .map(|((key, tombstone, page, value), main)| Given {
                key,
                tombstone,
                page,
                main,
                value,
            })
            .collect()
    })
}

/// Pages 0 and 2 count.
fn counts(given: &Given) -> bool {
    given.page.is_multiple_of(2)
}

/// Kind, key, main, old main, value.
type Told = (u8, Vec<u8>, i64, i64, Vec<u8>);

fn rows(query: Query, given: &[Given]) -> Vec<Told> {
    let dir = tempfile::tempdir().unwrap();
    let mut look = Look::new(Query {
        spill_dir: dir.path().to_owned(),
        ..query
    });
    look.sorter.shrink_for_tests(600, 3);
    // Newest first, oldest first, and from both ends: the order of hand-over must not matter.
    for one in given
        .iter()
        .step_by(2)
        .chain(given.iter().skip(1).step_by(2).rev())
    {
        let head = Head {
            main: one.main,
            page: one.page,
            tombstone: one.tombstone,
            ..Head::default()
        };
        let entry = Entry {
            head,
            key: &[one.key],
            value: &one.value,
        };
        look.take(Side::Both, entry).unwrap();
    }
    look.live.insert(0, bbolt::Live::of([2]));
    let mut answer = look.answer().unwrap();
    let mut found = Vec::new();
    while let Some(batch) = answer.next_batch(100, &Cancel::never()).unwrap() {
        let mut rest = batch.as_slice();
        while !rest.is_empty() {
            let word =
                |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap()) as usize;
            let long = |at: usize| i64::from_le_bytes(rest[at..at + 8].try_into().unwrap());
            let (length, key, value) = (word(0), word(12), word(16));
            let body = &rest[ROW_HEAD_BYTES..length];
            found.push((
                rest[4],
                body[..key].to_vec(),
                long(24),
                long(72),
                body[key..key + value].to_vec(),
            ));
            rest = &rest[length..];
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    found
}

fn state(given: &[Given], at: i64) -> BTreeMap<u8, &Given> {
    let mut state = BTreeMap::new();
    for one in given.iter().filter(|one| counts(one) && one.main <= at) {
        if one.tombstone {
            state.remove(&one.key);
        } else {
            state.insert(one.key, one);
        }
    }
    state
}

fn query(ask: Ask) -> Query {
    Query {
        keys: Keys::Prefix(Vec::new()),
        ask,
        with_values: true,
        spill_dir: std::path::PathBuf::new(),
    }
}

proptest! {
    #[test]
    fn state_equals_a_map(given in given(), at in 0..310_i64) {
        let expected: Vec<_> = state(&given, at)
            .into_values()
            .map(|one| (0, vec![one.key], one.main, 0, one.value.clone()))
            .collect();
        prop_assert_eq!(rows(query(Ask::State { at }), &given), expected);
    }

    #[test]
    fn history_is_every_change_that_counts(given in given(), to in 0..310_i64) {
        let mut expected: Vec<_> = given
            .iter()
            .filter(|one| counts(one) && one.main <= to)
            .map(|one| (u8::from(one.tombstone), vec![one.key], one.main, 0, one.value.clone()))
            .collect();
        expected.sort_by_key(|row| (row.1.clone(), row.2));
        prop_assert_eq!(rows(query(Ask::History { to }), &given), expected);
    }

    #[test]
    fn difference_is_that_of_two_states(given in given(), a in 0..310_i64, b in 0..310_i64) {
        let (from, to) = (a.min(b), a.max(b));
        let (before, after) = (state(&given, from), state(&given, to));
        let mut expected = Vec::new();
        for key in 0..6 {
            let main = |state: &BTreeMap<u8, &Given>| state.get(&key).map(|one| one.main);
            let kind = match (main(&before), main(&after)) {
                (None, Some(_)) => 2,
                (Some(_), None) => 4,
                (Some(old), Some(new)) if old != new => 3,
                _ => continue,
            };
            expected.push((kind, vec![key], main(&after), main(&before).unwrap_or(0)));
        }
        let found: Vec<_> = rows(query(Ask::Difference { from, to }), &given)
            .into_iter()
            .map(|(kind, key, new, old, _)| (kind, key, (kind != 4).then_some(new), old))
            .collect();
        prop_assert_eq!(found, expected);
    }
}
