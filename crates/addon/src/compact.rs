//! Compaction without an etcd.

use crate::control::JobControl;
use crate::convert::to_number;
use crate::job;
use crate::pack::{PackRequest, PackedDb, packed_db, source};
use engine::Compaction;
use napi::Env;
use napi::bindgen_prelude::{BigInt, Object};
use napi_derive::napi;
use std::path::Path;
use std::sync::atomic::Ordering;

/// What was compacted.
#[napi(object)]
pub struct CompactedDb {
    pub live_keys: f64,
    /// Reads of base and deltas that it took to know what survives; one more was for writing.
    pub scans: u32,
    pub packed: PackedDb,
}

/// Writes what a compaction at revision `at` leaves of base and deltas. COMPACTED when the base is compacted there or
/// beyond. Progress in records, over all passes. Own thread.
#[napi(ts_return_type = "Promise<CompactedDb>")]
pub fn compact_db<'env>(
    env: &'env Env,
    request: PackRequest,
    at: BigInt,
    keeps_tombstones_at: bool,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    let compaction = Compaction {
        keeps_tombstones_at,
        ..Compaction::at(at.get_i64().0)
    };
    job::spawn(env, "compact-db", move || {
        let source = source(&request);
        let target = Path::new(&request.target);
        let progress = |records| done.store(records, Ordering::Relaxed);
        let done = engine::compact(&source, &compaction, target, &cancel, &progress)?;
        Ok(CompactedDb {
            live_keys: to_number(done.live_keys),
            scans: done.scans,
            packed: packed_db(&done.packed),
        })
    })
}
