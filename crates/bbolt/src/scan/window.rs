//! The next leaves in key order, their first pages read in page order into one buffer.

use crate::Result;
use crate::file::{PageFile, comes_from_disk, resize};
use std::time::Instant;

/// One buffer per scan.
const WINDOW_BYTES: usize = 4 << 20;
const MIN_SLOTS: usize = 1;
const MAX_SLOTS: usize = 4096;
/// A window that begins small has so many slots, and grows by this factor with each read.
const FIRST_SLOTS: usize = 16;
const GROWTH: usize = 4;

pub(crate) struct Window {
    page_bytes: usize,
    /// Of this read, and of the largest.
    slots: usize,
    slots_max: usize,
    /// In key order.
    leaves: Vec<Ahead>,
    next: usize,
    /// Page ids, ascending, and their indices in `leaves`.
    by_id: Vec<(u64, usize)>,
    buffer: Vec<u8>,
    /// Reads have waited for a disk.
    from_disk: bool,
}

struct Ahead {
    id: u64,
    depth: usize,
    slot: usize,
}

impl Window {
    pub fn new(page_bytes: usize, begins_small: bool) -> Self {
        let slots_max = WINDOW_BYTES
            .checked_div(page_bytes)
            .unwrap_or(0)
            .clamp(MIN_SLOTS, MAX_SLOTS);
        Self {
            page_bytes,
            slots: if begins_small {
                slots_max.min(FIRST_SLOTS)
            } else {
                slots_max
            },
            slots_max,
            leaves: Vec::new(),
            next: 0,
            by_id: Vec::new(),
            buffer: Vec::new(),
            from_disk: false,
        }
    }

    pub fn clear(&mut self) {
        self.leaves.clear();
        self.next = 0;
    }

    pub fn is_full(&self) -> bool {
        self.leaves.len() >= self.slots
    }

    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    pub fn push(&mut self, id: u64, depth: usize) {
        self.leaves.push(Ahead { id, depth, slot: 0 });
    }

    /// Id, depth and slot of the next leaf in key order.
    pub fn take(&mut self) -> Option<(u64, usize, usize)> {
        let leaf = self.leaves.get(self.next)?;
        self.next = self.next.saturating_add(1);
        Some((leaf.id, leaf.depth, leaf.slot))
    }

    /// Gives up the leaves that were not taken yet.
    pub fn drain_ids(&mut self) -> Vec<u64> {
        let rest = self
            .leaves
            .get(self.next..)
            .unwrap_or_default()
            .iter()
            .map(|leaf| leaf.id)
            .collect();
        self.clear();
        rest
    }

    /// First page of the leaf in `slot`.
    pub fn page(&self, slot: usize) -> &[u8] {
        let start = slot.saturating_mul(self.page_bytes);
        self.buffer
            .get(start..start.saturating_add(self.page_bytes))
            .unwrap_or_default()
    }

    /// Reads all leaves; neighbours in the file come with one call.
    pub fn read(&mut self, pages: &PageFile) -> Result<()> {
        let length = self.leaves.len().saturating_mul(self.page_bytes);
        if self.buffer.len() < length {
            resize(&mut self.buffer, length).map_err(|what| pages.corrupt(0, what))?;
        }
        self.assign_slots();
        let runs = || self.by_id.chunk_by(|a, b| a.0.checked_add(1) == Some(b.0));
        if self.from_disk {
            for run in runs() {
                pages.read_ahead(run.first().map_or(0, |first| first.0), run.len());
            }
        }
        let started = Instant::now();
        let mut rest = self.buffer.as_mut_slice();
        for run in runs() {
            let bytes = run.len().saturating_mul(self.page_bytes);
            let (Some((first, _)), Some((bytes, after))) =
                (run.first(), rest.split_at_mut_checked(bytes))
            else {
                break;
            };
            pages.read_slots(*first, bytes)?;
            rest = after;
        }
        self.from_disk |= comes_from_disk(started.elapsed(), self.leaves.len());
        self.slots = self.slots.saturating_mul(GROWTH).min(self.slots_max);
        Ok(())
    }

    /// The slots of the buffer are in the order of page ids.
    fn assign_slots(&mut self) {
        let Self { leaves, by_id, .. } = self;
        by_id.clear();
        by_id.extend(leaves.iter().map(|leaf| leaf.id).zip(0..));
        by_id.sort_unstable();
        for (slot, (_, index)) in by_id.iter().enumerate() {
            if let Some(leaf) = leaves.get_mut(*index) {
                leaf.slot = slot;
            }
        }
    }
}
