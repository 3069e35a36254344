//! Checks every page that can be reached, and the freelist. Reports all it finds; stops at nothing but a read error.
//!
//! Found besides all that bbolt's own check finds: lengths beyond the page, the high-water mark or the file; page ids
//! below 2; headers with another id; bad inline buckets and bucket values; cycles; a bad freelist page; warnings for
//! shapes that bbolt never makes. Not found by any check: a changed byte inside a value, for pages have no checksum.
//!
//! Memory: one bit per page (two with a stored freelist), one window of leaf ids with their key bounds, and a read
//! buffer per thread. Branches are read in key order by one thread. The leaves below them are gathered into the window,
//! sorted by page id, and checked by all threads, neighbours in the file with one read. Each leaf is compared with the
//! bounds that its parents give, so the order across leaves needs no order of visits.

mod bucket_value;
mod finding;
mod freelist;
mod leaf;
mod marks;
mod walk;
mod walker;
mod window;

pub use finding::{Finding, FindingKind, Report};

use crate::file::PageFile;
use crate::source::Source;
use crate::{Cancel, Db, Error, Result};
use finding::Findings;
use std::fs::File;
use std::path::Path;
use walk::Walk;

/// How to check.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Threads for the leaves, 1 to 64; the caller's thread is one of them.
    pub threads: usize,
    /// Findings, and warnings, that are kept; the rest is only counted.
    pub max_findings: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            threads: 2,
            max_findings: 100,
        }
    }
}

/// Checks an open file. `progress` is told, from any of the threads, how many pages are done. Blocks the caller.
pub fn check(
    db: &Db,
    options: &CheckOptions,
    cancel: &Cancel,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report> {
    check_pages(&db.pages, options, cancel, progress)
}

/// Checks a file that [`Db::open`] may refuse: damage of the metas or a missing end become findings, too.
pub fn check_file(
    path: impl AsRef<Path>,
    options: &CheckOptions,
    cancel: &Cancel,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| Error::io("open", path, error))?;
    match PageFile::new(Source::Plain(file), path) {
        Ok(pages) => check_pages(&pages, options, cancel, progress),
        Err(Error::NoMeta { what, .. }) => {
            let findings = Findings::new(options.max_findings);
            findings.add(0, FindingKind::MetaInvalid, || {
                format!("neither meta is valid; the first one: {what}")
            });
            Ok(findings.into_report(0, 0))
        }
        Err(error) => Err(error),
    }
}

fn check_pages(
    pages: &PageFile,
    options: &CheckOptions,
    cancel: &Cancel,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Report> {
    let mut walk = Walk::new(pages, options, cancel, progress)?;
    walk.check_metas()?;
    walk.check_length();
    walk.load_freelist()?;
    walk.check_trees()?;
    walk.check_unreachable();
    Ok(walk.into_report())
}
