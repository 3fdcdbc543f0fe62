//! Which files are read, and as what: a table of extensions and well-known names.

use ibid_api::{DocumentKind, RelPath};

const MARKDOWN: &[&str] = &["markdown", "md", "mdx"];

const TEXT: &[&str] = &[
    "adoc", "asciidoc", "asc", "bib", "creole", "csv", "log", "nfo", "org", "pod", "rst", "srt", "sty",
    "tex", "text", "textile", "tsv", "txt", "vtt", "wiki",
];

const CODE: &[&str] = &[
    "ada",
    "adb",
    "ads",
    "asm",
    "awk",
    "bash",
    "bat",
    "bazel",
    "bzl",
    "c",
    "cc",
    "cfg",
    "cjs",
    "clj",
    "cljc",
    "cljs",
    "cmake",
    "cmd",
    "coffee",
    "conf",
    "cpp",
    "cr",
    "cs",
    "css",
    "cts",
    "cu",
    "cue",
    "cxx",
    "d",
    "dart",
    "dhall",
    "diff",
    "dockerfile",
    "edn",
    "el",
    "elm",
    "erl",
    "ex",
    "exs",
    "f90",
    "fish",
    "fs",
    "fsi",
    "fsx",
    "glsl",
    "go",
    "gql",
    "gradle",
    "graphql",
    "groovy",
    "h",
    "haml",
    "hbs",
    "hcl",
    "hh",
    "hlsl",
    "hpp",
    "hrl",
    "hs",
    "hxx",
    "ini",
    "java",
    "jl",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "jsx",
    "kdl",
    "kt",
    "kts",
    "less",
    "lhs",
    "lisp",
    "lua",
    "m",
    "make",
    "mjs",
    "mk",
    "ml",
    "mli",
    "mm",
    "mts",
    "nim",
    "nix",
    "nu",
    "odin",
    "pas",
    "patch",
    "php",
    "pl",
    "plist",
    "pm",
    "prisma",
    "properties",
    "proto",
    "ps1",
    "psm1",
    "purs",
    "py",
    "pyi",
    "pyx",
    "r",
    "rake",
    "rb",
    "re",
    "res",
    "rkt",
    "rs",
    "s",
    "sass",
    "sbt",
    "scala",
    "scm",
    "scss",
    "sh",
    "sol",
    "sql",
    "ss",
    "sv",
    "svelte",
    "svh",
    "swift",
    "tcl",
    "tf",
    "tfvars",
    "thrift",
    "toml",
    "ts",
    "tsx",
    "v",
    "vb",
    "vhd",
    "vhdl",
    "vim",
    "vue",
    "wat",
    "wgsl",
    "xml",
    "xsd",
    "xsl",
    "xslt",
    "yaml",
    "yml",
    "zig",
    "zsh",
];

const TEXT_NAMES: &[&str] = &[
    "authors",
    "changelog",
    "changes",
    "codeowners",
    "contributing",
    "contributors",
    "copying",
    "history",
    "install",
    "license",
    "maintainers",
    "news",
    "notice",
    "readme",
    "thanks",
    "todo",
];

const CODE_NAMES: &[&str] = &[
    "brewfile",
    "build",
    "caddyfile",
    "cmakelists.txt",
    "containerfile",
    "dockerfile",
    "fastfile",
    "gemfile",
    "gnumakefile",
    "go.mod",
    "jenkinsfile",
    "justfile",
    "makefile",
    "podfile",
    "procfile",
    "rakefile",
    "tiltfile",
    "vagrantfile",
    "workspace",
];

/// What the file at this path is read as, by its name alone; `None` when it is not read.
pub fn kind_of(path: &RelPath) -> Option<DocumentKind> {
    let name = path.file_name().to_lowercase();
    if CODE_NAMES.binary_search(&name.as_str()).is_ok() {
        return Some(DocumentKind::Code);
    }
    match path.extension() {
        Some(extension) => {
            let extension = extension.as_str();
            if MARKDOWN.contains(&extension) {
                Some(DocumentKind::Markdown)
            } else if TEXT.contains(&extension) {
                Some(DocumentKind::Text)
            } else if CODE.binary_search(&extension).is_ok() || is_variant_of_known_name(&name) {
                Some(DocumentKind::Code)
            } else {
                None
            }
        }
        None => TEXT_NAMES.binary_search(&name.as_str()).is_ok().then_some(DocumentKind::Text),
    }
}

/// Whether a link to this extension leads to a Markdown document.
pub(super) fn is_markdown_extension(extension: &str) -> bool {
    MARKDOWN.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

/// `Dockerfile.dev`, `Makefile.am` and the like.
fn is_variant_of_known_name(name: &str) -> bool {
    name.split_once('.')
        .is_some_and(|(first, _)| first.ends_with("file") && CODE_NAMES.binary_search(&first).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_so_that_they_can_be_searched() {
        for table in [CODE, TEXT_NAMES, CODE_NAMES] {
            assert!(table.is_sorted(), "{table:?}");
        }
    }

    #[test]
    fn kinds_follow_extension_and_well_known_names() {
        for (path, want) in [
            ("a.md", Some(DocumentKind::Markdown)),
            ("a.MARKDOWN", Some(DocumentKind::Markdown)),
            ("docs/page.mdx", Some(DocumentKind::Markdown)),
            ("a.txt", Some(DocumentKind::Text)),
            ("a.rst", Some(DocumentKind::Text)),
            ("a.org", Some(DocumentKind::Text)),
            ("LICENSE", Some(DocumentKind::Text)),
            ("src/main.rs", Some(DocumentKind::Code)),
            ("Makefile", Some(DocumentKind::Code)),
            ("Dockerfile.dev", Some(DocumentKind::Code)),
            ("CMakeLists.txt", Some(DocumentKind::Code)),
            ("compose.yaml", Some(DocumentKind::Code)),
            ("a.png", None),
            ("a.pdf", None),
            ("noextension", None),
            (".md", None),
        ] {
            assert_eq!(kind_of(&RelPath::parse(path).unwrap()), want, "{path}");
        }
    }
}
