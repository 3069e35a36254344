//! The plain bytes of a seekable `.zst`, at any place, by decompressing only the frames that hold them. Each frame is
//! compared with its own checksum; the digest over the whole object is not.

use crate::frames_ahead::FramesAhead;
use crate::seek_table::{Frame, SeekTable};
use crate::{Error, Result};
use bbolt::ReadAt;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use zstd::bulk::Decompressor;

/// Decompressed frames that are kept: 16 MiB of ours.
const CACHED_FRAMES: usize = 4;

/// An open seekable `.zst`. Clones share one cache.
#[derive(Clone)]
pub struct SeekableFile {
    inner: Arc<Packed>,
    cache: Arc<Mutex<Cache>>,
    decompressed: Arc<AtomicU64>,
}

/// File and table, as every thread that decompresses needs them.
pub(crate) struct Packed {
    pub file: File,
    pub table: SeekTable,
    path: PathBuf,
}

struct Cache {
    reader: FrameReader,
    /// The frame used last stands last.
    frames: Vec<(usize, Vec<u8>)>,
}

impl SeekableFile {
    /// `None` when the file has no seek table that can be used: it is to be unpacked then.
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Corrupt`] when the table contradicts the file.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let file = File::open(path).map_err(Error::io(format!("open {}", path.display())))?;
        let Some(table) = SeekTable::read(&file, path)? else {
            return Ok(None);
        };
        let reader = FrameReader::new().map_err(Error::io("zstd"))?;
        let inner = Packed {
            file,
            table,
            path: path.to_owned(),
        };
        let cache = Cache {
            reader,
            frames: Vec::new(),
        };
        Ok(Some(Self {
            inner: Arc::new(inner),
            cache: Arc::new(Mutex::new(cache)),
            decompressed: Arc::default(),
        }))
    }

    /// Frames in the file.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.inner.table.frames().len() as u64
    }

    /// Frames that `read_exact_at` has decompressed so far: what going back and forth has cost.
    #[must_use]
    pub fn frames_decompressed(&self) -> u64 {
        self.decompressed.load(Ordering::Relaxed)
    }

    /// All plain bytes front to back, decompressed by `threads` threads ahead of the reader.
    ///
    /// # Errors
    /// [`Error::Io`] when a thread cannot be started.
    pub fn front_to_back(&self, threads: usize) -> Result<FramesAhead> {
        FramesAhead::start(Arc::clone(&self.inner), threads).map_err(Error::io("zstd"))
    }
}

impl fmt::Debug for SeekableFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SeekableFile({})", self.inner.path.display())
    }
}

impl ReadAt for SeekableFile {
    fn read_exact_at(&self, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        while !bytes.is_empty() {
            let index = self.inner.table.frame_at(offset).ok_or_else(|| {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the plain bytes end before")
            })?;
            let frame = cache.frame(&self.inner, index, &self.decompressed)?;
            let within = offset.saturating_sub(plain_start(&self.inner, index));
            let held = usize::try_from(within).ok().and_then(|at| frame.get(at..));
            let held = held.unwrap_or_default();
            let (now, rest) = bytes.split_at_mut(held.len().min(bytes.len()));
            now.copy_from_slice(held.get(..now.len()).unwrap_or_default());
            offset = offset.saturating_add(now.len() as u64);
            bytes = rest;
        }
        Ok(())
    }

    fn plain_bytes(&self) -> u64 {
        self.inner.table.plain_bytes()
    }
}

fn plain_start(packed: &Packed, index: usize) -> u64 {
    packed
        .table
        .frames()
        .get(index)
        .map_or(0, |frame| frame.plain_at)
}

impl Cache {
    fn frame(&mut self, packed: &Packed, index: usize, count: &AtomicU64) -> io::Result<&[u8]> {
        let found = match self.frames.iter().position(|(known, _)| *known == index) {
            Some(at) => self.frames.remove(at),
            None => {
                let mut buffer = if self.frames.len() >= CACHED_FRAMES {
                    self.frames.remove(0).1
                } else {
                    Vec::new()
                };
                count.fetch_add(1, Ordering::Relaxed);
                self.reader.read(packed, index, &mut buffer)?;
                (index, buffer)
            }
        };
        self.frames.push(found);
        Ok(self.frames.last().map_or(&[], |(_, bytes)| bytes))
    }
}

/// What one thread needs to decompress frames.
pub(crate) struct FrameReader {
    zstd: Decompressor<'static>,
    packed: Vec<u8>,
}

impl FrameReader {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            zstd: Decompressor::new()?,
            packed: Vec::new(),
        })
    }

    /// Replaces `plain` by the bytes of the frame.
    pub fn read(&mut self, packed: &Packed, index: usize, plain: &mut Vec<u8>) -> io::Result<()> {
        let wrong = |what: String| {
            let what = format!("frame {index}: {what}");
            io::Error::new(io::ErrorKind::InvalidData, what)
        };
        let frame: Frame = *packed
            .table
            .frames()
            .get(index)
            .ok_or_else(|| wrong("is not in the seek table".to_owned()))?;
        self.packed.resize(frame.packed_bytes as usize, 0);
        packed
            .file
            .read_exact_at(&mut self.packed, frame.packed_at)?;
        let content = zstd::zstd_safe::get_frame_content_size(&self.packed);
        let stated = u64::from(frame.plain_bytes);
        // A frame may leave its size out, but may not contradict the table.
        if content.is_ok_and(|content| content.is_some_and(|bytes| bytes != stated)) {
            return Err(wrong("its size is not what the seek table says".to_owned()));
        }
        plain.clear();
        plain.reserve_exact(frame.plain_bytes as usize);
        let bytes = self
            .zstd
            .decompress_to_buffer(&self.packed, plain)
            .map_err(|error| wrong(format!("zstd: {error}")))?;
        if bytes as u64 != stated {
            return Err(wrong(format!(
                "holds {bytes} bytes, the seek table says {stated}"
            )));
        }
        Ok(())
    }
}
