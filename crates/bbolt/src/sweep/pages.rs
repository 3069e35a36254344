//! Pages as they come past in chunks of any size; a page that lies across two chunks is put together.

use crate::file::PageFile;
use crate::page::{BRANCH, LEAF, PAGE_HEADER_BYTES, PageHeader};
use crate::{Error, Result};
use std::io;

/// The bytes of a file, once, front to back.
pub trait Chunks {
    /// The next bytes; `None` at the end. Never empty.
    fn next_chunk(&mut self) -> io::Result<Option<Vec<u8>>>;

    /// A chunk that is done with: its buffer may be used again.
    fn give_back(&mut self, chunk: Vec<u8>);
}

pub(super) struct Passing<'a> {
    pages: &'a PageFile,
    chunks: &'a mut dyn Chunks,
    /// Byte of the file at which `now` begins.
    start: u64,
    now: Vec<u8>,
    next: Option<Vec<u8>>,
    /// A page from the end of `now` and the beginning of `next`.
    across: Vec<u8>,
    /// The last chunk that was announced by `is_at_new_chunk`.
    announced: Option<u64>,
}

impl<'a> Passing<'a> {
    pub fn new(pages: &'a PageFile, chunks: &'a mut dyn Chunks) -> Self {
        Self {
            pages,
            chunks,
            start: 0,
            now: Vec::new(),
            next: None,
            across: Vec::new(),
            announced: None,
        }
    }

    /// True once per chunk, for who polls something at that bound.
    pub fn is_at_new_chunk(&mut self, id: u64) -> bool {
        let at = self.offset(id);
        let is_new = self.announced != Some(self.start)
            || at >= self.start.saturating_add(self.now.len() as u64);
        self.announced = Some(self.start);
        is_new
    }

    /// Header and whole bytes of what says that it is branch or leaf `id`; `None` when it is not, or is not to be had
    /// here. Ids ascend from call to call. `budget` is reduced by what has to be looked at.
    pub fn page(&mut self, id: u64, budget: &mut u64) -> Result<Option<(PageHeader, &[u8])>> {
        let page_bytes = self.pages.page_bytes();
        let offset = self.offset(id);
        self.advance(offset)?;
        let at = usize::try_from(offset.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let mut front = [0; PAGE_HEADER_BYTES];
        if !self.copy_front(at, &mut front)? {
            return Ok(None);
        }
        let Some(header) = PageHeader::decode(&front) else {
            return Ok(None);
        };
        if header.id != id || (header.flags != LEAF && header.flags != BRANCH) {
            return Ok(None);
        }
        let Ok(slots) = self.pages.slots_of(id, &header) else {
            return Ok(None);
        };
        let bytes = usize::try_from(slots)
            .unwrap_or(usize::MAX)
            .saturating_mul(page_bytes);
        let is_across = at.saturating_add(bytes) > self.now.len();
        let looks = u64::from(header.count)
            .saturating_mul(16)
            .saturating_add(if is_across { bytes as u64 } else { 0 });
        let Some(left) = budget.checked_sub(looks) else {
            return Ok(None);
        };
        *budget = left;
        if is_across && !self.join(at, bytes)? {
            return Ok(None);
        }
        let page = if is_across {
            self.across.get(..bytes)
        } else {
            self.now.get(at..at.saturating_add(bytes))
        };
        Ok(page.map(|page| (header, page)))
    }

    fn offset(&self, id: u64) -> u64 {
        id.saturating_mul(u64::from(self.pages.meta.page_size))
    }

    /// Makes `now` the chunk that holds `offset`, if there is one.
    fn advance(&mut self, offset: u64) -> Result<()> {
        while offset >= self.start.saturating_add(self.now.len() as u64) {
            let Some(next) = self.peek()? else {
                return Ok(());
            };
            self.start = self.start.saturating_add(self.now.len() as u64);
            let done = std::mem::replace(&mut self.now, next);
            if done.capacity() > 0 {
                self.chunks.give_back(done);
            }
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<Vec<u8>>> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        self.chunks
            .next_chunk()
            .map_err(|error| Error::io("read", &self.pages.path, error))
    }

    fn copy_front(&mut self, at: usize, front: &mut [u8; PAGE_HEADER_BYTES]) -> Result<bool> {
        if let Some(found) = self.now.get(at..).and_then(<[u8]>::first_chunk) {
            *front = *found;
            return Ok(true);
        }
        if !self.join(at, PAGE_HEADER_BYTES)? {
            return Ok(false);
        }
        let found = self.across.first_chunk();
        if let Some(found) = found {
            *front = *found;
        }
        Ok(found.is_some())
    }

    /// Puts `bytes` bytes from `at` on into `across`; false when they reach beyond the next chunk.
    fn join(&mut self, at: usize, bytes: usize) -> Result<bool> {
        self.next = self.peek()?;
        let (Some(head), Some(next)) = (self.now.get(at..), &self.next) else {
            return Ok(false);
        };
        let Some(tail) = next.get(..bytes.saturating_sub(head.len())) else {
            return Ok(false);
        };
        self.across.clear();
        self.across.extend_from_slice(head);
        self.across.extend_from_slice(tail);
        Ok(true)
    }
}
