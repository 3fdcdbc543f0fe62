//! What a source shows of a folder, and what it lets be read.

use std::{
    fs,
    sync::{Arc, atomic::AtomicU64},
};

use ibid_api::{RelPath, SkipReason};
use ibid_core::{
    SourceConfig,
    source::{FoundState, ReadError, Rule, SourceRoot},
};

use crate::tree::Tree;

fn open(config: &SourceConfig) -> SourceRoot {
    SourceRoot::open(config, Arc::new(AtomicU64::new(0))).unwrap()
}

fn shown(config: &SourceConfig) -> Vec<(String, FoundState)> {
    open(config).walk().unwrap().map(|found| (found.path, found.state)).collect()
}

fn files(paths: &[&str]) -> Vec<(String, FoundState)> {
    paths.iter().map(|path| ((*path).to_owned(), FoundState::File)).collect()
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

#[test]
fn a_walk_is_in_the_same_order_each_time_and_obeys_the_rules() {
    let tree = Tree::new(&[
        ("b.md", ""),
        ("a/z.md", ""),
        ("a.md", ""),
        ("a/.hidden.md", ""),
        (".hidden/x.md", ""),
        ("node_modules/x.md", ""),
        ("logs/x.log", ""),
        ("logs/x.md", ""),
        (".gitignore", "*.log\n"),
        ("Ünïcode name.md", ""),
    ]);
    let config = SourceConfig::new("notes", tree.root());
    assert_eq!(shown(&config), files(&["a/z.md", "a.md", "b.md", "logs/x.md", "Ünïcode name.md"]));

    let hidden = SourceConfig { include_hidden: true, respect_gitignore: false, ..config };
    assert_eq!(
        shown(&hidden),
        files(&[
            ".gitignore",
            ".hidden/x.md",
            "a/.hidden.md",
            "a/z.md",
            "a.md",
            "b.md",
            "logs/x.log",
            "logs/x.md",
            "Ünïcode name.md"
        ])
    );
}

#[test]
fn a_walk_below_a_path_shows_what_the_whole_walk_shows_there() {
    let tree = Tree::new(&[
        ("a/b/c.md", ""),
        ("a/b/d/e.md", ""),
        ("a/b/skip.md", ""),
        ("a/.gitignore", "skip.md\n"),
        ("other.md", ""),
    ]);
    let config = SourceConfig::new("notes", tree.root());
    let root = open(&config);
    let below = |path: &str| -> Vec<String> {
        root.walk_below(&rel(path)).unwrap().map(|found| found.path).collect()
    };
    assert_eq!(below("a/b"), ["a/b/c.md", "a/b/d/e.md"]);
    assert_eq!(below("a/b/c.md"), ["a/b/c.md"]);
    assert_eq!(below("a/b/skip.md"), Vec::<String>::new());
    assert_eq!(below("a/missing/x.md"), Vec::<String>::new());
    assert_eq!(below("other.md/x"), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn links_are_followed_only_inside_the_root() {
    let tree = Tree::new(&[("real/a.md", "inside"), (".hidden/b.md", ""), ("real/deep/c.md", "")]);
    fs::create_dir(tree.beside("outside")).unwrap();
    fs::write(tree.beside("outside/secret.md"), "secret").unwrap();
    tree.link("file.md", "real/a.md");
    tree.link("absolute.md", tree.path("real/a.md"));
    tree.link("folder", "real");
    tree.link("real/deep/up", "..");
    tree.link("real/deep/top", tree.root());
    tree.link("out.md", "../outside/secret.md");
    tree.link("outfolder", "../outside");
    tree.link("nowhere.md", "missing.md");
    tree.link("hidden.md", ".hidden/b.md");
    tree.link("circle", "circle");
    let config = SourceConfig::new("notes", tree.root());
    let skip = |path: &str, reason| (path.to_owned(), FoundState::Skip(reason));
    let file = |path: &str| (path.to_owned(), FoundState::File);
    let want = vec![
        file("absolute.md"),
        skip("circle", SkipReason::LinkOutside),
        file("file.md"),
        file("folder/a.md"),
        file("folder/deep/c.md"),
        skip("folder/deep/top", SkipReason::LinkOutside),
        skip("folder/deep/up", SkipReason::NotAFile),
        skip("hidden.md", SkipReason::LinkOutside),
        skip("nowhere.md", SkipReason::LinkOutside),
        skip("out.md", SkipReason::LinkOutside),
        skip("outfolder", SkipReason::LinkOutside),
        file("real/a.md"),
        file("real/deep/c.md"),
        skip("real/deep/top", SkipReason::LinkOutside),
        skip("real/deep/up", SkipReason::NotAFile),
    ];
    assert_eq!(shown(&config), want);

    let root = open(&config);
    for path in ["file.md", "absolute.md", "folder/a.md"] {
        assert_eq!(root.read(&rel(path), 100).unwrap().bytes, b"inside", "{path}");
    }
    for path in ["out.md", "outfolder/secret.md", "circle"] {
        assert!(matches!(root.read(&rel(path), 100), Err(ReadError::Outside)), "{path}");
    }
    assert!(matches!(root.read(&rel("hidden.md"), 100), Err(ReadError::Hidden)));
    for path in ["nowhere.md", "missing/x.md", "real/a.md/x"] {
        assert!(matches!(root.read(&rel(path), 100), Err(ReadError::NotFound)), "{path}");
    }

    let strict = SourceConfig { follow_links: false, ..config };
    let kept = shown(&strict).into_iter().filter(|(_, state)| *state == FoundState::File);
    assert_eq!(kept.collect::<Vec<_>>(), files(&["real/a.md", "real/deep/c.md"]));
    assert!(matches!(open(&strict).read(&rel("file.md"), 100), Err(ReadError::Hidden)));
}

#[cfg(unix)]
#[test]
fn a_path_that_is_swapped_for_a_link_is_never_read_from_outside() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let tree = Tree::new(&[("folder/a.md", "inside")]);
    fs::create_dir(tree.beside("outside")).unwrap();
    fs::write(tree.beside("outside/a.md"), "secret").unwrap();
    tree.link("elsewhere", "../outside");
    let config = SourceConfig::new("notes", tree.root());
    let root = open(&config);
    let stop = AtomicBool::new(false);
    let (real, link, spare) = (tree.path("folder"), tree.path("elsewhere"), tree.path("spare"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                fs::rename(&real, &spare).unwrap();
                fs::rename(&link, &real).unwrap();
                fs::rename(&real, &link).unwrap();
                fs::rename(&spare, &real).unwrap();
            }
        });
        for _ in 0..5_000 {
            if let Ok(file) = root.read(&rel("folder/a.md"), 100) {
                assert_eq!(file.bytes, b"inside");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_named_and_never_waited_for() {
    let tree = Tree::new(&[("a.md", "x")]);
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.path("pipe.md"), rustix::fs::Mode::RUSR).unwrap();
    let config = SourceConfig::new("notes", tree.root());
    let mut want = files(&["a.md"]);
    want.push(("pipe.md".to_owned(), FoundState::Skip(SkipReason::NotAFile)));
    assert_eq!(shown(&config), want);
    let root = open(&config);
    assert!(matches!(root.read(&rel("pipe.md"), 100), Err(ReadError::NotAFile)));
    fs::create_dir(tree.path("folder")).unwrap();
    assert!(matches!(root.read(&rel("folder"), 100), Err(ReadError::Folder)));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_accounted_for() {
    use std::os::unix::ffi::OsStrExt as _;
    let tree = Tree::new(&[]);
    let bad = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    fs::write(tree.root().join(bad), "x").unwrap();
    fs::write(tree.root().join("back\\slash.md"), "x").unwrap();
    fs::write(tree.root().join("C:drive.md"), "x").unwrap();
    let config = SourceConfig::new("notes", tree.root());
    let skip = |path: &str| (path.to_owned(), FoundState::Skip(SkipReason::BadName));
    assert_eq!(shown(&config), vec![skip("C:drive.md"), skip("back\\slash.md"), skip("caf\\xE9.md")]);
}

#[test]
fn a_file_larger_than_allowed_is_not_read() {
    let tree = Tree::new(&[("a.md", "12345")]);
    let config = SourceConfig::new("notes", tree.root());
    let root = open(&config);
    assert!(matches!(root.read(&rel("a.md"), 4), Err(ReadError::TooLarge { size: 5 })));
    assert_eq!(root.read(&rel("a.md"), 5).unwrap().bytes, b"12345");
    assert_eq!(root.size(&rel("a.md")).unwrap(), 5);
}

#[test]
fn a_missing_root_is_an_error() {
    let tree = Tree::new(&[]);
    let config = SourceConfig::new("notes", tree.beside("nothing"));
    assert!(SourceRoot::open(&config, Arc::new(AtomicU64::new(0))).is_err());
}

#[test]
fn what_rules_leave_out_is_told_with_the_rule() {
    let tree = Tree::new(&[
        ("a.md", ""),
        (".hidden.md", ""),
        (".git/config", ""),
        ("node_modules/x/y.md", ""),
        ("drafts/z.md", ""),
        ("private/p.md", ""),
        (".gitignore", "drafts/\n"),
    ]);
    let mut config = SourceConfig::new("notes", tree.root());
    config.exclude = vec!["private/".to_owned()];
    let told: Vec<_> =
        open(&config).left_out().unwrap().into_iter().map(|it| (it.path, it.is_folder, it.rule)).collect();
    let expected = [
        (".git", true, Rule::HiddenName),
        (".gitignore", false, Rule::HiddenName),
        (".hidden.md", false, Rule::HiddenName),
        ("drafts", true, Rule::IgnoreFile),
        ("node_modules", true, Rule::BuiltIn),
        ("private", true, Rule::Exclude),
    ]
    .map(|(path, is_folder, rule)| (path.to_owned(), is_folder, rule));
    assert_eq!(told, expected);
}
