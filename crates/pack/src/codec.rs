use crate::{Error, Result};
use std::io::{self, BufReader, Read};

/// How the bytes of an object are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    None,
    /// gzip.
    Gzip,
    /// zlib.
    Zlib,
    /// Go's `compress/lzw`, LSB, 8.
    Lzw,
    /// zstd.
    Zstd,
}

/// The largest zstd window that is accepted (2^23 = 8 MiB): what a hostile frame can make us allocate.
const MAX_WINDOW_LOG: u32 = 23;
const READ_BUFFER_BYTES: usize = 256 * 1024;

impl Codec {
    /// By the policy's name (`none`, `gzip`, `zlib`, `lzw`, `zstd`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        Ok(match name {
            "none" => Self::None,
            "gzip" => Self::Gzip,
            "zlib" => Self::Zlib,
            "lzw" => Self::Lzw,
            "zstd" => Self::Zstd,
            _ => {
                return Err(Error::Unsupported(format!(
                    "compression {name:?} is not known"
                )));
            }
        })
    }

    /// The policy's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Zlib => "zlib",
            Self::Lzw => "lzw",
            Self::Zstd => "zstd",
        }
    }

    /// By the first bytes of an object; `None` when no signature fits (lzw has none).
    #[must_use]
    pub fn sniff(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            [0x78, flags, ..] if (0x7800 + u32::from(*flags)) % 31 == 0 => Some(Self::Zlib),
            _ => None,
        }
    }
}

/// A reader of the plain bytes. A container that ends too early gives `UnexpectedEof`.
///
/// # Errors
/// [`Error::Io`] when the decoder cannot be set up.
pub fn decoder<'a>(codec: Codec, source: impl Read + 'a) -> Result<Box<dyn Read + 'a>> {
    let source = BufReader::with_capacity(READ_BUFFER_BYTES, source);
    Ok(match codec {
        Codec::None => Box::new(source),
        Codec::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(source)),
        Codec::Zlib => Box::new(flate2::bufread::ZlibDecoder::new(source)),
        Codec::Lzw => Box::new(LzwReader::new(source)),
        Codec::Zstd => {
            let mut decoder =
                zstd::stream::read::Decoder::with_buffer(source).map_err(Error::io("zstd"))?;
            decoder
                .window_log_max(MAX_WINDOW_LOG)
                .map_err(Error::io("zstd"))?;
            Box::new(decoder)
        }
    })
}

/// Pull side of weezl's decoder.
struct LzwReader<R> {
    source: R,
    decoder: weezl::decode::Decoder,
    ended: bool,
}

impl<R: io::BufRead> LzwReader<R> {
    fn new(source: R) -> Self {
        Self {
            source,
            decoder: weezl::decode::Decoder::new(weezl::BitOrder::Lsb, 8),
            ended: false,
        }
    }
}

impl<R: io::BufRead> Read for LzwReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !out.is_empty() {
            let input = self.source.fill_buf()?;
            let at_end = input.is_empty();
            let step = self.decoder.decode_bytes(input, out);
            self.source.consume(step.consumed_in);
            match step.status {
                Ok(weezl::LzwStatus::Done) => self.ended = true,
                Ok(_) if at_end && step.consumed_out == 0 => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "lzw stream ends without its end code",
                    ));
                }
                Ok(_) => {}
                Err(error) => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("lzw: {error}"),
                    ));
                }
            }
            if step.consumed_out > 0 {
                return Ok(step.consumed_out);
            }
        }
        Ok(0)
    }
}
