//! The last event of a delta: by its content one history is told from another that has the same numbers.

use crate::ebd::{BlockDecoder, Section, Tail, read_section};
use crate::error::{Error, InFile, Result};
use crate::event::{Change, Kind};
use crate::file::{DeltaFile, Format, Source};
use crate::order::MainOrder;
use bbolt::Cancel;
use etcd_data::Revision;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::path::Path;

/// The last event of a delta, with digests instead of what may be long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastEvent {
    /// The key that was written or deleted.
    pub key: Vec<u8>,
    /// Main and sub-revision.
    pub revision: Revision,
    /// Whether it was a deletion.
    pub tombstone: bool,
    /// Revision of the key's creation; 0 for a deletion.
    pub create_revision: i64,
    /// Version of the key; 0 for a deletion.
    pub version: i64,
    /// Lease of the key; 0 for none.
    pub lease: i64,
    /// SHA-256 of the value; of nothing for a deletion.
    pub value_sha256: [u8; 32],
    /// SHA-256 of the record that etcd stores: the canonical `mvccpb.KeyValue`, or the tombstone.
    pub record_sha256: [u8; 32],
    /// When it arrived, Unix milliseconds.
    pub arrived_ms: i64,
}

/// Reads the last event: of an `.ebd` from its last block, of JSON by reading it through.
pub fn last_event(path: &Path, cancel: &Cancel) -> Result<LastEvent> {
    let file = DeltaFile::open(path)?;
    let read = || match file.tail() {
        Some(tail) => last_event_of_ebd(path, tail),
        None => last_event_of_json(path, file.format(), cancel),
    };
    read().in_file("read last event of", path)
}

impl LastEvent {
    pub(crate) fn of(change: &Change<'_>, sub: u64, arrived_ms: i64) -> Self {
        let kv = &change.kv;
        let put = change.kind == Kind::Put;
        let only_put = |number| if put { number } else { 0 };
        let mut record = Vec::new();
        change.record(&mut record);
        Self {
            key: kv.key.to_vec(),
            revision: Revision::new(kv.mod_revision, sub.cast_signed()),
            tombstone: !put,
            create_revision: only_put(kv.create_revision),
            version: only_put(kv.version),
            lease: only_put(kv.lease),
            value_sha256: Sha256::digest(if put { kv.value } else { &[] }).into(),
            record_sha256: Sha256::digest(&record).into(),
            arrived_ms,
        }
    }
}

/// Decodes the last block alone.
pub(crate) fn last_event_of_ebd(path: &Path, tail: &Tail) -> Result<LastEvent> {
    let file = File::open(path).map_err(Error::io("open"))?;
    let trailer = &tail.trailer;
    let mut body = Vec::new();
    read_section(
        &file,
        trailer.last_block_offset,
        trailer.index_offset,
        Section::Block,
        &mut body,
    )?;
    let mut decompress = BlockDecoder::new()?;
    let block = decompress.block(&body)?;
    let mut order = MainOrder::inside(block.head.first_revision, block.head.first_sub);
    let mut last = None;
    block.walk(&mut order, |stored, change, sub| {
        last = Some((*change, sub, stored.arrived_ms));
        Ok(())
    })?;
    let (change, sub, arrived_ms) =
        last.ok_or_else(|| Error::corrupt(".ebd: its last block is empty"))?;
    Ok(LastEvent::of(&change, sub, arrived_ms))
}

fn last_event_of_json(path: &Path, format: Format, cancel: &Cancel) -> Result<LastEvent> {
    let mut source = Source::open(path, format)?;
    source.for_each(cancel, |_| Ok(()))?;
    source.last_event(path)
}
