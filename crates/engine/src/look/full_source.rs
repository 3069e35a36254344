//! What a full knows about a question.

use crate::look::entry::{Entry, Head};
use crate::look::full::Full;
use crate::look::query::Side;
use crate::look::row::NO_TIME;
use crate::look::{Look, Query};
use crate::{Error, Result};
use bbolt::{Bucket, Cancel, Chunks, Live};
use etcd_data::kv::KeyValueRef;
use etcd_data::proto::take_varint;
use etcd_data::records::{KEY_BUCKET, RawRecord};
use etcd_data::{RecordKey, Revision};
use pack::SeekableFile;

/// Records between two looks at the cancel flag.
const CANCEL_RECORDS: u32 = 8192;
/// Threads that decompress ahead of a reader who goes front to back.
const DECOMPRESSING_THREADS: usize = 2;
/// Reading backwards is given up when it has cost this part of what reading all would, and at least so many frames.
const BACKWARDS_PART: u64 = 8;
const BACKWARDS_MIN_FRAMES: u64 = 4;
/// Pages (of other buckets, or free) with records that are none. More than that is read by tree.
const MAX_DOUBTFUL_PAGES: usize = 1 << 20;

/// How a full was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullRead {
    /// The newest state of the one key was found here: nothing older can change the answer.
    pub found: bool,
    /// The container was decompressed once from front to back.
    pub swept: bool,
}

/// What a record is to a question.
enum Record<'a> {
    Other,
    /// Above everything that is asked for.
    Beyond,
    Hit(Entry<'a>),
    /// Neither etcd nor we write this.
    Damaged,
}

impl Look {
    /// Reads what the full knows about the question, but for changes up to `after`, which older objects know better.
    /// COMPACTED when the full cannot know what is asked.
    pub fn add_full(
        &mut self,
        full: &Full,
        source: u32,
        side: Side,
        after: i64,
        cancel: &Cancel,
    ) -> Result<FullRead> {
        self.refuse_compacted(side, full.facts().compacted)?;
        let mut read = FullRead {
            found: false,
            swept: false,
        };
        let Some(bucket) = full.db.bucket(KEY_BUCKET)? else {
            return Ok(read);
        };
        let reader = Reader {
            source,
            side,
            after,
            highest: self.query.highest_asked(side),
        };
        if self.query.ends_at_first_hit() {
            match self.read_back(&bucket, full.seekable.as_ref(), &reader, cancel)? {
                Some(found) => read.found = found,
                None => read.swept = true,
            }
        } else {
            read.swept = full.seekable.is_some();
        }
        match (&full.seekable, read.swept) {
            (Some(file), true) => {
                let mut chunks = file.front_to_back(DECOMPRESSING_THREADS)?;
                self.read_front_to_back(&bucket, &mut chunks, &reader, cancel)?;
            }
            (None, false) if !self.query.ends_at_first_hit() => {
                self.read_by_tree(&bucket, &reader, cancel)?
            }
            _ => {}
        }
        Ok(read)
    }

    /// From the newest record on to the first that is of the key; `None` when that costs too much.
    fn read_back(
        &mut self,
        bucket: &Bucket<'_>,
        container: Option<&SeekableFile>,
        reader: &Reader,
        cancel: &Cancel,
    ) -> Result<Option<bool>> {
        let spent = |file: &SeekableFile| file.frames_decompressed();
        let limit = container.map(|file| {
            let allowed = (file.frames() / BACKWARDS_PART).max(BACKWARDS_MIN_FRAMES);
            spent(file).saturating_add(allowed)
        });
        let mut scan =
            bucket.scan_back_from(&Revision::new(reader.highest, i64::MAX).to_tombstone_key())?;
        let mut unpolled = 0;
        while let Some((key, value)) = scan.next()? {
            poll(&mut unpolled, cancel)?;
            let raw = RawRecord { key, value };
            match reader.read(&self.query, raw, 0) {
                Record::Other | Record::Beyond => {}
                Record::Damaged => return Err(explain(raw)),
                Record::Hit(entry) => {
                    self.take(reader.side, entry)?;
                    return Ok(Some(true));
                }
            }
            if container.map(spent) > limit {
                return Ok(None);
            }
        }
        Ok(Some(false))
    }

