//! What can be asked.

use std::path::PathBuf;

/// Which keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keys {
    /// This one.
    One(Vec<u8>),
    /// All that begin so; every key for an empty prefix.
    Prefix(Vec<u8>),
}

/// What about them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The keys that were there at a revision.
    State {
        /// Main revision, inclusive.
        at: i64,
    },
    /// Every change, deletions too.
    History {
        /// The highest main revision that is told.
        to: i64,
    },
    /// Keys that were added, changed or deleted.
    Difference {
        /// Main revision of the state before.
        from: i64,
        /// Main revision of the state after; not below `from`.
        to: i64,
    },
}

/// A question.
#[derive(Debug, Clone)]
pub struct Query {
    /// Which keys.
    pub keys: Keys,
    /// What about them.
    pub ask: Ask,
    /// Whether the answer carries the values.
    pub with_values: bool,
    /// Where entries go that are too many for memory. Nothing is left there.
    pub spill_dir: PathBuf,
}

/// For which of the two states of a [`Ask::Difference`] a source is read. Everything else has one side only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The state before.
    From,
    /// The state after, or what else was asked.
    To,
    /// Both.
    Both,
}

/// Bits of an entry: the states that it may belong to.
pub(crate) const FROM: u8 = 1;
pub(crate) const TO: u8 = 2;

impl Keys {
    /// Whether the key is asked for.
    #[must_use]
    pub fn hold(&self, key: &[u8]) -> bool {
        match self {
            Self::One(one) => key == one,
            Self::Prefix(prefix) => key.starts_with(prefix),
        }
    }
}

impl Query {
    /// Only the newest state of one key is wanted: whoever reads backwards may stop at the first hit.
    pub(crate) fn ends_at_first_hit(&self) -> bool {
        matches!((&self.keys, self.ask), (Keys::One(_), Ask::State { .. }))
    }

    /// The highest main revision that can matter to this side.
    pub(crate) fn highest_asked(&self, side: Side) -> i64 {
        match (self.ask, side) {
            (Ask::Difference { from, .. }, Side::From) => from,
            (Ask::State { at: to } | Ask::History { to } | Ask::Difference { to, .. }, _) => to,
        }
    }

    /// The lowest main revision whose whole state is wanted of this side.
    pub(crate) fn lowest_asked(&self, side: Side) -> Option<i64> {
        match (self.ask, side) {
            (Ask::History { .. }, _) => None,
            (Ask::State { at }, _) => Some(at),
            (Ask::Difference { to, .. }, Side::To) => Some(to),
            (Ask::Difference { from, .. }, _) => Some(from),
        }
    }

    /// The states that a change at `main`, read for `side`, may belong to.
    pub(crate) fn sides_of(&self, side: Side, main: i64) -> u8 {
        let bit = |wanted: bool, bit: u8| if wanted { bit } else { 0 };
        match self.ask {
            Ask::State { at: to } | Ask::History { to } => bit(main <= to, TO),
            Ask::Difference { from, to } => {
                bit(side != Side::To && main <= from, FROM)
                    | bit(side != Side::From && main <= to, TO)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_belongs_to_the_states_at_or_above_it() {
        let query = |ask| Query {
            keys: Keys::Prefix(Vec::new()),
            ask,
            with_values: true,
            spill_dir: PathBuf::new(),
        };
        let difference = query(Ask::Difference { from: 5, to: 9 });
        let sides =
            |main| [Side::From, Side::To, Side::Both].map(|side| difference.sides_of(side, main));
        assert_eq!(sides(5), [FROM, TO, FROM | TO]);
        assert_eq!(sides(6), [0, TO, TO]);
        assert_eq!(sides(10), [0, 0, 0]);
        assert_eq!(difference.lowest_asked(Side::Both), Some(5));
        assert_eq!(query(Ask::State { at: 7 }).sides_of(Side::Both, 8), 0);
        assert_eq!(query(Ask::History { to: 7 }).lowest_asked(Side::To), None);
    }
}
