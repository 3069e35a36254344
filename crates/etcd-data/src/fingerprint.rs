//! Stand-ins for user keys: 95 bits of a hash under random seeds.
//!
//! Ten million keys collide with a chance of 10^-15, and nobody can prepare a collision without the seeds, which last
//! as long as one check. The hash folds 16 bytes at a time by two 64 x 64 bit multiplications in two lanes.

use std::hash::{BuildHasher, RandomState};

/// A key's stand-in. `high` says to which range of keys it belongs, `low` where its slot is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint {
    pub(crate) high: u64,
    /// Lowest bit always set: 0 marks an empty slot.
    pub(crate) low: u32,
}

impl Fingerprint {
    /// 64 of its bits, for who needs a second hash of a key under other seeds.
    #[must_use]
    pub fn high(self) -> u64 {
        self.high
    }
}

/// The seeds.
#[derive(Debug, Clone, Copy)]
pub struct Fingerprinter {
    seeds: [u64; 4],
}

impl Fingerprinter {
    /// New seeds from the standard library's source of randomness.
    #[must_use]
    pub fn new() -> Self {
        let random = RandomState::new();
        Fingerprinter {
            seeds: [0u64, 1, 2, 3].map(|lane| random.hash_one(lane) | 1),
        }
    }

    /// The key's fingerprint.
    #[inline]
    #[must_use]
    pub fn of(&self, key: &[u8]) -> Fingerprint {
        let [s0, s1, s2, s3] = self.seeds;
        let (mut a, mut b) = (s0 ^ key.len() as u64, s2);
        let (chunks, tail) = key.as_chunks::<16>();
        for chunk in chunks {
            let (x, y) = halves(chunk);
            (a, b) = (fold(a ^ x, s1 ^ y), fold(b ^ y, s3 ^ x));
        }
        let mut last = [0; 16];
        last.iter_mut().zip(tail).for_each(|(to, from)| *to = *from);
        let (x, y) = halves(&last);
        (a, b) = (fold(a ^ x, s1 ^ y), fold(b ^ y, s3 ^ x));
        let (high, low) = (
            fold(a ^ s3, s0 ^ b.rotate_left(32)),
            fold(b ^ s1, s2 ^ a.rotate_left(32)),
        );
        Fingerprint {
            high,
            low: (low >> 32) as u32 | 1,
        }
    }
}

impl Default for Fingerprinter {
    fn default() -> Self {
        Fingerprinter::new()
    }
}

#[inline]
fn halves(chunk: &[u8; 16]) -> (u64, u64) {
    let both = u128::from_le_bytes(*chunk);
    (both as u64, (both >> 64) as u64)
}

#[inline]
fn fold(x: u64, y: u64) -> u64 {
    let product = u128::from(x).wrapping_mul(u128::from(y));
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Keys that differ in little, as keys do: both parts must spread as random numbers would.
    #[test]
    fn similar_keys_spread() {
        let hasher = Fingerprinter::new();
        let prints: Vec<Fingerprint> = (0..200_000u32)
            .map(|i| hasher.of(format!("/registry/pods/ns-{}/pod-{i:06}", i % 7).as_bytes()))
            .collect();
        let distinct = |of: &dyn Fn(&Fingerprint) -> u64| {
            prints.iter().map(of).collect::<HashSet<u64>>().len()
        };
        assert_eq!(distinct(&|print| print.high), prints.len());
        // 2 * 10^10 pairs over 2^31 values: about 9 of them meet.
        assert!(distinct(&|print| u64::from(print.low)) > prints.len() - 40);
        let mut by_range = [0u32; 16];
        prints
            .iter()
            .for_each(|print| by_range[(print.high >> 60) as usize] += 1);
        assert!(
            by_range.iter().all(|count| count.abs_diff(12_500) < 700),
            "{by_range:?}"
        );
    }

    #[test]
    fn length_and_place_of_zeros_count() {
        let hasher = Fingerprinter::new();
        let keys: [&[u8]; 6] = [b"", b"\0", b"\0\0", &[0; 16], &[0; 17], &[0; 32]];
        let distinct: HashSet<u64> = keys.iter().map(|key| hasher.of(key).high).collect();
        assert_eq!(distinct.len(), keys.len());
    }
}
