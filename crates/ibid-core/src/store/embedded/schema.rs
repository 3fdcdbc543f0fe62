//! The schema of the record, its version, and the way from older versions to this one.

use std::{fs, path::Path};

use rusqlite::{Connection, TransactionBehavior};

use super::{OpenOptions, error};
use crate::store::{StoreError, StoreResult};

/// Each entry leads from the version that is its index to the next one. Entries are never changed once
/// released; a new version is a new entry.
const MIGRATIONS: &[&str] = &[VERSION_1];

/// Marks the file as a record of this program.
const APPLICATION: i32 = i32::from_be_bytes(*b"ibid");

const VERSION_1: &str = "
CREATE TABLE state (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    -- Tells this record from every other one, so that a derived index knows whose it is.
    record BLOB NOT NULL,
    -- The last write, and the last one that changed what is searched by words.
    generation INTEGER NOT NULL,
    text_generation INTEGER NOT NULL,
    -- What was removed up to here is no longer listed in `removed`.
    pruned_generation INTEGER NOT NULL,
    written_ms INTEGER,
    swept_ms INTEGER
);
INSERT INTO state VALUES (1, randomblob(16), 0, 0, 0, NULL, NULL);

CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- How far each derived index has come.
CREATE TABLE derived (name TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE files (
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    hash BLOB,
    -- 0 indexed, 1 skipped, 2 failed; the whole outcome is beside it.
    state INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    PRIMARY KEY (source, path)
) WITHOUT ROWID;

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    path TEXT NOT NULL,
    note_id BLOB NOT NULL,
    title TEXT NOT NULL,
    kind TEXT NOT NULL,
    language TEXT,
    size INTEGER NOT NULL,
    modified_ms INTEGER NOT NULL,
    chunk_count INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    generation INTEGER NOT NULL,
    -- Identity of the bytes, and of everything made from them.
    hash BLOB,
    digest BLOB NOT NULL,
    -- Folded title, path, aliases and tags, for finding by a part of the name.
    lookup TEXT NOT NULL,
    headings TEXT NOT NULL,
    fields TEXT NOT NULL,
    attachments TEXT NOT NULL,
    UNIQUE (source, path)
);
CREATE INDEX documents_by_note ON documents (note_id);
CREATE INDEX documents_by_path ON documents (path);
CREATE INDEX documents_by_generation ON documents (generation);

CREATE TABLE removed (document INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
CREATE INDEX removed_by_generation ON removed (generation);

-- Stem, title and aliases.
CREATE TABLE names (
    name TEXT NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    folded TEXT NOT NULL,
    PRIMARY KEY (name, document)
) WITHOUT ROWID;
CREATE INDEX names_by_document ON names (document);
CREATE INDEX names_by_folded ON names (folded);

-- Folded, with the tags above them.
CREATE TABLE tags (
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (document, tag)
) WITHOUT ROWID;
CREATE INDEX tags_by_tag ON tags (tag);

CREATE TABLE chunks (
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    idx INTEGER NOT NULL,
    hash BLOB NOT NULL,
    byte_start INTEGER NOT NULL,
    byte_end INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    anchor TEXT,
    heading_path TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (document, idx)
);
CREATE INDEX chunks_by_hash ON chunks (hash);

CREATE TABLE links (
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    ord INTEGER NOT NULL,
    name TEXT NOT NULL,
    fragment TEXT,
    label TEXT,
    embed INTEGER NOT NULL,
    wiki INTEGER NOT NULL,
    line INTEGER NOT NULL,
    chunk INTEGER,
    -- What the link shares with the documents it may lead to.
    name_key TEXT NOT NULL,
    label_key TEXT,
    PRIMARY KEY (document, ord)
) WITHOUT ROWID;
CREATE INDEX links_by_name ON links (name_key);
CREATE INDEX links_by_label ON links (label_key) WHERE label_key IS NOT NULL;

CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    model INTEGER NOT NULL REFERENCES models (id),
    generation INTEGER NOT NULL,
    -- Since when no chunk has this text.
    unused_since_ms INTEGER,
    -- Half-precision numbers, little-endian.
    vector BLOB NOT NULL,
    UNIQUE (hash, model)
);
CREATE INDEX embeddings_by_generation ON embeddings (generation);
CREATE INDEX embeddings_unused ON embeddings (unused_since_ms) WHERE unused_since_ms IS NOT NULL;
";

