//! The database that an embedded etcd replays deltas on: the base, made harmless for the time of the replay.
//!
//! Nothing in it may act on its own: a lease that expired would take a revision that belongs to a delta (hazard 4), auth
//! would refuse the replay, an alarm would refuse its puts. None of these changes reaches the user: of the result only
//! the `key` bucket is taken ([`mod@crate::assemble`]).

use std::path::Path;

use bbolt::{Appender, Cancel, Db};

use crate::auth::{AUTH_BUCKET, AUTH_ENABLED};
use crate::copy::copy_db;
use crate::error::Result;
use crate::lease_merge::write_leases;
use crate::leases::Lease;
use crate::member_dir::{Cluster, Style};
use crate::seat::{Schema, Seat};
use crate::small_bucket::{read_small, write_small};

/// Ten years: no replay outlives it, and as nanoseconds it is far from the limit of the server's clock.
pub const REPLAY_LEASE_TTL_SECONDS: i64 = 10 * 365 * 24 * 3600;

/// Who replays.
#[derive(Debug, Clone, Copy)]
pub struct ReplaySeat<'a> {
    /// A cluster of one member.
    pub cluster: &'a Cluster,
    /// Version of the etcd that replays, when known.
    pub target: Option<Style>,
    /// Leases that the deltas name and the base may lack; without a record, etcd refuses puts on them.
    pub extra_leases: &'a [i64],
}

/// Copies `source` to the new file `to` and prepares the copy. Returns the bytes copied.
pub fn prepare_replay_base(
    source: &Path,
    to: &Path,
    seat: &ReplaySeat<'_>,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let bytes = copy_db(source, to, cancel, progress)?;
    let base = Db::open(source)?;
    let mut schema = Schema::read(&base)?;
    schema.seat(&Seat {
        target: seat.target,
        clear_alarms: true,
        ..Seat::new(seat.cluster)
    });
    let mut auth = read_small(&base, AUTH_BUCKET)?;
    if let Some(enabled) = auth.get_mut(AUTH_ENABLED) {
        *enabled = vec![0];
    }
    let lasting = |id| Lease::granted(id, REPLAY_LEASE_TTL_SECONDS);
    let extra: Vec<Lease> = seat.extra_leases.iter().map(|id| lasting(*id)).collect();

    let mut appender = Appender::open(to)?;
    schema.write(&mut appender)?;
    write_small(&mut appender, AUTH_BUCKET, &auth)?;
    write_leases(&mut appender, &base, &extra, |lease| lasting(lease.id))?;
    appender.commit()?;
    Ok(bytes)
}
