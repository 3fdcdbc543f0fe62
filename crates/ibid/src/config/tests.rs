//! Layers, origins, places and keys, through the real files.

use std::{collections::BTreeMap, fs, path::Path};

use ibid_api::ErrorCode;
use serde_json::json;

use super::{Config, env::Surroundings, keys::find, layer::Flag, secret::ServerKey, value::shown};

struct World {
    root: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        fs::create_dir_all(root.path().join("vault/deep/er")).unwrap();
        Self { root, variables: BTreeMap::new() }
    }

    fn file(&self, path: &str, content: &str) -> &Self {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn user(&self, content: &str) -> &Self {
        self.file("home/.config/ibid/config.toml", content)
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    fn surroundings(&self, folder: &str) -> Surroundings {
        let home = self.root.path().join("home");
        Surroundings {
            variables: self.variables.clone(),
            current_dir: self.root.path().join(folder),
            config_home: Some(home.join(".config")),
            data_home: Some(home.join(".local/share")),
            home: Some(home),
            executable: None,
        }
    }

    fn load(&self, flags: &[(&str, &str)]) -> ibid_api::Result<Config> {
        let flags: Vec<_> =
            flags.iter().map(|(key, value)| Flag::new(key, &format!("--set {key}"), value)).collect();
        Config::load(self.surroundings("vault/deep"), None, &flags)
    }
}

fn check(config: &Config, name: &str, value: &serde_json::Value, origin: &str) {
    let setting = config.settings.get(find(name).unwrap());
    assert_eq!(&setting.value, value, "{name}");
    let described = setting.origin.describe();
    assert!(described.contains(origin), "{name} came from {described}");
}

#[test]
fn each_layer_wins_over_the_one_below() {
    let world = World::new();
    check(&world.load(&[]).unwrap(), "server.port", &json!(8787), "built-in");
    world.user("[server]\nport = 1\nhost = \"localhost\"\n");
    check(&world.load(&[]).unwrap(), "server.port", &json!(1), "user file");
    world.file("vault/ibid.toml", "server.port = 2\n");
    let config = world.load(&[]).unwrap();
    check(&config, "server.port", &json!(2), "project file");
    check(&config, "server.host", &json!("localhost"), "user file");
    let world = world.variable("VAULT_AGENT_SERVER_PORT", "3");
    check(&world.load(&[]).unwrap(), "server.port", &json!(3), "environment VAULT_AGENT_SERVER_PORT");
    let world = world.variable("IBID_SERVER_PORT", "4");
    check(&world.load(&[]).unwrap(), "server.port", &json!(4), "environment IBID_SERVER_PORT");
    let config = world.load(&[("server.port", "5")]).unwrap();
    check(&config, "server.port", &json!(5), "flag --set server.port");
    assert_eq!(config.values.server.port, 5);
}

#[test]
fn a_mistake_names_the_file_the_line_and_the_rule() {
    for (file, message, hint) in [
        ("\n[server]\nprot = 1\n", "ibid.toml:3: unknown key `server.prot`", "did you mean `server.port`?"),
        ("serfer = 1\n", "ibid.toml:1: unknown key `serfer`", "did you mean `server."),
        ("server = 1\n", "ibid.toml:1: `server` is a section and must be a table", ""),
        ("server.port = \"x\"\n", "ibid.toml:1: `server.port` must be a whole number", ""),
        ("server.port = 70000\n", "ibid.toml:1: `server.port` must be from 0 to 65535", ""),
        (
            "cors.allowed_origins = [1]\n",
            "ibid.toml:1: `cors.allowed_origins` must hold texts in quotes only",
            "",
        ),
        ("search.mode = \"best\"\n", "ibid.toml:1: `search.mode` must be one of `auto`, `lexical`", ""),
        ("[[sources]]\npth = \"x\"\n", "ibid.toml:1: `sources` has no field `pth`; did you mean `path`?", ""),
        ("[[sources]]\nname = \"x\"\n", "`sources` needs a `path` in every table", ""),
        ("a = \n", "ibid.toml:1: ", ""),
        ("server.api_key = \"x\"\n", "`server.api_key` may not be set in a project file", "ibid config set"),
        ("engine.url = \"http://x\"\n", "`engine.url` may not be set in a project file", "ibid config set"),
        (
            "watch.debounce_ms = 70000\n",
            "`watch.max_batch_delay_ms` must be at least `watch.debounce_ms`",
            "",
        ),
        ("cors.enabled = true\n", "needs at least one origin", ""),
        (
            "cors.allowed_origins = [\"*\"]\n",
            "`cors.allowed_origins`: an allowed origin is not explicit",
            "https://",
        ),
        (
            "mcp.http.endpoint = \"mcp\"
",
            "`mcp.http.endpoint`: the path",
            "must start with `/`",
        ),
        (
            "mcp.http.endpoint = \"/notes/x\"
",
            "`mcp.http.endpoint`: the path",
            "belongs to the HTTP interface",
        ),
        (
            "mcp.http.endpoint = \"/a/../b\"
",
            "`mcp.http.endpoint`: the path",
            "`..`",
        ),
    ] {
        let world = World::new();
        world.file("vault/ibid.toml", file);
        let error = world.load(&[]).unwrap_err();
        assert_eq!(error.code, ErrorCode::ConfigInvalid, "{file}");
        assert!(error.message.contains(message), "{file}: {}", error.message);
        assert!(error.hint.unwrap_or_default().contains(hint), "{file}");
    }
}

#[test]
fn booleans_in_variables_are_four_words_only() {
    for (raw, want) in
        [("true", Some(true)), ("1", Some(true)), ("false", Some(false)), ("0", Some(false)), ("yes", None)]
    {
        let world = World::new().variable("VAULT_AGENT_MCP_ENABLED", raw);
        match (world.load(&[]), want) {
            (Ok(config), Some(want)) => assert_eq!(config.values.mcp.enabled, Some(want)),
            (Err(error), None) => {
                assert!(error.message.contains("`VAULT_AGENT_MCP_ENABLED` must be"), "{error}");
            }
            (got, _) => panic!("{raw}: {got:?}"),
        }
    }
    assert_eq!(World::new().load(&[]).unwrap().values.mcp.enabled, None);
}

#[test]
fn the_sources_are_what_was_declared_last() {
    let names = |config: &Config| -> Vec<String> {
        config.place().unwrap().sources.into_iter().map(|source| source.name).collect()
    };
    let world = World::new();
    assert_eq!(names(&world.load(&[]).unwrap()), ["deep"], "the current folder");
    world.file("vault/ibid.toml", "");
    assert_eq!(names(&world.load(&[]).unwrap()), ["vault"], "the project's folder");
    world.file(
        "vault/ibid.toml",
        "[[sources]]\npath = \"deep\"\nexclude = [\"x/\"]\n[[sources]]\nname = \"b\"\npath = \"deep/er\"\n",
    );
    let config = world.load(&[]).unwrap();
    assert_eq!(names(&config), ["deep", "b"]);
    assert_eq!(config.place().unwrap().sources[0].exclude, ["x/"]);
    let before = config.place().unwrap().data_dir;
    world.file("vault/ibid.toml", "");
    assert_eq!(
        world.load(&[]).unwrap().place().unwrap().data_dir,
        before,
        "the project names the data folder"
    );
    let world = world.variable("VAULT_AGENT_VAULT_ROOT", "er");
    assert_eq!(names(&world.load(&[]).unwrap()), ["er"], "a variable wins over a file");
    let config = world.load(&[("vault.root", "nowhere")]).unwrap();
    assert_eq!(config.place().unwrap_err().code, ErrorCode::VaultNotConfigured);
}

#[test]
fn two_sources_of_one_name_and_two_ways_to_name_them_are_refused() {
    let world = World::new();
    world.file(
        "vault/ibid.toml",
        "[[sources]]\npath = \"deep\"\n[[sources]]\nname = \"deep\"\npath = \".\"\n",
    );
    assert!(world.load(&[]).unwrap().place().unwrap_err().message.contains("two sources are called `deep`"));
    world.file("vault/ibid.toml", "sources = [{ path = \"deep\" }]\nvault.root = \".\"\n");
    assert!(world.load(&[]).unwrap().place().unwrap_err().message.contains("same place"));
}

#[test]
fn the_home_folder_is_never_taken_by_accident() {
    let world = World::new();
    let config = Config::load(world.surroundings("home"), None, &[]).unwrap();
    assert_eq!(config.place().unwrap_err().code, ErrorCode::VaultNotConfigured);
    world.file("home/ibid.toml", "");
    let config = Config::load(world.surroundings("home"), None, &[]).unwrap();
    assert_eq!(config.place().unwrap().sources.len(), 1);
}

#[test]
fn the_data_folder_is_per_user_and_keyed_by_the_root() {
    let world = World::new();
    let place = world.load(&[]).unwrap().place().unwrap();
    let identity = super::place::identity(&world.root.path().join("vault/deep").canonicalize().unwrap());
    assert_eq!(place.data_dir, world.root.path().join("home/.local/share/ibid").join(identity));
    let place = world.load(&[("data_dir", "inside")]).unwrap().place().unwrap();
    assert_eq!(place.data_dir, world.root.path().join("vault/deep/inside"));
    world.user("index.dir = \"~/elsewhere\"\n");
    let place = world.load(&[]).unwrap().place().unwrap();
    assert_eq!(place.data_dir, world.root.path().join("home/elsewhere"));
}

#[test]
fn a_custom_file_stands_alone() {
    let world = World::new();
    world
        .user("server.port = 1\n")
        .file("vault/ibid.toml", "server.port = 2\n")
        .file("own.toml", "[server]\nhost = \"::1\"\n");
    let config = Config::load(world.surroundings("vault"), Some("../own.toml".into()), &[]).unwrap();
    check(&config, "server.port", &json!(8787), "built-in");
    check(&config, "server.host", &json!("::1"), "own.toml");
    let error = Config::load(world.surroundings("vault"), Some("missing.toml".into()), &[]).unwrap_err();
    assert_eq!(error.message, "the configuration file `missing.toml` does not exist");
}

#[test]
fn a_server_beyond_loopback_gets_a_key() {
    let world = World::new();
    assert_eq!(world.load(&[]).unwrap().server_key().unwrap(), ServerKey::NotNeeded);
    let beyond = [("server.host", "0.0.0.0")];
    let made = world.load(&beyond).unwrap().server_key().unwrap();
    let ServerKey::Generated(secret) = &made else { panic!("{made:?}") };
    assert_eq!(secret.reveal().unwrap().len(), 43, "32 bytes in base64");
    let file = world.root.path().join("home/.config/ibid/config.toml");
    assert_owner_only(&file);
    let again = world.load(&beyond).unwrap();
    assert_eq!(again.server_key().unwrap().secret(), secret.reveal(), "the stored key is used from then on");
    let key = find("server.api_key").unwrap();
    assert_eq!(shown(key, &again.settings.get(key).value), "set");
    assert!(!format!("{again:?}").contains(secret.reveal().unwrap()));
}

#[test]
fn a_server_beyond_loopback_refuses_a_short_key_and_a_custom_file_without_one() {
    let world = World::new().variable("KB_API_KEY", "short");
    let error = world.load(&[("server.host", "0.0.0.0")]).unwrap().server_key().unwrap_err();
    assert_eq!(error.code, ErrorCode::ApiKeyRequired);
    assert!(error.hint.unwrap().contains("at least 32 characters"));
    let world = World::new();
    world.file("own.toml", "server.host = \"0.0.0.0\"\n");
    let config = Config::load(world.surroundings("vault"), Some("../own.toml".into()), &[]).unwrap();
    assert_eq!(config.server_key().unwrap_err().code, ErrorCode::ApiKeyRequired);
}

#[test]
fn setting_a_key_leaves_the_rest_of_the_file_alone() {
    let world = World::new();
    let file = world.root.path().join("home/.config/ibid/config.toml");
    world.user("# mine\n[server]\nport = 1 # one\napiKey = \"k\"\n\n[watch]\nenabled = false\n");
    super::edit::set(&file, find("server.port").unwrap(), &json!(2)).unwrap();
    super::edit::set(&file, find("server.api_key").unwrap(), &json!("l")).unwrap();
    super::edit::set(&file, find("mcp.http.endpoint").unwrap(), &json!("/m")).unwrap();
    let written = fs::read_to_string(&file).unwrap();
    assert!(
        written.starts_with("# mine\n[server]\nport = 2 # one\napiKey = \"l\"\n\n[watch]\nenabled = false\n"),
        "{written}"
    );
    assert_eq!(world.load(&[]).unwrap().values.mcp.http.endpoint, "/m");
    assert_owner_only(&file);
}

#[cfg(unix)]
fn assert_owner_only(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(not(unix))]
fn assert_owner_only(_: &Path) {}
