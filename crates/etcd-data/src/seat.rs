//! Seats a database in a new cluster: the database's part of a restore.
//!
//! Exactly what etcdutl changes, and no more: `meta.consistent_index` = number of members, `meta.term` = 1, `members` = the
//! new ones, `members_removed` = empty. A larger consistent index would make the server skip the first entries of
//! its new log without a word, none at all makes it panic. Left-over members come back as zombies in 3.6 and take the
//! quorum in 3.7. Leases, auth, clusterVersion, confState and the rest stay.

use std::path::Path;

use bbolt::{Appender, Db};

use crate::alarms::ALARM_BUCKET;
use crate::error::Result;
use crate::member_dir::{Cluster, RESTORE_TERM, Style};
use crate::members::{CLUSTER_BUCKET, CLUSTER_VERSION, MEMBERS_BUCKET, MEMBERS_REMOVED_BUCKET};
use crate::meta::{CONSISTENT_INDEX, META_BUCKET, STORAGE_VERSION, TERM};
use crate::small_bucket::{SmallBucket, read_small, write_small};
use crate::version_marks::target_fixups;

/// How a database is seated.
#[derive(Debug, Clone, Copy)]
pub struct Seat<'a> {
    /// All members of the new cluster. Every member's database must be seated alike.
    pub cluster: &'a Cluster,
    /// Version that will open it, when known: marks that are newer are dropped.
    pub target: Option<Style>,
    /// Start without alarms; by default they stay, as with etcdutl.
    pub clear_alarms: bool,
}

impl<'a> Seat<'a> {
    /// Nothing but the rule.
    #[must_use]
    pub fn new(cluster: &'a Cluster) -> Self {
        Seat {
            cluster,
            target: None,
            clear_alarms: false,
        }
    }
}

/// Seats the database at `path` in place, in one transaction, synced.
pub fn seat(path: &Path, seat: &Seat<'_>) -> Result<()> {
    let mut appender = Appender::open(path)?;
    seat_within(&mut appender, seat)?;
    appender.commit()?;
    Ok(())
}

/// The same within a transaction that has more to write.
pub fn seat_within(appender: &mut Appender, seat: &Seat<'_>) -> Result<()> {
    let mut small = Schema::read(appender.db())?;
    small.seat(seat);
    small.write(appender)
}

/// The buckets that seating touches.
pub(crate) struct Schema {
    pub(crate) meta: SmallBucket,
    pub(crate) cluster: SmallBucket,
    pub(crate) members: SmallBucket,
    pub(crate) members_removed: SmallBucket,
    pub(crate) alarms: SmallBucket,
}

impl Schema {
    /// Names of these buckets.
    pub(crate) const BUCKETS: [&'static [u8]; 5] = [
        META_BUCKET,
        CLUSTER_BUCKET,
        MEMBERS_BUCKET,
        MEMBERS_REMOVED_BUCKET,
        ALARM_BUCKET,
    ];

    pub(crate) fn read(db: &Db) -> Result<Self> {
        Ok(Schema {
            meta: read_small(db, META_BUCKET)?,
            cluster: read_small(db, CLUSTER_BUCKET)?,
            members: read_small(db, MEMBERS_BUCKET)?,
            members_removed: read_small(db, MEMBERS_REMOVED_BUCKET)?,
            alarms: read_small(db, ALARM_BUCKET)?,
        })
    }

    pub(crate) fn seat(&mut self, seat: &Seat<'_>) {
        self.meta.insert(
            CONSISTENT_INDEX.to_vec(),
            seat.cluster.size().to_be_bytes().to_vec(),
        );
        self.meta
            .insert(TERM.to_vec(), RESTORE_TERM.to_be_bytes().to_vec());
        self.members_removed.clear();
        self.members = seat
            .cluster
            .members
            .iter()
            .map(|member| (member.hex_id().into_bytes(), member.to_json().into_bytes()))
            .collect();
        if let Some(target) = seat.target {
            self.drop_newer_marks(target);
        }
        if seat.clear_alarms {
            self.alarms.clear();
        }
    }

    pub(crate) fn write(self, appender: &mut Appender) -> Result<()> {
        let buckets = [
            &self.meta,
            &self.cluster,
            &self.members,
            &self.members_removed,
            &self.alarms,
        ];
        Schema::BUCKETS
            .iter()
            .zip(buckets)
            .try_for_each(|(name, records)| write_small(appender, name, records))
    }

    fn drop_newer_marks(&mut self, target: Style) {
        let text = |bucket: &SmallBucket, key: &[u8]| {
            bucket
                .get(key)
                .map(|v| String::from_utf8_lossy(v).into_owned())
        };
        let (storage, cluster) = (
            text(&self.meta, STORAGE_VERSION),
            text(&self.cluster, CLUSTER_VERSION),
        );
        let fixups = target_fixups(storage.as_deref(), cluster.as_deref(), target);
        if fixups.drop_storage_version {
            self.meta.remove(STORAGE_VERSION);
        }
        if fixups.drop_cluster_version {
            self.cluster.remove(CLUSTER_VERSION);
        }
    }
}
