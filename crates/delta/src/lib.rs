//! Delta snapshots: the `.ebd` container and the Go tool's JSON, streaming both ways; replay as transactions.
//!
//! # The `.ebd` file, version 1
//! All integers are little-endian. Nothing is aligned. `i64` times are Unix milliseconds.
//! ```text
//! file      := prologue section* trailer
//! section*  := block* , leases? , index ; sections of unknown kind may stand anywhere before the index
//!
//! prologue  magic 89 45 42 44 0D 0A 1A 0A (8 bytes) | version u16 | zero u16 | body length u32
//!           | CRC32C of the body u32 | body                                                     20 bytes + body
//!   body    a protobuf message; fields that a reader does not know are passed over:
//!           1 cluster id u64 | 2 member id u64 | 3 server version string | 4 predecessor's object name string
//!           | 5 predecessor's SHA-256 bytes | 6 start revision i64 | 7 created ms i64
//!           | 8 timeline string: the restore that this history comes from, absent if none
//!
//! section   kind 4 ASCII bytes | flags u32 | body length u32 | CRC32C of these 12 bytes and the body u32 | body
//!           flags bit 0 OPTIONAL: who does not know the kind skips the section by its length; otherwise he refuses
//!           the file. flags bit 1 OPEN (blocks only): the last revision was not complete when the block was sealed
//!
//! "EVTS"    one block: head (56 bytes), then the stored payload
//!   head    codec u8 (0 none, 1 zstd frame with content size) | zero u8 x3 | payload length u32 | events length u32
//!           | event count u32 | first revision i64 | last revision i64 | first sub-revision u64 | first time i64
//!           | last time i64
//!   payload events: count x (length varint | mvccpb.Event exactly as etcd sent it), `events length` bytes in all;
//!           then marks to the end: (event index varint | zigzag varint milliseconds), each as the difference to the
//!           mark before; the first stands at index 0 and counts from `first time`. An event arrived at the time of
//!           the last mark at or before it.
//!
//! "LEAS"    count x (lease id i64 | granted TTL in seconds i64), ascending by id
//!
//! "INDX"    per block, in order: offset of its section u64 | first revision i64 | last revision i64
//!           | first sub-revision u64 | event count u32 | zero u32                               40 bytes each
//!
//! trailer   index offset u64 | leases offset u64 (0: none) | last block's offset u64 | blocks u64 | events u64
//!           | payload bytes u64 | first revision i64 | last revision i64 | first time i64 | last time i64
//!           | most events of one revision u64 | most event bytes of one revision u64 | version u16 | zero u16
//!           | CRC32C of these 100 bytes u32 | magic "EBDTRAIL" (8 bytes)
//!           | SHA-256 of every byte of the file before it (32 bytes)                            144 bytes, fixed
//! ```
//! Invariants. Main revisions are consecutive from the start revision to the last one. A file holds whole revisions
//! only; a revision may span blocks. Sub-revision = place among the events of equal `mod_revision`; the head's first
//! sub-revision is that of the block's first event, so a block can be decoded alone. A block is sealed before an event
//! would take its events above 1 MiB; a larger event is a block of its own (bound: [`EVENT_BYTES_MAX`]).
//! The first event of an incomplete revision always stands at the front of a block, so what is incomplete can be
//! cut off at a section boundary; that is how a partial transaction is dropped and how [`recover`] works.
//! The last [`TRAILER_BYTES`] bytes can be read by a ranged GET and lead to everything else.
//!
//! # What this crate promises
//! Any bytes whatever give a verdict: a value or an [`Error`]. A length is compared with what is left before it is
//! used or allocated. Memory is bounded by the block, or by the largest single revision while replaying, never by
//! the size of the delta.

pub mod ebd;
mod error;
pub mod event;
mod file;
mod grants;
pub mod json;
mod order;
mod records;
pub mod replay;
pub mod watch;
mod wire;
pub mod write;
mod write_through;

pub use bbolt::{Cancel, Cancelled};
pub use ebd::{
    Codec, EbdBlocks, EbdReader, Header, Lease, PlacedEvent, TRAILER_BYTES, Tail, Trailer,
};
pub use error::{Error, Result};
pub use etcd_data::{Checkpoint, Revision};
pub use event::{EVENT_BYTES_MAX, EventHead, Kind};
pub use file::{
    DeltaFile, Format, LastEvent, Moment, Summary, event_at, export, last_event, moment_of,
    transcode,
};
pub use json::{Compression, JsonEvent, JsonReader, JsonWriter};
pub use records::{Record, Records};
pub use replay::{Batch, Replay};
pub use write::{DeltaWriter, Options, Pushed, Recovery, Stats, recover};
