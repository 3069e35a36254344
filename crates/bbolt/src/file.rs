//! Pages by number: every read is bounded by the high-water mark and the file's length before it is made.

use crate::le::u32_at;
use crate::meta::{MAX_PAGE_BYTES, META_PAGE_BYTES, MIN_PAGE_BYTES};
use crate::page::{BRANCH, ELEMENT_BYTES, LEAF, PAGE_HEADER_BYTES, PageHeader};
use crate::source::Source;
use crate::{Error, FIRST_PAGE, MAX_KEY_BYTES, Meta, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A branch holds either less than a page or at most four keys of 32 KiB; more is damage, not data.
pub(crate) const MAX_BRANCH_EXTRA_BYTES: u64 = 1 << 20;

/// Per page, on average: reads from memory take a microsecond or two.
const DISK_READ: Duration = Duration::from_micros(15);

/// Whether to ask for pages ahead: on a disk it saves most of the waiting, in memory it only costs.
pub(crate) fn comes_from_disk(elapsed: Duration, pages: usize) -> bool {
    elapsed > DISK_READ.saturating_mul(u32::try_from(pages).unwrap_or(u32::MAX))
}

/// An open file and the meta that counts.
#[derive(Debug)]
pub(crate) struct PageFile {
    pub source: Source,
    pub path: PathBuf,
    pub meta: Meta,
    /// Both metas as found on pages 0 and 1.
    pub metas: [Result<Meta, String>; 2],
    pub file_bytes: u64,
    /// Pages that can be read: the high-water mark, or fewer when the file was cut off.
    pub pages: u64,
}

impl PageFile {
    /// Finds the metas. Does not mind a file that is shorter than its high-water mark.
    pub fn new(source: Source, path: &Path) -> Result<Self> {
        let file_bytes = source
            .bytes()
            .map_err(|error| Error::io("stat", path, error))?;
        let metas =
            find_metas(&source, file_bytes).map_err(|error| Error::io("read", path, error))?;
        let meta = match &metas {
            [Ok(first), Ok(second)] if second.txid > first.txid => *second,
            [Ok(first), _] => *first,
            [Err(_), Ok(second)] => *second,
            [Err(what), Err(_)] => {
                return Err(Error::NoMeta {
                    path: path.to_owned(),
                    what: what.clone(),
                });
            }
        };
        let stored = file_bytes
            .checked_div(u64::from(meta.page_size))
            .unwrap_or(0);
        Ok(Self {
            source,
            path: path.to_owned(),
            meta,
            metas,
            file_bytes,
            pages: meta.high_water.min(stored),
        })
    }

    pub fn page_bytes(&self) -> usize {
        self.meta.page_size as usize
    }

    /// Bytes that the meta asks for.
    pub fn needed_bytes(&self) -> u64 {
        self.meta
            .high_water
            .saturating_mul(u64::from(self.meta.page_size))
    }

    pub fn corrupt(&self, page: u64, what: impl Into<String>) -> Error {
        Error::corrupt(&self.path, page, what)
    }

    /// Fills `bytes` from page `first` on; the caller has compared the range with `pages`.
    pub fn read_slots(&self, first: u64, bytes: &mut [u8]) -> Result<()> {
        self.read_within(first, 0, bytes)
    }

    /// Fills `bytes` from byte `at` of the page that begins at slot `first`.
    pub fn read_within(&self, first: u64, at: u64, bytes: &mut [u8]) -> Result<()> {
        let offset = first
            .checked_mul(u64::from(self.meta.page_size))
            .and_then(|start| start.checked_add(at));
        let Some(offset) = offset else {
            return Err(self.corrupt(first, "the page lies beyond 2^64 bytes"));
        };
        self.source
            .read_exact_at(bytes, offset)
            .map_err(|error| Error::io("read", &self.path, error))
    }

    /// Asks the system to have these slots ready soon. Only a hint: what comes of it shows in later reads.
    pub fn read_ahead(&self, first: u64, slots: usize) {
        let page_bytes = u64::from(self.meta.page_size);
        self.source.read_ahead(
            first.saturating_mul(page_bytes),
            page_bytes.saturating_mul(slots as u64),
        );
    }

    /// The number of slots that a tree page occupies, once its header has proved sound.
    pub fn slots_of(&self, id: u64, header: &PageHeader) -> Result<u64> {
        if header.id != id {
            return Err(self.corrupt(id, format!("its header says page {}", header.id)));
        }
        if header.flags != BRANCH && header.flags != LEAF {
            return Err(self.corrupt(
                id,
                format!("flags {:#06x} are neither branch nor leaf", header.flags),
            ));
        }
        let slots = u64::from(header.overflow).saturating_add(1);
        let end = id.saturating_add(slots);
        if end > self.pages {
            return Err(self.corrupt(
                id,
                format!(
                    "it reaches to page {end}, the file ends at page {}",
                    self.pages
                ),
            ));
        }
        let bytes = slots.saturating_mul(u64::from(self.meta.page_size));
        let limit = MAX_BRANCH_EXTRA_BYTES.saturating_add(u64::from(self.meta.page_size));
        if header.flags == BRANCH && bytes > limit {
            return Err(self.corrupt(
                id,
                format!("a branch of {bytes} bytes, the most is {limit}"),
            ));
        }
        Ok(slots)
    }

    /// Refuses ids that no tree may hold.
    pub fn check_id(&self, id: u64) -> Result<()> {
        if id < FIRST_PAGE || id >= self.pages {
            let what = format!(
                "a page id outside {FIRST_PAGE}..{} is referred to",
                self.pages
            );
            return Err(self.corrupt(id, what));
        }
        Ok(())
    }

    /// Header of a tree page.
    pub fn read_header(&self, id: u64) -> Result<PageHeader> {
        self.check_id(id)?;
        let mut bytes = [0; PAGE_HEADER_BYTES];
        self.read_slots(id, &mut bytes)?;
        let header = PageHeader::decode(&bytes).unwrap_or(PageHeader {
            id: 0,
            flags: 0,
            count: 0,
            overflow: 0,
        });
        self.slots_of(id, &header)?;
        Ok(header)
    }

    /// A whole tree page, overflow included.
    pub fn read_page(&self, id: u64, bytes: &mut Vec<u8>) -> Result<PageHeader> {
        self.check_id(id)?;
        resize(bytes, self.page_bytes()).map_err(|what| self.corrupt(id, what))?;
        self.read_slots(id, bytes)?;
        let header = PageHeader::decode(bytes).ok_or_else(|| self.corrupt(id, "no header"))?;
        let slots = self.slots_of(id, &header)?;
        if slots > 1 {
            let total = usize::try_from(slots)
                .unwrap_or(usize::MAX)
                .saturating_mul(self.page_bytes());
            resize(bytes, total).map_err(|what| self.corrupt(id, what))?;
            self.read_slots(id, bytes)?;
        }
        Ok(header)
    }

    /// One key of a leaf whose header has proved sound, without its values, which may be huge.
    pub fn read_leaf_key(&self, id: u64, header: &PageHeader, index: usize) -> Result<Vec<u8>> {
        let outside = || self.corrupt(id, crate::bucket::OUTSIDE);
        let total = u64::from(header.overflow)
            .saturating_add(1)
            .saturating_mul(self.page_bytes() as u64);
        let at = (index as u64)
            .saturating_mul(ELEMENT_BYTES as u64)
            .saturating_add(PAGE_HEADER_BYTES as u64);
        if at.saturating_add(ELEMENT_BYTES as u64) > total {
            return Err(outside());
        }
        let mut element = [0; ELEMENT_BYTES];
        self.read_within(id, at, &mut element)?;
        let key_at = at.saturating_add(u64::from(u32_at(&element, 4).unwrap_or(0)));
        let ksize = u32_at(&element, 8).unwrap_or(0) as usize;
        if ksize == 0 || ksize > MAX_KEY_BYTES || key_at.saturating_add(ksize as u64) > total {
            return Err(outside());
        }
        let mut key = vec![0; ksize];
        self.read_within(id, key_at, &mut key)?;
        Ok(key)
    }
}

/// Sets the length; a size that memory does not have is an error, not an abort.
pub(crate) fn resize(bytes: &mut Vec<u8>, length: usize) -> Result<(), String> {
    let more = length.saturating_sub(bytes.len());
    bytes
        .try_reserve_exact(more)
        .map_err(|_| format!("no memory for a page of {length} bytes"))?;
    bytes.resize(length, 0);
    Ok(())
}

/// Page 0 names the page size; when it is damaged, page 1 is looked for at each possible size.
fn find_metas(file: &Source, file_bytes: u64) -> std::io::Result<[Result<Meta, String>; 2]> {
    let first = read_meta(file, 0)?;
    if let Ok(meta) = &first {
        let second = read_meta(file, u64::from(meta.page_size))?;
        let second = second.and_then(|second| same_page_size(second, meta.page_size));
        return Ok([first, second]);
    }
    let mut size = MIN_PAGE_BYTES;
    while size <= MAX_PAGE_BYTES && u64::from(size) < file_bytes {
        let second =
            read_meta(file, u64::from(size))?.and_then(|second| same_page_size(second, size));
        if second.is_ok() {
            return Ok([first, second]);
        }
        size = size.saturating_mul(2);
    }
    Ok([first, Err("not found at any page size".to_owned())])
}

fn same_page_size(meta: Meta, expected: u32) -> Result<Meta, String> {
    if meta.page_size == expected {
        Ok(meta)
    } else {
        Err(format!(
            "page size is {}, but the page lies at {expected}",
            meta.page_size
        ))
    }
}

fn read_meta(file: &Source, offset: u64) -> std::io::Result<Result<Meta, String>> {
    let mut bytes = [0; META_PAGE_BYTES];
    match file.read_exact_at(&mut bytes, offset) {
        Ok(()) => Ok(Meta::decode(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(Meta::decode(&[])),
        Err(error) => Err(error),
    }
}
