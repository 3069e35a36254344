//! The `.ebd` container: reading. The byte layout is in the head of the crate.

mod block;
mod blocks;
mod decoder;
mod header;
mod index;
mod input;
mod marks;
mod reader;
mod section;
mod trailer;

pub use block::{Block, BlockHead, Events, Stored};
pub use blocks::{EbdBlocks, PlacedEvent};
pub use decoder::BlockDecoder;
pub use header::Header;
pub use index::IndexEntry;
pub use reader::EbdReader;
pub use trailer::{TRAILER_BYTES, Tail, Trailer};

pub(crate) use header::{MAGIC, PROLOGUE_BYTES, VERSION};
pub(crate) use index::INDEX_ENTRY_BYTES;
pub(crate) use input::Input;
pub(crate) use marks::{Mark, put_marks};
pub(crate) use reader::{decode_leases, read_header, read_section, read_tail};
pub(crate) use section::{FLAG_OPEN, Section, SectionHead, section_body};

/// How the payload of a block is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Codec {
    /// As it is.
    None,
    /// One zstd frame per block.
    #[default]
    Zstd,
}

/// A lease that a PUT of the delta names, and the TTL that it was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease {
    /// Lease id; any bits.
    pub id: i64,
    /// Granted TTL, seconds.
    pub granted_ttl: i64,
}

/// Bytes of one lease in its section.
pub(crate) const LEASE_BYTES: usize = 16;
