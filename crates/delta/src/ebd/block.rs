//! Blocks: a head of 56 bytes and a payload of events and arrival marks. Each can be decoded alone.

use crate::ebd::Codec;
use crate::ebd::marks::Clock;
use crate::error::{Error, Result};
use crate::event::{Change, EVENT_BYTES_MAX};
use crate::order::MainOrder;
use crate::wire::{LittleEndian, take_delimited};

pub(crate) const BLOCK_HEAD_BYTES: usize = 56;
/// Largest payload: one event of the largest size, its length and its mark.
const PAYLOAD_BYTES_MAX: usize = EVENT_BYTES_MAX + 64;

/// What a block says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHead {
    /// How the payload is stored.
    pub codec: Codec,
    /// Bytes of the payload, uncompressed.
    pub payload_bytes: usize,
    /// Bytes of the payload that are events; marks follow.
    pub event_bytes: usize,
    /// Events in the block; at least one.
    pub events: u32,
    /// Main revision of the first event.
    pub first_revision: i64,
    /// Main revision of the last event.
    pub last_revision: i64,
    /// Sub-revision of the first event.
    pub first_sub: u64,
    /// Arrival of the first event, Unix milliseconds.
    pub first_time_ms: i64,
    /// Arrival of the last event, Unix milliseconds.
    pub last_time_ms: i64,
}

/// A decoded block that borrows from the reader's buffer.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// Its head.
    pub head: BlockHead,
    pub(super) events: &'a [u8],
    pub(super) marks: &'a [u8],
}

/// One event as it stands in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored<'a> {
    /// `mvccpb.Event` as etcd sent it.
    pub bytes: &'a [u8],
    /// When it arrived, Unix milliseconds.
    pub arrived_ms: i64,
}

impl BlockHead {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(BLOCK_HEAD_BYTES);
        out.extend_from_slice(&[u8::from(self.codec == Codec::Zstd), 0, 0, 0]);
        for number in [
            self.payload_bytes as u32,
            self.event_bytes as u32,
            self.events,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [
            self.first_revision,
            self.last_revision,
            self.first_sub.cast_signed(),
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.first_time_ms.to_le_bytes());
        out.extend_from_slice(&self.last_time_ms.to_le_bytes());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut fields = LittleEndian::new(bytes, ".ebd block head");
        let codec = match fields.u8()? {
            0 => Codec::None,
            1 => Codec::Zstd,
            other => {
                return Err(Error::Unsupported(format!(
                    ".ebd block: codec {other} is not known"
                )));
            }
        };
        let zero: [u8; 3] = fields.array()?;
        let head = Self {
            codec,
            payload_bytes: fields.u32()? as usize,
            event_bytes: fields.u32()? as usize,
            events: fields.u32()?,
            first_revision: fields.i64()?,
            last_revision: fields.i64()?,
            first_sub: fields.u64()?,
            first_time_ms: fields.i64()?,
            last_time_ms: fields.i64()?,
        };
        let sizes =
            head.event_bytes <= head.payload_bytes && head.payload_bytes <= PAYLOAD_BYTES_MAX;
        let revisions = 0 < head.first_revision && head.first_revision <= head.last_revision;
        let counts = 0 < head.events && head.events as usize <= head.event_bytes;
        if zero == [0; 3] && sizes && revisions && counts {
            return Ok(head);
        }
        Err(Error::corrupt(format!(
            ".ebd block head: its numbers contradict each other: {head:?}"
        )))
    }
}

impl<'a> Block<'a> {
    /// The events in order.
    #[must_use]
    pub fn events(&self) -> Events<'a> {
        let clock = Clock::new(self.marks, self.head.first_time_ms);
        Events {
            rest: self.events,
            index: 0,
            head: self.head,
            clock,
        }
    }

    /// Hands every event with its sub-revision to `each`, and checks the block against its head and against `order`.
    pub(crate) fn walk(
        &self,
        order: &mut MainOrder,
        mut each: impl FnMut(&Stored<'a>, &Change<'a>, u64) -> Result<()>,
    ) -> Result<()> {
        let head = &self.head;
        let mut events = self.events();
        let mut first = true;
        while let Some(stored) = events.next_event()? {
            let change = Change::parse(stored.bytes)?;
            let main = change.kv.mod_revision;
            let sub = order.step(main)?;
            if first && (main, sub) != (head.first_revision, head.first_sub) {
                return Err(Error::corrupt(format!(
                    ".ebd block: its first event is {main}/{sub}, its head says {}/{}",
                    head.first_revision, head.first_sub
                )));
            }
            first = false;
            each(&stored, &change, sub)?;
        }
        if order.main() != Some(head.last_revision) {
            return Err(Error::corrupt(format!(
                ".ebd block: its last event is of revision {:?}, its head says {}",
                order.main(),
                head.last_revision
            )));
        }
        Ok(())
    }
}

/// Iterates over the events of a block.
#[derive(Debug, Clone)]
pub struct Events<'a> {
    rest: &'a [u8],
    index: u32,
    head: BlockHead,
    clock: Clock<'a>,
}

impl<'a> Events<'a> {
    /// The next event; `None` when as many were given as the head says.
    #[inline]
    pub fn next_event(&mut self) -> Result<Option<Stored<'a>>> {
        if self.index == self.head.events {
            return self.end().map(|()| None);
        }
        let bytes = take_delimited(&mut self.rest, "event in block")?;
        let arrived_ms = self.clock.time_of(self.index)?;
        self.index += 1;
        Ok(Some(Stored { bytes, arrived_ms }))
    }

    fn end(&mut self) -> Result<()> {
        if !self.rest.is_empty() {
            return Err(Error::corrupt(format!(
                ".ebd block: {} bytes behind its last event",
                self.rest.len()
            )));
        }
        self.clock.end(self.head.last_time_ms)
    }
}
