//! Walks one tree from its root: branches here, leaves through the window.

use crate::check::finding::FindingKind as Kind;
use crate::check::leaf::{self, Bounds, LeafScratch};
use crate::check::walk::Walk;
use crate::check::window::Window;
use crate::file::resize;
use crate::page::{BRANCH, Branch, LEAF, PageHeader};
use crate::scan::leaf_depth;
use crate::{MAX_DEPTH, MAX_KEY_BYTES, Result};

pub(crate) struct Walker<'w, 'a> {
    walk: &'w Walk<'a>,
    frames: Vec<Frame>,
    /// `None` in a helper thread, which walks what it meets by itself.
    window: Option<Window>,
    /// Where the leaves of this tree are; `None`: every child is looked at.
    leaf_depth: Option<usize>,
    scratch: LeafScratch,
    slot: Vec<u8>,
}

/// A branch whose children are being visited.
struct Frame {
    id: u64,
    bytes: Vec<u8>,
    count: usize,
    next: usize,
    max: Option<Vec<u8>>,
    /// Depth of the branch; the root has 0.
    depth: usize,
}

impl<'w, 'a> Walker<'w, 'a> {
    pub fn with_window(walk: &'w Walk<'a>) -> Self {
        Self {
            window: Some(Window::default()),
            ..Self::alone(walk, true)
        }
    }

    pub fn alone(walk: &'w Walk<'a>, top_level: bool) -> Self {
        Self {
            walk,
            frames: Vec::new(),
            window: None,
            leaf_depth: None,
            scratch: LeafScratch::new(top_level),
            slot: Vec::new(),
        }
    }

    /// Walks the tree of a bucket, or of all buckets, whose root is marked.
    pub fn walk_bucket(&mut self, root: u64, top_level: bool) -> Result<()> {
        self.scratch.top_level = top_level;
        // A damaged path gives no depth; what is wrong with it is found on the way.
        self.leaf_depth = leaf_depth(self.walk.pages, root).ok();
        self.visit(root, Bounds::default(), 0)?;
        self.walk_frames()?;
        self.check_window()
    }

    /// Checks a page that stands where leaves are expected.
    pub fn check_leaf_slot(&mut self, id: u64, slot: &[u8], bounds: Bounds<'_>) -> Result<()> {
        let Some(header) = self.header(id, slot) else {
            return Ok(());
        };
        if header.flags == LEAF {
            if header.count == 0 {
                self.walk
                    .findings
                    .warn(id, Kind::EmptyLeaf, || "a leaf without elements".to_owned());
            }
            return leaf::check(self.walk, id, &header, slot, bounds, &mut self.scratch);
        }
        self.walk.findings.warn(id, Kind::UnequalDepth, || {
            "a branch where its neighbours are leaves".to_owned()
        });
        self.enter(id, &header, bounds, 0)?;
        self.walk_frames()
    }

    fn walk_frames(&mut self) -> Result<()> {
        while let Some(mut frame) = self.frames.pop() {
            let index = frame.next;
            if index >= frame.count {
                continue;
            }
            frame.next = index.saturating_add(1);
            // The frame goes below its child's, which is pushed by `visit`.
            let (id, depth) = (frame.id, frame.depth.saturating_add(1));
            let place = self.frames.len();
            if let Some(entry) = Branch(&frame.bytes).entry(index) {
                let next = Branch(&frame.bytes)
                    .entry(frame.next)
                    .filter(|_| frame.next < frame.count);
                let bounds = Bounds {
                    min: Some(entry.key),
                    max: next.map(|next| next.key).or(frame.max.as_deref()),
                };
                if self.walk.claim(id, entry.child) {
                    self.visit(entry.child, bounds, depth)?;
                }
            }
            self.frames.insert(place, frame);
        }
        Ok(())
    }

    fn visit(&mut self, id: u64, bounds: Bounds<'_>, depth: usize) -> Result<()> {
        if let Some(window) = self
            .window
            .as_mut()
            .filter(|_| depth > 0 && Some(depth) == self.leaf_depth)
        {
            window.push(id, bounds);
            if window.is_full() {
                self.check_window()?;
            }
            return Ok(());
        }
        let mut slot = std::mem::take(&mut self.slot);
        slot.resize(self.walk.pages.page_bytes(), 0);
        self.walk.pages.read_slots(id, &mut slot)?;
        self.walk.advance(1)?;
        if let Some(header) = self.header(id, &slot) {
            if header.flags == BRANCH {
                self.enter(id, &header, bounds, depth)?;
            } else {
                self.check_lone_leaf(id, &header, &slot, bounds, depth)?;
            }
        }
        self.slot = slot;
        Ok(())
    }

