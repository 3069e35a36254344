//! Writes a delta from watch responses.

use crate::ebd::{Header, Lease};
use crate::error::{Error, InFile, Result};
use crate::file::Summary;
use crate::watch::{WatchEvents, WatchHead, parse_head};
use crate::write::watch_order::WatchOrder;
use crate::write::{EventLog, Options};
use std::collections::HashSet;
use std::path::Path;

/// Lease ids remembered. At the bound the memory starts anew: an id may then be reported as new once more.
const LEASES_MAX: usize = 1 << 20;

/// A delta that is being written. Bytes go to disk block by block; memory is the open block and one compressed block.
///
/// After a stream broke, or after an error: [`DeltaWriter::drop_partial`], then a new watch from the revision that it
/// returns.
pub struct DeltaWriter {
    log: EventLog,
    header: Header,
    order: WatchOrder,
    leases: HashSet<i64>,
    /// A response was taken in part because the disk refused.
    broken: bool,
}

/// What a response was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Everything in the response but its events.
    pub head: WatchHead,
    /// Events taken into the delta.
    pub events: u64,
    /// Events dropped because they lie before the start of the watch.
    pub dropped: u64,
    /// Revision of the first event taken; 0 for none.
    pub first_revision: i64,
    /// Revision of the last event taken; 0 for none. It is complete unless `head.fragment`.
    pub last_revision: i64,
    /// Leases that PUTs of this response name and that no earlier response named.
    pub new_leases: Vec<i64>,
}

/// What the delta holds so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Events of complete revisions.
    pub events: u64,
    /// Bytes of these events, uncompressed.
    pub event_bytes: u64,
    /// Bytes on disk and in the open block.
    pub bytes: u64,
    /// First revision; 0 while there is none.
    pub first_revision: i64,
    /// Last complete revision; 0 while there is none.
    pub last_revision: i64,
    /// When the first event arrived, Unix milliseconds; `None` while there is none.
    pub open_since_ms: Option<i64>,
    /// The last revision's response is not complete: the delta cannot be finished yet.
    pub partial: bool,
}

impl DeltaWriter {
    /// Creates the file, which must not exist, for events from `header.start_revision` on.
    pub fn create(path: &Path, header: Header, options: &Options) -> Result<Self> {
        let log = EventLog::create(path, &header, options).in_file("create delta", path)?;
        Ok(Self::resume(log, header, HashSet::new()))
    }

    pub(crate) fn resume(log: EventLog, header: Header, leases: HashSet<i64>) -> Self {
        let order = WatchOrder::starting_at(log.resume_revision().unwrap_or(header.start_revision));
        Self {
            log,
            header,
            order,
            leases,
            broken: false,
        }
    }

    #[cfg(test)]
    pub(crate) fn log(&mut self) -> &mut EventLog {
        &mut self.log
    }

    /// The header that the file was created with.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Takes one raw `etcdserverpb.WatchResponse` that arrived at `now_ms`. A response that is refused leaves the delta
    /// as it was; only when the disk refuses may it be taken in part.
    pub fn push_response(&mut self, response: &[u8], now_ms: i64) -> Result<Pushed> {
        let path = self.log.path().to_owned();
        self.push_inner(response, now_ms)
            .in_file("write delta", &path)
    }

    fn push_inner(&mut self, response: &[u8], now_ms: i64) -> Result<Pushed> {
        if self.broken {
            return Err(Error::Usage(
                "a response was taken in part; drop it and watch again".into(),
            ));
        }
        let head = parse_head(response)?;
        self.check_source(&head)?;
        let mut order = self.order.clone();
        if head.created {
            self.check_new_watch()?;
            order = WatchOrder::starting_at(self.resume_revision());
        }
        check_events(response, &mut order.clone())?;
        let mut pushed = Pushed {
            head,
            ..Pushed::default()
        };
        let taken = self.take_events(response, now_ms, &mut order, &mut pushed);
        self.broken = taken.is_err();
        taken?;
        self.order = order;
        Ok(pushed)
    }

    /// Removes what is there of a revision that is not complete, from memory and from disk.
    ///
    /// Returns the revision at which a new watch must start.
    pub fn drop_partial(&mut self) -> Result<i64> {
        let path = self.log.path().to_owned();
        self.log.drop_partial().in_file("write delta", &path)?;
        let resume = self.resume_revision();
        self.order = WatchOrder::starting_at(resume);
        self.broken = false;
        Ok(resume)
    }

