//! What the check reports, and how much of it.

use crate::meta::Meta;
use crate::revision::Revision;

/// Kinds of damage, for programs; people read the detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingKind {
    /// Marks in `meta` contradict each other.
    Marks,
    /// A key of the bucket is not a revision.
    RecordKey,
    /// A value is no `KeyValue`, or not one that etcd writes at this revision.
    Value,
    /// Revisions are missing, or numbers within a transaction.
    Gap,
    /// A record does not continue its key's history.
    Chain,
}

impl FindingKind {
    /// Stable name for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Marks => "marks",
            FindingKind::RecordKey => "record-key",
            FindingKind::Value => "value",
            FindingKind::Gap => "gap",
            FindingKind::Chain => "chain",
        }
    }
}

/// One piece of damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Kind, for programs.
    pub kind: FindingKind,
    /// The record, when there is one.
    pub revision: Option<Revision>,
    /// What is wrong, in words.
    pub detail: String,
}

/// A bounded list that counts everything.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    list: Vec<Finding>,
    total: u64,
    max: usize,
}

impl Findings {
    /// Describes at most `max`.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Findings {
            list: Vec::new(),
            total: 0,
            max,
        }
    }

    /// The described ones, in the order of the records per scan.
    #[must_use]
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Counts one more; `detail` is only built when it is kept.
    pub(super) fn add(
        &mut self,
        kind: FindingKind,
        revision: Option<Revision>,
        detail: impl FnOnce() -> String,
    ) {
        self.total = self.total.saturating_add(1);
        if self.list.len() < self.max {
            self.list.push(Finding {
                kind,
                revision,
                detail: detail(),
            });
        }
    }
}

/// A compaction cannot be finished that was never scheduled, and changes cannot have been applied at no raft index.
pub(super) fn check_marks(meta: &Meta, has_records: bool, findings: &mut Findings) {
    if meta.finished_compact > meta.scheduled_compact {
        findings.add(FindingKind::Marks, None, || {
            format!(
                "meta: finished compaction {} is above the scheduled one ({})",
                meta.compact_revision(),
                meta.scheduled_compact
                    .map_or("none".into(), |revision| revision.to_string()),
            )
        });
    }
    if has_records && meta.consistent_index.unwrap_or(0) == 0 {
        findings.add(FindingKind::Marks, None, || {
            "meta: consistent_index is 0 or absent; etcd would not start".into()
        });
    }
}

/// A user key in a message: quoted, cut.
pub(super) fn shown(key: &[u8]) -> String {
    const SHOWN_BYTES: usize = 80;
    let cut = key.get(..SHOWN_BYTES).unwrap_or(key);
    let dots = if cut.len() < key.len() { "…" } else { "" };
    format!("\"{}{dots}\"", cut.escape_ascii())
}
