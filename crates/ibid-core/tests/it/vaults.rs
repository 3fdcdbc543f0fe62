//! Real folders and hostile names.

use std::{collections::BTreeSet, fs, path::PathBuf};

use ibid_api::{FileOutcome, RelPath};
use ibid_core::{CoreConfig, EmbeddingConfig, LocalEngine, SourceConfig};

use crate::{
    knowledge::{config, documents, outcomes, update},
    tree::Tree,
};

/// Folders of shared material beside the repository, where there are any.
fn shared_vaults() -> Option<Vec<PathBuf>> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().map(|folder| folder.join("shared/data/vaults")).find(|it| it.is_dir())?;
    let mut vaults: Vec<_> = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path()).collect();
    vaults.sort();
    Some(vaults)
}

#[test]
fn every_shared_vault_is_indexed_with_every_file_accounted_for() {
    let Some(vaults) = shared_vaults() else {
        eprintln!("skipped: there is no shared/data/vaults beside the repository");
        return;
    };
    for vault in vaults {
        let data = tempfile::tempdir().unwrap();
        let mut source = SourceConfig::new("vault", &vault);
        source.respect_gitignore = false;
        let mut config = CoreConfig::new(data.path()).with_source(source.clone());
        config.embedding = EmbeddingConfig::Disabled;
        let engine = LocalEngine::open(config).unwrap();
        let reply = update(&engine);
        let outcomes = outcomes(&engine);
        let root = ibid_core::source::SourceRoot::open(&source, std::sync::Arc::default()).unwrap();
        let found: BTreeSet<String> = root.walk().unwrap().map(|found| found.path).collect();
        assert_eq!(outcomes.keys().cloned().collect::<BTreeSet<_>>(), found, "{}", vault.display());
        let indexed =
            outcomes.values().filter(|outcome| matches!(outcome, FileOutcome::Indexed { .. })).count();
        assert_eq!(reply.added, indexed as u64, "{}", vault.display());
        assert_eq!(reply.failed, 0, "{}", vault.display());
        assert!(indexed > 0, "{}", vault.display());
        let again = update(&engine);
        assert_eq!((again.added, again.changed, again.removed), (0, 0, 0), "{}", vault.display());
    }
}

#[test]
fn hostile_strings_are_harmless_as_file_names_and_content() {
    let hostile: Vec<String> = if let Some(vaults) = shared_vaults() {
        vaults
            .iter()
            .filter_map(|vault| fs::read_to_string(vault.join("blns.txt")).ok())
            .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .collect()
    } else {
        eprintln!("the long list of hostile strings is not here; a few are made up");
        ["<script>alert(1)</script>", "'; DROP TABLE files;--", "%s%n", "\u{202e}abc", "ﷺ", "null", "$(x)"]
            .map(str::to_owned)
            .to_vec()
    };
    assert!(hostile.len() > 5);
    let tree = Tree::new(&[]);
    let mut names = BTreeSet::new();
    for line in &hostile {
        let name: String = line.chars().filter(|c| !matches!(c, '/' | '\0')).collect();
        let name = format!("{}.md", name.chars().take(60).collect::<String>());
        if fs::write(tree.root().join(&name), format!("# {line}\n\n{line}\n\ntags: {line}\n")).is_ok() {
            names.insert(name);
        }
    }
    let engine = LocalEngine::open(config(&tree)).unwrap();
    update(&engine);
    let expected: BTreeSet<String> = names
        .iter()
        .filter(|name| !name.starts_with('.'))
        .filter(|name| RelPath::parse(name).is_ok_and(|path| path.as_str() == *name))
        .cloned()
        .collect();
    assert_eq!(documents(&engine).into_iter().collect::<BTreeSet<_>>(), expected);
    let shown = names.iter().filter(|name| !name.starts_with('.')).count();
    assert_eq!(outcomes(&engine).len(), shown);
}
