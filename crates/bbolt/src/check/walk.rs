//! The state that all threads share, and the steps around the trees.

use crate::check::finding::{FindingKind as Kind, Findings};
use crate::check::marks::Marks;
use crate::check::walker::Walker;
use crate::check::{CheckOptions, Report};
use crate::file::PageFile;
use crate::page::{META, PAGE_HEADER_BYTES, PageHeader};
use crate::{Cancel, Error, FIRST_PAGE, Result};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

const MAX_THREADS: usize = 64;

pub(crate) struct Walk<'a> {
    pub pages: &'a PageFile,
    pub findings: Findings,
    pub threads: usize,
    pub cancel: &'a Cancel,
    reachable: Marks,
    /// `None`: the file stores no freelist, or one that cannot be read.
    freed: Option<Marks>,
    /// Roots of buckets that were met and marked, but not walked yet. Each page can be in it once.
    buckets: Mutex<Vec<u64>>,
    progress: &'a (dyn Fn(u64) + Sync),
    done: AtomicU64,
}

impl<'a> Walk<'a> {
    pub fn new(
        pages: &'a PageFile,
        options: &CheckOptions,
        cancel: &'a Cancel,
        progress: &'a (dyn Fn(u64) + Sync),
    ) -> Result<Self> {
        let reachable = new_marks(pages)?;
        (0..FIRST_PAGE).for_each(|page| _ = reachable.set(page));
        Ok(Self {
            pages,
            findings: Findings::new(options.max_findings),
            threads: options.threads.clamp(1, MAX_THREADS),
            cancel,
            reachable,
            freed: None,
            buckets: Mutex::default(),
            progress,
            done: AtomicU64::new(0),
        })
    }

    /// Both metas are looked at; one may be torn after a crash, that is what there are two for.
    pub fn check_metas(&self) -> Result<()> {
        for (page, meta) in (0..).zip(&self.pages.metas) {
            if let Err(what) = meta {
                self.findings.warn(page, Kind::MetaInvalid, || what.clone());
                continue;
            }
            let mut bytes = [0; PAGE_HEADER_BYTES];
            self.pages.read_slots(page, &mut bytes)?;
            if let Some(header) = PageHeader::decode(&bytes)
                .filter(|header| header.id != page || header.flags != META)
            {
                let what = || {
                    format!(
                        "the meta is valid, its page header says page {}, flags {:#06x}",
                        header.id, header.flags
                    )
                };
                self.findings.warn(page, Kind::MetaInvalid, what);
            }
        }
        Ok(())
    }

    pub fn check_length(&self) {
        let (have, need) = (self.pages.file_bytes, self.pages.needed_bytes());
        if have < need {
            let what = || {
                format!(
                    "the file has {have} bytes, the high-water mark asks for {need}; it was cut off"
                )
            };
            self.findings.add(self.pages.pages, Kind::Truncated, what);
        }
    }

    pub fn load_freelist(&mut self) -> Result<()> {
        self.freed = crate::check::freelist::load(self.pages, &self.findings, &self.reachable)?;
        Ok(())
    }

    /// The tree of all buckets, then each bucket that was found on the way.
    pub fn check_trees(&self) -> Result<()> {
        let mut walker = Walker::with_window(self);
        let root = self.pages.meta.root;
        if self.claim(0, root) {
            walker.walk_bucket(root, true)?;
        }
        while let Some(root) = self.next_bucket() {
            walker.walk_bucket(root, false)?;
        }
        Ok(())
    }

    /// Only with a stored freelist: without one, every page that is not reached is free.
    pub fn check_unreachable(&self) {
        let Some(freed) = &self.freed else { return };
        let lost = |page: u64| !self.reachable.get(page) && !freed.get(page);
        let mut page = FIRST_PAGE;
        while page < self.pages.pages {
            let first = page;
            while page < self.pages.pages && lost(page) {
                page = page.saturating_add(1);
            }
            if page > first {
                let what = || {
                    format!(
                        "pages {first} to {} are neither in use nor free",
                        page.saturating_sub(1)
                    )
                };
                self.findings.add(first, Kind::UnreachableUnfreed, what);
            }
            page = page.saturating_add(1);
        }
    }

    pub fn into_report(self) -> Report {
        let (pages, high_water) = (self.reachable.count(), self.pages.meta.high_water);
        (self.progress)(pages);
        self.findings.into_report(pages, high_water)
    }

    /// Marks a page that `parent` refers to; false when it must not be followed.
    pub fn claim(&self, parent: u64, id: u64) -> bool {
        let high_water = self.pages.meta.high_water;
        if id < FIRST_PAGE || id >= high_water {
            let what = || format!("it refers to page {id}, outside {FIRST_PAGE}..{high_water}");
            self.findings.add(parent, Kind::PageOutOfBounds, what);
            return false;
        }
        if id >= self.pages.pages {
            self.findings.add(id, Kind::Truncated, || {
                format!("page {parent} refers to it, the file ends before it")
            });
            return false;
        }
        self.mark(parent, id)
    }

    /// Marks the pages behind `id`. Stops at the first that is taken, so that marking never costs more than the file.
    pub fn claim_overflow(&self, id: u64, header: &PageHeader) -> bool {
        let end = id.saturating_add(u64::from(header.overflow));
        let high_water = self.pages.meta.high_water;
        if end >= high_water {
            let what = || {
                format!("its overflow reaches to page {end}, the high-water mark is {high_water}")
            };
            self.findings.add(id, Kind::OverflowOutOfBounds, what);
            return false;
        }
        if end >= self.pages.pages {
            self.findings.add(id, Kind::Truncated, || {
                format!("its overflow reaches to page {end}, the file ends before it")
            });
            return false;
        }
        (id..end).all(|page| self.mark(id, page.saturating_add(1)))
    }

    pub fn found_bucket(&self, root: u64) {
        self.buckets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(root);
    }

    /// Polls the cancel flag and counts.
    pub fn advance(&self, pages: u64) -> Result<()> {
        self.cancel.check()?;
        let done = self
            .done
            .fetch_add(pages, Ordering::Relaxed)
            .saturating_add(pages);
        (self.progress)(done);
        Ok(())
    }

    fn next_bucket(&self) -> Option<u64> {
        self.buckets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop()
    }

    fn mark(&self, parent: u64, id: u64) -> bool {
        if self.reachable.set(id) {
            self.findings.add(id, Kind::MultipleReferences, || {
                format!("page {parent} refers to it, and another page does")
            });
            return false;
        }
        if self.freed.as_ref().is_some_and(|freed| freed.get(id)) {
            self.findings.add(id, Kind::ReachableFreed, || {
                format!("page {parent} refers to it, the freelist lists it")
            });
        }
        true
    }
}

pub(crate) fn new_marks(pages: &PageFile) -> Result<Marks> {
    Marks::new(pages.pages).ok_or_else(|| Error::Unsupported {
        path: pages.path.clone(),
        what: format!("no memory for one bit for each of {} pages", pages.pages),
    })
}