    /// Writes the complete revisions of the open block to the file, for callers that want bounded loss by time.
    pub fn seal(&mut self) -> Result<()> {
        let path = self.log.path().to_owned();
        self.log.seal().in_file("write delta", &path)
    }

    /// [`DeltaWriter::seal`], and waits until the disk has it.
    pub fn sync(&mut self) -> Result<()> {
        self.seal()?;
        let path = self.log.path().to_owned();
        self.log.sync().in_file("write delta", &path)
    }

    /// What the delta holds so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let totals = self.log.complete_totals();
        Stats {
            events: totals.events,
            event_bytes: totals.event_bytes,
            bytes: self.log.len(),
            first_revision: totals.first.map_or(0, |(revision, _)| revision),
            last_revision: totals.last.map_or(0, |(revision, _)| revision),
            open_since_ms: totals.first.map(|(_, arrived_ms)| arrived_ms),
            partial: self.log.partial_main().is_some(),
        }
    }

    /// Lease ids that the delta's PUTs name, ascending.
    #[must_use]
    pub fn leases(&self) -> Vec<i64> {
        let mut leases: Vec<i64> = self.leases.iter().copied().collect();
        leases.sort_unstable();
        leases
    }

    /// Where a watch must start to continue this delta.
    #[must_use]
    pub fn resume_revision(&self) -> i64 {
        self.log
            .resume_revision()
            .unwrap_or(self.header.start_revision)
    }

    /// Writes leases, index and trailer, and syncs file and directory. An error leaves the delta as it was: free some
    /// space and try again. A delta without events, or with a partial revision, cannot be finished (`USAGE`).
    pub fn finish(&mut self, leases: &[Lease]) -> Result<Summary> {
        let path = self.log.path().to_owned();
        let finished = self
            .log
            .finish(leases, true)
            .in_file("finish delta", &path)?;
        Ok(Summary::of_finished(&finished, leases.len() as u64))
    }

    fn check_source(&self, head: &WatchHead) -> Result<()> {
        let (ours, theirs) = (self.header.cluster_id, head.cluster_id);
        if ours == 0 || theirs == 0 || ours == theirs {
            return Ok(());
        }
        Err(Error::Mismatch(format!(
            "the watch response comes from cluster {theirs:x}, the delta is of cluster {ours:x}; begin with a full"
        )))
    }

    fn check_new_watch(&self) -> Result<()> {
        match self.log.partial_main() {
            None => Ok(()),
            Some(main) => Err(Error::Usage(format!(
                "a new watch was created while revision {main} is not complete; drop it first, and watch from it"
            ))),
        }
    }

    fn take_events(
        &mut self,
        response: &[u8],
        now_ms: i64,
        order: &mut WatchOrder,
        pushed: &mut Pushed,
    ) -> Result<()> {
        let mut events = WatchEvents::new(response);
        while let Some((bytes, event)) = events.next_event()? {
            if !order.step(event.mod_revision)? {
                pushed.dropped += 1;
                continue;
            }
            self.log.append(bytes, event.mod_revision, now_ms)?;
            if pushed.events == 0 {
                pushed.first_revision = event.mod_revision;
            }
            pushed.events += 1;
            pushed.last_revision = event.mod_revision;
            if event.lease != 0 && self.first_seen(event.lease) {
                pushed.new_leases.push(event.lease);
            }
        }
        if pushed.events > 0 {
            order.end_response(pushed.head.fragment);
            if !pushed.head.fragment {
                self.log.complete()?;
            }
        }
        Ok(())
    }

    fn first_seen(&mut self, lease: i64) -> bool {
        if self.leases.len() >= LEASES_MAX {
            self.leases.clear();
        }
        self.leases.insert(lease)
    }
}

/// Refuses a response as a whole before anything of it is taken.
fn check_events(response: &[u8], order: &mut WatchOrder) -> Result<()> {
    let mut events = WatchEvents::new(response);
    while let Some((_, event)) = events.next_event()? {
        order.step(event.mod_revision)?;
    }
    Ok(())
}
