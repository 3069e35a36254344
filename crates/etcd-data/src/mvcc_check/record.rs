//! One record by itself.

use super::finding::{FindingKind, Findings, shown};
use crate::kv::KeyValueRef;
use crate::records::RawRecord;
use crate::revision::{RecordKey, Revision};

/// A record that is fit for the checks that look at its neighbours.
pub(super) struct Sound<'a> {
    pub(super) revision: Revision,
    pub(super) tombstone: bool,
    pub(super) kv: KeyValueRef<'a>,
}

/// Reads a record and reports what is wrong in it. `None` when nothing can be concluded from it.
#[inline]
pub(super) fn read<'a>(
    raw: RawRecord<'a>,
    removed_up_to: i64,
    findings: &mut Findings,
) -> Option<Sound<'a>> {
    let Some(RecordKey {
        revision,
        tombstone,
    }) = RecordKey::parse(raw.key)
    else {
        findings.add(FindingKind::RecordKey, None, || {
            format!("{} is not a revision", shown(raw.key))
        });
        return None;
    };
    let kv = match KeyValueRef::decode(raw.value) {
        Ok(kv) => kv,
        Err(e) => {
            findings.add(FindingKind::Value, Some(revision), || {
                format!("value is no KeyValue: {e}")
            });
            return None;
        }
    };
    if let Some(what) = wrong(raw, revision, tombstone, &kv, removed_up_to) {
        findings.add(FindingKind::Value, Some(revision), || {
            format!("key {}: {what}", shown(kv.key))
        });
    }
    Some(Sound {
        revision,
        tombstone,
        kv,
    })
}

fn wrong(
    raw: RawRecord<'_>,
    revision: Revision,
    tombstone: bool,
    kv: &KeyValueRef<'_>,
    removed_up_to: i64,
) -> Option<String> {
    if raw.value.is_empty() {
        let placeholder = !tombstone && revision.sub == 0 && revision.main <= removed_up_to;
        return (!placeholder).then(|| "the value is empty".into());
    }
    if kv.key.is_empty() {
        return Some("there is no key in it".into());
    }
    if tombstone {
        return (*kv != KeyValueRef::tombstone(kv.key))
            .then(|| "a tombstone holds more than its key".into());
    }
    if kv.mod_revision != revision.main {
        return Some(format!(
            "mod_revision is {}, the record is of {}",
            kv.mod_revision, revision.main
        ));
    }
    let created_here = kv.create_revision == kv.mod_revision;
    if kv.create_revision < 1
        || kv.create_revision > kv.mod_revision
        || kv.version < 1
        || created_here != (kv.version == 1)
    {
        return Some(format!(
            "version {} and create_revision {} do not go with mod_revision {}",
            kv.version, kv.create_revision, kv.mod_revision
        ));
    }
    None
}