    fn read_by_tree(
        &mut self,
        bucket: &Bucket<'_>,
        reader: &Reader,
        cancel: &Cancel,
    ) -> Result<()> {
        let from = Revision::new(reader.after.saturating_add(1).max(0), 0);
        let mut scan = bucket.scan_from(&from.to_key())?;
        let mut unpolled = 0;
        while let Some((key, value)) = scan.next()? {
            poll(&mut unpolled, cancel)?;
            let raw = RawRecord { key, value };
            match reader.read(&self.query, raw, 0) {
                Record::Other => {}
                Record::Beyond => break,
                Record::Damaged => return Err(explain(raw)),
                Record::Hit(entry) => self.take(reader.side, entry)?,
            }
        }
        Ok(())
    }

    fn read_front_to_back(
        &mut self,
        bucket: &Bucket<'_>,
        chunks: &mut dyn Chunks,
        reader: &Reader,
        cancel: &Cancel,
    ) -> Result<()> {
        let mut doubtful: Vec<u64> = Vec::new();
        let live = bucket.sweep(chunks, cancel, |swept| -> Result<()> {
            let raw = RawRecord {
                key: swept.key,
                value: swept.value,
            };
            match reader.read(&self.query, raw, swept.page) {
                Record::Hit(entry) => self.take(reader.side, entry)?,
                Record::Damaged
                    if doubtful.last() != Some(&swept.page)
                        && doubtful.len() < MAX_DOUBTFUL_PAGES =>
                {
                    doubtful.push(swept.page);
                }
                Record::Damaged | Record::Other | Record::Beyond => {}
            }
            Ok(())
        })?;
        let is_live = |live: &Live| doubtful.iter().any(|page| live.contains(*page));
        if doubtful.len() == MAX_DOUBTFUL_PAGES || is_live(&live) {
            // Says what is wrong, and with which record. What is found twice is told once.
            self.read_by_tree(bucket, reader, cancel)?;
        }
        self.live.insert(reader.source, live);
        Ok(())
    }
}

struct Reader {
    source: u32,
    side: Side,
    after: i64,
    highest: i64,
}

impl Reader {
    #[inline]
    fn read<'a>(&self, query: &Query, raw: RawRecord<'a>, page: u64) -> Record<'a> {
        let Some(record) = RecordKey::parse(raw.key) else {
            return Record::Damaged;
        };
        let main = record.revision.main;
        if main > self.highest {
            return Record::Beyond;
        }
        if main <= self.after {
            return Record::Other;
        }
        // etcd writes the key first; the rest is decoded only when it is asked for. No bytes at all: a placeholder.
        match first_key(raw.value) {
            Some(key) if !query.keys.hold(key) => return Record::Other,
            None if raw.value.is_empty() => return Record::Other,
            _ => {}
        }
        let Ok(kv) = KeyValueRef::decode(raw.value) else {
            return Record::Damaged;
        };
        if kv.key.is_empty() || !query.keys.hold(kv.key) {
            return Record::Other;
        }
        let only_put = |number| if record.tombstone { 0 } else { number };
        Record::Hit(Entry {
            head: Head {
                main,
                sub: record.revision.sub,
                create: only_put(kv.create_revision),
                version: only_put(kv.version),
                lease: only_put(kv.lease),
                arrived_ms: NO_TIME,
                page,
                source: self.source,
                tombstone: record.tombstone,
                ..Head::default()
            },
            key: kv.key,
            value: if record.tombstone { &[] } else { kv.value },
        })
    }
}

/// The key, if the value begins with it.
#[inline]
fn first_key(value: &[u8]) -> Option<&[u8]> {
    let mut rest = value.strip_prefix(b"\x0A")?;
    let length = usize::try_from(take_varint(&mut rest).ok()?).ok()?;
    rest.get(..length)
}

/// The error of whoever reads the record whole.
fn explain(raw: RawRecord<'_>) -> Error {
    let decoded = raw
        .record_key()
        .and_then(|key| raw.key_value(key.revision).map(drop));
    match decoded {
        Err(error) => error.into(),
        Ok(()) => etcd_data::Error::corrupt("key bucket: a record cannot be read").into(),
    }
}

fn poll(unpolled: &mut u32, cancel: &Cancel) -> Result<()> {
    *unpolled += 1;
    if *unpolled >= CANCEL_RECORDS {
        cancel.check()?;
        *unpolled = 0;
    }
    Ok(())
}
