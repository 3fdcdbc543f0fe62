//! What of a folder is shown: hidden names, excludes, `.gitignore`, `.ibidignore`.

use std::{fs::File, io::Read as _, path::Path, sync::Arc};

use ibid_api::RelPath;
use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};

use crate::config::{DEFAULT_EXCLUDES, SourceConfig};

/// A rule file larger than this is not a rule file.
const MAX_RULE_BYTES: u64 = 1024 * 1024;

const GIT_RULES: &str = ".gitignore";
const OWN_RULES: &str = ".ibidignore";

/// Why something of a source is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Its name starts with a dot.
    HiddenName,
    /// It is the folder of the index.
    Index,
    /// A pattern that holds in every source.
    BuiltIn,
    /// A pattern of the configuration.
    Exclude,
    /// A pattern of a `.gitignore` or `.ibidignore` file.
    IgnoreFile,
}

/// The rules of one source that hold everywhere in it.
#[derive(Debug)]
pub(super) struct Rules {
    excludes: Gitignore,
    include_hidden: bool,
    respect_gitignore: bool,
    /// A folder that holds no documents although it lies in the source: the index itself.
    index: Option<String>,
}

/// The rules that hold inside one folder: those of its parents and its own rule files.
#[derive(Debug, Clone, Default)]
pub(super) struct FolderRules {
    /// Outermost first. Patterns are relative to the folder they were found in.
    layers: Vec<Arc<Layer>>,
}

#[derive(Debug)]
struct Layer {
    /// Length of the folder's path below the root, its slash included.
    skip: usize,
    git: Option<Gitignore>,
    own: Option<Gitignore>,
}

impl Rules {
    pub(super) fn new(config: &SourceConfig) -> Self {
        let lines = DEFAULT_EXCLUDES.iter().copied().chain(config.exclude.iter().map(String::as_str));
        Self {
            excludes: matcher(lines).unwrap_or_else(Gitignore::empty),
            include_hidden: config.include_hidden,
            respect_gitignore: config.respect_gitignore,
            index: None,
        }
    }

    /// Hides the folder of the index.
    pub(super) fn hide_index(&mut self, path: RelPath) {
        self.index = Some(path.as_str().to_owned());
    }

    /// Whether an entry is shown; its folder is shown already.
    ///
    /// `path` is relative to the root and `name` its last segment.
    pub(super) fn shows(&self, folder: &FolderRules, path: &str, name: &str, is_folder: bool) -> bool {
        self.against(folder, path, name, is_folder).is_none()
    }

    /// The rule that keeps an entry from being shown, if one does.
    pub(super) fn against(
        &self,
        folder: &FolderRules,
        path: &str,
        name: &str,
        is_folder: bool,
    ) -> Option<Rule> {
        if !self.include_hidden && name.starts_with('.') {
            return Some(Rule::HiddenName);
        }
        if self.index.as_deref() == Some(path) {
            return Some(Rule::Index);
        }
        if let Match::Ignore(glob) = self.excludes.matched(Path::new(path), is_folder) {
            let built_in = DEFAULT_EXCLUDES.contains(&glob.original());
            return Some(if built_in { Rule::BuiltIn } else { Rule::Exclude });
        }
        folder.ignores(path, is_folder).then_some(Rule::IgnoreFile)
    }

    /// The rules of a folder: its parent's and what its own rule files add.
    ///
    /// `prefix` is the folder's path below the root with a slash at its end, or empty for the root. `holds`
    /// tells which names are there, so that no file is looked for in vain.
    pub(super) fn enter(
        &self,
        parent: &FolderRules,
        prefix: &str,
        folder: &Path,
        holds: impl Fn(&str) -> bool,
    ) -> FolderRules {
        let mut lines = String::new();
        if self.respect_gitignore && prefix.is_empty() && holds(".git") {
            lines = rule_file(&folder.join(".git").join("info").join("exclude")).unwrap_or_default();
            lines.push('\n');
        }
        if self.respect_gitignore && holds(GIT_RULES) {
            lines.push_str(&rule_file(&folder.join(GIT_RULES)).unwrap_or_default());
        }
        let git = matcher(lines.lines());
        let own = if holds(OWN_RULES) { rule_file(&folder.join(OWN_RULES)) } else { None };
        let own = own.and_then(|lines| matcher(lines.lines()));
        let mut rules = parent.clone();
        if git.is_some() || own.is_some() {
            rules.layers.push(Arc::new(Layer { skip: prefix.len(), git, own }));
        }
        rules
    }

