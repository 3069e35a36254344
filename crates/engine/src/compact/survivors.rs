//! The first pass: which records at or below the compact revision survive, as places in bucket order.

use super::Compaction;
use super::newest::NewestByKey;
use crate::source::OpenSource;
use crate::{Error, Result};
use bbolt::Cancel;
use std::path::Path;

/// Most records at or below the compact revision.
const MAX_PLACES: u64 = u32::MAX as u64;
/// Records between two reports of progress.
const PROGRESS_RECORDS: u64 = 4096;

/// What the first pass has found.
#[derive(Default)]
pub(crate) struct Survivors {
    /// Survivors at or below C, ascending.
    pub places: Vec<u32>,
    /// First place above C: from there on everything stays.
    pub above: u64,
    /// Survivors at or below C that are values of keys.
    pub live_keys: u64,
    /// Reads of the whole source, and the records of all of them.
    pub scans: u32,
    pub records_read: u64,
}

/// Reads the source once for each range of keys that fits into the table.
pub(crate) fn find<P: AsRef<Path>>(
    source: &OpenSource<'_, P>,
    compaction: &Compaction,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<Survivors> {
    let mut keys = NewestByKey::new(compaction.table_bytes);
    let mut found = Survivors {
        places: Vec::new(),
        above: 0,
        live_keys: 0,
        scans: 0,
        records_read: 0,
    };
    loop {
        let end = scan(source, compaction, &mut keys, &mut found, cancel, progress)?;
        check_reached(compaction.at, end)?;
        found.scans = found.scans.saturating_add(1);
        let (places, not_alive) = keys.take_places()?;
        found.live_keys = found
            .live_keys
            .saturating_add(places.len() as u64)
            .saturating_sub(not_alive);
        found.places.reserve_exact(places.len());
        found.places.extend(places);
        if !keys.next_range() {
            found.places.sort_unstable();
            return Ok(found);
        }
    }
}

/// Returns the revision that the source ends with.
fn scan<P: AsRef<Path>>(
    source: &OpenSource<'_, P>,
    compaction: &Compaction,
    keys: &mut NewestByKey,
    found: &mut Survivors,
    cancel: &Cancel,
    progress: &dyn Fn(u64),
) -> Result<i64> {
    let mut place = 0u64;
    let mut read = found.records_read;
    let end = source.for_each(cancel, |key, record| {
        read = read.saturating_add(1);
        if read.is_multiple_of(PROGRESS_RECORDS) {
            progress(read);
        }
        let main = key.revision.main;
        if main > compaction.at {
            return Ok(());
        }
        let user_key = record.key_value(key.revision)?.key;
        let stays = main == compaction.at && compaction.keeps_tombstones_at;
        keys.see(user_key, narrow(place)?, key.tombstone, stays)?;
        place = place.saturating_add(1);
        Ok(())
    })?;
    found.above = place;
    found.records_read = read;
    Ok(end.revision)
}

fn check_reached(at: i64, end: i64) -> Result<()> {
    if at <= end {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "compaction at revision {at}: base and deltas end at {end}"
    )))
}

fn narrow(place: u64) -> Result<u32> {
    u32::try_from(place).map_err(|_| {
        Error::Unsupported(format!(
            "compaction: more than {MAX_PLACES} records at or below the compact revision"
        ))
    })
}
