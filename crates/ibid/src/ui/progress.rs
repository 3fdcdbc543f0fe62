//! Progress of long work: a bar on a terminal, nothing anywhere else, and the wish to stop.

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering},
};

use ibid_core::ingest::{Progress, Step};
use indicatif::{ProgressBar, ProgressStyle};

use super::printer::Printer;

/// Draws progress and passes on the user's wish to stop.
pub struct Bar {
    drawn: Mutex<Option<(Step, ProgressBar)>>,
    draws: bool,
    stop: Arc<AtomicBool>,
}

impl Bar {
    /// A bar that is drawn when the printer allows it. `stop` asks the work to end.
    pub fn new(printer: &Printer, stop: Arc<AtomicBool>) -> Self {
        Self { drawn: Mutex::new(None), draws: printer.draws_progress(), stop }
    }

    fn current(&self) -> MutexGuard<'_, Option<(Step, ProgressBar)>> {
        self.drawn.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn replace(&self, new: Option<(Step, ProgressBar)>) {
        let mut bar = self.current();
        if let Some((_, old)) = bar.take() {
            old.finish_and_clear();
        }
        *bar = new;
    }

    /// A step that comes in several parts goes on with its bar.
    fn goes_on(&self, step: Step, more: Option<u64>) -> bool {
        match (&*self.current(), more) {
            (Some((same, bar)), Some(more)) if *same == step => {
                bar.set_length(bar.position() + more);
                true
            }
            _ => false,
        }
    }
}

impl Progress for Bar {
    fn begin(&self, step: Step, total: Option<u64>) {
        if !self.draws || self.goes_on(step, total) {
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
        self.replace(Some((step, bar)));
    }

    fn advance(&self, by: u64) {
        if let Some((_, bar)) = &*self.current() {
            bar.inc(by);
        }
    }

    // A finished bar stays until the next step replaces it or the work is over.
    fn end(&self) {}

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
