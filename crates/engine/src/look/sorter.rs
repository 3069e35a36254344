//! Entries in order of keys, and within a key of revisions, with bounded memory.
//!
//! Entries gather in one buffer. When it is full it is sorted, what certainly cannot be in the answer is dropped, and
//! what is left goes to the spill as a run, unless that is little. Runs are merged at the end; when there are too many
//! they are merged into one before.

use crate::Result;
use crate::look::entry::{Entry, HEAD_BYTES, Head};
use crate::look::query::{Ask, Query};
use crate::look::runs::{Merge, Run};
use crate::look::spill::Spill;
use std::cmp::Ordering;
use std::path::PathBuf;

/// Bytes of entries in memory. Sorted they are copied, so twice as much is used for a moment.
const BUFFER_BYTES: usize = 16 << 20;
/// Runs that are merged at a time: each needs a read buffer and the longest key.
const MAX_RUNS: usize = 256;

/// Which of two changes of one key comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Newest {
    First,
    Last,
}

pub(crate) struct Sorter {
    newest: Newest,
    spill_dir: PathBuf,
    bytes: Vec<u8>,
    places: Vec<usize>,
    runs: Vec<Run>,
    spill: Option<Spill>,
    buffer_bytes: usize,
    max_runs: usize,
}

impl Sorter {
    pub fn new(query: &Query) -> Self {
        let newest = match query.ask {
            Ask::History { .. } => Newest::Last,
            Ask::State { .. } | Ask::Difference { .. } => Newest::First,
        };
        Self {
            newest,
            spill_dir: query.spill_dir.clone(),
            bytes: Vec::new(),
            places: Vec::new(),
            runs: Vec::new(),
            spill: None,
            buffer_bytes: BUFFER_BYTES,
            max_runs: MAX_RUNS,
        }
    }

    #[cfg(test)]
    pub fn shrink_for_tests(&mut self, buffer_bytes: usize, max_runs: usize) {
        (self.buffer_bytes, self.max_runs) = (buffer_bytes, max_runs);
    }

    pub fn push(&mut self, entry: &Entry<'_>) -> Result<()> {
        self.places.push(self.bytes.len());
        entry.encode(&mut self.bytes)?;
        // A place counts too: entries may be as small as their heads.
        if self.bytes.len() + self.places.len() * size_of::<usize>() < self.buffer_bytes {
            return Ok(());
        }
        self.settle();
        if self.bytes.len() > self.buffer_bytes / 2 {
            self.spill_run()?;
        }
        Ok(())
    }

    /// All entries in order.
    pub fn finish(mut self) -> Result<Merge> {
        self.settle();
        let memory = std::mem::take(&mut self.bytes);
        Merge::start(self.newest, memory, self.spill, self.runs)
    }

    /// Sorts the buffer and drops what cannot be in the answer.
    fn settle(&mut self) {
        let bytes = &self.bytes;
        let newest = self.newest;
        self.places
            .sort_unstable_by(|a, b| compare(newest, at(bytes, *a), at(bytes, *b)));
        let mut kept = Vec::with_capacity(self.bytes.len());
        let mut places = Vec::with_capacity(self.places.len());
        let mut before: (&[u8], u8) = (&[], 0);
        for place in &self.places {
            let (head, key) = at(bytes, *place);
            if before.0 != key {
                before = (key, 0);
            }
            // Newer changes that certainly count stand for the same states.
            if newest == Newest::First && head.sides & !before.1 == 0 {
                continue;
            }
            if head.page == 0 {
                before.1 |= head.sides;
            }
            let end = place
                .saturating_add(HEAD_BYTES)
                .saturating_add(head.body_bytes() as usize);
            places.push(kept.len());
            kept.extend_from_slice(bytes.get(*place..end).unwrap_or_default());
        }
        (self.bytes, self.places) = (kept, places);
    }

    fn spill_run(&mut self) -> Result<()> {
        if self.runs.len() >= self.max_runs {
            self.merge_runs()?;
        }
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(Spill::create(&self.spill_dir)?),
        };
        let start = spill.end();
        spill.append(&self.bytes)?;
        self.runs.push(Run {
            start,
            end: spill.end(),
        });
        self.bytes.clear();
        self.places.clear();
        Ok(())
    }

    /// All runs into one, in a file of its own; the old file is given up with its space.
    fn merge_runs(&mut self) -> Result<()> {
        let runs = std::mem::take(&mut self.runs);
        let mut merge = Merge::start(self.newest, Vec::new(), self.spill.take(), runs)?;
        let mut into = Spill::create(&self.spill_dir)?;
        let (mut entry, mut value) = (Vec::new(), Vec::new());
        while let Some(item) = merge.next()? {
            merge.value(&item, &mut value)?;
            entry.clear();
            entry.extend_from_slice(&item.head.encode());
            entry.extend_from_slice(&item.key);
            entry.extend_from_slice(&value);
            into.append_buffered(&entry)?;
        }
        into.flush()?;
        self.runs.push(Run {
            start: 0,
            end: into.end(),
        });
        self.spill = Some(into);
        Ok(())
    }
}

fn at(bytes: &[u8], place: usize) -> (Head, &[u8]) {
    let entry = bytes.get(place..).unwrap_or_default();
    let head = Head::decode(entry).unwrap_or_default();
    let key = entry
        .get(HEAD_BYTES..)
        .and_then(|rest| rest.get(..head.key_bytes as usize));
    (head, key.unwrap_or_default())
}

pub(crate) fn compare(newest: Newest, a: (Head, &[u8]), b: (Head, &[u8])) -> Ordering {
    let by_revision = match newest {
        Newest::First => b.0.revision().cmp(&a.0.revision()),
        Newest::Last => a.0.revision().cmp(&b.0.revision()),
    };
    // What certainly counts before what may not.
    a.1.cmp(b.1).then(by_revision).then(a.0.page.cmp(&b.0.page))
}
