//! All records of a tree in key order, from either end, with memory that does not grow with the file.
//!
//! In a file that has lived, leaves lie in no order. So the ids of the next leaves in key order are gathered, and their
//! first pages are read in order of their ids, neighbours in one read, into one buffer. A leaf with overflow pages is
//! read again as a whole when its turn comes. Keys are compared as they pass: they ascend (or,
//! backwards, descend) or the scan fails.

mod window;

use crate::bucket::{CYCLE, OUTSIDE, nested};
use crate::error::key_text;
use crate::file::PageFile;
use crate::page::{BRANCH, Branch, IS_BUCKET, LEAF, Leaf, LeafEntry, PageHeader};
use crate::{Error, MAX_DEPTH, Result};
use window::Window;

/// A large leaf's buffer is given back above this size.
const KEPT_LARGE_BYTES: usize = 4 << 20;

/// An ordered scan. Records are lent: each one lives until the next call.
pub struct Scan<'db> {
    pages: &'db PageFile,
    /// Branches on the way, deepest last.
    frames: Vec<Frame>,
    window: Window,
    leaf: Current,
    /// Holds an inline page, or a leaf with overflow.
    large: Vec<u8>,
    order: Order,
    /// Records before this key, in the order of the scan, are passed over.
    from: Option<Vec<u8>>,
    last_key: Option<Vec<u8>>,
    /// Pages that may still be read: each page once, so that no cycle goes on.
    budget: u64,
    leaf_depth: usize,
}

/// Which end of the tree a scan begins at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

/// Children of one branch that are still to come.
struct Frame {
    /// In the order of the scan.
    ids: Vec<u64>,
    next: usize,
    /// Depth of the children; the root has 0.
    depth: usize,
    /// The children are taken for leaves without a look.
    leaves: bool,
}

/// The leaf whose records are being handed out.
#[derive(Clone, Copy)]
struct Current {
    id: u64,
    bytes: Place,
    count: usize,
    next: usize,
}

#[derive(Clone, Copy)]
enum Place {
    Large,
    Window(usize),
}

