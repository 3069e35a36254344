//! How many revisions an entry makes: none, one, or one that depends on what is stored.
//!
//! `etcdserverpb.InternalRaftRequest`: 100 header, 1 ID, then one of 2 v2, 3 range, 4 put, 5 delete_range, 6 txn,
//! 7 compaction, 8 lease_grant, 9 lease_revoke, 10 alarm, 11 lease_checkpoint, 1000… auth, 1300… cluster.
//! Up to 3.5 an entry may be a bare `etcdserverpb.Request` of the v2 API instead, {1 ID, 2 method, 3 path, …}, with which
//! etcd published members and versions; its method is no message, which is how etcd tells it.
//! A put makes one revision, unless its lease or its key may be missing. A delete of nothing, a lease without keys and
//! a transaction whose taken branch writes nothing make none.

use crate::proto::{Fields, ProtoError, Value};
use crate::wal::entry_kind::EntryKind;
use crate::wal::message::Entry;
use crate::wal::txn::{PutShape, TxnShape};

const NORMAL: u64 = 0;
const V2_METHODS: [&[u8]; 7] = [
    b"PUT", b"QGET", b"SYNC", b"POST", b"DELETE", b"GET", b"HEAD",
];
const HEADER: u32 = 100;
const ALARM_GET: u64 = 0;
const ALARM_DEACTIVATE: u64 = 2;

/// What an entry does to the store's revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// What it asks for.
    pub kind: EntryKind,
    /// Makes a revision whatever is stored, unless an alarm or missing rights refuse it.
    pub certain: bool,
    /// May make a revision.
    pub possible: bool,
    /// From here on writes may be refused: an alarm was raised, or auth switched on.
    pub guards: bool,
}

impl Effect {
    const fn none(kind: EntryKind) -> Self {
        Effect {
            kind,
            certain: false,
            possible: false,
            guards: false,
        }
    }

    const fn perhaps(kind: EntryKind) -> Self {
        Effect {
            possible: true,
            ..Effect::none(kind)
        }
    }
}

/// Reads as much of an entry as that takes. What cannot be read may have made a revision.
#[must_use]
pub fn effect_of(entry: &Entry<'_>) -> Effect {
    if entry.kind != NORMAL {
        return Effect::none(EntryKind::Membership);
    }
    if entry.data.is_empty() {
        return Effect::none(EntryKind::Empty);
    }
    request_effect(entry.data).unwrap_or(Effect::perhaps(EntryKind::Unknown))
}

fn request_effect(request: &[u8]) -> Result<Effect, ProtoError> {
    let mut found = None;
    let mut fields = Fields::new(request);
    while let Some((field, value)) = fields.next_field()? {
        if field == HEADER || (field == 1 && matches!(value, Value::Varint(_))) {
            continue;
        }
        if let (2, Value::Bytes(method)) = (field, value)
            && V2_METHODS.contains(&method)
        {
            return Ok(Effect::none(EntryKind::Other));
        }
        let effect = part_effect(field, value)?;
        // etcd applies one part; more than one is nothing that it writes.
        found = Some(found.map_or(effect, |_| Effect::perhaps(EntryKind::Unknown)));
    }
    Ok(found.unwrap_or(Effect::none(EntryKind::Other)))
}

fn part_effect(field: u32, value: Value<'_>) -> Result<Effect, ProtoError> {
    Ok(match field {
        2 | 3 | 9900 => Effect::none(EntryKind::Other),
        4 => {
            let put = PutShape::read(value.bytes(4)?)?;
            Effect {
                certain: !put.depends,
                ..Effect::perhaps(EntryKind::Put)
            }
        }
        5 => Effect::perhaps(EntryKind::DeleteRange),
        6 => {
            let txn = TxnShape::read(value.bytes(6)?)?;
            Effect {
                certain: txn.writes_for_certain && !txn.depends,
                possible: txn.may_write,
                ..Effect::none(EntryKind::Txn)
            }
        }
        7 => Effect::none(EntryKind::Compaction),
        8 | 11 => Effect::none(EntryKind::Lease),
        9 => Effect::perhaps(EntryKind::LeaseRevoke),
        10 => Effect {
            guards: raises_alarm(value.bytes(10)?)?,
            ..Effect::none(EntryKind::Alarm)
        },
        1000 => Effect {
            guards: true,
            ..Effect::none(EntryKind::Auth)
        },
        1001..=1299 => Effect::none(EntryKind::Auth),
        1300..=1302 => Effect::none(EntryKind::Cluster),
        _ => Effect::perhaps(EntryKind::Unknown),
    })
}

