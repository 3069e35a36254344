//! Errors: those of the crates below, and the few that only base and deltas together can have.

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why base and deltas could not be joined, or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The database file.
    #[error(transparent)]
    Bbolt(#[from] bbolt::Error),
    /// What etcd keeps in it.
    #[error(transparent)]
    Data(#[from] etcd_data::Error),
    /// A delta.
    #[error(transparent)]
    Delta(#[from] delta::Error),
    /// A packed full.
    #[error(transparent)]
    Pack(#[from] pack::Error),
    /// Stopped by the caller.
    #[error(transparent)]
    Cancelled(#[from] bbolt::Cancelled),
    /// Sound, but beyond what can be done, or beyond a named bound.
    #[error("{0}")]
    Unsupported(String),
    /// The caller did something out of order.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// One code of the closed list shared with the other languages of this project.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Bbolt(error) => error.code(),
            Self::Data(error) => error.code(),
            Self::Delta(error) => error.code(),
            Self::Pack(error) => error.code(),
            Self::Cancelled(_) => "CANCELLED",
            Self::Unsupported(_) => "UNSUPPORTED",
            Self::Usage(_) => "USAGE",
        }
    }

    /// The delta that it is about, where one is named.
    #[must_use]
    pub fn delta_file(&self) -> Option<&str> {
        match self {
            Self::Delta(error) => error.file(),
            _ => None,
        }
    }
}
