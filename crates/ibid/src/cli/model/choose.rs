//! `ibid model use`

use ibid_api::{Error, ErrorCode};
use ibid_core::EmbeddingConfig;
use serde_json::json;

use super::{
    super::{Context, Outcome},
    shelf,
};
use crate::config::{PROJECT_FILE, edit, keys::find, layer::invalid};

pub(super) fn run(context: &Context, name: &str, project: bool, json: bool) -> Outcome {
    let model = shelf::find(context, name)?;
    let path = match &model.config {
        EmbeddingConfig::Builtin => String::new(),
        EmbeddingConfig::Local(path) => path
            .to_str()
            .ok_or_else(|| invalid("the folder of the model has a name that is not Unicode"))?
            .to_owned(),
        _ => {
            return Err(Error::new(ErrorCode::InvalidInput, "this model is behind an endpoint already")
                .with_hint("set `embedding.endpoint` and `embedding.model` to use an endpoint")
                .into());
        }
    };
    // A model that does not work is better found out about now.
    shelf::open(&model)?;
    let config = &context.config;
    let file = if project {
        let here = || config.surroundings.current_dir.join(PROJECT_FILE);
        config.project_file.clone().unwrap_or_else(here)
    } else {
        let user = || {
            config
                .surroundings
                .user_file()
                .ok_or_else(|| invalid("there is no home folder to keep a user file in"))
        };
        config.custom_file.clone().map_or_else(user, Ok)?
    };
    let set = |name: &str, value: &str| {
        let key = find(name).ok_or_else(|| invalid(format!("there is no key `{name}`")))?;
        edit::set(&file, key, &json!(value))
    };
    // The two cannot both be the model.
    if config.values.embedding.endpoint.is_some() {
        set("embedding.endpoint", "")?;
        context.printer.note("`embedding.endpoint` is not used any more");
    }
    set("embedding.path", &path)?;
    for key in ["embedding.path", "embedding.endpoint"] {
        let origin = &config.settings.named(key).origin;
        if origin.rank() > if project { 2 } else { 1 } {
            context.printer.note(format_args!("{} still wins for `{key}`", origin.describe()));
        }
    }
    if json {
        let scope = if project { "project" } else { "user" };
        return context.printer.json(&json!({ "name": model.name, "path": path, "scope": scope }));
    }
    context.printer.line(format_args!("{} is used from now on", model.name))?;
    context.printer.note(
        "`ibid index` embeds what has no vector of it yet; until that is complete, the model before answers",
    );
    Ok(())
}
