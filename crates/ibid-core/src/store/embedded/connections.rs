//! Connections to the record: a pool for readers, one for the writer.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use super::lock::PATIENCE;
use crate::store::{StoreError, StoreResult};

/// Name of the record inside the data directory.
pub(super) const RECORD: &str = "record.sqlite";

/// More idle readers than this are closed.
const IDLE_READERS: usize = 8;
const CACHED_STATEMENTS: usize = 96;

/// `synchronous = FULL`: what was acknowledged survives the loss of power.
const PRAGMAS: &str = "PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA cache_size = -8000; \
                       PRAGMA temp_store = MEMORY;";

/// How the record may be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read and write.
    Write,
    /// Read, beside writers.
    Read,
    /// Read from a place where nothing can be written, not even by SQLite for its own purposes.
    Frozen,
}

/// All connections of one store.
#[derive(Debug)]
pub(super) struct Connections {
    file: PathBuf,
    access: Access,
    idle: Mutex<Vec<Connection>>,
    writer: Mutex<Option<Connection>>,
}

impl Connections {
    /// Opens the first connection. The file exists, or may be created when `access` allows writing. Where
    /// nothing can be written, reading still works.
    pub(super) fn open(directory: &Path, access: Access) -> StoreResult<(Self, Connection)> {
        let file = directory.join(RECORD);
        let (access, connection) = open_as_far_as_possible(&file, access)?;
        let connections = Self { file, access, idle: Mutex::new(Vec::new()), writer: Mutex::new(None) };
        Ok((connections, connection))
    }

    /// Whether anything may be written.
    pub(super) fn may_write(&self) -> bool {
        self.access == Access::Write
    }

    /// Runs a read on a connection of its own.
    pub(super) fn read<T>(&self, work: impl FnOnce(&Connection) -> StoreResult<T>) -> StoreResult<T> {
        let pooled = self.idle().pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => connect(&self.file, self.access)?,
        };
        let result = work(&connection);
        self.give_back(connection);
        result
    }

    /// Runs several reads that see one state.
    pub(super) fn snapshot<T>(&self, work: impl FnOnce(&Connection) -> StoreResult<T>) -> StoreResult<T> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let result = work(&transaction);
            transaction.rollback()?;
            result
        })
    }

    /// Runs a write, all or nothing.
    pub(super) fn write<T>(&self, work: impl FnOnce(&Transaction<'_>) -> StoreResult<T>) -> StoreResult<T> {
        if !self.may_write() {
            return Err(StoreError::ReadOnly);
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match writer.as_mut() {
            Some(connection) => connection,
            None => writer.insert(connect(&self.file, Access::Write)?),
        };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    }

    /// Takes a connection back into the pool.
    pub(super) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < IDLE_READERS {
            idle.push(connection);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open_as_far_as_possible(file: &Path, access: Access) -> StoreResult<(Access, Connection)> {
    match (connect(file, access), access) {
        (Err(StoreError::ReadOnly), Access::Write) => open_as_far_as_possible(file, Access::Read),
        (Err(StoreError::ReadOnly), Access::Read) if !has_pending_log(file) => {
            Ok((Access::Frozen, connect(file, Access::Frozen)?))
        }
        (result, _) => Ok((access, result?)),
    }
}

fn connect(file: &Path, access: Access) -> StoreResult<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match access {
        Access::Write => Connection::open_with_flags(
            file,
            flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        )?,
        Access::Read => Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        Access::Frozen => Connection::open_with_flags(
            frozen_uri(file)?,
            flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        )?,
    };
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    connection.execute_batch(PRAGMAS)?;
    // The first read finds out whether the file is what it should be.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Whether there are writes that are not in the main file yet; without them it can be read on its own.
fn has_pending_log(file: &Path) -> bool {
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).is_ok_and(|metadata| metadata.len() > 0)
}

fn frozen_uri(file: &Path) -> StoreResult<String> {
    let path = file.to_str().ok_or(StoreError::ReadOnly)?;
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Ok(format!("file:{path}?immutable=1"))
}
