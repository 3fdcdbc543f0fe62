//! Attachments: metadata, bytes, limits, and paths that try to get out.

use std::{fs, os::unix::fs::symlink};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::{Enveloped, Vault, note_id};

fn ask(path: &str, download: bool, allow_large: bool) -> Value {
    json!({"vault_relative_path": path, "download": download, "allow_large": allow_large})
}

#[test]
fn metadata_comes_by_default_and_bytes_when_asked_for() {
    let vault = Vault::indexed();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    let described = client.call("get_attachment", ask("images/plan.png", false, false)).unwrap();
    let expected = json!({
        "path": "images/plan.png",
        "fileName": "plan.png",
        "contentType": "image/png",
        "size": 12,
        "downloadAvailable": true,
        "warnings": [],
    });
    assert_eq!(described, expected);

    let downloaded = client.call("get_attachment", ask("images/plan.png", true, false)).unwrap();
    assert_eq!(
        (&downloaded["encoding"], &downloaded["contentType"]),
        (&json!("base64"), &json!("image/png"))
    );
    let bytes = BASE64_STANDARD.decode(downloaded["content"].as_str().unwrap()).unwrap();
    assert_eq!(bytes, fs::read(vault.root().join("images/plan.png")).unwrap());

    let raw = server.get("/attachments/images/plan.png?download=true");
    assert_eq!((raw.status, &raw.body), (200, &bytes));
    assert_eq!(raw.header("content-type"), Some("image/png"));
    assert!(raw.header("content-disposition").unwrap().starts_with("attachment"));
}

#[test]
fn names_with_blanks_are_found_however_they_are_written() {
    let vault = Vault::indexed();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    for path in ["images/my photo.jpg", "images/my%20photo.jpg", "./images//my photo.jpg"] {
        let reply = client.call("get_attachment", ask(path, false, false)).unwrap();
        assert_eq!(
            (&reply["path"], &reply["contentType"]),
            (&json!("images/my photo.jpg"), &json!("image/jpeg"))
        );
    }
    assert_eq!(server.get("/attachments/images/my%20photo.jpg").data()["fileName"], "my photo.jpg");
    let unknown = client.call("get_attachment", ask("data.unknownkind", false, false)).unwrap();
    assert_eq!(unknown["contentType"], "application/octet-stream");
}

#[test]
fn an_oversized_download_is_refused_by_default_allowed_on_request_and_bounded_for_good() {
    let vault = Vault::new();
    let large = (10 << 20) + 1;
    vault.write_sparse("large.bin", large);
    vault.write_sparse("enormous.bin", 51 << 20);
    vault.index();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    assert_eq!(client.call("get_attachment", ask("large.bin", false, false)).unwrap()["size"], large);

    let too_large = |error: Value| {
        assert_eq!(
            (&error["code"], &error["data"]["errorCode"]),
            (&json!(-32008), &json!("QUERY_TOO_LARGE"))
        );
    };
    too_large(client.call("get_attachment", ask("large.bin", true, false)).unwrap_err());
    let reply = client.call("get_attachment", ask("large.bin", true, true)).unwrap();
    assert_eq!(reply["content"].as_str().unwrap().len() as u64, large.div_ceil(3) * 4);
    too_large(client.call("get_attachment", ask("enormous.bin", true, true)).unwrap_err());

    let refused = server.get("/attachments/large.bin?download=true").refused();
    assert_eq!(refused, (413, "ATTACHMENT_TOO_LARGE".to_owned()));
    let raw = server.get("/attachments/enormous.bin?download=true&allowLarge=true");
    assert_eq!((raw.status, raw.body.len()), (200, 51 << 20), "HTTP has no limit of results");
}

#[test]
fn paths_that_try_to_get_out_are_refused_whatever_their_encoding() {
    let vault = Vault::indexed();
    fs::create_dir(vault.outside()).unwrap();
    fs::write(vault.outside().join("secret.txt"), "outside").unwrap();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    for path in [
        "../outside/secret.txt",
        "images/../../outside/secret.txt",
        "..%2foutside%2fsecret.txt",
        "%2e%2e/outside/secret.txt",
        "%2e%2e%2foutside%2fsecret.txt",
        "%252e%252e%252foutside%252fsecret.txt",
        "%25252e%25252e/outside/secret.txt",
        "..%5coutside%5csecret.txt",
        "%2foutside/secret.txt",
        "images/%00plan.png",
        "C:%5coutside",
        "C:/outside",
        "..",
        ".",
    ] {
        let error = client.call("get_attachment", ask(path, true, true)).unwrap_err();
        assert_eq!(error["data"]["errorCode"], "INVALID_PATH", "{path}");
        let reply = server.get(&format!("/attachments/{path}?download=true"));
        assert_eq!(reply.refused(), (400, "INVALID_PATH".to_owned()), "{path}");
    }
    for path in [
        "/etc/passwd",
        "..\\outside\\secret.txt",
        "images\\plan.png",
        "images/plan.png\0",
        "\\\\host\\share",
        "",
    ] {
        let error = client.call("get_attachment", ask(path, true, true)).unwrap_err();
        assert_eq!(error["data"]["errorCode"], "INVALID_PATH", "{path:?}");
    }
}

