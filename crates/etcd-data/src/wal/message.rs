//! The raft messages inside WAL records.

use crate::proto::{Fields, ProtoError, Value, take_varint};

/// Most ids of a `ConfState` that are read; far above any real cluster.
const MAX_IDS: usize = 10_000;

/// Who wrote the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WalMetadata {
    /// The member.
    pub member_id: u64,
    /// Its cluster.
    pub cluster_id: u64,
}

/// `raftpb.Entry`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry<'a> {
    /// 0 request, 1 and 2 change of the membership.
    pub kind: u64,
    /// Term of the leader that proposed it.
    pub term: u64,
    /// Place in the log, from 1.
    pub index: u64,
    /// Empty for the entry with which a leader begins its term.
    pub data: &'a [u8],
}

/// `raftpb.HardState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HardState {
    /// Latest term that the member has seen.
    pub term: u64,
    /// Whom it voted for in it.
    pub vote: u64,
    /// Highest index known to be committed; may lag behind what was applied.
    pub commit: u64,
}

/// `raftpb.ConfState`, as far as it is of use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfState {
    /// Members with a vote.
    pub voters: Vec<u64>,
    /// Members without.
    pub learners: Vec<u64>,
}

/// `walpb.Snapshot`: a raft snapshot that the log knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SnapshotMark {
    /// Raft index up to which the snapshot replaces the log.
    pub index: u64,
    /// Term of that entry.
    pub term: u64,
    /// Members at that point; not in 3.4's logs.
    pub conf_state: Option<ConfState>,
}

impl WalMetadata {
    /// Decodes `etcdserverpb.Metadata`.
    pub fn decode(message: &[u8]) -> Result<Self, ProtoError> {
        let mut found = WalMetadata::default();
        numbers(
            message,
            &mut [(1, &mut found.member_id), (2, &mut found.cluster_id)],
        )?;
        Ok(found)
    }
}

impl HardState {
    /// Decodes it.
    pub fn decode(message: &[u8]) -> Result<Self, ProtoError> {
        let mut found = HardState::default();
        let HardState { term, vote, commit } = &mut found;
        numbers(message, &mut [(1, term), (2, vote), (3, commit)])?;
        Ok(found)
    }
}

impl<'a> Entry<'a> {
    /// Decodes it.
    pub fn decode(message: &'a [u8]) -> Result<Self, ProtoError> {
        let mut entry = Entry::default();
        let mut fields = Fields::new(message);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => entry.kind = value.varint(1)?,
                2 => entry.term = value.varint(2)?,
                3 => entry.index = value.varint(3)?,
                4 => entry.data = value.bytes(4)?,
                _ => {}
            }
        }
        Ok(entry)
    }
}

impl SnapshotMark {
    /// Decodes it.
    pub fn decode(message: &[u8]) -> Result<Self, ProtoError> {
        let mut mark = SnapshotMark::default();
        let mut fields = Fields::new(message);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => mark.index = value.varint(1)?,
                2 => mark.term = value.varint(2)?,
                3 => mark.conf_state = Some(ConfState::decode(value.bytes(3)?)?),
                _ => {}
            }
        }
        Ok(mark)
    }
}

impl ConfState {
    /// Decodes it; ids may be packed or not.
    pub fn decode(message: &[u8]) -> Result<Self, ProtoError> {
        let mut found = ConfState::default();
        let mut fields = Fields::new(message);
        while let Some((field, value)) = fields.next_field()? {
            match field {
                1 => take_ids(value, &mut found.voters)?,
                2 => take_ids(value, &mut found.learners)?,
                _ => {}
            }
        }
        Ok(found)
    }
}

fn numbers(message: &[u8], wanted: &mut [(u32, &mut u64)]) -> Result<(), ProtoError> {
    let mut fields = Fields::new(message);
    while let Some((field, value)) = fields.next_field()? {
        if let Some((_, number)) = wanted.iter_mut().find(|(number, _)| *number == field) {
            **number = value.varint(field)?;
        }
    }
    Ok(())
}

fn take_ids(value: Value<'_>, ids: &mut Vec<u64>) -> Result<(), ProtoError> {
    match value {
        Value::Varint(id) if ids.len() < MAX_IDS => ids.push(id),
        Value::Bytes(mut packed) => {
            while !packed.is_empty() && ids.len() < MAX_IDS {
                ids.push(take_varint(&mut packed)?);
            }
        }
        _ => {}
    }
    Ok(())
}
