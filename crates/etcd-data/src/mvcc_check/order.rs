//! Mains without a hole, subs from 0: only above what a compaction may have removed.

use super::finding::{FindingKind, Findings};
use crate::revision::Revision;

/// A store's first transaction makes revision 2.
const REVISION_OF_EMPTY_STORE: i64 = 1;

pub(super) struct Order {
    floor: i64,
    last: Revision,
}

impl Order {
    pub(super) fn new(removed_up_to: i64) -> Self {
        let floor = removed_up_to.max(REVISION_OF_EMPTY_STORE);
        Order {
            floor,
            last: Revision::new(floor, i64::MAX),
        }
    }

    #[inline]
    pub(super) fn see(&mut self, revision: Revision, findings: &mut Findings) {
        if revision.main <= self.floor {
            return;
        }
        let last = std::mem::replace(&mut self.last, revision);
        let next_main = last.main.saturating_add(1);
        if revision.main == last.main {
            let expected = last.sub.saturating_add(1);
            if revision.sub != expected {
                self.gap(
                    revision,
                    findings,
                    format!("expected change {expected} of the transaction"),
                );
            }
        } else if revision.main != next_main {
            let before = revision.main.saturating_sub(1);
            self.gap(
                revision,
                findings,
                format!("revisions {next_main} to {before} are missing"),
            );
        } else if revision.sub != 0 {
            self.gap(
                revision,
                findings,
                "the transaction's first change is missing".into(),
            );
        }
    }

    #[cold]
    fn gap(&self, revision: Revision, findings: &mut Findings, what: String) {
        findings.add(FindingKind::Gap, Some(revision), || what);
    }
}
