//! `ibid call`

use std::collections::BTreeSet;

use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use ibid_api::{Error, ErrorCode};
use ibid_tools::{Call, JsonObject, Tool, ToolTable, coerce};
use serde_json::Value;

use super::{Context, Failure, Outcome, tools::ToolArguments};
use crate::assemble;

/// Call a tool as an agent would, and print its answer as JSON.
///
/// Required arguments are given in their order, the others as flags: `ibid call TOOL --help` lists them.
/// `--json` takes all of them as one JSON object instead.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ibid call get_kb_info
  ibid call get_kb_info --help
  ibid call search --json '{\"query\": \"rotate keys\", \"limit\": 3}'")]
pub struct CallArguments {
    /// Which tools there are.
    #[command(flatten)]
    pub tools: ToolArguments,
    /// The tool and its arguments.
    #[arg(value_name = "TOOL [ARGUMENTS]", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub line: Vec<String>,
}

pub(super) fn run(arguments: &CallArguments, context: &Context) -> Outcome {
    let (name, rest) = arguments.line.split_first().ok_or_else(Error::internal)?;
    let described = assemble::described_tools(&context.config)?;
    if matches!(name.as_str(), "--help" | "-h") {
        return overview(&described, context);
    }
    let tool = described.get(name).ok_or_else(|| {
        let mut error = described.unknown_tool(name);
        if !error.hint.as_ref().is_some_and(|hint| hint.starts_with("did you mean")) {
            error = error.with_hint("`ibid tools` lists the tools there are");
        }
        error
    })?;
    let input = match command(tool).try_get_matches_from(rest) {
        Ok(matches) => input(tool, &matches)?,
        Err(error) if error.use_stderr() => {
            let text = error.render().to_string();
            let mut lines = text.trim_start_matches("error: ").lines().filter(|line| !line.trim().is_empty());
            let message = lines.next().unwrap_or("the arguments do not fit the tool").to_owned();
            let detail: Vec<_> =
                lines.clone().take_while(|line| line.starts_with("  ")).map(str::trim).collect();
            let message = if detail.is_empty() { message } else { format!("{message} {}", detail.join(" ")) };
            return Err(Error::new(ErrorCode::InvalidInput, message)
                .with_hint(format!("`ibid call {name} --help` shows how it is called"))
                .into());
        }
        Err(help) => return context.printer.write(help.render().ansi().to_string().as_bytes()),
    };
    super::wait(context, async {
        let table = assemble::open_tools(context)?;
        let tool = table.get(name).ok_or_else(|| table.unknown_tool(name))?;
        let answer = tokio::select! {
            answer = tool.call(input, Call::detached()) => answer,
            () = context.interrupt.wanted() => return Err(Failure::Interrupted),
        };
        context.printer.json(&answer.map_err(|failure| failure.error)?)
    })
}

fn overview(table: &ToolTable, context: &Context) -> Outcome {
    for tool in table.tools() {
        context.printer.line(format_args!("{:<20} {}", tool.spec.name, tool.spec.title))?;
    }
    Ok(())
}

