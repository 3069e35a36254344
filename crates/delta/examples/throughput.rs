//! Events per second of each path through this crate, on one core: `cargo run --release -p delta --example throughput
//! [events] [value bytes]`. Values are half random, half text, so that compression neither wins nor loses everything.

use delta::event::Change;
use delta::{
    Cancel, Compression, DeltaFile, DeltaWriter, Header, JsonReader, Kind, Options, Replay, Result,
};
use etcd_data::KeyValueRef;
use etcd_data::proto::{put_bytes_field, put_varint_field};
use std::path::Path;
use std::time::Instant;

const EVENTS_PER_RESPONSE: i64 = 100;

fn main() -> Result<()> {
    let mut arguments = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse::<i64>().ok());
    let events = arguments.next().unwrap_or(1_000_000);
    let value_bytes = arguments.next().unwrap_or(300) as usize;
    let dir = std::env::temp_dir().join(format!("delta-throughput-{}", std::process::id()));
    std::fs::create_dir_all(&dir).map_err(|source| delta::Error::Io {
        op: "create",
        source,
    })?;
    let result = run(&dir, events, value_bytes);
    let _ = std::fs::remove_dir_all(&dir);
    result
}

fn run(dir: &Path, events: i64, value_bytes: usize) -> Result<()> {
    println!("{events} events, values of {value_bytes} bytes, one core");
    let ebd = dir.join("a.ebd");
    let responses = responses(events, value_bytes);
    timed("ingest watch responses, zstd 1", events, || {
        let header = Header {
            start_revision: 1,
            ..Header::default()
        };
        let mut writer = DeltaWriter::create(&ebd, header, &Options::default())?;
        for (now_ms, response) in (0..).zip(&responses) {
            writer.push_response(response, now_ms)?;
        }
        writer.finish(&[]).map(drop)
    })?;
    drop(responses);
    print_size(&ebd);
    println!(
        "peak RSS {} MB, the responses included, which this program holds",
        peak_rss_mb()
    );
    reset_peak_rss();
    let cancel = Cancel::never();
    timed("decode .ebd (checksums and digest)", events, || {
        decode(&ebd)
    })?;
    timed("verify .ebd", events, || {
        DeltaFile::open(&ebd)?.verify(&cancel).map(drop)
    })?;
    timed("replay .ebd into requests", events, || {
        let mut replay = Replay::new(0);
        replay.open(&ebd)?;
        while replay.next_batch(&cancel)?.is_some() {}
        Ok(())
    })?;
    for (name, compression) in [
        ("none", Compression::None),
        ("gzip", Compression::Gzip),
        ("zlib", Compression::Zlib),
    ] {
        let json = dir.join(name);
        timed(&format!("export JSON, {name}"), events, || {
            delta::export(&ebd, &json, compression, &cancel).map(drop)
        })?;
        print_size(&json);
        timed(&format!("decode JSON, {name} (digest)"), events, || {
            let mut reader = JsonReader::open(&json, compression)?;
            while reader.next_event()?.is_some() {}
            Ok(())
        })?;
        let local = dir.join(format!("{name}.ebd"));
        timed(&format!("transcode JSON, {name}, to .ebd"), events, || {
            delta::transcode(
                &json,
                &local,
                &Options {
                    codec: delta::Codec::None,
                    ..Options::default()
                },
                &cancel,
            )
            .map(drop)
        })?;
        let _ = std::fs::remove_file(&json);
        let _ = std::fs::remove_file(&local);
    }
    println!("peak RSS {} MB since the ingest", peak_rss_mb());
    Ok(())
}

fn timed(name: &str, events: i64, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let (start, cpu_start) = (Instant::now(), cpu_seconds());
    work()?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start);
    let rate = events as f64 / cpu.max(0.01);
    println!("{name:40} {seconds:7.3} s wall {cpu:6.2} s cpu {rate:10.0} events per cpu second");
    Ok(())
}

/// User and system time of this process: what a machine that is busy with other work does not distort.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|text| text.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}

fn decode(path: &Path) -> Result<()> {
    let mut reader = delta::EbdReader::open(path)?;
    while let Some(block) = reader.next_block()? {
        let mut events = block.events();
        while let Some(stored) = events.next_event()? {
            std::hint::black_box(Change::parse(stored.bytes)?);
        }
    }
    Ok(())
}

fn responses(events: i64, value_bytes: usize) -> Vec<Vec<u8>> {
    let mut value = b"{\"metadata\":{\"name\":\"pod\",\"namespace\":\"default\"},\"spec\":{}}"
        .repeat(1 + value_bytes / 50);
    value.truncate(value_bytes);
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let mut responses = Vec::new();
    for first in (1..=events).step_by(EVENTS_PER_RESPONSE as usize) {
        let mut response = Vec::new();
        put_varint_field(&mut response, 2, 1);
        for main in first..(first + EVENTS_PER_RESPONSE).min(events + 1) {
            for byte in value.iter_mut().take(value_bytes / 2) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                *byte = (seed >> 56) as u8;
            }
            put_bytes_field(&mut response, 11, &event(main, &value));
        }
        responses.push(response);
    }
    responses
}

fn event(main: i64, value: &[u8]) -> Vec<u8> {
    let key = format!("/registry/pods/default/pod-{:06}", main % 100_000);
    let kv = KeyValueRef {
        key: key.as_bytes(),
        create_revision: main,
        mod_revision: main,
        version: 1,
        value,
        lease: 0,
    };
    let mut event = Vec::new();
    Change {
        kind: Kind::Put,
        kv,
    }
    .encode(&mut event);
    event
}

fn print_size(path: &Path) {
    let bytes = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    println!("{:40} {:7.1} MB", "", bytes as f64 / 1e6);
}

fn reset_peak_rss() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

fn peak_rss_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}
