//! Conditions under which a request may be applied, so that many can be in flight and the order is still exact.
//!
//! A request for revision r must take effect on the state of r-1 and on no other. Its compares must therefore hold at
//! r-1, and fail at every earlier state in which it can arrive. Let every state up to the last barrier be known to be
//! applied before anything behind the barrier is sent (b-1, say), and let all before it have been applied in order:
//!
//! - r-1 put k (and did not delete it again): `mod(k) = r-1`. No state before r-1 has a pair with that revision.
//! - r-1 only deleted: k existed at r-2, was not made within r-1, and is gone at r-1: `version(k) = 0`. But k may be
//!   younger than a state in which r arrives too early, and then it is not there either. So the conditions of r-1 go
//!   along: they prove that r-2 is reached, unless r-1 itself made them void (it deleted the key that they look at).
//! - Otherwise no condition on the live keys can tell (a key was made and deleted, and the state is what it was): the
//!   request is a barrier, sent alone once everything before is acknowledged.

use crate::replay::revision::RevisionOps;
use crate::replay::txn;

/// Longest chain of deletions; a barrier then begins a new one.
const CONDITIONS_MAX: usize = 16;

/// The conditions of the next request. None: it is a barrier.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    conditions: Vec<Condition>,
}

#[derive(Debug)]
struct Condition {
    key: Vec<u8>,
    /// The key's last change; `None`: it does not exist.
    mod_revision: Option<i64>,
}

impl Guard {
    pub(crate) fn is_barrier(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Appends the compares of a request.
    pub(crate) fn put_compares(&self, out: &mut Vec<u8>) {
        for condition in &self.conditions {
            match condition.mod_revision {
                Some(revision) => txn::put_compare_mod(out, &condition.key, revision),
                None => txn::put_compare_gone(out, &condition.key),
            }
        }
    }

    /// The conditions behind revision `main`, which has just been handed out under the present ones.
    pub(crate) fn advance(&mut self, main: i64, ops: &RevisionOps) {
        if let Some(key) = ops.surviving_put() {
            self.restart_at(key, main);
            return;
        }
        let kept = self.conditions.len() < CONDITIONS_MAX && !self.is_voided_by(ops);
        match ops.plain_delete() {
            Some(key) if kept => self.conditions.push(Condition {
                key: key.to_vec(),
                mod_revision: None,
            }),
            _ => self.conditions.clear(),
        }
    }

    /// One condition that proves everything; its buffer is reused.
    fn restart_at(&mut self, key: &[u8], main: i64) {
        self.conditions.truncate(1);
        match self.conditions.first_mut() {
            Some(condition) => {
                condition.key.clear();
                condition.key.extend_from_slice(key);
                condition.mod_revision = Some(main);
            }
            None => self.conditions.push(Condition {
                key: key.to_vec(),
                mod_revision: Some(main),
            }),
        }
    }

    /// Without a surviving PUT only the conditions on existing keys can become void, by deletion.
    fn is_voided_by(&self, ops: &RevisionOps) -> bool {
        self.conditions
            .iter()
            .any(|condition| condition.mod_revision.is_some() && ops.touches(&condition.key))
    }
}
