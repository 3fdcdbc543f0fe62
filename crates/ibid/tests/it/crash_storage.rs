//! The place of the data fails: damaged derived files, a full disk, no right to write.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use ibid_core::eval::{Corpus, Shape};

use crate::sandbox::{Ran, Sandbox};

fn filled(files: usize) -> Sandbox {
    let sandbox = Sandbox::new();
    Corpus::new(11, files, Shape::Notes).write(sandbox.root()).expect("a tree");
    sandbox.write("first.md", "# First\n\nquillonberry\n");
    sandbox
}

/// Every regular file below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn is_sqlite(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3\0"))
        || path.to_string_lossy().ends_with("-wal")
        || path.to_string_lossy().ends_with("-shm")
}

#[test]
fn damaged_derived_files_are_made_anew_from_the_record() {
    let check = |damage: fn(&Path)| {
        let sandbox = filled(60);
        sandbox.index();
        let derived: Vec<_> = files(sandbox.data()).into_iter().filter(|path| !is_sqlite(path)).collect();
        assert!(derived.len() > 3, "{derived:?}");
        for path in &derived {
            damage(path);
        }
        let ran = sandbox.run(&["search", "--json", "quillonberry"]);
        assert!(ran.is_orderly(), "{ran:?}");
        sandbox.index();
        assert_eq!(sandbox.found("quillonberry"), ["first.md"]);
    };
    check(|path| fs::write(path, b"").expect("a file is emptied"));
    check(|path| fs::write(path, b"not what it was").expect("a file is overwritten"));
    check(|path| fs::remove_file(path).expect("a file is removed"));
    check(|path| {
        let mut bytes = fs::read(path).expect("a file");
        let middle = bytes.len() / 2;
        bytes.iter_mut().skip(middle).take(16).for_each(|byte| *byte ^= 0xff);
        fs::write(path, bytes).expect("a file is changed");
    });
}

#[test]
fn a_damaged_record_is_reported_and_left_alone() {
    let sandbox = filled(20);
    sandbox.index();
    let record = files(sandbox.data()).into_iter().find(|path| is_sqlite(path)).expect("a record");
    let mut bytes = fs::read(&record).expect("the record");
    bytes.iter_mut().skip(100).step_by(7).for_each(|byte| *byte = 0x5a);
    fs::write(&record, &bytes).expect("the record is damaged");
    for arguments in [["search", "quillonberry"], ["index", "--json"]] {
        let ran = sandbox.run(&arguments);
        assert!(ran.is_orderly() && ran.code != Some(0), "{ran:?}");
        assert!(ran.stderr.contains("damaged"), "{ran:?}");
    }
}

/// A small disk of its own, gone with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` where the user may not mount.
    fn mount(place: PathBuf, megabytes: usize) -> Option<Self> {
        fs::create_dir_all(&place).ok()?;
        let size = format!("size={megabytes}m");
        let status = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&place).output();
        status.ok()?.status.success().then_some(Self(place))
    }

    fn remount(&self, option: &str) {
        let option = format!("remount,{option}");
        let output = Command::new("mount").args(["-o", &option]).arg(&self.0).output().expect("mount starts");
        assert!(output.status.success(), "{output:?}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).output();
    }
}

fn small_disk(sandbox: &Sandbox, megabytes: usize) -> Option<SmallDisk> {
    let disk = SmallDisk::mount(sandbox.beside("disk"), megabytes);
    if disk.is_none() {
        eprintln!("skipped: this user may not mount a small disk (run as root to include this test)");
    }
    disk
}

fn is_clear_refusal(ran: &Ran, says: &str) -> bool {
    ran.is_orderly() && ran.code == Some(1) && ran.stderr.contains(says)
}

#[test]
fn a_full_disk_is_a_clear_error_and_damages_nothing() {
    let sandbox = Sandbox::new();
    let Some(disk) = small_disk(&sandbox, 12) else { return };
    let sandbox = sandbox.with_data(disk.0.join("data"));
    sandbox.write("first.md", "# First\n\nquillonberry\n");
    sandbox.index();

    Corpus::new(12, 2_500, Shape::Pages).write(&sandbox.root().join("much")).expect("a tree");
    let ran = sandbox.run(&["index", "--json"]);
    assert!(is_clear_refusal(&ran, "full"), "{ran:?}");
    // Whoever reads is not concerned.
    assert!(sandbox.found("quillonberry").contains(&"first.md".to_owned()));
    let ran = sandbox.run(&["index", "--json"]);
    assert!(is_clear_refusal(&ran, "full"), "{ran:?}");

    disk.remount("size=400m");
    let reply = sandbox.index();
    assert_eq!(reply["documents"].as_u64(), Some(2_501), "{reply}");
    assert!(sandbox.found("quillonberry").contains(&"first.md".to_owned()));
}

#[test]
fn a_read_only_data_directory_is_a_clear_error_for_writers_only() {
    let sandbox = Sandbox::new();
    let Some(disk) = small_disk(&sandbox, 32) else { return };
    let sandbox = sandbox.with_data(disk.0.join("data"));
    sandbox.write("first.md", "# First\n\nquillonberry\n");
    sandbox.index();

    disk.remount("ro");
    assert_eq!(sandbox.found("quillonberry"), ["first.md"]);
    sandbox.write("second.md", "# Second\n\nmarrowquince\n");
    let ran = sandbox.run(&["index", "--json"]);
    assert!(is_clear_refusal(&ran, "cannot be written"), "{ran:?}");
    assert_eq!(sandbox.found("quillonberry"), ["first.md"]);

    disk.remount("rw");
    sandbox.index();
    assert_eq!(sandbox.found("marrowquince"), ["second.md"]);
}

#[test]
fn a_first_index_into_a_read_only_place_is_a_clear_error() {
    let sandbox = Sandbox::new();
    let Some(disk) = small_disk(&sandbox, 4) else { return };
    disk.remount("ro");
    let sandbox = sandbox.with_data(disk.0.join("data"));
    sandbox.write("first.md", "# First\n\nquillonberry\n");
    for arguments in [["index", "--json"], ["search", "quillonberry"]] {
        let ran = sandbox.run(&arguments);
        assert!(is_clear_refusal(&ran, "cannot be written"), "{ran:?}");
    }
}
