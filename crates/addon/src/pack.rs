//! Databases written anew, and packed as fulls.

use crate::control::JobControl;
use crate::convert::{bigint, hex, to_number};
use crate::job;
use crate::member::RecordCheckpoint;
use bbolt::Db;
use engine::{Packed, Source};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Object};
use napi_derive::napi;
use pack::Codec;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A base and the .ebd files behind it, and where what they make is written.
#[napi(object, use_nullable = true)]
pub struct PackRequest {
    pub base: String,
    /// In order.
    pub deltas: Vec<String>,
    /// Last revision that counts; null: all.
    pub until: Option<BigInt>,
    /// Must not exist; removed on failure.
    pub target: String,
}

/// What the written database must be found to hold.
#[napi(object, use_nullable = true)]
pub struct PackedDb {
    pub revision: BigInt,
    pub records_read: f64,
    /// Of these, records of the deltas.
    pub events: f64,
    pub last_event_ms: Option<f64>,
    /// Digest over the records above the base; null when there are none.
    pub above_base: Option<RecordCheckpoint>,
    pub records: f64,
    /// Over all records; lower case hex.
    pub records_sha256: String,
    pub bytes: f64,
}

/// Writes base and deltas as a new database whose pages lie in key order, without free ones. Progress in records. Own
/// thread.
#[napi(ts_return_type = "Promise<PackedDb>")]
pub fn pack_db<'env>(
    env: &'env Env,
    request: PackRequest,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    job::spawn(env, "pack-db", move || {
        let source = source(&request);
        let target = Path::new(&request.target);
        let progress = |records| done.store(records, Ordering::Relaxed);
        Ok(packed_db(&engine::pack(
            &source, target, &cancel, &progress,
        )?))
    })
}

pub(crate) fn source(request: &PackRequest) -> Source<'_, String> {
    Source {
        base: Path::new(&request.base),
        deltas: &request.deltas,
        until: request.until.as_ref().map(|until| until.get_i64().0),
    }
}

pub(crate) fn packed_db(packed: &Packed) -> PackedDb {
    PackedDb {
        revision: bigint(packed.revision),
        records_read: to_number(packed.records_read),
        events: to_number(packed.events),
        #[allow(clippy::cast_precision_loss)]
        last_event_ms: packed.last_event_ms.map(|time| time as f64),
        above_base: packed.above_base.map(|checkpoint| RecordCheckpoint {
            revision: bigint(checkpoint.revision),
            sha256: hex(&checkpoint.sha256),
        }),
        records: to_number(packed.records),
        records_sha256: hex(&packed.sha256),
        bytes: to_number(packed.bytes),
    }
}

/// All records of a database.
#[napi(object)]
pub struct RecordsDigest {
    pub records: f64,
    /// Lower case hex.
    pub sha256: String,
}

/// Digest over all records of the `key` bucket. Own thread.
#[napi(ts_return_type = "Promise<RecordsDigest>")]
pub fn digest_records<'env>(
    env: &'env Env,
    path: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "digest-records", move || {
        let digest = etcd_data::digest_records(&Db::open(&path)?, &cancel)?;
        Ok(RecordsDigest {
            records: to_number(digest.records()),
            sha256: hex(&digest.checkpoint()),
        })
    })
}

/// A full that was packed.
#[napi(object)]
pub struct PackedFull {
    pub plain_bytes: f64,
    pub db_sha256: String,
    pub packed_bytes: f64,
    pub packed_sha256: String,
}

/// Packs a bare database as a full, with the trailer that etcd's tools expect. Progress in bytes read. Own threads.
#[napi(ts_return_type = "Promise<PackedFull>")]
pub fn pack_full<'env>(
    env: &'env Env,
    source: String,
    target: String,
    codec: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    job::spawn(env, "pack-full", move || {
        let codec = Codec::from_name(&codec)?;
        let progress = |bytes| done.store(bytes, Ordering::Relaxed);
        let (source, target) = (Path::new(&source), Path::new(&target));
        let packed = pack::pack_database(source, target, codec, &cancel, &progress)?;
        Ok(PackedFull {
            plain_bytes: to_number(packed.plain_bytes),
            db_sha256: hex(&packed.db_sha256),
            packed_bytes: to_number(packed.packed.bytes),
            packed_sha256: hex(&packed.packed.sha256),
        })
    })
}
