//! Which folders make up the knowledge base, and where its data lives.

use std::path::{Path, PathBuf};

use ibid_api::{ContentHash, DocumentKind, Error, ErrorCode, Result};

use super::{
    Config, SourceValues,
    layer::{Origin, invalid},
};

/// A knowledge base: its sources and its data folder.
#[derive(Debug, Clone)]
pub struct Place {
    /// The source folders.
    pub sources: Vec<Source>,
    /// Where the record and the indexes are.
    pub data_dir: PathBuf,
    /// The folder whose identity names the knowledge base.
    pub root: PathBuf,
}

/// One source folder.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The folder, with links resolved.
    pub root: PathBuf,
    /// Patterns to leave out.
    pub exclude: Vec<String>,
    /// Whether hidden files are read.
    pub include_hidden: bool,
    /// Whether links that stay inside are followed.
    pub follow_links: bool,
    /// Whether `.gitignore` files hold.
    pub respect_gitignore: bool,
    /// Only documents of these kinds; all when `None`.
    pub kinds: Option<Vec<DocumentKind>>,
    /// Larger files are listed and not read.
    pub max_file_bytes: u64,
}

impl Config {
    /// Finds out which folders are meant.
    pub fn place(&self) -> Result<Place> {
        let declared = &self.settings.named("sources").origin;
        let vault = &self.settings.named("vault.root").origin;
        let (mut sources, root) = if declared.rank() > vault.rank() {
            let sources =
                self.values.sources.iter().map(|values| self.source(values)).collect::<Result<Vec<_>>>()?;
            let folder = declared.file().and_then(Path::parent).unwrap_or(&self.surroundings.current_dir);
            (sources, real(folder)?)
        } else if let Some(root) = &self.values.vault.root {
            if declared.rank() == vault.rank() {
                return Err(invalid("`sources` and `vault.root` are set in the same place")
                    .with_hint("keep `[[sources]]` and remove `vault.root`"));
            }
            let root = real(root).map_err(|_| not_a_folder("`vault.root`"))?;
            (vec![self.plain_source(root.clone())], root)
        } else {
            let root = real(self.implied_root()?)?;
            (vec![self.plain_source(root.clone())], root)
        };
        if sources.is_empty() {
            return Err(Error::new(ErrorCode::VaultNotConfigured, "`sources` names no folder")
                .with_hint("add a `[[sources]]` table with a `path`"));
        }
        make_names_unique(&mut sources)?;
        let data_dir = self.data_dir(&root)?;
        keep_out(&mut sources, &data_dir);
        Ok(Place { sources, data_dir, root })
    }

    /// The folder that is meant when nothing names one.
    fn implied_root(&self) -> Result<&Path> {
        if let Some(folder) = self.project_file.as_deref().and_then(Path::parent) {
            return Ok(folder);
        }
        let folder = self.surroundings.current_dir.as_path();
        let is_home = self.surroundings.home.as_deref().is_some_and(|home| same(home, folder));
        if is_home || folder.parent().is_none() {
            let what = if is_home { "your home folder" } else { "the root of the file system" };
            return Err(Error::new(
                ErrorCode::VaultNotConfigured,
                format!("no source folder is configured, and {what} is not taken for one"),
            )
            .with_hint("change to the folder that is meant, or run `ibid init` here if this is it"));
        }
        Ok(folder)
    }

    fn plain_source(&self, root: PathBuf) -> Source {
        Source {
            name: folder_name(&root),
            root,
            exclude: self.values.vault.exclude.clone(),
            include_hidden: false,
            follow_links: true,
            respect_gitignore: true,
            kinds: None,
            max_file_bytes: self.values.index.max_file_bytes,
        }
    }

    fn source(&self, values: &SourceValues) -> Result<Source> {
        let root = real(&values.path).map_err(|_| {
            let name = if values.name.is_empty() { folder_name(&values.path) } else { values.name.clone() };
            not_a_folder(&format!("the path of source `{name}`"))
        })?;
        let kinds = values.kinds.iter().map(|name| {
            DocumentKind::parse(name)
                .ok_or_else(|| invalid(format!("`kinds` of a source has no kind `{name}`")))
        });
        let kinds = kinds.collect::<Result<Vec<_>>>()?;
        let plain = self.plain_source(root);
        Ok(Source {
            name: if values.name.is_empty() { plain.name.clone() } else { values.name.clone() },
            exclude: plain.exclude.iter().chain(&values.exclude).cloned().collect(),
            include_hidden: values.include_hidden,
            follow_links: values.follow_links,
            respect_gitignore: values.respect_gitignore,
            kinds: Some(kinds).filter(|kinds| !kinds.is_empty()),
            max_file_bytes: if values.max_file_bytes == 0 {
                plain.max_file_bytes
            } else {
                values.max_file_bytes
            },
            ..plain
        })
    }

    fn data_dir(&self, root: &Path) -> Result<PathBuf> {
        if let Some(folder) = &self.values.data_dir {
            return Ok(folder.clone());
        }
        let home = self.surroundings.data_home.as_ref().ok_or_else(|| {
            invalid("there is no home folder to keep the index in")
                .with_hint("set `--data-dir` or `IBID_DATA_DIR`")
        })?;
        Ok(home.join("ibid").join(identity(root)))
    }

    /// Whether the sources were chosen by somebody and not just implied by the current folder.
    pub fn is_declared(&self) -> bool {
        self.project_file.is_some()
            || ["sources", "vault.root"]
                .iter()
                .any(|name| self.settings.named(name).origin != Origin::Default)
    }
}

/// Identity of a folder: a hash of its real path.
pub fn identity(root: &Path) -> String {
    ContentHash::of(root.as_os_str().as_encoded_bytes()).to_string()
}

fn real(folder: &Path) -> Result<PathBuf> {
    let folder = folder.canonicalize().map_err(|_| not_a_folder("the source"))?;
    if folder.is_dir() { Ok(folder) } else { Err(not_a_folder("the source")) }
}

fn same(left: &Path, right: &Path) -> bool {
    left == right
        || matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right)
}

fn not_a_folder(what: &str) -> Error {
    Error::new(ErrorCode::VaultNotConfigured, format!("{what} is not a folder that exists"))
        .with_hint("`ibid config show --origin` says where it was set")
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn make_names_unique(sources: &mut [Source]) -> Result<()> {
    for index in 1..sources.len() {
        let (before, rest) = sources.split_at(index);
        if before.iter().any(|source| source.name == rest[0].name) {
            return Err(invalid(format!("two sources are called `{}`", rest[0].name))
                .with_hint("give each `[[sources]]` table its own `name`"));
        }
    }
    Ok(())
}

/// A data folder inside a source is not part of it.
fn keep_out(sources: &mut [Source], data_dir: &Path) {
    for source in sources {
        if let Ok(inside) = data_dir.strip_prefix(&source.root) {
            source.exclude.push(format!("/{}/", inside.display()));
        }
    }
}
