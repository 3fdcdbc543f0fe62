//! The embedded store: SQLite is the record, everything else is derived from it.
//!
//! A write is one SQLite transaction. `settle` brings the derived lexical index and vector files up to date
//! under a lock that lives as long as the work. Readers take no lock: they see the last committed state of
//! each. When the lexical index lags behind the record they say so; what vector files lack they take from the
//! record.

mod connections;
mod embeddings;
mod error;
mod files;
mod filter;
mod halves;
mod lexical;
mod links;
mod lock;
mod names;
mod nearest;
mod opened_vectors;
mod pending;
mod read;
mod recover;
mod recover_vectors;
mod schema;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vector_tests;
mod vectors;
mod write;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ibid_api::{
    ChunkRef, ContentHash, DocumentFilter, DocumentId, DocumentKey, DocumentSummary, FileReport, Generation,
    Page, Paging,
};
use roaring::RoaringTreemap;
use rusqlite::Connection;

use self::{
    connections::{Access, Connections, RECORD},
    filter::FilterCache,
    lexical::{Lexical, Origin},
    lock::WriteLock,
    opened_vectors::Vectors,
    pending::PendingCache,
    read::State,
    recover::Need,
};
use super::{
    Applied, Candidates, LexicalQuery, Pending, Store, StoreError, StoreResult, StoreSummary, StoredChunk,
    StoredDocument, StoredFile, StoredLink, VectorQuery, WriteBatch,
};
use crate::private;

pub use lexical::Weights;

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// Make it if there is none.
    pub create: bool,
    /// Write nothing at all.
    pub read_only: bool,
}

/// A knowledge base in a directory.
#[derive(Debug)]
pub struct EmbeddedStore {
    directory: PathBuf,
    connections: Connections,
    lexical: Lexical,
    vectors: Vectors,
    weights: Weights,
    filters: FilterCache,
    pending: PendingCache,
}

impl EmbeddedStore {
    /// Opens the store in a directory. Nothing is read or built beyond what tells that it can be used.
    pub fn open(directory: &Path, options: OpenOptions) -> StoreResult<Self> {
        let may_create = options.create && !options.read_only;
        if !directory.join(RECORD).exists() {
            if !may_create {
                return Err(StoreError::Missing);
            }
            private::create_folder(directory).map_err(|problem| error::file(&problem))?;
        }
        let access = if options.read_only { Access::Read } else { Access::Write };
        let (connections, mut connection) = Connections::open(directory, access)?;
        let options = OpenOptions { create: may_create, read_only: !connections.may_write() };
        schema::prepare(&mut connection, directory, options)?;
        connections.give_back(connection);
        Ok(Self {
            directory: directory.to_owned(),
            connections,
            lexical: Lexical::new(directory.join(lexical::DIRECTORY)),
            vectors: Vectors::new(directory.join(opened_vectors::DIRECTORY)),
            weights: Weights::default(),
            filters: FilterCache::default(),
            pending: PendingCache::default(),
        })
    }

    /// Ranks with other weights than the usual ones.
    pub fn with_weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }

    /// The documents that pass a filter, or `None` when all do.
    fn passing(
        &self,
        connection: &Connection,
        state: &State,
        filter: &ibid_api::Filter,
    ) -> StoreResult<Option<Arc<RoaringTreemap>>> {
        self.filters.documents(connection, state.text_generation, filter)
    }

    /// What the lexical index includes: everything if it lacks nothing.
    fn searchable(&self, state: &State) -> Generation {
        match self.lexical.at(origin(state)) {
            Some(loaded) if loaded.origin.generation >= state.text_generation => state.generation,
            Some(loaded) => loaded.origin.generation,
            None => Generation::default(),
        }
    }

    /// The last write that any reader from now on is told it sees, whatever others write in the meantime.
    fn included(&self, state: &State) -> Generation {
        self.lexical.at(origin(state)).map_or(state.text_generation, |loaded| loaded.origin.generation)
    }

    fn run_lexical(&self, connection: &Connection, query: &LexicalQuery) -> StoreResult<Candidates> {
        let state = read::state(connection)?;
        let nothing = Candidates { behind: state.text_generation.0 > 0, ..Candidates::default() };
        let Some(loaded) = self.lexical.at(origin(&state)) else { return Ok(nothing) };
        // Everything but globs is a field of the index; globs are over the paths of the record.
        let documents = if query.filter.paths.is_empty() {
            None
        } else {
            self.passing(connection, &state, &query.filter)?
        };
        // Leaving a document out after ranking costs less than asking the index to leave it out.
        let left_out = match query.without_document {
            Some(document) => read::summaries(connection, &[document])?
                .first()
                .map_or(0, |summary| summary.chunk_count.max(1) as usize),
            None => 0,
        };
        let found = lexical::undisturbed(|| {
            lexical::search(&loaded, query, documents.as_ref(), left_out, &self.weights)
        });
        let Some(Ok(list)) = found else {
            self.lexical.found_damaged();
            return Ok(nothing);
        };
        let behind = loaded.origin.generation < state.text_generation;
        let generation = if behind { loaded.origin.generation } else { state.generation };
        Ok(Candidates { list, generation, behind })
    }
}

