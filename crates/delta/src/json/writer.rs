//! Writes exactly the bytes that the Go tool would write for the same events.

use crate::error::{Error, Result};
use crate::event::{Change, Kind};
use crate::json::Compression;
use crate::json::time;
use crate::write_through::HashingFile;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::write::{GzEncoder, ZlibEncoder};
use pack::LzwWriter;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// JSON is handed to the compressor in pieces of about this size.
const PIECE_BYTES: usize = 128 << 10;

/// A delta in the Go tool's form.
pub struct JsonWriter {
    out: Encoder,
    piece: Vec<u8>,
    digest: Sha256,
    empty: bool,
}

enum Encoder {
    None(HashingFile),
    Gzip(GzEncoder<HashingFile>),
    Zlib(ZlibEncoder<HashingFile>),
    Lzw(Box<LzwWriter<HashingFile>>),
}

impl JsonWriter {
    /// Creates the file, which must not exist.
    pub fn create(path: &Path, compression: Compression) -> Result<Self> {
        let level = flate2::Compression::default();
        let file = || HashingFile::create(path);
        let out = match compression {
            Compression::None => Encoder::None(file()?),
            Compression::Gzip => Encoder::Gzip(GzEncoder::new(file()?, level)),
            Compression::Zlib => Encoder::Zlib(ZlibEncoder::new(file()?, level)),
            Compression::Lzw => Encoder::Lzw(Box::new(LzwWriter::new(file()?))),
        };
        Ok(Self {
            out,
            piece: Vec::with_capacity(PIECE_BYTES),
            digest: Sha256::new(),
            empty: true,
        })
    }

    /// Appends one event.
    pub fn push(&mut self, change: &Change<'_>, arrived_ms: i64) -> Result<()> {
        self.piece.push(if self.empty { b'[' } else { b',' });
        self.empty = false;
        put_event(&mut self.piece, change, arrived_ms);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the end of the array and the digest, and syncs; SHA-256 and length of the file.
    pub fn finish(mut self) -> Result<([u8; 32], u64)> {
        if self.empty {
            return Err(Error::Usage(
                "a delta without events cannot be written".into(),
            ));
        }
        self.piece.push(b']');
        self.flush()?;
        let digest = self.digest.finalize();
        let mut out = self.out;
        out.write_all(&digest).map_err(Error::io("write"))?;
        let file = match out {
            Encoder::None(file) => file,
            Encoder::Gzip(encoder) => encoder.finish().map_err(Error::io("write"))?,
            Encoder::Zlib(encoder) => encoder.finish().map_err(Error::io("write"))?,
            Encoder::Lzw(encoder) => encoder.finish().map_err(Error::io("write"))?,
        };
        file.finish()
    }

    fn flush(&mut self) -> Result<()> {
        self.digest.update(&self.piece);
        self.out
            .write_all(&self.piece)
            .map_err(Error::io("write"))?;
        self.piece.clear();
        Ok(())
    }
}

impl Encoder {
    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Self::None(file) => file.write_all(bytes),
            Self::Gzip(encoder) => encoder.write_all(bytes),
            Self::Zlib(encoder) => encoder.write_all(bytes),
            Self::Lzw(encoder) => encoder.write_all(bytes),
        }
    }
}

/// One element of the array, as Go's `encoding/json` writes it: zero fields are left out.
fn put_event(out: &mut Vec<u8>, change: &Change<'_>, arrived_ms: i64) {
    out.extend_from_slice(b"{\"etcdEvent\":{");
    if change.kind == Kind::Delete {
        out.extend_from_slice(b"\"type\":1,");
    }
    out.extend_from_slice(b"\"kv\":{");
    let kv = &change.kv;
    let mut first = true;
    put_bytes(out, &mut first, "key", kv.key);
    put_number(out, &mut first, "create_revision", kv.create_revision);
    put_number(out, &mut first, "mod_revision", kv.mod_revision);
    put_number(out, &mut first, "version", kv.version);
    put_bytes(out, &mut first, "value", kv.value);
    put_number(out, &mut first, "lease", kv.lease);
    out.extend_from_slice(b"}},\"time\":\"");
    time::put_ms(out, time::clamp_ms(arrived_ms));
    out.extend_from_slice(b"\"}");
}

fn put_name(out: &mut Vec<u8>, first: &mut bool, name: &str) {
    if !std::mem::take(first) {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn put_number(out: &mut Vec<u8>, first: &mut bool, name: &str, number: i64) {
    if number != 0 {
        put_name(out, first, name);
        out.extend_from_slice(number.to_string().as_bytes());
    }
}

fn put_bytes(out: &mut Vec<u8>, first: &mut bool, name: &str, bytes: &[u8]) {
    if bytes.is_empty() {
        return;
    }
    put_name(out, first, name);
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = out
        .get_mut(start..)
        .map_or(Ok(0), |place| STANDARD.encode_slice(bytes, place));
    out.truncate(start + written.unwrap_or(0));
    out.push(b'"');
}
