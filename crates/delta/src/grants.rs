//! Which of the leases that deltas grant belong into a result: those that its records name.
//!
//! A delta grants what its own PUTs name. Of one that is used in part only (it overlaps the base, or the restore ends
//! within it) some grants belong to records that are not used, and must not be made.

use crate::ebd::Lease as FileLease;
use crate::error::{Error, Result};
use etcd_data::leases::{Lease, MAX_LEASES};
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Grants {
    /// Of the open file, ascending.
    of_file: Vec<FileLease>,
    /// Granted TTL by id. The newest file counts: an id may have been revoked and granted again.
    named: BTreeMap<i64, i64>,
    /// The last id that was looked up: PUTs on one lease come in runs.
    last: i64,
}

impl Grants {
    pub(crate) fn begin_file(&mut self, mut grants: Vec<FileLease>) {
        grants.sort_unstable();
        self.of_file = grants;
        self.last = 0;
    }

    /// A record names the lease; 0 for none.
    #[inline]
    pub(crate) fn name(&mut self, id: i64) -> Result<()> {
        if id == 0 || id == self.last {
            return Ok(());
        }
        self.last = id;
        let Ok(at) = self.of_file.binary_search_by_key(&id, |lease| lease.id) else {
            return Ok(());
        };
        let Some(lease) = self.of_file.get(at) else {
            return Ok(());
        };
        self.named.insert(id, lease.granted_ttl);
        if self.named.len() <= MAX_LEASES {
            return Ok(());
        }
        Err(Error::Unsupported(format!(
            "the deltas grant more than {MAX_LEASES} leases"
        )))
    }

    pub(crate) fn list(&self) -> Vec<Lease> {
        self.named
            .iter()
            .map(|(id, ttl)| Lease::granted(*id, *ttl))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn granted(id: i64, granted_ttl: i64) -> FileLease {
        FileLease { id, granted_ttl }
    }

    #[test]
    fn only_what_is_named_is_granted_and_the_newest_file_counts() {
        let mut grants = Grants::default();
        grants.begin_file(vec![granted(7, 60), granted(-3, 9), granted(8, 5)]);
        for id in [0, 7, 7, 99, -3] {
            grants.name(id).unwrap();
        }
        grants.begin_file(vec![granted(7, 61)]);
        assert_eq!(
            grants.list(),
            [Lease::granted(-3, 9), Lease::granted(7, 60)]
        );
        grants.name(7).unwrap();
        assert_eq!(
            grants.list(),
            [Lease::granted(-3, 9), Lease::granted(7, 61)]
        );
    }
}
