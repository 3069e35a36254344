//! The write-ahead log of a member: what etcd would make of it, and cutting off a torn tail.

use crate::control::JobControl;
use crate::convert::to_number;
use crate::error::Outcome;
use crate::job;
use etcd_data::wal::{EntryKind, SurveyOptions, Torn, WalSurvey as Survey};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Object};
use napi_derive::napi;
use std::path::Path;

/// What the database says, and the version that wrote it.
#[napi(object, use_nullable = true)]
pub struct WalRequest {
    pub wal_dir: String,
    pub snap_dir: String,
    /// The database's consistent index.
    pub applied: BigInt,
    /// Its term; null before 3.5.
    pub applied_term: Option<BigInt>,
    /// The database's.
    pub revision: BigInt,
    /// Auth is on or an alarm is raised: writes behind the database may be refused.
    pub guarded: bool,
    /// Of etcd 3; null when it is not known.
    pub minor: Option<u32>,
}

/// A record that was not written whole, at the end of the last file.
#[napi(object)]
pub struct WalTorn {
    pub file: String,
    /// Bytes of whole records before it.
    pub offset: f64,
    pub file_bytes: f64,
    pub what: String,
}

/// Entries of one kind behind the database.
#[napi(object)]
pub struct EntryCount {
    pub kind: String,
    pub count: f64,
}

/// Entries that the database has not applied, and the revisions that they make.
#[napi(object)]
pub struct WalBeyond {
    pub entries: f64,
    pub by_kind: Vec<EntryCount>,
    pub least: BigInt,
    /// Of those that are known to be committed.
    pub least_committed: BigInt,
    pub most: BigInt,
}

/// See `etcd_data::wal::WalSurvey`.
#[napi(object, use_nullable = true)]
pub struct WalSurvey {
    pub first_file: Option<String>,
    pub last_file: Option<String>,
    pub files: f64,
    pub records: f64,
    /// Hexadecimal, as etcd prints them; null when no record says.
    pub member_id: Option<String>,
    pub cluster_id: Option<String>,
    /// Null without a raft state.
    pub term: Option<BigInt>,
    pub commit: Option<BigInt>,
    /// The raft snapshot that etcd begins with; 0 is none.
    pub snapshot_index: BigInt,
    pub snapshot_term: BigInt,
    /// Whether a restore wrote the log's beginning; null when that is gone.
    pub begun_by_restore: Option<bool>,
    pub snap_file: Option<String>,
    /// Set when etcd takes this file in place of the database.
    pub snap_db: Option<String>,
    /// By the newest raft snapshot that names them.
    pub conf_members: Option<u32>,
    pub last_index: BigInt,
    pub last_term: BigInt,
    pub beyond: WalBeyond,
    pub torn: Option<WalTorn>,
    /// Each keeps etcd from starting, or from having all that was written.
    pub problems: Vec<String>,
    pub warnings: Vec<String>,
}

/// Reads the log as etcd does at boot; damage is a finding. Writes nothing. Own thread.
#[napi(ts_return_type = "Promise<WalSurvey>")]
pub fn survey_wal<'env>(
    env: &'env Env,
    request: WalRequest,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    let options = SurveyOptions {
        applied: request.applied.get_u64().1,
        applied_term: request.applied_term.map(|term| term.get_u64().1),
        revision: request.revision.get_i64().0,
        guarded: request.guarded,
        minor: request.minor,
    };
    job::spawn(env, "survey-wal", move || {
        let (wal, snap) = (Path::new(&request.wal_dir), Path::new(&request.snap_dir));
        Ok(plain(etcd_data::wal::survey(wal, snap, &options, &cancel)?))
    })
}

/// A repair that was made.
#[napi(object)]
pub struct WalRepair {
    pub file: String,
    pub kept_bytes: f64,
    pub cut_bytes: f64,
    pub broken_copy: String,
}

/// Copies the last file to `<name>.broken` and cuts off what is torn; null when nothing is. Own thread.
#[napi(ts_return_type = "Promise<WalRepair | null>")]
pub fn repair_wal<'env>(
    env: &'env Env,
    wal_dir: String,
    minor: Option<u32>,
) -> napi::Result<Object<'env>> {
    job::spawn(env, "repair-wal", move || -> Outcome<_> {
        let repaired = etcd_data::wal::repair(Path::new(&wal_dir), minor)?;
        Ok(repaired.map(|repaired| WalRepair {
            file: repaired.file.display().to_string(),
            kept_bytes: to_number(repaired.kept_bytes),
            cut_bytes: to_number(repaired.cut_bytes),
            broken_copy: repaired.broken_copy.display().to_string(),
        }))
    })
}

fn plain(found: Survey) -> WalSurvey {
    let name = |file: &etcd_data::wal::names::WalFile| file.name.clone();
    let by_kind = EntryKind::ALL.iter().zip(found.beyond.by_kind);
    let members = |conf: &etcd_data::wal::ConfState| conf.voters.len() + conf.learners.len();
    WalSurvey {
        first_file: found.files.first().map(name),
        last_file: found.files.last().map(name),
        files: to_number(found.files.len() as u64),
        records: to_number(found.records),
        member_id: found.metadata.map(|ids| format!("{:x}", ids.member_id)),
        cluster_id: found.metadata.map(|ids| format!("{:x}", ids.cluster_id)),
        term: found.state.map(|state| BigInt::from(state.term)),
        commit: found.state.map(|state| BigInt::from(state.commit)),
        snapshot_index: found.start.index.into(),
        snapshot_term: found.start.term.into(),
        begun_by_restore: found.begun_by_restore,
        snap_file: found.snap_file,
        snap_db: found.snap_db,
        conf_members: found.conf_state.as_ref().map(|conf| members(conf) as u32),
        last_index: found.last_index.into(),
        last_term: found.last_term.into(),
        beyond: WalBeyond {
            entries: to_number(found.beyond.entries),
            by_kind: by_kind
                .filter(|(_, count)| *count > 0)
                .map(|(kind, count)| EntryCount {
                    kind: kind.name().to_owned(),
                    count: to_number(count),
                })
                .collect(),
            least: found.beyond.least.into(),
            least_committed: found.beyond.least_committed.into(),
            most: found.beyond.most.into(),
        },
        torn: found.torn.map(torn),
        problems: found.problems,
        warnings: found.warnings,
    }
}

fn torn(torn: Torn) -> WalTorn {
    WalTorn {
        file: torn.file,
        offset: to_number(torn.offset),
        file_bytes: to_number(torn.file_bytes),
        what: torn.what,
    }
}
