//! The models on this machine: the built-in one, and those installed in the user's data folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ibid_api::{Error, ErrorCode, Result};
use ibid_core::{
    EmbeddingConfig,
    embed::{self, EmbedError, Embedder},
};
use serde::Serialize;

use super::super::Context;
use crate::assemble;

/// Name of the model inside the program.
pub(super) const BUILTIN: &str = "builtin";

/// A model that can be used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    /// Its name in commands.
    pub(super) name: String,
    /// How the engine gets it.
    pub(super) config: EmbeddingConfig,
    /// Whether the configuration names it.
    pub(super) in_use: bool,
}

/// What opening a model says about it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) in_use: bool,
    /// The name that its vectors carry.
    pub(super) model: Option<String>,
    pub(super) dimensions: Option<usize>,
    pub(super) disk_bytes: u64,
    pub(super) path: Option<PathBuf>,
    /// Why it cannot be used.
    pub(super) problem: Option<String>,
}

/// The folder that models are installed in.
pub(super) fn folder(context: &Context) -> Result<PathBuf> {
    let home = context.config.surroundings.data_home.as_ref().ok_or_else(|| {
        Error::new(ErrorCode::ConfigInvalid, "there is no home folder to keep models in")
            .with_hint("set `embedding.path` to the folder of the model instead")
    })?;
    Ok(home.join("ibid").join("models"))
}

/// Every model there is, the built-in one first; one that is used without being installed comes last.
pub(super) fn models(context: &Context) -> Vec<Model> {
    let configured = assemble::embedding(&context.config.values);
    let mut models = vec![(BUILTIN.to_owned(), EmbeddingConfig::Builtin)];
    let installed = folder(context).ok().and_then(|folder| fs::read_dir(folder).ok());
    let mut paths: Vec<PathBuf> =
        installed.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // What begins with a dot is being installed or removed.
        if is_name(name) && path.is_dir() {
            models.push((name.to_owned(), EmbeddingConfig::Local(path)));
        }
    }
    let known = models.iter().any(|(_, config)| *config == configured);
    match &configured {
        EmbeddingConfig::Local(path) if !known => {
            let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            models.push((name, configured.clone()));
        }
        EmbeddingConfig::Endpoint(endpoint) => models.push((endpoint.model.clone(), configured.clone())),
        _ => {}
    }
    let model = |(name, config)| Model { in_use: config == configured, name, config };
    models.into_iter().map(model).collect()
}

/// The model of this name.
pub(super) fn find(context: &Context, name: &str) -> Result<Model> {
    let models = models(context);
    if let Some(found) = models.iter().find(|model| model.name == name) {
        return Ok(found.clone());
    }
    let error = Error::new(ErrorCode::NotFound, format!("no model `{name}` is installed"));
    Err(match ibid_tools::nearest(name, models.iter().map(|model| model.name.as_str())) {
        Some(near) => error.with_hint(format!("did you mean `{near}`? `ibid model list` shows all")),
        None => error.with_hint("`ibid model install DIR` installs one, `ibid model list` shows all"),
    })
}

/// Whether a model may have this name: it becomes that of a folder.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 64 && !name.starts_with(['.', '-']) && name.chars().all(fits)
}

/// Opens a model, with an error for people.
pub(super) fn open(model: &Model) -> Result<std::sync::Arc<dyn Embedder>> {
    match embed::open(&model.config) {
        Ok(Some(embedder)) => Ok(embedder),
        Ok(None) => Err(Error::new(ErrorCode::EmbeddingUnavailable, "search by meaning is turned off")
            .with_hint("set `embedding.enabled` to true")),
        Err(error) => Err(unusable(&error)),
    }
}

/// An error of a model, for people.
pub(super) fn unusable(error: &EmbedError) -> Error {
    let code = match error {
        EmbedError::Config(_) => ErrorCode::EmbeddingConfigInvalid,
        _ => ErrorCode::EmbeddingFailed,
    };
    Error::new(code, error.to_string())
}

/// Opens a model and says what it is.
pub(super) fn describe(model: &Model) -> Description {
    let path = match &model.config {
        EmbeddingConfig::Local(path) => Some(path.clone()),
        _ => None,
    };
    let mut description = Description {
        name: model.name.clone(),
        in_use: model.in_use,
        model: None,
        dimensions: None,
        disk_bytes: path.as_deref().map_or(0, bytes_below),
        path,
        problem: None,
    };
    match open(model) {
        Ok(embedder) => {
            description.model = Some(embedder.model().to_owned());
            description.dimensions = Some(embedder.dimensions()).filter(|length| *length > 0);
        }
        Err(error) => description.problem = Some(error.message),
    }
    description
}

fn bytes_below(path: &Path) -> u64 {
    let Ok(metadata) = fs::metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_below(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_folder() {
        for good in ["bge-small", "a", "Model_1.5"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "..", ".hidden", "-x", "a/b", "a\\b", "ä", "a b", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
