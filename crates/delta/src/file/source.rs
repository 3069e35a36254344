//! Events of either format, in order and checked.

use crate::ebd::EbdReader;
use crate::error::{Error, Result};
use crate::event::Change;
use crate::file::Format;
use crate::file::last_event::{LastEvent, last_event_of_ebd};
use crate::json::JsonReader;
use crate::order::MainOrder;
use bbolt::Cancel;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// JSON events between two looks at the cancel flag.
const CANCEL_EVENTS: u64 = 1024;
/// Piece in which a whole file is digested.
const PIECE_BYTES: usize = 256 << 10;

pub(crate) enum Source {
    Ebd(Box<EbdReader>),
    Json(Box<JsonReader>, MainOrder),
}

/// One event of either format.
pub(crate) struct SourceEvent<'a> {
    pub(crate) change: &'a Change<'a>,
    /// The bytes as etcd sent them, where the format keeps them.
    pub(crate) raw: Option<&'a [u8]>,
    pub(crate) sub: u64,
    pub(crate) arrived_ms: i64,
}

impl Source {
    pub(crate) fn open(path: &Path, format: Format) -> Result<Self> {
        Ok(match format {
            Format::Ebd => Self::Ebd(Box::new(EbdReader::open(path)?)),
            Format::Json(compression) => Self::Json(
                Box::new(JsonReader::open(path, compression)?),
                MainOrder::anywhere(),
            ),
        })
    }

    /// Hands over every event, and reads on to the end so that the digest is compared. No event at all is an error.
    pub(crate) fn for_each(
        &mut self,
        cancel: &Cancel,
        mut each: impl FnMut(SourceEvent<'_>) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Ebd(reader) => each_of_ebd(reader, cancel, &mut each),
            Self::Json(reader, order) => each_of_json(reader, order, cancel, &mut each),
        }
    }

    /// SHA-256 and length of the whole file; known for an `.ebd` that has been read to its end.
    pub(crate) fn digest_of_file(&self, path: &Path) -> Result<([u8; 32], u64)> {
        match self {
            Self::Ebd(reader) => Ok((reader.sha256().unwrap_or_default(), reader.bytes_read())),
            Self::Json(..) => digest_file(path),
        }
    }

    /// The last event, once everything was handed over.
    pub(crate) fn last_event(&self, path: &Path) -> Result<LastEvent> {
        match self {
            Self::Ebd(reader) => last_event_of_ebd(path, reader.tail()),
            Self::Json(reader, order) => {
                let event = reader.last_event()?;
                Ok(LastEvent::of(
                    &event.change,
                    order.last_sub(),
                    event.arrived_ms,
                ))
            }
        }
    }
}

fn each_of_ebd(
    reader: &mut EbdReader,
    cancel: &Cancel,
    each: &mut impl FnMut(SourceEvent<'_>) -> Result<()>,
) -> Result<()> {
    let mut order = MainOrder::starting_at(reader.header().start_revision);
    while let Some(block) = reader.next_block()? {
        cancel.check()?;
        block.walk(&mut order, |stored, change, sub| {
            each(SourceEvent {
                change,
                raw: Some(stored.bytes),
                sub,
                arrived_ms: stored.arrived_ms,
            })
        })?;
    }
    Ok(())
}

fn each_of_json(
    reader: &mut JsonReader,
    order: &mut MainOrder,
    cancel: &Cancel,
    each: &mut impl FnMut(SourceEvent<'_>) -> Result<()>,
) -> Result<()> {
    let mut events: u64 = 0;
    while let Some(event) = reader.next_event()? {
        if events.is_multiple_of(CANCEL_EVENTS) {
            cancel.check()?;
        }
        events += 1;
        let sub = order.step(event.change.kv.mod_revision)?;
        each(SourceEvent {
            change: &event.change,
            raw: None,
            sub,
            arrived_ms: event.arrived_ms,
        })?;
    }
    if events == 0 {
        return Err(Error::corrupt("JSON: the array holds no events"));
    }
    Ok(())
}

fn digest_file(path: &Path) -> Result<([u8; 32], u64)> {
    let mut file = File::open(path).map_err(Error::io("open"))?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0u64;
    loop {
        let count = file.read(&mut piece).map_err(Error::io("read"))?;
        if count == 0 {
            return Ok((digest.finalize().into(), bytes));
        }
        digest.update(piece.get(..count).unwrap_or_default());
        bytes = bytes.saturating_add(count as u64);
    }
}
