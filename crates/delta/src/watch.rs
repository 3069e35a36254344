//! `etcdserverpb.WatchResponse` as it comes off the wire, read over slices.
//!
//! `1 header {1 cluster_id u64, 2 member_id u64, 3 revision i64, 4 raft_term u64} | 2 watch_id i64 | 3 created bool
//! | 4 canceled bool | 5 compact_revision i64 | 6 cancel_reason string | 7 fragment bool | 11 events*`

use crate::error::{Error, Result};
use crate::event::{EVENT_BYTES_MAX, EventHead};
use crate::wire::{Fields, in_message};

const MESSAGE: &str = "etcdserverpb.WatchResponse";
const EVENTS: u32 = 11;

/// Everything in a response but its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchHead {
    /// Cluster that sent it; 0 when the header is absent.
    pub cluster_id: u64,
    /// Member that sent it.
    pub member_id: u64,
    /// The store's revision when the response was made. Never a position: events may end before it.
    pub header_revision: i64,
    /// The watch it belongs to; -1 for progress on all watches of a stream.
    pub watch_id: i64,
    /// Answer to a create request.
    pub created: bool,
    /// The watch is over.
    pub canceled: bool,
    /// Not 0: the watch asked for revisions that are compacted up to this one.
    pub compact_revision: i64,
    /// Why it was cancelled; may be empty.
    pub cancel_reason: String,
    /// More pieces of the same response follow; the last revision may go on in them.
    pub fragment: bool,
}

/// Reads the head and checks the framing of the whole response.
pub fn parse_head(response: &[u8]) -> Result<WatchHead> {
    let wrong = in_message(MESSAGE);
    let mut head = WatchHead::default();
    let mut fields = Fields::new(response);
    while let Some((field, value)) = fields.next_field().map_err(&wrong)? {
        match field {
            1 => parse_header(value.bytes(field).map_err(&wrong)?, &mut head)?,
            2 => head.watch_id = value.int64(field).map_err(&wrong)?,
            3 => head.created = value.varint(field).map_err(&wrong)? != 0,
            4 => head.canceled = value.varint(field).map_err(&wrong)? != 0,
            5 => head.compact_revision = value.int64(field).map_err(&wrong)?,
            6 => {
                head.cancel_reason =
                    String::from_utf8_lossy(value.bytes(field).map_err(&wrong)?).into_owned()
            }
            7 => head.fragment = value.varint(field).map_err(&wrong)? != 0,
            EVENTS => drop(value.bytes(field).map_err(&wrong)?),
            _ => {}
        }
    }
    Ok(head)
}

fn parse_header(header: &[u8], head: &mut WatchHead) -> Result<()> {
    let wrong = in_message("etcdserverpb.ResponseHeader");
    let mut fields = Fields::new(header);
    while let Some((field, value)) = fields.next_field().map_err(&wrong)? {
        match field {
            1 => head.cluster_id = value.varint(field).map_err(&wrong)?,
            2 => head.member_id = value.varint(field).map_err(&wrong)?,
            3 => head.header_revision = value.int64(field).map_err(&wrong)?,
            _ => {}
        }
    }
    Ok(())
}

/// Iterates over the events of a response.
#[derive(Debug, Clone)]
pub struct WatchEvents<'a> {
    fields: Fields<'a>,
}

impl<'a> WatchEvents<'a> {
    /// Starts at the first event.
    #[must_use]
    pub fn new(response: &'a [u8]) -> Self {
        Self {
            fields: Fields::new(response),
        }
    }

    /// The next event's bytes, exactly as sent, and its head.
    pub fn next_event(&mut self) -> Result<Option<(&'a [u8], EventHead)>> {
        while let Some((field, value)) = self.fields.next_field().map_err(in_message(MESSAGE))? {
            if field != EVENTS {
                continue;
            }
            let event = value.bytes(field).map_err(in_message(MESSAGE))?;
            if event.len() > EVENT_BYTES_MAX {
                return Err(Error::Unsupported(format!(
                    "{MESSAGE}: an event of {} bytes, the bound is {EVENT_BYTES_MAX}",
                    event.len()
                )));
            }
            return Ok(Some((event, EventHead::parse(event)?)));
        }
        Ok(None)
    }
}
