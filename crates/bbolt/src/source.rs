//! Where the bytes of a database come from: its own file, or a container that gives out any of them.

use rustix::fs::{Advice, fadvise};
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;

/// The plain bytes of a database that lies in a container, at any place.
pub trait ReadAt: Debug + Send + Sync {
    /// Fills `bytes` from byte `offset` on. `UnexpectedEof` behind the end; `InvalidData` where the container is damaged.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;

    /// Plain bytes in all.
    fn plain_bytes(&self) -> u64;
}

/// A plain file is by far the most frequent, so it is not called through a table.
#[derive(Debug)]
pub(crate) enum Source {
    Plain(File),
    Container(Box<dyn ReadAt>),
}

impl Source {
    pub fn bytes(&self) -> io::Result<u64> {
        match self {
            Self::Plain(file) => Ok(file.metadata()?.len()),
            Self::Container(container) => Ok(container.plain_bytes()),
        }
    }

    pub fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.read_exact_at(bytes, offset),
            Self::Container(container) => container.read_exact_at(bytes, offset),
        }
    }

    /// Only a hint: what comes of it shows in later reads.
    pub fn read_ahead(&self, offset: u64, bytes: u64) {
        if let Self::Plain(file) = self {
            let _ = fadvise(file, offset, NonZeroU64::new(bytes), Advice::WillNeed);
        }
    }

    /// The file, for who writes.
    pub fn plain(&self) -> io::Result<&File> {
        match self {
            Self::Plain(file) => Ok(file),
            Self::Container(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a database in a container cannot be written",
            )),
        }
    }
}
