//! Plain values on their way across.

use std::fmt::Write;

/// Bytes and counts: exact below 2^53.
#[allow(clippy::cast_precision_loss)]
pub fn to_number(value: u64) -> f64 {
    value as f64
}

/// The whole part of a JavaScript number; negative and NaN give 0.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn from_number(value: f64) -> u64 {
    value as u64
}

/// Lower case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
