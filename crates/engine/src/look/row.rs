//! Rows of an answer, as they cross to whoever prints them.
//!
//! ```text
//! row bytes u32, these included | kind u8 | zero u8 x3 | source u32 | key length u32 | value length u32
//! | old value length u32 | main i64 | sub i64 | create i64 | version i64 | lease i64 | time i64
//! | old main i64 | old create i64 | old version i64 | old lease i64        104 bytes, little-endian
//! then key, value, old value
//! ```
//! Kinds: 0 put, 1 delete (both of state and history), 2 added, 3 changed, 4 deleted (of a difference, where `old …` is the
//! state before). `source` is the number that the caller gave the object that the row comes from.

use crate::look::entry::Head;

/// Bytes before the key.
pub const ROW_HEAD_BYTES: usize = 104;
/// Stands for a time that nobody knows: records of fulls have none.
pub const NO_TIME: i64 = i64::MIN;

/// What a row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// The key has this value; in a history: it got it.
    Put = 0,
    /// The key was deleted.
    Delete = 1,
    /// The key was not there before.
    Added = 2,
    /// The key was written in between.
    Changed = 3,
    /// The key is not there any more.
    Deleted = 4,
}

/// Numbers, key and values of one row.
pub(crate) struct Row<'a> {
    pub kind: RowKind,
    pub key: &'a [u8],
    /// The state, the change, or the state after.
    pub new: Option<(Head, &'a [u8])>,
    /// The state before.
    pub old: Option<(Head, &'a [u8])>,
}

impl Row<'_> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (new, value) = self.new.unwrap_or((absent(), &[]));
        let (old, old_value) = self.old.unwrap_or((absent(), &[]));
        let source = if self.new.is_some() {
            new.source
        } else {
            old.source
        };
        let length = ROW_HEAD_BYTES + self.key.len() + value.len() + old_value.len();
        for word in [length as u32, self.kind as u32, source] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        for part in [self.key, value, old_value] {
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        }
        let longs = [
            new.main,
            new.sub,
            new.create,
            new.version,
            new.lease,
            new.arrived_ms,
        ];
        let olds = [old.main, old.create, old.version, old.lease];
        for long in longs.into_iter().chain(olds) {
            out.extend_from_slice(&long.to_le_bytes());
        }
        for part in [self.key, value, old_value] {
            out.extend_from_slice(part);
        }
    }
}

fn absent() -> Head {
    Head {
        arrived_ms: NO_TIME,
        ..Head::default()
    }
}
