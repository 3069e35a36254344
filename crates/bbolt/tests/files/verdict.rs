//! One damage, one verdict.

use super::{Raw, key};
use bbolt::check::{CheckOptions, FindingKind as Kind, Report, check_file};
use bbolt::{Cancel, Db};
use std::path::Path;

/// What the check finds after `damage`.
pub fn verdict(damage: impl FnOnce(&mut Raw)) -> Report {
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::sample(dir.path());
    damage(&mut raw);
    report(&raw.write(dir.path()))
}

pub fn report(path: &Path) -> Report {
    let report = check_file(path, &CheckOptions::default(), &Cancel::never(), &|_| ()).unwrap();
    read_everything(path);
    report
}

/// Must come to an end, whatever it is.
pub fn read_everything(path: &Path) {
    let Ok(db) = Db::open(path) else { return };
    for (name, _) in db.buckets().unwrap_or_default() {
        let Ok(Some(bucket)) = db.bucket(&name) else {
            continue;
        };
        let _ = (bucket.last(), bucket.first(), bucket.get(&key(5)));
        if let Ok(mut scan) = bucket.scan() {
            while let Ok(Some(_)) = scan.next() {}
        }
    }
}

pub fn kinds(report: &Report) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.kind).collect();
    kinds.dedup();
    kinds
}

#[track_caller]
pub fn assert_finds(report: &Report, kind: Kind) {
    assert!(
        kinds(report).contains(&kind),
        "expected {kind:?} in {report:#?}"
    );
}

#[track_caller]
pub fn assert_finds_only(report: &Report, kind: Kind) {
    assert_eq!(kinds(report), [kind], "{report:#?}");
}

#[track_caller]
pub fn assert_ok(report: &Report) {
    assert!(report.is_ok() && report.warnings.is_empty(), "{report:#?}");
    assert_eq!(report.pages, report.high_water);
}
