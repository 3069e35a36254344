//! Each key's history: puts count up, a deletion ends it, the next put begins it again.

use super::finding::{FindingKind, Findings, shown};
use super::record::Sound;
use crate::fingerprint::Fingerprint;
use crate::partition::{PartitionTable, WARM_BATCH};
use crate::revision::Revision;

/// What the next record of a key must continue, in 12 bytes. `create_revision` 0: the key is deleted.
#[derive(Clone, Copy, Default)]
struct State {
    create_revision: [u32; 2],
    /// Modulo 2^32.
    version: u32,
}

/// One record that waits for its turn.
struct Link {
    print: Fingerprint,
    revision: Revision,
    tombstone: bool,
    create_revision: i64,
    version: i64,
    /// Where its key ends in [`Chains::keys`].
    key_end: usize,
}

pub(super) struct Chains {
    table: PartitionTable<State>,
    removed_up_to: i64,
    batch: Vec<Link>,
    /// The batch's keys, one after the other: only a finding needs them.
    keys: Vec<u8>,
}

impl Chains {
    pub(super) fn new(removed_up_to: i64, table_bytes: usize) -> Self {
        Chains {
            table: PartitionTable::new(table_bytes),
            removed_up_to,
            batch: Vec::with_capacity(WARM_BATCH),
            keys: Vec::new(),
        }
    }

    /// Takes a record; what is wrong with it may be reported some records later.
    #[inline]
    pub(super) fn see(&mut self, record: &Sound<'_>, findings: &mut Findings) {
        let Some(print) = self.table.fingerprint(record.kv.key) else {
            return;
        };
        self.keys.extend_from_slice(record.kv.key);
        self.batch.push(Link {
            print,
            revision: record.revision,
            tombstone: record.tombstone,
            create_revision: record.kv.create_revision,
            version: record.kv.version,
            key_end: self.keys.len(),
        });
        if self.batch.len() >= WARM_BATCH {
            self.flush(findings);
        }
    }

    /// Of the keys that this scan covers; ends the scan.
    pub(super) fn live_keys(&mut self, findings: &mut Findings) -> u64 {
        self.flush(findings);
        self.table
            .payloads()
            .filter(|state| state.is_alive())
            .count() as u64
    }

    pub(super) fn next_range(&mut self) -> bool {
        self.table.next_range()
    }

    fn flush(&mut self, findings: &mut Findings) {
        self.table.warm(self.batch.iter().map(|link| link.print));
        let mut key_start = 0;
        for link in &self.batch {
            if let Some(before) = broken(&mut self.table, link, self.removed_up_to) {
                report(
                    link,
                    self.keys.get(key_start..link.key_end).unwrap_or_default(),
                    before,
                    findings,
                );
            }
            key_start = link.key_end;
        }
        self.batch.clear();
        self.keys.clear();
    }
}

/// Enters the record; the state that it should have continued when it does not.
#[inline]
fn broken(table: &mut PartitionTable<State>, link: &Link, removed_up_to: i64) -> Option<State> {
    if !table.covers(link.print) {
        return None;
    }
    let now = State::of(link);
    let Some(known) = table.get_mut(link.print) else {
        table.insert(link.print, now);
        let history_begins_here = link.revision.main > removed_up_to;
        return (history_begins_here && (link.tombstone || link.version != 1)).then(State::default);
    };
    let before = std::mem::replace(known, now);
    let continues = match (before.is_alive(), link.tombstone) {
        (alive, true) => alive,
        (false, false) => link.version == 1,
        (true, false) => {
            now.version == before.version.wrapping_add(1)
                && now.create_revision == before.create_revision
        }
    };
    (!continues).then_some(before)
}

impl State {
    #[inline]
    fn of(link: &Link) -> Self {
        if link.tombstone {
            return State::default();
        }
        let create = link.create_revision;
        State {
            create_revision: [(create >> 32) as u32, create as u32],
            version: link.version as u32,
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

#[cold]
fn report(link: &Link, key: &[u8], before: State, findings: &mut Findings) {
    findings.add(FindingKind::Chain, Some(link.revision), || {
        let key = shown(key);
        if link.tombstone {
            format!("key {key}: a deletion of a key that did not exist")
        } else if before.is_alive() {
            format!(
                "key {key}: version {} created at {} follows version {} created at {}",
                link.version,
                link.create_revision,
                before.version,
                before.create_revision()
            )
        } else {
            format!(
                "key {key}: version {} of a key that did not exist",
                link.version
            )
        }
    });
}