    fn check_lone_leaf(
        &mut self,
        id: u64,
        header: &PageHeader,
        slot: &[u8],
        bounds: Bounds<'_>,
        depth: usize,
    ) -> Result<()> {
        if self.leaf_depth.is_some_and(|expected| expected != depth) {
            self.walk.findings.warn(id, Kind::UnequalDepth, || {
                "a leaf where its neighbours are branches".to_owned()
            });
        }
        if header.count == 0 && depth > 0 {
            self.walk
                .findings
                .warn(id, Kind::EmptyLeaf, || "a leaf without elements".to_owned());
        }
        leaf::check(self.walk, id, header, slot, bounds, &mut self.scratch)
    }

    /// Reads a whole branch, checks it, and queues its children.
    fn enter(
        &mut self,
        id: u64,
        header: &PageHeader,
        bounds: Bounds<'_>,
        depth: usize,
    ) -> Result<()> {
        let findings = &self.walk.findings;
        if depth >= MAX_DEPTH {
            findings.add(id, Kind::TooDeep, || {
                format!("more than {MAX_DEPTH} levels")
            });
            return Ok(());
        }
        if !self.walk.claim_overflow(id, header) {
            return Ok(());
        }
        if let Err(error) = self.walk.pages.slots_of(id, &PageHeader { id, ..*header }) {
            findings.add(id, Kind::PageType, || error.to_string());
            return Ok(());
        }
        let slots = (header.overflow as usize).saturating_add(1);
        let mut bytes = Vec::new();
        let length = slots.saturating_mul(self.walk.pages.page_bytes());
        resize(&mut bytes, length).map_err(|what| self.walk.pages.corrupt(id, what))?;
        self.walk.pages.read_slots(id, &mut bytes)?;
        let count = self.check_branch(id, usize::from(header.count), &bytes, bounds);
        let max = bounds.max.map(<[u8]>::to_vec);
        self.frames.push(Frame {
            id,
            bytes,
            count,
            next: 0,
            max,
            depth,
        });
        Ok(())
    }

    /// How many of the elements can be followed.
    fn check_branch(&self, id: u64, count: usize, bytes: &[u8], bounds: Bounds<'_>) -> usize {
        let findings = &self.walk.findings;
        match count {
            0 => findings.add(id, Kind::EmptyBranch, || {
                "a branch without children".to_owned()
            }),
            1 => findings.warn(id, Kind::SingleChild, || {
                "a branch with one child".to_owned()
            }),
            _ => {}
        }
        let mut last: Option<&[u8]> = None;
        for index in 0..count {
            let Some(entry) = Branch(bytes).entry(index) else {
                leaf::outside(self.walk, id, index);
                return index;
            };
            if entry.key.is_empty() || entry.key.len() > MAX_KEY_BYTES {
                leaf::key_size(self.walk, id, index, entry.key.len());
            }
            match (last, bounds.min) {
                (Some(last), _) if last >= entry.key => {
                    leaf::key_order(self.walk, id, index, entry.key, last)
                }
                (None, Some(min)) if entry.key < min => {
                    leaf::below_parent(self.walk, id, entry.key, min)
                }
                _ => {}
            }
            last = Some(entry.key);
        }
        leaf::check_last(self.walk, id, last, bounds);
        count
    }

    /// `None` when the page is not of a tree. One with a wrong id is reported, and looked at all the same.
    fn header(&self, id: u64, slot: &[u8]) -> Option<PageHeader> {
        let findings = &self.walk.findings;
        let header = PageHeader::decode(slot)?;
        if header.id != id {
            findings.add(id, Kind::PageId, || {
                format!("its header says page {}", header.id)
            });
        }
        if header.flags != BRANCH && header.flags != LEAF {
            let flags = header.flags;
            findings.add(id, Kind::PageType, || {
                format!("flags {flags:#06x} are neither branch nor leaf")
            });
            return None;
        }
        Some(header)
    }

    fn check_window(&mut self) -> Result<()> {
        self.window.as_mut().map_or(Ok(()), |window| {
            window.check(self.walk, self.scratch.top_level)
        })
    }
}
