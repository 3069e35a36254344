//! A table over user keys whose memory has a bound, whatever the number of keys.
//!
//! When the table reaches its bound it gives up the upper quarter of the range of fingerprints that it covers; the caller
//! scans again for the next range until [`PartitionTable::next_range`] says that all were covered. Small databases need
//! one scan.

use crate::fingerprint::{Fingerprint, Fingerprinter};

/// Bytes that one table may take: 1.4 million keys per scan at 16 bytes, 0.9 million at 24.
pub const TABLE_BUDGET_BYTES: usize = 32 << 20;
/// Records that callers gather before they [`PartitionTable::warm`] and then handle them.
pub const WARM_BATCH: usize = 64;
const FIRST_SLOTS: usize = 64;
/// A table that is full at an eighth of its bound grows to the bound; while it moves, both exist.
const GROWTH: usize = 8;
/// Filled at most to 3/4, so that probing stays short.
const LOAD_NUMERATOR: usize = 3;
const LOAD_DENOMINATOR: usize = 4;

/// Open addressing with linear probing; `P` is what is remembered per key.
pub struct PartitionTable<P> {
    slots: Vec<Slot<P>>,
    used: usize,
    max_slots: usize,
    /// Covered range of `Fingerprint::high`, inclusive.
    range: (u64, u64),
    hasher: Fingerprinter,
}

#[derive(Clone, Copy)]
struct Slot<P> {
    high: u64,
    low: u32,
    payload: P,
}

impl<P: Copy + Default> PartitionTable<P> {
    /// A table of at most `budget_bytes`, covering all keys for now.
    #[must_use]
    pub fn new(budget_bytes: usize) -> Self {
        let fitting = budget_bytes / size_of::<Slot<P>>();
        // Slots are found by 32 bits.
        let max_slots =
            (fitting.saturating_mul(GROWTH) / (GROWTH + 1)).clamp(FIRST_SLOTS, u32::MAX as usize);
        PartitionTable {
            slots: empty(FIRST_SLOTS),
            used: 0,
            max_slots,
            range: (0, u64::MAX),
            hasher: Fingerprinter::new(),
        }
    }

    /// The key's fingerprint, or `None` when this scan does not cover the key.
    #[inline]
    pub fn fingerprint(&self, key: &[u8]) -> Option<Fingerprint> {
        let print = self.hasher.of(key);
        self.covers(print).then_some(print)
    }

    /// Whether the scan still covers the key: an insertion may have given it up since its fingerprint was taken.
    #[inline]
    pub fn covers(&self, print: Fingerprint) -> bool {
        print.high >= self.range.0 && print.high <= self.range.1
    }

    /// Looks at the slots of keys that are about to be asked for. These reads do not wait for each other, so the memory
    /// of a large table is fetched for all of them in the time of a few.
    #[inline]
    pub fn warm(&self, prints: impl Iterator<Item = Fingerprint>) {
        let slots = self.slots.len();
        let touched = prints.map(|print| {
            self.slots
                .get(home(print.low, slots))
                .map_or(0, |slot| slot.low)
        });
        std::hint::black_box(touched.fold(0, |all, low| all ^ low));
    }

    /// What is remembered about the key.
    #[inline]
    pub fn get_mut(&mut self, print: Fingerprint) -> Option<&mut P> {
        let at = self.find(print);
        self.slots
            .get_mut(at)
            .filter(|slot| slot.low != 0)
            .map(|slot| &mut slot.payload)
    }

    /// Remembers `payload` for the key. May give up keys at the upper end of the range, this one included.
    pub fn insert(&mut self, print: Fingerprint, payload: P) {
        while self.is_full() {
            if self.slots.len() < self.max_slots {
                self.grow()
            } else {
                self.shrink_range()
            }
        }
        if print.high > self.range.1 {
            return;
        }
        let at = self.find(print);
        if let Some(slot) = self.slots.get_mut(at) {
            self.used = self.used.saturating_add(usize::from(slot.low == 0));
            *slot = Slot {
                high: print.high,
                low: print.low,
                payload,
            };
        }
    }

    /// Forgets a key.
    pub fn remove(&mut self, print: Fingerprint) {
        let at = self.find(print);
        if self.slots.get(at).is_some_and(|slot| slot.low != 0) {
            self.remove_at(at);
        }
    }

    /// Everything remembered about covered keys.
    pub fn payloads(&self) -> impl Iterator<Item = &P> {
        self.slots
            .iter()
            .filter(|slot| slot.low != 0)
            .map(|slot| &slot.payload)
    }

    /// Empties the table and moves on to keys that no scan has covered. `false` when there are none.
    pub fn next_range(&mut self) -> bool {
        let (low, high) = self.range;
        let Some(next) = high.checked_add(1) else {
            return false;
        };
        self.range = (next, next.saturating_add(high.saturating_sub(low)));
        self.slots.fill(Slot {
            high: 0,
            low: 0,
            payload: P::default(),
        });
        self.used = 0;
        true
    }

