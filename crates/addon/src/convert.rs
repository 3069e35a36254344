//! Plain values on their way across.

use crate::error::{Failure, Outcome};
use napi::bindgen_prelude::BigInt;
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

/// Milliseconds since the epoch.
#[allow(clippy::cast_precision_loss)]
pub fn millis_of(value: i64) -> f64 {
    value as f64
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

/// Revisions and lease ids.
pub fn bigint(value: i64) -> BigInt {
    BigInt::from(value)
}

/// A digest from its hex.
pub fn sha256(text: &str) -> Outcome<[u8; 32]> {
    let wrong = || Failure::internal(format!("{text:?} is not a SHA-256"));
    let mut digest = [0; 32];
    if text.len() != 2 * digest.len() {
        return Err(wrong());
    }
    for (index, byte) in digest.iter_mut().enumerate() {
        let digits = text.get(2 * index..2 * index + 2).ok_or_else(wrong)?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
    }
    Ok(digest)
}
