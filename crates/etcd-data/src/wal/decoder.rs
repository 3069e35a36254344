//! Record by record through the files of a log, by etcd's own rules (server/storage/wal/decoder.go).
//!
//! A zero length, or the end of a file, ends that file. A record that cannot be had whole, because the file ends or
//! its length points beyond it, is torn wherever it stands. One that is there but does not decode, or whose crc is
//! wrong, is torn only in the last file and only if one of its 512-byte sectors is all zeros: the disk had not
//! written it yet. Anything else is damage.

use std::fs::File;
use std::io::{BufReader, Read};

use crate::error::{Error, Result};
use crate::wal::frame::{CRC, FrameLength, LENGTH_BYTES, Record};
use crate::wal::names::WalFile;

/// Longest record that is read. etcd writes what fits a request: 1.5 MiB unless told otherwise.
pub const MAX_RECORD_BYTES: u64 = 512 << 20;
/// etcd 3.4 refuses a record of this size or more, also its own.
const MAX_RECORD_BYTES_3_4: u64 = 10 << 20;
const READ_BYTES: usize = 256 << 10;
const SECTOR_BYTES: u64 = 512;

/// What the etcd of that minor version refuses to read.
#[must_use]
pub fn max_record_bytes(minor: Option<u32>) -> Option<u64> {
    (minor == Some(4)).then_some(MAX_RECORD_BYTES_3_4)
}

/// What comes next in a log.
#[derive(Debug)]
pub enum Step<'a> {
    /// A whole record whose crc is right.
    Record(Record<'a>),
    /// The log ends here, in order.
    End,
    /// The log ends in a record that was not written whole.
    Torn(Torn),
}

/// Where whole records end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Torn {
    /// The file's name.
    pub file: String,
    /// Bytes of whole records in it.
    pub offset: u64,
    /// Bytes in the file.
    pub file_bytes: u64,
    /// Only there can it be cut off.
    pub in_last_file: bool,
    /// In words.
    pub what: String,
}

/// Reads one log.
#[derive(Debug)]
pub struct Decoder<'f> {
    files: &'f [WalFile],
    open: Option<Open>,
    crc: u32,
    buffer: Vec<u8>,
    max_record_bytes: Option<u64>,
}

#[derive(Debug)]
struct Open {
    reader: BufReader<File>,
    bytes: u64,
    /// Bytes of whole records so far.
    offset: u64,
}

impl<'f> Decoder<'f> {
    /// `max_record_bytes`: as the etcd that will read the log has it; longer is damage, not torn.
    #[must_use]
    pub fn new(files: &'f [WalFile], max_record_bytes: Option<u64>) -> Self {
        Decoder {
            files,
            open: None,
            crc: 0,
            buffer: Vec::new(),
            max_record_bytes,
        }
    }

