//! What a put or a transaction would write, without knowing what is stored.
//!
//! `PutRequest {1 key, 2 value, 3 lease, 4 prev_kv, 5 ignore_value, 6 ignore_lease}`;
//! `TxnRequest {1 compare*, 2 success RequestOp*, 3 failure RequestOp*}`;
//! `RequestOp {1 range, 2 put, 3 delete_range, 4 txn}`; `RangeRequest {…, 4 revision}`.
//! A transaction is refused whole when one operation of the branch that it takes names a lease that is gone, a key that
//! is not there (ignore_value, ignore_lease), or a revision that is compacted.

use crate::proto::{Fields, ProtoError};

/// Transactions inside transactions that are followed; etcd itself would recurse as deep as a request can be.
const MAX_DEPTH: u32 = 64;

/// A put.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PutShape {
    /// Refused when its lease or its key is missing.
    pub depends: bool,
}

/// A transaction, or one of its branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TxnShape {
    /// Whichever branch is taken, unless it is refused.
    pub writes_for_certain: bool,
    /// In some branch.
    pub may_write: bool,
    /// May be refused by what is stored.
    pub depends: bool,
}

impl PutShape {
    /// Reads a `PutRequest`.
    pub fn read(request: &[u8]) -> Result<Self, ProtoError> {
        let mut depends = false;
        let mut fields = Fields::new(request);
        while let Some((field, value)) = fields.next_field()? {
            if matches!(field, 3 | 5 | 6) {
                depends |= value.varint(field)? != 0;
            }
        }
        Ok(PutShape { depends })
    }
}

impl TxnShape {
    /// Reads a `TxnRequest`.
    pub fn read(request: &[u8]) -> Result<Self, ProtoError> {
        Self::read_nested(request, MAX_DEPTH)
    }

    /// Too deep to follow.
    const UNKNOWN: TxnShape = TxnShape {
        writes_for_certain: false,
        may_write: true,
        depends: true,
    };

    fn read_nested(request: &[u8], depth: u32) -> Result<Self, ProtoError> {
        let Some(depth) = depth.checked_sub(1) else {
            return Ok(Self::UNKNOWN);
        };
        let (mut success, mut failure) = (TxnShape::default(), TxnShape::default());
        let mut has_compares = false;
        let mut fields = Fields::new(request);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => has_compares = true,
                2 => success.and_then(Self::of_op(value.bytes(2)?, depth)?),
                3 => failure.and_then(Self::of_op(value.bytes(3)?, depth)?),
                _ => {}
            }
        }
        Ok(if has_compares {
            success.or(failure)
        } else {
            success
        })
    }

    fn of_op(op: &[u8], depth: u32) -> Result<Self, ProtoError> {
        let mut found = TxnShape::default();
        let mut fields = Fields::new(op);
        while let Some((field, value)) = fields.next_field()? {
            found.and_then(match field {
                1 => TxnShape {
                    depends: reads_a_revision(value.bytes(1)?)?,
                    ..TxnShape::default()
                },
                2 => TxnShape {
                    writes_for_certain: true,
                    may_write: true,
                    depends: PutShape::read(value.bytes(2)?)?.depends,
                },
                3 => TxnShape {
                    may_write: true,
                    ..TxnShape::default()
                },
                4 => Self::read_nested(value.bytes(4)?, depth)?,
                _ => Self::UNKNOWN,
            });
        }
        Ok(found)
    }

    /// One after the other.
    fn and_then(&mut self, next: TxnShape) {
        self.writes_for_certain |= next.writes_for_certain;
        self.may_write |= next.may_write;
        self.depends |= next.depends;
    }

    /// One or the other.
    fn or(self, other: TxnShape) -> TxnShape {
        TxnShape {
            writes_for_certain: self.writes_for_certain && other.writes_for_certain,
            may_write: self.may_write || other.may_write,
            depends: self.depends || other.depends,
        }
    }
}

fn reads_a_revision(range: &[u8]) -> Result<bool, ProtoError> {
    let mut fields = Fields::new(range);
    let mut revision = 0;
    while let Some((field, value)) = fields.next_field()? {
        if field == 4 {
            revision = value.varint(4)?;
        }
    }
    Ok(revision != 0)
}
