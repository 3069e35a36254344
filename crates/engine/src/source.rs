//! A base and the deltas behind it as one run of records.

use crate::Result;
use bbolt::{Cancel, Db};
use delta::Records;
use etcd_data::leases::Lease;
use etcd_data::records::{RawRecord, Walk, for_each_record, store_revision};
use etcd_data::{Meta, RecordKey};
use std::path::Path;

/// What is read: a database, then `.ebd` files in order.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a, P> {
    /// A bare database; a trailer behind it does no harm.
    pub base: &'a Path,
    /// Each continues where the one before ends; what they hold of the base is passed over.
    pub deltas: &'a [P],
    /// Last revision that counts; `None`: all.
    pub until: Option<i64>,
}

/// What is known once a source has been read.
pub(crate) struct End {
    /// Its last revision.
    pub revision: i64,
    /// Leases that the deltas' records name and that their files grant.
    pub granted: Vec<Lease>,
    /// Records of the deltas.
    pub events: u64,
    /// Arrival of the last of them, Unix milliseconds.
    pub last_event_ms: Option<i64>,
}

/// A source whose base is open. It can be read any number of times.
pub(crate) struct OpenSource<'a, P> {
    pub base: Db,
    pub meta: Meta,
    base_revision: i64,
    deltas: &'a [P],
    until: Option<i64>,
}

impl<'a, P: AsRef<Path>> Source<'a, P> {
    pub(crate) fn open(&self) -> Result<OpenSource<'a, P>> {
        let base = Db::open(self.base)?;
        let meta = Meta::read(&base)?;
        let base_revision = store_revision(&base)?;
        if let Some(until) = self.until.filter(|until| *until < base_revision) {
            return Err(crate::Error::Usage(format!(
                "the base holds revision {base_revision}, beyond {until}, where the result is to end"
            )));
        }
        Ok(OpenSource {
            base,
            meta,
            base_revision,
            deltas: self.deltas,
            until: self.until,
        })
    }
}

impl<P: AsRef<Path>> OpenSource<'_, P> {
    /// What the base alone holds.
    pub fn base_revision(&self) -> i64 {
        self.base_revision
    }

    /// Hands every record to `take`, in bucket order.
    pub fn for_each(
        &self,
        cancel: &Cancel,
        mut take: impl FnMut(RecordKey, RawRecord<'_>) -> Result<()>,
    ) -> Result<End> {
        // The walk speaks the error of the crate below; one of ours stops it and is handed on.
        let mut stopped = Ok(());
        for_each_record(&self.base, None, cancel, |record| {
            stopped = take(record.record_key()?, record);
            Ok(if stopped.is_ok() {
                Walk::On
            } else {
                Walk::Stop
            })
        })?;
        stopped?;
        let mut records = Records::new(self.base_revision, self.until);
        for path in self.deltas {
            records.read_file(path.as_ref(), cancel, |record| {
                let key = record.key.bytes();
                take(
                    record.key,
                    RawRecord {
                        key: &key,
                        value: record.value,
                    },
                )
            })?;
        }
        Ok(End {
            revision: self.check_end(records.position())?,
            granted: records.grants(),
            events: records.count(),
            last_event_ms: records.last_arrived_ms(),
        })
    }

    fn check_end(&self, end: i64) -> Result<i64> {
        match self.until {
            Some(until) if end < until => Err(delta::Error::RevisionGap {
                first_missing: end.saturating_add(1),
                last_missing: until,
                what: format!("base and deltas end at revision {end}, expected is {until}"),
            }
            .into()),
            _ => Ok(end),
        }
    }
}
