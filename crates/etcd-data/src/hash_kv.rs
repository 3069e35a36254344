//! HashKV, as the server computes it, from a file.
//!
//! CRC32C over `"key"` and then `record key | value` of each record in bucket order with main <= R, less these:
//! - main <= C and the record is not the newest of its key at R, or that newest is a tombstone ("not kept");
//! - tombstones with main == C, which some versions remove and others keep.
//!
//! C is the compact revision of the answer that is compared with; C = -1 skips nothing. When nothing at all is kept,
//! the server hashes whatever lies physically there: then two hashes say nothing about each other (`comparable`).
//!
//! Two or more scans when C lies at or above the first record: one per range of fingerprints to find the kept records
//! (1 bit per record), one to hash. Else one scan.

use bbolt::{Cancel, Db};

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::meta::Meta;
use crate::partition::{PartitionTable, TABLE_BUDGET_BYTES, WARM_BATCH};
use crate::records::{Walk, for_each_record, record_range, store_revision};
use crate::revision::RecordKey;

/// Most records at or below the compact revision.
const MAX_COMPACTED_RECORDS: u32 = u32::MAX - 1;

/// A hash with what it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashKv {
    /// CRC32C.
    pub hash: u32,
    /// R: records above it are left out.
    pub revision: i64,
    /// C: -1 when never compacted.
    pub compact_revision: i64,
    /// `false` when no key is alive at R while records at or below C exist.
    pub comparable: bool,
}

/// The hash at `revision` under `compact_revision`; the two must come from one answer of the server, or from the file.
pub fn hash_kv(db: &Db, revision: i64, compact_revision: i64, cancel: &Cancel) -> Result<HashKv> {
    hash_kv_within(db, revision, compact_revision, TABLE_BUDGET_BYTES, cancel)
}

/// The hash of the file's own last revision under its own compact revision: what a manifest states.
pub fn hash_kv_latest(db: &Db, cancel: &Cancel) -> Result<HashKv> {
    let meta = Meta::read(db)?;
    hash_kv(db, store_revision(db)?, meta.compact_revision(), cancel)
}

/// The same with a given bound on the table's memory.
pub fn hash_kv_within(
    db: &Db,
    revision: i64,
    compact_revision: i64,
    budget_bytes: usize,
    cancel: &Cancel,
) -> Result<HashKv> {
    if revision < compact_revision {
        return Err(Error::Compacted {
            what: format!("HashKV at revision {revision}: compacted at {compact_revision}"),
        });
    }
    let question = Question {
        revision,
        compact_revision,
    };
    let first = record_range(db)?.map_or(i64::MAX, |(first, _)| first.main);
    let kept = match first <= compact_revision.min(revision) {
        true => Kept::find(db, question, budget_bytes, cancel)?,
        false => Kept {
            bits: Vec::new(),
            any_alive: true,
        },
    };
    let hash = hash_records(db, question, &kept, cancel)?;
    Ok(HashKv {
        hash,
        revision,
        compact_revision,
        comparable: kept.any_alive,
    })
}

#[derive(Clone, Copy)]
struct Question {
    revision: i64,
    compact_revision: i64,
}

/// Which of the records at or below the compact revision are hashed.
struct Kept {
    /// One bit per such record, in bucket order.
    bits: Vec<u64>,
    /// Whether any key is alive at R, wherever its newest record lies.
    any_alive: bool,
}

/// Newest record of a key: its place among the records at or below C.
type Newest = u32;
/// Stands for a tombstone, or for a record above C that nobody needs to find again.
const NOT_KEPT: Newest = u32::MAX;

impl Kept {
    fn find(db: &Db, question: Question, budget_bytes: usize, cancel: &Cancel) -> Result<Self> {
        let mut kept = Kept {
            bits: Vec::new(),
            any_alive: false,
        };
        let mut table = PartitionTable::<Newest>::new(budget_bytes);
        loop {
            let last_alive = kept.scan(db, question, &mut table, cancel)?;
            kept.any_alive |= last_alive;
            for place in table.payloads() {
                kept.set(*place);
            }
            if !table.next_range() {
                break;
            }
        }
        if !kept.any_alive {
            kept.any_alive = any_alive_above(db, question, budget_bytes, cancel)?;
        }
        Ok(kept)
    }

