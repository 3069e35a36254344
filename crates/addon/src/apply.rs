//! Deltas appended to a base natively, while they still arrive.

use crate::control::JobControl;
use crate::convert::{bigint, hex, millis_of, to_number};
use crate::error::{Failure, Outcome, SyncError};
use crate::job;
use crate::member::{RecordCheckpoint, SeatRequest, Seating};
use engine::{DeltaFiles, Error};
use napi::bindgen_prelude::{BigInt, Object};
use napi::{Env, JsDeferred};
use napi_derive::napi;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Files that are handed over and not yet begun: the one who hands over waits for each, so one place is enough.
const FILES_AHEAD: usize = 1;
/// How late a job that waits for a file notices that it was cancelled.
const CANCEL_POLL: Duration = Duration::from_millis(20);

type Resolve = Box<dyn FnOnce(Env) -> napi::Result<bool> + Send>;

/// What is handed over: a file, or the word that there are no more.
enum Message {
    File(PathBuf, i64, Taken),
    End,
}

/// The promise of a file: true once it has been read to its end, false when it never will be.
struct Taken(Option<JsDeferred<bool, Resolve>>);

impl Taken {
    fn settle(&mut self, read: bool) {
        if let Some(deferred) = self.0.take() {
            deferred.resolve(Box::new(move |_| Ok(read)));
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.settle(false);
    }
}

/// Hands files to one running append, in order.
#[napi]
pub struct DeltaFeed {
    sender: Mutex<Option<SyncSender<Message>>>,
    receiver: Mutex<Option<Receiver<Message>>>,
}

#[napi]
impl DeltaFeed {
    #[napi(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let (sender, receiver) = sync_channel(FILES_AHEAD);
        Self {
            sender: Mutex::new(Some(sender)),
            receiver: Mutex::new(Some(receiver)),
        }
    }

    /// The next `.ebd`, of which revisions up to `through` count. The promise is true once the file may go, false when the append has ended before. One at a time.
    /// JavaScript thread, does not block.
    #[napi(ts_return_type = "Promise<boolean>")]
    pub fn push<'env>(
        &self,
        env: &'env Env,
        path: String,
        through: BigInt,
    ) -> napi::Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred::<bool, Resolve>()?;
        let message = Message::File(path.into(), through.get_i64().0, Taken(Some(deferred)));
        if let Some(sender) = &*self.sender.lock().unwrap_or_else(PoisonError::into_inner) {
            // What cannot be sent is dropped, and its promise is false.
            let _ = sender.try_send(message);
        }
        Ok(promise)
    }

    /// There are no more files. JavaScript thread, does not block.
    #[napi]
    pub fn end(&self) -> Result<(), SyncError> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        match sender.as_ref().map(|sender| sender.try_send(Message::End)) {
            Some(Err(TrySendError::Full(_))) => {
                Err(Failure::internal("the last delta has not been taken yet").into())
            }
            // An append that has ended needs no word of it.
            _ => Ok(()),
        }
    }

    /// The append ends with CANCELLED as soon as it needs another file. JavaScript thread, does not block.
    #[napi]
    pub fn abort(&self) {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The running job's end of a feed.
struct Files {
    receiver: Receiver<Message>,
    /// Of the file that is being read.
    taken: Option<Taken>,
    reached: Arc<AtomicU64>,
    cancel: bbolt::Cancel,
}

impl DeltaFiles for Files {
    fn next_file(&mut self) -> engine::Result<Option<(PathBuf, i64)>> {
        if let Some(mut taken) = self.taken.take() {
            taken.settle(true);
        }
        loop {
            self.cancel.check()?;
            match self.receiver.recv_timeout(CANCEL_POLL) {
                Ok(Message::File(path, through, taken)) => {
                    self.taken = Some(taken);
                    return Ok(Some((path, through)));
                }
                Ok(Message::End) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Cancelled(bbolt::Cancelled));
                }
            }
        }
    }

    fn reached(&mut self, revision: i64) {
        self.reached
            .store(revision.unsigned_abs(), Ordering::Relaxed);
    }
}

/// What was appended.
#[napi(object, use_nullable = true)]
pub struct AppendedDeltas {
    /// Last revision of the result.
    pub revision: BigInt,
    pub events: f64,
    pub checkpoints: Vec<RecordCheckpoint>,
    /// Arrival of the last event, milliseconds since the epoch.
    pub last_event_ms: Option<f64>,
}

/// Appends what `feed` hands over to the database at `path`, in place, and seats the result; one transaction,
/// synced. Progress is the revision that is reached. A feed serves one append. Own thread.
#[napi(ts_return_type = "Promise<AppendedDeltas>")]
pub fn append_deltas<'env>(
    env: &'env Env,
    path: String,
    feed: &DeltaFeed,
    seat: SeatRequest,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, reached) = (control.cancel_token(), control.done_counter());
    let receiver = feed
        .receiver
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    job::spawn(env, "append-deltas", move || -> Outcome<AppendedDeltas> {
        let mut files = Files {
            receiver: receiver
                .ok_or_else(|| Failure::internal("the feed serves another append"))?,
            taken: None,
            reached,
            cancel: cancel.clone(),
        };
        let seating = Seating::read(&seat)?;
        let appended = engine::append(Path::new(&path), &mut files, &seating.seat(), &cancel)?;
        let checkpoints = appended
            .checkpoints
            .iter()
            .map(|checkpoint| RecordCheckpoint {
                revision: bigint(checkpoint.revision),
                sha256: hex(&checkpoint.sha256),
            });
        Ok(AppendedDeltas {
            revision: bigint(appended.revision),
            events: to_number(appended.events),
            checkpoints: checkpoints.collect(),
            last_event_ms: appended.last_event_ms.map(millis_of),
        })
    })
}
