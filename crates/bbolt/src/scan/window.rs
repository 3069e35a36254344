//! The next leaves in key order, their first pages read in page order into one buffer.

use crate::Result;
use crate::file::PageFile;

/// One buffer per scan.
const WINDOW_BYTES: usize = 4 << 20;
const MIN_SLOTS: usize = 1;
const MAX_SLOTS: usize = 4096;

pub(crate) struct Window {
    page_bytes: usize,
    slots: usize,
    /// In key order.
    leaves: Vec<Ahead>,
    next: usize,
    /// Indices into `leaves`, by page id.
    by_id: Vec<u32>,
    buffer: Vec<u8>,
}

struct Ahead {
    id: u64,
    depth: usize,
    slot: usize,
}

impl Window {
    pub fn new(page_bytes: usize) -> Self {
        let slots = WINDOW_BYTES
            .checked_div(page_bytes)
            .unwrap_or(0)
            .clamp(MIN_SLOTS, MAX_SLOTS);
        Self {
            page_bytes,
            slots,
            leaves: Vec::new(),
            next: 0,
            by_id: Vec::new(),
            buffer: Vec::new(),
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
        let Self {
            leaves,
            by_id,
            buffer,
            page_bytes,
            ..
        } = self;
        by_id.clear();
        by_id.extend((0_u32..).take(leaves.len()));
        let id_of =
            |leaves: &[Ahead], index: u32| leaves.get(index as usize).map_or(0, |leaf| leaf.id);
        by_id.sort_unstable_by_key(|index| id_of(leaves, *index));
        let length = leaves.len().saturating_mul(*page_bytes);
        if buffer.len() < length {
            crate::file::resize(buffer, length).map_err(|what| pages.corrupt(0, what))?;
        }
        let mut rest = buffer.as_mut_slice();
        for run in
            by_id.chunk_by(|a, b| id_of(leaves, *a).checked_add(1) == Some(id_of(leaves, *b)))
        {
            let first = run.first().map_or(0, |index| id_of(leaves, *index));
            let Some((bytes, after)) =
                rest.split_at_mut_checked(run.len().saturating_mul(*page_bytes))
            else {
                break;
            };
            pages.read_slots(first, bytes)?;
            rest = after;
        }
        for (slot, index) in by_id.iter().enumerate() {
            if let Some(leaf) = leaves.get_mut(*index as usize) {
                leaf.slot = slot;
            }
        }
        Ok(())
    }
}
