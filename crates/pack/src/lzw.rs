//! The writing side of Go's `compress/lzw`, least significant bit first, literal width 8.

use std::io::{self, Write};
use weezl::encode::Encoder;
use weezl::{BitOrder, LzwStatus};

const LITERAL_BITS: u8 = 8;
const BUFFER_BYTES: usize = 64 * 1024;

/// Compresses what is written to it. The stream is whole only after [`LzwWriter::finish`].
pub struct LzwWriter<W> {
    out: W,
    encoder: Encoder,
    buffer: Vec<u8>,
}

impl<W: Write> LzwWriter<W> {
    /// Wraps `out`.
    #[must_use]
    pub fn new(out: W) -> Self {
        Self {
            out,
            encoder: Encoder::new(BitOrder::Lsb, LITERAL_BITS),
            buffer: vec![0; BUFFER_BYTES],
        }
    }

    /// Writes the end code; the inner writer, not flushed.
    pub fn finish(mut self) -> io::Result<W> {
        self.encoder.finish();
        while !self.step(&[])?.ended {}
        Ok(self.out)
    }

    /// Encodes a part of `bytes`.
    fn step(&mut self, bytes: &[u8]) -> io::Result<Step> {
        let step = self.encoder.encode_bytes(bytes, &mut self.buffer);
        let ready = self.buffer.get(..step.consumed_out).unwrap_or_default();
        self.out.write_all(ready)?;
        let status = step.status.map_err(io::Error::other)?;
        let ended = matches!(status, LzwStatus::Done);
        if step.consumed_in == 0 && step.consumed_out == 0 && !ended {
            return Err(io::Error::other("lzw: the encoder stands still"));
        }
        Ok(Step {
            taken: step.consumed_in,
            ended,
        })
    }
}

struct Step {
    taken: usize,
    ended: bool,
}

impl<W: Write> Write for LzwWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        loop {
            let taken = self.step(bytes)?.taken;
            if taken > 0 {
                return Ok(taken);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