fn origin(state: &State) -> Origin {
    Origin { record: state.record, generation: state.text_generation }
}

impl Store for EmbeddedStore {
    fn apply(&self, batch: WriteBatch) -> StoreResult<Applied> {
        self.connections.write(|transaction| write::apply(transaction, &batch))
    }

    fn settle(&self) -> StoreResult<Generation> {
        let (state, behind, tidy) = self.connections.read(|connection| {
            let state = read::state(connection)?;
            let tidy = recover::pruning_is_due(connection)? || embeddings::sweep_is_due(connection)?;
            // Vector files that cannot be written are no reason to fail: answers are right without them.
            let behind = self.connections.may_write()
                && !recover_vectors::needs(connection, &self.vectors, &state)?.is_empty();
            Ok((state, behind, tidy))
        })?;
        if recover::need(&self.lexical, &state) == Need::Nothing && !behind && !tidy {
            return Ok(self.included(&state));
        }
        if !self.connections.may_write() {
            return Err(StoreError::ReadOnly);
        }
        let _lock = WriteLock::acquire(&self.directory, lock::PATIENCE)?;
        let state = self.connections.snapshot(|connection| {
            // Another process may have done it while this one waited.
            let state = read::state(connection)?;
            let need = recover::need(&self.lexical, &state);
            if need != Need::Nothing {
                recover::catch_up(connection, &self.directory, &self.lexical, need, &state)?;
            }
            let needs = recover_vectors::needs(connection, &self.vectors, &state)?;
            if !needs.is_empty() {
                recover_vectors::catch_up(connection, &self.vectors, &self.pending, &state, &needs)?;
            }
            Ok(state)
        })?;
        if tidy {
            self.connections.write(|transaction| {
                if recover::pruning_is_due(transaction)? {
                    recover::prune_removals(transaction, state.text_generation)?;
                }
                if embeddings::sweep_is_due(transaction)? {
                    embeddings::sweep(transaction, write::now_ms())?;
                }
                Ok(())
            })?;
        }
        Ok(self.included(&state))
    }

    fn generation(&self) -> StoreResult<Generation> {
        self.connections.read(|connection| Ok(read::state(connection)?.generation))
    }

    fn summary(&self) -> StoreResult<StoreSummary> {
        self.connections.snapshot(|connection| {
            let searchable = self.searchable(&read::state(connection)?);
            files::summary(connection, &self.directory, searchable)
        })
    }

    fn setting(&self, name: &str) -> StoreResult<Option<String>> {
        self.connections.read(|connection| read::setting(connection, name))
    }

    fn stored_files(&self, source: &str) -> StoreResult<Vec<StoredFile>> {
        self.connections.read(|connection| files::stored_files(connection, source))
    }

    fn stored_files_below(&self, source: &str, path: &str) -> StoreResult<Vec<StoredFile>> {
        self.connections.read(|connection| files::stored_files_below(connection, source, path))
    }

    fn file_reports(&self, paging: Paging) -> StoreResult<Page<FileReport>> {
        self.connections.snapshot(|connection| files::reports(connection, paging))
    }

