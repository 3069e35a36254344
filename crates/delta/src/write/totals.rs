//! What a file holds so far, as its trailer will state it.

/// Counters over the events of one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) events: u64,
    /// Event bytes with their lengths, uncompressed.
    pub(crate) event_bytes: u64,
    /// Revision and arrival of the first event.
    pub(crate) first: Option<(i64, i64)>,
    /// Revision and arrival of the last event.
    pub(crate) last: Option<(i64, i64)>,
    pub(crate) revision_events_max: u64,
    pub(crate) revision_bytes_max: u64,
    /// Events and bytes of the last revision.
    revision: (u64, u64),
}

impl Totals {
    /// Counts one event of `bytes` bytes, length included, which is the `sub`-th of its revision.
    #[inline]
    pub(crate) fn count(&mut self, main: i64, sub: u64, bytes: u64, arrived_ms: i64) {
        let before = if sub == 0 { (0, 0) } else { self.revision };
        self.revision = (before.0.saturating_add(1), before.1.saturating_add(bytes));
        self.revision_events_max = self.revision_events_max.max(self.revision.0);
        self.revision_bytes_max = self.revision_bytes_max.max(self.revision.1);
        self.events = self.events.saturating_add(1);
        self.event_bytes = self.event_bytes.saturating_add(bytes);
        self.first.get_or_insert((main, arrived_ms));
        self.last = Some((main, arrived_ms));
    }
}
