//! What a check reports.

use std::sync::{Mutex, PoisonError};

/// One thing that is wrong, or odd.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The page that it is about.
    pub page: u64,
    /// What kind of thing.
    pub kind: FindingKind,
    /// The particulars, for people.
    pub detail: String,
}

/// The kinds of findings and warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// A meta page does not validate. A warning while the other one does.
    MetaInvalid,
    /// The file ends before the high-water mark.
    Truncated,
    /// A page id below 2, or at or above the high-water mark.
    PageOutOfBounds,
    /// The overflow pages reach beyond the high-water mark.
    OverflowOutOfBounds,
    /// The page's header names another page.
    PageId,
    /// The page is neither branch nor leaf, or a branch of impossible size.
    PageType,
    /// A page has two parents, or lies in the overflow of another one: also how a cycle shows.
    MultipleReferences,
    /// An element, its key or its value lies outside its page.
    ElementOutOfBounds,
    /// A key without bytes, or with more than bbolt writes.
    KeySize,
    /// A key is not above the one before it.
    KeyOrder,
    /// A page's first key is below the key in its parent.
    KeyBelowParent,
    /// A page's last key is not below the next key in an ancestor.
    KeyAboveParent,
    /// A leaf element has flags that bbolt does not know.
    ElementFlags,
    /// A record at the top level, where only buckets are.
    NotABucket,
    /// A bucket's value is too short.
    BucketValue,
    /// The page inside a bucket's value is damaged.
    InlineBucket,
    /// A branch without children.
    EmptyBranch,
    /// More levels than any file needs.
    TooDeep,
    /// The freelist's page cannot be read as one.
    FreelistPage,
    /// A free page id below 2, or at or above the high-water mark.
    FreelistRange,
    /// The free page ids do not ascend.
    FreelistOrder,
    /// A page is listed free twice.
    FreelistDuplicate,
    /// A page is in use and listed free.
    ReachableFreed,
    /// A page is neither in use nor listed free.
    UnreachableUnfreed,
    /// Warning: leaves at different depths. Readable; bbolt never makes it.
    UnequalDepth,
    /// Warning: a branch with one child. bbolt dies when it rebalances it; the bucket should be rewritten.
    SingleChild,
    /// Warning: an empty leaf that is not the root of its tree.
    EmptyLeaf,
}

impl FindingKind {
    /// The freelist is wrong, not the data: the file can be read, and repaired by writing it without a freelist.
    #[must_use]
    pub fn is_freelist(self) -> bool {
        matches!(
            self,
            Self::FreelistPage
                | Self::FreelistRange
                | Self::FreelistOrder
                | Self::FreelistDuplicate
                | Self::ReachableFreed
                | Self::UnreachableUnfreed
        )
    }
}

/// The verdict.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Pages that were reached, overflow pages included.
    pub pages: u64,
    /// The high-water mark.
    pub high_water: u64,
    /// What is wrong, by page; at most `max_findings`.
    pub findings: Vec<Finding>,
    /// All that is wrong.
    pub findings_total: u64,
    /// Of these, the ones about the freelist alone.
    pub freelist_total: u64,
    /// What is odd, yet readable; at most `max_findings`.
    pub warnings: Vec<Finding>,
    /// All that is odd.
    pub warnings_total: u64,
}

impl Report {
    /// Nothing is wrong.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.findings_total == 0
    }

    /// All records can be read: at most the freelist is wrong.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.findings_total == self.freelist_total
    }
}

/// Collects from all threads; keeps a bounded number.
pub(crate) struct Findings {
    max: usize,
    report: Mutex<Report>,
}

impl Findings {
    pub fn new(max: usize) -> Self {
        Self {
            max,
            report: Mutex::default(),
        }
    }

    pub fn add(&self, page: u64, kind: FindingKind, detail: impl FnOnce() -> String) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.findings_total = report.findings_total.saturating_add(1);
        report.freelist_total = report
            .freelist_total
            .saturating_add(u64::from(kind.is_freelist()));
        if report.findings.len() < self.max {
            report.findings.push(Finding {
                page,
                kind,
                detail: detail(),
            });
        }
    }

    pub fn warn(&self, page: u64, kind: FindingKind, detail: impl FnOnce() -> String) {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.warnings_total = report.warnings_total.saturating_add(1);
        if report.warnings.len() < self.max {
            report.warnings.push(Finding {
                page,
                kind,
                detail: detail(),
            });
        }
    }

    pub fn into_report(self, pages: u64, high_water: u64) -> Report {
        let mut report = self
            .report
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        report.findings.sort_unstable();
        report.warnings.sort_unstable();
        Report {
            pages,
            high_water,
            ..report
        }
    }
}
