//! What base and deltas make together: a database, appended to, packed or compacted; or answers about single keys.
//!
//! Every module reads the same two things in the same order: the records of a base's `key` bucket, then those of the
//! deltas behind it (`delta::Records`). None of them starts an etcd.

mod append;
pub mod compact;
pub mod compare;
mod error;
pub mod look;
pub mod pack;
mod source;

pub use append::{Appended, DeltaFiles, append};
pub use compact::{Compacted, Compaction, compact};
pub use compare::{Comparison, Difference, compare_with_later};
pub use error::{Error, Result};
pub use pack::{Packed, pack};
pub use source::Source;
