//! Deltas as files: verification and conversion.

use crate::control::JobControl;
use crate::convert::{bigint, from_number, hex, sha256, to_number};
use crate::error::{Failure, Outcome};
use crate::job;
use crate::member::LeaseGrant;
use delta::{Codec, Compression, DeltaFile, Format, Header, Lease, Options};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer, Object};
use napi_derive::napi;
use std::path::Path;

/// Where a delta comes from; see `delta::Header`.
#[napi(object, use_nullable = true)]
pub struct DeltaHeader {
    /// 0 when unknown.
    pub cluster_id: BigInt,
    /// 0 when unknown.
    pub member_id: BigInt,
    pub server_version: String,
    pub predecessor_name: String,
    pub predecessor_sha256: Option<String>,
    pub start_revision: BigInt,
    pub created_ms: f64,
    pub timeline: Option<String>,
}

/// What a delta holds; see `delta::Summary`.
#[napi(object)]
pub struct DeltaSummary {
    pub first_revision: BigInt,
    pub last_revision: BigInt,
    pub events: f64,
    pub event_bytes: f64,
    pub bytes: f64,
    /// Lower case hex.
    pub sha256: String,
    pub first_time_ms: f64,
    pub last_time_ms: f64,
    pub leases: f64,
    pub revision_events_max: f64,
    pub revision_bytes_max: f64,
}

/// A delta that was read through.
#[napi(object, use_nullable = true)]
pub struct VerifiedDelta {
    /// "ebd" or "json".
    #[napi(ts_type = "'ebd' | 'json'")]
    pub format: String,
    pub summary: DeltaSummary,
    /// Of an .ebd.
    pub header: Option<DeltaHeader>,
    pub leases: Vec<LeaseGrant>,
}

/// Reads a delta of either format through and compares everything that can be. Own thread.
#[napi(ts_return_type = "Promise<VerifiedDelta>")]
pub fn verify_delta<'env>(
    env: &'env Env,
    path: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "delta-verify", move || {
        let file = DeltaFile::open(Path::new(&path))?;
        let summary = file.verify(&cancel)?;
        let grant = |lease: &Lease| LeaseGrant {
            id: bigint(lease.id),
            ttl_seconds: bigint(lease.granted_ttl),
        };
        Ok(VerifiedDelta {
            format: format_name(file.format()).to_owned(),
            summary: summary_of(&summary),
            header: file.header().map(header_to),
            leases: file.leases()?.iter().map(grant).collect(),
        })
    })
}

/// The last event of a delta, as a history is told from another.
#[napi(object)]
pub struct DeltaLastEvent {
    pub key: Buffer,
    pub main: BigInt,
    pub tombstone: bool,
    pub create_revision: BigInt,
    pub version: BigInt,
    pub lease: BigInt,
    /// Of the value; lower case hex.
    pub value_sha256: String,
    /// Of the record that etcd stores; equals `RecordIdentity.sha256`.
    pub record_sha256: String,
    pub arrived_ms: f64,
}

/// Reads the last event: of an .ebd from its last block, of JSON by reading it through. Own thread.
#[napi(ts_return_type = "Promise<DeltaLastEvent>")]
pub fn delta_last_event<'env>(
    env: &'env Env,
    path: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "delta-last-event", move || {
        Ok(last_event_of(delta::last_event(Path::new(&path), &cancel)?))
    })
}

/// The last event of one main revision, `null` when the delta holds none of it: of an .ebd from the one block that its
/// index names, of JSON by reading it through. Own thread.
#[napi(ts_return_type = "Promise<DeltaLastEvent | null>")]
pub fn delta_event_at<'env>(
    env: &'env Env,
    path: String,
    main: BigInt,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    let main = main.get_i64().0;
    job::spawn(env, "delta-event-at", move || {
        Ok(delta::event_at(Path::new(&path), main, &cancel)?.map(last_event_of))
    })
}

/// Up to where a delta had arrived at a time; see `delta::Moment`.
#[napi(object, use_nullable = true)]
pub struct DeltaMoment {
    pub first_revision: BigInt,
    pub last_revision: BigInt,
    /// The last whole revision that had arrived; `null` when the first one had not.
    pub reached_revision: Option<BigInt>,
    pub reached_ms: Option<f64>,
    /// Arrival of the first event that was still to come; `null` when all had arrived.
    pub next_ms: Option<f64>,
    /// The farthest that the clock was set back between two events up to there.
    pub set_back_ms: f64,
}

