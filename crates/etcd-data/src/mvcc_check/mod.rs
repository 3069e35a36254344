//! Whether the `key` bucket is a history that an etcd could have written: what a structural check cannot see.
//!
//! Per record: the key parses, the value decodes, mod_revision = main, version 1 exactly at creation, tombstones hold a
//! key and nothing else. Above the compaction: mains without a hole, subs 0, 1, 2, … Per key: put follows put with
//! version + 1 and the same create_revision, put follows a tombstone as version 1, a tombstone follows a put.
//!
//! Legal, and not reported: the empty placeholder of `restore --bump-revision`; a first sight of a key at or below the
//! compaction with any version (its history was removed) or as a tombstone (kept there); half-done removals while the
//! scheduled compaction is not the finished one. Removal is in ascending order, so what is left of a key's history
//! is always its end.
//!
//! Not visible here: the loss of a whole newest record of a key together with the end of its transaction; HashKV sees it.

mod chain;
mod finding;
mod order;
mod record;

use bbolt::{Cancel, Db};

use crate::error::Result;
use crate::meta::Meta;
use crate::partition::TABLE_BUDGET_BYTES;
use crate::records::{Walk, for_each_record, record_range};
use crate::revision::Revision;

pub use finding::{Finding, FindingKind, Findings};

use chain::Chains;
use order::Order;
use record::Sound;

/// Bounds of one check.
#[derive(Debug, Clone, Copy)]
pub struct MvccOptions {
    /// Findings that are described; all are counted.
    pub max_findings: usize,
    /// Memory for the per-key chains; less memory means more scans.
    pub table_bytes: usize,
}

impl Default for MvccOptions {
    fn default() -> Self {
        MvccOptions {
            max_findings: 100,
            table_bytes: TABLE_BUDGET_BYTES,
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct MvccReport {
    /// Records in the bucket.
    pub records: u64,
    /// Of these, deletions.
    pub tombstones: u64,
    /// Keys that are alive at the end.
    pub live_keys: u64,
    /// First record's revision.
    pub first: Option<Revision>,
    /// Last record's revision.
    pub last: Option<Revision>,
    /// Scans that the memory bound made necessary.
    pub scans: u32,
    /// Empty when the history is sound.
    pub findings: Findings,
}

/// Checks all records. An `Err` is damage below the records (or a cancellation), findings are damage in them.
pub fn mvcc_check(db: &Db, options: MvccOptions, cancel: &Cancel) -> Result<MvccReport> {
    let meta = Meta::read(db)?;
    let mut report = MvccReport {
        findings: Findings::new(options.max_findings),
        ..MvccReport::default()
    };
    finding::check_marks(&meta, record_range(db)?.is_some(), &mut report.findings);
    let removed_up_to = meta.removed_up_to();
    let mut chains = Chains::new(removed_up_to, options.table_bytes);
    let mut order = Some(Order::new(removed_up_to));
    loop {
        report.scans = report.scans.saturating_add(1);
        for_each_record(db, None, cancel, |raw| {
            // Only the first scan reports on records as such; the later ones are for more keys' chains.
            let first_scan = order.as_mut();
            let mut unheard = Findings::new(0);
            let findings = if first_scan.is_some() {
                &mut report.findings
            } else {
                &mut unheard
            };
            let Some(sound) = record::read(raw, removed_up_to, findings) else {
                return Ok(Walk::On);
            };
            if let Some(order) = first_scan {
                order.see(sound.revision, findings);
                count(&mut report, &sound);
            }
            // What `--bump-revision` leaves has no key, and so no history; each raise leaves another.
            if !sound.kv.key.is_empty() {
                chains.see(&sound, &mut report.findings);
            }
            Ok(Walk::On)
        })?;
        order = None;
        let live_keys = chains.live_keys(&mut report.findings);
        report.live_keys = report.live_keys.saturating_add(live_keys);
        if !chains.next_range() {
            return Ok(report);
        }
    }
}

fn count(report: &mut MvccReport, sound: &Sound<'_>) {
    report.records = report.records.saturating_add(1);
    report.tombstones = report.tombstones.saturating_add(u64::from(sound.tombstone));
    report.first.get_or_insert(sound.revision);
    report.last = Some(sound.revision);
}
