//! Deltas as ready transactions.

use crate::control::JobControl;
use crate::convert::{bigint, hex, millis_of, to_number};
use crate::error::{Failure, SyncError};
use crate::job;
use crate::member::{LeaseGrant, RecordCheckpoint};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer, Object, Uint8Array, Uint32Array};
use napi_derive::napi;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Ready `etcdserverpb.TxnRequest`s, one per main revision, one after another in `bytes`.
#[napi(object)]
pub struct ReplayBatch {
    pub bytes: Buffer,
    /// End of each request in `bytes`.
    pub ends: Uint32Array,
    /// 1 for a request that needs all before it acknowledged: its guard proves nothing.
    pub barriers: Uint8Array,
    pub first_revision: BigInt,
    pub last_revision: BigInt,
    pub events: f64,
    /// Leases that no request before this batch named.
    pub leases: Vec<BigInt>,
}

/// Reads deltas in order, from a revision on, and digests the records that they stand for.
#[napi]
pub struct Replay {
    replay: Arc<Mutex<delta::Replay>>,
}

#[napi]
impl Replay {
    /// Revisions up to `after` are passed over.
    #[napi(constructor)]
    pub fn new(after: BigInt) -> Self {
        Self {
            replay: Arc::new(Mutex::new(delta::Replay::new(after.get_i64().0))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, delta::Replay> {
        self.replay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the next file, an .ebd, of which revisions up to `through` count. REVISION_GAP when it starts too late.
    /// JavaScript thread; reads its two ends.
    #[napi]
    pub fn open(&self, path: String, through: BigInt) -> Result<(), SyncError> {
        let through = through.get_i64().0;
        self.lock()
            .open_through(Path::new(&path), through)
            .map_err(Failure::from)?;
        Ok(())
    }

    /// The next batch of the open file, `null` at its end. About 1 MiB, more only for one larger revision. Own thread.
    #[napi(ts_return_type = "Promise<ReplayBatch | null>")]
    pub fn next<'env>(&self, env: &'env Env, control: &JobControl) -> napi::Result<Object<'env>> {
        let (replay, cancel) = (Arc::clone(&self.replay), control.cancel_token());
        job::spawn(env, "replay-next", move || {
            let batch = replay
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .next_batch(&cancel)?;
            Ok(batch.map(|batch| ReplayBatch {
                bytes: batch.bytes.into(),
                ends: batch.ends.into(),
                barriers: batch.barriers.into(),
                first_revision: bigint(batch.first_revision),
                last_revision: bigint(batch.last_revision),
                events: to_number(batch.events),
                leases: batch.leases.into_iter().map(bigint).collect(),
            }))
        })
    }

    /// Last revision handed out.
    #[napi]
    pub fn position(&self) -> BigInt {
        bigint(self.lock().position())
    }

    /// Arrival of the last event handed out, milliseconds since the epoch; `null` before the first.
    #[napi(ts_return_type = "number | null")]
    pub fn last_event_ms(&self) -> Option<f64> {
        self.lock().last_arrived_ms().map(millis_of)
    }

    /// Leases that the events so far name and that their files grant, ascending by id.
    #[napi]
    pub fn grants(&self) -> Vec<LeaseGrant> {
        let grants = self.lock().grants();
        grants
            .iter()
            .map(|lease| LeaseGrant {
                id: bigint(lease.id),
                ttl_seconds: bigint(lease.ttl_seconds),
            })
            .collect()
    }

    /// Digest over all records handed out so far.
    #[napi]
    pub fn checkpoint(&self) -> RecordCheckpoint {
        let checkpoint = self.lock().checkpoint();
        RecordCheckpoint {
            revision: bigint(checkpoint.revision),
            sha256: hex(&checkpoint.sha256),
        }
    }
}
