//! Which events of a watch belong into the delta, in which order they must come, and where a new watch must start.
//!
//! The header's revision plays no part: a catch-up response has the store's revision there, far beyond its events.

use crate::error::{Error, Result};

/// Follows the events of one watch after the other.
#[derive(Debug, Clone)]
pub(crate) struct WatchOrder {
    /// Where the present watch was asked to start. A lagging member may send older events: they are dropped.
    floor: i64,
    /// Revision of the last event of the present watch.
    last: i64,
    /// The next revision that is new.
    next_main: i64,
    /// The last revision, while pieces of its response may still follow.
    open_main: Option<i64>,
}

impl WatchOrder {
    /// A watch that was asked to start at `floor`, which is also the next new revision.
    pub(crate) fn starting_at(floor: i64) -> Self {
        Self {
            floor,
            last: 0,
            next_main: floor,
            open_main: None,
        }
    }

    /// Takes the next event's revision; whether the event belongs into the delta.
    pub(crate) fn step(&mut self, main: i64) -> Result<bool> {
        if main < self.last {
            return Err(Error::NotSorted(format!(
                "watch: an event of revision {main} follows one of revision {}; the history may have been replaced",
                self.last
            )));
        }
        self.last = main;
        if main < self.floor {
            return Ok(false);
        }
        if self.open_main != Some(main) {
            self.begin(main)?;
        }
        Ok(true)
    }

    /// The response is over: unless pieces of it follow, its last revision is complete.
    pub(crate) fn end_response(&mut self, fragment: bool) {
        if !fragment {
            self.open_main = None;
        }
    }

    fn begin(&mut self, main: i64) -> Result<()> {
        let next = self.next_main;
        if main < next {
            return Err(Error::NotSorted(format!(
                "watch: an event of revision {main} came after that revision was complete; expected {next}"
            )));
        }
        if main > next {
            return Err(Error::RevisionGap {
                first_missing: next,
                last_missing: main.saturating_sub(1),
                what: format!("the watch went on with revision {main}; take a full snapshot"),
            });
        }
        self.open_main = Some(main);
        self.next_main = main.saturating_add(1);
        Ok(())
    }
}
