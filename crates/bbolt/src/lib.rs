//! The bbolt file format: read, check, append. No domain words of the programs that store in it, no napi.
//!
//! # The file
//! An array of pages; page `i` begins at byte `i * page_size`. Pages 0 and 1 are metas. All integers are little-endian.
//! The logical size is `meta.high_water * page_size`; a file may be longer (grown ahead, or with a trailer behind it).
//! ```text
//! page header   id u64 | flags u16 | count u16 | overflow u32           16 bytes; the page has 1+overflow slots
//!               flags: 1 branch, 2 leaf, 4 meta, 16 freelist
//! meta (at 16)  magic u32 ED0CDAED | version u32 2 | page_size u32 | flags u32 | root u64 | sequence u64
//!               | freelist u64 (all ones: not stored) | high_water u64 | txid u64 | FNV-1a 64 of the 56 bytes before
//! branch        count x (pos u32 | ksize u32 | child u64), then the keys; a child holds keys >= its own key
//! leaf          count x (flags u32 | pos u32 | ksize u32 | vsize u32), then key, value, key, value …
//!               pos counts from the element's own first byte; flags 1: the value is a bucket
//! bucket value  root u64 | sequence u64 ; root 0: an inline leaf page follows (header with id 0)
//! freelist      ids u64 ascending; count 0xFFFF: the first u64 is the true count
//! ```
//! The meta with the higher txid wins if it is valid, else the other one. A snapshot stream has both metas of one
//! transaction (txid T on page 0, T-1 on page 1), so parity says nothing.
//!
//! # What this crate promises
//! Reading is by position, never by mmap. Every length that the file states is compared with the high-water mark and
//! with the file's length before anything is allocated or followed. Any bytes whatever give a value or an [`Error`].
//!
//! # Shape of the writer (differs from an iterator argument on purpose)
//! [`Appender::replace_bucket`] and [`Appender::extend_bucket`] take a closure that is handed a [`Records`] and calls
//! `records.put(key, value)` in ascending order. Thus a lending [`Scan`] can be piped in without a copy per record, and
//! the closure's own error type comes back (`E: From<bbolt::Error>`; a closure that ends in a bare `Ok(())` has to name
//! it). [`Builder::create`] returns an `Appender`. [`check::check`] takes an open [`Db`]; [`check::check_file`] takes a
//! path, and turns what [`Db::open`] refuses into findings.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

mod bucket;
mod cancel;
pub mod check;
mod db;
mod error;
mod file;
mod le;
mod meta;
mod page;
mod scan;
mod source;
mod sweep;
pub mod write;

pub use bucket::{Bucket, BucketHeader};
pub use cancel::{Cancel, Cancelled};
pub use db::Db;
pub use error::{Error, Result};
pub use meta::Meta;
pub use scan::Scan;
pub use source::ReadAt;
pub use sweep::{Chunks, Live, Swept};
pub use write::{Appender, Builder, FileLock, Records};

/// Longest key that bbolt writes.
pub const MAX_KEY_BYTES: usize = 32_768;
/// Longest value that bbolt writes.
pub const MAX_VALUE_BYTES: usize = (1 << 31) - 2;
/// A tree of branches with two children each would hold 2^64 leaves at this depth; deeper is damage.
pub(crate) const MAX_DEPTH: usize = 64;
/// Pages 0 and 1 are metas: no tree may point at them.
pub(crate) const FIRST_PAGE: u64 = 2;
