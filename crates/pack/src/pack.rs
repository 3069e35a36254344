use crate::digest::{HashingWriter, Sha256Digest};
use crate::lzw::LzwWriter;
use crate::seekable::SeekableWriter;
use crate::{Codec, Error, Result};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

const WRITE_BUFFER_BYTES: usize = 256 * 1024;

/// Compresses into a new file, digesting what is written.
pub struct Packer {
    path: PathBuf,
    form: Form,
}

type Out = HashingWriter<BufWriter<File>>;

enum Form {
    Plain(Out),
    Gzip(Box<GzEncoder<Out>>),
    Zlib(Box<ZlibEncoder<Out>>),
    Lzw(Box<LzwWriter<Out>>),
    Zstd(Box<SeekableWriter<Out>>),
}

/// A finished packed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    /// Its length.
    pub bytes: u64,
    /// Its digest.
    pub sha256: Sha256Digest,
}

impl Packer {
    /// Creates `path`, which must not exist.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn create(path: &Path, codec: Codec) -> Result<Self> {
        let file =
            File::create_new(path).map_err(Error::io(format!("create {}", path.display())))?;
        let out = HashingWriter::new(BufWriter::with_capacity(WRITE_BUFFER_BYTES, file));
        let form = match codec {
            Codec::None => Form::Plain(out),
            Codec::Gzip => Form::Gzip(Box::new(GzEncoder::new(out, Compression::default()))),
            Codec::Zlib => Form::Zlib(Box::new(ZlibEncoder::new(out, Compression::default()))),
            Codec::Lzw => Form::Lzw(Box::new(LzwWriter::new(out))),
            Codec::Zstd => Form::Zstd(Box::new(SeekableWriter::new(out)?)),
        };
        Ok(Self {
            path: path.to_owned(),
            form,
        })
    }

    /// Takes the next plain bytes.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &mut self.form {
            Form::Plain(out) => out.write_all(bytes),
            Form::Gzip(out) => out.write_all(bytes),
            Form::Zlib(out) => out.write_all(bytes),
            Form::Lzw(out) => out.write_all(bytes),
            Form::Zstd(out) => out.write_all(bytes),
        };
        written.map_err(Error::io(format!("write {}", self.path.display())))
    }

    /// Ends the container. The file is not synced: it is a source of uploads, and a store syncs its own copy.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn finish(self) -> Result<Packed> {
        let ended = match self.form {
            Form::Plain(out) => Ok(out),
            Form::Gzip(out) => out.finish(),
            Form::Zlib(out) => out.finish(),
            Form::Lzw(out) => out.finish(),
            Form::Zstd(out) => out.finish(),
        };
        let flushed = ended.and_then(|mut out| out.flush().map(|()| out));
        let out = flushed.map_err(Error::io(format!("write {}", self.path.display())))?;
        let (_, bytes, sha256) = out.into_parts();
        Ok(Packed { bytes, sha256 })
    }
}
