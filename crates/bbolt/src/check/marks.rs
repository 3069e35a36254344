//! One bit per page, set by any thread.

use std::sync::atomic::{AtomicU64, Ordering};

const WORD_BITS: u64 = 64;

pub(crate) struct Marks {
    words: Vec<AtomicU64>,
    pages: u64,
}

impl Marks {
    /// `None`: no memory for that many.
    pub fn new(pages: u64) -> Option<Self> {
        let count = usize::try_from(pages.div_ceil(WORD_BITS)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize_with(count, AtomicU64::default);
        Some(Self { words, pages })
    }

    /// Sets the bit; whether it was set before. A page beyond the end counts as set.
    #[inline]
    pub fn set(&self, page: u64) -> bool {
        let Some((word, bit)) = self.place(page) else {
            return true;
        };
        word.fetch_or(bit, Ordering::Relaxed) & bit != 0
    }

    #[inline]
    pub fn get(&self, page: u64) -> bool {
        self.place(page)
            .is_some_and(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    pub fn count(&self) -> u64 {
        let ones = self
            .words
            .iter()
            .map(|word| u64::from(word.load(Ordering::Relaxed).count_ones()));
        ones.fold(0, u64::saturating_add)
    }

    #[inline]
    fn place(&self, page: u64) -> Option<(&AtomicU64, u64)> {
        if page >= self.pages {
            return None;
        }
        let word = self.words.get(usize::try_from(page / WORD_BITS).ok()?)?;
        Some((word, 1_u64.rotate_left((page % WORD_BITS) as u32)))
    }
}
