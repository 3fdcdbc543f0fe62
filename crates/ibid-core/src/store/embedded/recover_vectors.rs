//! Catching up with vectors: rows that the files of a model lack are taken from the record.

use std::{fs, io, path::Path};

use ibid_api::{ChunkRef, ContentHash, DocumentId};
use roaring::RoaringTreemap;
use rusqlite::{Connection, Params, params};

use super::{
    embeddings, error,
    opened_vectors::{self, Vectors},
    pending::{Counted, PendingCache},
    read::State,
    recover::{Need, remove_directory},
    vectors::{RowKey, VectorError, VectorWriter},
};
use crate::store::{StoreError, StoreResult};

/// A model of the record, and what its files need.
#[derive(Debug)]
pub(super) struct ModelNeed {
    id: i64,
    name: String,
    need: Need,
    /// How many texts waited when the files were written.
    counted: Option<Counted>,
}

/// Looks at the files of every model as they are on disk; lists those that need something.
pub(super) fn needs(
    connection: &Connection,
    vectors: &Vectors,
    state: &State,
) -> StoreResult<Vec<ModelNeed>> {
    let mut select = connection.prepare_cached("SELECT id, name FROM models ORDER BY id")?;
    let models = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut needs = Vec::new();
    for model in models {
        let (id, name): (i64, String) = model?;
        let (need, counted) = need(connection, vectors, state, &name)?;
        if need != Need::Nothing {
            needs.push(ModelNeed { id, name, need, counted });
        }
    }
    Ok(needs)
}

fn need(
    connection: &Connection,
    vectors: &Vectors,
    state: &State,
    model: &str,
) -> StoreResult<(Need, Option<Counted>)> {
    let directory = vectors.directory(state.record, model);
    let Some(index) = opened_vectors::read(&directory, model) else { return Ok((Need::Rebuild, None)) };
    let generation = ibid_api::Generation(index.generation());
    // Files that are ahead were made from a record that has been replaced by an older copy of itself.
    if generation > state.generation || generation < state.pruned_generation {
        return Ok((Need::Rebuild, None));
    }
    let counted = index.waiting().map(|texts| Counted { generation, texts });
    // Vectors of any model count: files that keep up need not look through the others' again and again.
    let changed = generation < state.text_generation
        || connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM embeddings WHERE generation > ?1)")?
            .query_row([generation.0 as i64], |row| row.get(0))?;
    Ok(if changed { (Need::Changes(generation), counted) } else { (Need::Nothing, counted) })
}

/// Brings the files of these models to the state of the record that the connection sees.
pub(super) fn catch_up(
    connection: &Connection,
    vectors: &Vectors,
    pending: &PendingCache,
    state: &State,
    needs: &[ModelNeed],
) -> StoreResult<()> {
    for model in needs {
        let directory = vectors.directory(state.record, &model.name);
        let waiting = match model.need {
            // The whole list is read anyway.
            Need::Rebuild => Some(pending.count(connection, &model.name, None)?),
            _ => pending.count_without_scan(connection, &model.name, model.counted)?,
        };
        let work = Work { connection, directory: &directory, model, state, waiting };
        let caught_up = match model.need {
            Need::Nothing => continue,
            Need::Changes(since) => work.add_changes(since.0),
            Need::Rebuild => Err(Failure::Files),
        };
        match caught_up {
            Err(Failure::Files) => work.rebuild()?,
            Err(Failure::Store(error)) => return Err(error),
            Ok(()) => {}
        }
    }
    remove_strangers(connection, vectors, state)
}

/// Why the files of a model could not be brought up to date.
enum Failure {
    /// They are damaged; making them anew may help.
    Files,
    /// Nothing can be done here.
    Store(StoreError),
}

impl<E: Into<StoreError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl From<VectorError> for StoreError {
    fn from(problem: VectorError) -> Self {
        match problem {
            VectorError::Io(problem) => error::file(&problem),
            other => Self::Other(other.to_string()),
        }
    }
}

struct Work<'a> {
    connection: &'a Connection,
    directory: &'a Path,
    model: &'a ModelNeed,
    state: &'a State,
    waiting: Option<u64>,
}

