//! Blocks from their stored form.

use crate::ebd::block::BLOCK_HEAD_BYTES;
use crate::ebd::{Block, BlockHead, Codec, Section, section_body};
use crate::error::{Error, Result};

/// Decodes blocks, one buffer for all.
pub struct BlockDecoder {
    zstd: zstd::bulk::Decompressor<'static>,
    payload: Vec<u8>,
}

impl BlockDecoder {
    /// A decoder without a buffer yet.
    pub fn new() -> Result<Self> {
        let zstd = zstd::bulk::Decompressor::new().map_err(Error::io("decompress"))?;
        Ok(Self {
            zstd,
            payload: Vec::new(),
        })
    }

    /// Decodes one block alone: the bytes of its section, as the index places them, checksum included.
    pub fn section<'a>(&'a mut self, section: &'a [u8]) -> Result<Block<'a>> {
        self.block(section_body(section, Section::Block)?)
    }

    /// Decodes the body of a block section whose checksum has been compared.
    pub fn block<'a>(&'a mut self, body: &'a [u8]) -> Result<Block<'a>> {
        let (head, stored) = body
            .split_at_checked(BLOCK_HEAD_BYTES)
            .unwrap_or((body, &[]));
        let head = BlockHead::decode(head)?;
        let payload = match head.codec {
            Codec::None => stored,
            Codec::Zstd => self.decompress(stored, head.payload_bytes)?,
        };
        if payload.len() != head.payload_bytes {
            return Err(Error::corrupt(format!(
                ".ebd block: {} payload bytes, its head says {}",
                payload.len(),
                head.payload_bytes
            )));
        }
        let (events, marks) = payload
            .split_at_checked(head.event_bytes)
            .unwrap_or((payload, &[]));
        Ok(Block {
            head,
            events,
            marks,
        })
    }

    fn decompress(&mut self, stored: &[u8], payload_bytes: usize) -> Result<&[u8]> {
        // The frame's own content size must agree before anything is allocated for it.
        let content = zstd::zstd_safe::get_frame_content_size(stored)
            .ok()
            .flatten();
        if content != Some(payload_bytes as u64) {
            return Err(Error::corrupt(format!(
                ".ebd block: the zstd frame holds {content:?} bytes, the block's head says {payload_bytes}"
            )));
        }
        self.payload.clear();
        self.payload.reserve(payload_bytes);
        let written = self.zstd.decompress_to_buffer(stored, &mut self.payload);
        written.map_err(|error| Error::corrupt(format!(".ebd block: zstd: {error}")))?;
        Ok(&self.payload)
    }
}
