//! What an entry of the raft log asks for, as far as revisions are concerned.

/// Kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// The one with which a leader begins its term.
    Empty,
    /// A change of the membership.
    Membership,
    /// One key.
    Put,
    /// One key or a range.
    DeleteRange,
    /// A transaction.
    Txn,
    /// Removal of history.
    Compaction,
    /// A lease is granted, or its remaining time recorded.
    Lease,
    /// A lease ends; its keys are deleted.
    LeaseRevoke,
    /// An alarm is raised or cleared.
    Alarm,
    /// Users, roles, logins, auth itself.
    Auth,
    /// Cluster version, member attributes, downgrade.
    Cluster,
    /// Changes nothing that has revisions: reads, and requests of the v2 API.
    Other,
    /// No request that this program knows.
    Unknown,
}

impl EntryKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [EntryKind; 13] = [
        EntryKind::Empty,
        EntryKind::Membership,
        EntryKind::Put,
        EntryKind::DeleteRange,
        EntryKind::Txn,
        EntryKind::Compaction,
        EntryKind::Lease,
        EntryKind::LeaseRevoke,
        EntryKind::Alarm,
        EntryKind::Auth,
        EntryKind::Cluster,
        EntryKind::Other,
        EntryKind::Unknown,
    ];

    /// For people and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EntryKind::Empty => "empty",
            EntryKind::Membership => "membership",
            EntryKind::Put => "put",
            EntryKind::DeleteRange => "delete",
            EntryKind::Txn => "txn",
            EntryKind::Compaction => "compaction",
            EntryKind::Lease => "lease",
            EntryKind::LeaseRevoke => "lease revoke",
            EntryKind::Alarm => "alarm",
            EntryKind::Auth => "auth",
            EntryKind::Cluster => "cluster",
            EntryKind::Other => "other",
            EntryKind::Unknown => "unknown",
        }
    }
}
