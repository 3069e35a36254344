//! Sections: `kind (4) | flags u32 | body length u32 | CRC32C of these 12 bytes and the body u32 | body`.

use crate::error::{Error, Result};
use crate::wire::LittleEndian;

pub(crate) const SECTION_HEAD_BYTES: usize = 16;
/// Who does not know the kind may skip the section.
pub(crate) const FLAG_OPTIONAL: u32 = 1;
/// The last revision of the block was not complete when the block was sealed.
pub(crate) const FLAG_OPEN: u32 = 2;

/// What a section is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Block,
    Leases,
    Index,
    /// A kind that this build does not know and may skip.
    Skipped,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SectionHead {
    pub(crate) section: Section,
    pub(crate) flags: u32,
    pub(crate) body_bytes: usize,
    crc: u32,
    /// CRC32C of the first 12 bytes, to be continued over the body.
    pub(super) crc_of_head: u32,
}

impl Section {
    fn kind(self) -> [u8; 4] {
        match self {
            Self::Block => *b"EVTS",
            Self::Leases => *b"LEAS",
            Self::Index => *b"INDX",
            Self::Skipped => *b"\0\0\0\0",
        }
    }
}

impl SectionHead {
    /// Head and body as they stand in a file.
    pub(crate) fn encode(
        section: Section,
        flags: u32,
        body: &[&[u8]],
    ) -> Result<[u8; SECTION_HEAD_BYTES]> {
        let length = body.iter().map(|part| part.len()).sum::<usize>();
        let length = u32::try_from(length).map_err(|_| {
            Error::Unsupported(format!(
                "a section of {length} bytes does not fit its 32-bit length"
            ))
        })?;
        let mut front = Vec::with_capacity(SECTION_HEAD_BYTES);
        front.extend_from_slice(&section.kind());
        front.extend_from_slice(&flags.to_le_bytes());
        front.extend_from_slice(&length.to_le_bytes());
        let crc = body.iter().fold(crc32c::crc32c(&front), |crc, part| {
            crc32c::crc32c_append(crc, part)
        });
        front.extend_from_slice(&crc.to_le_bytes());
        front.try_into().map_err(|_| Error::corrupt("section head"))
    }

    /// Reads a head; an unknown kind is skipped only if it says that it may be.
    pub(crate) fn decode(bytes: &[u8; SECTION_HEAD_BYTES]) -> Result<Self> {
        let mut fields = LittleEndian::new(bytes, ".ebd section");
        let kind = fields.array::<4>()?;
        let flags = fields.u32()?;
        let body_bytes = fields.u32()? as usize;
        let crc = fields.u32()?;
        let section = [Section::Block, Section::Leases, Section::Index]
            .into_iter()
            .find(|known| known.kind() == kind);
        let section = match section {
            Some(known) => known,
            None if flags & FLAG_OPTIONAL != 0 => Section::Skipped,
            None => {
                return Err(Error::Unsupported(format!(
                    ".ebd section \"{}\" is not known and not optional; use the release that wrote the file",
                    kind.escape_ascii()
                )));
            }
        };
        let crc_of_head = crc32c::crc32c(bytes.get(..12).unwrap_or_default());
        Ok(Self {
            section,
            flags,
            body_bytes,
            crc,
            crc_of_head,
        })
    }

    /// Compares the stored checksum with that of head and body.
    pub(crate) fn check_body(&self, body: &[u8], offset: u64) -> Result<()> {
        self.check_crc(crc32c::crc32c_append(self.crc_of_head, body), offset)
    }

    pub(super) fn check_crc(&self, crc: u32, offset: u64) -> Result<()> {
        if crc == self.crc {
            return Ok(());
        }
        Err(Error::Checksum(format!(
            "section at byte {offset}: CRC32C is {crc:08x}, stored is {:08x}",
            self.crc
        )))
    }
}

/// The body of one whole section in memory, kind, length and checksum compared.
pub(crate) fn section_body(bytes: &[u8], wanted: Section) -> Result<&[u8]> {
    let (head, body) = bytes
        .split_first_chunk::<SECTION_HEAD_BYTES>()
        .ok_or_else(|| {
            Error::truncated(format!("{} bytes are too few for a section", bytes.len()))
        })?;
    let head = SectionHead::decode(head)?;
    if head.section != wanted || head.body_bytes != body.len() {
        return Err(Error::corrupt(format!(
            "a section of {:?} with {} body bytes, expected {wanted:?} with {}",
            head.section,
            head.body_bytes,
            body.len()
        )));
    }
    head.check_body(body, 0)?;
    Ok(body)
}
