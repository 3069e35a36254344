//! Each key's history: puts count up, a deletion ends it, the next put begins it again.

use super::finding::{FindingKind, Findings, shown};
use super::record::Sound;
use crate::partition::PartitionTable;

/// What the next record of a key must continue. `version` 0: the key is deleted.
#[derive(Clone, Copy, Default)]
struct State {
    create_revision: i64,
    version: i64,
}

pub(super) struct Chains {
    table: PartitionTable<State>,
    removed_up_to: i64,
}

impl Chains {
    pub(super) fn new(removed_up_to: i64, table_bytes: usize) -> Self {
        Chains {
            table: PartitionTable::new(table_bytes),
            removed_up_to,
        }
    }

    #[inline]
    pub(super) fn see(&mut self, record: &Sound<'_>, findings: &mut Findings) {
        let Some(print) = self.table.fingerprint(record.kv.key) else {
            return;
        };
        let now = match record.tombstone {
            true => State::default(),
            false => State {
                create_revision: record.kv.create_revision,
                version: record.kv.version,
            },
        };
        match self.table.get_mut(print) {
            Some(known) => {
                let before = std::mem::replace(known, now);
                let continues = match (before.version, record.tombstone) {
                    (0, true) => false,
                    (0, false) => now.version == 1,
                    (_, true) => true,
                    (version, false) => {
                        Some(now.version) == version.checked_add(1)
                            && now.create_revision == before.create_revision
                    }
                };
                if !continues {
                    report(record, before, findings);
                }
            }
            None => {
                let history_begins_here = record.revision.main > self.removed_up_to;
                if history_begins_here && now.version != 1 {
                    report(record, State::default(), findings);
                }
                self.table.insert(print, now);
            }
        }
    }

    /// Of the keys that this scan covers.
    pub(super) fn live_keys(&self) -> u64 {
        self.table
            .payloads()
            .filter(|state| state.version > 0)
            .count() as u64
    }

    pub(super) fn next_range(&mut self) -> bool {
        self.table.next_range()
    }
}

#[cold]
fn report(record: &Sound<'_>, before: State, findings: &mut Findings) {
    let key = shown(record.kv.key);
    findings.add(FindingKind::Chain, Some(record.revision), || {
        match (record.tombstone, before.version) {
            (true, _) => format!("key {key}: a deletion of a key that did not exist"),
            (false, 0) => format!(
                "key {key}: version {} of a key that did not exist",
                record.kv.version
            ),
            (false, version) => format!(
                "key {key}: version {} created at {} follows version {version} created at {}",
                record.kv.version, record.kv.create_revision, before.create_revision
            ),
        }
    });
}
