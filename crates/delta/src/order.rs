//! The order that every delta must have: main revisions consecutive, sub-revisions counted from 0 within each.

use crate::error::{Error, Result};

/// Follows the events of one delta from its first.
#[derive(Debug, Clone, Default)]
pub(crate) struct MainOrder {
    /// The next new main; `None` before the first event when any start is accepted.
    next_main: Option<i64>,
    /// Main and sub-revision of the last event.
    last: Option<(i64, u64)>,
}

impl MainOrder {
    /// The first event must be of revision `start`.
    pub(crate) fn starting_at(start: i64) -> Self {
        Self {
            next_main: Some(start),
            last: None,
        }
    }

    /// The first event may be of any revision.
    pub(crate) fn anywhere() -> Self {
        Self::default()
    }

    /// The first event must be of revision `main` and has sub-revision `sub`: for a block decoded alone.
    pub(crate) fn inside(main: i64, sub: u64) -> Self {
        let last = sub.checked_sub(1).map(|before| (main, before));
        let next_main = if last.is_some() {
            main.saturating_add(1)
        } else {
            main
        };
        Self {
            next_main: Some(next_main),
            last,
        }
    }

    /// Takes the next event's main revision; its sub-revision.
    #[inline]
    pub(crate) fn step(&mut self, main: i64) -> Result<u64> {
        let sub = match self.last {
            Some((last, sub)) if last == main => sub.saturating_add(1),
            _ if self.next_main.is_none_or(|next| next == main) => {
                self.next_main = Some(main.saturating_add(1));
                0
            }
            _ => return Err(self.refusal(main)),
        };
        self.last = Some((main, sub));
        Ok(sub)
    }

    /// Sub-revision of the last event; 0 when there is none.
    pub(crate) fn last_sub(&self) -> u64 {
        self.last.map_or(0, |(_, sub)| sub)
    }

    /// Main of the last event.
    pub(crate) fn main(&self) -> Option<i64> {
        self.last.map(|(main, _)| main)
    }

    /// The main that a new revision must have; `None` before the first event when any start is accepted.
    pub(crate) fn next_main(&self) -> Option<i64> {
        self.next_main
    }

    #[cold]
    fn refusal(&self, main: i64) -> Error {
        let next = self.next_main.unwrap_or(main);
        let before = match self.main() {
            Some(last) => format!("it follows an event of revision {last}"),
            None => format!("the first revision must be {next}"),
        };
        if main < next {
            return Error::NotSorted(format!(
                "an event of revision {main} is out of order: {before}"
            ));
        }
        let what = format!("the next event is of revision {main}, {before}");
        Error::RevisionGap {
            first_missing: next,
            last_missing: main.saturating_sub(1),
            what,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subs_count_within_a_main_and_mains_are_consecutive() {
        let mut order = MainOrder::anywhere();
        let subs: Vec<u64> = [7, 7, 7, 8, 9, 9]
            .iter()
            .map(|&main| order.step(main).unwrap())
            .collect();
        assert_eq!(subs, [0, 1, 2, 0, 0, 1]);
        assert_eq!(order.step(8).unwrap_err().code(), "NOT_SORTED");
        match order.step(12).unwrap_err() {
            Error::RevisionGap {
                first_missing,
                last_missing,
                ..
            } => assert_eq!((first_missing, last_missing), (10, 11)),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_start_is_binding() {
        assert_eq!(
            MainOrder::starting_at(5).step(6).unwrap_err().code(),
            "REVISION_GAP"
        );
        assert_eq!(
            MainOrder::starting_at(5).step(4).unwrap_err().code(),
            "NOT_SORTED"
        );
        assert_eq!(MainOrder::starting_at(5).step(5).unwrap(), 0);
        assert_eq!(MainOrder::starting_at(1).step(1).unwrap(), 0);
    }
}
