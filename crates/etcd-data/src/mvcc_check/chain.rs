//! Each key's history: puts count up, a deletion ends it, the next put begins it again.

use super::finding::{FindingKind, Findings, shown};
use super::record::Sound;
use crate::partition::PartitionTable;

/// What the next record of a key must continue, in 12 bytes. `create_revision` 0: the key is deleted.
#[derive(Clone, Copy, Default)]
struct State {
    create_revision: [u32; 2],
    /// Modulo 2^32.
    version: u32,
}

impl State {
    fn of(record: &Sound<'_>) -> Self {
        if record.tombstone {
            return State::default();
        }
        let create = record.kv.create_revision;
        State {
            create_revision: [(create >> 32) as u32, create as u32],
            version: record.kv.version as u32,
        }
    }

    fn is_alive(self) -> bool {
        self.create_revision != [0, 0]
    }

    fn create_revision(self) -> u64 {
        let [high, low] = self.create_revision;
        u64::from(high) << 32 | u64::from(low)
    }
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
        let now = State::of(record);
        match self.table.get_mut(print) {
            Some(known) => {
                let before = std::mem::replace(known, now);
                let continues = match (before.is_alive(), record.tombstone) {
                    (alive, true) => alive,
                    (false, false) => record.kv.version == 1,
                    (true, false) => {
                        now.version == before.version.wrapping_add(1)
                            && now.create_revision == before.create_revision
                    }
                };
                if !continues {
                    report(record, before, findings);
                }
            }
            None => {
                let history_begins_here = record.revision.main > self.removed_up_to;
                if history_begins_here && (record.tombstone || record.kv.version != 1) {
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
            .filter(|state| state.is_alive())
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
        let kv = record.kv;
        if record.tombstone {
            format!("key {key}: a deletion of a key that did not exist")
        } else if before.is_alive() {
            format!(
                "key {key}: version {} created at {} follows version {} created at {}",
                kv.version,
                kv.create_revision,
                before.version,
                before.create_revision()
            )
        } else {
            format!(
                "key {key}: version {} of a key that did not exist",
                kv.version
            )
        }
    });
}
