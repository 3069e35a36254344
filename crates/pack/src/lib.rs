//! Containers of full snapshots.
//!
//! A full snapshot is what `etcdctl snapshot save` writes: the bbolt file followed by the 32 bytes of its
//! SHA-256 (the trailer). This crate takes it from etcd's stream ([`Sink`]), packs it ([`Packer`]) and unpacks
//! it again ([`unpack`]), always with constant memory and with the digests of both sides.
//!
//! # Packed forms
//!
//! | suffix  | bytes |
//! |---------|-------|
//! | none    | the snapshot |
//! | `.gz`   | one gzip member (the Go tool's default; several members are read) |
//! | `.zlib` | one zlib stream |
//! | `.Z`    | Go's `compress/lzw`, least significant bit first, literal width 8 (not Unix `compress`) |
//! | `.zst`  | zstd's seekable format, see below |
//!
//! # The seekable `.zst`
//!
//! ```text
//! frame*       independent zstd frames of 4 MiB plain bytes each (the last is shorter),
//!              each with content size and checksum
//! seek table   one skippable frame, all integers little-endian:
//!                u32 0x184D2A5E | u32 length of what follows
//!                per frame: u32 packed bytes | u32 plain bytes
//!                u32 number of frames | u8 0 | u32 0x8F92EAB1
//! ```
//! `zstd -d` opens it: a decoder skips the last frame. [`SeekableFile`] reads any part of it.

mod arrival;
mod codec;
mod database;
mod digest;
mod error;
mod frames_ahead;
mod lzw;
mod pack;
mod queue;
mod seek_table;
mod seekable;
mod seekable_file;
mod sink;
mod snapshot_response;
mod unpack;
mod unpack_sink;

pub use arrival::Arrival;
pub use codec::{Codec, decoder};
pub use database::{PackedDatabase, pack_database};
pub use digest::{HashingReader, HashingWriter, Sha256Digest, TRAILER_BYTES, TailDigest, Trailer};
pub use error::{Error, Result, io_code};
pub use frames_ahead::FramesAhead;
pub use lzw::LzwWriter;
pub use pack::{Packed, Packer};
pub use queue::Flow;
pub use seekable_file::SeekableFile;
pub use sink::{Sink, SinkOptions, SinkSummary};
pub use unpack::{UnpackOptions, Unpacked, unpack};
pub use unpack_sink::{UnpackSink, UnpackSinkOptions};