/// Makes the record ready: creates it, brings it up to date, or says why it cannot be used.
pub(super) fn prepare(
    connection: &mut Connection,
    directory: &Path,
    options: OpenOptions,
) -> StoreResult<()> {
    bring_up(connection, directory, options, MIGRATIONS)
}

fn bring_up(
    connection: &mut Connection,
    directory: &Path,
    options: OpenOptions,
    migrations: &[&str],
) -> StoreResult<()> {
    let found = version(connection)?;
    let known = migrations.len() as u32;
    if found == known {
        return Ok(());
    }
    if found > known {
        return Err(StoreError::TooNew { found, known });
    }
    if found == 0 {
        if has_tables(connection)? {
            return Err(error::corrupt("the file is a database of another program"));
        }
        if !options.create {
            return Err(StoreError::Missing);
        }
    }
    if options.read_only {
        return Err(StoreError::ReadOnly);
    }
    if found == 0 {
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    } else {
        back_up(connection, directory, found)?;
    }
    migrate(connection, migrations)
}

fn migrate(connection: &mut Connection, migrations: &[&str]) -> StoreResult<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have been first.
    let found = version(&transaction)?;
    for step in migrations.iter().skip(found as usize) {
        transaction.execute_batch(step)?;
    }
    if (found as usize) < migrations.len() {
        transaction.pragma_update(None, "user_version", migrations.len() as u32)?;
        transaction.pragma_update(None, "application_id", APPLICATION)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Keeps a copy of the record as it was before the migration.
fn back_up(connection: &Connection, directory: &Path, found: u32) -> StoreResult<()> {
    let copy = directory.join(format!("record.v{found}.backup"));
    let unfinished = directory.join(format!("record.v{found}.backup.part"));
    match fs::remove_file(&unfinished) {
        Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => return Err(error::file(&problem)),
        _ => {}
    }
    let target = unfinished.to_str().ok_or_else(|| {
        StoreError::Other("the data directory has a name that is not Unicode; rename it to migrate".into())
    })?;
    connection.execute("VACUUM INTO ?1", [target])?;
    fs::rename(&unfinished, &copy).map_err(|problem| error::file(&problem))
}

fn version(connection: &Connection) -> StoreResult<u32> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

fn has_tables(connection: &Connection) -> StoreResult<bool> {
    Ok(connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITE: OpenOptions = OpenOptions { create: true, read_only: false };
    const NEXT: &[&str] = &[VERSION_1, "ALTER TABLE state ADD COLUMN next TEXT"];
    const BROKEN: &[&str] = &[VERSION_1, "ALTER TABLE state ADD COLUMN next TEXT; SELECT no_such_column"];

    #[test]
    fn an_older_record_is_backed_up_and_migrated() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(directory.path().join("record.sqlite")).unwrap();
        bring_up(&mut connection, directory.path(), WRITE, MIGRATIONS).unwrap();
        connection.execute("INSERT INTO settings VALUES ('kept', 'yes')", []).unwrap();

        bring_up(&mut connection, directory.path(), WRITE, NEXT).unwrap();
        assert_eq!(version(&connection).unwrap(), 2);
        let kept: String = connection.query_row("SELECT value FROM settings", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "yes");

        let copy = Connection::open(directory.path().join("record.v1.backup")).unwrap();
        assert_eq!(version(&copy).unwrap(), 1);
        let kept: String = copy.query_row("SELECT value FROM settings", [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "yes");
    }

    #[test]
    fn a_migration_that_fails_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(directory.path().join("record.sqlite")).unwrap();
        bring_up(&mut connection, directory.path(), WRITE, MIGRATIONS).unwrap();
        assert!(bring_up(&mut connection, directory.path(), WRITE, BROKEN).is_err());
        assert_eq!(version(&connection).unwrap(), 1);
        assert!(connection.prepare("SELECT next FROM state").is_err());
    }

    #[test]
    fn a_record_that_may_not_be_written_is_not_migrated() {
        let directory = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(directory.path().join("record.sqlite")).unwrap();
        bring_up(&mut connection, directory.path(), WRITE, MIGRATIONS).unwrap();
        let options = OpenOptions { create: false, read_only: true };
        let outcome = bring_up(&mut connection, directory.path(), options, NEXT);
        assert!(matches!(outcome, Err(StoreError::ReadOnly)), "{outcome:?}");
    }
}
