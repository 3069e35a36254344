//! Arrival marks: when the events of a block came, one mark per watch response.
//!
//! `(event index varint | zigzag milliseconds varint)*`, each as the difference to the mark before; the first stands at
//! index 0 and counts from the block's first time.

use crate::error::{Error, Result};
use crate::wire::{in_message, put_varint, take_varint, unzigzag, zigzag};

/// From the event of this index on, events arrived at this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) index: u32,
    pub(crate) arrived_ms: i64,
}

/// Follows the marks while events go by.
#[derive(Debug, Clone)]
pub(crate) struct Clock<'a> {
    rest: &'a [u8],
    /// Index of the last mark read.
    at: u32,
    arrived_ms: i64,
    /// The mark that is still ahead.
    next: Option<Mark>,
    begun: bool,
}

impl<'a> Clock<'a> {
    /// Starts before the first event of a block.
    pub(crate) fn new(marks: &'a [u8], first_time_ms: i64) -> Self {
        Self {
            rest: marks,
            at: 0,
            arrived_ms: first_time_ms,
            next: None,
            begun: false,
        }
    }

    /// When the event of this index arrived; indexes must ascend by one.
    #[inline]
    pub(crate) fn time_of(&mut self, index: u32) -> Result<i64> {
        if !self.begun {
            self.begun = true;
            self.advance()?;
            if self.next.is_none_or(|mark| mark.index != 0) {
                return Err(Error::corrupt(
                    ".ebd block: its first event has no arrival mark",
                ));
            }
        }
        if let Some(mark) = self.next
            && mark.index == index
        {
            self.arrived_ms = mark.arrived_ms;
            self.at = index;
            self.advance()?;
            if self.next.is_some_and(|next| next.index == index) {
                return Err(Error::corrupt(format!(
                    ".ebd block: event {index} has two arrival marks"
                )));
            }
        }
        Ok(self.arrived_ms)
    }

    fn advance(&mut self) -> Result<()> {
        self.next = None;
        if self.rest.is_empty() {
            return Ok(());
        }
        let index = take_varint(&mut self.rest).map_err(in_message("arrival mark"))?;
        let delta_ms = unzigzag(take_varint(&mut self.rest).map_err(in_message("arrival mark"))?);
        let index = u32::try_from(index)
            .ok()
            .and_then(|index| self.at.checked_add(index));
        let index =
            index.ok_or_else(|| Error::corrupt("arrival mark: its event index is out of range"))?;
        self.next = Some(Mark {
            index,
            arrived_ms: self.arrived_ms.wrapping_add(delta_ms),
        });
        Ok(())
    }

    /// Behind the last event: nothing may be left, and the time must be the one that the head states.
    pub(crate) fn end(&self, last_time_ms: i64) -> Result<()> {
        if self.next.is_some() || !self.rest.is_empty() {
            return Err(Error::corrupt(
                ".ebd block: an arrival mark stands behind its last event",
            ));
        }
        if self.arrived_ms != last_time_ms {
            return Err(Error::corrupt(format!(
                ".ebd block: its last event arrived at {}, its head says {last_time_ms}",
                self.arrived_ms
            )));
        }
        Ok(())
    }
}

/// Appends the marks of a block whose first event arrived at the first mark's time.
pub(crate) fn put_marks(out: &mut Vec<u8>, marks: &[Mark]) {
    let mut before = Mark {
        index: 0,
        arrived_ms: marks.first().map_or(0, |mark| mark.arrived_ms),
    };
    for mark in marks {
        put_varint(out, u64::from(mark.index.saturating_sub(before.index)));
        put_varint(out, zigzag(mark.arrived_ms.wrapping_sub(before.arrived_ms)));
        before = *mark;
    }
}
