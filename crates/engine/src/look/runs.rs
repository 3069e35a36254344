//! Sorted runs, merged: keys are held in memory, one for each run; values stay where they are until they are asked for.

use crate::look::entry::{HEAD_BYTES, Head};
use crate::look::sorter::{Newest, compare};
use crate::look::spill::Spill;
use crate::{Error, Result};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Read at a time from each run: heads, keys and small values.
const READ_BYTES: usize = 64 << 10;

/// A part of the spill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub start: u64,
    pub end: u64,
}

/// An entry whose value has not been read yet.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub head: Head,
    pub key: Vec<u8>,
    newest: Newest,
    run: usize,
    value_at: u64,
}

pub(crate) struct Merge {
    newest: Newest,
    memory: Vec<u8>,
    spill: Option<Spill>,
    cursors: Vec<Cursor>,
    heap: BinaryHeap<Item>,
}

/// The place in one run; the last one is what stayed in memory.
#[derive(Default)]
struct Cursor {
    at: u64,
    end: u64,
    in_memory: bool,
    buffer: Vec<u8>,
    buffer_at: u64,
}

impl Merge {
    pub fn start(
        newest: Newest,
        memory: Vec<u8>,
        spill: Option<Spill>,
        runs: Vec<Run>,
    ) -> Result<Self> {
        let in_memory = Run {
            start: 0,
            end: memory.len() as u64,
        };
        let marked = runs
            .into_iter()
            .map(|run| (run, false))
            .chain([(in_memory, true)]);
        let cursors = marked.map(|(run, in_memory)| Cursor {
            at: run.start,
            end: run.end,
            in_memory,
            buffer: Vec::new(),
            buffer_at: 0,
        });
        let mut merge = Self {
            newest,
            memory,
            spill,
            cursors: cursors.collect(),
            heap: BinaryHeap::new(),
        };
        for run in 0..merge.cursors.len() {
            merge.advance(run)?;
        }
        Ok(merge)
    }

    /// The next entry in order.
    pub fn next(&mut self) -> Result<Option<Item>> {
        let Some(item) = self.heap.pop() else {
            return Ok(None);
        };
        self.advance(item.run)?;
        Ok(Some(item))
    }

    /// Replaces `value` by that of the entry.
    pub fn value(&self, item: &Item, value: &mut Vec<u8>) -> Result<()> {
        value.clear();
        value.resize(item.head.value_bytes as usize, 0);
        let in_memory = self
            .cursors
            .get(item.run)
            .is_some_and(|cursor| cursor.in_memory);
        self.read(in_memory, item.value_at, value)
    }

    fn advance(&mut self, run: usize) -> Result<()> {
        let Some(mut cursor) = self.cursors.get_mut(run).map(std::mem::take) else {
            return Ok(());
        };
        let item = self.next_of(run, &mut cursor);
        if let Some(place) = self.cursors.get_mut(run) {
            *place = cursor;
        }
        self.heap.extend(item?);
        Ok(())
    }

    fn next_of(&self, run: usize, cursor: &mut Cursor) -> Result<Option<Item>> {
        if cursor.at >= cursor.end {
            return Ok(None);
        }
        let mut head = [0; HEAD_BYTES];
        self.read_through(cursor, &mut head)?;
        let head = Head::decode(&head).unwrap_or_default();
        let mut key = vec![0; head.key_bytes as usize];
        self.read_through(cursor, &mut key)?;
        let value_at = cursor.at;
        cursor.at = cursor.at.saturating_add(u64::from(head.value_bytes));
        Ok(Some(Item {
            head,
            key,
            newest: self.newest,
            run,
            value_at,
        }))
    }

    /// Reads on in a run, by way of its buffer.
    fn read_through(&self, cursor: &mut Cursor, mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let within = cursor.at.checked_sub(cursor.buffer_at);
            let held = within
                .and_then(|within| cursor.buffer.get(usize::try_from(within).ok()?..))
                .filter(|held| !held.is_empty());
            let Some(held) = held else {
                let left = cursor.end.saturating_sub(cursor.at);
                let length = usize::try_from(left).unwrap_or(usize::MAX).min(READ_BYTES);
                if length == 0 {
                    return Err(Error::Unsupported(
                        "the temporary file is not what was written".to_owned(),
                    ));
                }
                cursor.buffer.resize(length, 0);
                cursor.buffer_at = cursor.at;
                self.read(cursor.in_memory, cursor.at, &mut cursor.buffer)?;
                continue;
            };
            let (now, rest) = out.split_at_mut(held.len().min(out.len()));
            now.copy_from_slice(held.get(..now.len()).unwrap_or_default());
            cursor.at = cursor.at.saturating_add(now.len() as u64);
            out = rest;
        }
        Ok(())
    }

    fn read(&self, in_memory: bool, at: u64, out: &mut [u8]) -> Result<()> {
        if let (false, Some(spill)) = (in_memory, &self.spill) {
            return spill.read_exact_at(out, at);
        }
        let start = usize::try_from(at).unwrap_or(usize::MAX);
        let found = self.memory.get(start..start.saturating_add(out.len()));
        out.copy_from_slice(
            found.ok_or_else(|| Error::Unsupported("an entry beyond its buffer".to_owned()))?,
        );
        Ok(())
    }
}

impl Ord for Item {
    /// The heap gives the greatest first: that is what comes first in order.
    fn cmp(&self, other: &Self) -> Ordering {
        compare(
            self.newest,
            (other.head, &other.key),
            (self.head, &self.key),
        )
    }
}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Item {}
