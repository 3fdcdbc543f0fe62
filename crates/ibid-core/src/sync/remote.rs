//! Remote addresses and names that are acceptable, and what git's complaints mean.

use ibid_api::{Error, ErrorCode, Result};

/// Refuses an address that carries credentials, or that makes git run a program.
pub fn check_address(address: &str) -> Result<()> {
    let address = address.trim();
    let invalid = || {
        Error::new(ErrorCode::SyncInvalidRemoteUrl, "the remote address is not acceptable")
            .with_hint("use `https://`, `ssh://`, `git@host:path`, `file://` or a path")
    };
    if address.is_empty() || address.starts_with('-') || address.chars().any(char::is_control) {
        return Err(invalid());
    }
    // `helper::address` hands the address to a program of that name.
    if let Some((helper, _)) = address.split_once("::")
        && !helper.is_empty()
        && helper.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        return Err(invalid());
    }
    let Some((scheme, rest)) = address.split_once("://") else {
        return check_short(address);
    };
    let scheme = scheme.to_ascii_lowercase();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map(|(user, _)| user);
    match scheme.as_str() {
        "http" | "https" | "git" => {
            // Access tokens are given as a user as often as in place of a password.
            if user.is_some() || secret_in_query(rest) { Err(credentials()) } else { require_host(authority) }
        }
        "ssh" | "git+ssh" | "ssh+git" => match user {
            Some(user) if user.contains(':') => Err(credentials()),
            _ => require_host(authority),
        },
        "file" => Ok(()),
        _ => Err(invalid()),
    }
}

fn require_host(authority: &str) -> Result<()> {
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.is_empty() || host.starts_with('-') {
        return Err(Error::new(ErrorCode::SyncInvalidRemoteUrl, "the remote address names no host"));
    }
    Ok(())
}

/// `user@host:path`, or a path.
fn check_short(address: &str) -> Result<()> {
    let before_path = address.split('/').next().unwrap_or_default();
    match before_path.rsplit_once('@') {
        Some((user, _)) if user.contains(':') => Err(credentials()),
        Some((_, host)) if host.starts_with('-') => {
            Err(Error::new(ErrorCode::SyncInvalidRemoteUrl, "the remote address names no host"))
        }
        _ => Ok(()),
    }
}

fn secret_in_query(rest: &str) -> bool {
    let query = rest.split_once('?').map(|(_, query)| query.to_ascii_lowercase());
    query.is_some_and(|query| ["token", "password", "secret", "key="].iter().any(|word| query.contains(word)))
}

fn credentials() -> Error {
    Error::new(ErrorCode::SyncRemoteUrlContainsCredentials, "the remote address contains credentials")
        .with_hint("keep them in a credential helper or an ssh key, and change the address")
}

/// Refuses a name of a remote or branch that git would take for something else.
pub fn check_name(name: &str) -> Result<()> {
    let allowed = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let fine = !name.is_empty()
        && name.chars().all(allowed)
        && !name.starts_with(['-', '.', '/'])
        && !name.ends_with(['/', '.'])
        && !name.contains("..")
        && !name.contains("//")
        && !name.to_ascii_lowercase().ends_with(".lock");
    if fine {
        return Ok(());
    }
    Err(Error::new(ErrorCode::ConfigInvalid, "`sync.remote` or `sync.branch` is not a valid name"))
}

/// What a failed fetch means. Git's text is read here and goes no further.
pub(super) fn fetch_failure(stderr: &str) -> Error {
    let text = stderr.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    let (code, message, hint) =
        if says(&["couldn't find remote ref", "no such ref was fetched", "not found in upstream"]) {
            (
                ErrorCode::SyncRemoteRefMissing,
                "the branch does not exist on the remote",
                "check `sync.branch` and the name of the local branch",
            )
        } else if says(&[
            "authentication failed",
            "permission denied",
            "could not read username",
            "could not read password",
            "terminal prompts disabled",
            "invalid username or password",
            "invalid credentials",
            "host key verification failed",
            "error: 401",
            "error: 403",
            "access denied",
        ]) {
            (
                ErrorCode::SyncAuthFailed,
                "git could not authenticate to the remote",
                "set up a credential helper or an ssh key for the user that runs ibid",
            )
        } else if says(&[
            "could not resolve host",
            "connection refused",
            "connection timed out",
            "connection reset",
            "network is unreachable",
            "no route to host",
            "failed to connect",
            "operation timed out",
            "could not read from remote repository",
            "does not appear to be a git repository",
            "the remote end hung up",
            "unable to access",
            "does not exist",
        ]) {
            (
                ErrorCode::SyncNetworkFailed,
                "the remote could not be reached",
                "check the address of the remote and the network",
            )
        } else {
            (ErrorCode::SyncGitFailed, "git could not fetch", "run `git fetch` in the source to see why")
        };
    Error::new(code, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<ErrorCode>) {
        assert_eq!(check_address(address).err().map(|error| error.code), expected, "{address}");
    }

    #[test]
    fn addresses_with_credentials_are_refused() {
        let refused = Some(ErrorCode::SyncRemoteUrlContainsCredentials);
        check("https://user:password@host.example/notes.git", refused);
        check("https://ghp_token@host.example/notes.git", refused);
        check("HTTPS://user:password@host.example/notes.git", refused);
        check("https://host.example/notes.git?access_token=abc", refused);
        check("ssh://git:password@host.example/notes.git", refused);
        check("git:password@host.example:notes.git", refused);
    }

    #[test]
    fn plain_addresses_are_accepted() {
        for address in [
            "https://host.example/notes.git",
            "https://host.example:8443/a@b/notes.git",
            "ssh://git@host.example:22/notes.git",
            "git@host.example:team/notes.git",
            "file:///srv/notes.git",
            "/srv/notes.git",
            "../notes.git",
        ] {
            check(address, None);
        }
    }

    #[test]
    fn addresses_that_run_programs_or_name_no_host_are_refused() {
        let refused = Some(ErrorCode::SyncInvalidRemoteUrl);
        for address in [
            "",
            "  ",
            "-oProxyCommand=x",
            "ext::sh -c x",
            "fd::7",
            "ftp://host.example/x",
            "https:///notes.git",
            "ssh://-oProxyCommand=x/notes",
            "git@-oProxyCommand=x:notes",
            "https://host.example/\nnotes",
        ] {
            check(address, refused);
        }
    }

    #[test]
    fn names_cannot_be_options_or_climb() {
        for name in ["origin", "feature/notes", "v1.2", "übersicht"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in
            ["", "-x", "--upload-pack=x", "a..b", "a b", "/a", "a/", ".git", "a.lock", "a~1", "a:b", "+a"]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn complaints_of_git_are_told_apart() {
        for (text, expected) in [
            ("fatal: couldn't find remote ref refs/heads/x", ErrorCode::SyncRemoteRefMissing),
            ("fatal: Authentication failed for 'https://…'", ErrorCode::SyncAuthFailed),
            (
                "git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.",
                ErrorCode::SyncAuthFailed,
            ),
            ("fatal: unable to access 'https://…': Could not resolve host: h", ErrorCode::SyncNetworkFailed),
            ("fatal: '/x' does not appear to be a git repository", ErrorCode::SyncNetworkFailed),
            ("error: something else entirely", ErrorCode::SyncGitFailed),
        ] {
            assert_eq!(fetch_failure(text).code, expected, "{text}");
        }
    }
}
