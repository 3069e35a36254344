//! The one error of this crate. Each variant maps to one code of the product's closed list.

use std::io;
use std::path::{Path, PathBuf};

/// What this crate's functions return.
pub type Result<T> = std::result::Result<T, Error>;

/// An expected failure: operation, object, what is wrong, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
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

    /// The product's code for this error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Error::Io { source, .. } => io_code(source),
            Error::Exists { .. } => "EXISTS",
            Error::Usage { .. } => "USAGE",
            Error::Unsupported { .. } => "UNSUPPORTED",
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
