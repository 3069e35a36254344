//! The append writer: new pages behind the high-water mark, old pages untouched, the metas last.
//!
//! Trees are built bottom-up from sorted records with one open node per level. bbolt dies when a branch with a single
//! child is rebalanced, and its check does not see it coming; so each level holds back its last full node until the one
//! after it has two children, and lends it a child if need be. A leaf is never empty, except as the root of a tree.

mod appender;
mod builder;
mod commit;
mod leaf;
mod lock;
mod node;
mod records;
mod resume;
mod sink;
mod tree;

pub use appender::Appender;
pub use builder::Builder;
pub use lock::FileLock;
pub use records::Records;
