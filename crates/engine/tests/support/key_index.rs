//! etcd's own way to decide what a compaction keeps (server/storage/mvcc/key_index.go), word for word: generations of
//! revisions per key. The compaction under test knows nothing of generations.
#![allow(dead_code, missing_docs, reason = "each test binary uses its part")]

use super::Records;
use etcd_data::{KeyValueRef, RecordKey, Revision};
use std::collections::{BTreeMap, BTreeSet};

/// Since 3.4.34, 3.5.16 and 3.6 a tombstone at the compact revision stays.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    Old,
    New,
}

#[derive(Default)]
struct KeyIndex {
    generations: Vec<Vec<Revision>>,
}

/// What is left of the records.
pub fn compacted(records: &Records, at: i64, rule: Rule) -> Records {
    let mut index: BTreeMap<Vec<u8>, KeyIndex> = BTreeMap::new();
    for (key, value) in records {
        let parsed = RecordKey::parse(key).unwrap();
        let user_key = KeyValueRef::decode(value).unwrap().key.to_vec();
        let entry = index.entry(user_key).or_insert_with(|| KeyIndex {
            generations: vec![vec![]],
        });
        entry.generations.last_mut().unwrap().push(parsed.revision);
        if parsed.tombstone {
            entry.generations.push(vec![]);
        }
    }
    let mut keep = BTreeSet::new();
    for entry in index.values() {
        entry.compact(at, rule, &mut keep);
    }
    let stays = |key: &[u8]| {
        let revision = RecordKey::parse(key).unwrap().revision;
        revision.main > at || keep.contains(&(revision.main, revision.sub))
    };
    records
        .iter()
        .filter(|(key, _)| stays(key))
        .cloned()
        .collect()
}

impl KeyIndex {
    /// `keyIndex.compact` and `doCompact`.
    fn compact(&self, at: i64, rule: Rule, available: &mut BTreeSet<(i64, i64)>) {
        let last = self.generations.len() - 1;
        let mut index = 0;
        while index < last {
            let tombstone = self.generations[index].last().unwrap().main;
            let stop = match rule {
                Rule::Old => tombstone > at,
                Rule::New => tombstone >= at,
            };
            if stop {
                break;
            }
            index += 1;
        }
        let generation = &self.generations[index];
        let found = generation.iter().rposition(|revision| revision.main <= at);
        let Some(found) = found else { return };
        // The old code forgets a generation of which only the tombstone is left; it cannot come here with one.
        available.insert((generation[found].main, generation[found].sub));
    }
}
