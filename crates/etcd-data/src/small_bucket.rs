//! Whole buckets in memory: those of a cluster's schema, which hold a handful of records.

use std::collections::BTreeMap;

use bbolt::{Appender, Db};

use crate::error::{Error, Result};

/// A small bucket's records, in order.
pub(crate) type SmallBucket = BTreeMap<Vec<u8>, Vec<u8>>;

/// Far above any schema bucket of a working cluster.
const MAX_SMALL_BUCKET_BYTES: usize = 64 << 20;

/// All records; empty when the bucket is absent.
pub(crate) fn read_small(db: &Db, name: &[u8]) -> Result<SmallBucket> {
    let mut records = SmallBucket::new();
    let Some(bucket) = db.bucket(name)? else {
        return Ok(records);
    };
    let mut scan = bucket.scan()?;
    let mut bytes = 0usize;
    while let Some((key, value)) = scan.next()? {
        bytes = bytes.saturating_add(key.len()).saturating_add(value.len());
        if bytes > MAX_SMALL_BUCKET_BYTES {
            return Err(Error::corrupt(format!(
                "bucket {}: more than {MAX_SMALL_BUCKET_BYTES} bytes",
                String::from_utf8_lossy(name)
            )));
        }
        records.insert(key.to_vec(), value.to_vec());
    }
    Ok(records)
}

/// Gives the bucket these records and no others.
pub(crate) fn write_small(
    appender: &mut Appender,
    name: &[u8],
    records: &SmallBucket,
) -> Result<()> {
    appender.replace_bucket(name, |out| {
        for (key, value) in records {
            out.put(key, value)?;
        }
        Ok(())
    })
}
