//! Deltas being written from the watch, and what a killed writer left.

use crate::control::JobControl;
use crate::convert::{bigint, to_number};
use crate::delta_file::{DeltaHeader, header_from, millis, options, summary_of};
use crate::error::{Failure, Outcome, SyncError};
use crate::job;
use crate::member::LeaseGrant;
use delta::{Lease, Recovery};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Object, Uint8Array};
use napi_derive::napi;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a watch response was.
#[napi(object, use_nullable = true)]
pub struct PushedResponse {
    pub created: bool,
    pub canceled: bool,
    /// 0 for none.
    pub compact_revision: BigInt,
    pub cancel_reason: String,
    pub header_revision: BigInt,
    pub cluster_id: BigInt,
    pub member_id: BigInt,
    pub watch_id: BigInt,
    pub fragment: bool,
    pub events: f64,
    pub first_revision: Option<BigInt>,
    pub last_revision: Option<BigInt>,
    pub new_leases: Vec<BigInt>,
}

/// What the delta holds so far.
#[napi(object, use_nullable = true)]
pub struct DeltaStats {
    pub events: f64,
    pub event_bytes: f64,
    /// On disk and in the open block.
    pub bytes: f64,
    pub first_revision: Option<BigInt>,
    pub last_revision: Option<BigInt>,
    pub open_since_ms: Option<f64>,
    pub partial: bool,
}

/// A delta that is being written.
#[napi]
pub struct DeltaWriter {
    writer: Arc<Mutex<delta::DeltaWriter>>,
}

#[napi]
impl DeltaWriter {
    /// Creates the file, which must not exist. `codec`: "zstd" or "none". JavaScript thread.
    #[napi(constructor)]
    pub fn new(path: String, header: DeltaHeader, codec: String) -> Result<Self, SyncError> {
        let create = || -> Outcome<delta::DeltaWriter> {
            Ok(delta::DeltaWriter::create(
                Path::new(&path),
                header_from(header)?,
                &options(&codec)?,
            )?)
        };
        Ok(Self::of(create()?))
    }

    fn of(writer: delta::DeltaWriter) -> Self {
        Self {
            writer: Arc::new(Mutex::new(writer)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, delta::DeltaWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one raw WatchResponse that arrived at `now_ms`. JavaScript thread; compresses a block per MiB of events.
    #[napi]
    pub fn push_response(
        &self,
        response: Uint8Array,
        now_ms: f64,
    ) -> Result<PushedResponse, SyncError> {
        let pushed = self
            .lock()
            .push_response(&response, millis(now_ms))
            .map_err(Failure::from)?;
        let events = pushed.events > 0;
        Ok(PushedResponse {
            created: pushed.head.created,
            canceled: pushed.head.canceled,
            compact_revision: bigint(pushed.head.compact_revision),
            cancel_reason: pushed.head.cancel_reason,
            header_revision: bigint(pushed.head.header_revision),
            cluster_id: BigInt::from(pushed.head.cluster_id),
            member_id: BigInt::from(pushed.head.member_id),
            watch_id: bigint(pushed.head.watch_id),
            fragment: pushed.head.fragment,
            events: to_number(pushed.events),
            first_revision: events.then(|| bigint(pushed.first_revision)),
            last_revision: events.then(|| bigint(pushed.last_revision)),
            new_leases: pushed.new_leases.into_iter().map(bigint).collect(),
        })
    }

    /// Forgets what is there of an incomplete revision; returns the revision that a new watch must start at.
    /// JavaScript thread.
    #[napi]
    pub fn drop_partial(&self) -> Result<BigInt, SyncError> {
        Ok(bigint(self.lock().drop_partial().map_err(Failure::from)?))
    }

    /// JavaScript thread.
    #[napi]
    pub fn resume_revision(&self) -> BigInt {
        bigint(self.lock().resume_revision())
    }

    /// Lease ids that the delta names, ascending. JavaScript thread.
    #[napi]
    pub fn leases(&self) -> Vec<BigInt> {
        self.lock().leases().into_iter().map(bigint).collect()
    }

    /// JavaScript thread.
    #[napi]
    pub fn stats(&self) -> DeltaStats {
        let stats = self.lock().stats();
        let some = stats.events > 0;
        DeltaStats {
            events: to_number(stats.events),
            event_bytes: to_number(stats.event_bytes),
            bytes: to_number(stats.bytes),
            first_revision: some.then(|| bigint(stats.first_revision)),
            last_revision: some.then(|| bigint(stats.last_revision)),
            #[allow(clippy::cast_precision_loss)]
            open_since_ms: stats.open_since_ms.map(|ms| ms as f64),
            partial: stats.partial,
        }
    }

    /// Hands complete revisions to the disk and waits for it. Own thread.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn sync<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let writer = Arc::clone(&self.writer);
        job::spawn(env, "delta-sync", move || {
            Ok(writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .sync()?)
        })
    }

    /// Writes leases, index and trailer, and syncs. Nothing may be pushed afterwards. Own thread.
    #[napi(ts_return_type = "Promise<DeltaSummary>")]
    pub fn finish<'env>(
        &self,
        env: &'env Env,
        leases: Vec<LeaseGrant>,
    ) -> napi::Result<Object<'env>> {
        let writer = Arc::clone(&self.writer);
        let lease = |grant: &LeaseGrant| Lease {
            id: grant.id.get_i64().0,
            granted_ttl: grant.ttl_seconds.get_i64().0,
        };
        let leases: Vec<Lease> = leases.iter().map(lease).collect();
        job::spawn(env, "delta-finish", move || {
            let summary = writer
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .finish(&leases)?;
            Ok(summary_of(&summary))
        })
    }
}

/// Takes over a delta whose writer is gone, cut to its complete revisions; `null` when it had been finished. Own thread.
#[napi(ts_return_type = "Promise<DeltaWriter | null>")]
pub fn recover_delta<'env>(
    env: &'env Env,
    path: String,
    codec: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "delta-recover", move || {
        Ok(
            match delta::recover(Path::new(&path), &options(&codec)?, &cancel)? {
                Recovery::Finished(_) => None,
                Recovery::Cut { writer, .. } => Some(DeltaWriter::of(*writer)),
            },
        )
    })
}
