//! How the contracts differ outside their tools. No other file branches on a toolset's name.

use crate::config::Config;

/// What a toolset's contract asks of the server around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Profile {
    toolset: &'static str,
    /// MCP over HTTP is on unless turned off.
    lives_by_mcp_over_http: bool,
    /// A wrong key is answered with 403 and a missing one with 401.
    tells_wrong_keys_from_missing: bool,
}

const PROFILES: &[Profile] = &[
    Profile { toolset: "library", lives_by_mcp_over_http: true, tells_wrong_keys_from_missing: false },
    Profile { toolset: "vault", lives_by_mcp_over_http: false, tells_wrong_keys_from_missing: true },
];

fn named(config: &Config) -> impl Iterator<Item = &'static Profile> {
    PROFILES.iter().filter(|profile| config.values.toolsets.iter().any(|name| name == profile.toolset))
}

/// Whether a server offers MCP over HTTP: when told to, else when a toolset is served that lives by it.
pub fn serves_mcp(config: &Config) -> bool {
    config.values.mcp.enabled.unwrap_or_else(|| named(config).any(|profile| profile.lives_by_mcp_over_http))
}

/// Whether a wrong key is answered differently from a missing one: only when every toolset asks for it.
pub fn tells_wrong_keys_from_missing(config: &Config) -> bool {
    let asked = named(config).filter(|profile| profile.tells_wrong_keys_from_missing).count();
    asked > 0 && asked == config.values.toolsets.len()
}

/// Whether anything that is served asks the knowledge base. The `text` toolset reads its own file, so a server of
/// it alone neither indexes nor watches a folder.
pub fn needs_knowledge_base(config: &Config) -> bool {
    let toolsets = &config.values.toolsets;
    toolsets.is_empty() || toolsets.iter().any(|name| name != "text")
}

/// Whether the routes of the vault's HTTP interface that are no tools are served.
pub fn serves_vault(config: &Config) -> bool {
    let toolsets = &config.values.toolsets;
    toolsets.is_empty() || toolsets.iter().any(|name| name == "vault" || name == "all")
}
