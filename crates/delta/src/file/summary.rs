//! What a delta holds, in a few numbers.

use crate::file::LastEvent;
use crate::write::{Finished, Totals};

/// What a delta holds. Revisions are inclusive and complete; times are Unix milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// First main revision.
    pub first_revision: i64,
    /// Last main revision.
    pub last_revision: i64,
    /// Events.
    pub events: u64,
    /// Bytes of the events as protobuf with their lengths.
    pub event_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// SHA-256 of the whole file, as an object store would compute it.
    pub sha256: [u8; 32],
    /// Arrival of the first event.
    pub first_time_ms: i64,
    /// Arrival of the last event.
    pub last_time_ms: i64,
    /// Leases with their granted TTL.
    pub leases: u64,
    /// Most events of one main revision.
    pub revision_events_max: u64,
    /// Most event bytes of one main revision.
    pub revision_bytes_max: u64,
    /// The last event, where the file was read through.
    pub last_event: Option<LastEvent>,
}

impl Summary {
    pub(crate) fn of_totals(totals: &Totals) -> Self {
        let (first_revision, first_time_ms) = totals.first.unwrap_or_default();
        let (last_revision, last_time_ms) = totals.last.unwrap_or_default();
        Self {
            first_revision,
            last_revision,
            first_time_ms,
            last_time_ms,
            events: totals.events,
            event_bytes: totals.event_bytes,
            revision_events_max: totals.revision_events_max,
            revision_bytes_max: totals.revision_bytes_max,
            ..Self::default()
        }
    }

    pub(crate) fn of_finished(finished: &Finished, leases: u64) -> Self {
        let trailer = &finished.trailer;
        Self {
            first_revision: trailer.first_revision,
            last_revision: trailer.last_revision,
            events: trailer.events,
            event_bytes: trailer.event_bytes,
            bytes: finished.bytes,
            sha256: finished.sha256,
            first_time_ms: trailer.first_time_ms,
            last_time_ms: trailer.last_time_ms,
            leases,
            revision_events_max: trailer.revision_events_max,
            revision_bytes_max: trailer.revision_bytes_max,
            last_event: None,
        }
    }
}
