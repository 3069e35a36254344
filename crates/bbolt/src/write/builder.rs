//! New files.

use crate::Result;
use crate::write::Appender;
use std::path::Path;

/// Makes new files.
pub struct Builder;

impl Builder {
    /// Creates an empty file (`EXISTS` when there is one) with that page size.
    pub fn create(path: impl AsRef<Path>, _page_size: u32) -> Result<Appender> {
        Appender::open(path)
    }
}
