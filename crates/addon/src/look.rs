//! Looking into backups: one question, what fulls and deltas know about it, the answer in batches of rows.

use crate::control::JobControl;
use crate::convert::{bigint, from_number, to_number};
use crate::db::identity;
use crate::error::{Failure, Outcome, SyncError};
use crate::job;
use engine::look::{Answer, Ask, BackupKind, Full, Keys, Query, Side, identify};
use napi::Env;
use napi::bindgen_prelude::{BigInt, Buffer, Object, Uint8Array};
use napi_derive::napi;
use pack::Codec;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What is asked; see `engine::look::Query`.
#[napi(object)]
pub struct LookQuery {
    pub key: Uint8Array,
    pub is_prefix: bool,
    #[napi(ts_type = "'state' | 'history' | 'difference'")]
    pub ask: String,
    /// Of a difference: the revision of the state before.
    pub from: BigInt,
    pub to: BigInt,
    pub with_values: bool,
    pub temp_dir: String,
}

/// A full that can be read at any place.
#[napi]
pub struct LookFull {
    full: Arc<Full>,
}

#[napi]
impl LookFull {
    #[napi]
    pub fn revision(&self) -> BigInt {
        bigint(self.full.facts().revision)
    }

    /// Records up to here may be compacted away; -1 when none ever were.
    #[napi]
    pub fn compacted(&self) -> BigInt {
        bigint(self.full.facts().compacted)
    }

    /// The last record of one main revision, of all without one; `null` when there is none. Own thread.
    #[napi(ts_return_type = "Promise<RecordIdentity | null>")]
    pub fn last_record<'env>(
        &self,
        env: &'env Env,
        main: Option<BigInt>,
        control: &JobControl,
    ) -> napi::Result<Object<'env>> {
        let (full, cancel) = (Arc::clone(&self.full), control.cancel_token());
        let main = main.map(|main| main.get_i64().0);
        job::spawn(env, "look-record", move || {
            cancel.check().map_err(engine::Error::from)?;
            Ok(full.last_record(main)?.map(identity))
        })
    }
}

/// Opens a full. `codec` `null`: a plain database that an etcd may have open, which is then LOCKED. Own thread.
#[napi(ts_return_type = "Promise<LookFull>")]
pub fn open_look_full<'env>(
    env: &'env Env,
    path: String,
    codec: Option<String>,
    temp_dir: String,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let cancel = control.cancel_token();
    job::spawn(env, "look-open", move || {
        let path = Path::new(&path);
        let full = match codec {
            None => Full::open_unused(path)?,
            Some(codec) => Full::open(
                path,
                Codec::from_name(&codec)?,
                Path::new(&temp_dir),
                &cancel,
            )?,
        };
        Ok(LookFull {
            full: Arc::new(full),
        })
    })
}

/// What a file is. `codec` is that of a full.
#[napi(object)]
pub struct IdentifiedBackup {
    #[napi(ts_type = "'full' | 'delta'")]
    pub kind: String,
    pub codec: Option<String>,
}

/// By its first bytes. Own thread.
#[napi(ts_return_type = "Promise<IdentifiedBackup>")]
pub fn identify_backup(env: &Env, path: String) -> napi::Result<Object<'_>> {
    job::spawn(env, "look-identify", move || {
        let (kind, codec) = match identify(Path::new(&path))? {
            BackupKind::Full(codec) => ("full", Some(codec.name().to_owned())),
            BackupKind::Delta => ("delta", None),
        };
        Ok(IdentifiedBackup {
            kind: kind.to_owned(),
            codec,
        })
    })
}

/// How a full was read.
#[napi(object)]
pub struct LookedFull {
    /// Nothing older can change the answer.
    pub found: bool,
    pub swept: bool,
}

/// What was read of a delta.
#[napi(object)]
pub struct LookedDelta {
    pub first_revision: BigInt,
    pub last_revision: BigInt,
    /// Nothing older can change the answer.
    pub found: bool,
    pub blocks_read: f64,
    pub blocks: f64,
}

/// Which object, for which state, without what.
#[napi(object)]
pub struct LookPart {
    /// Number that comes back in the rows.
    pub source: u32,
    #[napi(ts_type = "'from' | 'to' | 'both'")]
    pub side: String,
    /// Changes up to this revision are passed over.
    pub after: BigInt,
}

