//! Runs `git` with a deadline, without a terminal, and without anything the repository could make it run.

use std::{
    io::Read,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver},
    },
    thread,
    time::{Duration, Instant},
};

use ibid_api::{Error, ErrorCode, Result};

/// Output beyond this is read and forgotten.
const KEPT_BYTES: usize = 64 * 1024;
/// How long the rest of the output is waited for once git has ended.
const LINGER: Duration = Duration::from_secs(1);

/// Settings that keep a repository from running programs or reaching further than asked.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
];

/// What git said. The error text is for classification only; it is never shown or logged.
pub(super) struct Output {
    /// Exit code; none if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Output {
    pub(super) fn succeeded(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs `git` in a folder until it ends or the deadline passes.
pub(super) fn run(folder: &Path, arguments: &[&str], deadline: Instant) -> Result<Output> {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GCM_INTERACTIVE", "never")
        .env("GIT_ASKPASS", "true")
        .env("SSH_ASKPASS_REQUIRE", "never")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // A folder named by the caller decides, not one that the environment happens to name.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);

    let mut child = command.spawn().map_err(|_| {
        Error::new(ErrorCode::SyncGitUnavailable, "git could not be started")
            .with_hint("install git and make sure it is on the search path")
    })?;
    let stdout = Reader::new(child.stdout.take());
    let stderr = Reader::new(child.stderr.take());
    let code = wait(&mut child, deadline)?;
    Ok(Output { code, stdout: stdout.text(), stderr: stderr.text() })
}

/// What a pipe gave so far, and the end of the thread that reads it.
struct Reader {
    kept: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl Reader {
    fn new(pipe: Option<impl Read + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (end, ended) = mpsc::channel::<()>();
        let into = Arc::clone(&kept);
        thread::spawn(move || {
            // Dropped when the pipe is closed, which is the message.
            let _end = end;
            let mut buffer = [0; 8192];
            let Some(mut pipe) = pipe else { return };
            while let Ok(read @ 1..) = pipe.read(&mut buffer) {
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                let room = KEPT_BYTES.saturating_sub(kept.len());
                kept.extend_from_slice(&buffer[..read.min(room)]);
            }
        });
        Self { kept, ended }
    }

    /// The text. Git has ended by now, but a connection it left open for the next time may hold the pipe.
    fn text(self) -> String {
        let _ = self.ended.recv_timeout(LINGER);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

fn wait(child: &mut Child, deadline: Instant) -> Result<Option<i32>> {
    let mut pause = Duration::from_millis(2);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.code()),
            Ok(None) => {}
            Err(_) => {
                end(child);
                return Err(Error::new(ErrorCode::SyncGitFailed, "git could not be waited for"));
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            end(child);
            return Err(Error::new(ErrorCode::SyncTimeout, "the sync took longer than allowed")
                .with_hint("try again, or raise `sync.pull_timeout_seconds`"));
        }
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Ends git and whatever it started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        // Already gone is what was wanted.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
