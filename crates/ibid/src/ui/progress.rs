//! Progress of long work: a bar on a terminal, nothing anywhere else, and the wish to stop.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use ibid_core::ingest::{Progress, Step};
use indicatif::{ProgressBar, ProgressStyle};

use super::printer::Printer;

/// Draws progress and passes on the user's wish to stop.
pub struct Bar {
    bar: Mutex<Option<ProgressBar>>,
    draws: bool,
    stop: Arc<AtomicBool>,
}

impl Bar {
    /// A bar that is drawn when the printer allows it. `stop` asks the work to end.
    pub fn new(printer: &Printer, stop: Arc<AtomicBool>) -> Self {
        Self { bar: Mutex::new(None), draws: printer.draws_progress(), stop }
    }

    fn replace(&self, new: Option<ProgressBar>) {
        let mut bar = self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(old) = bar.take() {
            old.finish_and_clear();
        }
        *bar = new;
    }
}

impl Progress for Bar {
    fn begin(&self, step: Step, total: Option<u64>) {
        if !self.draws {
            return;
        }
        let what = match step {
            Step::Scan => "looking for files",
            Step::Parse => "reading files",
            Step::Index => "indexing",
            Step::Embed => "learning meanings",
        };
        let bar = match total {
            Some(total) => {
                ProgressBar::new(total).with_style(style("{msg:>18} {bar:30} {pos}/{len} {eta:>4}"))
            }
            None => ProgressBar::new_spinner().with_style(style("{msg:>18} {spinner} {pos}")),
        };
        bar.set_message(what);
        self.replace(Some(bar));
    }

    fn advance(&self, by: u64) {
        let bar = self.bar.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bar) = &*bar {
            bar.inc(by);
        }
    }

    fn end(&self) {
        self.replace(None);
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.replace(None);
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸ ")
}
