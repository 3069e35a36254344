//! The bytes of requests.
//!
//! ```text
//! TxnRequest         1 compare Compare* | 2 success RequestOp*
//! RequestOp          2 request_put PutRequest | 3 request_delete_range DeleteRangeRequest | 4 request_txn TxnRequest
//! PutRequest         1 key | 2 value | 3 lease
//! DeleteRangeRequest 1 key
//! Compare            1 result (0 EQUAL) | 2 target (0 VERSION, 2 MOD) | 3 key | 4 version | 6 mod_revision
//! ```

use crate::event::{Change, Kind};
use crate::wire::{put_bytes_field, put_varint, put_varint_field, varint_len};

const SUCCESS: u32 = 2;
const COMPARE: u32 = 1;
const REQUEST_PUT: u32 = 2;
const REQUEST_DELETE_RANGE: u32 = 3;
const REQUEST_TXN: u32 = 4;
const TARGET_MOD: u64 = 2;

/// Appends one change as an entry of `success`; where its key lies in `out`.
pub(crate) fn put_op(out: &mut Vec<u8>, change: &Change<'_>) -> std::ops::Range<usize> {
    let kv = &change.kv;
    let (field, request_bytes) = match change.kind {
        Kind::Put => {
            let value = if kv.value.is_empty() {
                0
            } else {
                field_len(kv.value.len())
            };
            let lease = if kv.lease == 0 {
                0
            } else {
                1 + varint_len(kv.lease.cast_unsigned())
            };
            (REQUEST_PUT, field_len(kv.key.len()) + value + lease)
        }
        Kind::Delete => (REQUEST_DELETE_RANGE, field_len(kv.key.len())),
    };
    put_tag(out, SUCCESS, field_len(request_bytes));
    put_tag(out, field, request_bytes);
    put_bytes_field(out, 1, kv.key);
    let key = out.len().saturating_sub(kv.key.len())..out.len();
    if change.kind == Kind::Put {
        if !kv.value.is_empty() {
            put_bytes_field(out, 2, kv.value);
        }
        if kv.lease != 0 {
            put_varint_field(out, 3, kv.lease.cast_unsigned());
        }
    }
    key
}

/// Appends entries of `success` as a nested transaction, itself an entry of `success`.
pub(crate) fn put_nested(out: &mut Vec<u8>, ops: &[u8]) {
    put_tag(out, SUCCESS, field_len(ops.len()));
    put_bytes_field(out, REQUEST_TXN, ops);
}

/// Appends the condition that `key` was last changed by `mod_revision`.
pub(crate) fn put_compare_mod(out: &mut Vec<u8>, key: &[u8], mod_revision: i64) {
    let revision = mod_revision.cast_unsigned();
    put_tag(
        out,
        COMPARE,
        2 + field_len(key.len()) + 1 + varint_len(revision),
    );
    put_varint_field(out, 2, TARGET_MOD);
    put_bytes_field(out, 3, key);
    put_varint_field(out, 6, revision);
}

/// Appends the condition that `key` does not exist.
pub(crate) fn put_compare_gone(out: &mut Vec<u8>, key: &[u8]) {
    put_tag(out, COMPARE, field_len(key.len()) + 2);
    put_bytes_field(out, 3, key);
    put_varint_field(out, 4, 0);
}

/// Tag and length of a message of `bytes` bytes.
fn put_tag(out: &mut Vec<u8>, field: u32, bytes: usize) {
    put_varint(out, u64::from(field) << 3 | 2);
    put_varint(out, bytes as u64);
}

/// Bytes of a field below 16 that holds `bytes` bytes.
fn field_len(bytes: usize) -> usize {
    1 + varint_len(bytes as u64) + bytes
}
