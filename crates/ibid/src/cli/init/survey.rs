//! Finding out what a folder is.

use std::{collections::BTreeMap, fs, path::Path};

use super::super::time::count;

/// Enough files to know.
const ENOUGH: u64 = 20_000;
const DEEPEST: usize = 8;
/// Folders that hold nothing anybody wrote.
const BORING: &[&str] = &["node_modules", "target", "dist", "build", "out", "__pycache__", "vendor"];
/// Files that a documentation generator is configured with.
const GENERATORS: &[(&str, &str)] = &[
    ("mkdocs.yml", "MkDocs"),
    ("mkdocs.yaml", "MkDocs"),
    ("docusaurus.config.js", "Docusaurus"),
    ("docusaurus.config.ts", "Docusaurus"),
    ("book.toml", "mdBook"),
    ("conf.py", "Sphinx"),
    ("antora.yml", "Antora"),
    ("_quarto.yml", "Quarto"),
    ("hugo.toml", "Hugo"),
    (".vitepress", "VitePress"),
];

/// What a folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// A vault of Obsidian.
    ObsidianVault,
    /// Documentation made with a generator, or mostly text.
    Documentation,
    /// Code with documents beside it.
    Mixed,
    /// Notes and nothing else to say about them.
    Notes,
}

/// What was found in a folder.
#[derive(Debug, Clone)]
pub(super) struct Survey {
    pub(super) nature: Nature,
    name: String,
    generator: Option<&'static str>,
    documents: u64,
    code: u64,
    has_templates: bool,
}

impl Survey {
    /// Looks at a folder.
    pub(super) fn of(folder: &Path) -> Self {
        let mut counts = BTreeMap::new();
        let mut seen = 0;
        walk(folder, 0, &mut seen, &mut counts);
        let documents = counts.get("document").copied().unwrap_or_default();
        let code = counts.get("code").copied().unwrap_or_default();
        let generator = GENERATORS
            .iter()
            .find(|(file, _)| folder.join(file).exists() || folder.join("docs").join(file).exists())
            .map(|(_, name)| *name);
        let nature = if folder.join(".obsidian").is_dir() {
            Nature::ObsidianVault
        } else if code > documents {
            Nature::Mixed
        } else if generator.is_some() || folder.join("docs").is_dir() {
            Nature::Documentation
        } else if code > 0 {
            Nature::Mixed
        } else {
            Nature::Notes
        };
        let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let name =
            real.file_name().map_or_else(|| "notes".to_owned(), |name| name.to_string_lossy().into_owned());
        let has_templates = ["templates", "Templates"].iter().any(|name| folder.join(name).is_dir());
        Self { nature, name, generator, documents, code, has_templates }
    }

    /// One sentence about it.
    pub(super) fn describe(&self) -> String {
        let documents = count(self.documents, "document");
        match (self.nature, self.generator) {
            (Nature::ObsidianVault, _) => format!("an Obsidian vault with {documents}"),
            (Nature::Documentation, Some(generator)) => {
                format!("documentation made with {generator}, {documents}")
            }
            (Nature::Documentation, None) => format!("documentation with {documents}"),
            (Nature::Mixed, _) => {
                format!("code and documentation, {documents} and {}", count(self.code, "source file"))
            }
            (Nature::Notes, _) => format!("a folder with {documents}"),
        }
    }

    /// Names and paths of the sources it suggests.
    pub(super) fn sources(&self) -> Vec<(String, &'static str)> {
        vec![(self.name.clone(), ".")]
    }

    /// What to leave out.
    pub(super) fn exclude(&self) -> Vec<&'static str> {
        match self.nature {
            Nature::ObsidianVault if self.has_templates => vec!["[Tt]emplates/"],
            _ => Vec::new(),
        }
    }
}

fn walk(folder: &Path, depth: usize, seen: &mut u64, counts: &mut BTreeMap<&'static str, u64>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if *seen >= ENOUGH {
            return;
        }
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if name.starts_with('.') || BORING.contains(&name.as_ref()) {
            continue;
        }
        if kind.is_dir() && depth < DEEPEST {
            walk(&entry.path(), depth + 1, seen, counts);
        } else if kind.is_file() {
            *seen += 1;
            if let Some(class) = classify(&name) {
                *counts.entry(class).or_default() += 1;
            }
        }
    }
}

fn classify(name: &str) -> Option<&'static str> {
    let extension = name.rsplit_once('.')?.1.to_lowercase();
    match extension.as_str() {
        "md" | "markdown" | "mdx" | "txt" | "rst" | "adoc" | "org" | "pdf" | "docx" | "html" | "htm" => {
            Some("document")
        }
        "rs" | "py" | "js" | "ts" | "tsx" | "jsx" | "go" | "java" | "kt" | "c" | "h" | "cc" | "cpp"
        | "hpp" | "cs" | "rb" | "php" | "swift" | "scala" | "sh" | "lua" | "zig" | "ex" | "clj" | "hs" => {
            Some("code")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[&str], nature: Nature, described: &str) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let survey = Survey::of(folder.path());
        assert_eq!(survey.nature, nature, "{files:?}");
        assert!(survey.describe().contains(described), "{}", survey.describe());
    }

    #[test]
    fn folders_are_recognised() {
        check(
            &[".obsidian/app.json", "a.md", "b.md"],
            Nature::ObsidianVault,
            "an Obsidian vault with 2 documents",
        );
        check(
            &["mkdocs.yml", "docs/a.md"],
            Nature::Documentation,
            "documentation made with MkDocs, 1 document",
        );
        check(&["docs/a.md", "docs/b.md", "x.py"], Nature::Documentation, "documentation with 2 documents");
        check(
            &["src/a.rs", "src/b.rs", "README.md", "target/x.md"],
            Nature::Mixed,
            "1 document and 2 source files",
        );
        check(&["a.md", "b/c.txt"], Nature::Notes, "a folder with 2 documents");
        check(&[], Nature::Notes, "0 documents");
    }
}
