//! Builds one tree bottom-up from sorted records. Memory: one leaf and two nodes per level.

use crate::error::key_text;
use crate::write::leaf::{OpenLeaf, emit_lone, lone_size};
use crate::write::node::{Child, Level};
use crate::write::sink::PageSink;
use crate::{Error, MAX_KEY_BYTES, MAX_VALUE_BYTES, Result};

/// bbolt's rule: an inline bucket takes at most this share of a page.
const INLINE_SHARE: usize = 4;

#[derive(Default)]
pub(crate) struct TreeWriter {
    pub leaf: OpenLeaf,
    /// Lowest branches first.
    pub levels: Vec<Level>,
    pub last_key: Option<Vec<u8>>,
    pub count: u64,
}

/// Where a finished tree is.
pub(crate) enum Root {
    Page(u64),
    /// A page small enough to lie in the parent's leaf.
    Inline(Vec<u8>),
}

impl TreeWriter {
    pub fn put(&mut self, sink: &mut PageSink, flags: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.check(sink, key, value)?;
        self.add(sink, flags, key, value)?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Writes what is left. `inlinable`: the tree is a bucket's, not the root of all buckets.
    pub fn finish(mut self, sink: &mut PageSink, inlinable: bool) -> Result<Root> {
        let inline_bytes = sink.page_bytes().checked_div(INLINE_SHARE).unwrap_or(0);
        if self.levels.is_empty() {
            if inlinable && self.leaf.size() <= inline_bytes && !self.leaf.holds_bucket() {
                return Ok(Root::Inline(self.leaf.inline_page()));
            }
            return Ok(Root::Page(self.leaf.emit(sink)?));
        }
        if !self.leaf.is_empty() {
            self.close_leaf(sink)?;
        }
        self.close_levels(sink)
    }

    /// Adds a finished leaf or branch at `height` (0: the parents of leaves).
    pub fn push_child(
        &mut self,
        sink: &mut PageSink,
        mut height: usize,
        mut child: Child,
    ) -> Result<()> {
        loop {
            if self.levels.len() <= height {
                self.levels
                    .resize_with(height.saturating_add(1), Level::default);
            }
            let Some(level) = self.levels.get_mut(height) else {
                return Ok(());
            };
            let Some(ready) = level.push(child, sink.page_bytes()) else {
                return Ok(());
            };
            child = ready.emit(sink)?;
            height = height.saturating_add(1);
        }
    }

    fn check(&mut self, sink: &PageSink, key: &[u8], value: &[u8]) -> Result<()> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            let what = format!(
                "a key of {} bytes, the format takes 1 to {MAX_KEY_BYTES}",
                key.len()
            );
            return Err(Error::usage(sink.path(), what));
        }
        if value.len() > MAX_VALUE_BYTES {
            let what = format!(
                "a value of {} bytes, the format takes {MAX_VALUE_BYTES}",
                value.len()
            );
            return Err(Error::usage(sink.path(), what));
        }
        if let Some(last) = self.last_key.as_deref().filter(|last| *last >= key) {
            let what = format!(
                "{} was to be written after {}",
                key_text(key),
                key_text(last)
            );
            return Err(Error::NotSorted {
                path: sink.path().to_owned(),
                what,
            });
        }
        let last = self.last_key.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
        Ok(())
    }

    fn add(&mut self, sink: &mut PageSink, flags: u32, key: &[u8], value: &[u8]) -> Result<()> {
        let page_bytes = sink.page_bytes();
        if !self.leaf.is_empty() && !self.leaf.fits(key, value, page_bytes) {
            self.close_leaf(sink)?;
        }
        if lone_size(key, value) > page_bytes {
            let id = emit_lone(sink, flags, key, value)?;
            return self.push_child(
                sink,
                0,
                Child {
                    key: key.to_vec(),
                    id,
                },
            );
        }
        self.leaf.push(flags, key, value);
        Ok(())
    }

    fn close_leaf(&mut self, sink: &mut PageSink) -> Result<()> {
        let key = self.leaf.first_key().to_vec();
        let id = self.leaf.emit(sink)?;
        self.push_child(sink, 0, Child { key, id })
    }

    fn close_levels(mut self, sink: &mut PageSink) -> Result<Root> {
        let mut height = 0_usize;
        loop {
            let level = self
                .levels
                .get_mut(height)
                .map(std::mem::take)
                .unwrap_or_default();
            let (held, current) = level.finish();
            let above = height.saturating_add(1);
            let is_top = above == self.levels.len() && held.is_none();
            if let (true, [only]) = (is_top, current.children.as_slice()) {
                return Ok(Root::Page(only.id));
            }
            if let Some(held) = held {
                let child = held.emit(sink)?;
                self.push_child(sink, above, child)?;
            }
            let child = current.emit(sink)?;
            if is_top {
                return Ok(Root::Page(child.id));
            }
            self.push_child(sink, above, child)?;
            height = above;
        }
    }
}
