//! One edit under the watcher, until it is found, while queries run at full speed.

use std::{
    fs,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use ibid_api::{Engine as _, Mode, SearchRequest, WatchState};
use ibid_core::{
    LocalEngine, WatchConfig,
    source::{WatchOptions, Watcher},
};

use super::{
    Outcome,
    measure::{milliseconds, quantile},
    options::Options,
    report::{Goal, Report, Row},
    update::mark,
    world::{Knowledge, World},
};

const DEBOUNCE: Duration = Duration::from_millis(50);
/// Longer than this, and something is wrong.
const PATIENCE: Duration = Duration::from_secs(120);
/// Marks beyond those of the other updates.
const FIRST_MARK: u64 = 1_000_000;

pub(crate) fn run(group: &'static str, world: &World, options: &Options, report: &mut Report) -> Outcome {
    let patience = WatchConfig { debounce: DEBOUNCE, max_batch_delay: 10 * DEBOUNCE };
    let knowledge = Knowledge::with(&world.root(), &world.data(), patience)?;
    let (sender, updates) = mpsc::channel();
    let options_of_watcher = WatchOptions {
        catch_up: false,
        embed: false,
        on_update: Some(Box::new(move |_| {
            let _ = sender.send(());
        })),
        ..WatchOptions::default()
    };
    let handle = Watcher::start(knowledge.engine(), options_of_watcher);
    let until = |what: &str, holds: &dyn Fn() -> Outcome<bool>| -> Outcome {
        let began = Instant::now();
        while !holds()? {
            if began.elapsed() > PATIENCE {
                return Err(format!("{what} did not happen in time").into());
            }
            let _ = updates.recv_timeout(Duration::from_millis(5));
        }
        Ok(())
    };
    until("watching", &|| Ok(knowledge.status()?.watch.state == WatchState::Running))?;
    let (stop, answers) = (AtomicBool::new(false), AtomicU64::new(0));
    let began = Instant::now();
    let times = thread::scope(|scope| {
        let asking = scope.spawn(|| ask(knowledge.engine(), &stop, &answers));
        let times = (0..options.rounds as u64).map(|round| {
            let page = world.corpus.page(world.corpus.pages() / 2, round + 7);
            let mark = mark(FIRST_MARK + round);
            let edited = Instant::now();
            fs::write(world.root().join(&page.path), format!("{}\n{mark}\n", page.text))?;
            until("an update", &|| {
                let mut request = SearchRequest::new(mark.as_str(), 1);
                request.mode = Some(Mode::Lexical);
                let reply = knowledge.search(request)?;
                Ok(reply.hits.first().is_some_and(|hit| hit.document.path.as_str() == page.path))
            })?;
            Ok(milliseconds(edited.elapsed()) - milliseconds(DEBOUNCE))
        });
        let times = times.collect::<Outcome<Vec<f64>>>();
        stop.store(true, Ordering::Relaxed);
        asking.join().map_err(|_| "a query panicked")??;
        times
    })?;
    let rate = answers.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    handle.stop();
    report.add(
        Row::new(group, "edit under the watcher, after the debounce", quantile(&times, 0.5), "ms wall")
            .goal(Goal::Value(1_000.0))
            .remark(format!("worst {:.0} ms; {rate:.0} queries a second meanwhile", quantile(&times, 1.0))),
    );
    Ok(())
}

/// Asks as quickly as answers come.
fn ask(engine: &LocalEngine, stop: &AtomicBool, answers: &AtomicU64) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    while !stop.load(Ordering::Relaxed) {
        let mut request = SearchRequest::new("the first thing that comes to mind", 10);
        request.mode = Some(Mode::Lexical);
        runtime.block_on(engine.search(request))?;
        answers.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}
