//! Git as somebody else runs it, beside the program.

use std::{path::Path, process::Command};

/// Runs git in a folder, whether that works or not; whether it did, and what it printed.
pub(crate) fn try_git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=Author", "-c", "user.email=author@example.org"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Runs git in a folder, which must work.
#[track_caller]
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    try_git(folder, arguments).unwrap_or_else(|error| panic!("git {arguments:?}: {error}"))
}
