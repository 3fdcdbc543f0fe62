//! `ibid status --server`: the status of a running server, asked over HTTP.

use std::{path::Path, time::Duration};

use http::Uri;
use ibid_api::{Error, ErrorCode, Result, Warning, WarningCode};
use ibid_core::server;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{Context, Outcome};
use crate::{
    config::{Config, layer::Origin},
    http::is_loopback,
    ui::{
        printer::{BAD, GOOD, PLACE, STRONG},
        text::safe,
    },
};

/// Longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks the server and shows what it says.
pub(super) async fn run(url: Option<&str>, json: bool, context: &Context) -> Outcome {
    let server = Server::of(url, &context.config)?;
    let (endpoint, key) = (server.endpoint.clone(), server.key);
    let asking = tokio::task::spawn_blocking(move || {
        server::get(&format!("{}/status", endpoint.trim_end_matches('/')), key.as_deref(), PATIENCE)
    });
    let asked = context.interrupt.or(async { asking.await.map_err(|_| Error::internal()) }).await?;
    let envelope = asked.ok().and_then(|answer| serde_json::from_slice::<Value>(&answer.body).ok());
    if let Some(envelope) = envelope.as_ref().filter(|envelope| envelope["data"]["server"].is_object()) {
        return if json { context.printer.json(envelope) } else { show(envelope, &server.endpoint, context) };
    }
    if let Some(error) = envelope.and_then(|envelope| refusal(&envelope)) {
        return Err(error.into());
    }
    if json {
        context.printer.json(&unreachable(&server.endpoint, &context.config))?;
    }
    Err(Error::new(ErrorCode::ServerUnavailable, "no server of ibid answers there")
        .with_hint("start it with `ibid serve`, or name another with `--server URL`")
        .into())
}

/// Which server to ask, and with which key.
struct Server {
    endpoint: String,
    key: Option<String>,
}

impl Server {
    fn of(url: Option<&str>, config: &Config) -> Result<Self> {
        let server = &config.values.server;
        let mut key = server.api_key.reveal().map(str::to_owned);
        let endpoint = match url {
            Some(url) => url.to_owned(),
            None if config.settings.named("server.endpoint").origin != Origin::Default => {
                server.endpoint.clone()
            }
            None => {
                let from_project = ["server.host", "server.port"]
                    .iter()
                    .any(|name| matches!(config.settings.named(name).origin, Origin::ProjectFile(_)));
                // A file that may come from somebody else does not say where a secret is sent.
                key = key.filter(|_| !from_project);
                listening(&server.host, server.port)?
            }
        };
        check(&endpoint)?;
        Ok(Self { endpoint, key })
    }
}

/// Where a server that is told to listen there is reached from this machine.
fn listening(host: &str, port: u16) -> Result<String> {
    let host = match host.trim_start_matches('[').trim_end_matches(']') {
        "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        host => host,
    };
    if !is_loopback(host) || port == 0 {
        let message = "the configuration does not say where a server on this machine listens";
        return Err(Error::new(ErrorCode::ConfigInvalid, message).with_hint("name it with `--server URL`"));
    }
    Ok(if host.contains(':') { format!("http://[{host}]:{port}") } else { format!("http://{host}:{port}") })
}

fn check(endpoint: &str) -> Result<()> {
    let uri = endpoint.parse::<Uri>().ok();
    let usable = uri.is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.authority().is_some_and(|authority| !authority.as_str().contains('@'))
            && uri.query().is_none()
    });
    if usable {
        return Ok(());
    }
    Err(Error::new(ErrorCode::ConfigInvalid, "the address of the server cannot be used")
        .with_hint("it looks like `http://127.0.0.1:8787`"))
}

/// What the server says instead of a status.
fn refusal(envelope: &Value) -> Option<Error> {
    let error = &envelope["error"];
    let code = ErrorCode::deserialize(&error["code"]).ok()?;
    let error = Error::new(code, error["message"].as_str()?);
    Some(if code == ErrorCode::Unauthorized {
        error.with_hint("`server.api_key`, or its variable, must be the key of that server")
    } else {
        error
    })
}

