//! From sorted entries to rows: what does not count is dropped, and each key is judged once.

use crate::Result;
use crate::look::query::{Ask, FROM, TO};
use crate::look::row::{Row, RowKind};
use crate::look::runs::{Item, Merge};
use bbolt::{Cancel, Live};
use std::collections::HashMap;

/// Entries between two looks at the cancel flag.
const CANCEL_ENTRIES: u64 = 4096;

/// Rows in order of keys; of one key's history, the oldest first.
pub struct Answer {
    ask: Ask,
    merge: Merge,
    live: HashMap<u32, Live>,
    /// The key that is being judged.
    key: Option<Judged>,
    value: Vec<u8>,
    old_value: Vec<u8>,
    entries: u64,
}

/// What is known of a key so far.
struct Judged {
    key: Vec<u8>,
    from: Option<Item>,
    to: Option<Item>,
    last: Option<(i64, i64)>,
}

impl Answer {
    pub(crate) fn new(ask: Ask, merge: Merge, live: HashMap<u32, Live>) -> Self {
        Self {
            ask,
            merge,
            live,
            key: None,
            value: Vec::new(),
            old_value: Vec::new(),
            entries: 0,
        }
    }

    /// The next rows, whole ones, until they have `bytes` bytes or more; `None` at the end.
    pub fn next_batch(&mut self, bytes: usize, cancel: &Cancel) -> Result<Option<Vec<u8>>> {
        let mut batch = Vec::new();
        while batch.len() < bytes {
            let Some(item) = self.next_counting(cancel)? else {
                self.end_key(&mut batch)?;
                break;
            };
            if self
                .key
                .as_ref()
                .is_none_or(|judged| judged.key != item.key)
            {
                self.end_key(&mut batch)?;
                self.key = Some(Judged {
                    key: item.key.clone(),
                    from: None,
                    to: None,
                    last: None,
                });
            }
            self.judge(item, &mut batch)?;
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    fn next_counting(&mut self, cancel: &Cancel) -> Result<Option<Item>> {
        while let Some(item) = self.merge.next()? {
            if self.entries.is_multiple_of(CANCEL_ENTRIES) {
                cancel.check()?;
            }
            self.entries += 1;
            let live = self.live.get(&item.head.source);
            if item.head.page == 0 || live.is_some_and(|live| live.contains(item.head.page)) {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    fn judge(&mut self, item: Item, batch: &mut Vec<u8>) -> Result<()> {
        let Some(judged) = &mut self.key else {
            return Ok(());
        };
        if matches!(self.ask, Ask::History { .. }) {
            // Found in more than one object.
            if judged.last.replace(item.head.revision()) != Some(item.head.revision()) {
                self.put_change(&item, batch)?;
            }
            return Ok(());
        }
        // The newest comes first.
        if item.head.sides & FROM != 0 && judged.from.is_none() {
            judged.from = Some(item.clone());
        }
        if item.head.sides & TO != 0 && judged.to.is_none() {
            judged.to = Some(item);
        }
        Ok(())
    }

    /// Everything about the key has gone by.
    fn end_key(&mut self, batch: &mut Vec<u8>) -> Result<()> {
        let Some(Judged { key, from, to, .. }) = self.key.take() else {
            return Ok(());
        };
        match self.ask {
            Ask::History { .. } => Ok(()),
            Ask::State { .. } => match to {
                Some(item) if !item.head.tombstone => self.put_change(&item, batch),
                _ => Ok(()),
            },
            Ask::Difference { .. } => self.put_difference(&key, from, to, batch),
        }
    }

    fn put_change(&mut self, item: &Item, batch: &mut Vec<u8>) -> Result<()> {
        self.merge.value(item, &mut self.value)?;
        let kind = if item.head.tombstone {
            RowKind::Delete
        } else {
            RowKind::Put
        };
        let row = Row {
            kind,
            key: &item.key,
            new: Some((item.head, &self.value)),
            old: None,
        };
        row.encode(batch);
        Ok(())
    }

    fn put_difference(
        &mut self,
        key: &[u8],
        from: Option<Item>,
        to: Option<Item>,
        batch: &mut Vec<u8>,
    ) -> Result<()> {
        let is_there = |item: &Option<Item>| item.as_ref().is_some_and(|item| !item.head.tombstone);
        let revision = |item: &Option<Item>| item.as_ref().map(|item| item.head.revision());
        let kind = match (is_there(&from), is_there(&to)) {
            (false, true) => RowKind::Added,
            (true, false) => RowKind::Deleted,
            (true, true) if revision(&from) != revision(&to) => RowKind::Changed,
            _ => return Ok(()),
        };
        let from = from.filter(|item| !item.head.tombstone);
        for (item, value) in [(&to, &mut self.value), (&from, &mut self.old_value)] {
            value.clear();
            if let Some(item) = item {
                self.merge.value(item, value)?;
            }
        }
        let row = Row {
            kind,
            key,
            new: to.as_ref().map(|item| (item.head, self.value.as_slice())),
            old: from
                .as_ref()
                .map(|item| (item.head, self.old_value.as_slice())),
        };
        row.encode(batch);
        Ok(())
    }
}