    fn is_full(&self) -> bool {
        let used = self.used.saturating_add(1).saturating_mul(LOAD_DENOMINATOR);
        used > self.slots.len().saturating_mul(LOAD_NUMERATOR)
    }

    #[inline]
    fn find(&self, print: Fingerprint) -> usize {
        let mut at = home(print.low, self.slots.len());
        while let Some(slot) = self.slots.get(at) {
            if slot.low == 0 || (slot.high == print.high && slot.low == print.low) {
                break;
            }
            at = after(at, self.slots.len());
        }
        at
    }

    fn grow(&mut self) {
        let wanted = self.slots.len().saturating_mul(GROWTH);
        let wanted = if wanted.saturating_mul(GROWTH) > self.max_slots {
            self.max_slots
        } else {
            wanted
        };
        let old = std::mem::replace(&mut self.slots, empty(wanted));
        for slot in old.into_iter().filter(|slot| slot.low != 0) {
            let at = self.find(Fingerprint {
                high: slot.high,
                low: slot.low,
            });
            if let Some(free) = self.slots.get_mut(at) {
                *free = slot;
            }
        }
    }

    fn shrink_range(&mut self) {
        let (low, high) = self.range;
        let high = high.saturating_sub(high.saturating_sub(low) / 4).max(low);
        self.range = (low, high);
        let mut at = 0;
        while let Some(slot) = self.slots.get(at) {
            if slot.low != 0 && slot.high > high {
                // Pulls a later slot of the run to this place: look here again.
                self.remove_at(at);
            } else {
                at = at.wrapping_add(1);
            }
        }
    }

    /// Removal by shifting back, so that no marks of removed slots lengthen the probing.
    fn remove_at(&mut self, mut hole: usize) {
        let slots = self.slots.len();
        let mut at = hole;
        loop {
            at = after(at, slots);
            let Some(slot) = self.slots.get(at).copied().filter(|slot| slot.low != 0) else {
                break;
            };
            if distance(home(slot.low, slots), at, slots) >= distance(hole, at, slots) {
                if let Some(free) = self.slots.get_mut(hole) {
                    *free = slot;
                }
                hole = at;
            }
        }
        if let Some(slot) = self.slots.get_mut(hole) {
            slot.low = 0;
        }
        self.used = self.used.saturating_sub(1);
    }
}

fn empty<P: Copy + Default>(slots: usize) -> Vec<Slot<P>> {
    vec![
        Slot {
            high: 0,
            low: 0,
            payload: P::default()
        };
        slots
    ]
}

/// Spreads 32 bits over any number of slots without a division.
#[inline]
fn home(low: u32, slots: usize) -> usize {
    (u64::from(low).wrapping_mul(slots as u64) >> 32) as usize
}

#[inline]
fn after(at: usize, slots: usize) -> usize {
    let next = at.wrapping_add(1);
    if next >= slots { 0 } else { next }
}

/// Steps from one slot on to another, around the end.
fn distance(from: usize, to: usize, slots: usize) -> usize {
    if to >= from {
        to.wrapping_sub(from)
    } else {
        to.wrapping_add(slots).wrapping_sub(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// A tiny budget forces many ranges; their sum must be what a plain map says.
        #[test]
        fn all_ranges_together_equal_a_plain_map(
            steps in proptest::collection::vec((0u32..5000, any::<bool>()), 0..12_000),
        ) {
            let mut model = HashMap::new();
            for (at, (key, put)) in steps.iter().enumerate() {
                if *put { model.insert(*key, at as u32); } else { model.remove(key); }
            }
            let mut table = PartitionTable::<u32>::new(18 << 10);
            let (mut seen, mut scans) = (Vec::new(), 0);
            loop {
                scans += 1;
                for (at, (key, put)) in steps.iter().enumerate() {
                    let Some(print) = table.fingerprint(&key.to_le_bytes()) else { continue };
                    match (table.get_mut(print), put) {
                        (Some(known), true) => *known = at as u32,
                        (None, true) => table.insert(print, at as u32),
                        (_, false) => table.remove(print),
                    }
                }
                seen.extend(table.payloads().copied());
                if !table.next_range() { break; }
            }
            prop_assert!(scans < 64);
            seen.sort_unstable();
            let mut expected: Vec<u32> = model.into_values().collect();
            expected.sort_unstable();
            prop_assert_eq!(seen, expected);
        }
    }

    #[test]
    fn memory_stays_below_the_budget() {
        let mut table = PartitionTable::<u32>::new(1 << 20);
        for key in 0..1_000_000u32 {
            if let Some(print) = table.fingerprint(&key.to_le_bytes()) {
                table.insert(print, key);
            }
        }
        assert!(table.slots.capacity() * size_of::<Slot<u32>>() * 9 / 8 <= 1 << 20);
        assert!(table.used > 30_000, "{} keys", table.used);
    }
}
