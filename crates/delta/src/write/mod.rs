//! Writing `.ebd`: from watch responses ([`DeltaWriter`]), from another format ([`crate::transcode`]), and from what
//! a killed writer left ([`recover`]).

mod ebd_file;
mod event_log;
#[cfg(test)]
mod full_disk;
mod open_block;
mod recover;
mod totals;
mod watch_order;
mod writer;

pub(crate) use ebd_file::{Finished, sync_parent};
pub(crate) use event_log::EventLog;
pub use recover::{Recovery, recover};
pub(crate) use totals::Totals;
pub use writer::{DeltaWriter, Pushed, Stats};

use crate::ebd::Codec;

/// How blocks are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// A block is sealed before its events would exceed this, uncompressed.
    pub block_bytes: usize,
    /// How payloads are stored.
    pub codec: Codec,
    /// Level of the zstd codec.
    pub zstd_level: i32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            block_bytes: 1 << 20,
            codec: Codec::Zstd,
            zstd_level: 1,
        }
    }
}
