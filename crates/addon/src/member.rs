//! Member directories: the base of a replay, its result, and the proof.

use crate::control::JobControl;
use crate::convert::{bigint, hex, to_number};
use crate::error::{Failure, Outcome, SyncError};
use crate::job;
use bbolt::Db;
use etcd_data::leases::Lease;
use etcd_data::member_dir::{Cluster, ClusterSpec, Style, write_member_dir as write_dir};
use etcd_data::{Checkpoint, ReplaySeat, Seat};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Object};
use napi_derive::napi;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Who the member is.
#[napi(object)]
pub struct ClusterRequest {
    pub name: String,
    /// As in `--initial-cluster`: name=peerURL,…
    pub initial_cluster: String,
    pub token: String,
}

/// Ids that etcd computes from names, URLs and token; hexadecimal, as etcd prints them.
#[napi(object)]
pub struct ClusterIds {
    pub cluster_id: String,
    pub member_id: String,
}

/// A member of a cluster to be.
#[napi(object)]
pub struct ResolvedMember {
    pub id: String,
    pub name: String,
    /// Sorted.
    pub peer_urls: Vec<String>,
}

/// A cluster that etcd would accept.
#[napi(object)]
pub struct ResolvedCluster {
    pub ids: ClusterIds,
    /// In the order in which they were given.
    pub members: Vec<ResolvedMember>,
}

/// How a database is seated in its new cluster.
#[napi(object, use_nullable = true)]
pub struct SeatRequest {
    pub cluster: ClusterRequest,
    /// Version that will open it, such as 3.6, when known: marks that are newer are dropped.
    pub target_version: Option<String>,
    /// Start without the alarms that are there.
    pub clear_alarms: bool,
}

/// A granted lease.
#[napi(object)]
pub struct LeaseGrant {
    pub id: BigInt,
    pub ttl_seconds: BigInt,
}

pub(crate) fn leases_from(grants: &[LeaseGrant]) -> Vec<Lease> {
    grants
        .iter()
        .map(|lease| Lease::granted(lease.id.get_i64().0, lease.ttl_seconds.get_i64().0))
        .collect()
}

fn spec(request: &ClusterRequest) -> Outcome<ClusterSpec> {
    Ok(ClusterSpec::parse(
        &request.name,
        &request.initial_cluster,
        &request.token,
    )?)
}

fn target_style(version: Option<&String>) -> Outcome<Option<Style>> {
    Ok(version
        .map(|version| Style::from_version(version))
        .transpose()?)
}

/// A [`SeatRequest`], read.
pub struct Seating {
    cluster: Cluster,
    target: Option<Style>,
    clear_alarms: bool,
}

impl Seating {
    pub fn read(request: &SeatRequest) -> Outcome<Self> {
        Ok(Self {
            cluster: spec(&request.cluster)?.resolve()?,
            target: target_style(request.target_version.as_ref())?,
            clear_alarms: request.clear_alarms,
        })
    }

    pub fn seat(&self) -> Seat<'_> {
        Seat {
            cluster: &self.cluster,
            target: self.target,
            clear_alarms: self.clear_alarms,
        }
    }
}

/// What etcd will make of the request; USAGE names what it would refuse. Of no cost, on the calling thread.
#[napi]
pub fn resolve_cluster(cluster: ClusterRequest) -> Result<ResolvedCluster, SyncError> {
    let spec = spec(&cluster)?;
    let resolved = spec.resolve().map_err(Failure::from)?;
    let given = spec
        .initial_cluster
        .iter()
        .filter_map(|(name, _)| resolved.members.iter().find(|member| member.name == *name));
    Ok(ResolvedCluster {
        ids: ids(&resolved),
        members: given
            .map(|member| ResolvedMember {
                id: member.hex_id(),
                name: member.name.clone(),
                peer_urls: member.peer_urls.clone(),
            })
            .collect(),
    })
}

fn ids(cluster: &Cluster) -> ClusterIds {
    ClusterIds {
        cluster_id: format!("{:x}", cluster.id),
        member_id: format!("{:x}", cluster.local_id),
    }
}

/// Writes WAL and raft snapshot of a new member, in the style that `styleVersion`'s own tool writes. The database's
/// own part is `seatDb`. Own thread.
#[napi(ts_return_type = "Promise<ClusterIds>")]
pub fn write_member_dir<'env>(
    env: &'env Env,
    member_dir: String,
    cluster: ClusterRequest,
    style_version: Option<String>,
) -> napi::Result<Object<'env>> {
    job::spawn(env, "write-member-dir", move || {
        let style = target_style(style_version.as_ref())?.unwrap_or_default();
        Ok(ids(&write_dir(
            Path::new(&member_dir),
            &spec(&cluster)?,
            style,
        )?))
    })
}

