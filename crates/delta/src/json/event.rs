//! One element of the array.

use crate::event::{Change, Kind};
use crate::json::string::unescape;
use crate::json::text::{Cursor, Taken};
use crate::json::time;
use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use etcd_data::kv::KeyValueRef;

/// Go's standard decoding: padding is required, spare bits at the end are not looked at.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// An event as the JSON states it; buffers are reused from one to the next.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    event_type: i64,
    key: Vec<u8>,
    value: Vec<u8>,
    create_revision: i64,
    mod_revision: i64,
    version: i64,
    lease: i64,
    /// Kept from the event before when this one has none.
    pub(crate) arrived_ms: i64,
}

impl Fields {
    /// Reads one event object; everything but the time is reset first.
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'_>) -> Taken<()> {
        self.event_type = 0;
        self.reset_pair();
        cursor.object(|cursor, name| match name {
            _ if name.eq_ignore_ascii_case(b"etcdEvent") => self.read_event(cursor),
            _ if name.eq_ignore_ascii_case(b"time") => self.read_time(cursor),
            _ => cursor.skip(),
        })
    }

    /// The event, or what its type is when that is neither PUT nor DELETE.
    pub(crate) fn change(&self) -> Result<Change<'_>, i64> {
        let kind = match self.event_type {
            0 => Kind::Put,
            1 => Kind::Delete,
            other => return Err(other),
        };
        let kv = KeyValueRef {
            key: &self.key,
            create_revision: self.create_revision,
            mod_revision: self.mod_revision,
            version: self.version,
            value: &self.value,
            lease: self.lease,
        };
        Ok(Change { kind, kv })
    }

    fn read_event(&mut self, cursor: &mut Cursor<'_>) -> Taken<()> {
        if cursor.null()? {
            return Ok(());
        }
        cursor.object(|cursor, name| match name {
            _ if name.eq_ignore_ascii_case(b"type") => read_int64(cursor, &mut self.event_type),
            _ if name.eq_ignore_ascii_case(b"kv") => self.read_pair(cursor),
            _ => cursor.skip(),
        })
    }

    fn read_pair(&mut self, cursor: &mut Cursor<'_>) -> Taken<()> {
        if cursor.null()? {
            self.reset_pair();
            return Ok(());
        }
        cursor.object(|cursor, name| match name {
            _ if name.eq_ignore_ascii_case(b"key") => read_bytes(cursor, &mut self.key),
            _ if name.eq_ignore_ascii_case(b"value") => read_bytes(cursor, &mut self.value),
            _ if name.eq_ignore_ascii_case(b"create_revision") => {
                read_int64(cursor, &mut self.create_revision)
            }
            _ if name.eq_ignore_ascii_case(b"mod_revision") => {
                read_int64(cursor, &mut self.mod_revision)
            }
            _ if name.eq_ignore_ascii_case(b"version") => read_int64(cursor, &mut self.version),
            _ if name.eq_ignore_ascii_case(b"lease") => read_int64(cursor, &mut self.lease),
            _ => cursor.skip(),
        })
    }

    fn read_time(&mut self, cursor: &mut Cursor<'_>) -> Taken<()> {
        if cursor.null()? {
            return Ok(());
        }
        let (raw, escaped) = cursor.string()?;
        let time = if escaped {
            time::parse_ms(&unescape(raw))
        } else {
            time::parse_ms(raw)
        };
        match time {
            Some(arrived_ms) => self.arrived_ms = arrived_ms,
            None => return cursor.wrong("expected an RFC 3339 time before this byte"),
        }
        Ok(())
    }

    fn reset_pair(&mut self) {
        self.key.clear();
        self.value.clear();
        (
            self.create_revision,
            self.mod_revision,
            self.version,
            self.lease,
        ) = (0, 0, 0, 0);
    }
}

#[inline]
fn read_int64(cursor: &mut Cursor<'_>, number: &mut i64) -> Taken<()> {
    if !cursor.null()? {
        *number = cursor.int64()?;
    }
    Ok(())
}

#[inline]
fn read_bytes(cursor: &mut Cursor<'_>, out: &mut Vec<u8>) -> Taken<()> {
    out.clear();
    if cursor.null()? {
        return Ok(());
    }
    let (raw, escaped) = cursor.string()?;
    let decoded = if escaped {
        BASE64.decode_vec(without_line_ends(raw), out)
    } else {
        BASE64.decode_vec(raw, out)
    };
    match decoded {
        Ok(()) => Ok(()),
        Err(_) => cursor.wrong("expected base64 before this byte"),
    }
}

/// Go passes over line ends inside base64; in JSON they can only come as escapes.
fn without_line_ends(raw: &[u8]) -> Vec<u8> {
    let mut text = unescape(raw);
    text.retain(|byte| !matches!(byte, b'\r' | b'\n'));
    text
}
