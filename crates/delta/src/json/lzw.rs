//! `Read` over an lzw stream: weezl works on slices only.

use std::io::{BufRead, ErrorKind, Read, Result};
use weezl::{BitOrder, LzwStatus, decode::Decoder};

const LITERAL_BITS: u8 = 8;

pub(crate) struct LzwReader<R> {
    source: R,
    decoder: Decoder,
    done: bool,
}

impl<R: BufRead> LzwReader<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            decoder: Decoder::new(BitOrder::Lsb, LITERAL_BITS),
            done: false,
        }
    }
}

impl<R: BufRead> Read for LzwReader<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        while !self.done && !out.is_empty() {
            let input = self.source.fill_buf()?;
            let at_end = input.is_empty();
            let result = self.decoder.decode_bytes(input, out);
            self.source.consume(result.consumed_in);
            match result.status {
                Ok(LzwStatus::Done) => self.done = true,
                Ok(LzwStatus::NoProgress) if at_end => return Err(cut_off()),
                Ok(_) => {}
                Err(error) => return Err(std::io::Error::new(ErrorKind::InvalidData, error)),
            }
            if result.consumed_out > 0 {
                return Ok(result.consumed_out);
            }
            if at_end && !self.done {
                return Err(cut_off());
            }
        }
        Ok(0)
    }
}

fn cut_off() -> std::io::Error {
    std::io::Error::new(
        ErrorKind::UnexpectedEof,
        "the lzw stream has no end code: it was cut off",
    )
}
