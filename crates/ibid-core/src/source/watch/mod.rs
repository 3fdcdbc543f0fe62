//! Watching sources: file events to updates of the index, for as long as it takes.
//!
//! Nothing here gives up: a folder that goes away is waited for, lost events are made up for by looking at
//! everything, and a file of its own beside the index proves that events still arrive.

mod aliases;
mod gather;
mod outside;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use ibid_api::{Error, ErrorCode, IndexReply, IndexRequest, RelPath, Result, WatchError, WatchState};
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _, event::AccessKind};

use self::{aliases::Aliases, gather::Gathered};
use super::SourceRoot;
use crate::{
    engine::{LocalEngine, now_ms},
    ingest::{Progress, Step},
    private,
};

/// Events that may wait to be looked at; more of them mean looking at everything.
const MAX_EVENTS: usize = 8_192;
/// A look at everything may take this share of the time between two of them.
const SHARE_OF_LOOKING: u32 = 20;
/// Where events do not arrive, everything is looked at this often.
const LOOK_AROUND_WHEN_DEAF: Duration = Duration::from_mins(1);

/// Hears of each update.
pub type OnUpdate = Box<dyn Fn(&Result<IndexReply>) + Send>;

/// How a watcher behaves besides the configuration of the engine.
pub struct WatchOptions {
    /// How often the watcher proves that events arrive.
    pub heartbeat: Duration,
    /// How often everything is looked at although no event asked for it: some file systems tell nothing.
    pub look_around: Duration,
    /// Whether changes made while nobody watched are indexed when watching begins.
    pub catch_up: bool,
    /// Whether new texts are embedded in the background.
    pub embed: bool,
    /// Called after each update, on the watcher's thread.
    pub on_update: Option<OnUpdate>,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(30),
            look_around: Duration::from_mins(15),
            catch_up: true,
            embed: true,
            on_update: None,
        }
    }
}

/// Keeps the index of an engine up to date.
pub struct Watcher;

/// A running watcher. Dropping it stops it.
pub struct WatchHandle {
    stop: Arc<AtomicBool>,
    wake: Sender<Message>,
    threads: Vec<JoinHandle<()>>,
    engine: LocalEngine,
}

enum Message {
    /// These paths changed.
    Paths(Vec<PathBuf>),
    /// Events were lost.
    Lost,
    /// The watcher itself failed.
    Failed(notify::Error),
    /// Look whether there is something to do.
    Wake,
}

impl Watcher {
    /// Starts watching all sources of an engine. Never fails: what does not work yet is tried again, and
    /// `status` says what is wrong.
    pub fn start(engine: &LocalEngine, options: WatchOptions) -> WatchHandle {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = bounded(MAX_EVENTS);
        engine.set_watch(|status| {
            status.state = WatchState::Starting;
            status.last_error = None;
        });
        let mut threads = Vec::new();
        let embed = options.embed.then(|| {
            let (sender, receiver) = bounded(1);
            let (engine, stop) = (engine.clone(), Arc::clone(&stop));
            threads.push(spawn("ibid-embed", move || embed(&engine, &receiver, &stop)));
            sender
        });
        let lost = Arc::new(AtomicBool::new(false));
        let watching = Watching {
            gathered: Gathered::new(engine.config().watch),
            engine: engine.clone(),
            stop: Arc::clone(&stop),
            sender: sender.clone(),
            receiver,
            lost,
            options,
            embed,
            native: None,
            roots: Vec::new(),
            known_roots: BTreeSet::new(),
            beat_folder: None,
            last_beat: None,
            last_look: None,
            look_took: Duration::ZERO,
            failed: false,
        };
        threads.push(spawn("ibid-watch", move || watching.run()));
        WatchHandle { stop, wake: sender, threads, engine: engine.clone() }
    }
}

impl WatchHandle {
    /// Stops watching and waits until everything that was begun is whole.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.wake.try_send(Message::Wake);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        self.engine.set_watch(|status| status.state = WatchState::Stopped);
    }
}

impl Drop for WatchHandle {
    fn drop(&mut self) {
        self.end();
    }
}

/// A root as it was when its watch was set up.
struct WatchedRoot {
    source: String,
    root: SourceRoot,
    aliases: Aliases,
}

