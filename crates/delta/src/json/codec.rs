//! Which compressor a file went through, by its first bytes, and how to undo it.

use crate::error::{Error, Result};
use crate::json::lzw::LzwReader;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use std::fs::File;
use std::io::{BufReader, Read};

/// How the Go tool's JSON is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// zlib.
    Zlib,
    /// Go's `compress/lzw`, LSB first, 8 bits; not Unix `compress`, despite the suffix `.Z`.
    Lzw,
}

/// Compressed bytes are read in pieces of this size.
const FILE_BUFFER_BYTES: usize = 128 << 10;

/// Tells the compressor by the first bytes. The name is not asked: it may be wrong, and the content cannot be.
///
/// An lzw stream begins with the 9-bit clear code 256 in LSB order: a zero byte and an odd one.
pub(crate) fn sniff(front: &[u8]) -> Result<Compression> {
    let text = front.iter().find(|byte| !byte.is_ascii_whitespace());
    match front {
        [] => Err(Error::truncated("the file is empty")),
        _ if text == Some(&b'[') => Ok(Compression::None),
        [0x1F, 0x8B, ..] => Ok(Compression::Gzip),
        [0x00, second, ..] if second & 1 == 1 => Ok(Compression::Lzw),
        [first, second, ..]
            if first & 0x0F == 8 && u16::from_be_bytes([*first, *second]).is_multiple_of(31) =>
        {
            Ok(Compression::Zlib)
        }
        _ => Err(Error::corrupt(format!(
            "not a delta: it begins with {:02x?}{}; expected .ebd, or the Go tool's JSON as it is or in gzip, zlib or lzw",
            front.get(..8).unwrap_or(front),
            foreign_name(front)
        ))),
    }
}

fn foreign_name(front: &[u8]) -> &'static str {
    match front {
        [0x28, 0xB5, 0x2F, 0xFD, ..] => ", a zstd frame (a full snapshot?)",
        [b'P', b'K', 3, 4, ..] => ", a zip archive",
        [b'<', ..] => ", HTML or XML (an error page of a store?)",
        [b'{', ..] => ", a JSON object (a manifest?)",
        _ if front.starts_with(b"age-encryption.org/") => ", an encrypted file (decrypt it first)",
        _ => "",
    }
}

/// The bytes before compression.
pub(crate) fn decompress(file: File, compression: Compression) -> Box<dyn Read + Send> {
    let file = BufReader::with_capacity(FILE_BUFFER_BYTES, file);
    match compression {
        Compression::None => Box::new(file),
        Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
        Compression::Zlib => Box::new(ZlibDecoder::new(file)),
        Compression::Lzw => Box::new(LzwReader::new(file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_foreign_file_is_gets_said() {
        let what = |front: &[u8]| sniff(front).unwrap_err().to_string();
        assert!(what(b"PK\x03\x04....").contains("zip"));
        assert!(what(b"<html><body>").contains("HTML"));
        assert!(what(b"age-encryption.org/v1").contains("encrypted"));
        assert!(what(b"").contains("empty"));
        assert_eq!(sniff(b" \n[").unwrap(), Compression::None);
        assert_eq!(sniff(b"\x78\x9C...").unwrap(), Compression::Zlib);
    }
}
