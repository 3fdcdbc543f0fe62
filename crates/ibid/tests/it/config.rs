//! `ibid config` and the layers behind it, through the real program.

use std::fs;

use serde_json::json;

use crate::cli_program::World;

#[test]
fn show_says_where_each_value_came_from() {
    let world = World::new().set("VAULT_AGENT_SERVER_HOST", "localhost").set("IBID_WATCH_ENABLED", "false");
    world.write("ibid.toml", "search.limit = 7\n");
    let shown = world.ok(&["config", "show", "--origin", "--set", "server.port=9000"]);
    for line in [
        "search.limit = 7  # project file ",
        "server.port = 9000  # flag --set server.port",
        "server.host = \"localhost\"  # environment VAULT_AGENT_SERVER_HOST",
        "watch.enabled = false  # environment IBID_WATCH_ENABLED",
        "search.mode = \"auto\"  # built-in",
        "server.api_key = unset  # built-in",
    ] {
        assert!(shown.contains(line), "{line} in {shown}");
    }
    let changed = world.ok(&["config", "show", "--changed"]);
    assert_eq!(changed.lines().count(), 3, "{changed}");
}

#[test]
fn values_can_be_read_and_set_one_by_one() {
    let world = World::new();
    assert_eq!(world.ok(&["config", "get", "server.port"]), "8787\n");
    world.ok(&["config", "set", "server.port", "9001"]);
    assert_eq!(world.ok(&["config", "get", "server.port"]), "9001\n");
    world.ok(&["config", "set", "--project", "cors.allowed_origins", "https://a.example,https://b.example"]);
    assert_eq!(
        world.json(&["config", "get", "cors.allowed_origins", "--json"]),
        json!(["https://a.example", "https://b.example"])
    );
    assert!(world.ok(&["config", "get", "watch"]).starts_with("watch.enabled = true\n"));
    let path = world.json(&["config", "path", "--json"]);
    assert!(path["user"].as_str().unwrap().ends_with(".config/ibid/config.toml"), "{path}");
    assert!(path["project"].as_str().unwrap().ends_with("ibid.toml"), "{path}");
}

#[test]
fn mistakes_are_named_with_a_suggestion() {
    let world = World::new();
    world.fails(
        &["config", "get", "server.prot"],
        2,
        "CONFIG_INVALID: unknown key `server.prot`\nhint: did you mean `server.port`?",
    );
    world.fails(&["config", "set", "server.port", "many"], 2, "`server.port` must be a whole number");
    world.fails(
        &["config", "set", "--project", "server.api_key", "x"],
        2,
        "may not be set in a project file",
    );
    world.write("ibid.toml", "\n[serch]\nlimit = 3\n");
    let run = world.fails(&["config", "show"], 2, "CONFIG_INVALID: ibid.toml:2: unknown key `serch`");
    assert!(run.err.contains("hint: did you mean `search."), "{}", run.err);
}

#[test]
fn a_secret_is_never_printed_unless_asked_for_by_name() {
    let secret = "s3cret-s3cret-s3cret-s3cret-s3cret";
    let world = World::new();
    let set = world.run_with(&["config", "set", "server.api_key", "-"], &format!("{secret}\n"));
    assert_eq!(set.code, 0, "{}", set.err);
    let mut seen = vec![set.out, set.err];
    for arguments in [
        &["config", "show", "--origin"][..],
        &["config", "show", "--json"],
        &["config", "get", "server.api_key"],
        &["config", "get", "server", "--json"],
        &["--log-level", "trace", "config", "show"],
    ] {
        let run = world.run(arguments);
        assert_eq!(run.code, 0, "{}", run.err);
        seen.extend([run.out, run.err]);
    }
    for text in seen {
        assert!(!text.contains(secret), "{text}");
    }
    let run = world.run(&["config", "reveal-api-key"]);
    assert_eq!((run.code, run.out.trim_end()), (0, secret));
    assert!(run.err.contains("caution"), "{}", run.err);
    assert_eq!(world.json(&["config", "reveal-api-key", "--json"]), json!({"apiKey": secret}));
    assert_eq!(World::new().run(&["config", "reveal-api-key"]).code, 1);
}

#[test]
fn a_custom_file_replaces_the_others() {
    let world = World::new();
    world.write("ibid.toml", "search.limit = 7\n");
    world.write("own.toml", "search.per_document = 3\n");
    let get = |key| world.ok(&["--config", "own.toml", "config", "get", key]);
    assert_eq!((get("search.limit").as_str(), get("search.per_document").as_str()), ("10\n", "3\n"));
    world.fails(&["--config", "none.toml", "config", "show"], 2, "`none.toml` does not exist");
    world.ok(&["--config", "own.toml", "config", "set", "search.limit", "4"]);
    assert!(fs::read_to_string(world.vault().join("own.toml")).unwrap().contains("limit = 4"));
}
