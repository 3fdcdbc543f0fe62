//! Each status word and each state of the file.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::*;
use crate::{Call, ToolTable};

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("kb.txt")
    }

    fn with(content: impl AsRef<[u8]>) -> Self {
        let folder = Self::new();
        fs::write(folder.file(), content).unwrap();
        folder
    }

    fn toolset(&self) -> Toolset {
        toolset(TextConfig::new(Some(self.file())))
    }
}

async fn call(toolset: &Toolset, name: &str) -> Value {
    let table = ToolTable::new([toolset.clone()]).unwrap();
    table.get(name).unwrap().call(crate::JsonObject::new(), Call::detached()).await.unwrap()
}

#[track_caller]
fn no_path(reply: &Value, path: &Path) {
    assert!(!reply.to_string().contains(&*path.to_string_lossy()), "{reply}");
}

#[tokio::test]
async fn scenario_1_info_of_a_readable_file() {
    let folder = Folder::with("Größe\n");
    let reply = call(&folder.toolset(), "get_kb_info").await;
    let modified = reply["info"]["lastModified"].as_str().unwrap();
    assert!(modified.parse::<Timestamp>().unwrap() > Timestamp::UNIX_EPOCH);
    assert_eq!(
        reply,
        json!({
            "status": "available",
            "info": {
                "fileSizeBytes": 8,
                "contentLength": 6,
                "isAvailable": true,
                "description": "Azure Managed Grafana knowledge base",
                "lastModified": modified,
            },
        })
    );
}

#[tokio::test]
async fn scenario_2_content_of_a_readable_file() {
    let folder = Folder::with("Größe\n");
    let reply = call(&folder.toolset(), "get_kb_content").await;
    assert_eq!(reply, json!({"status": "ok", "contentLength": 6, "content": "Größe\n"}));
}

#[tokio::test]
async fn scenario_3_content_of_an_empty_file() {
    let folder = Folder::with("");
    let toolset = folder.toolset();
    let reply = call(&toolset, "get_kb_content").await;
    assert_eq!(reply, json!({"status": "empty", "contentLength": 0, "content": ""}));
    assert_eq!(call(&toolset, "get_kb_info").await["status"], "available");
}

#[tokio::test]
async fn scenario_4_info_of_a_missing_file() {
    let folder = Folder::new();
    let reply = call(&folder.toolset(), "get_kb_info").await;
    assert_eq!(
        reply,
        json!({
            "status": "unavailable",
            "info": {
                "fileSizeBytes": 0,
                "contentLength": 0,
                "isAvailable": false,
                "description": "Azure Managed Grafana knowledge base",
                "lastModified": "0001-01-01T00:00:00Z",
            },
            "error": "knowledge base unavailable: the configured file does not exist",
        })
    );
    no_path(&reply, folder.folder.path());
}

#[tokio::test]
async fn scenario_5_content_after_a_read_error_and_once_it_healed() {
    let folder = Folder::new();
    fs::create_dir(folder.file()).unwrap();
    let toolset = folder.toolset();
    let reply = call(&toolset, "get_kb_content").await;
    assert_eq!(reply["status"], "error");
    assert_eq!(reply["error"], "knowledge base unavailable: the configured path is not a regular file");
    no_path(&reply, folder.folder.path());

    fs::remove_dir(folder.file()).unwrap();
    fs::write(folder.file(), "healed").unwrap();
    assert_eq!(call(&toolset, "get_kb_content").await["content"], "healed");
}

#[tokio::test]
async fn edge_no_file_configured() {
    let toolset = toolset(TextConfig::new(None));
    assert_eq!(call(&toolset, "get_kb_info").await["status"], "unavailable");
    let reply = call(&toolset, "get_kb_content").await;
    assert_eq!(reply["status"], "error");
    assert!(reply["error"].as_str().unwrap().contains("--kb-file"));
}

#[tokio::test]
async fn edge_zero_length_file_with_only_a_byte_order_mark() {
    let folder = Folder::with("\u{feff}");
    let toolset = folder.toolset();
    assert_eq!(call(&toolset, "get_kb_content").await["status"], "empty");
    assert_eq!(call(&toolset, "get_kb_info").await["info"]["fileSizeBytes"], 3);
}

#[cfg(unix)]
#[tokio::test]
async fn edge_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::with("secret");
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o000)).unwrap();
    // Whoever may read everything cannot see this case.
    if fs::read(folder.file()).is_ok() {
        return;
    }
    let reply = call(&folder.toolset(), "get_kb_content").await;
    assert_eq!(reply["status"], "error");
    fs::set_permissions(folder.file(), fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(call(&folder.toolset(), "get_kb_content").await["content"], "secret");
}

#[tokio::test]
async fn edge_large_files_are_returned_whole() {
    for size in [10 * 1024 * 1024, 12 * 1024 * 1024] {
        let folder = Folder::with("x".repeat(size));
        let reply = call(&folder.toolset(), "get_kb_content").await;
        assert_eq!(reply["contentLength"], size);
        assert_eq!(reply["content"].as_str().unwrap().len(), size);
    }
}

#[tokio::test]
async fn edge_text_that_is_not_utf8() {
    let folder = Folder::with(b"caf\xe9");
    let toolset = folder.toolset();
    let reply = call(&toolset, "get_kb_content").await;
    assert_eq!(
        reply,
        json!({
            "status": "error",
            "error": "knowledge base unavailable: the file is not UTF-8 text; convert it",
        })
    );
    assert_eq!(call(&toolset, "get_kb_info").await["status"], "unavailable");
}

#[tokio::test]
async fn the_text_stays_as_it_was_until_restart() {
    let folder = Folder::with("\u{feff}before");
    let toolset = folder.toolset();
    fs::write(folder.file(), "after").unwrap();
    assert_eq!(call(&toolset, "get_kb_content").await["content"], "before");
    fs::remove_file(folder.file()).unwrap();
    assert_eq!(call(&toolset, "get_kb_info").await["status"], "available");
}

#[tokio::test]
async fn the_description_can_be_configured() {
    let folder = Folder::with("a");
    let config = TextConfig { description: "House rules".to_owned(), ..TextConfig::new(Some(folder.file())) };
    assert_eq!(call(&toolset(config), "get_kb_info").await["info"]["description"], "House rules");
}

#[tokio::test]
async fn arguments_are_refused_by_name() {
    let folder = Folder::with("a");
    let table = ToolTable::new([folder.toolset()]).unwrap();
    let arguments = json!({"query": "x"}).as_object().cloned().unwrap();
    let failure = table.get("get_kb_info").unwrap().call(arguments, Call::detached()).await.unwrap_err();
    assert_eq!(failure.error.message, "`query` is not an argument; there are none to give");
}

#[test]
fn the_tool_names_are_exactly_those_of_the_contract() {
    let table = ToolTable::new([toolset(TextConfig::new(None))]).unwrap();
    let names: Vec<_> = table.tools().map(|tool| tool.spec.name).collect();
    assert_eq!(names, ["get_kb_content", "get_kb_info"]);
}
