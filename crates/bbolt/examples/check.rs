//! `cargo run --release -p bbolt --example check -- FILE [THREADS]`: verdict, time and peak memory of one check.

use bbolt::Cancel;
use bbolt::check::{CheckOptions, check_file};
use std::time::Instant;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap_or_else(|| "db".to_owned());
    let threads = args.next().and_then(|text| text.parse().ok()).unwrap_or(2);
    let options = CheckOptions {
        threads,
        ..CheckOptions::default()
    };
    let start = Instant::now();
    match check_file(&path, &options, &Cancel::never(), &|_| ()) {
        Ok(report) => println!(
            "{} pages of {}, {} findings, {} warnings, {:?}\n{:#?}\n{:#?}",
            report.pages,
            report.high_water,
            report.findings_total,
            report.warnings_total,
            start.elapsed(),
            report.findings,
            report.warnings,
        ),
        Err(error) => println!("{}: {error}", error.code()),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon"))
        .for_each(|line| println!("{line}"));
}
