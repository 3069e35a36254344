//! Prologue and header: who wrote the file, from which cluster, and what it continues.
//!
//! `magic (8) | version u16 | zero u16 | body length u32 | CRC32C of the body u32 | body (protobuf)`

use crate::error::{Error, Result};
use crate::wire::{Fields, LittleEndian, in_message, put_bytes_field, put_varint_field};

/// First bytes of every `.ebd`: a byte that is no text, the name, and line ends that a careless copy would change.
pub(crate) const MAGIC: [u8; 8] = *b"\x89EBD\r\n\x1A\n";
/// The version that this build reads and writes.
pub(crate) const VERSION: u16 = 1;
/// Bytes in front of the header's body.
pub(crate) const PROLOGUE_BYTES: usize = 20;
/// Largest header body: names and digests, nothing that grows.
pub(crate) const HEADER_BYTES_MAX: usize = 64 << 10;

/// Where a delta comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// Cluster id of the source; 0 when unknown (a delta of the Go tool).
    pub cluster_id: u64,
    /// Member id of the source; 0 when unknown.
    pub member_id: u64,
    /// etcd's version; empty when unknown.
    pub server_version: String,
    /// Name of the object that this delta continues; empty when unknown.
    pub predecessor_name: String,
    /// SHA-256 of that object.
    pub predecessor_sha256: Option<[u8; 32]>,
    /// First revision of the delta.
    pub start_revision: i64,
    /// When the file was begun, Unix milliseconds.
    pub created_ms: i64,
    /// The restore that this history comes from; `None` when it is not known to come from one.
    pub timeline: Option<String>,
}

impl Header {
    /// Prologue and body as they stand at the front of a file.
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        let body = self.encode_body();
        if body.len() > HEADER_BYTES_MAX {
            return Err(Error::Usage(format!(
                "the header takes {} bytes, allowed are {HEADER_BYTES_MAX}",
                body.len()
            )));
        }
        let mut out = Vec::with_capacity(PROLOGUE_BYTES + body.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
        out.extend_from_slice(&body);
        Ok(out)
    }

    fn encode_body(&self) -> Vec<u8> {
        let mut body = Vec::new();
        put_varint_field(&mut body, 1, self.cluster_id);
        put_varint_field(&mut body, 2, self.member_id);
        put_bytes_field(&mut body, 3, self.server_version.as_bytes());
        put_bytes_field(&mut body, 4, self.predecessor_name.as_bytes());
        if let Some(sha256) = &self.predecessor_sha256 {
            put_bytes_field(&mut body, 5, sha256);
        }
        put_varint_field(&mut body, 6, self.start_revision.cast_unsigned());
        put_varint_field(&mut body, 7, self.created_ms.cast_unsigned());
        if let Some(timeline) = &self.timeline {
            put_bytes_field(&mut body, 8, timeline.as_bytes());
        }
        body
    }

    /// Reads the body behind a prologue whose checksum has been compared.
    pub(crate) fn decode_body(body: &[u8]) -> Result<Self> {
        let wrong = in_message(".ebd header");
        let mut header = Header::default();
        let mut fields = Fields::new(body);
        while let Some((field, value)) = fields.next_field().map_err(&wrong)? {
            match field {
                1 => header.cluster_id = value.varint(field).map_err(&wrong)?,
                2 => header.member_id = value.varint(field).map_err(&wrong)?,
                3 => header.server_version = text(value.bytes(field).map_err(&wrong)?)?,
                4 => header.predecessor_name = text(value.bytes(field).map_err(&wrong)?)?,
                5 => header.predecessor_sha256 = Some(sha256(value.bytes(field).map_err(&wrong)?)?),
                6 => header.start_revision = value.int64(field).map_err(&wrong)?,
                7 => header.created_ms = value.int64(field).map_err(&wrong)?,
                8 => header.timeline = Some(text(value.bytes(field).map_err(&wrong)?)?),
                _ => {}
            }
        }
        if header.start_revision <= 0 {
            return Err(Error::corrupt(format!(
                ".ebd header: start revision {} is not above 0",
                header.start_revision
            )));
        }
        Ok(header)
    }
}

/// What the prologue says about the body that follows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prologue {
    pub(crate) body_bytes: usize,
    pub(crate) body_crc: u32,
}

impl Prologue {
    /// Reads a prologue; another version is refused by name before anything else is looked at.
    pub(crate) fn decode(bytes: &[u8; PROLOGUE_BYTES]) -> Result<Self> {
        let mut fields = LittleEndian::new(bytes, ".ebd prologue");
        if fields.array::<8>()? != MAGIC {
            return Err(Error::corrupt(
                "not an .ebd file: it does not begin with the magic bytes",
            ));
        }
        refuse_other_version(fields.u16()?)?;
        let zero = fields.u16()?;
        let body_bytes = fields.u32()? as usize;
        if zero != 0 || body_bytes > HEADER_BYTES_MAX {
            return Err(Error::corrupt(format!(
                ".ebd prologue: header of {body_bytes} bytes (allowed are {HEADER_BYTES_MAX}), reserved field {zero}"
            )));
        }
        Ok(Self {
            body_bytes,
            body_crc: fields.u32()?,
        })
    }
}

/// A reader of version 1 cannot know what a later version means.
pub(crate) fn refuse_other_version(version: u16) -> Result<()> {
    if version == VERSION {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        ".ebd version {version} is not known, this build reads version {VERSION}; use the release that wrote the file"
    )))
}

fn text(bytes: &[u8]) -> Result<String> {
    String::from_utf8(bytes.to_vec())
        .map_err(|_| Error::corrupt(".ebd header: a text is not UTF-8"))
}

fn sha256(bytes: &[u8]) -> Result<[u8; 32]> {
    bytes
        .try_into()
        .map_err(|_| Error::corrupt(format!(".ebd header: a SHA-256 of {} bytes", bytes.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_round_trip_and_unknown_fields_are_passed_over() {
        let header = Header {
            cluster_id: u64::MAX,
            member_id: 7,
            server_version: "3.6.16".into(),
            predecessor_name: "Full-00000000-00000041-1700000000.zst".into(),
            predecessor_sha256: Some([9; 32]),
            start_revision: 42,
            created_ms: 1_700_000_000_123,
            timeline: Some("restore-1".into()),
        };
        let mut body = header.encode_body();
        put_bytes_field(&mut body, 200, b"from a later minor release");
        assert_eq!(Header::decode_body(&body).unwrap(), header);
    }
}
