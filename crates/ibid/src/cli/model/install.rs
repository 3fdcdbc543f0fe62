//! `ibid model install`

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use ibid_api::{Error, ErrorCode, Result};
use ibid_core::{EmbeddingConfig, embed::LocalModel};

use super::{
    super::{Context, Outcome},
    list::size,
    shelf::{self, Model},
};

/// What a folder must hold.
const REQUIRED: [&str; 3] = ["config.json", "tokenizer.json", "model.safetensors"];
/// What else says how the model is used.
const OPTIONAL: [&str; 3] = ["sentence_bert_config.json", "modules.json", "1_Pooling/config.json"];

pub(super) fn run(context: &Context, folder: &Path, name: Option<&str>, force: bool, json: bool) -> Outcome {
    let folder = context.config.surroundings.current_dir.join(folder);
    check_files(&folder)?;
    let real = folder.canonicalize().map_err(|_| no_folder())?;
    let own = real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = check_name(name.unwrap_or(own))?;
    let shelf = shelf::folder(context)?;
    let target = shelf.join(name);
    if target.exists() && !force {
        return Err(Error::new(ErrorCode::InvalidInput, format!("a model `{name}` is installed already"))
            .with_hint("replace it with `--force`, or give this one another `--name`")
            .into());
    }
    let packed = LocalModel::pack_as(&folder, name).map_err(|error| shelf::unusable(&error))?;
    let new = copy(&folder, &shelf, &packed).map_err(|error| unwritable(&error))?;
    let installed = |config| Model { name: name.to_owned(), config, in_use: false };
    // What does not give a vector is not installed.
    let model = shelf::open(&installed(EmbeddingConfig::Local(new.path().to_owned())))?;
    model.embed_query("is this a model").map_err(|error| shelf::unusable(&error))?;
    publish(new, &target).map_err(|error| unwritable(&error))?;
    let description = shelf::describe(&installed(EmbeddingConfig::Local(target)));
    if json {
        return context.printer.json(&description);
    }
    let length = description.dimensions.unwrap_or_default();
    context
        .printer
        .line(format_args!("installed {name}: {length} dimensions, {}", size(description.disk_bytes)))?;
    context.printer.note(format_args!("`ibid model use {name}` makes it the one that is used"));
    Ok(())
}

fn check_files(folder: &Path) -> Result<()> {
    if !folder.is_dir() {
        return Err(no_folder());
    }
    let missing: Vec<&str> = REQUIRED.into_iter().filter(|name| !folder.join(name).is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("the folder has no {}", missing.join(" and no "));
    Err(Error::new(ErrorCode::InvalidInput, message).with_hint(
        "give a folder with config.json, tokenizer.json and model.safetensors, as models are published",
    ))
}

fn no_folder() -> Error {
    Error::new(ErrorCode::InvalidInput, "the folder of the model does not exist")
        .with_hint("give a folder with config.json, tokenizer.json and model.safetensors")
}

fn check_name(name: &str) -> Result<&str> {
    if name == shelf::BUILTIN {
        return Err(Error::new(ErrorCode::InvalidInput, "`builtin` is the model inside the program")
            .with_hint("give another `--name`"));
    }
    if shelf::is_name(name) {
        return Ok(name);
    }
    Err(Error::new(ErrorCode::InvalidInput, "a model cannot have this name")
        .with_hint("give a `--name` of at most 64 letters, digits, `-`, `_` and `.`"))
}

/// Copies a model beside its final place; it is gone again if nobody publishes it.
fn copy(folder: &Path, shelf: &Path, packed: &[u8]) -> io::Result<tempfile::TempDir> {
    fs::create_dir_all(shelf)?;
    let new = tempfile::TempDir::with_prefix_in(".new-", shelf)?;
    for name in REQUIRED.iter().chain(&OPTIONAL) {
        let (from, to) = (folder.join(name), new.path().join(name));
        if from.is_file() {
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(from, &to)?;
            File::open(&to)?.sync_all()?;
        }
    }
    let file = new.path().join(LocalModel::PACKED);
    fs::write(&file, packed)?;
    File::open(&file)?.sync_all()?;
    Ok(new)
}

/// Gives a copy its final name, in place of what has it now.
fn publish(new: tempfile::TempDir, target: &Path) -> io::Result<()> {
    let shelf = target.parent().unwrap_or(target);
    // Replaced models go when this ends.
    let old = tempfile::TempDir::with_prefix_in(".old-", shelf)?;
    match fs::rename(target, old.path().join("model")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::rename(new.path(), target)?;
    // It is not there under its old name any more.
    let _ = new.keep();
    Ok(())
}

fn unwritable(error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "the disk is full",
        _ => "the model could not be copied into the data folder",
    };
    Error::new(ErrorCode::StorageUnavailable, message)
        .with_hint("check permissions and space of the data folder")
}
