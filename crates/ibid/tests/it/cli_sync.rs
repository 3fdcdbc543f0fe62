//! `ibid sync`, between repositories in temporary folders.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    cli_program::World,
    git::{git, try_git},
};

/// A world whose vault is still empty, and a bare repository that somebody pushes notes to.
struct Team {
    world: World,
    remote: PathBuf,
    author: PathBuf,
}

impl Team {
    fn new() -> Self {
        let world = World::new().set("IBID_EMBEDDING_ENABLED", "false");
        let beside = world.vault().parent().unwrap().to_owned();
        let team = Self { world, remote: beside.join("remote.git"), author: beside.join("author") };
        git(&beside, &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
        git(&beside, &["clone", "--quiet", "remote.git", "author"]);
        git(&team.author, &["checkout", "--quiet", "-B", "main"]);
        team.publish("First.md", "# First\n\nThe first note speaks of quarries.\n");
        team
    }

    /// The same, with the vault cloned by ibid.
    fn cloned() -> Self {
        let team = Self::new();
        let vault = team.world.vault();
        team.world.ok(&["sync", "clone", "--repo", &team.address(), vault.to_str().unwrap()]);
        team
    }

    fn address(&self) -> String {
        self.remote.to_str().unwrap().to_owned()
    }

    fn publish(&self, name: &str, text: &str) {
        fs::write(self.author.join(name), text).unwrap();
        git(&self.author, &["add", "--all"]);
        git(&self.author, &["commit", "--quiet", "--message", "change"]);
        git(&self.author, &["push", "--quiet", "origin", "main"]);
    }

    fn status(&self) -> Value {
        self.world.json(&["sync", "status", "--json"])
    }
}

#[test]
fn a_clone_is_enabled_and_pulled_and_searched() {
    let team = Team::cloned();
    let world = &team.world;
    assert!(world.vault().join("First.md").exists());
    assert_eq!((&team.status()["configured"], &team.status()["enabled"]), (&json!(false), &json!(false)));
    world.fails(&["sync", "pull"], 2, "SYNC_NOT_CONFIGURED: git sync is not configured\nhint: `ibid sync");

    world.ok(&["sync", "enable"]);
    world.ok(&["index"]);
    assert_eq!(world.ok(&["sync", "pull"]), "nothing new\n");
    team.publish("Second.md", "# Second\n\nThe second note speaks of limestone.\n");
    let pulled = world.json(&["sync", "pull", "--wait", "--timeout", "60", "--json"]);
    assert_eq!((&pulled["status"], &pulled["changed"]), (&json!("completed"), &json!(true)), "{pulled}");
    assert_eq!(pulled["indexFreshness"], "fresh", "{pulled}");
    assert!(pulled["startedAt"].as_str() <= pulled["finishedAt"].as_str(), "{pulled}");
    assert!(world.ok(&["search", "limestone"]).contains("Second.md"));

    let status = team.status();
    assert!(status["lastSuccessfulSyncAt"].is_string(), "{status}");
    assert_eq!((&status["enabled"], &status["consecutiveFailures"]), (&json!(true), &json!(0)));
    assert!(world.ok(&["sync", "status"]).contains("succeeded just now"));

    world.ok(&["sync", "disable"]);
    assert_eq!(team.status()["enabled"], false);
}

#[test]
fn a_path_is_cloned_from_where_the_user_is() {
    let team = Team::new();
    team.world.ok(&["sync", "clone", "--repo", "../remote.git", "copy", "--branch", "main"]);
    assert!(team.world.vault().join("copy/First.md").exists());
}

#[test]
fn a_pull_by_hand_needs_no_schedule() {
    let team = Team::cloned();
    team.world.ok(&["sync", "configure", "--repo", &team.address(), "--branch", "main", "--interval", "60"]);
    let status = team.status();
    assert_eq!(
        (&status["enabled"], &status["configured"], &status["intervalSeconds"], &status["branch"]),
        (&json!(false), &json!(true), &json!(60), &json!("main"))
    );
    assert_eq!(team.world.ok(&["sync", "pull"]), "nothing new\n");
}

#[test]
fn failures_have_codes_and_are_remembered_until_a_success() {
    let team = Team::cloned();
    let world = &team.world;
    world.ok(&["sync", "enable"]);
    world.write("Mine.md", "not committed");
    world.fails(&["sync", "pull"], 1, "SYNC_WORKTREE_DIRTY");
    world.fails(&["sync", "pull"], 1, "SYNC_WORKTREE_DIRTY");
    let status = team.status();
    assert_eq!(
        (&status["consecutiveFailures"], &status["lastError"]),
        (&json!(2), &json!("SYNC_WORKTREE_DIRTY"))
    );
    assert_eq!(world.json(&["status", "--json"])["sync"]["lastError"], "SYNC_WORKTREE_DIRTY");
    assert!(world.ok(&["sync", "status"]).contains("failed 2 times in a row: SYNC_WORKTREE_DIRTY"));
    fs::remove_file(world.vault().join("Mine.md")).unwrap();
    world.ok(&["sync", "pull"]);
    assert_eq!(
        (&team.status()["consecutiveFailures"], &team.status()["lastError"]),
        (&json!(0), &Value::Null)
    );

    let vault = world.vault();
    git(&vault, &["commit", "--quiet", "--allow-empty", "--message", "mine"]);
    team.publish("Third.md", "# Third");
    let head = git(&vault, &["rev-parse", "HEAD"]);
    world.fails(&["sync", "pull"], 1, "SYNC_NON_FAST_FORWARD");
    assert_eq!(git(&vault, &["rev-parse", "HEAD"]), head, "nothing is merged");
    git(&vault, &["checkout", "--quiet", "--detach"]);
    world.fails(&["sync", "pull"], 1, "SYNC_DETACHED_HEAD");
    world.fails(&["sync", "enable"], 1, "SYNC_DETACHED_HEAD");
    let doctor = world.run(&["doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("the git worktree is not on a branch"), "{}", doctor.out);
}

#[test]
fn a_rebase_under_way_is_a_conflict_and_not_a_missing_branch() {
    let team = Team::cloned();
    let (world, vault) = (&team.world, team.world.vault());
    world.ok(&["sync", "enable"]);
    world.write("First.md", "# Mine");
    git(&vault, &["commit", "--quiet", "--all", "--message", "mine"]);
    team.publish("First.md", "# Theirs");
    git(&vault, &["fetch", "--quiet"]);
    assert!(try_git(&vault, &["rebase", "--quiet", "origin/main"]).is_err());
    let run = world.fails(&["sync", "pull"], 1, "SYNC_CONFLICT");
    assert!(run.err.contains("hint: finish or abort it by hand"), "{}", run.err);
    assert_eq!(team.status()["lastError"], "SYNC_CONFLICT");
    git(&vault, &["rebase", "--abort"]);
    world.fails(&["sync", "pull"], 1, "SYNC_NON_FAST_FORWARD");
}

#[test]
fn one_sync_at_a_time_whichever_process_makes_it() {
    let team = Team::cloned();
    let world = &team.world;
    world.ok(&["sync", "enable"]);
    world.ok(&["sync", "pull"]);
    let data =
        fs::read_dir(world.home().join(".local/share/ibid")).unwrap().map(|entry| entry.unwrap().path());
    let lock = data.map(|folder| folder.join("sync.lock")).find(|file| file.exists());
    let lock = lock.expect("the lock lies in the data folder");
    let held = fs::File::open(lock).unwrap();
    held.lock().unwrap();
    assert_eq!(team.status()["running"], true);
    world.fails(&["sync", "pull"], 5, "SYNC_IN_PROGRESS");
    world.fails(&["sync", "pull", "--wait", "--timeout", "1"], 1, "SYNC_TIMEOUT");
    assert_eq!(team.status()["consecutiveFailures"], 0, "being refused is no failure");
    held.unlock().unwrap();
    assert_eq!(team.status()["running"], false);
    world.ok(&["sync", "pull"]);
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_written() {
    let team = Team::new();
    let world = &team.world;
    world.fails(&["sync", "enable"], 1, "SYNC_GIT_UNAVAILABLE");
    for (arguments, code, message) in [
        (&["configure"][..], 2, "nothing to configure was given"),
        (
            &["configure", "--repo", "https://me:marked@host.invalid/x"],
            2,
            "SYNC_REMOTE_URL_CONTAINS_CREDENTIALS",
        ),
        (&["configure", "--repo", "ext::sh -c marked"], 2, "SYNC_INVALID_REMOTE_URL"),
        (&["configure", "--branch", "a..marked"], 2, "not a valid name"),
        (&["configure", "--interval", "5"], 2, "`--interval` must be"),
        (&["configure", "--interval", "7200"], 2, "`sync.failure_backoff_seconds` must be at least"),
        (&["clone"], 2, "no folder to clone into was named"),
        (&["clone", "somewhere"], 2, "no repository to clone was named"),
        (&["pull", "--timeout", "0"], 2, "--timeout"),
    ] {
        let run = world.fails(&[&["sync"], arguments].concat(), code, message);
        assert!(!run.err.contains("marked"), "{}", run.err);
    }
    assert!(!world.home().join(".config/ibid/config.toml").exists());
    world.ok(&["sync", "configure", "--interval", "7200", "--failure-backoff", "7200"]);

    world.write("Mine.md", "mine");
    let vault = world.vault();
    let into = ["sync", "clone", "--repo", &team.address(), vault.to_str().unwrap()];
    world.fails(&into, 2, "the folder to clone into is not empty");
    assert_eq!(fs::read_to_string(vault.join("Mine.md")).unwrap(), "mine");
}

#[test]
fn a_project_file_cannot_make_a_server_pull() {
    let world = World::with(&[("ibid.toml", "[sync]\nenabled = true\n")]);
    world.fails(&["sync", "status"], 2, "`sync.enabled` may not be set in a project file");
}
