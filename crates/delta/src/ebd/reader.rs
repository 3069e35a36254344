//! Reads a finished `.ebd` front to back. Whoever reads to the end has checked the whole container: every checksum,
//! the index, the trailer and the digest.

use crate::ebd::header::Prologue;
use crate::ebd::trailer::DIGEST_BYTES;
use crate::ebd::{
    Block, BlockDecoder, FLAG_OPEN, Header, INDEX_ENTRY_BYTES, IndexEntry, Input, LEASE_BYTES,
    Lease, PROLOGUE_BYTES, Section, SectionHead, TRAILER_BYTES, Tail,
};
use crate::error::{Error, InFile, Result};
use crate::wire::LittleEndian;
use sha2::Digest;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A finished `.ebd`, read one block at a time.
pub struct EbdReader {
    input: Input,
    header: Header,
    tail: Tail,
    body: Vec<u8>,
    decompress: BlockDecoder,
    seen: Seen,
    sha256: Option<[u8; 32]>,
}

/// What has gone by, to be compared with index and trailer.
#[derive(Default)]
struct Seen {
    blocks: u64,
    events: u64,
    event_bytes: u64,
    last_block_offset: u64,
    leases_offset: u64,
    /// CRC32C of the index that these blocks must have: constant memory, whatever their number.
    index_crc: u32,
    first: Option<(i64, i64)>,
    last: Option<(i64, i64)>,
    open: bool,
}

impl EbdReader {
    /// Reads header and trailer.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_inner(path).in_file("open", path)
    }

    fn open_inner(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("open"))?;
        let file_bytes = file.metadata().map_err(Error::io("stat"))?.len();
        let (mut input, header) = read_header(file, file_bytes)?;
        let tail = read_tail(input.file(), file_bytes)?;
        input.set_limit(file_bytes.saturating_sub(TRAILER_BYTES as u64));
        let decompress = BlockDecoder::new()?;
        Ok(Self {
            input,
            header,
            tail,
            body: Vec::new(),
            decompress,
            seen: Seen::default(),
            sha256: None,
        })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Trailer and digest, as the file states them.
    #[must_use]
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// SHA-256 of the whole file, digest included: what an object store would compute. Known at the end.
    #[must_use]
    pub fn sha256(&self) -> Option<[u8; 32]> {
        self.sha256
    }

    /// Compressed bytes read so far, for progress.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.input.offset()
    }

    /// The next block, or `None` at the end, when everything has been compared.
    pub fn next_block(&mut self) -> Result<Option<Block<'_>>> {
        if self.sha256.is_some() {
            return Ok(None);
        }
        loop {
            let offset = self.input.offset();
            let Some(head) = self.input.next_head()? else {
                return Err(Error::corrupt(".ebd: the sections end without an index"));
            };
            match head.section {
                Section::Block => return self.block(&head, offset).map(Some),
                Section::Leases => {
                    self.input.stream(&head, |_| ())?;
                    self.seen.leases_offset = offset;
                }
                Section::Skipped => self.input.stream(&head, |_| ())?,
                Section::Index => return self.end(&head, offset).map(|()| None),
            }
        }
    }

    fn block(&mut self, head: &SectionHead, offset: u64) -> Result<Block<'_>> {
        self.input
            .read_vec(head.body_bytes, &mut self.body, "block")?;
        head.check_body(&self.body, offset)?;
        let block = self.decompress.block(&self.body)?;
        self.seen.block(offset, &block, head.flags & FLAG_OPEN != 0);
        Ok(block)
    }

    fn end(&mut self, head: &SectionHead, offset: u64) -> Result<()> {
        self.read_index(head, offset)?;
        if self.input.remaining() != 0 {
            return Err(Error::corrupt(format!(
                ".ebd: {} bytes behind the index",
                self.input.remaining()
            )));
        }
        self.seen.compare(offset, &self.tail, &self.header)?;
        let end = self.input.offset();
        self.input
            .set_limit(end.saturating_add(TRAILER_BYTES as u64));
        self.input
            .read_array::<{ TRAILER_BYTES - DIGEST_BYTES }>("trailer")?;
        let digest: [u8; 32] = self.input.digest().finalize().into();
        if digest != self.tail.digest {
            return Err(Error::Checksum(
                "the SHA-256 at the end of the .ebd is not that of its bytes".into(),
            ));
        }
        self.input.read_array::<DIGEST_BYTES>("digest")?;
        self.sha256 = Some(self.input.digest().finalize().into());
        Ok(())
    }

    fn read_index(&mut self, head: &SectionHead, offset: u64) -> Result<()> {
        let entries = self.seen.blocks.checked_mul(INDEX_ENTRY_BYTES as u64);
        if entries != Some(head.body_bytes as u64) {
            return Err(Error::corrupt(format!(
                ".ebd index at byte {offset}: {} bytes for {} blocks",
                head.body_bytes, self.seen.blocks
            )));
        }
        let mut crc = 0;
        self.input
            .stream(head, |piece| crc = crc32c::crc32c_append(crc, piece))?;
        if crc == self.seen.index_crc {
            return Ok(());
        }
        Err(Error::corrupt(format!(
            ".ebd index at byte {offset}: it does not describe the blocks before it"
        )))
    }
}

