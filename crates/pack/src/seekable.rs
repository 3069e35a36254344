use crate::{Error, Result};
use std::io::{self, Write};
use zstd::bulk::Compressor;
use zstd::stream::raw::CParameter;
use zstd::zstd_safe::compress_bound;

/// Plain bytes of a frame: what has to be decompressed to reach any byte.
pub const FRAME_BYTES: usize = 4 * 1024 * 1024;
const LEVEL: i32 = 1;
pub(crate) const SKIPPABLE_MAGIC: u32 = 0x184D_2A5E;
pub(crate) const SEEKABLE_MAGIC: u32 = 0x8F92_EAB1;

/// Writes zstd's seekable format; layout in the crate's head. Memory: one frame, plain and packed, and the
/// compressor's state. A frame is compressed in one call: fed in pieces, zstd copies it into a window of its own and
/// searches that more slowly.
pub struct SeekableWriter<W> {
    inner: W,
    compressor: Compressor<'static>,
    frame: Vec<u8>,
    packed: Vec<u8>,
    /// Packed and plain bytes of each frame: 8 bytes per 4 MiB.
    table: Vec<(u32, u32)>,
}

impl<W: Write> SeekableWriter<W> {
    pub fn new(inner: W) -> Result<Self> {
        let mut compressor = Compressor::new(LEVEL).map_err(Error::io("zstd"))?;
        compressor
            .set_parameter(CParameter::ChecksumFlag(true))
            .map_err(Error::io("zstd"))?;
        Ok(Self {
            inner,
            compressor,
            frame: Vec::with_capacity(FRAME_BYTES),
            packed: Vec::with_capacity(compress_bound(FRAME_BYTES)),
            table: Vec::new(),
        })
    }

    /// Writes the last frame and the seek table.
    pub fn finish(mut self) -> io::Result<W> {
        self.end_frame()?;
        let frames = u32::try_from(self.table.len()).map_err(io::Error::other)?;
        let length = u32::try_from(self.table.len().saturating_mul(8).saturating_add(9))
            .map_err(io::Error::other)?;
        self.inner.write_all(&SKIPPABLE_MAGIC.to_le_bytes())?;
        self.inner.write_all(&length.to_le_bytes())?;
        for (packed, plain) in &self.table {
            self.inner.write_all(&packed.to_le_bytes())?;
            self.inner.write_all(&plain.to_le_bytes())?;
        }
        self.inner.write_all(&frames.to_le_bytes())?;
        self.inner.write_all(&[0])?;
        self.inner.write_all(&SEEKABLE_MAGIC.to_le_bytes())?;
        self.inner.flush()?;
        Ok(self.inner)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        if self.frame.is_empty() {
            return Ok(());
        }
        self.compressor
            .compress_to_buffer(&self.frame, &mut self.packed)?;
        self.inner.write_all(&self.packed)?;
        self.table.push((
            u32::try_from(self.packed.len()).map_err(io::Error::other)?,
            u32::try_from(self.frame.len()).map_err(io::Error::other)?,
        ));
        self.frame.clear();
        Ok(())
    }
}

impl<W: Write> Write for SeekableWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let room = FRAME_BYTES.saturating_sub(self.frame.len());
        let (now, _) = buf.split_at(room.min(buf.len()));
        self.frame.extend_from_slice(now);
        if self.frame.len() == FRAME_BYTES {
            self.end_frame()?;
        }
        Ok(now.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
