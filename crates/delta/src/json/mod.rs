//! The Go tool's delta: a JSON array of events, 32 raw bytes of SHA-256 behind it, and a compressor over both.
//!
//! ```text
//! file  := compress( '[' event (',' event)* ']' sha256-of-the-bytes-before )      none, gzip, zlib, or lzw
//! event := {"etcdEvent":{"type":1?,"kv":{"key":b64?,"create_revision":n?,"mod_revision":n?,"version":n?,
//!          "value":b64?,"lease":n?}},"time":"RFC 3339, up to 9 digits of fraction"}    zero fields are left out
//! ```
//! Written without whitespace and in this order. Read as Go's decoder would: any order, whitespace, names in any case,
//! unknown names passed over, numbers exact to 64 bits. lzw is Go's `compress/lzw`, LSB first, 8 bits.

mod codec;
mod event;
mod lzw;
mod reader;
mod string;
mod text;
mod time;
mod window;
mod writer;

pub use codec::Compression;
pub use reader::{JsonEvent, JsonReader};
pub use writer::JsonWriter;

pub(crate) use codec::sniff;
