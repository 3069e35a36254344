//! Looking at a database file: structure, schema, digests. Nothing here writes.

use crate::control::JobControl;
use crate::convert::{bigint, hex, to_number};
use crate::error::{Failure, Outcome};
use crate::job;
use bbolt::Db;
use bbolt::check::{CheckOptions, check_file};
use etcd_data::foreign::{FileKind, identify};
use etcd_data::inspect::last_record_at;
use etcd_data::trailer::{MissingTrailer, check_trailer};
use etcd_data::{LastRecord, MvccOptions};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer, Object};
use napi_derive::napi;
use std::path::Path;
use std::sync::atomic::Ordering;

/// One thing that is wrong, or odd.
#[napi(object)]
pub struct Finding {
    /// "page 17", or a record's revision.
    pub place: String,
    pub kind: String,
    pub detail: String,
}

/// Verdict of the structural check.
#[napi(object)]
pub struct DbCheck {
    pub pages: f64,
    pub high_water: f64,
    pub findings: Vec<Finding>,
    pub findings_total: f64,
    /// All records can be read: at most the freelist is wrong.
    pub readable: bool,
    pub warnings: Vec<Finding>,
    pub warnings_total: f64,
}

/// Checks every page. Progress in pages. Own threads.
#[napi(ts_return_type = "Promise<DbCheck>")]
pub fn check_db<'env>(
    env: &'env Env,
    path: String,
    threads: u32,
    max_findings: u32,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    job::spawn(env, "check-db", move || {
        let options = CheckOptions {
            threads: threads as usize,
            max_findings: max_findings as usize,
        };
        let report = check_file(&path, &options, &cancel, &|pages| {
            done.store(pages, Ordering::Relaxed)
        })?;
        Ok(DbCheck {
            readable: report.is_readable(),
            pages: to_number(report.pages),
            high_water: to_number(report.high_water),
            findings: report.findings.into_iter().map(page_finding).collect(),
            findings_total: to_number(report.findings_total),
            warnings: report.warnings.into_iter().map(page_finding).collect(),
            warnings_total: to_number(report.warnings_total),
        })
    })
}

fn page_finding(finding: bbolt::check::Finding) -> Finding {
    let bbolt::check::Finding { page, kind, detail } = finding;
    Finding {
        place: format!("page {page}"),
        kind: format!("{kind:?}"),
        detail,
    }
}

/// Verdict of the mvcc check.
#[napi(object)]
pub struct MvccCheck {
    pub records: f64,
    pub tombstones: f64,
    pub live_keys: f64,
    pub findings: Vec<Finding>,
    pub findings_total: f64,
}

/// Checks what etcd keeps in the `key` bucket. Own thread.
#[napi(ts_return_type = "Promise<MvccCheck>")]
pub fn check_mvcc<'env>(
    env: &'env Env,
    path: String,
    max_findings: u32,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "check-mvcc", move || {
        let options = MvccOptions {
            max_findings: max_findings as usize,
            ..MvccOptions::default()
        };
        let report = etcd_data::mvcc_check(&Db::open(&path)?, options, &cancel)?;
        let findings = report.findings.list().iter().map(|finding| Finding {
            place: finding.revision.map_or_else(
                || "meta".to_owned(),
                |revision| format!("revision {revision}"),
            ),
            kind: finding.kind.name().to_owned(),
            detail: finding.detail.clone(),
        });
        Ok(MvccCheck {
            records: to_number(report.records),
            tombstones: to_number(report.tombstones),
            live_keys: to_number(report.live_keys),
            findings: findings.collect(),
            findings_total: to_number(report.findings.total()),
        })
    })
}

/// The newest change, or the last one of a revision.
#[napi(object)]
pub struct RecordIdentity {
    pub key: Buffer,
    pub main: BigInt,
    pub sub: BigInt,
    pub tombstone: bool,
    /// Of the stored value, a mvccpb.KeyValue; lower case hex.
    pub sha256: String,
}

/// A member on record.
#[napi(object)]
pub struct DbMember {
    /// Hexadecimal, as etcd prints it.
    pub id: String,
    pub name: String,
    pub peer_urls: Vec<String>,
    pub is_learner: bool,
}

/// What a database says about itself; see `etcd_data::DbInfo`.
#[napi(object, use_nullable = true)]
pub struct DbInfo {
    pub page_size: u32,
    pub data_bytes: f64,
    pub revision: BigInt,
    /// -1 when never compacted.
    pub compact_revision: BigInt,
    pub scheduled_compact_revision: BigInt,
    pub consistent_index: Option<BigInt>,
    pub term: Option<BigInt>,
    pub storage_version: Option<String>,
    pub cluster_version: Option<String>,
    pub auth_enabled: bool,
    pub members: Vec<DbMember>,
    pub leases: f64,
    /// "NOSPACE" and the like.
    pub alarms: Vec<String>,
    pub last_record: Option<RecordIdentity>,
    pub buckets: Vec<String>,
}

