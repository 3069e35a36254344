//! The `lease` bucket rewritten in one pass: a base's leases, changed or not, with others among them.

use bbolt::{Appender, Db};

use crate::error::Result;
use crate::leases::{LEASE_BUCKET, Lease, for_each_lease};

/// Adds those of `extra` whose ids `base`, the file before the transaction, lacks. Without any the bucket stays as it is.
pub fn add_leases(appender: &mut Appender, base: &Db, extra: &[Lease]) -> Result<()> {
    if extra.is_empty() {
        return Ok(());
    }
    write_leases(appender, base, extra, |lease| lease)
}

/// Writes every lease of `base` through `change`, and those of `extra` whose ids the base lacks.
pub(crate) fn write_leases(
    appender: &mut Appender,
    base: &Db,
    extra: &[Lease],
    change: impl Fn(Lease) -> Lease,
) -> Result<()> {
    let mut extra = extra.to_vec();
    extra.sort_unstable_by_key(Lease::key);
    extra.dedup_by_key(|lease| lease.id);
    let mut extra = extra.into_iter().filter(|lease| lease.id != 0).peekable();
    appender.replace_bucket(LEASE_BUCKET, |out| {
        for_each_lease(base, &mut |lease| {
            while let Some(before) = extra.next_if(|other| other.key() < lease.key()) {
                out.put(&before.key(), &before.encode())?;
            }
            // The base knows the lease exactly; a second record would be a duplicate key.
            extra.next_if(|other| other.id == lease.id);
            Ok(out.put(&lease.key(), &change(lease).encode())?)
        })?;
        extra.try_for_each(|lease| Ok(out.put(&lease.key(), &lease.encode())?))
    })
}
