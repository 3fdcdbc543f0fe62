//! `Fingerprint`: what an index was made with, and whether it still fits what is configured.

use std::{collections::BTreeMap, fs};

use ibid_api::{ContentHash, ReindexReason};
use serde::{Deserialize, Serialize};

use crate::config::{CoreConfig, SourceConfig};

/// Raised when parsing or chunking change so that stored documents would come out differently.
const MAKING: u32 = 1;

/// The part of a configuration that stored documents depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    making: u32,
    chunking: String,
    reading: String,
    sources: BTreeMap<String, SourcePrint>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct SourcePrint {
    /// Identity of the root's real path; `None` when the root was not there.
    root: Option<ContentHash>,
    excludes: Vec<String>,
    rules: String,
}

impl Fingerprint {
    pub(crate) fn of(config: &CoreConfig) -> Self {
        Self {
            making: MAKING,
            chunking: format!("{:?}", config.chunk_policy),
            reading: format!("extensions {:?}, legacy {:?}", config.extensions, config.legacy),
            sources: config
                .sources
                .iter()
                .map(|source| (source.name.clone(), SourcePrint::of(source)))
                .collect(),
        }
    }

    /// Reads what a store keeps; what cannot be read fits nothing.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The reasons why an index made with `stored` cannot serve this configuration. Sources that
    /// came or went are no reason.
    pub(crate) fn reasons_against(&self, stored: &Self) -> Vec<ReindexReason> {
        let mut reasons = Vec::new();
        let mut add = |differs: bool, reason: ReindexReason| {
            if differs && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        };
        add(self.making != stored.making, ReindexReason::SchemaIncompatible);
        add(self.chunking != stored.chunking, ReindexReason::ChunkingChanged);
        add(self.reading != stored.reading, ReindexReason::ConfigChanged);
        for (name, now) in &self.sources {
            let Some(then) = stored.sources.get(name) else { continue };
            let moved = now.root.is_some() && then.root.is_some() && now.root != then.root;
            add(moved, ReindexReason::VaultIdentityChanged);
            add(now.excludes != then.excludes, ReindexReason::ExcludesChanged);
            add(now.rules != then.rules, ReindexReason::ConfigChanged);
        }
        reasons
    }

    /// Names of the sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        self.sources.keys().map(String::as_str)
    }

    /// Whether a store that keeps `stored` should keep this one instead.
    pub(crate) fn replaces(&self, stored: Option<&Self>) -> bool {
        stored != Some(self)
    }
}

impl SourcePrint {
    fn of(source: &SourceConfig) -> Self {
        let root = fs::canonicalize(&source.root).ok();
        Self {
            root: root.map(|root| ContentHash::of(root.as_os_str().as_encoded_bytes())),
            excludes: source.exclude.clone(),
            rules: format!(
                "hidden {}, links {}, gitignore {}, bytes {}, kinds {:?}",
                source.include_hidden,
                source.follow_links,
                source.respect_gitignore,
                source.max_file_bytes,
                source.kinds
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chunk::ChunkPolicy, parse::Legacy};

    fn check(change: impl Fn(&mut CoreConfig), want: &[ReindexReason]) {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut config = CoreConfig::new("data").with_source(SourceConfig::new("a", folder.path().join("a")));
        let stored = Fingerprint::parse(&Fingerprint::of(&config).to_text()).unwrap();
        change(&mut config);
        assert_eq!(Fingerprint::of(&config).reasons_against(&stored), want);
    }

    #[test]
    fn each_change_that_matters_has_its_reason() {
        check(|_| {}, &[]);
        check(|config| config.threads = Some(7), &[]);
        check(|config| config.read_only = true, &[]);
        check(
            |config| config.chunk_policy = ChunkPolicy::Heading { target: 1, max: 2 },
            &[ReindexReason::ChunkingChanged],
        );
        check(|config| config.sources[0].exclude.push("x".to_owned()), &[ReindexReason::ExcludesChanged]);
        check(|config| config.sources[0].max_file_bytes = 1, &[ReindexReason::ConfigChanged]);
        check(|config| config.legacy = Legacy::Never, &[ReindexReason::ConfigChanged]);
        check(
            |config| {
                let other = config.sources[0].root.with_file_name("b");
                config.sources[0].root = other;
            },
            &[ReindexReason::VaultIdentityChanged],
        );
        // A root that is away for a moment is no other root.
        check(
            |config| {
                let away = config.sources[0].root.with_file_name("away");
                config.sources[0].root = away;
            },
            &[],
        );
        check(|config| config.sources.clear(), &[]);
    }
}