    /// The next record. `Err`: damage, or the file cannot be read; it names file and offset.
    pub fn step(&mut self) -> Result<Step<'_>> {
        let length = loop {
            let Some(file) = self.files.first() else {
                return Ok(Step::End);
            };
            let open = match &mut self.open {
                Some(open) => open,
                none => none.insert(Open::file(file)?),
            };
            let mut field = [0; LENGTH_BYTES as usize];
            let got = fill(&mut open.reader, &mut field, file)?;
            let field = u64::from_le_bytes(field);
            if got == 0 || (got == field_bytes() && field == 0) {
                self.files = self.files.get(1..).unwrap_or_default();
                self.open = None;
                continue;
            }
            if got < field_bytes() {
                return Ok(Step::Torn(self.torn("the file ends inside a length")));
            }
            break FrameLength::decode(field);
        };
        self.record(length)
    }

    /// Bytes of whole records in the file that was read last; 0 once the log has ended.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.offset)
    }

    /// The crc after the last record.
    #[must_use]
    pub fn crc(&self) -> u32 {
        self.crc
    }

    fn record(&mut self, length: FrameLength) -> Result<Step<'_>> {
        let FrameLength { record, pad } = length;
        let whole = record.saturating_add(pad);
        if let Some(limit) = self.max_record_bytes
            && whole >= limit
        {
            return Err(self.damage(format!(
                "a record of {record} bytes; this etcd takes less than {limit}"
            )));
        }
        let (Some(file), Some(open)) = (self.files.first(), &mut self.open) else {
            return Ok(Step::End);
        };
        if whole > open.bytes.saturating_sub(open.offset) {
            let what = format!("a record of {record} bytes would end behind the end of the file");
            return Ok(Step::Torn(self.torn(&what)));
        }
        if whole > MAX_RECORD_BYTES {
            return Err(Error::Unsupported {
                what: format!(
                    "WAL file {}: at offset {}: a record of {record} bytes; at most {MAX_RECORD_BYTES} are read",
                    file.name, open.offset
                ),
            });
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.resize(usize::try_from(whole).unwrap_or(usize::MAX), 0);
        let got = fill(&mut open.reader, &mut buffer, file);
        self.buffer = buffer;
        if got? < self.buffer.len() {
            return Ok(Step::Torn(self.torn("the file ends inside a record")));
        }
        self.checked(length)
    }

    /// The record in the buffer.
    fn checked(&mut self, FrameLength { record, pad }: FrameLength) -> Result<Step<'_>> {
        let bytes = usize::try_from(record).unwrap_or(usize::MAX);
        let buffer = std::mem::take(&mut self.buffer);
        let decoded = Record::decode(buffer.get(..bytes).unwrap_or_default()).map(|found| {
            let crc = match found.kind {
                CRC => self.crc,
                _ => crc32c::crc32c_append(self.crc, found.data),
            };
            let agrees = match found.kind {
                // The first record of a log has nothing to agree with.
                CRC => crc == 0 || crc == found.crc,
                _ => crc == found.crc,
            };
            (found.kind, found.crc, agrees)
        });
        self.buffer = buffer;
        let wrong = match decoded {
            Err(reason) => Some(format!("it is no record: {reason}")),
            Ok((_, _, false)) => Some("its crc is wrong".to_owned()),
            Ok((_, crc, true)) => {
                self.crc = crc;
                None
            }
        };
        if let Some(wrong) = wrong {
            let is_crc_record = matches!(decoded, Ok((CRC, ..)));
            if !is_crc_record && self.files.len() == 1 && self.has_empty_sector() {
                let what = format!("{wrong}, and part of it was never written");
                return Ok(Step::Torn(self.torn(&what)));
            }
            return Err(self.damage(wrong));
        }
        if let Some(open) = &mut self.open {
            let frame = record.saturating_add(pad).saturating_add(LENGTH_BYTES);
            open.offset = open.offset.saturating_add(frame);
        }
        let message = self.buffer.get(..bytes).unwrap_or_default();
        Ok(Step::Record(Record::decode(message).unwrap_or_default()))
    }

    /// etcd's test of a torn write, on sector boundaries of the file.
    fn has_empty_sector(&self) -> bool {
        let start = self.offset().saturating_add(LENGTH_BYTES);
        let to_boundary = (SECTOR_BYTES - start % SECTOR_BYTES) as usize;
        let (head, rest) = self
            .buffer
            .split_at_checked(to_boundary)
            .unwrap_or((&self.buffer, &[]));
        let is_empty = |sector: &[u8]| sector.iter().all(|&byte| byte == 0);
        (!head.is_empty() && is_empty(head)) || rest.chunks(SECTOR_BYTES as usize).any(is_empty)
    }

    fn torn(&self, what: &str) -> Torn {
        let open = self.open.as_ref();
        Torn {
            file: self
                .files
                .first()
                .map_or_else(String::new, |file| file.name.clone()),
            offset: self.offset(),
            file_bytes: open.map_or(0, |open| open.bytes),
            in_last_file: self.files.len() == 1,
            what: what.to_owned(),
        }
    }

    fn damage(&self, what: String) -> Error {
        let name = self.files.first().map_or("", |file| &file.name);
        Error::Checksum {
            what: format!("WAL file {name}: at offset {}: {what}", self.offset()),
        }
    }
}

impl Open {
    fn file(file: &WalFile) -> Result<Self> {
        let failed = |e| Error::io("open", &file.path, e);
        let opened = File::open(&file.path).map_err(failed)?;
        let bytes = opened.metadata().map_err(failed)?.len();
        Ok(Open {
            reader: BufReader::with_capacity(READ_BYTES, opened),
            bytes,
            offset: 0,
        })
    }
}

const fn field_bytes() -> usize {
    LENGTH_BYTES as usize
}

/// As many bytes as there are.
fn fill(reader: &mut impl Read, buffer: &mut [u8], file: &WalFile) -> Result<usize> {
    let mut got = 0;
    while let Some(rest) = buffer.get_mut(got..)
        && !rest.is_empty()
    {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(count) => got = got.saturating_add(count),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Error::io("read", &file.path, e)),
        }
    }
    Ok(got)
}