fn unreachable(endpoint: &str, config: &Config) -> Value {
    let warning = Warning::new(WarningCode::ServerUnreachable, "the server cannot be reached");
    json!({
        "data": {
            "server": { "running": false, "endpoint": endpoint, "configPath": config_path(config) },
            "index": null,
            "watch": null,
            "sync": null,
        },
        "warnings": [warning],
    })
}

/// The file that says where the server is, seen from the home folder or from here.
fn config_path(config: &Config) -> Option<String> {
    let surroundings = &config.surroundings;
    let file =
        config.custom_file.clone().or_else(|| surroundings.user_file().filter(|file| file.exists()))?;
    let below = |folder: &Path| Some(file.strip_prefix(folder).ok()?.to_str()?.to_owned());
    let in_home = surroundings.home.as_deref().and_then(below);
    in_home.map(|path| format!("~/{path}")).or_else(|| below(&surroundings.current_dir))
}

fn show(envelope: &Value, endpoint: &str, context: &Context) -> Outcome {
    let data = &envelope["data"];
    let text = |value: &Value| safe(value.as_str().unwrap_or("unknown")).into_owned();
    let (index, watch, sync) = (&data["index"], &data["watch"], &data["sync"]);
    let updated = index["lastSuccessfulUpdateAt"].as_str();
    let updated = updated.map_or_else(|| "never indexed".to_owned(), |at| format!("updated {}", safe(at)));
    let mut rows = vec![
        ("server", format!("{GOOD}running{GOOD:#} at {PLACE}{}{PLACE:#}", safe(endpoint))),
        ("index", format!("{}, {updated}", text(&index["freshness"]))),
        ("meaning", text(&index["embeddingState"])),
        ("watching", text(&watch["state"])),
    ];
    if index["lastError"].is_object() {
        let failure = &index["lastError"];
        let why = format!("{}: {}", text(&failure["code"]), text(&failure["message"]));
        rows.push(("update", format!("{BAD}failed{BAD:#}: {why}")));
    }
    for (name, part) in [("watching", watch), ("git sync", sync)] {
        if part["lastError"].is_string() {
            rows.push((name, format!("{BAD}failed{BAD:#}: {}", text(&part["lastError"]))));
        }
    }
    for reason in index["reindexReasons"].as_array().into_iter().flatten() {
        rows.push(("rebuild", format!("{BAD}needed{BAD:#}: {}", text(reason))));
    }
    for (name, value) in rows {
        context.printer.line(format_args!("{STRONG}{name:<10}{STRONG:#} {value}"))?;
    }
    for warning in envelope["warnings"].as_array().into_iter().flatten() {
        context.printer.note(format_args!("warning: {}", text(&warning["message"])));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_url_only_this_machine_is_asked() {
        for (host, port, expected) in [
            ("127.0.0.1", 8787, Some("http://127.0.0.1:8787")),
            ("localhost", 1, Some("http://localhost:1")),
            ("::1", 8787, Some("http://[::1]:8787")),
            ("0.0.0.0", 8787, Some("http://127.0.0.1:8787")),
            ("[::]", 8787, Some("http://[::1]:8787")),
            ("127.0.0.1", 0, None),
            ("192.168.1.5", 8787, None),
            ("kb.example", 8787, None),
        ] {
            assert_eq!(listening(host, port).ok().as_deref(), expected, "{host}");
        }
    }

    #[test]
    fn an_address_is_a_plain_one() {
        for (endpoint, usable) in [
            ("http://127.0.0.1:8787", true),
            ("https://kb.example/ibid/", true),
            ("http://me:secret@127.0.0.1", false),
            ("http://127.0.0.1/?key=secret", false),
            ("ftp://127.0.0.1", false),
            ("127.0.0.1:8787", false),
            ("", false),
        ] {
            assert_eq!(check(endpoint).is_ok(), usable, "{endpoint}");
        }
    }
}
