//! Walking the `key` bucket: every change that etcd still remembers, in order.

use bbolt::{Cancel, Db};

use crate::error::{Error, Result};
use crate::kv::KeyValueRef;
use crate::meta::Meta;
use crate::revision::{RecordKey, Revision};

/// The bucket's name.
pub const KEY_BUCKET: &[u8] = b"key";

/// Bytes between two looks at the cancel flag; a record counts at least [`RECORD_COST_BYTES`].
const CANCEL_POLL_BYTES: usize = 8 << 20;
const RECORD_COST_BYTES: usize = 256;

/// One record as it lies in the file.
#[derive(Debug, Clone, Copy)]
pub struct RawRecord<'a> {
    /// 17 or 18 bytes, when it is a record key at all.
    pub key: &'a [u8],
    /// A `mvccpb.KeyValue`, or nothing.
    pub value: &'a [u8],
}

impl<'a> RawRecord<'a> {
    /// The parsed key; an error when it is none.
    #[inline]
    pub fn record_key(&self) -> Result<RecordKey> {
        RecordKey::parse(self.key).ok_or_else(|| bad_record_key(self.key))
    }

    /// The decoded value; `at` only names it in the error.
    #[inline]
    pub fn key_value(&self, at: Revision) -> Result<KeyValueRef<'a>> {
        KeyValueRef::decode(self.value).map_err(|e| {
            Error::corrupt(format!(
                "key bucket: record {at}: its value is no KeyValue: {e}"
            ))
        })
    }
}

/// Calls `each` for every record whose key is at or above `from`. A database without the bucket has no records.
pub fn for_each_record(
    db: &Db,
    from: Option<Revision>,
    cancel: &Cancel,
    mut each: impl FnMut(RawRecord<'_>) -> Result<Walk>,
) -> Result<()> {
    let Some(bucket) = db.bucket(KEY_BUCKET)? else {
        return Ok(());
    };
    let mut scan = match from {
        Some(revision) => bucket.scan_from(&revision.to_key())?,
        None => bucket.scan()?,
    };
    let mut unpolled = 0usize;
    while let Some((key, value)) = scan.next()? {
        unpolled = unpolled.saturating_add(value.len().max(RECORD_COST_BYTES));
        if unpolled >= CANCEL_POLL_BYTES {
            cancel.check()?;
            unpolled = 0;
        }
        if each(RawRecord { key, value })? == Walk::Stop {
            break;
        }
    }
    Ok(())
}

/// Whether a walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Walk {
    /// To the next record.
    On,
    /// Enough seen.
    Stop,
}

/// First and last record's revision; `None` for an empty bucket.
pub fn record_range(db: &Db) -> Result<Option<(Revision, Revision)>> {
    let Some(bucket) = db.bucket(KEY_BUCKET)? else {
        return Ok(None);
    };
    let (Some((first, _)), Some((last, _))) = (bucket.first()?, bucket.last()?) else {
        return Ok(None);
    };
    let parse = |key: &[u8]| {
        RecordKey::parse(key)
            .map(|key| key.revision)
            .ok_or_else(|| bad_record_key(key))
    };
    Ok(Some((parse(&first)?, parse(&last)?)))
}

/// The store's revision: of the last record, or of a compaction beyond it, at least 1.
pub fn store_revision(db: &Db) -> Result<i64> {
    let last = record_range(db)?.map_or(1, |(_, last)| last.main);
    Ok(last.max(Meta::read(db)?.removed_up_to()).max(1))
}

fn bad_record_key(key: &[u8]) -> Error {
    let hex: String = key
        .iter()
        .take(24)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Error::corrupt(format!(
        "key bucket: {hex} ({} bytes) is not a record key",
        key.len()
    ))
}