impl<'db> Scan<'db> {
    /// The next record; `None` at the end.
    #[allow(
        clippy::should_implement_trait,
        reason = "it lends, an Iterator cannot"
    )]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        let pages = self.pages;
        match self.next_entry()? {
            Some(entry) if entry.flags & IS_BUCKET != 0 => Err(nested(pages, entry.key)),
            Some(entry) => Ok(Some((entry.key, entry.value))),
            None => Ok(None),
        }
    }

    pub(crate) fn of_tree(
        pages: &'db PageFile,
        root: u64,
        order: Order,
        from: Option<&[u8]>,
    ) -> Result<Self> {
        let mut scan = Self::empty(pages, order, from);
        scan.leaf_depth = leaf_depth(pages, root)?;
        scan.frames.push(Frame {
            ids: vec![root],
            next: 0,
            depth: 0,
            leaves: scan.leaf_depth == 0,
        });
        if let Some(key) = from {
            scan.descend_to(key)?;
        }
        Ok(scan)
    }

    pub(crate) fn of_inline(
        pages: &'db PageFile,
        page: Vec<u8>,
        count: usize,
        order: Order,
        from: Option<&[u8]>,
    ) -> Result<Self> {
        let mut scan = Self::empty(pages, order, from);
        scan.large = page;
        scan.leaf = Current {
            id: 0,
            bytes: Place::Large,
            count,
            next: 0,
        };
        scan.skip_before_from()?;
        Ok(scan)
    }

    /// Like [`Scan::next`], but hands out buckets too.
    pub(crate) fn next_entry(&mut self) -> Result<Option<LeafEntry<'_>>> {
        while self.leaf.next >= self.leaf.count {
            self.keep_last_key();
            if !self.load_next_leaf()? {
                return Ok(None);
            }
        }
        let place = self.leaf.next;
        self.leaf.next = place.saturating_add(1);
        let id = self.leaf.id;
        let index = self.index_at(place);
        let leaf = Leaf(self.leaf_bytes());
        let entry = leaf
            .entry(index)
            .ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
        let before = match place.checked_sub(1) {
            Some(before) => leaf.entry(self.index_at(before)).map(|entry| entry.key),
            None => self.last_key.as_deref(),
        };
        let sorted = |before: &[u8]| match self.order {
            Order::Ascending => before < entry.key,
            Order::Descending => before > entry.key,
        };
        if before.is_some_and(|before| !sorted(before)) {
            let what = format!(
                "page {id}: {} follows {}",
                key_text(entry.key),
                key_text(before.unwrap_or_default())
            );
            return Err(Error::NotSorted {
                path: self.pages.path.clone(),
                what,
            });
        }
        Ok(Some(entry))
    }

    fn empty(pages: &'db PageFile, order: Order, from: Option<&[u8]>) -> Self {
        Self {
            pages,
            frames: Vec::new(),
            // Who reads backwards looks for something that is probably near the end.
            window: Window::new(pages.page_bytes(), order == Order::Descending),
            leaf: Current {
                id: 0,
                bytes: Place::Large,
                count: 0,
                next: 0,
            },
            large: Vec::new(),
            order,
            from: from.map(<[u8]>::to_vec),
            last_key: None,
            budget: pages.pages,
            leaf_depth: 0,
        }
    }

    fn leaf_bytes(&self) -> &[u8] {
        match self.leaf.bytes {
            Place::Large => &self.large,
            Place::Window(slot) => self.window.page(slot),
        }
    }

    /// Index in the leaf of the record that is handed out at `place`.
    fn index_at(&self, place: usize) -> usize {
        match self.order {
            Order::Ascending => place,
            Order::Descending => self.leaf.count.saturating_sub(1).saturating_sub(place),
        }
    }

    /// The buffer of the leaf is about to go; its last key is what the next leaf must go beyond.
    fn keep_last_key(&mut self) {
        let Some(last) = self.leaf.count.checked_sub(1) else {
            return;
        };
        let index = self.index_at(last);
        let mut kept = self.last_key.take().unwrap_or_default();
        if let Some(entry) = Leaf(self.leaf_bytes()).entry(index) {
            kept.clear();
            kept.extend_from_slice(entry.key);
        }
        self.last_key = Some(kept);
        self.leaf.count = 0;
        self.leaf.next = 0;
    }

    /// Takes the branches down to the leaf that would hold `key`, leaving what lies behind the path.
    fn descend_to(&mut self, key: &[u8]) -> Result<()> {
        let mut bytes = Vec::new();
        for _ in 0..MAX_DEPTH {
            let Some(frame) = self.frames.last_mut() else {
                return Ok(());
            };
            let Some(id) = frame.ids.get(frame.next).copied().filter(|_| !frame.leaves) else {
                return Ok(());
            };
            let header = self.pages.read_page(id, &mut bytes)?;
            if header.flags != BRANCH {
                return Ok(());
            }
            frame.next = frame.next.saturating_add(1);
            let index = Branch(&bytes).child_for(usize::from(header.count), key);
            let index = index.ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
            self.push_branch(id, &header, &bytes)?;
            let descending = self.order == Order::Descending;
            if let Some(frame) = self.frames.last_mut() {
                frame.next = if descending {
                    frame.ids.len().saturating_sub(1).saturating_sub(index)
                } else {
                    index
                };
            }
        }
        Ok(())
    }

    /// False at the end of the tree.
    fn load_next_leaf(&mut self) -> Result<bool> {
        let Some((id, depth, slot)) = self.window.take() else {
            return self.fill_window();
        };
        let header = PageHeader::decode(self.window.page(slot))
            .ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
        let slots = self.pages.slots_of(id, &header)?;
        if header.flags == BRANCH {
            self.take_branch_at_leaf_depth(id, depth)?;
            return Ok(true);
        }
        self.spend(id, slots.saturating_sub(1))?;
        let mut place = Place::Window(slot);
        if slots > 1 {
            if self.large.capacity() > KEPT_LARGE_BYTES {
                self.large = Vec::new();
            }
            self.pages.read_page(id, &mut self.large)?;
            place = Place::Large;
        }
        self.leaf = Current {
            id,
            bytes: place,
            count: usize::from(header.count),
            next: 0,
        };
        self.skip_before_from()?;
        Ok(true)
    }

    /// Gathers leaf ids in key order and reads them. True when there was one.
    fn fill_window(&mut self) -> Result<bool> {
        self.window.clear();
        let mut bytes = Vec::new();
        while !self.window.is_full() {
            let Some(frame) = self.frames.last_mut() else {
                break;
            };
            let Some(id) = frame.ids.get(frame.next).copied() else {
                self.frames.pop();
                continue;
            };
            frame.next = frame.next.saturating_add(1);
            let (depth, leaves) = (frame.depth, frame.leaves);
            self.pages.check_id(id)?;
            if !leaves {
                let header = self.pages.read_page(id, &mut bytes)?;
                if header.flags != LEAF {
                    self.push_branch(id, &header, &bytes)?;
                    continue;
                }
            }
            self.spend(id, 1)?;
            self.window.push(id, depth);
        }
        self.window.read(self.pages)?;
        Ok(!self.window.is_empty())
    }

    fn push_branch(&mut self, id: u64, header: &PageHeader, bytes: &[u8]) -> Result<()> {
        self.spend(id, u64::from(header.overflow).saturating_add(1))?;
        let depth = self
            .frames
            .last()
            .map_or(0, |frame| frame.depth)
            .saturating_add(1);
        if depth > MAX_DEPTH {
            return Err(self.pages.corrupt(id, "the tree is too deep"));
        }
        let ids: Option<Vec<u64>> = (0..usize::from(header.count))
            .map(|index| Branch(bytes).child(index))
            .collect();
        let mut ids = ids.ok_or_else(|| self.pages.corrupt(id, OUTSIDE))?;
        if self.order == Order::Descending {
            ids.reverse();
        }
        self.frames.push(Frame {
            ids,
            next: 0,
            depth,
            leaves: depth == self.leaf_depth,
        });
        Ok(())
    }

    /// No bbolt makes such a tree, but it can be read: the rest of the window waits behind this branch.
    fn take_branch_at_leaf_depth(&mut self, id: u64, depth: usize) -> Result<()> {
        let rest = self.window.drain_ids();
        self.budget = self
            .budget
            .saturating_add(rest.len() as u64)
            .saturating_add(1);
        self.frames.push(Frame {
            ids: rest,
            next: 0,
            depth,
            leaves: true,
        });
        self.frames.push(Frame {
            ids: vec![id],
            next: 0,
            depth,
            leaves: false,
        });
        Ok(())
    }

    fn spend(&mut self, id: u64, slots: u64) -> Result<()> {
        self.budget = self
            .budget
            .checked_sub(slots)
            .ok_or_else(|| self.pages.corrupt(id, CYCLE))?;
        Ok(())
    }

    fn skip_before_from(&mut self) -> Result<()> {
        let Some(from) = &self.from else {
            return Ok(());
        };
        let (leaf, count) = (Leaf(self.leaf_bytes()), self.leaf.count);
        let first = match self.order {
            Order::Ascending => leaf.lower_bound(count, from),
            Order::Descending => leaf
                .upper_bound(count, from)
                .map(|above| count.saturating_sub(above)),
        };
        self.leaf.next = first.ok_or_else(|| self.pages.corrupt(self.leaf.id, OUTSIDE))?;
        Ok(())
    }
}

/// Depth of the leftmost leaf; bbolt's trees have all leaves at one depth.
pub(crate) fn leaf_depth(pages: &PageFile, root: u64) -> Result<usize> {
    let mut id = root;
    let mut bytes = [0; 32];
    for depth in 0..=MAX_DEPTH {
        let header = pages.read_header(id)?;
        if header.flags != BRANCH || header.count == 0 {
            return Ok(depth);
        }
        pages.read_slots(id, &mut bytes)?;
        id = Branch(&bytes)
            .child(0)
            .ok_or_else(|| pages.corrupt(id, OUTSIDE))?;
    }
    Err(pages.corrupt(root, "the tree is too deep"))
}
