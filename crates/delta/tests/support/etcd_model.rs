//! What etcd does with a `TxnRequest` of a replay: compares, the rule on duplicate keys, puts, deletes, revisions.

use super::Event;
use etcd_data::proto::{Fields, Value};
use std::collections::{BTreeMap, HashSet};

#[derive(Debug, Clone, Default)]
pub struct EtcdModel {
    pub revision: i64,
    live: BTreeMap<Vec<u8>, (i64, i64, i64)>,
    /// Every change in order: what the watch would send and the key bucket would hold.
    pub events: Vec<Event>,
}

enum Op {
    Put(Vec<u8>, Vec<u8>, i64),
    Delete(Vec<u8>),
    Txn(Vec<Op>),
}

impl EtcdModel {
    pub fn at(revision: i64) -> Self {
        Self {
            revision,
            ..Self::default()
        }
    }

    /// Whether the compares held; a request that etcd refuses is a failed test.
    pub fn apply(&mut self, request: &[u8]) -> bool {
        let (compares, ops) = parse_txn(request);
        check_intervals(&ops);
        if !compares.iter().all(|compare| self.holds(compare)) {
            return false;
        }
        let before = self.events.len();
        self.run(&ops, self.revision + 1);
        if self.events.len() > before {
            self.revision += 1;
        }
        true
    }

    fn run(&mut self, ops: &[Op], main: i64) {
        for op in ops {
            match op {
                Op::Txn(nested) => self.run(nested, main),
                Op::Delete(key) => {
                    if self.live.remove(key).is_some() {
                        self.events.push(Event::delete(main, key));
                    }
                }
                Op::Put(key, value, lease) => {
                    let (create, version) = self
                        .live
                        .get(key)
                        .map_or((main, 0), |pair| (pair.0, pair.2));
                    self.live.insert(key.clone(), (create, main, version + 1));
                    let put = Event::put(main, key, value);
                    self.events.push(Event {
                        create,
                        version: version + 1,
                        lease: *lease,
                        ..put
                    });
                }
            }
        }
    }

    fn holds(&self, compare: &[u8]) -> bool {
        let mut fields = Fields::new(compare);
        let (mut key, mut target, mut wanted) = (Vec::new(), 0, 0);
        while let Some((field, value)) = fields.next_field().unwrap() {
            match (field, value) {
                (2, Value::Varint(number)) => target = number,
                (3, Value::Bytes(bytes)) => key = bytes.to_vec(),
                (4 | 6, Value::Varint(number)) => wanted = number.cast_signed(),
                other => panic!("compare field {other:?}"),
            }
        }
        let (_, modified, version) = self.live.get(&key).copied().unwrap_or_default();
        wanted == if target == 2 { modified } else { version }
    }
}

fn parse_txn(request: &[u8]) -> (Vec<Vec<u8>>, Vec<Op>) {
    let (mut compares, mut ops) = (Vec::new(), Vec::new());
    let mut fields = Fields::new(request);
    while let Some((field, value)) = fields.next_field().unwrap() {
        let bytes = value.bytes(field).unwrap();
        match field {
            1 => compares.push(bytes.to_vec()),
            2 => ops.push(parse_op(bytes)),
            other => panic!("TxnRequest field {other}"),
        }
    }
    (compares, ops)
}

fn parse_op(op: &[u8]) -> Op {
    let mut fields = Fields::new(op);
    let (kind, value) = fields.next_field().unwrap().unwrap();
    let request = value.bytes(kind).unwrap();
    assert_eq!(fields.next_field().unwrap(), None);
    if kind == 4 {
        return Op::Txn(parse_txn(request).1);
    }
    let (mut key, mut value, mut lease) = (Vec::new(), Vec::new(), 0);
    let mut fields = Fields::new(request);
    while let Some((field, payload)) = fields.next_field().unwrap() {
        match (field, payload) {
            (1, Value::Bytes(bytes)) => key = bytes.to_vec(),
            (2, Value::Bytes(bytes)) if kind == 2 => value = bytes.to_vec(),
            (3, Value::Varint(number)) if kind == 2 => lease = number.cast_signed(),
            other => panic!("request field {other:?}"),
        }
    }
    if kind == 2 {
        Op::Put(key, value, lease)
    } else {
        Op::Delete(key)
    }
}

/// etcd's "duplicate key given in txn request": deletes of one level first, then nested transactions one after the
/// other (each one's puts against all deletes so far), then the level's own puts.
fn check_intervals(ops: &[Op]) -> (HashSet<&[u8]>, HashSet<&[u8]>) {
    let mut dels: HashSet<&[u8]> = HashSet::new();
    let mut puts: HashSet<&[u8]> = HashSet::new();
    for op in ops {
        if let Op::Delete(key) = op {
            dels.insert(key);
        }
    }
    for op in ops {
        if let Op::Txn(nested) = op {
            let (nested_puts, nested_dels) = check_intervals(nested);
            for key in nested_puts {
                assert!(
                    puts.insert(key) && !dels.contains(key),
                    "duplicate key given in txn request"
                );
            }
            dels.extend(nested_dels);
        }
    }
    for op in ops {
        if let Op::Put(key, ..) = op {
            assert!(
                puts.insert(key) && !dels.contains(key.as_slice()),
                "duplicate key given in txn request"
            );
        }
    }
    (puts, dels)
}
