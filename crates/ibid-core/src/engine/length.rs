//! Whether the configured model makes vectors of the length that is stored under its name. An endpoint can be
//! told to serve another model by the same name; its vectors could not be compared with those before.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use ibid_api::Result;
use serde::{Deserialize, Serialize};

use super::Shared;
use crate::{
    config::EmbeddingConfig,
    embed::{EmbedError, Embedder},
    error,
    note::Note,
    store::{Store, WriteBatch},
};

/// Name of the note that a mismatch leaves.
pub(super) const MISMATCH: &str = "embedding.json";

/// A model whose vectors had another length than those stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mismatch {
    model: String,
}

/// A model, and the note that is kept of what it answers. Whoever asks it, the next `status` knows.
struct Observed {
    model: Arc<dyn Embedder>,
    note: Note<Mismatch>,
    /// The same in this process alone, where the note could not be written.
    here: Arc<AtomicBool>,
    read_only: bool,
}

impl Observed {
    fn seen<T>(&self, answer: std::result::Result<T, EmbedError>) -> std::result::Result<T, EmbedError> {
        match &answer {
            Ok(_) => {
                self.here.store(false, Ordering::Relaxed);
                if !self.read_only {
                    self.note.remove();
                }
            }
            Err(EmbedError::OtherLength { .. }) => {
                let mismatch = Mismatch { model: self.model.model().to_owned() };
                let noted = !self.read_only && self.note.write(&mismatch);
                self.here.store(!noted, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        answer
    }
}

impl Embedder for Observed {
    fn model(&self) -> &str {
        self.model.model()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn embed_passages(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        self.seen(self.model.embed_passages(texts))
    }

    fn embed_query(&self, query: &str) -> std::result::Result<Vec<f32>, EmbedError> {
        self.seen(self.model.embed_query(query))
    }

    fn fertility(&self, text: &str) -> Option<f32> {
        self.model.fertility(text)
    }

    fn pieces(&self, text: &str) -> Option<usize> {
        self.model.pieces(text)
    }

    fn expect_dimensions(&self, dimensions: usize) {
        self.model.expect_dimensions(dimensions);
    }
}

impl Shared {
    /// The model as it is used: one that is asked over the network is observed.
    pub(super) fn observed(&self, model: Arc<dyn Embedder>) -> Arc<dyn Embedder> {
        if !matches!(self.config.embedding, EmbeddingConfig::Endpoint(_)) {
            return model;
        }
        Arc::new(Observed {
            model,
            note: self.mismatch.clone(),
            here: Arc::clone(&self.mismatch_here),
            read_only: self.config.read_only,
        })
    }

    /// Whether the last answer of the configured model, in whichever process, had another length.
    pub(super) fn has_other_length(&self, embedder: &dyn Embedder) -> bool {
        let endpoint = matches!(self.config.embedding, EmbeddingConfig::Endpoint(_));
        let noted = || self.mismatch.read().is_some_and(|mismatch| mismatch.model == embedder.model());
        endpoint && (self.mismatch_here.load(Ordering::Relaxed) || noted())
    }

    /// Tells the configured model which length is stored now: another process may have forgotten what was.
    pub(super) fn expect_stored_length(&self, store: &dyn Store, embedder: &dyn Embedder) -> Result<()> {
        if matches!(self.config.embedding, EmbeddingConfig::Endpoint(_)) {
            let length = store.embedding_length(embedder.model()).map_err(error::store)?;
            embedder.expect_dimensions(length.unwrap_or(0));
        }
        Ok(())
    }

    /// Forgets vectors that the configured model cannot be compared with any more, so that it makes them anew.
    pub(super) fn forget_other_length(&self, store: &dyn Store) -> Result<()> {
        // Opening another kind of model only to ask this would take long.
        if !matches!(self.config.embedding, EmbeddingConfig::Endpoint(_)) {
            return Ok(());
        }
        let Ok(Some(embedder)) = self.embedder() else { return Ok(()) };
        if !self.has_other_length(embedder.as_ref()) {
            return Ok(());
        }
        let forget_models = vec![embedder.model().to_owned()];
        store.apply(WriteBatch { forget_models, ..WriteBatch::default() }).map_err(error::store)?;
        store.settle().map_err(error::store)?;
        embedder.expect_dimensions(0);
        self.mismatch.remove();
        self.mismatch_here.store(false, Ordering::Relaxed);
        Ok(())
    }
}
