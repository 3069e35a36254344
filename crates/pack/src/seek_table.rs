//! Reads the seek table at the end of a seekable `.zst`; layout in the crate's head. Other writers of the format may add
//! a checksum to each entry (bit 7 of the byte before the magic); it is passed over, the frames have their own.

use crate::seekable::{SEEKABLE_MAGIC, SKIPPABLE_MAGIC};
use crate::{Error, Result};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Plain bytes of the largest frame that is read as a whole; ours have 4 MiB.
pub const MAX_FRAME_BYTES: u32 = 16 << 20;
/// Packed bytes of such a frame: zstd never adds more than this to what it cannot compress.
const MAX_PACKED_EXTRA: u32 = 1 << 20;
/// Frames of a table that is read: a tebibyte in frames of 4 MiB, and 24 bytes of memory for each.
const MAX_FRAMES: u32 = 1 << 18;
const FOOTER_BYTES: usize = 9;
const SKIPPABLE_HEAD_BYTES: u64 = 8;
const HAS_CHECKSUMS: u8 = 0x80;
const RESERVED: u8 = 0x7c;

/// One frame: where it is, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame {
    pub packed_at: u64,
    pub packed_bytes: u32,
    pub plain_at: u64,
    pub plain_bytes: u32,
}

/// Where every frame lies.
#[derive(Debug)]
pub(crate) struct SeekTable {
    frames: Vec<Frame>,
    plain_bytes: u64,
}

impl SeekTable {
    /// `None` when the file has no such table, or frames too large to be read one by one.
    pub fn read(file: &File, path: &Path) -> Result<Option<Self>> {
        let at = |source: io::Error| Error::io(format!("read {}", path.display()))(source);
        let file_bytes = file.metadata().map_err(at)?.len();
        let Some((footer_at, footer)) = read_footer(file, file_bytes).map_err(at)? else {
            return Ok(None);
        };
        let wrong = |what: &str| Error::Corrupt(format!("{}: seek table: {what}", path.display()));
        if footer.flags & RESERVED != 0 || footer.frames > MAX_FRAMES {
            return Ok(None);
        }
        let entry_bytes = if footer.flags & HAS_CHECKSUMS == 0 {
            8
        } else {
            12
        };
        let entries = u64::from(footer.frames).saturating_mul(entry_bytes as u64);
        let table_at = footer_at
            .checked_sub(entries.saturating_add(SKIPPABLE_HEAD_BYTES))
            .ok_or_else(|| wrong("it is longer than the file"))?;
        let mut table = vec![
            0;
            usize::try_from(entries)
                .unwrap_or(usize::MAX)
                .saturating_add(8)
        ];
        file.read_exact_at(&mut table, table_at).map_err(at)?;
        let (head, table) = table.split_at_checked(8).unwrap_or_default();
        let length = entries.saturating_add(FOOTER_BYTES as u64);
        if (u32_at(head, 0), u64::from(u32_at(head, 4))) != (SKIPPABLE_MAGIC, length) {
            return Err(wrong(
                "the frame that should hold it does not begin where it should",
            ));
        }
        let Some(found) = Self::add_up(table, entry_bytes) else {
            return Ok(None);
        };
        let packed: u64 = found
            .frames
            .iter()
            .map(|frame| u64::from(frame.packed_bytes))
            .sum();
        if packed != table_at {
            return Err(wrong(&format!(
                "its frames have {packed} bytes, before it are {table_at}"
            )));
        }
        Ok(Some(found))
    }

    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    pub fn plain_bytes(&self) -> u64 {
        self.plain_bytes
    }

    /// Index of the frame that holds the plain byte at `offset`.
    pub fn frame_at(&self, offset: u64) -> Option<usize> {
        let after = self
            .frames
            .partition_point(|frame| frame.plain_at <= offset);
        let index = after.checked_sub(1)?;
        let frame = self.frames.get(index)?;
        (offset.saturating_sub(frame.plain_at) < u64::from(frame.plain_bytes)).then_some(index)
    }

    /// `None` when a frame is too large.
    fn add_up(table: &[u8], entry_bytes: usize) -> Option<Self> {
        let (mut packed_at, mut plain_at) = (0_u64, 0_u64);
        let mut frames = Vec::with_capacity(table.len() / entry_bytes.max(1));
        for entry in table.chunks_exact(entry_bytes) {
            let (packed_bytes, plain_bytes) = (u32_at(entry, 0), u32_at(entry, 4));
            let packed_max = MAX_FRAME_BYTES.saturating_add(MAX_PACKED_EXTRA);
            if plain_bytes > MAX_FRAME_BYTES || packed_bytes > packed_max {
                return None;
            }
            frames.push(Frame {
                packed_at,
                packed_bytes,
                plain_at,
                plain_bytes,
            });
            packed_at = packed_at.saturating_add(u64::from(packed_bytes));
            plain_at = plain_at.saturating_add(u64::from(plain_bytes));
        }
        Some(Self {
            frames,
            plain_bytes: plain_at,
        })
    }
}

struct Footer {
    frames: u32,
    flags: u8,
}

fn read_footer(file: &File, file_bytes: u64) -> io::Result<Option<(u64, Footer)>> {
    let Some(footer_at) = file_bytes.checked_sub(FOOTER_BYTES as u64) else {
        return Ok(None);
    };
    let mut bytes = [0; FOOTER_BYTES];
    file.read_exact_at(&mut bytes, footer_at)?;
    let [.., flags, _, _, _, _] = bytes;
    let footer = Footer {
        frames: u32_at(&bytes, 0),
        flags,
    };
    Ok((u32_at(&bytes, 5) == SEEKABLE_MAGIC).then_some((footer_at, footer)))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(<[u8]>::first_chunk);
    field.map_or(0, |field| u32::from_le_bytes(*field))
}
