//! The changes of one main revision as entries of a transaction.
//!
//! etcd refuses a key that occurs twice in a transaction, with one exception: a PUT in one nested transaction and a
//! DELETE in a later sibling. That is also the only way in which such events can have come about, so a revision with
//! such pairs is replayed as sibling nested transactions, cut where the later of a pair stands. Order, and with it
//! every sub-revision, stays.

use crate::error::{Error, Result, key_text};
use crate::event::{Change, Kind};
use crate::replay::{REVISION_BYTES_MAX, txn};
use std::ops::Range;

/// Entries of one transaction; buffers are reused from one revision to the next.
#[derive(Debug, Default)]
pub(crate) struct RevisionOps {
    bytes: Vec<u8>,
    ops: Vec<Op>,
    /// Places of `ops` in the order of their keys; filled by [`RevisionOps::find_pairs`] when there are several.
    by_key: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Op {
    kind: Kind,
    start: usize,
    key: Range<usize>,
    /// Of a DELETE: the PUT of the same key before it.
    put_before: Option<u32>,
    /// Of a PUT: deleted again within the revision.
    deleted: bool,
}

impl RevisionOps {
    pub(crate) fn push(&mut self, change: &Change<'_>) -> Result<()> {
        if self.bytes.len() > REVISION_BYTES_MAX || self.ops.len() >= u32::MAX as usize {
            return Err(Error::Unsupported(format!(
                "revision {} takes more than {REVISION_BYTES_MAX} bytes",
                change.kv.mod_revision
            )));
        }
        let start = self.bytes.len();
        let key = txn::put_op(&mut self.bytes, change);
        self.ops.push(Op {
            kind: change.kind,
            start,
            key,
            put_before: None,
            deleted: false,
        });
        Ok(())
    }

    /// Empties the buffers; what one huge revision made them grow by is given back.
    pub(crate) fn clear(&mut self) {
        const KEPT_BYTES: usize = 4 << 20;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.ops.clear();
        self.ops.shrink_to(KEPT_BYTES / size_of::<Op>());
        self.by_key.clear();
    }

    /// Finds keys that occur twice; anything but PUT, DELETE cannot have come from etcd.
    pub(crate) fn find_pairs(&mut self, main: i64) -> Result<()> {
        if self.ops.len() < 2 {
            return Ok(());
        }
        let mut by_key: Vec<u32> = std::mem::take(&mut self.by_key);
        by_key.extend(0..self.ops.len() as u32);
        by_key.sort_by(|&a, &b| self.key_at(a).cmp(self.key_at(b)));
        for window in by_key.windows(2) {
            let [earlier, later] = *window else { continue };
            if self.key_at(earlier) == self.key_at(later) {
                self.pair(earlier, later, main)?;
            }
        }
        self.by_key = by_key;
        Ok(())
    }

    /// Appends the entries to a request.
    pub(crate) fn put_success(&self, out: &mut Vec<u8>) {
        if self.ops.iter().all(|op| op.put_before.is_none()) {
            out.extend_from_slice(&self.bytes);
            return;
        }
        let mut nested_from = 0;
        for (index, op) in self.ops.iter().enumerate() {
            if op.put_before.is_some_and(|put| put as usize >= nested_from) {
                self.put_nested(out, nested_from, index);
                nested_from = index;
            }
        }
        self.put_nested(out, nested_from, self.ops.len());
    }

    /// The key of a PUT that holds after the revision: the last one, for its bytes are warm.
    pub(crate) fn surviving_put(&self) -> Option<&[u8]> {
        self.ops
            .iter()
            .rev()
            .find(|op| op.kind == Kind::Put && !op.deleted)
            .map(|op| self.key_of(op))
    }

    /// The key of a DELETE of a key that existed before the revision.
    pub(crate) fn plain_delete(&self) -> Option<&[u8]> {
        self.ops
            .iter()
            .rev()
            .find(|op| op.kind == Kind::Delete && op.put_before.is_none())
            .map(|op| self.key_of(op))
    }

    /// Whether the revision changes `key`.
    pub(crate) fn touches(&self, key: &[u8]) -> bool {
        match self.ops.as_slice() {
            [only] => self.key_of(only) == key,
            _ => self
                .by_key
                .binary_search_by(|&op| self.key_at(op).cmp(key))
                .is_ok(),
        }
    }

    fn put_nested(&self, out: &mut Vec<u8>, from: usize, to: usize) {
        let start = self.ops.get(from).map_or(self.bytes.len(), |op| op.start);
        let end = self.ops.get(to).map_or(self.bytes.len(), |op| op.start);
        txn::put_nested(out, self.bytes.get(start..end).unwrap_or_default());
    }

    fn pair(&mut self, earlier: u32, later: u32, main: i64) -> Result<()> {
        let kinds = [earlier, later].map(|op| self.ops.get(op as usize).map(|op| op.kind));
        if kinds != [Some(Kind::Put), Some(Kind::Delete)] {
            return Err(Error::corrupt(format!(
                "revision {main} changes the key {} twice, and not by a PUT and a later DELETE: etcd allows no such transaction",
                key_text(self.key_at(later))
            )));
        }
        if let Some(put) = self.ops.get_mut(earlier as usize) {
            put.deleted = true;
        }
        if let Some(delete) = self.ops.get_mut(later as usize) {
            delete.put_before = Some(earlier);
        }
        Ok(())
    }

    fn key_at(&self, op: u32) -> &[u8] {
        self.ops.get(op as usize).map_or(&[], |op| self.key_of(op))
    }

    fn key_of(&self, op: &Op) -> &[u8] {
        self.bytes.get(op.key.clone()).unwrap_or_default()
    }
}
