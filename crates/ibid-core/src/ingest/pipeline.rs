//! The pipeline of one source: decide, read and parse on several threads, write in batches.
//!
//! Files are written in the order they were found, whichever thread was faster, so that equal trees give
//! equal stores. The bytes on the way are bounded, so memory does not grow with the tree.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use crossbeam_channel::{Receiver, Sender, bounded};
use ibid_api::{ContentHash, FileOutcome, SkipReason, Warning};

use super::{
    Progress,
    gate::Gate,
    plan::{Decision, Known, ReadTask},
    prepare::{Prepared, Recipe},
    tally::Tally,
    write::Writer,
};
use crate::{
    source::{Found, ReadError, SourceRoot},
    store::{FileWrite, StoreResult},
};

/// Bytes of files that may be on their way at once.
const BYTES_ON_THE_WAY: u64 = 16 * 1024 * 1024;
/// Even an empty file costs something.
const LEAST_COST: u64 = 4 * 1024;

/// What came of one decision.
enum Done {
    /// To be written.
    Write { write: Box<FileWrite>, known: bool, warnings: Vec<Warning> },
    /// It is as it was.
    Same(FileOutcome),
    /// It went away before it was read.
    Gone { path: String, known: bool },
}

struct Finished {
    order: u64,
    cost: u64,
    done: Done,
}

struct Task {
    order: u64,
    cost: u64,
    read: ReadTask,
}

/// What every thread of a run shares.
pub(super) struct Pipeline<'a> {
    pub(super) source: &'a str,
    pub(super) root: &'a SourceRoot,
    pub(super) recipe: &'a Recipe,
    pub(super) threads: usize,
    pub(super) progress: &'a dyn Progress,
}

/// How a pipeline ended.
pub(super) enum Ended {
    /// Everything was done.
    Whole,
    /// It was asked to stop; what was taken is written.
    Cancelled,
}

