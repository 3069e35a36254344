//! The one error of this crate. Each variant maps to one code of the product's closed list.

use std::io;
use std::path::{Path, PathBuf};

use bbolt::Cancelled;

/// What this crate's functions return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An expected failure: operation, object, what is wrong, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file below failed; code of [`bbolt::Error`].
    #[error(transparent)]
    Bbolt(#[from] bbolt::Error),
    /// A system call failed. Code by kind.
    #[error("{op} {}: {source}", path.display())]
    Io {
        /// Verb: "create", "sync".
        op: &'static str,
        /// What it was done to.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A name that must be new is taken. `EXISTS`.
    #[error("{}: exists already; {hint}", path.display())]
    Exists {
        /// The taken name.
        path: PathBuf,
        /// Why that matters.
        hint: &'static str,
    },
    /// Bytes that no etcd writes. `CORRUPT`.
    #[error("{what}")]
    Corrupt {
        /// Bucket, record, reason.
        what: String,
    },
    /// The file ends too early. `TRUNCATED`.
    #[error("{what}")]
    Truncated {
        /// File and reason.
        what: String,
    },
    /// A stated digest does not agree. `CHECKSUM`.
    #[error("{what}")]
    Checksum {
        /// File and reason.
        what: String,
    },
    /// The result is not what its sources say. `MISMATCH`.
    #[error("{what}")]
    Mismatch {
        /// First place that differs.
        what: String,
    },
    /// Revisions are missing. `REVISION_GAP`.
    #[error("{what}")]
    RevisionGap {
        /// The missing range.
        what: String,
    },
    /// History that was asked for is compacted away. `COMPACTED`.
    #[error("{what}")]
    Compacted {
        /// Revision and compaction.
        what: String,
    },
    /// A wrong argument. `USAGE`.
    #[error("{what}")]
    Usage {
        /// Flag or field, what is wrong, what is allowed.
        what: String,
    },
    /// Right in itself, but not something this program handles. `UNSUPPORTED`.
    #[error("{what}")]
    Unsupported {
        /// Object and reason.
        what: String,
    },
    /// Stopped by the caller. `CANCELLED`.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Error {
    /// Wraps a failed system call.
    #[must_use]
    pub fn io(op: &'static str, path: &Path, source: io::Error) -> Self {
        Error::Io {
            op,
            path: path.to_path_buf(),
            source,
        }
    }

    /// Bytes that no etcd writes.
    #[must_use]
    pub fn corrupt(what: impl Into<String>) -> Self {
        Error::Corrupt { what: what.into() }
    }

    /// The product's code for this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Bbolt(inner) => inner.code(),
            Error::Io { source, .. } => io_code(source),
            Error::Exists { .. } => "EXISTS",
            Error::Corrupt { .. } => "CORRUPT",
            Error::Truncated { .. } => "TRUNCATED",
            Error::Checksum { .. } => "CHECKSUM",
            Error::Mismatch { .. } => "MISMATCH",
            Error::RevisionGap { .. } => "REVISION_GAP",
            Error::Compacted { .. } => "COMPACTED",
            Error::Usage { .. } => "USAGE",
            Error::Unsupported { .. } => "UNSUPPORTED",
            Error::Cancelled(_) => "CANCELLED",
        }
    }
}

fn io_code(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "NOT_FOUND",
        io::ErrorKind::AlreadyExists => "EXISTS",
        io::ErrorKind::PermissionDenied => "PERMISSION",
        io::ErrorKind::ReadOnlyFilesystem => "READ_ONLY",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "NO_SPACE",
        io::ErrorKind::UnexpectedEof => "TRUNCATED",
        _ => "IO",
    }
}
