//! `ibid status --server`: what a running server says, and what is said when there is none.

use std::{fs, net::TcpListener, process::Output};

use serde_json::{Value, json};

use super::{Enveloped, Vault};

const KEY: &str = "0123456789abcdef0123456789abcdef";

fn run(vault: &Vault, arguments: &[&str]) -> Output {
    vault.command(&[&["status", "--server"], arguments].concat()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_running_server_is_asked_and_shown() {
    let vault = Vault::indexed();
    let server = vault.serve(&["--api-key", KEY]).with_key(KEY);
    let url = format!("http://127.0.0.1:{}", server.port());
    let vault = vault.set("VAULT_AGENT_API_KEY", KEY);
    let output = run(&vault, &[&url, "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = server.get("/status").json();
    assert_eq!(printed(&output), expected);
    let output = run(&vault, &[&url]);
    let shown = text(&output.stdout);
    assert!(output.status.success() && shown.contains("running at") && shown.contains("ready"), "{shown}");
    assert!(!shown.contains(KEY));

    // Without an address, the configuration says where it is.
    let vault = vault.set("VAULT_AGENT_SERVER_PORT", &server.port().to_string());
    assert_eq!(printed(&run(&vault, &["--json"])), expected);
    let vault = vault.set("VAULT_AGENT_SERVER_PORT", "1").set("VAULT_AGENT_SERVER_ENDPOINT", &url);
    assert_eq!(printed(&run(&vault, &["--json"])), expected);
    assert_eq!(expected["data"]["server"]["running"], json!(true));
    assert_eq!(server.get("/status").data(), expected["data"]);
}

#[test]
fn a_wrong_key_is_told() {
    let vault = Vault::indexed();
    let server = vault.serve(&["--api-key", KEY]);
    let vault = vault.set("VAULT_AGENT_SERVER_PORT", &server.port().to_string());
    for key in ["", "another-key-that-is-long-enough-to-be-one"] {
        let output = run(&vault, &["--json", "--set", &format!("server.api_key={key}")]);
        let told = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(3), ""), "{told}");
        assert!(told.starts_with("UNAUTHORIZED: ") && told.contains("hint: "), "{told}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_has_a_status_too() {
    let vault = Vault::indexed();
    let endpoint = format!("http://127.0.0.1:{}", free_port());
    let expected = |path: Value| {
        json!({
            "data": {
                "server": {"running": false, "endpoint": endpoint, "configPath": path},
                "index": null,
                "watch": null,
                "sync": null,
            },
            "warnings": [{"code": "SERVER_UNREACHABLE", "message": "the server cannot be reached"}],
        })
    };
    let output = run(&vault, &[&endpoint, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(printed(&output), expected(Value::Null));
    assert!(text(&output.stderr).starts_with("SERVER_UNAVAILABLE: "), "{}", text(&output.stderr));
    let output = run(&vault, &[&endpoint]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""));
    assert!(text(&output.stderr).contains("`ibid serve`"), "{}", text(&output.stderr));

    let file = vault.folder().join("home/.config/ibid/config.toml");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, format!("[server]\nendpoint = \"{endpoint}\"\n")).unwrap();
    let output = run(&vault, &["--json"]);
    assert_eq!(printed(&output), expected(json!("~/.config/ibid/config.toml")));
    // A file that is neither in the home folder nor below the current one is not named.
    let elsewhere = vault.folder().join("custom.toml");
    fs::copy(&file, &elsewhere).unwrap();
    let output = run(&vault, &["--json", "--config", elsewhere.to_str().unwrap()]);
    assert_eq!(printed(&output), expected(Value::Null));
}

#[test]
fn only_the_user_says_where_requests_and_keys_are_sent() {
    let vault = Vault::indexed().set("VAULT_AGENT_SERVER_HOST", "192.0.2.7").set("VAULT_AGENT_API_KEY", KEY);
    let output = run(&vault, &["--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`--server URL`"), "{}", text(&output.stderr));

    let vault = Vault::indexed().set("VAULT_AGENT_API_KEY", KEY);
    let project = vault.folder().join("home/ibid.toml");
    fs::write(&project, "[server]\nendpoint = \"http://127.0.0.1:1\"\n").unwrap();
    let output = run(&vault, &["--json"]);
    assert!(text(&output.stderr).contains("`server.endpoint` may not be set in a project file"));

    // A port may be set there, but then the key stays here.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    fs::write(&project, format!("[server]\nport = {}\n", listener.local_addr().unwrap().port())).unwrap();
    let heard = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            .unwrap();
        text(&request[..length])
    });
    let output = run(&vault, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let heard = heard.join().unwrap();
    assert!(heard.starts_with("GET /status ") && !heard.contains(KEY), "{heard}");
}
