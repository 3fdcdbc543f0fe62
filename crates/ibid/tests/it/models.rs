//! `ibid model`: what it says, what it refuses, and what it leaves on disk.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    sandbox::{Ran, Sandbox},
    tiny_model,
};

fn run(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let mut command = sandbox.command(arguments);
    Ran::from(command.env("IBID_EMBEDDING_ENABLED", "true").output().unwrap())
}

fn list(sandbox: &Sandbox) -> Vec<(String, bool, bool)> {
    let reply = run(sandbox, &["model", "list", "--json"]).json();
    let models = reply["models"].as_array().unwrap();
    models
        .iter()
        .map(|model| {
            let name = model["name"].as_str().unwrap().to_owned();
            (name, model["inUse"].as_bool().unwrap(), model["problem"].is_null())
        })
        .collect()
}

#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str], says: &str) {
    let ran = run(sandbox, arguments);
    assert!(ran.is_orderly() && ran.code != Some(0), "{ran:?}");
    assert!(ran.stderr.contains(says), "{says}: {ran:?}");
}

fn shelf(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.beside("home").join(".local/share/ibid/models")
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_model_is_installed_used_and_measured() {
    let sandbox = Sandbox::new();
    sandbox.write("a.md", "# Bread\n\nyeast makes the dough rise\n");
    sandbox.write("b.md", "# Stars\n\nclouds of gas collapse\n");
    let folder = tiny_model::write(&sandbox.beside("downloads"), "tiny-1.0", 3);
    assert_eq!(list(&sandbox), [("builtin".to_owned(), true, true)]);
    assert_eq!(run(&sandbox, &["index", "--json"]).json()["embedded"], 2);

    let installed =
        run(&sandbox, &["model", "install", folder.to_str().unwrap(), "--name", "small", "--json"]).json();
    assert_eq!((&installed["name"], &installed["dimensions"]), (&Value::from("small"), &Value::from(32)));
    assert!(installed["model"].as_str().unwrap().starts_with("small:"), "{installed}");
    // What was copied does not need the folder any more.
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(list(&sandbox), [("builtin".to_owned(), true, true), ("small".to_owned(), false, true)]);
    assert_eq!(names(&shelf(&sandbox)), ["small"]);

    let used = run(&sandbox, &["model", "use", "small", "--json"]).json();
    assert_eq!((&used["name"], &used["scope"]), (&Value::from("small"), &Value::from("user")));
    assert_eq!(list(&sandbox), [("builtin".to_owned(), false, true), ("small".to_owned(), true, true)]);
    let status = run(&sandbox, &["status", "--json"]).json();
    assert_eq!(status["index"]["embeddingsMissing"], 2, "{status}");
    assert_eq!(status["index"]["embeddingModel"], installed["model"], "{status}");
    assert_eq!(run(&sandbox, &["index", "--json"]).json()["embedded"], 2);
    let reply = run(&sandbox, &["search", "--json", "--mode", "embedding", "dough"]).json();
    assert_eq!(reply["usedMode"], "embedding", "{reply}");

    let measured = run(&sandbox, &["model", "bench", "--json"]).json();
    assert_eq!(measured["name"], "small");
    for figure in ["loadMs", "queryP50Ms", "queryP99Ms", "piecesPerSecond", "passagesPerSecond"] {
        assert!(measured[figure].as_f64().unwrap() > 0.0, "{figure}: {measured}");
    }
    let text = run(&sandbox, &["model", "list"]);
    assert!(text.stdout.contains("small") && text.stdout.contains("ready"), "{text:?}");

    run(&sandbox, &["model", "use", "builtin", "--json"]).json();
    assert_eq!(run(&sandbox, &["index", "--json"]).json()["embedded"], 0, "its vectors were kept");
}

#[test]
fn the_project_file_can_choose_too() {
    let sandbox = Sandbox::new();
    let folder = tiny_model::write(&sandbox.beside("downloads"), "tiny", 3);
    run(&sandbox, &["model", "install", folder.to_str().unwrap(), "--json"]).json();
    run(&sandbox, &["model", "use", "tiny", "--project", "--json"]).json();
    assert!(fs::read_to_string(sandbox.root().join("ibid.toml")).unwrap().contains("[embedding]"));
    assert_eq!(list(&sandbox)[1], ("tiny".to_owned(), true, true));
}

#[test]
fn what_is_no_model_is_refused_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let good = tiny_model::write(&sandbox.beside("downloads"), "tiny", 3);
    let folder = good.to_str().unwrap();
    let install = |name: &str| ["model", "install", folder, "--name", name].map(str::to_owned);
    let install = |name: &str| install(name).to_vec();
    let refuse = |name: &str, says: &str| {
        let arguments = install(name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        refused(&sandbox, &arguments, says);
    };
    refused(&sandbox, &["model", "install", "nowhere"], "does not exist");
    refused(&sandbox, &["model", "install", "."], "no config.json and no tokenizer.json");
    refuse("../up", "cannot have this name");
    refuse("builtin", "inside the program");
    refused(&sandbox, &["model", "use", "tiny"], "no model `tiny` is installed");
    refused(&sandbox, &["model", "use", "buitlin"], "did you mean `builtin`");
    refused(&sandbox, &["model", "bench", "tiny"], "no model `tiny` is installed");

    let weights = good.join("model.safetensors");
    let whole = fs::read(&weights).unwrap();
    fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    refuse("tiny", "damaged");
    fs::write(&weights, &whole).unwrap();
    let config = fs::read_to_string(good.join("config.json")).unwrap();
    fs::write(good.join("config.json"), config.replace("\"bert\"", "\"gpt2\"")).unwrap();
    refuse("tiny", "not of the BERT family");
    fs::write(good.join("config.json"), "{").unwrap();
    refuse("tiny", "config.json is not as expected");
    fs::write(good.join("config.json"), config).unwrap();
    assert_eq!(names(&shelf(&sandbox)), [] as [String; 0]);

    run(&sandbox, &["model", "install", folder, "--json"]).json();
    refuse("tiny", "installed already");
    run(&sandbox, &["model", "install", folder, "--force", "--json"]).json();
    assert_eq!(names(&shelf(&sandbox)), ["tiny"]);
}

#[test]
fn an_installed_model_that_was_damaged_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write("a.md", "# Bread\n\nyeast makes the dough rise\n");
    let folder = tiny_model::write(&sandbox.beside("downloads"), "tiny", 3);
    run(&sandbox, &["model", "install", folder.to_str().unwrap(), "--json"]).json();
    run(&sandbox, &["model", "use", "tiny", "--json"]).json();
    for name in ["model.ibm", "model.safetensors"] {
        let file = shelf(&sandbox).join("tiny").join(name);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, &bytes[..bytes.len() / 3]).unwrap();
        // Either of the two is enough.
        assert_eq!(list(&sandbox)[1], ("tiny".to_owned(), true, name == "model.ibm"));
    }
    let ran = run(&sandbox, &["index", "--json"]);
    assert!(ran.stderr.contains("damaged"), "{ran:?}");
    assert_eq!(ran.json()["documents"], 1);
    let reply = run(&sandbox, &["search", "--json", "--mode", "hybrid", "dough"]).json();
    assert_eq!((&reply["usedMode"], reply["hits"].as_array().unwrap().len()), (&Value::from("lexical"), 1));
    assert_eq!(reply["warnings"][0]["code"], "EMBEDDING_UNAVAILABLE", "{reply}");
}
