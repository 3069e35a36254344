//! The napi boundary: one file per group of verbs, no logic.
//!
//! Rules (README, "The native boundary"): plain data across, named alike on both sides; no defaults here; absent is
//! `null`; work above a few milliseconds runs on a thread of its own ([`job`]) and returns a promise; every error
//! carries a code of a closed list ([`error`]). Byte counts cross as numbers (below 2^53), revisions and lease ids as
//! `bigint`.

#![allow(missing_docs)] // napi-derive generates items; the exported ones are documented.

mod apply;
mod compact;
mod compare;
mod control;
mod convert;
mod db;
mod delta_file;
mod delta_writer;
mod error;
mod files;
mod full;
mod job;
mod look;
mod member;
mod pack;
mod replay;
mod wal;