/// Reads the small buckets and both ends of the `key` bucket. Own thread.
#[napi(ts_return_type = "Promise<DbInfo>")]
pub fn inspect_db<'env>(
    env: &'env Env,
    path: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "inspect-db", move || {
        let info = etcd_data::inspect(&Db::open(&path)?, &cancel)?;
        let members = info.members.into_iter().map(|member| DbMember {
            id: format!("{:x}", member.id),
            name: member.name,
            peer_urls: member.peer_urls,
            is_learner: member.is_learner,
        });
        Ok(DbInfo {
            page_size: info.page_size,
            data_bytes: to_number(info.data_bytes),
            revision: bigint(info.revision),
            compact_revision: bigint(info.compact_revision),
            scheduled_compact_revision: bigint(info.scheduled_compact_revision),
            consistent_index: info.consistent_index.map(BigInt::from),
            term: info.term.map(BigInt::from),
            storage_version: info.storage_version,
            cluster_version: info.cluster_version,
            auth_enabled: info.auth_enabled,
            members: members.collect(),
            leases: to_number(info.leases),
            alarms: info.alarms.into_iter().map(|alarm| alarm.kind).collect(),
            last_record: info.last_record.map(identity),
            buckets: info.buckets,
        })
    })
}

/// The last record of one main revision, `null` when the file has none of it. Own thread.
#[napi(ts_return_type = "Promise<RecordIdentity | null>")]
pub fn record_at<'env>(
    env: &'env Env,
    path: String,
    main: BigInt,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    let main = main.get_i64().0;
    job::spawn(env, "record-at", move || {
        cancel.check().map_err(bbolt::Error::from)?;
        Ok(last_record_at(&Db::open(&path)?, main)?.map(identity))
    })
}

pub(crate) fn identity(record: LastRecord) -> RecordIdentity {
    RecordIdentity {
        key: record.key.into(),
        main: bigint(record.revision.main),
        sub: bigint(record.revision.sub),
        tombstone: record.tombstone,
        sha256: hex(&record.sha256),
    }
}

/// HashKV and the revisions that it holds for.
#[napi(object)]
pub struct HashKv {
    pub hash: u32,
    pub revision: BigInt,
    pub compact_revision: BigInt,
    /// False when no key lives at the revision: etcd's own answer then depends on what is physically there.
    pub comparable: bool,
}

/// HashKV as an etcd compacted at `compactRevision` answers for `revision`. Own thread.
#[napi(ts_return_type = "Promise<HashKv>")]
pub fn hash_kv<'env>(
    env: &'env Env,
    path: String,
    revision: BigInt,
    compact_revision: BigInt,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    let (revision, compact_revision) = (revision.get_i64().0, compact_revision.get_i64().0);
    job::spawn(env, "hash-kv", move || {
        let answer = etcd_data::hash_kv(&Db::open(&path)?, revision, compact_revision, &cancel)?;
        Ok(HashKv {
            hash: answer.hash,
            revision: bigint(answer.revision),
            compact_revision: bigint(answer.compact_revision),
            comparable: answer.comparable,
        })
    })
}

/// Live keys that name a lease which the database does not grant.
#[napi(object)]
pub struct UnknownLeases {
    pub leases: f64,
    pub keys: f64,
}

/// Own thread.
#[napi(ts_return_type = "Promise<UnknownLeases>")]
pub fn unknown_leases<'env>(
    env: &'env Env,
    path: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "unknown-leases", move || {
        let unknown = etcd_data::unknown_leases(&Db::open(&path)?, &cancel)?;
        Ok(UnknownLeases {
            leases: to_number(unknown.leases),
            keys: to_number(unknown.keys),
        })
    })
}

/// Grants every lease that live keys name and that the database lacks, in place; says how many there were. Own thread.
#[napi(ts_return_type = "Promise<UnknownLeases>")]
pub fn grant_unknown_leases<'env>(
    env: &'env Env,
    path: String,
    ttl_seconds: BigInt,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    let ttl_seconds = ttl_seconds.get_i64().0;
    job::spawn(env, "grant-leases", move || {
        let unknown = etcd_data::grant_unknown_leases(Path::new(&path), ttl_seconds, &cancel)?;
        Ok(UnknownLeases {
            leases: to_number(unknown.leases),
            keys: to_number(unknown.keys),
        })
    })
}

/// A plain snapshot file whose bytes were all read.
#[napi(object)]
pub struct SnapshotFile {
    pub data_bytes: f64,
    /// Of the database without a trailer; lower case hex.
    pub sha256: String,
    /// Whether a trailer was there and agreed.
    pub verified: bool,
}

/// Compares the SHA-256 at the end of a snapshot file; says what the file is when it is none. Progress in bytes. Own thread.
#[napi(ts_return_type = "Promise<SnapshotFile>")]
pub fn check_snapshot_file<'env>(
    env: &'env Env,
    path: String,
    allow_missing_trailer: bool,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    job::spawn(env, "check-snapshot-file", move || {
        let missing = if allow_missing_trailer {
            MissingTrailer::Allow
        } else {
            MissingTrailer::Refuse
        };
        let mut progress = |bytes| done.store(bytes, Ordering::Relaxed);
        let checked = check_trailer(Path::new(&path), missing, &cancel, &mut progress)?;
        Ok(SnapshotFile {
            data_bytes: to_number(checked.data_bytes),
            sha256: hex(&checked.sha256),
            verified: checked.verified,
        })
    })
}

/// What a file is, by its first bytes: "bbolt", or words that end a sentence "it is …". Own thread.
#[napi(ts_return_type = "Promise<string>")]
pub fn identify_file<'env>(env: &'env Env, path: String) -> napi::Result<Object<'env>> {
    job::spawn(env, "identify-file", move || -> Outcome<String> {
        let kind = identify(Path::new(&path)).map_err(Failure::from)?;
        Ok(match kind {
            FileKind::Bbolt => "bbolt".to_owned(),
            FileKind::Foreign(what) => what,
        })
    })
}
