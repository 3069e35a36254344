//! Full snapshots: intake of the stream, unpacking.

use crate::control::JobControl;
use crate::convert::{from_number, hex, to_number};
use crate::error::{Failure, Outcome, SyncError};
use crate::job;
use napi::Env;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi_derive::napi;
use pack::{
    Arrival, Codec, Flow, Sink, SinkOptions, Trailer, UnpackOptions, UnpackSinkOptions, Unpacked,
};
use std::path::PathBuf;

/// A snapshot stream that arrived whole.
#[napi(object)]
pub struct TakenSnapshot {
    pub plain_bytes: f64,
    /// Lower case hex.
    pub db_sha256: String,
    pub packed_bytes: f64,
    pub packed_sha256: String,
}

/// Takes in the messages of Maintenance.Snapshot.
#[napi]
pub struct SnapshotSink {
    sink: Option<Sink>,
}

#[napi]
impl SnapshotSink {
    /// Creates both files, which must not exist. JavaScript thread.
    #[napi(constructor)]
    pub fn new(raw_path: String, packed_path: String, codec: String) -> Result<Self, SyncError> {
        let start = || -> Outcome<Sink> {
            let codec = Codec::from_name(&codec)?;
            Ok(Sink::start(SinkOptions {
                raw_path: raw_path.into(),
                packed_path: packed_path.into(),
                codec,
            })?)
        };
        Ok(Self {
            sink: Some(start()?),
        })
    }

    /// Copies one message in. "more", "pause" (wait for `drained`) or "stop" (`finish` says why). JavaScript thread, does
    /// not block.
    #[napi(ts_return_type = "'more' | 'pause' | 'stop'")]
    pub fn push(&self, message: Uint8Array) -> &'static str {
        flow_name(self.sink.as_ref().map(|sink| sink.push(message.to_vec())))
    }

    /// Resolves when there is room again, or when the sink has ended. Own thread.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn drained<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let wait = self.sink.as_ref().map(Sink::drain_handle);
        job::spawn(env, "drain", move || {
            if let Some(wait) = wait {
                wait();
            }
            Ok(())
        })
    }

    /// The stream ended without an error: waits for what is queued and checks that it is whole. Own thread.
    #[napi(ts_return_type = "Promise<TakenSnapshot>")]
    pub fn finish<'env>(&mut self, env: &'env Env) -> napi::Result<Object<'env>> {
        let sink = self.sink.take();
        job::spawn(env, "snapshot-finish", move || {
            let sink = sink.ok_or_else(|| Failure::internal("the sink has ended before"))?;
            let summary = sink.finish()?;
            Ok(TakenSnapshot {
                plain_bytes: to_number(summary.plain_bytes),
                db_sha256: hex(&summary.db_sha256),
                packed_bytes: to_number(summary.packed.bytes),
                packed_sha256: hex(&summary.packed.sha256),
            })
        })
    }

    /// Gives the stream up. The files stay for the caller to remove. Own thread, since it waits for the sink's threads.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn abort<'env>(&mut self, env: &'env Env) -> napi::Result<Object<'env>> {
        let sink = self.sink.take();
        job::spawn(env, "snapshot-abort", move || {
            drop(sink);
            Ok(())
        })
    }
}

/// An unpacked full.
#[napi(object)]
pub struct UnpackedFull {
    pub packed_bytes: f64,
    pub packed_sha256: String,
    pub plain_bytes: f64,
    pub db_sha256: String,
    #[napi(ts_type = "'good' | 'missing' | 'wrong'")]
    pub trailer: String,
}

/// What to unpack; see `pack::UnpackOptions`.
#[napi(object)]
pub struct UnpackRequest {
    pub source: String,
    pub target: String,
    pub codec: String,
    pub strip_trailer: bool,
    pub max_bytes: f64,
}

/// How much of a file is there that is still being written, front to back.
#[napi]
pub struct FileArrival {
    arrival: Arrival,
}

#[napi]
impl FileArrival {
    #[napi(constructor)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            arrival: Arrival::default(),
        }
    }

    /// So many bytes from the front are there. JavaScript thread, does not block.
    #[napi]
    pub fn advance(&self, bytes: f64) {
        self.arrival.advance(from_number(bytes));
    }

    /// All of it is there. JavaScript thread, does not block.
    #[napi]
    pub fn finish(&self) {
        self.arrival.finish();
    }
}