/// AlarmRequest {1 action: 0 get, 1 activate, 2 deactivate}.
fn raises_alarm(request: &[u8]) -> Result<bool, ProtoError> {
    let mut action = ALARM_GET;
    let mut fields = Fields::new(request);
    while let Some((field, value)) = fields.next_field()? {
        if field == 1 {
            action = value.varint(1)?;
        }
    }
    Ok(action != ALARM_GET && action != ALARM_DEACTIVATE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{put_bytes_field, put_varint_field};
    use proptest::prelude::*;

    fn message(build: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        build(&mut out);
        out
    }

    fn put(lease: u64) -> Vec<u8> {
        message(|out| {
            put_bytes_field(out, 1, b"k");
            put_bytes_field(out, 2, b"v");
            if lease != 0 {
                put_varint_field(out, 3, lease);
            }
        })
    }

    fn op(field: u32, request: &[u8]) -> Vec<u8> {
        message(|out| put_bytes_field(out, field, request))
    }

    fn txn(compares: usize, success: &[Vec<u8>], failure: &[Vec<u8>]) -> Vec<u8> {
        message(|out| {
            (0..compares).for_each(|_| put_bytes_field(out, 1, b""));
            success.iter().for_each(|op| put_bytes_field(out, 2, op));
            failure.iter().for_each(|op| put_bytes_field(out, 3, op));
        })
    }

    /// (certain, possible) of a request in that field.
    fn bounds(field: u32, request: &[u8]) -> (bool, bool) {
        let data = message(|out| {
            put_varint_field(out, 1, 77);
            put_bytes_field(out, field, request);
            put_bytes_field(out, 100, b"\x08\x01");
        });
        let effect = effect_of(&Entry {
            data: &data,
            ..Entry::default()
        });
        (effect.certain, effect.possible)
    }

    #[test]
    fn puts_and_deletes() {
        assert_eq!(bounds(4, &put(0)), (true, true));
        assert_eq!(bounds(4, &put(5)), (false, true), "the lease may be gone");
        assert_eq!(bounds(5, b"\x0a\x01k"), (false, true));
        assert_eq!(bounds(9, b"\x08\x05"), (false, true));
        assert_eq!(bounds(8, b"\x08\x05"), (false, false));
        assert_eq!(bounds(7, b"\x08\x05"), (false, false));
        assert_eq!(bounds(1301, b""), (false, false));
        assert_eq!(bounds(1400, b""), (false, true), "unknown to us");
    }

    #[test]
    fn transactions_by_their_branches() {
        let (write, read) = (op(2, &put(0)), op(1, b"\x0a\x01k"));
        let (delete, leased) = (op(3, b"\x0a\x01k"), op(2, &put(9)));
        let old_read = op(1, b"\x0a\x01k\x20\x05");
        let one = |op: &Vec<u8>| vec![op.clone()];
        assert_eq!(bounds(6, &txn(0, &one(&write), &[])), (true, true));
        assert_eq!(bounds(6, &txn(1, &one(&write), &[])), (false, true));
        assert_eq!(bounds(6, &txn(1, &one(&write), &one(&write))), (true, true));
        assert_eq!(
            bounds(6, &txn(1, &one(&write), &one(&delete))),
            (false, true)
        );
        assert_eq!(bounds(6, &txn(1, &one(&read), &one(&read))), (false, false));
        assert_eq!(
            bounds(6, &txn(0, &one(&read), &one(&write))),
            (false, false)
        );
        assert_eq!(bounds(6, &txn(0, &one(&leased), &[])), (false, true));
        let refused = [write.clone(), old_read];
        assert_eq!(
            bounds(6, &txn(0, &refused, &[])),
            (false, true),
            "compacted?"
        );
        let nested = op(4, &txn(0, &one(&write), &[]));
        assert_eq!(bounds(6, &txn(0, &[nested], &[])), (true, true));
    }

    #[test]
    fn requests_of_the_v2_api_make_no_revision() {
        let data = message(|out| {
            put_varint_field(out, 1, 77);
            put_bytes_field(out, 2, b"PUT");
            put_bytes_field(out, 3, b"/0/members/1/attributes");
            put_bytes_field(out, 4, b"{}");
        });
        let effect = effect_of(&Entry {
            data: &data,
            ..Entry::default()
        });
        assert_eq!(effect, Effect::none(EntryKind::Other));
    }

    #[test]
    fn depth_is_bounded() {
        let mut inner = txn(0, &[op(2, &put(0))], &[]);
        for _ in 0..2_000 {
            inner = txn(0, &[op(4, &inner)], &[]);
        }
        assert_eq!(bounds(6, &inner), (false, true));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_have_an_effect(data: Vec<u8>) {
            let effect = effect_of(&Entry { data: &data, ..Entry::default() });
            prop_assert!(effect.possible || !effect.certain);
        }
    }
}
