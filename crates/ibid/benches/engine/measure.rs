//! What a step costs: wall time, CPU time of the whole process, memory.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};

use super::Outcome;

/// Time of a step, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) wall: f64,
    pub(crate) cpu: f64,
}

/// Runs a step and says what it cost.
pub(crate) fn measured<T>(step: impl FnOnce() -> Outcome<T>) -> Outcome<(T, Cost)> {
    let (wall, cpu) = (Instant::now(), ProcessTime::now());
    let made = step()?;
    Ok((made, Cost { wall: milliseconds(wall.elapsed()), cpu: milliseconds(cpu.elapsed()) }))
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value that `share` of the values do not exceed.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// Memory of this process now, in megabytes: what it made itself, and all pages it holds, files included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) own: f64,
    pub(crate) resident: f64,
}

impl Memory {
    /// `None` where the system does not say.
    pub(crate) fn now() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let field = |name: &str| -> Option<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<f64>().ok()
        };
        Some(Self { own: field("RssAnon")? / 1024.0, resident: field("VmRSS")? / 1024.0 })
    }
}

/// Watches this process's own memory until it is asked.
#[derive(Debug)]
pub(crate) struct PeakMemory {
    peak: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl PeakMemory {
    pub(crate) fn watch() -> Self {
        let (peak, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (Arc::clone(&peak), Arc::clone(&stop));
        thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let Some(memory) = Memory::now() else { return };
                seen.fetch_max((memory.own * 1024.0) as u64, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(20));
            }
        });
        Self { peak, stop }
    }

    /// Largest own memory seen, in megabytes.
    pub(crate) fn end(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        self.peak.load(Ordering::Relaxed) as f64 / 1024.0
    }
}

/// Bytes of every file below a folder.
pub(crate) fn disk_bytes(folder: &Path) -> Outcome<u64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { disk_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(total)
}
