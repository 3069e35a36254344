//! Errors: operation, object, what is wrong, what to do. Each variant has one code of the closed list.

use std::io::ErrorKind;
use std::path::Path;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a delta could not be read, written or replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{op}: {source}")]
    Io {
        /// `open`, `read`, `write`, `sync`, …
        op: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Bytes contradict the format.
    #[error("{0}")]
    Corrupt(String),
    /// The file or message ends too early.
    #[error("{0}")]
    Truncated(String),
    /// A stored checksum or digest is not that of the bytes.
    #[error("{0}")]
    Checksum(String),
    /// Revisions go back.
    #[error("{0}")]
    NotSorted(String),
    /// Revisions are missing.
    #[error("revisions {first_missing}-{last_missing} are missing: {what}")]
    RevisionGap {
        /// First revision that is in no event.
        first_missing: i64,
        /// Last revision that is in no event.
        last_missing: i64,
        /// Where, and what to do.
        what: String,
    },
    /// The events come from another cluster than the file is for.
    #[error("{0}")]
    Mismatch(String),
    /// Sound, but of a version or kind that this build does not handle, or beyond a named bound.
    #[error("{0}")]
    Unsupported(String),
    /// The caller did something out of order.
    #[error("{0}")]
    Usage(String),
    /// Stopped by the caller.
    #[error(transparent)]
    Cancelled(#[from] bbolt::Cancelled),
    /// Another error, and what was being done to which file.
    #[error("{op} {object}: {source}")]
    In {
        /// The operation.
        op: &'static str,
        /// The file.
        object: String,
        /// What went wrong.
        source: Box<Error>,
    },
}

impl Error {
    /// One code of the closed list shared with the other languages of this project.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { source, .. } => io_code(source.kind()),
            Self::Corrupt(_) => "CORRUPT",
            Self::Truncated(_) => "TRUNCATED",
            Self::Checksum(_) => "CHECKSUM",
            Self::NotSorted(_) => "NOT_SORTED",
            Self::RevisionGap { .. } => "REVISION_GAP",
            Self::Mismatch(_) => "MISMATCH",
            Self::Unsupported(_) => "UNSUPPORTED",
            Self::Usage(_) => "USAGE",
            Self::Cancelled(_) => "CANCELLED",
            Self::In { source, .. } => source.code(),
        }
    }

    /// The file that it is about, where one is named.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::In { object, .. } => Some(object),
            _ => None,
        }
    }

    pub(crate) fn io(op: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { op, source }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }

    pub(crate) fn truncated(what: impl Into<String>) -> Self {
        Self::Truncated(what.into())
    }
}

/// Names the operation and the file in an error, once, where a verb begins.
pub(crate) trait InFile<T> {
    fn in_file(self, op: &'static str, path: &Path) -> Result<T>;
}

impl<T> InFile<T> for Result<T> {
    fn in_file(self, op: &'static str, path: &Path) -> Result<T> {
        self.map_err(|error| match error {
            Error::In { .. } | Error::Cancelled(_) => error,
            source => Error::In {
                op,
                object: path.display().to_string(),
                source: Box::new(source),
            },
        })
    }
}

/// What the decompressors report as `io::Error` is damage of the stream, not of the disk.
pub(crate) fn io_code(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "NOT_FOUND",
        ErrorKind::PermissionDenied => "PERMISSION",
        ErrorKind::AlreadyExists => "EXISTS",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "NO_SPACE",
        ErrorKind::ReadOnlyFilesystem => "READ_ONLY",
        ErrorKind::UnexpectedEof => "TRUNCATED",
        ErrorKind::InvalidData | ErrorKind::InvalidInput => "CORRUPT",
        _ => "IO",
    }
}

/// A key in error text: as text when it is printable, else hexadecimal; cut to what a person compares by eye.
pub(crate) fn key_text(key: &[u8]) -> String {
    const SHOWN_BYTES: usize = 60;
    let shown = key.get(..SHOWN_BYTES).unwrap_or(key);
    let mut text = if shown.iter().all(|byte| (0x20..0x7F).contains(byte)) {
        format!("\"{}\"", shown.escape_ascii())
    } else {
        shown.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    if key.len() > SHOWN_BYTES {
        text.push_str(&format!("… ({} bytes)", key.len()));
    }
    text
}