/// Decompresses a packed full, as it arrives, into a new file and digests both. Own threads.
#[napi(ts_return_type = "Promise<UnpackedFull>")]
pub fn unpack_full<'env>(
    env: &'env Env,
    request: UnpackRequest,
    arrival: &FileArrival,
    control: &JobControl,
) -> napi::Result<Object<'env>> {
    let (cancel, arrival) = (control.cancel_token(), arrival.arrival.clone());
    job::spawn(env, "unpack", move || {
        let UnpackRequest {
            source,
            target,
            codec,
            strip_trailer,
            max_bytes,
        } = request;
        let (source, target) = (PathBuf::from(source), PathBuf::from(target));
        let codec = Codec::from_name(&codec)?;
        let max_bytes = from_number(max_bytes);
        let options = UnpackOptions {
            source: &source,
            arrival,
            target: &target,
            codec,
            strip_trailer,
            max_bytes,
        };
        let unpacked = pack::unpack(&options, &cancel)?;
        Ok(unpacked_full(&unpacked))
    })
}

/// Unpacks a full while it arrives.
#[napi]
pub struct UnpackSink {
    sink: Option<pack::UnpackSink>,
}

#[napi]
impl UnpackSink {
    /// Creates the target, which must not exist and is removed on failure; `name` is what errors call the full.
    /// JavaScript thread.
    #[napi(constructor)]
    pub fn new(
        name: String,
        target: String,
        codec: String,
        max_bytes: f64,
    ) -> Result<Self, SyncError> {
        let start = || -> Outcome<pack::UnpackSink> {
            Ok(pack::UnpackSink::start(UnpackSinkOptions {
                codec: Codec::from_name(&codec)?,
                max_bytes: from_number(max_bytes),
                target: target.into(),
                name,
            })?)
        };
        Ok(Self {
            sink: Some(start()?),
        })
    }

    /// Copies the next bytes in. "more", "pause" (wait for `drained`) or "stop" (`finish` says why). JavaScript thread,
    /// does not block.
    #[napi(ts_return_type = "'more' | 'pause' | 'stop'")]
    pub fn push(&self, piece: Uint8Array) -> &'static str {
        flow_name(self.sink.as_ref().map(|sink| sink.push(piece.to_vec())))
    }

    /// Resolves when there is room again, or when the sink has ended. Own thread.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn drained<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let wait = self.sink.as_ref().map(pack::UnpackSink::drain_handle);
        job::spawn(env, "drain", move || {
            if let Some(wait) = wait {
                wait();
            }
            Ok(())
        })
    }

    /// Everything was pushed: waits for what is queued. Own thread.
    #[napi(ts_return_type = "Promise<UnpackedFull>")]
    pub fn finish<'env>(&mut self, env: &'env Env) -> napi::Result<Object<'env>> {
        let sink = self.sink.take();
        job::spawn(env, "unpack-finish", move || {
            let sink = sink.ok_or_else(|| Failure::internal("the sink has ended before"))?;
            Ok(unpacked_full(&sink.finish()?))
        })
    }

    /// Gives the full up and removes the target. Own thread, since it waits for the sink's threads.
    #[napi(ts_return_type = "Promise<void>")]
    pub fn abort<'env>(&mut self, env: &'env Env) -> napi::Result<Object<'env>> {
        let sink = self.sink.take();
        job::spawn(env, "unpack-abort", move || {
            drop(sink);
            Ok(())
        })
    }
}

fn unpacked_full(unpacked: &Unpacked) -> UnpackedFull {
    UnpackedFull {
        packed_bytes: to_number(unpacked.packed_bytes),
        packed_sha256: hex(&unpacked.packed_sha256),
        plain_bytes: to_number(unpacked.plain_bytes),
        db_sha256: hex(&unpacked.db_sha256),
        trailer: trailer_name(unpacked.trailer).to_owned(),
    }
}

fn flow_name(flow: Option<Flow>) -> &'static str {
    match flow {
        Some(Flow::More) => "more",
        Some(Flow::Pause) => "pause",
        Some(Flow::Stop) | None => "stop",
    }
}

fn trailer_name(trailer: Trailer) -> &'static str {
    match trailer {
        Trailer::Good => "good",
        Trailer::Missing => "missing",
        Trailer::Wrong => "wrong",
    }
}
