//! Blocks of a finished `.ebd` by their place in the index, so that only those that can matter are read.
//!
//! Each block that is read has been compared with its own checksum and with its entry in the index; the digest over the
//! whole file has not.

use crate::ebd::{
    BlockDecoder, Header, IndexEntry, Section, Tail, read_header, read_section, read_tail,
};
use crate::error::{Error, InFile, Result};
use crate::event::Change;
use crate::order::MainOrder;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Blocks of an index that is read: 40 MB of it, and a tebibyte of events.
const MAX_BLOCKS: u64 = 1 << 20;

/// A finished `.ebd`, any block at a time.
pub struct EbdBlocks {
    path: PathBuf,
    file: File,
    header: Header,
    tail: Tail,
    index: Vec<IndexEntry>,
    body: Vec<u8>,
    decoder: BlockDecoder,
}

/// One event with all that its file knows of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedEvent<'a> {
    /// The event.
    pub change: Change<'a>,
    /// Its sub-revision.
    pub sub: u64,
    /// When it arrived, Unix milliseconds.
    pub arrived_ms: i64,
}

impl EbdBlocks {
    /// Reads header, trailer and index.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_inner(path).in_file("open", path)
    }

    fn open_inner(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open"))?;
        let file_bytes = file.metadata().map_err(Error::io("stat"))?.len();
        let (input, header) = read_header(file, file_bytes)?;
        let file = input.file().try_clone().map_err(Error::io("open"))?;
        let tail = read_tail(&file, file_bytes)?;
        if tail.trailer.blocks > MAX_BLOCKS {
            return Err(Error::Unsupported(format!(
                ".ebd: {} blocks, at most {MAX_BLOCKS} are read by index",
                tail.trailer.blocks
            )));
        }
        let mut body = Vec::new();
        read_section(
            &file,
            tail.trailer.index_offset,
            file_bytes,
            Section::Index,
            &mut body,
        )?;
        let index = IndexEntry::decode_all(&body)?;
        check_index(&index, &tail)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
            tail,
            index,
            body,
            decoder: BlockDecoder::new()?,
        })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Trailer and digest, as the file states them.
    #[must_use]
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// What each block holds, in the order of revisions.
    #[must_use]
    pub fn index(&self) -> &[IndexEntry] {
        &self.index
    }

    /// Reads the block at `place` of the index and hands its events to `each`, in order.
    pub fn for_each<E: From<Error>>(
        &mut self,
        place: usize,
        mut each: impl FnMut(&PlacedEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let named = |error: Error| Err::<(), _>(error).in_file("read", &self.path);
        let entry = *self.index.get(place).ok_or_else(|| {
            Error::Usage(format!(
                "{}: there is no block {place}",
                self.path.display()
            ))
        })?;
        let limit = self.tail.trailer.index_offset;
        if let Err(error) = read_section(
            &self.file,
            entry.offset,
            limit,
            Section::Block,
            &mut self.body,
        ) {
            named(error)?;
        }
        let block = self.decoder.block(&self.body).in_file("read", &self.path)?;
        if IndexEntry::of(entry.offset, &block.head) != entry {
            let what = format!(
                ".ebd index: entry {place} does not describe the block at byte {}",
                entry.offset
            );
            return Err(Error::corrupt(what))
                .in_file("read", &self.path)
                .map_err(E::from);
        }
        let mut order = MainOrder::inside(entry.first_revision, entry.first_sub);
        let mut failed = None;
        let walked = block.walk(&mut order, |stored, change, sub| {
            let event = PlacedEvent {
                change: *change,
                sub,
                arrived_ms: stored.arrived_ms,
            };
            each(&event).map_err(|error| {
                failed = Some(error);
                Error::Cancelled(bbolt::Cancelled)
            })
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(walked.in_file("read", &self.path)?),
        }
    }
}

fn check_index(index: &[IndexEntry], tail: &Tail) -> Result<()> {
    let trailer = &tail.trailer;
    let revisions = |entry: &IndexEntry| (entry.first_revision, entry.last_revision);
    let ascending = index.windows(2).all(|pair| match pair {
        [a, b] => {
            let next = a.last_revision.saturating_add(1);
            let follows = b.first_revision == next
                || (b.first_revision == a.last_revision && b.first_sub > 0);
            a.offset < b.offset && a.first_revision <= a.last_revision && follows
        }
        _ => true,
    });
    let ends = index
        .first()
        .map(revisions)
        .zip(index.last().map(revisions));
    let covers = ends.is_some_and(|((first, _), (_, last))| {
        first == trailer.first_revision && last == trailer.last_revision
    });
    if index.len() as u64 == trailer.blocks && ascending && covers {
        return Ok(());
    }
    Err(Error::corrupt(
        ".ebd index: it contradicts itself or the trailer",
    ))
}
