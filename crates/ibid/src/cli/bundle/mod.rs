//! `ibid bundle`

mod zip;

use std::{fmt::Write as _, fs, path::PathBuf};

use clap::Args;
use ibid_api::{Error, ErrorCode, Result};
use ibid_tools::ToolTable;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{Context, Outcome};
use crate::{assemble, ui::printer::PLACE};

const MANIFEST_VERSION: &str = "0.3";
const SERVER_SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const ABOUT: &str = "Search and read your notes, documentation and code, by words and by meaning";

/// Make an `.mcpb` bundle of this program and a `server.json` for MCP registries.
///
/// The bundle is for the platform this program was built for. `server.json` names the bundle by the address
/// it will be published at and carries its SHA-256.
#[derive(Debug, Args)]
pub struct BundleArguments {
    /// Folder to write to.
    #[arg(short, long, value_name = "DIR", default_value = "dist")]
    pub output: PathBuf,
    /// Name of the server in the registry.
    #[arg(long, value_name = "NAME", default_value = "io.github.ibid/ibid")]
    pub name: String,
    /// Address that the bundle will be published at; the file's name is added.
    #[arg(long, value_name = "URL", default_value = "https://github.com/ibid/ibid/releases/download")]
    pub url: String,
}

pub(super) fn run(arguments: &BundleArguments, context: &Context) -> Outcome {
    let program = context.config.surroundings.executable.as_ref();
    let program = program.and_then(|path| fs::read(path).ok()).ok_or_else(|| {
        Error::new(ErrorCode::StorageUnavailable, "this program cannot be read from its own file")
    })?;
    let version = env!("CARGO_PKG_VERSION");
    let binary = format!("server/ibid{}", std::env::consts::EXE_SUFFIX);
    let tools = assemble::described_tools(&context.config)?;
    let manifest = manifest(&binary, version, &tools);
    let mut bundle = zip::Writer::default();
    bundle.add("manifest.json", &pretty(&manifest)?, zip::Mode::File)?;
    bundle.add("LICENSE-APACHE", include_bytes!("../../../../../LICENSE-APACHE"), zip::Mode::File)?;
    bundle.add("LICENSE-MIT", include_bytes!("../../../../../LICENSE-MIT"), zip::Mode::File)?;
    bundle.add(&binary, &program, zip::Mode::Program)?;
    let bundle = bundle.finish()?;

    let file_name = format!("ibid-{version}-{}-{}.mcpb", std::env::consts::OS, std::env::consts::ARCH);
    let address = format!("{}/v{version}/{file_name}", arguments.url.trim_end_matches('/'));
    let server = server(&arguments.name, version, &address, &hex(&Sha256::digest(&bundle)));
    let folder = context.config.surroundings.current_dir.join(&arguments.output);
    let unwritable = |_| Error::new(ErrorCode::StorageUnavailable, "the bundle could not be written");
    fs::create_dir_all(&folder).map_err(unwritable)?;
    for (name, bytes) in [(file_name.as_str(), &bundle), ("server.json", &pretty(&server)?)] {
        fs::write(folder.join(name), bytes).map_err(unwritable)?;
        context.printer.line(format_args!("{PLACE}{}{PLACE:#}", arguments.output.join(name).display()))?;
    }
    Ok(())
}

fn manifest(binary: &str, version: &str, tools: &ToolTable) -> Value {
    let platform = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let summary = |about: &str| about.split_inclusive(". ").next().unwrap_or(about).trim().to_owned();
    let tools: Vec<_> = tools
        .tools()
        .map(|tool| json!({"name": tool.spec.name, "description": summary(tool.spec.about)}))
        .collect();
    json!({
        "manifest_version": MANIFEST_VERSION,
        "name": "ibid",
        "display_name": "ibid",
        "version": version,
        "description": ABOUT,
        "author": {"name": "The ibid authors"},
        "license": env!("CARGO_PKG_LICENSE"),
        "server": {
            "type": "binary",
            "entry_point": binary,
            "mcp_config": {
                "command": format!("${{__dirname}}/{binary}"),
                "args": ["-C", "${user_config.folder}", "mcp"],
                "env": {}
            }
        },
        "tools": tools,
        "user_config": {
            "folder": {
                "type": "directory",
                "title": "Folder",
                "description": "The folder with your notes, documentation or code. It is only read.",
                "required": true
            }
        },
        "compatibility": {"platforms": [platform]}
    })
}

fn server(name: &str, version: &str, address: &str, sha256: &str) -> Value {
    json!({
        "$schema": SERVER_SCHEMA,
        "name": name,
        "description": ABOUT,
        "version": version,
        "packages": [{
            "registryType": "mcpb",
            "identifier": address,
            "fileSha256": sha256,
            "transport": {"type": "stdio"}
        }]
    })
}

fn pretty(value: &Value) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|_| Error::internal())?;
    text.push(b'\n');
    Ok(text)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptions_fit_what_registries_allow() {
        assert!(ABOUT.len() <= 100);
        let server = server("io.github.x/ibid", "1.2.3", "https://x/y.mcpb", &hex(&Sha256::digest(b"")));
        assert_eq!(server["packages"][0]["fileSha256"].as_str().unwrap().len(), 64);
    }
}