impl Pipeline<'_> {
    /// Carries out decisions, each with whether something is stored about its path.
    pub(super) fn run<D>(
        &self,
        decisions: D,
        writer: &mut Writer<'_>,
        tally: &mut Tally,
    ) -> StoreResult<Ended>
    where
        D: Iterator<Item = (Decision, bool)> + Send,
    {
        let gate = Gate::new(BYTES_ON_THE_WAY);
        let stop = AtomicBool::new(false);
        let (task_sender, task_receiver) = bounded::<Task>(self.threads * 4);
        let (done_sender, done_receiver) = bounded::<Finished>(64);
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                let (tasks, done) = (task_receiver.clone(), done_sender.clone());
                scope.spawn(move || self.work(&tasks, &done));
            }
            drop(task_receiver);
            let (gate, stop) = (&gate, &stop);
            // The senders move: the channels close when the last thread that fills them is done.
            scope.spawn(move || self.deal(decisions, gate, stop, &task_sender, &done_sender));
            let result = self.collect(&done_receiver, gate, writer, tally);
            stop.store(true, Ordering::Relaxed);
            gate.close();
            drop(done_receiver);
            result
        })
    }

    fn deal<D>(
        &self,
        decisions: D,
        gate: &Gate,
        stop: &AtomicBool,
        tasks: &Sender<Task>,
        done: &Sender<Finished>,
    ) where
        D: Iterator<Item = (Decision, bool)>,
    {
        for (order, (decision, known)) in (0..).zip(decisions) {
            if stop.load(Ordering::Relaxed) || self.progress.cancelled() {
                return;
            }
            let sent = match decision {
                Decision::Unchanged(outcome) => {
                    done.send(Finished { order, cost: 0, done: Done::Same(outcome) }).is_ok()
                }
                Decision::Record(write) => {
                    let done_now = Done::Write { write, known, warnings: Vec::new() };
                    done.send(Finished { order, cost: 0, done: done_now }).is_ok()
                }
                Decision::Read(read) => {
                    let cost = read.found.size.max(LEAST_COST);
                    gate.enter(cost) && tasks.send(Task { order, cost, read }).is_ok()
                }
            };
            if !sent {
                return;
            }
        }
    }

    fn work(&self, tasks: &Receiver<Task>, done: &Sender<Finished>) {
        for task in tasks {
            let finished = Finished { order: task.order, cost: task.cost, done: self.read(task.read) };
            if done.send(finished).is_err() {
                return;
            }
        }
    }

    fn read(&self, task: ReadTask) -> Done {
        let ReadTask { found, known } = task;
        let Some(path) = &found.rel else {
            return self.outcome(
                &found,
                known.as_ref(),
                FileOutcome::Skipped { reason: SkipReason::BadName },
            );
        };
        let file = match self.root.read(path, self.recipe.max_bytes()) {
            Ok(file) => file,
            Err(ReadError::NotFound) => return Done::Gone { path: found.path, known: known.is_some() },
            Err(error) => return self.outcome(&found, known.as_ref(), unread(&error)),
        };
        let (size, modified_ns) = (file.bytes.len() as u64, file.modified_ns);
        let unchanged = known
            .as_ref()
            .is_some_and(|known| known.hash.is_some_and(|hash| hash == ContentHash::of(&file.bytes)));
        if let (true, Some(known)) = (unchanged, &known) {
            if known.same && size == found.size && modified_ns == found.modified_ns {
                return Done::Same(known.outcome.clone());
            }
            return Done::Write {
                write: Box::new(FileWrite {
                    source: self.source.to_owned(),
                    path: found.path.clone(),
                    size,
                    modified_ns,
                    hash: known.hash,
                    outcome: known.outcome.clone(),
                    document: None,
                    keep_document: true,
                }),
                known: true,
                warnings: Vec::new(),
            };
        }
        let Prepared { hash, outcome, document, warnings } = self.recipe.prepare(path, file.bytes);
        Done::Write {
            write: Box::new(FileWrite {
                source: self.source.to_owned(),
                path: found.path.clone(),
                size,
                modified_ns,
                hash: Some(hash),
                outcome,
                document,
                keep_document: false,
            }),
            known: known.is_some(),
            warnings,
        }
    }

    /// A file whose bytes could not be had.
    fn outcome(&self, found: &Found, known: Option<&Known>, outcome: FileOutcome) -> Done {
        if let Some(known) = known
            && known.same
            && known.outcome == outcome
        {
            return Done::Same(outcome);
        }
        let document = match (&outcome, &found.rel) {
            (FileOutcome::Skipped { reason }, Some(path)) => self.recipe.name_only(path, *reason),
            _ => None,
        };
        Done::Write {
            write: Box::new(FileWrite {
                source: self.source.to_owned(),
                path: found.path.clone(),
                size: found.size,
                modified_ns: found.modified_ns,
                hash: None,
                keep_document: matches!(outcome, FileOutcome::Failed { .. }),
                outcome,
                document,
            }),
            known: known.is_some(),
            warnings: Vec::new(),
        }
    }

    /// Takes what is done, in order, and writes it.
    fn collect(
        &self,
        done: &Receiver<Finished>,
        gate: &Gate,
        writer: &mut Writer<'_>,
        tally: &mut Tally,
    ) -> StoreResult<Ended> {
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for finished in done {
            waiting.insert(finished.order, (finished.cost, finished.done));
            while let Some((cost, done)) = waiting.remove(&next) {
                next += 1;
                gate.leave(cost);
                match done {
                    Done::Same(outcome) => {
                        tally.keep(&outcome);
                        tally.verified += 1;
                    }
                    Done::Gone { path, known: true } => {
                        tally.removed += 1;
                        writer.remove(self.source, path);
                    }
                    Done::Gone { known: false, .. } => {}
                    Done::Write { write, known, warnings } => {
                        tally.write(&write.path, &write.outcome, known);
                        for warning in warnings {
                            tally.warn(warning, Some(&write.path));
                        }
                        writer.add(*write)?;
                    }
                }
                self.progress.advance(1);
            }
            if self.progress.cancelled() {
                return Ok(Ended::Cancelled);
            }
        }
        Ok(if self.progress.cancelled() { Ended::Cancelled } else { Ended::Whole })
    }
}

fn unread(error: &ReadError) -> FileOutcome {
    let reason = match error {
        ReadError::TooLarge { .. } => SkipReason::TooLarge,
        ReadError::Outside | ReadError::Hidden => SkipReason::LinkOutside,
        ReadError::Folder | ReadError::NotAFile => SkipReason::NotAFile,
        ReadError::NotFound | ReadError::Io(_) => {
            return FileOutcome::Failed { reason: error.to_string() };
        }
    };
    FileOutcome::Skipped { reason }
}
