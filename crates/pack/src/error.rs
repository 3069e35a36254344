use std::io;

/// What can go wrong with a packed snapshot or with its intake.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not what the container's format says.
    #[error("{0}")]
    Corrupt(String),
    /// The container ends too early.
    #[error("{0}")]
    Truncated(String),
    /// A digest does not fit its bytes.
    #[error("{0}")]
    Checksum(String),
    /// A form that this program does not read or write.
    #[error("{0}")]
    Unsupported(String),
    /// The caller gave up.
    #[error("cancelled")]
    Cancelled(#[from] bbolt::Cancelled),
    /// The file system said no; the text says where.
    #[error("{context}: {source}")]
    Io {
        /// What was being done to which file.
        context: String,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The code under which TypeScript knows this error (`src/errors.ts`).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Corrupt(_) => "CORRUPT",
            Self::Truncated(_) => "TRUNCATED",
            Self::Checksum(_) => "CHECKSUM",
            Self::Unsupported(_) => "UNSUPPORTED",
            Self::Cancelled(_) => "CANCELLED",
            Self::Io { source, .. } => io_code(source),
        }
    }

    pub(crate) fn io(context: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let context = context.into();
        move |source| Self::Io { context, source }
    }
}

/// Code of a failed system call.
#[must_use]
pub fn io_code(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "NOT_FOUND",
        io::ErrorKind::AlreadyExists => "EXISTS",
        io::ErrorKind::PermissionDenied => "PERMISSION",
        io::ErrorKind::ReadOnlyFilesystem => "READ_ONLY",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "NO_SPACE"
        }
        _ => "IO",
    }
}
