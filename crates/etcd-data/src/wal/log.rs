//! The raft log as etcd builds it from entries: from the snapshot on, without holes, the last one of an index counts.

use crate::error::Result;
use crate::wal::ledger::{Beyond, Ledger};
use crate::wal::message::Entry;
use crate::wal::request::effect_of;

/// Changes of the leader in one log that are followed.
const MAX_TERMS: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Log {
    start: u64,
    /// Index that the ledger's first entry follows.
    base: u64,
    last: u64,
    /// (first index, term), ascending.
    terms: Vec<(u64, u64)>,
    ledger: Ledger,
}

impl Log {
    /// A log behind the snapshot (`start`, `term`), of which the database has applied up to `applied`.
    pub(crate) fn new(start: u64, term: u64, applied: u64, guarded: bool) -> Self {
        Log {
            start,
            base: applied.max(start),
            last: start,
            terms: vec![(start, term)],
            ledger: Ledger::new(guarded),
        }
    }

    /// `Ok(Err)` says why etcd could not take the entry.
    pub(crate) fn take(&mut self, entry: &Entry<'_>) -> Result<std::result::Result<(), String>> {
        let Entry { index, term, .. } = *entry;
        if index <= self.start {
            return Ok(Ok(()));
        }
        if index > self.last.saturating_add(1) {
            let (from, to) = (self.last.saturating_add(1), index - 1);
            return Ok(Err(format!(
                "raft entries {from} to {to} are missing before entry {index}"
            )));
        }
        self.last = index;
        while self.terms.len() > 1 && self.terms.last().is_some_and(|&(first, _)| first >= index) {
            self.terms.pop();
        }
        let before = self.last_term();
        if term < before {
            return Ok(Err(format!(
                "raft entry {index} is of term {term}, the one before it of term {before}"
            )));
        }
        if term > before {
            if self.terms.len() >= MAX_TERMS {
                return Ok(Err(format!("more than {MAX_TERMS} changes of the term")));
            }
            self.terms.push((index, term));
        }
        if index > self.base {
            self.ledger.put(index - self.base - 1, effect_of(entry))?;
        }
        Ok(Ok(()))
    }

    /// The snapshot's index when no entry follows it.
    pub(crate) fn last_index(&self) -> u64 {
        self.last
    }

    pub(crate) fn last_term(&self) -> u64 {
        self.terms.last().map_or(0, |&(_, term)| term)
    }

    /// `None` outside of the log.
    pub(crate) fn term_of(&self, index: u64) -> Option<u64> {
        if index < self.start || index > self.last {
            return None;
        }
        let at = self.terms.partition_point(|&(first, _)| first <= index);
        self.terms.get(at.checked_sub(1)?).map(|&(_, term)| term)
    }

    pub(crate) fn beyond(&self, commit: u64) -> Beyond {
        self.ledger.sum(commit.saturating_sub(self.base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(index: u64, term: u64) -> Entry<'static> {
        // A plain put.
        Entry {
            kind: 0,
            term,
            index,
            data: b"\x22\x06\x0a\x01k\x12\x01v",
        }
    }

    fn log(entries: &[(u64, u64)]) -> Log {
        let mut log = Log::new(10, 2, 12, false);
        for &(index, term) in entries {
            log.take(&entry(index, term)).unwrap().unwrap();
        }
        log
    }

    #[test]
    fn entries_behind_the_database_are_counted() {
        let log = log(&[(9, 2), (10, 2), (11, 2), (12, 2), (13, 2), (14, 3)]);
        let beyond = log.beyond(13);
        assert_eq!((log.last_index(), log.last_term()), (14, 3));
        assert_eq!((beyond.entries, beyond.least, beyond.most), (2, 2, 2));
        assert_eq!(beyond.least_committed, 1);
        assert_eq!(
            [
                log.term_of(9),
                log.term_of(10),
                log.term_of(12),
                log.term_of(14),
                log.term_of(15)
            ],
            [None, Some(2), Some(2), Some(3), None]
        );
    }

    #[test]
    fn an_overwritten_tail_is_taken_back() {
        let log = log(&[(11, 2), (12, 2), (13, 2), (14, 2), (15, 2), (13, 4)]);
        assert_eq!((log.last_index(), log.last_term()), (13, 4));
        assert_eq!(log.beyond(0).entries, 1);
        assert_eq!(log.term_of(12), Some(2));
    }

    #[test]
    fn holes_and_falling_terms_are_refused() {
        let mut log = log(&[(11, 2)]);
        let hole = log.take(&entry(14, 2)).unwrap().unwrap_err();
        assert!(hole.contains("entries 12 to 13"), "{hole}");
        assert!(log.take(&entry(12, 1)).unwrap().is_err());
    }
}