    /// One range of keys. Says whether the very last record is a put: then its key is alive.
    fn scan(
        &mut self,
        db: &Db,
        question: Question,
        table: &mut PartitionTable<Newest>,
        cancel: &Cancel,
    ) -> Result<bool> {
        let (mut place, mut last_alive): (Newest, bool) = (0, false);
        let mut batch = Vec::with_capacity(WARM_BATCH);
        for_each_record(db, None, cancel, |record| {
            let RecordKey {
                revision,
                tombstone,
            } = record.record_key()?;
            if revision.main > question.revision {
                return Ok(Walk::Stop);
            }
            last_alive = !tombstone;
            let compacted = revision.main <= question.compact_revision;
            let here = if compacted && !tombstone {
                place
            } else {
                NOT_KEPT
            };
            if let Some(print) = table.fingerprint(record.key_value(revision)?.key) {
                batch.push((print, here));
                if batch.len() >= WARM_BATCH {
                    remember(table, &mut batch);
                }
            }
            if compacted {
                place = next_place(place)?;
            }
            Ok(Walk::On)
        })?;
        remember(table, &mut batch);
        Ok(last_alive)
    }

    fn set(&mut self, place: Newest) {
        if place == NOT_KEPT {
            return;
        }
        self.any_alive = true;
        let word = place as usize / 64;
        if word >= self.bits.len() {
            self.bits.resize(word.saturating_add(1), 0);
        }
        if let Some(bits) = self.bits.get_mut(word) {
            *bits |= 1 << (place % 64);
        }
    }

    fn contains(&self, place: Newest) -> bool {
        self.bits
            .get(place as usize / 64)
            .is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }
}

/// Enters a batch of keys' records, in their order.
fn remember(table: &mut PartitionTable<Newest>, batch: &mut Vec<(Fingerprint, Newest)>) {
    table.warm(batch.iter().map(|(print, _)| *print));
    for (print, here) in batch.drain(..) {
        match table.get_mut(print) {
            Some(newest) => *newest = here,
            None if here != NOT_KEPT => table.insert(print, here),
            None => {}
        }
    }
}

/// The rare case that nothing at or below C is kept and the last record is a tombstone: is any key above C alive?
fn any_alive_above(
    db: &Db,
    question: Question,
    budget_bytes: usize,
    cancel: &Cancel,
) -> Result<bool> {
    let mut table = PartitionTable::<bool>::new(budget_bytes);
    loop {
        for_each_record(db, None, cancel, |record| {
            let RecordKey {
                revision,
                tombstone,
            } = record.record_key()?;
            if revision.main > question.revision {
                return Ok(Walk::Stop);
            }
            if let Some(print) = table.fingerprint(record.key_value(revision)?.key) {
                if tombstone {
                    table.remove(print);
                } else {
                    table.insert(print, true);
                }
            }
            Ok(Walk::On)
        })?;
        if table.payloads().any(|alive| *alive) {
            return Ok(true);
        }
        if !table.next_range() {
            return Ok(false);
        }
    }
}

fn hash_records(db: &Db, question: Question, kept: &Kept, cancel: &Cancel) -> Result<u32> {
    let mut crc = crc32c::crc32c(crate::records::KEY_BUCKET);
    let mut place: Newest = 0;
    for_each_record(db, None, cancel, |record| {
        let RecordKey {
            revision,
            tombstone,
        } = record.record_key()?;
        if revision.main > question.revision {
            return Ok(Walk::Stop);
        }
        let mut skipped = tombstone && revision.main == question.compact_revision;
        if revision.main <= question.compact_revision {
            skipped |= kept.any_alive && !kept.contains(place);
            place = next_place(place)?;
        }
        if !skipped {
            crc = crc32c::crc32c_append(crc, record.key);
            crc = crc32c::crc32c_append(crc, record.value);
        }
        Ok(Walk::On)
    })?;
    Ok(crc)
}

fn next_place(place: Newest) -> Result<Newest> {
    let next = place
        .checked_add(1)
        .filter(|next| *next <= MAX_COMPACTED_RECORDS);
    next.ok_or_else(|| Error::Unsupported {
        what: format!(
            "HashKV: more than {MAX_COMPACTED_RECORDS} records at or below the compact revision"
        ),
    })
}
