//! Speed of the built-in model in processor time on one thread, beside the bare matrix multiplications that it
//! cannot do without.
//!
//! `cargo bench --workspace --bench encoder`

#![allow(unsafe_code, clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::{fs, hint::black_box, time::Instant};

use ibid_core::embed::{BuiltinModel, Embedder};

const QUERIES: [&str; 6] = [
    "how do I undo the last commit",
    "restore a deleted branch",
    "what is the difference between a mutex and a semaphore",
    "configure the retry policy of the client",
    "maximum size of a request body",
    "why does my container exit immediately after it starts",
];

/// A paragraph of documentation, repeated to the length that is measured.
const PASSAGE: &str = "The index is built in the background and answers as soon as the first batch is \
    committed. Every batch is written to a log before it is applied, so a process that stops in the middle \
    continues where it was. Readers see the last committed batch and never wait for a writer. ";

/// Processor time of this thread in seconds, or wall time where the system does not tell.
struct Clock(Instant);

impl Clock {
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn seconds(&self) -> f64 {
        #[repr(C)]
        struct Timespec {
            seconds: i64,
            nanoseconds: i64,
        }
        unsafe extern "C" {
            fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
        }
        const THREAD_CPU_TIME: i32 = 3;
        let mut time = Timespec { seconds: 0, nanoseconds: 0 };
        // SAFETY: the structure is laid out as the C library of every 64-bit Linux expects it.
        let failed = unsafe { clock_gettime(THREAD_CPU_TIME, &raw mut time) } != 0;
        if failed {
            self.0.elapsed().as_secs_f64()
        } else {
            time.seconds as f64 + time.nanoseconds as f64 / 1e9
        }
    }

    #[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
    fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    fn of<T>(&self, work: impl FnOnce() -> T) -> f64 {
        let start = self.seconds();
        black_box(work());
        self.seconds() - start
    }
}

fn quantile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * share).round() as usize]
}

fn memory(field: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kilobytes| kilobytes / 1024.0)
}

fn main() {
    let clock = Clock(Instant::now());
    let before = memory("VmRSS:");
    let load = clock.of(|| BuiltinModel.load().unwrap());
    let first = clock.of(|| BuiltinModel.embed_query(QUERIES[0]).unwrap());
    println!("instructions            {}", BuiltinModel.instructions().unwrap());
    println!("load                    {:8.2} ms", load * 1e3);
    println!("first query             {:8.2} ms", first * 1e3);

    for query in QUERIES {
        let pieces = BuiltinModel.count_pieces(query).unwrap();
        let whole: Vec<f64> =
            (0..60).map(|_| clock.of(|| BuiltinModel.embed_query(query).unwrap())).collect();
        let floor = (0..60).map(|_| clock.of(|| BuiltinModel.multiply_only(pieces).unwrap())).collect();
        let (p50, p99) = (quantile(whole.clone(), 0.5), quantile(whole, 0.99));
        let floor = quantile(floor, 0.5);
        println!(
            "query of {pieces:3} pieces     {:8.2} ms p50 {:8.2} ms p99, multiplications alone {:8.2} ms",
            p50 * 1e3,
            p99 * 1e3,
            floor * 1e3
        );
    }

    for repeats in [1, 2, 8] {
        let text = PASSAGE.repeat(repeats);
        let pieces = BuiltinModel.count_pieces(&text).unwrap();
        let texts = vec![text.as_str(); 1_024 / pieces];
        let count = texts.len();
        let per_passage = |seconds: f64| seconds / count as f64;
        let whole = (0..9).map(|_| per_passage(clock.of(|| BuiltinModel.embed_passages(&texts).unwrap())));
        let whole = quantile(whole.collect(), 0.5);
        let floor = (0..9).map(|_| clock.of(|| BuiltinModel.multiply_only(pieces).unwrap()));
        let floor = quantile(floor.collect(), 0.5);
        println!(
            "passage of {pieces:3} pieces   {:8.0} pieces/s {:6.1} passages/s, multiplications alone {:8.0} pieces/s",
            pieces as f64 / whole,
            1.0 / whole,
            pieces as f64 / floor
        );
    }
    if let (Some(before), Some(after), Some(peak)) = (before, memory("VmRSS:"), memory("VmHWM:")) {
        println!("memory                  {before:8.1} MB before, {after:.1} MB after, {peak:.1} MB at most");
    }
}