/// Reads a delta of either format through to find what had arrived at a time. Own thread.
#[napi(ts_return_type = "Promise<DeltaMoment>")]
#[allow(clippy::cast_precision_loss)]
pub fn delta_moment<'env>(
    env: &'env Env,
    path: String,
    time_ms: f64,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "delta-moment", move || {
        let moment = delta::moment_of(Path::new(&path), millis(time_ms), &cancel)?;
        Ok(DeltaMoment {
            first_revision: bigint(moment.first_revision),
            last_revision: bigint(moment.last_revision),
            reached_revision: moment.reached.map(|(main, _)| bigint(main)),
            reached_ms: moment.reached.map(|(_, arrived_ms)| arrived_ms as f64),
            next_ms: moment.next_ms.map(|next_ms| next_ms as f64),
            set_back_ms: moment.set_back_ms as f64,
        })
    })
}

fn last_event_of(event: delta::LastEvent) -> DeltaLastEvent {
    DeltaLastEvent {
        key: event.key.into(),
        main: bigint(event.revision.main),
        tombstone: event.tombstone,
        create_revision: bigint(event.create_revision),
        version: bigint(event.version),
        lease: bigint(event.lease),
        value_sha256: hex(&event.value_sha256),
        record_sha256: hex(&event.record_sha256),
        #[allow(clippy::cast_precision_loss)]
        arrived_ms: event.arrived_ms as f64,
    }
}

/// Reads a delta of either format through and writes it as a local .ebd, which must not exist. Own thread.
#[napi(ts_return_type = "Promise<DeltaSummary>")]
pub fn transcode_delta<'env>(
    env: &'env Env,
    source: String,
    target: String,
    codec: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "delta-transcode", move || {
        let written = delta::transcode(
            Path::new(&source),
            Path::new(&target),
            &options(&codec)?,
            &cancel,
        )?;
        Ok(summary_of(&written))
    })
}

/// Reads a delta of either format through and writes what the Go tool would have. Own thread.
#[napi(ts_return_type = "Promise<DeltaSummary>")]
pub fn export_delta<'env>(
    env: &'env Env,
    source: String,
    target: String,
    compression: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "delta-export", move || {
        let compression = match compression.as_str() {
            "none" => Compression::None,
            "gzip" => Compression::Gzip,
            "zlib" => Compression::Zlib,
            "lzw" => Compression::Lzw,
            _ => {
                return Err(Failure::internal(format!(
                    "{compression:?} is no compression of json deltas"
                )));
            }
        };
        let written = delta::export(Path::new(&source), Path::new(&target), compression, &cancel)?;
        Ok(summary_of(&written))
    })
}

pub(crate) fn options(codec: &str) -> Outcome<Options> {
    let codec = match codec {
        "zstd" => Codec::Zstd,
        "none" => Codec::None,
        _ => {
            return Err(Failure::internal(format!(
                "{codec:?} is no codec of .ebd blocks"
            )));
        }
    };
    Ok(Options {
        codec,
        ..Options::default()
    })
}

pub(crate) fn header_from(header: DeltaHeader) -> Outcome<Header> {
    Ok(Header {
        cluster_id: header.cluster_id.get_u64().1,
        member_id: header.member_id.get_u64().1,
        server_version: header.server_version,
        predecessor_name: header.predecessor_name,
        predecessor_sha256: header
            .predecessor_sha256
            .map(|text| sha256(&text))
            .transpose()?,
        start_revision: header.start_revision.get_i64().0,
        created_ms: millis(header.created_ms),
        timeline: header.timeline,
    })
}

fn header_to(header: &Header) -> DeltaHeader {
    DeltaHeader {
        cluster_id: BigInt::from(header.cluster_id),
        member_id: BigInt::from(header.member_id),
        server_version: header.server_version.clone(),
        predecessor_name: header.predecessor_name.clone(),
        predecessor_sha256: header.predecessor_sha256.map(|digest| hex(&digest)),
        start_revision: bigint(header.start_revision),
        #[allow(clippy::cast_precision_loss)]
        created_ms: header.created_ms as f64,
        timeline: header.timeline.clone(),
    }
}

#[allow(clippy::cast_precision_loss)]
pub(crate) fn summary_of(summary: &delta::Summary) -> DeltaSummary {
    DeltaSummary {
        first_revision: bigint(summary.first_revision),
        last_revision: bigint(summary.last_revision),
        events: to_number(summary.events),
        event_bytes: to_number(summary.event_bytes),
        bytes: to_number(summary.bytes),
        sha256: hex(&summary.sha256),
        first_time_ms: summary.first_time_ms as f64,
        last_time_ms: summary.last_time_ms as f64,
        leases: to_number(summary.leases),
        revision_events_max: to_number(summary.revision_events_max),
        revision_bytes_max: to_number(summary.revision_bytes_max),
    }
}

fn format_name(format: Format) -> &'static str {
    match format {
        Format::Ebd => "ebd",
        Format::Json(_) => "json",
    }
}

pub(crate) fn millis(value: f64) -> i64 {
    i64::try_from(from_number(value)).unwrap_or(i64::MAX)
}