#[test]
fn odd_paths_never_reach_a_file_and_never_end_the_server() {
    let vault = Vault::indexed();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    let long = "a/".repeat(3_000);
    for path in [
        "CON",
        "nul",
        "AUX.txt",
        "COM1",
        "LPT1.png",
        "images/NUL",
        "images/plan.png:stream",
        "images/plan.png/",
        "images/plan.png/x",
        "~/x",
        "$HOME/x",
        "images/*",
        "images/plan.pn?",
        "%c0%ae%c0%ae/x",
        "%ff%fe",
        "%",
        "%2",
        "images/plan.png%",
        "......",
        "…/x",
        "\u{202e}gnp.nalp",
        "images/ plan.png",
        &long,
    ] {
        if let Err(error) = client.call("get_attachment", ask(path, true, true)) {
            let code = error["data"]["errorCode"].as_str().unwrap().to_owned();
            let known = ["INVALID_PATH", "ATTACHMENT_NOT_FOUND", "ATTACHMENT_NOT_ALLOWED"];
            assert!(known.contains(&code.as_str()), "{path:?}: {code}");
        } else {
            assert_eq!(path, "images/plan.png/", "only a real file is returned");
        }
        if path.bytes().all(|byte| byte.is_ascii_graphic()) {
            let status = server.get(&format!("/attachments/{path}?download=true")).status;
            assert!([200, 400, 403, 404, 414, 431].contains(&status), "{path}: {status}");
        }
    }
    assert!(client.call("search", json!({"query": "hens"})).is_ok());
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn links_are_followed_only_while_they_stay_inside() {
    let vault = Vault::new();
    fs::create_dir(vault.outside()).unwrap();
    fs::write(vault.outside().join("secret.png"), "outside").unwrap();
    symlink("plan.png", vault.root().join("images/inside.png")).unwrap();
    symlink(vault.outside().join("secret.png"), vault.root().join("images/outside.png")).unwrap();
    symlink(vault.outside(), vault.root().join("outward")).unwrap();
    symlink("circle.png", vault.root().join("images/circle.png")).unwrap();
    symlink("../.obsidian/workspace.json", vault.root().join("images/settings.json")).unwrap();
    symlink("../Home.md", vault.root().join("images/note.png")).unwrap();
    vault.index();
    let mut client = vault.mcp();
    let mut code = |path: &str| match client.call("get_attachment", ask(path, true, false)) {
        Ok(reply) => reply["path"].as_str().unwrap().to_owned(),
        Err(error) => error["data"]["errorCode"].as_str().unwrap().to_owned(),
    };
    assert_eq!(code("images/inside.png"), "images/inside.png");
    assert_eq!(code("images/outside.png"), "PATH_OUTSIDE_VAULT");
    assert_eq!(code("outward/secret.png"), "PATH_OUTSIDE_VAULT");
    assert_eq!(code("images/settings.json"), "ATTACHMENT_NOT_ALLOWED");
    assert_eq!(code("images/note.png"), "ATTACHMENT_NOT_ALLOWED");
    assert_ne!(code("images/circle.png"), "images/circle.png");
}

#[test]
fn what_is_not_a_regular_file_does_not_hang_a_call() {
    let vault = Vault::indexed();
    let pipe = vault.root().join("images/pipe.png");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let error = vault.mcp().call("get_attachment", ask("images/pipe.png", true, false)).unwrap_err();
    assert!(error["data"]["errorCode"].is_string(), "{error}");
}

#[test]
fn a_link_that_changes_its_mind_never_leaks() {
    let vault = Vault::indexed();
    fs::create_dir(vault.outside()).unwrap();
    fs::write(vault.outside().join("secret.png"), "outside-bytes").unwrap();
    let link = vault.root().join("images/race.png");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let targets = [vault.outside().join("secret.png"), vault.root().join("images/plan.png")];
            for target in targets.iter().cycle() {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let _ = fs::remove_file(&link);
                let _ = symlink(target, &link);
            }
        });
        let mut client = vault.mcp();
        let secret = BASE64_STANDARD.encode("outside-bytes");
        for _ in 0..300 {
            if let Ok(reply) = client.call("get_attachment", ask("images/race.png", true, false)) {
                assert_ne!(reply["content"], secret.as_str());
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_note_is_no_attachment_and_an_attachment_no_note() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let error = client.call("get_note", json!({"note_id": note_id("images/plan.png")})).unwrap_err();
    assert_eq!(error["data"]["errorCode"], "NOTE_NOT_FOUND");
}
