//! Errors: what was done to which file and page, and what is wrong. Each has one code of the closed list.

use crate::Cancelled;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a bbolt file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{op} {}: {source}", path.display())]
    Io {
        /// `open`, `read`, `write`, `sync`, …
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Neither meta is valid: not a bbolt file, another version, or damaged.
    #[error("open {}: no valid bbolt meta page: {what}", path.display())]
    NoMeta {
        /// The file.
        path: PathBuf,
        /// What is wrong with the first meta.
        what: String,
    },
    /// Bytes of a page contradict the format.
    #[error("read {}: page {page}: {what}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The page that was asked for.
        page: u64,
        /// What is wrong.
        what: String,
    },
    /// The file ends before the high-water mark of its meta.
    #[error("read {}: the file has {have} bytes, its meta asks for {need}; it was cut off", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes in the file.
        have: u64,
        /// High-water mark times page size.
        need: u64,
    },
    /// Keys are not in strictly ascending order.
    #[error("{}: bucket keys are not in ascending order: {what}", path.display())]
    NotSorted {
        /// The file.
        path: PathBuf,
        /// Which keys.
        what: String,
    },
    /// Valid bbolt, but nothing that this crate handles.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What, and what to do.
        what: String,
    },
    /// Another process has the file open for writing.
    #[error("lock {}: held by {}; stop it first", path.display(), holder.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}")))]
    Locked {
        /// The file.
        path: PathBuf,
        /// From /proc/locks, when it is there.
        holder: Option<u32>,
    },
    /// The caller passed something that the format cannot hold.
    #[error("write {}: {what}", path.display())]
    Usage {
        /// The file.
        path: PathBuf,
        /// What, and the limit.
        what: String,
    },
    /// Stopped by the caller.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Error {
    /// One code of the closed list shared with the other languages of this project.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => io_code(source.kind()),
            Self::NoMeta { .. } | Self::Corrupt { .. } => "CORRUPT",
            Self::Truncated { .. } => "TRUNCATED",
            Self::NotSorted { .. } => "NOT_SORTED",
            Self::Unsupported { .. } => "UNSUPPORTED",
            Self::Locked { .. } => "LOCKED",
            Self::Usage { .. } => "USAGE",
            Self::Cancelled(_) => "CANCELLED",
        }
    }

    pub(crate) fn io(op: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            op,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn corrupt(path: &Path, page: u64, what: impl Into<String>) -> Self {
        Self::Corrupt {
            path: path.to_owned(),
            page,
            what: what.into(),
        }
    }

    pub(crate) fn usage(path: &Path, what: impl Into<String>) -> Self {
        Self::Usage {
            path: path.to_owned(),
            what: what.into(),
        }
    }
}

fn io_code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "NOT_FOUND",
        ErrorKind::PermissionDenied => "PERMISSION",
        ErrorKind::AlreadyExists => "EXISTS",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "NO_SPACE",
        ErrorKind::ReadOnlyFilesystem => "READ_ONLY",
        ErrorKind::UnexpectedEof => "TRUNCATED",
        // What a container says of its own bytes.
        ErrorKind::InvalidData => "CORRUPT",
        _ => "IO",
    }
}

/// A key in error text: hexadecimal, cut to what a person compares by eye.
pub(crate) fn key_text(key: &[u8]) -> String {
    const SHOWN_BYTES: usize = 40;
    let mut text: String = key
        .iter()
        .take(SHOWN_BYTES)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if key.len() > SHOWN_BYTES {
        text.push_str(&format!("… ({} bytes)", key.len()));
    }
    text
}