impl Seen {
    fn block(&mut self, offset: u64, block: &Block<'_>, open: bool) {
        let head = &block.head;
        self.blocks += 1;
        self.events = self.events.saturating_add(u64::from(head.events));
        self.event_bytes = self.event_bytes.saturating_add(head.event_bytes as u64);
        self.last_block_offset = offset;
        self.index_crc =
            crc32c::crc32c_append(self.index_crc, &IndexEntry::of(offset, head).encode());
        self.first
            .get_or_insert((head.first_revision, head.first_time_ms));
        self.last = Some((head.last_revision, head.last_time_ms));
        self.open = open;
    }

    fn compare(&self, index_offset: u64, tail: &Tail, header: &Header) -> Result<()> {
        let trailer = &tail.trailer;
        let same = self.blocks == trailer.blocks
            && self.events == trailer.events
            && self.event_bytes == trailer.event_bytes
            && self.last_block_offset == trailer.last_block_offset
            && self.leases_offset == trailer.leases_offset
            && index_offset == trailer.index_offset
            && self.first == Some((trailer.first_revision, trailer.first_time_ms))
            && self.last == Some((trailer.last_revision, trailer.last_time_ms))
            && header.start_revision == trailer.first_revision;
        if !same {
            return Err(Error::corrupt(
                ".ebd trailer: it does not describe the blocks before it",
            ));
        }
        if self.open {
            return Err(Error::corrupt(format!(
                ".ebd: revision {} is not complete",
                trailer.last_revision
            )));
        }
        Ok(())
    }
}

/// Reads prologue and header; what follows them is at the input's offset.
pub(crate) fn read_header(file: File, file_bytes: u64) -> Result<(Input, Header)> {
    let mut input = Input::new(file, file_bytes);
    let prologue = Prologue::decode(&input.read_array::<PROLOGUE_BYTES>(".ebd prologue")?)?;
    let mut body = Vec::new();
    input.read_vec(prologue.body_bytes, &mut body, ".ebd header")?;
    let crc = crc32c::crc32c(&body);
    if crc != prologue.body_crc {
        return Err(Error::Checksum(format!(
            ".ebd header: CRC32C is {crc:08x}, stored is {:08x}",
            prologue.body_crc
        )));
    }
    Ok((input, Header::decode_body(&body)?))
}

/// Reads the end of a file.
pub(crate) fn read_tail(file: &File, file_bytes: u64) -> Result<Tail> {
    let Some(offset) = file_bytes.checked_sub(TRAILER_BYTES as u64) else {
        return Err(Error::truncated(format!(
            "{file_bytes} bytes are too few for an .ebd trailer"
        )));
    };
    let mut bytes = [0; TRAILER_BYTES];
    file.read_exact_at(&mut bytes, offset)
        .map_err(Error::io("read"))?;
    Tail::decode(&bytes, file_bytes)
}

/// Reads one section by the offset that index or trailer state; `body` holds its body then.
pub(crate) fn read_section(
    file: &File,
    offset: u64,
    limit: u64,
    wanted: Section,
    body: &mut Vec<u8>,
) -> Result<()> {
    let mut input = Input::new(file.try_clone().map_err(Error::io("open"))?, limit);
    input.seek(offset);
    let head = input
        .next_head()?
        .ok_or_else(|| Error::truncated(format!("no section at byte {offset}")))?;
    if head.section != wanted {
        return Err(Error::corrupt(format!(
            "the section at byte {offset} is {:?}, expected {wanted:?}",
            head.section
        )));
    }
    input.read_vec(head.body_bytes, body, "section body")?;
    head.check_body(body, offset)
}

/// Reads the body of a lease section.
pub(crate) fn decode_leases(body: &[u8]) -> Result<Vec<Lease>> {
    if !body.len().is_multiple_of(LEASE_BYTES) {
        return Err(Error::corrupt(format!(
            ".ebd leases: {} bytes are not a whole number of leases",
            body.len()
        )));
    }
    let lease = |bytes| -> Result<Lease> {
        let mut fields = LittleEndian::new(bytes, ".ebd leases");
        Ok(Lease {
            id: fields.i64()?,
            granted_ttl: fields.i64()?,
        })
    };
    body.chunks_exact(LEASE_BYTES).map(lease).collect()
}