    /// Whether a path is shown, judged from the root down. Rule files on the way are read.
    pub(super) fn shows_path(&self, root: &Path, path: &RelPath, is_folder: bool) -> bool {
        if !self.include_hidden && path.is_hidden() {
            return false;
        }
        let mut rules = self.enter(&FolderRules::default(), "", root, |_| true);
        let whole = path.as_str();
        let mut start = 0;
        loop {
            let end = whole[start..].find('/').map_or(whole.len(), |slash| start + slash);
            let last = end == whole.len();
            if !self.shows(&rules, &whole[..end], &whole[start..end], is_folder || !last) {
                return false;
            }
            if last {
                return true;
            }
            rules = self.enter(&rules, &whole[..=end], &root.join(&whole[..end]), |_| true);
            start = end + 1;
        }
    }
}

impl FolderRules {
    /// The innermost rule decides; `.ibidignore` goes before `.gitignore`.
    fn ignores(&self, path: &str, is_folder: bool) -> bool {
        let decision = |pick: fn(&Layer) -> Option<&Gitignore>| {
            self.layers.iter().rev().find_map(|layer| {
                let matched = pick(layer)?.matched(Path::new(&path[layer.skip..]), is_folder);
                if matched.is_none() { None } else { Some(matched.is_ignore()) }
            })
        };
        decision(|layer| layer.own.as_ref()).or_else(|| decision(|layer| layer.git.as_ref())).unwrap_or(false)
    }
}

/// Patterns that cannot be understood are left out: one bad line must not show or hide a whole folder.
fn matcher<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    for line in lines.filter(|line| !line.trim().is_empty()) {
        if builder.add_line(None, line).is_err() {
            tracing::warn!("an exclude pattern cannot be understood and is left out");
        }
    }
    let matcher = builder.build().ok()?;
    (!matcher.is_empty()).then_some(matcher)
}

fn rule_file(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_RULE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_start_matches('\u{feff}').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: &SourceConfig, files: &[(&str, &str)], cases: &[(&str, bool)]) {
        for (name, content) in files {
            let path = config.root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let rules = Rules::new(config);
        for (path, want) in cases {
            let rel = RelPath::parse(path).unwrap();
            assert_eq!(rules.shows_path(&config.root, &rel, path.ends_with('/')), *want, "{path}");
        }
    }

    #[test]
    fn defaults_hide_generated_folders_and_hidden_names() {
        let folder = tempfile::tempdir().unwrap();
        check(
            &SourceConfig::new("notes", folder.path()),
            &[],
            &[
                ("a.md", true),
                ("deep/a.md", true),
                ("node_modules/a.md", false),
                ("deep/target/a.md", false),
                ("target", true),
                (".obsidian/a.md", false),
                ("deep/.x/a.md", false),
                ("Thumbs.db", false),
            ],
        );
    }

    #[test]
    fn a_source_takes_defaults_back_but_not_hidden_names() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = SourceConfig::new("notes", folder.path());
        config.exclude =
            ["!dist/", "!.secret", "drafts/", "*.tmp.md", "/top.md", "[bad"].map(str::to_owned).to_vec();
        check(
            &config,
            &[],
            &[
                ("dist/a.md", true),
                ("build/a.md", false),
                (".secret/a.md", false),
                ("x/drafts/a.md", false),
                ("x/a.tmp.md", false),
                ("top.md", false),
                ("x/top.md", true),
            ],
        );
    }

    #[test]
    fn the_innermost_rule_file_decides() {
        let folder = tempfile::tempdir().unwrap();
        check(
            &SourceConfig::new("notes", folder.path()),
            &[
                (".gitignore", "*.log\nsecret/\n/only-top.md\n"),
                ("a/.gitignore", "!keep.log\n"),
                (".git/info/exclude", "mine.md\n"),
                ("b/.ibidignore", "*.md\n!good.md\n"),
                ("c/.gitignore", "x.md\n"),
                (".ibidignore", "!c/x.md\n"),
            ],
            &[
                ("x.log", false),
                ("a/x.log", false),
                ("a/keep.log", true),
                ("secret/a.md", false),
                ("only-top.md", false),
                ("a/only-top.md", true),
                ("a/mine.md", false),
                ("b/bad.md", false),
                ("b/good.md", true),
                ("c/x.md", true),
            ],
        );
    }

    #[test]
    fn gitignore_can_be_turned_off_and_ibidignore_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = SourceConfig::new("notes", folder.path());
        config.respect_gitignore = false;
        check(
            &config,
            &[(".gitignore", "a.md\n"), (".ibidignore", "b.md\n")],
            &[("a.md", true), ("b.md", false)],
        );
    }
}