impl Work<'_> {
    fn add_changes(&self, since: u64) -> Result<(), Failure> {
        let Some(dimensions) = dimensions(self.directory, &self.model.name) else {
            return Err(Failure::Files);
        };
        let mut writer = VectorWriter::open(self.directory, &self.model.name, dimensions)
            .map_err(|problem| broken(&problem))?;
        if writer.generation() != since {
            return Err(Failure::Files);
        }
        // What the files hold was forgotten, and the model makes others by now.
        if embeddings::length(self.connection, &self.model.name)?.is_some_and(|length| length != dimensions) {
            return Err(Failure::Files);
        }
        let since = since as i64;
        let mut changed = RoaringTreemap::new();
        let mut select = self.connection.prepare_cached(
            "SELECT id FROM documents WHERE generation > ?1
             UNION ALL SELECT document FROM removed WHERE generation > ?1",
        )?;
        for id in select.query_map([since], |row| row.get::<_, i64>(0))? {
            changed.insert(id? as u64);
        }
        if !changed.is_empty() {
            writer
                .remove_where(|key| changed.contains(key.chunk.document.0 as u64))
                .map_err(|problem| broken(&problem))?;
        }
        self.push(&mut writer, NEW_EMBEDDINGS, params![self.model.id, since])?;
        if !changed.is_empty() {
            self.push(&mut writer, NEW_DOCUMENTS, params![self.model.id, since])?;
        }
        Ok(self.commit(writer)?)
    }

    fn rebuild(&self) -> StoreResult<()> {
        let length: Option<i64> = self
            .connection
            .prepare_cached(
                "SELECT length(vector) FROM embeddings WHERE model = ?1 ORDER BY id DESC LIMIT 1",
            )?
            .query_map([self.model.id], |row| row.get(0))?
            .next()
            .transpose()?;
        // A model without vectors, or with vectors of no length, needs no files.
        let Some(dimensions) = length.map(|bytes| bytes as usize / 2).filter(|length| *length > 0) else {
            return remove_directory(self.directory);
        };
        let create = || VectorWriter::create(self.directory, &self.model.name, dimensions);
        let mut writer = match create() {
            // Something else is where the files should be.
            Err(VectorError::Io(problem)) if is_in_the_way(&problem) => {
                remove_directory(self.directory)?;
                create()?
            }
            // Vectors of this length fit no file; they are compared one by one.
            Err(VectorError::Unfit) => return remove_directory(self.directory),
            other => other?,
        };
        self.push(&mut writer, EVERYTHING, params![self.model.id])?;
        self.commit(writer)?;
        opened_vectors::forget_damage(self.directory).map_err(|problem| error::file(&problem))
    }

    /// Adds rows that a statement lists as document, index, hash and vector.
    fn push(&self, writer: &mut VectorWriter, sql: &str, values: impl Params) -> StoreResult<()> {
        let mut select = self.connection.prepare_cached(sql)?;
        let mut rows = select.query(values)?;
        while let Some(row) = rows.next()? {
            let chunk = ChunkRef { document: DocumentId(row.get(0)?), index: row.get(1)? };
            let key = RowKey { chunk, hash: ContentHash::from_bytes(row.get(2)?) };
            let bytes = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
            match writer.push(key, &embeddings::vector(bytes)?) {
                // What is no direction of this length is near to nothing.
                Ok(()) | Err(VectorError::Unfit) => {}
                Err(other) => return Err(other.into()),
            }
        }
        Ok(())
    }

    fn commit(&self, mut writer: VectorWriter) -> StoreResult<()> {
        writer.set_waiting(self.waiting);
        let committed = writer.commit(self.state.generation.0)?;
        tracing::debug!(rows = committed.rows, compacted = committed.compacted, "vectors are up to date");
        Ok(())
    }
}

const EVERYTHING: &str = "
    SELECT c.document, c.idx, c.hash, e.vector FROM embeddings e CROSS JOIN chunks c ON c.hash = e.hash
    WHERE e.model = ?1";
const NEW_EMBEDDINGS: &str = "
    SELECT c.document, c.idx, c.hash, e.vector FROM embeddings e CROSS JOIN chunks c ON c.hash = e.hash
    WHERE e.generation > ?2 AND e.model = ?1";
const NEW_DOCUMENTS: &str = "
    SELECT c.document, c.idx, c.hash, e.vector FROM documents d CROSS JOIN chunks c ON c.document = d.id
    CROSS JOIN embeddings e ON e.hash = c.hash AND e.model = ?1
    WHERE d.generation > ?2 AND e.generation <= ?2";

fn dimensions(directory: &Path, model: &str) -> Option<usize> {
    opened_vectors::read(directory, model).map(|index| index.dimensions())
}

/// Whatever is wrong with the files, the record is not; a full disk stays full.
fn broken(problem: &VectorError) -> Failure {
    match problem {
        VectorError::Io(problem) => match error::file(problem) {
            StoreError::Other(_) => Failure::Files,
            error => Failure::Store(error),
        },
        VectorError::Damaged(_) | VectorError::Unfit => Failure::Files,
    }
}

fn is_in_the_way(problem: &io::Error) -> bool {
    matches!(
        problem.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory
    )
}

/// Removes the files of models that the record does not know any more, and of other records.
fn remove_strangers(connection: &Connection, vectors: &Vectors, state: &State) -> StoreResult<()> {
    let mut select = connection.prepare_cached("SELECT name FROM models")?;
    let names = select.query_map([], |row| row.get::<_, String>(0))?;
    let known = names
        .map(|name| Ok(vectors.directory(state.record, &name?)))
        .collect::<Result<Vec<_>, rusqlite::Error>>()?;
    let Ok(entries) = fs::read_dir(vectors.root()) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        if !known.contains(&path) {
            remove_directory(&path)?;
        }
    }
    Ok(())
}