enum State {
    Asking(Box<engine::look::Look>),
    Answering(Box<Answer>),
    Ended,
}

/// One question. Objects in any order, then the rows.
#[napi]
pub struct Look {
    state: Arc<Mutex<State>>,
}

#[napi]
impl Look {
    #[napi(constructor)]
    pub fn new(query: LookQuery) -> Result<Self, SyncError> {
        let look = engine::look::Look::new(to_query(query)?);
        Ok(Self {
            state: Arc::new(Mutex::new(State::Asking(Box::new(look)))),
        })
    }

    /// Own thread.
    #[napi(ts_return_type = "Promise<LookedFull>")]
    pub fn full<'env>(
        &self,
        env: &'env Env,
        full: &LookFull,
        part: LookPart,
        control: &JobControl,
    ) -> napi::Result<Object<'env>> {
        let (state, cancel) = (Arc::clone(&self.state), control.cancel_token());
        let full = Arc::clone(&full.full);
        job::spawn(env, "look-full", move || {
            let side = side_of(&part.side)?;
            let after = part.after.get_i64().0;
            let read = asking(&state, |look| {
                look.add_full(&full, part.source, side, after, &cancel)
            })?;
            Ok(LookedFull {
                found: read.found,
                swept: read.swept,
            })
        })
    }

    /// Own thread.
    #[napi(ts_return_type = "Promise<LookedDelta>")]
    pub fn delta<'env>(
        &self,
        env: &'env Env,
        path: String,
        part: LookPart,
        control: &JobControl,
    ) -> napi::Result<Object<'env>> {
        let (state, cancel) = (Arc::clone(&self.state), control.cancel_token());
        job::spawn(env, "look-delta", move || {
            let side = side_of(&part.side)?;
            let after = part.after.get_i64().0;
            let facts = asking(&state, |look| {
                look.add_delta(Path::new(&path), part.source, side, after, &cancel)
            })?;
            Ok(LookedDelta {
                first_revision: bigint(facts.first_revision),
                last_revision: bigint(facts.last_revision),
                found: facts.found,
                blocks_read: to_number(facts.blocks_read),
                blocks: to_number(facts.blocks),
            })
        })
    }

    /// Whole rows, `bytes` bytes or a little more; `null` at the end. Layout: `engine::look::row`. Own thread.
    #[napi(ts_return_type = "Promise<Buffer | null>")]
    pub fn rows<'env>(
        &self,
        env: &'env Env,
        bytes: f64,
        control: &JobControl,
    ) -> napi::Result<Object<'env>> {
        let (state, cancel) = (Arc::clone(&self.state), control.cancel_token());
        job::spawn(env, "look-rows", move || {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if let State::Asking(look) = std::mem::replace(&mut *state, State::Ended) {
                *state = State::Answering(Box::new(look.answer()?));
            }
            let State::Answering(answer) = &mut *state else {
                return Ok(None);
            };
            let bytes = usize::try_from(from_number(bytes)).unwrap_or(usize::MAX);
            Ok(answer.next_batch(bytes, &cancel)?.map(Buffer::from))
        })
    }
}

fn asking<T>(
    state: &Mutex<State>,
    take: impl FnOnce(&mut engine::look::Look) -> engine::Result<T>,
) -> Outcome<T> {
    match &mut *state.lock().unwrap_or_else(PoisonError::into_inner) {
        State::Asking(look) => Ok(take(look)?),
        State::Answering(_) | State::Ended => Err(Failure::internal("the answer has begun")),
    }
}

fn to_query(query: LookQuery) -> Outcome<Query> {
    let key = query.key.to_vec();
    let (from, to) = (query.from.get_i64().0, query.to.get_i64().0);
    Ok(Query {
        keys: if query.is_prefix {
            Keys::Prefix(key)
        } else {
            Keys::One(key)
        },
        ask: match query.ask.as_str() {
            "state" => Ask::State { at: to },
            "history" => Ask::History { to },
            "difference" => Ask::Difference { from, to },
            other => return Err(Failure::internal(format!("{other:?} is no question"))),
        },
        with_values: query.with_values,
        spill_dir: query.temp_dir.into(),
    })
}

fn side_of(name: &str) -> Outcome<Side> {
    Ok(match name {
        "from" => Side::From,
        "to" => Side::To,
        "both" => Side::Both,
        other => return Err(Failure::internal(format!("{other:?} is no side"))),
    })
}
