//! The newest record of every key, with memory that has a bound.

use crate::{Error, Result};
use etcd_data::fingerprint::{Fingerprint, Fingerprinter};
use etcd_data::partition::{PartitionTable, WARM_BATCH};

/// Lowest bit of [`Newest::check`]: the record stays, but its key is not alive: a tombstone, or the one without a key that
/// `--bump-revision` leaves.
const NOT_ALIVE: u32 = 1;

/// What is remembered of a key, in 12 bytes.
#[derive(Clone, Copy, Default)]
struct Newest {
    /// 63 bits of a second hash, so that no two keys are taken for one; and [`NOT_ALIVE`].
    check: [u32; 2],
    place: u32,
}

/// A record that waits for its turn: table slots are fetched in batches.
struct Seen {
    print: Fingerprint,
    newest: Newest,
    /// A tombstone that does not stay: the key is forgotten.
    gone: bool,
}

pub(super) struct NewestByKey {
    table: PartitionTable<Newest>,
    second: Fingerprinter,
    batch: Vec<Seen>,
}

impl NewestByKey {
    pub fn new(table_bytes: usize) -> Self {
        Self {
            table: PartitionTable::new(table_bytes),
            second: Fingerprinter::new(),
            batch: Vec::with_capacity(WARM_BATCH),
        }
    }

    /// Takes the next record of a key; `stays` says what becomes of a tombstone.
    #[inline]
    pub fn see(&mut self, key: &[u8], place: u32, tombstone: bool, stays: bool) -> Result<()> {
        let Some(print) = self.table.fingerprint(key) else {
            return Ok(());
        };
        let second = self.second.of(key).high();
        let [high, low] = [(second >> 32) as u32, second as u32];
        let mark = if tombstone || key.is_empty() {
            NOT_ALIVE
        } else {
            0
        };
        self.batch.push(Seen {
            print,
            newest: Newest {
                check: [high, low & !NOT_ALIVE | mark],
                place,
            },
            gone: tombstone && !stays,
        });
        if self.batch.len() < WARM_BATCH {
            return Ok(());
        }
        self.flush()
    }

    /// Places of the newest records of all covered keys, and how many of these keys are not alive.
    pub fn take_places(&mut self) -> Result<(Vec<u32>, u64)> {
        self.flush()?;
        let mut places = Vec::new();
        places.reserve_exact(self.table.payloads().count());
        let mut not_alive = 0u64;
        for newest in self.table.payloads() {
            places.push(newest.place);
            not_alive = not_alive.saturating_add(u64::from(newest.check[1] & NOT_ALIVE));
        }
        Ok((places, not_alive))
    }

    /// On to keys that no scan has covered; `false` when there are none.
    pub fn next_range(&mut self) -> bool {
        self.table.next_range()
    }

    fn flush(&mut self) -> Result<()> {
        let Self { table, batch, .. } = self;
        table.warm(batch.iter().map(|seen| seen.print));
        for seen in batch.drain(..) {
            enter(table, &seen)?;
        }
        Ok(())
    }
}

fn enter(table: &mut PartitionTable<Newest>, seen: &Seen) -> Result<()> {
    // The batch before may have given this key up.
    if !table.covers(seen.print) {
        return Ok(());
    }
    match table.get_mut(seen.print) {
        Some(known) if !known.is_of_the_key_of(&seen.newest) => return Err(collision()),
        Some(known) if !seen.gone => *known = seen.newest,
        Some(_) => table.remove(seen.print),
        None if !seen.gone => table.insert(seen.print, seen.newest),
        None => {}
    }
    Ok(())
}

impl Newest {
    fn is_of_the_key_of(&self, other: &Self) -> bool {
        let hash = |[high, low]: [u32; 2]| (high, low & !NOT_ALIVE);
        hash(self.check) == hash(other.check)
    }
}

#[cold]
fn collision() -> Error {
    Error::Unsupported(
        "compaction: two keys have one fingerprint of 95 bits; try again, it is made with new random numbers each time"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn seen(table: &PartitionTable<Newest>, check: [u32; 2], place: u32) -> Seen {
        Seen {
            print: table.fingerprint(b"key").unwrap(),
            newest: Newest { check, place },
            gone: false,
        }
    }

    #[test]
    fn keys_that_share_a_fingerprint_are_never_taken_for_one() {
        let mut table = PartitionTable::new(1 << 20);
        let first = seen(&table, [7, 8], 1);
        enter(&mut table, &first).unwrap();
        for other in [[7, 10], [6, 8]] {
            for gone in [false, true] {
                let second = Seen {
                    gone,
                    ..seen(&table, other, 2)
                };
                assert_eq!(
                    enter(&mut table, &second).unwrap_err().code(),
                    "UNSUPPORTED"
                );
            }
        }
        let tombstone = seen(&table, [7, 8 | NOT_ALIVE], 3);
        enter(&mut table, &tombstone).unwrap();
        assert_eq!(
            table
                .payloads()
                .map(|newest| newest.place)
                .collect::<Vec<_>>(),
            [3]
        );
    }

    #[test]
    fn the_last_record_of_a_key_counts() {
        let mut keys = NewestByKey::new(1 << 20);
        for (key, place, tombstone, stays) in [
            ("a", 0, false, false),
            ("b", 1, false, false),
            ("a", 2, false, false),
            ("b", 3, true, false),
            ("c", 4, false, true),
            ("c", 5, true, true),
            ("", 6, false, true),
        ] {
            keys.see(key.as_bytes(), place, tombstone, stays).unwrap();
        }
        let (mut places, not_alive) = keys.take_places().unwrap();
        places.sort_unstable();
        assert_eq!((places, not_alive), (vec![2, 5, 6], 2));
    }
}
