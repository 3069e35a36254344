//! The block that is still being filled.

use crate::ebd::{BlockHead, Codec, Mark, put_marks};
use crate::event::{delimited_len, put_delimited};

/// Events of one block to be, and when they arrived.
#[derive(Debug, Default)]
pub(crate) struct OpenBlock {
    bytes: Vec<u8>,
    events: u32,
    first: (i64, u64),
    last_revision: i64,
    marks: Vec<Mark>,
}

/// A state of an open block that it can be cut back to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockPoint {
    bytes: usize,
    pub(crate) events: u32,
    last_revision: i64,
    marks: usize,
    /// First revision and sub of what comes behind the point.
    next: (i64, u64),
    next_arrived_ms: i64,
}

impl OpenBlock {
    pub(crate) fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Bytes of the events so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether an event would take a block that is not empty above `limit`.
    pub(crate) fn overflows(&self, event: &[u8], limit: usize) -> bool {
        !self.is_empty() && self.bytes.len().saturating_add(delimited_len(event.len())) > limit
    }

    pub(crate) fn push(&mut self, event: &[u8], main: i64, sub: u64, arrived_ms: i64) {
        if self.is_empty() {
            self.first = (main, sub);
        }
        if self
            .marks
            .last()
            .is_none_or(|mark| mark.arrived_ms != arrived_ms)
        {
            self.marks.push(Mark {
                index: self.events,
                arrived_ms,
            });
        }
        put_delimited(&mut self.bytes, event);
        self.events = self.events.saturating_add(1);
        self.last_revision = main;
    }

    /// The state before an event of `main` with `sub` that arrives at `arrived_ms` is pushed.
    pub(crate) fn point(&self, main: i64, sub: u64, arrived_ms: i64) -> BlockPoint {
        BlockPoint {
            bytes: self.bytes.len(),
            events: self.events,
            last_revision: self.last_revision,
            marks: self.marks.len(),
            next: (main, sub),
            next_arrived_ms: arrived_ms,
        }
    }

    /// Forgets what came behind the point.
    pub(crate) fn cut(&mut self, point: &BlockPoint) {
        self.bytes.truncate(point.bytes);
        self.marks.truncate(point.marks);
        self.events = point.events;
        self.last_revision = point.last_revision;
    }

    /// Takes what came behind the point out into a block of its own.
    pub(crate) fn split_off(&mut self, point: &BlockPoint) -> Self {
        let bytes = self.bytes.split_off(point.bytes.min(self.bytes.len()));
        let mut marks = vec![Mark {
            index: 0,
            arrived_ms: point.next_arrived_ms,
        }];
        let behind = self
            .marks
            .split_off(point.marks.min(self.marks.len()))
            .into_iter();
        let moved = behind.map(|mark| Mark {
            index: mark.index.saturating_sub(point.events),
            ..mark
        });
        marks.extend(moved.filter(|mark| mark.index > 0));
        let events = self.events.saturating_sub(point.events);
        let tail = Self {
            bytes,
            events,
            first: point.next,
            last_revision: self.last_revision,
            marks,
        };
        self.events = point.events;
        self.last_revision = point.last_revision;
        tail
    }

    /// Puts a block behind this one: the inverse of [`OpenBlock::split_off`].
    pub(crate) fn rejoin(&mut self, tail: Self) {
        if self.is_empty() {
            *self = tail;
            return;
        }
        let at = self.marks.last().map(|mark| mark.arrived_ms);
        let moved = tail.marks.into_iter().map(|mark| Mark {
            index: mark.index.saturating_add(self.events),
            ..mark
        });
        self.marks
            .extend(moved.filter(|mark| mark.index > self.events || Some(mark.arrived_ms) != at));
        self.bytes.extend_from_slice(&tail.bytes);
        self.events = self.events.saturating_add(tail.events);
        self.last_revision = tail.last_revision;
    }

    /// Head and payload; the payload borrows the block's buffer, which [`OpenBlock::clear`] empties.
    pub(crate) fn payload(&mut self) -> (BlockHead, &[u8]) {
        let event_bytes = self.bytes.len();
        put_marks(&mut self.bytes, &self.marks);
        let head = BlockHead {
            codec: Codec::None,
            payload_bytes: self.bytes.len(),
            event_bytes,
            events: self.events,
            first_revision: self.first.0,
            last_revision: self.last_revision,
            first_sub: self.first.1,
            first_time_ms: self.marks.first().map_or(0, |mark| mark.arrived_ms),
            last_time_ms: self.marks.last().map_or(0, |mark| mark.arrived_ms),
        };
        (head, &self.bytes)
    }

    /// Takes the marks off again that [`OpenBlock::payload`] appended, when the block could not be written.
    pub(crate) fn unpayload(&mut self, head: &BlockHead) {
        self.bytes.truncate(head.event_bytes);
    }

    /// Empties the block; its buffer is kept unless one huge event made it grow.
    pub(crate) fn clear(&mut self, keep_bytes: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(keep_bytes);
        self.marks.clear();
        self.events = 0;
    }
}
