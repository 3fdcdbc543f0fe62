//! Disks that are full or may not be written.

use std::{fs, path::PathBuf, process::Command};

use ibid_api::{ErrorCode, IndexScope};
use ibid_core::{LocalEngine, ingest::Silent};

use crate::{
    knowledge::{config, documents, find, request, update},
    tree::Tree,
};

/// A small disk of its own, where the system lets us have one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn new(tree: &Tree, megabytes: u32) -> Option<Self> {
        let at = tree.beside("disk");
        fs::create_dir(&at).unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            Some(Self(at))
        } else {
            eprintln!("skipped: no disk can be mounted here");
            None
        }
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        assert!(Command::new("mount").args(["-o", &options]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_an_error_and_damages_nothing() {
    let tree = Tree::new(&[("first.md", "apple")]);
    let Some(disk) = SmallDisk::new(&tree, 4) else { return };
    let mut config = config(&tree);
    config.data_dir = disk.0.join("index");
    let engine = LocalEngine::open(config.clone()).unwrap();
    update(&engine);
    for index in 0..200 {
        let text: String = (0..3_000).map(|word| format!("w{} ", word * 7919 % (300 + index))).collect();
        tree.write(&format!("big/b{index:03}.md"), &text);
    }
    let error = engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::StorageUnavailable, "{error:?}");
    assert_eq!(find(&engine, "apple"), ["first.md"], "what was there is there");

    // In another process, and once there is room, it goes on.
    let engine = LocalEngine::open(config).unwrap();
    assert_eq!(find(&engine, "apple"), ["first.md"]);
    disk.remount("size=256m");
    let reply = update(&engine);
    assert_eq!((reply.documents, documents(&engine).len()), (201, 201));
    assert_eq!(find(&engine, "apple"), ["first.md"]);
    drop(engine);
}

#[test]
fn an_index_on_a_disk_that_may_not_be_written_can_be_read() {
    let tree = Tree::new(&[("first.md", "apple")]);
    let Some(disk) = SmallDisk::new(&tree, 32) else { return };
    let mut config = config(&tree);
    config.data_dir = disk.0.join("index");
    {
        let engine = LocalEngine::open(config.clone()).unwrap();
        update(&engine);
    }
    disk.remount("ro");
    let engine = LocalEngine::open(config.clone()).unwrap();
    assert_eq!(find(&engine, "apple"), ["first.md"]);
    tree.write("second.md", "banana");
    let error = engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::StorageUnavailable, "{error:?}");
    assert_eq!(find(&engine, "apple"), ["first.md"]);

    // There is none, and none can be made.
    config.data_dir = disk.0.join("other");
    let engine = LocalEngine::open(config).unwrap();
    let error = engine.index_blocking(&request(IndexScope::Changes), &Silent).unwrap_err();
    assert_eq!(error.code, ErrorCode::StorageUnavailable, "{error:?}");
}
