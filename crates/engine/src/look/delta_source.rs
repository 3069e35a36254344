//! What a delta knows about a question.

use crate::look::entry::{Entry, Head};
use crate::look::query::Side;
use crate::look::{Look, Query};
use crate::{Error, Result};
use bbolt::Cancel;
use delta::event::Change;
use delta::{Compression, DeltaFile, EbdBlocks, Format, JsonReader, Kind, PlacedEvent};
use std::path::Path;

/// JSON events between two looks at the cancel flag.
const CANCEL_EVENTS: u64 = 1024;

/// What was read of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaFacts {
    /// First main revision of the file.
    pub first_revision: i64,
    /// Its last one; of JSON, the last one that was read.
    pub last_revision: i64,
    /// The newest state of the one key was found here: nothing older can change the answer.
    pub found: bool,
    /// Blocks that were read, and how many there are; 0 of 0 for JSON.
    pub blocks_read: u64,
    /// All blocks of the file.
    pub blocks: u64,
}

impl Look {
    /// Reads what a delta of either format knows about the question, but for changes up to `after`.
    pub fn add_delta(
        &mut self,
        path: &Path,
        source: u32,
        side: Side,
        after: i64,
        cancel: &Cancel,
    ) -> Result<DeltaFacts> {
        let part = Part {
            source,
            side,
            after,
            highest: self.query.highest_asked(side),
        };
        match DeltaFile::open(path)?.format() {
            Format::Ebd => self.add_ebd(path, &part, cancel),
            Format::Json(compression) => self.add_json(path, compression, &part, cancel),
        }
    }

    fn add_ebd(&mut self, path: &Path, part: &Part, cancel: &Cancel) -> Result<DeltaFacts> {
        let mut blocks = EbdBlocks::open(path)?;
        let trailer = blocks.tail().trailer;
        let mut facts = DeltaFacts {
            first_revision: trailer.first_revision,
            last_revision: trailer.last_revision,
            found: false,
            blocks_read: 0,
            blocks: trailer.blocks,
        };
        let matters = blocks.index().iter().zip(0..).filter(|(entry, _)| {
            entry.last_revision > part.after && entry.first_revision <= part.highest
        });
        let mut places: Vec<usize> = matters.map(|(_, place)| place).collect();
        let ends_at_first_hit = self.query.ends_at_first_hit();
        if ends_at_first_hit {
            places.reverse();
        }
        for place in places {
            cancel.check()?;
            facts.blocks_read += 1;
            let mut last: Option<Found> = None;
            blocks.for_each(place, |event| -> Result<()> {
                let Some(entry) = part.entry(&self.query, event) else {
                    return Ok(());
                };
                if ends_at_first_hit {
                    Found::replace(&mut last, &entry);
                    return Ok(());
                }
                self.take(part.side, entry)
            })?;
            if let Some(found) = last {
                self.take(part.side, found.entry())?;
                facts.found = true;
                break;
            }
        }
        Ok(facts)
    }

    fn add_json(
        &mut self,
        path: &Path,
        compression: Compression,
        part: &Part,
        cancel: &Cancel,
    ) -> Result<DeltaFacts> {
        let mut reader = JsonReader::open(path, compression)?;
        let mut last: Option<Found> = None;
        let ends_at_first_hit = self.query.ends_at_first_hit();
        let (mut first_revision, mut main, mut sub, mut events) = (0, 0, 0, 0_u64);
        while let Some(event) = reader.next_event()? {
            if events.is_multiple_of(CANCEL_EVENTS) {
                cancel.check()?;
            }
            events += 1;
            let next = event.change.kv.mod_revision;
            if events == 1 {
                first_revision = next;
            } else {
                check_order(path, main, next)?;
            }
            sub = if next == main { sub + 1 } else { 0 };
            main = next;
            let placed = PlacedEvent {
                change: event.change,
                sub,
                arrived_ms: event.arrived_ms,
            };
            match part.entry(&self.query, &placed) {
                Some(entry) if ends_at_first_hit => Found::replace(&mut last, &entry),
                Some(entry) => self.take(part.side, entry)?,
                None => {}
            }
        }
        if let Some(found) = &last {
            self.take(part.side, found.entry())?;
        }
        Ok(DeltaFacts {
            first_revision,
            last_revision: main,
            found: last.is_some(),
            blocks_read: 0,
            blocks: 0,
        })
    }
}

struct Part {
    source: u32,
    side: Side,
    after: i64,
    highest: i64,
}

impl Part {
    fn entry<'a>(&self, query: &Query, event: &PlacedEvent<'a>) -> Option<Entry<'a>> {
        let Change { kind, kv } = event.change;
        let main = kv.mod_revision;
        if main <= self.after || main > self.highest || !query.keys.hold(kv.key) {
            return None;
        }
        let put = kind == Kind::Put;
        let only_put = |number| if put { number } else { 0 };
        Some(Entry {
            head: Head {
                main,
                sub: event.sub.cast_signed(),
                create: only_put(kv.create_revision),
                version: only_put(kv.version),
                lease: only_put(kv.lease),
                arrived_ms: event.arrived_ms,
                source: self.source,
                tombstone: !put,
                ..Head::default()
            },
            key: kv.key,
            value: if put { kv.value } else { &[] },
        })
    }
}

/// The newest hit so far, kept while its block is read on.
struct Found {
    head: Head,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Found {
    fn replace(last: &mut Option<Self>, entry: &Entry<'_>) {
        *last = Some(Self {
            head: entry.head,
            key: entry.key.to_vec(),
            value: entry.value.to_vec(),
        });
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            head: self.head,
            key: &self.key,
            value: &self.value,
        }
    }
}

fn check_order(path: &Path, before: i64, next: i64) -> Result<()> {
    let expected = before.saturating_add(1);
    if next == before || next == expected {
        return Ok(());
    }
    let what = format!(
        "{}: an event of revision {next} follows one of {before}",
        path.display()
    );
    Err(Error::Delta(if next < before {
        delta::Error::NotSorted(what)
    } else {
        delta::Error::RevisionGap {
            first_missing: expected,
            last_missing: next.saturating_sub(1),
            what,
        }
    }))
}
