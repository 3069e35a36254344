//! Blocks: a head of 56 bytes and a payload of events and arrival marks. Each can be decoded alone.

use crate::ebd::{Codec, Section, section_body};
use crate::error::{Error, Result};
use crate::event::{Change, EVENT_BYTES_MAX};
use crate::order::MainOrder;
use crate::wire::{
    LittleEndian, in_message, put_varint, take_delimited, take_varint, unzigzag, zigzag,
};

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
    events: &'a [u8],
    marks: &'a [u8],
}

/// One event as it stands in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored<'a> {
    /// `mvccpb.Event` as etcd sent it.
    pub bytes: &'a [u8],
    /// When it arrived, Unix milliseconds.
    pub arrived_ms: i64,
}

/// From the event of this index on, events arrived at this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) index: u32,
    pub(crate) arrived_ms: i64,
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

    fn decode(bytes: &[u8]) -> Result<Self> {
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

/// Decodes blocks, one buffer for all.
pub struct BlockDecoder {
    zstd: zstd::bulk::Decompressor<'static>,
    payload: Vec<u8>,
}

impl BlockDecoder {
    /// A decoder without a buffer yet.
    pub fn new() -> Result<Self> {
        let zstd = zstd::bulk::Decompressor::new().map_err(Error::io("decompress"))?;
        Ok(Self {
            zstd,
            payload: Vec::new(),
        })
    }

    /// Decodes one block alone: the bytes of its section, as the index places them, checksum included.
    pub fn section<'a>(&'a mut self, section: &'a [u8]) -> Result<Block<'a>> {
        self.block(section_body(section, Section::Block)?)
    }

    /// Decodes the body of a block section whose checksum has been compared.
    pub fn block<'a>(&'a mut self, body: &'a [u8]) -> Result<Block<'a>> {
        let (head, stored) = body
            .split_at_checked(BLOCK_HEAD_BYTES)
            .unwrap_or((body, &[]));
        let head = BlockHead::decode(head)?;
        let payload = match head.codec {
            Codec::None => stored,
            Codec::Zstd => self.decompress(stored, head.payload_bytes)?,
        };
        if payload.len() != head.payload_bytes {
            return Err(Error::corrupt(format!(
                ".ebd block: {} payload bytes, its head says {}",
                payload.len(),
                head.payload_bytes
            )));
        }
        let (events, marks) = payload
            .split_at_checked(head.event_bytes)
            .unwrap_or((payload, &[]));
        Ok(Block {
            head,
            events,
            marks,
        })
    }

    fn decompress(&mut self, stored: &[u8], payload_bytes: usize) -> Result<&[u8]> {
        // The frame's own content size must agree before anything is allocated for it.
        let content = zstd::zstd_safe::get_frame_content_size(stored)
            .ok()
            .flatten();
        if content != Some(payload_bytes as u64) {
            return Err(Error::corrupt(format!(
                ".ebd block: the zstd frame holds {content:?} bytes, the block's head says {payload_bytes}"
            )));
        }
        self.payload.clear();
        self.payload.reserve(payload_bytes);
        let written = self.zstd.decompress_to_buffer(stored, &mut self.payload);
        written.map_err(|error| Error::corrupt(format!(".ebd block: zstd: {error}")))?;
        Ok(&self.payload)
    }
}

impl<'a> Block<'a> {
    /// The events in order.
    #[must_use]
    pub fn events(&self) -> Events<'a> {
        let clock = Clock {
            rest: self.marks,
            at: 0,
            arrived_ms: self.head.first_time_ms,
            next: None,
            begun: false,
        };
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

/// Follows the marks while events go by.
#[derive(Debug, Clone)]
struct Clock<'a> {
    rest: &'a [u8],
    /// Index of the last mark read.
    at: u32,
    arrived_ms: i64,
    /// The mark that is still ahead.
    next: Option<Mark>,
    begun: bool,
}

impl Clock<'_> {
    #[inline]
    fn time_of(&mut self, index: u32) -> Result<i64> {
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

    fn end(&self, last_time_ms: i64) -> Result<()> {
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