struct Watching {
    engine: LocalEngine,
    options: WatchOptions,
    gathered: Gathered,
    stop: Arc<AtomicBool>,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    /// Set when an event found no room.
    lost: Arc<AtomicBool>,
    embed: Option<Sender<()>>,
    native: Option<RecommendedWatcher>,
    roots: Vec<WatchedRoot>,
    /// Every root that was ever watched: events of one that went away may still arrive.
    known_roots: BTreeSet<PathBuf>,
    beat_folder: Option<PathBuf>,
    /// When the heart was made to beat, until the beat arrives.
    last_beat: Option<Instant>,
    last_look: Option<Instant>,
    look_took: Duration,
    /// Whether an update failed since everything was last looked at.
    failed: bool,
}

impl Watching {
    fn run(mut self) {
        self.set_up();
        if self.options.catch_up {
            self.gathered.add_everything(Instant::now());
        } else {
            self.look();
        }
        self.wake_embedding();
        let mut next_beat = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            if now >= next_beat {
                self.check_roots();
                self.beat();
                next_beat = now + self.options.heartbeat;
            }
            if self.look_is_due(now) {
                self.look();
            }
            if self.gathered.due().is_some_and(|due| now >= due) {
                self.update();
            }
            let until = self.gathered.due().map_or(next_beat, |due| due.min(next_beat));
            let patience = until.saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(patience) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.lost.swap(false, Ordering::Relaxed) {
                self.take(Message::Lost);
            }
        }
    }

    /// Watches every root that is there.
    fn set_up(&mut self) {
        self.native = None;
        self.roots.clear();
        let (sender, lost) = (self.sender.clone(), Arc::clone(&self.lost));
        let handler = move |event: notify::Result<notify::Event>| {
            let message = match event {
                Ok(event) if event.need_rescan() => Message::Lost,
                Ok(event) if matters(event.kind) && !event.paths.is_empty() => Message::Paths(event.paths),
                Ok(_) => return,
                Err(error) => Message::Failed(error),
            };
            if let Err(TrySendError::Full(_)) = sender.try_send(message) {
                lost.store(true, Ordering::Relaxed);
            }
        };
        // Links may lead anywhere; what they lead to inside the root is watched there.
        let config = Config::default().with_follow_symlinks(false);
        let mut native = match RecommendedWatcher::new(handler, config) {
            Ok(native) => native,
            Err(error) => return self.fail(WatchState::Unavailable, &error),
        };
        let mut complete = true;
        for source in &self.engine.config().sources {
            let opened = SourceRoot::open(source, Arc::default());
            let Ok(root) = opened else {
                complete = false;
                continue;
            };
            let root = root.without_index(&self.engine.config().data_dir);
            if let Err(error) = native.watch(root.path(), RecursiveMode::Recursive) {
                complete = false;
                self.fail(WatchState::Degraded, &error);
            }
            // Its links are learnt with the look at everything that follows.
            let aliases = Aliases::default();
            self.known_roots.insert(root.path().to_owned());
            self.roots.push(WatchedRoot { source: source.name.clone(), root, aliases });
        }
        self.beat_folder = self.make_beat_folder();
        let beat_folder = self.beat_folder.as_deref();
        complete &=
            beat_folder.is_some_and(|folder| native.watch(folder, RecursiveMode::NonRecursive).is_ok());
        self.native = Some(native);
        self.last_beat = None;
        self.engine.set_watch(|status| {
            if complete {
                status.last_error = None;
            } else if status.last_error.is_none() {
                status.last_error = Some(WatchError::Unavailable);
            }
            // `Running` only once an event has arrived.
            if !complete {
                status.state = WatchState::Degraded;
            }
        });
    }

    /// A folder of its own beside the index: nothing is ever written into a source.
    fn make_beat_folder(&self) -> Option<PathBuf> {
        let folder = self.engine.config().data_dir.join("watch");
        private::create_folder(&folder).ok()?;
        fs::canonicalize(folder).ok()
    }

    /// Changes a file of its own. Its event proves that events arrive.
    fn beat(&mut self) {
        if let Some(sent) = self.last_beat
            && sent.elapsed() >= self.options.heartbeat
        {
            // The one before never arrived.
            tracing::warn!("the watcher hears nothing and is set up anew");
            self.engine.set_watch(|status| {
                status.state = WatchState::Degraded;
                status.last_error = Some(WatchError::UnknownError);
            });
            self.set_up();
            self.lose();
        }
        let file = self.beat_folder.as_ref().map(|folder| folder.join("beat"));
        if file.is_some_and(|file| fs::write(file, now_ms().to_string()).is_ok()) {
            self.last_beat.get_or_insert_with(Instant::now);
        }
    }

    fn heard_beat(&mut self) {
        self.last_beat = None;
        let complete = self.roots.len() == self.engine.config().sources.len();
        self.engine.set_watch(|status| {
            status.last_heartbeat_ms = Some(now_ms());
            // What was dropped does not keep it from hearing the rest.
            let hears = status.last_error.is_none_or(|error| error == WatchError::PathOutsideVault);
            if complete && hears {
                status.state = WatchState::Running;
            }
        });
    }

    /// Notices roots that went away, came back, or were replaced.
    fn check_roots(&mut self) {
        let all = self.engine.config().sources.len();
        let moved = self.roots.iter().any(|watched| !watched.root.is_still_there());
        let returned = self.roots.len() < all
            && self.engine.config().sources.iter().any(|source| {
                source.root.is_dir() && !self.roots.iter().any(|watched| watched.source == source.name)
            });
        if self.native.is_none() || moved || returned {
            self.set_up();
            self.lose();
        }
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Paths(paths) => {
                for path in paths {
                    self.changed(&path);
                }
            }
            Message::Lost => {
                self.engine.set_watch(|status| {
                    status.last_error = Some(WatchError::EventOverflow);
                    status.state = WatchState::Degraded;
                });
                self.lose();
            }
            Message::Failed(error) => {
                self.fail(WatchState::Degraded, &error);
                self.lose();
            }
            Message::Wake => {}
        }
    }

    /// Events were lost: everything is looked at.
    fn lose(&mut self) {
        self.engine.note_doubt();
        let now = Instant::now();
        self.gathered.add_everything(now);
        // Looking makes events too: looking again at once might never end.
        self.gathered.not_before(now + self.look_took * SHARE_OF_LOOKING);
        self.note();
    }

    fn changed(&mut self, path: &Path) {
        if self.beat_folder.as_ref().is_some_and(|folder| path.starts_with(folder)) {
            self.heard_beat();
            return;
        }
        let index = self.roots.iter().position(|watched| path.starts_with(watched.root.path()));
        let Some(index) = index else {
            if !self.known_roots.iter().any(|root| path.starts_with(root)) {
                self.drop_event();
            }
            return;
        };
        let watched = &self.roots[index];
        let inside = path.strip_prefix(watched.root.path()).ok().and_then(Path::to_str);
        let Some(inside) = inside else {
            // A name that is no text cannot be asked for alone.
            return self.gathered.add_everything(Instant::now());
        };
        let source = watched.source.clone();
        let now = Instant::now();
        match RelPath::parse(inside) {
            Ok(path) if is_rule_file(&path) => match parent(&path) {
                Some(folder) => self.gathered.add(&source, folder, now),
                None => self.gathered.add_everything(now),
            },
            Ok(rel) => {
                if !self.gathered.has(&source, &rel) && !watched.root.shows(&rel, path.is_dir()) {
                    return;
                }
                // What was indexed there before the link was made has to be forgotten.
                if outside::leads_out(path, &self.roots) && !outside::is_indexed(&self.engine, &source, &rel)
                {
                    return self.drop_event();
                }
                let watched = &mut self.roots[index];
                // A link that came or went, or a folder that may hold some.
                let kind = fs::symlink_metadata(path).map(|metadata| metadata.file_type());
                if watched.aliases.has(&rel) || kind.is_ok_and(|kind| kind.is_symlink() || kind.is_dir()) {
                    watched.aliases.look_again(&watched.root, &rel);
                }
                for also in watched.aliases.also(&rel) {
                    self.gathered.add(&source, also, now);
                }
                self.gathered.add(&source, rel, now);
            }
            // The root itself, or a name that cannot be a path here.
            Err(_) => self.gathered.add_everything(now),
        }
        self.note();
    }

    /// An event led out of every root: nothing is done but to count it.
    fn drop_event(&self) {
        self.engine.set_watch(|status| {
            status.events_outside += 1;
            // What keeps events from arriving matters more.
            status.last_error.get_or_insert(WatchError::PathOutsideVault);
        });
    }

    /// Says what waits.
    fn note(&self) {
        let waiting = self.gathered.waiting();
        self.engine.note_changes(waiting);
        self.engine.set_watch(|status| {
            status.last_event_ms = Some(now_ms());
            status.pending = waiting;
        });
    }

    /// Indexes what was gathered. What does not work out stays gathered.
    fn update(&mut self) {
        let before = Instant::now();
        let mut failed = false;
        for scope in self.gathered.take() {
            let everything = !matches!(scope, ibid_api::IndexScope::Paths { .. });
            let request = IndexRequest { scope: scope.clone(), require_embeddings: false };
            let result = self.engine.index_blocking(&request, &Until(&self.stop));
            match &result {
                Ok(_) if everything => {
                    self.looked(before);
                    self.engine.set_watch(|status| {
                        let over = [WatchError::EventOverflow, WatchError::PathOutsideVault];
                        if status.last_error.is_some_and(|error| over.contains(&error)) {
                            status.last_error = None;
                        }
                    });
                }
                Ok(_) => {}
                // There is nothing to update, or only making everything anew would help; both are for the
                // user to decide.
                Err(error)
                    if matches!(error.code, ErrorCode::IndexIncompatible | ErrorCode::IndexNotFound) => {}
                Err(_) => {
                    failed = true;
                    let now = Instant::now();
                    let pause = self.engine.config().watch.debounce.max(Duration::from_secs(1));
                    self.gathered.put_back(scope, now, now + pause);
                }
            }
            self.engine.note_update(&result);
            if let Some(tell) = &self.options.on_update {
                tell(&result);
            }
        }
        // A failure leaves doubts that some paths cannot settle.
        let doubts = std::mem::replace(&mut self.failed, failed);
        if doubts && !failed {
            self.look();
        }
        let waiting = self.gathered.waiting();
        self.engine.note_changes(waiting);
        self.engine.set_watch(|status| status.pending = waiting);
        self.wake_embedding();
    }

    fn look_is_due(&self, now: Instant) -> bool {
        let mut pause = self.options.look_around;
        if self.engine.watch_state() != WatchState::Running {
            pause = pause.min(LOOK_AROUND_WHEN_DEAF);
        }
        let pause = pause.max(self.look_took * SHARE_OF_LOOKING);
        self.gathered.waiting() == 0 && self.last_look.is_none_or(|last| now >= last + pause)
    }

    /// Compares all files with the index by size and time; what differs is indexed like any change.
    fn look(&mut self) {
        let before = Instant::now();
        match self.engine.verify_blocking() {
            Ok(ibid_api::Freshness::Pending) => self.gathered.add_everything(Instant::now()),
            Ok(_) => {}
            Err(error) => tracing::debug!(code = error.code.as_str(), "the sources could not be looked at"),
        }
        self.looked(before);
    }

    fn looked(&mut self, began: Instant) {
        for watched in &mut self.roots {
            watched.aliases = Aliases::of(&watched.root);
        }
        self.look_took = began.elapsed();
        self.last_look = Some(Instant::now());
    }

    fn fail(&self, state: WatchState, error: &notify::Error) {
        let code = match &error.kind {
            notify::ErrorKind::MaxFilesWatch => WatchError::TooManyFiles,
            notify::ErrorKind::PathNotFound | notify::ErrorKind::WatchNotFound => WatchError::Unavailable,
            notify::ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                WatchError::PermissionDenied
            }
            notify::ErrorKind::Io(_)
            | notify::ErrorKind::Generic(_)
            | notify::ErrorKind::InvalidConfig(_) => WatchError::UnknownError,
        };
        tracing::warn!(code = code.as_str(), "the watcher has a problem");
        self.engine.set_watch(|status| {
            status.state = state;
            status.last_error = Some(code);
        });
    }

    fn wake_embedding(&self) {
        if let Some(embed) = &self.embed {
            let _ = embed.try_send(());
        }
    }
}