/// Seats a database in place: members, raft position, version marks, alarms. Own thread.
#[napi(ts_return_type = "Promise<void>")]
pub fn seat_db<'env>(
    env: &'env Env,
    path: String,
    seat: SeatRequest,
) -> napi::Result<Object<'env>> {
    job::spawn(env, "seat-db", move || {
        let seating = Seating::read(&seat)?;
        Ok(etcd_data::seat(Path::new(&path), &seating.seat())?)
    })
}

/// Raises the revision of a database in place and marks all below as compacted. Returns the new revision. Own thread.
#[napi(ts_return_type = "Promise<bigint>")]
pub fn bump_revision<'env>(env: &'env Env, path: String, by: BigInt) -> napi::Result<Object<'env>> {
    let (_, by, exact) = by.get_u64();
    job::spawn(env, "bump-revision", move || {
        if !exact {
            return Err(Failure::internal("bump-revision: not a 64-bit number"));
        }
        Ok(bigint(etcd_data::bump_revision(Path::new(&path), by)?))
    })
}

/// Copies a database and makes the copy fit for a replay: seated, leases that last, auth off, no alarms. Progress in
/// bytes. Own thread.
#[napi(ts_return_type = "Promise<number>")]
pub fn prepare_replay_base<'env>(
    env: &'env Env,
    source: String,
    target: String,
    cluster: ClusterRequest,
    target_version: Option<String>,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, done) = (control.cancel_token(), control.done_counter());
    job::spawn(env, "replay-base", move || {
        let cluster = spec(&cluster)?.resolve()?;
        let target_style = target_style(target_version.as_ref())?;
        let seat = ReplaySeat {
            cluster: &cluster,
            target: target_style,
            extra_leases: &[],
        };
        let mut progress = |bytes| done.store(bytes, Ordering::Relaxed);
        let (from, to) = (Path::new(&source), Path::new(&target));
        Ok(to_number(etcd_data::prepare_replay_base(
            from,
            to,
            &seat,
            &cancel,
            &mut progress,
        )?))
    })
}

/// Turns the database of a finished replay into the restored one, in place: every bucket but `key` becomes the base's
/// again, with the deltas' leases, seated for the new cluster. Own thread.
#[napi(ts_return_type = "Promise<void>")]
pub fn assemble_db<'env>(
    env: &'env Env,
    replayed: String,
    base: String,
    leases: Vec<LeaseGrant>,
    seat: SeatRequest,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    let leases = leases_from(&leases);
    job::spawn(env, "assemble", move || {
        let seating = Seating::read(&seat)?;
        Ok(etcd_data::assemble(
            Path::new(&replayed),
            Path::new(&base),
            &leases,
            &seating.seat(),
            &cancel,
        )?)
    })
}

/// Digest over all records above the base, up to and with `revision`.
#[napi(object)]
pub struct RecordCheckpoint {
    pub revision: BigInt,
    /// Lower case hex.
    pub sha256: String,
}

/// What a database holds above the base.
#[napi(object)]
pub struct RecordProof {
    pub records: f64,
    pub last_revision: BigInt,
    pub sha256: String,
}

/// Compares every record above `after` with what the deltas say, by digest; names the first stretch that differs. Own thread.
#[napi(ts_return_type = "Promise<RecordProof>")]
pub fn prove_records<'env>(
    env: &'env Env,
    path: String,
    after: BigInt,
    checkpoints: Vec<RecordCheckpoint>,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    let after = after.get_i64().0;
    let expected = checkpoints
        .iter()
        .map(|checkpoint| {
            Ok((
                checkpoint.revision.get_i64().0,
                crate::convert::sha256(&checkpoint.sha256)?,
            ))
        })
        .collect::<Outcome<Vec<_>>>();
    job::spawn(env, "prove-records", move || {
        let checkpoints: Vec<Checkpoint> = expected?
            .into_iter()
            .map(|(revision, sha256)| Checkpoint { revision, sha256 })
            .collect();
        let proof = etcd_data::prove_records(
            &Db::open(&path).map_err(Failure::from)?,
            after,
            &checkpoints,
            &cancel,
        )?;
        Ok(RecordProof {
            records: to_number(proof.records),
            last_revision: bigint(proof.last_revision),
            sha256: hex(&proof.sha256),
        })
    })
}