/// The command line of a tool, made from its schema.
fn command(tool: &Tool) -> Command {
    let mut command = Command::new(tool.spec.name)
        .bin_name(format!("ibid call {}", tool.spec.name))
        .about(tool.spec.about)
        .no_binary_name(true)
        .disable_version_flag(true)
        .max_term_width(100)
        .arg(
            Arg::new("json")
                .long("json")
                .value_name("OBJECT")
                .help("All arguments as one JSON object")
                .help_heading("Other")
                .exclusive(true),
        );
    if let Some(example) = tool.spec.examples.iter().find(|example| **example != "{}") {
        command = command.after_help(format!("Example:\n  ibid call {} --json '{example}'", tool.spec.name));
    }
    for (name, property) in properties(tool) {
        let about = property.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
        let default = property.get("default").filter(|default| !default.is_null());
        let about = match default {
            Some(default) => format!("{about} [default: {}]", default.to_string().trim_matches('"')),
            None => about,
        };
        let many = coerce::kind(property) == "array";
        let argument = Arg::new(name.clone())
            .help(about.trim().to_owned())
            .value_name(name.to_uppercase())
            .action(if many { ArgAction::Append } else { ArgAction::Set })
            .allow_hyphen_values(true);
        let argument = match property.get("enum").and_then(Value::as_array) {
            Some(values) if !many => {
                let names: Vec<_> = values.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                argument.value_parser(names)
            }
            _ => argument,
        };
        command = command.arg(if is_required(tool, name) {
            argument.required(true)
        } else {
            // Every spelling that people try works.
            let spellings = [name.replace('_', "-"), camel_case(name)];
            let spellings = spellings.into_iter().filter(|spelling| spelling != name);
            let argument = argument.long(name.clone()).aliases(spellings.collect::<BTreeSet<_>>());
            if coerce::kind(property) == "boolean" {
                let switch = argument.allow_hyphen_values(false).num_args(0..=1);
                switch.default_missing_value("true").value_parser(["true", "false"])
            } else {
                argument
            }
        });
    }
    command
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let (head, tail) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
        format!("{text}{}{tail}", head.to_uppercase())
    })
}

fn properties(tool: &Tool) -> impl Iterator<Item = (&String, &Value)> {
    tool.input
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "json")
}

fn is_required(tool: &Tool, name: &str) -> bool {
    tool.input
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|one| one == name))
}

fn input(tool: &Tool, matches: &ArgMatches) -> ibid_api::Result<JsonObject> {
    if let Some(json) = matches.get_one::<String>("json") {
        let wrong = || {
            Error::new(ErrorCode::InvalidInput, "`--json` is not a JSON object")
                .with_hint("quote it for the shell: --json '{\"query\": \"words\"}'")
        };
        return serde_json::from_str(json).map_err(|_| wrong());
    }
    let mut pairs = Vec::new();
    for (name, _) in properties(tool) {
        for value in matches.get_many::<String>(name).into_iter().flatten() {
            pairs.push((name.clone(), value.clone()));
        }
    }
    coerce::arguments(tool, pairs)
}

#[cfg(test)]
mod tests {
    use ibid_tools::{Spec, Toolset};
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Input {
        /// What to find.
        query: String,
        #[serde(default)]
        limit: u32,
        #[serde(default)]
        allow_large: bool,
        #[serde(default)]
        tags: Vec<String>,
    }

    fn check(line: &[&str], want: Option<Value>) {
        let toolset = Toolset::build("test", ())
            .tool(Spec::read("find", "Find", "Finds."), async |(), input: Input| Ok(input))
            .finish();
        let tool = &toolset.tools()[0];
        let got =
            command(tool).try_get_matches_from(line).ok().and_then(|matches| input(tool, &matches).ok());
        assert_eq!(got.map(Value::Object), want, "{line:?}");
    }

    #[test]
    fn required_arguments_stand_in_order_and_the_rest_are_flags() {
        check(&["words"], Some(json!({"query": "words"})));
        check(&["words", "--limit", "3"], Some(json!({"query": "words", "limit": 3})));
        check(&["--allow-large", "--", "words"], Some(json!({"query": "words", "allow_large": true})));
        check(&["words", "--allowLarge", "false"], Some(json!({"query": "words", "allow_large": false})));
        check(&["words", "--allow_large"], Some(json!({"query": "words", "allow_large": true})));
        check(&["words", "--tags", "a", "--tags", "b"], Some(json!({"query": "words", "tags": ["a", "b"]})));
        check(&["--json", r#"{"query": "x", "limit": 2}"#], Some(json!({"query": "x", "limit": 2})));
        check(&["--json", "[]"], None);
        check(&[], None);
        check(&["words", "--nope", "1"], None);
    }
}
