//! Requests in one buffer: what crosses the native boundary at once.

use crate::error::{Error, Result};
use crate::replay::BATCH_BYTES;
use crate::replay::guard::Guard;
use crate::replay::revision::RevisionOps;

/// Ready `etcdserverpb.TxnRequest`s for consecutive main revisions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// All requests, one behind the other.
    pub bytes: Vec<u8>,
    /// Where each request ends in `bytes`; the first begins at 0.
    pub ends: Vec<u32>,
    /// Per request, 1: it has no guard, so every earlier one must be acknowledged before it is sent. 0: it is guarded;
    /// many may be in flight, and one whose `succeeded` is false came too early and is sent again.
    pub barriers: Vec<u8>,
    /// Main revision that the first request makes.
    pub first_revision: i64,
    /// Main revision that the last request makes.
    pub last_revision: i64,
    /// Events of all requests. A revision that spans blocks may be counted in the batch where it begins.
    pub events: u64,
    /// Leases that PUTs name for the first time. They must be granted before the requests are sent; one may be named
    /// more than once in a very long replay.
    pub leases: Vec<i64>,
}

impl Batch {
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES
    }

    /// Requests in the batch.
    #[must_use]
    pub fn revisions(&self) -> usize {
        self.ends.len()
    }

    /// Appends the request of one main revision.
    pub(crate) fn push(&mut self, main: i64, guard: &Guard, ops: &RevisionOps) -> Result<()> {
        guard.put_compares(&mut self.bytes);
        ops.put_success(&mut self.bytes);
        let end = u32::try_from(self.bytes.len()).map_err(|_| {
            Error::Unsupported(format!("revision {main} makes a batch of more than 4 GiB"))
        })?;
        self.ends.push(end);
        self.barriers.push(u8::from(guard.is_barrier()));
        if self.first_revision == 0 {
            self.first_revision = main;
        }
        self.last_revision = main;
        Ok(())
    }

    pub(crate) fn take_unless_empty(&mut self) -> Option<Self> {
        (!self.ends.is_empty()).then(|| std::mem::take(self))
    }
}