/// Reading a file is no change.
fn matters(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(mode)) => mode == notify::event::AccessMode::Write,
        EventKind::Access(_) => false,
        EventKind::Any
        | EventKind::Create(_)
        | EventKind::Modify(_)
        | EventKind::Remove(_)
        | EventKind::Other => true,
    }
}

/// A file that decides what its whole folder shows.
fn is_rule_file(path: &RelPath) -> bool {
    matches!(path.file_name(), ".gitignore" | ".ibidignore")
}

fn parent(path: &RelPath) -> Option<RelPath> {
    let (folder, _) = path.as_str().rsplit_once('/')?;
    RelPath::parse(folder).ok()
}

/// Embeds whenever it is woken, until everything has its vector.
fn embed(engine: &LocalEngine, woken: &Receiver<()>, stop: &AtomicBool) {
    while woken.recv().is_ok() {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match engine.embed_pending_blocking(&Until(stop), None) {
            Ok(done) => tracing::debug!(embedded = done.embedded, "embeddings are complete"),
            Err(Error { code: ErrorCode::IndexNotFound | ErrorCode::Cancelled, .. }) => {}
            Err(error) => tracing::warn!(code = error.code.as_str(), "embedding stopped"),
        }
    }
}

/// Work that goes on until it is told to stop.
struct Until<'a>(&'a AtomicBool);

impl Progress for Until<'_> {
    fn begin(&self, _: Step, _: Option<u64>) {}

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).expect("the system can start a thread")
}