    fn document(&self, key: &DocumentKey) -> StoreResult<Option<StoredDocument>> {
        self.connections.read(|connection| read::document(connection, key))
    }

    fn summaries(&self, ids: &[DocumentId]) -> StoreResult<Vec<DocumentSummary>> {
        self.connections.snapshot(|connection| read::summaries(connection, ids))
    }

    fn documents(&self, filter: &DocumentFilter, paging: Paging) -> StoreResult<Page<DocumentSummary>> {
        self.connections.snapshot(|connection| read::documents(connection, filter, paging))
    }

    fn chunks(&self, refs: &[ChunkRef]) -> StoreResult<Vec<StoredChunk>> {
        self.connections.snapshot(|connection| read::chunks(connection, refs))
    }

    fn chunks_of(&self, document: DocumentId) -> StoreResult<Vec<StoredChunk>> {
        self.connections.read(|connection| read::chunks_of(connection, document))
    }

    fn named(&self, name: &str) -> StoreResult<Vec<DocumentSummary>> {
        self.connections.snapshot(|connection| read::named(connection, name))
    }

    fn called(&self, names: &[&str], most: usize) -> StoreResult<Vec<DocumentId>> {
        self.connections.snapshot(|connection| read::called(connection, names, most))
    }

    fn links_from(&self, document: DocumentId) -> StoreResult<Vec<StoredLink>> {
        self.connections.snapshot(|connection| links::links_from(connection, document))
    }

    fn links_to(&self, document: DocumentId) -> StoreResult<Vec<DocumentId>> {
        self.connections.snapshot(|connection| links::links_to(connection, document))
    }

    fn lexical(&self, query: &LexicalQuery) -> StoreResult<Candidates> {
        self.connections.read(|connection| self.run_lexical(connection, query))
    }

    fn similar_terms(&self, term: &str, limit: usize) -> StoreResult<Vec<(String, u64)>> {
        let state = self.connections.read(read::state)?;
        let Some(loaded) = self.lexical.at(origin(&state)) else { return Ok(Vec::new()) };
        let Some(Ok(found)) = lexical::undisturbed(|| lexical::similar(&loaded, term, limit)) else {
            self.lexical.found_damaged();
            return Ok(Vec::new());
        };
        Ok(found)
    }

    fn nearest(&self, query: &VectorQuery) -> StoreResult<Candidates> {
        // The files are opened before the record is read, so that they cannot be ahead of it.
        let record = self.connections.read(read::state)?.record;
        let opened = self.vectors.open(record, &query.model);
        self.connections.snapshot(|connection| {
            let state = read::state(connection)?;
            let documents = self.passing(connection, &state, &query.filter)?;
            let usable = opened.as_ref().filter(|opened| nearest::can_answer(opened, &state, query));
            let found = match usable {
                Some(opened) => nearest::with_files(connection, &state, query, opened, documents.as_ref())?,
                None => None,
            };
            if found.is_none() && usable.is_some() {
                self.vectors.found_damaged(record, &query.model);
            }
            let list = match found {
                Some(list) => list,
                None => nearest::exact(connection, query, documents.as_deref())?,
            };
            Ok(Candidates { list, generation: state.generation, behind: false })
        })
    }

    fn pending_embeddings(&self, model: &str, limit: usize) -> StoreResult<Vec<Pending>> {
        self.connections.snapshot(|connection| self.pending.list(connection, model, limit))
    }

    fn count_pending_embeddings(&self, model: &str) -> StoreResult<u64> {
        let record = self.connections.read(read::state)?.record;
        let counted = self.vectors.open(record, model).and_then(|opened| opened.counted());
        self.connections.snapshot(|connection| self.pending.count(connection, model, counted))
    }

    fn embedding_length(&self, model: &str) -> StoreResult<Option<usize>> {
        self.connections.read(|connection| embeddings::length(connection, model))
    }

    fn embeddings(&self, model: &str, hashes: &[ContentHash]) -> StoreResult<Vec<Option<Vec<f32>>>> {
        self.connections.snapshot(|connection| embeddings::embeddings(connection, model, hashes))
    }
}
