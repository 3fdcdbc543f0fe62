//! What `status` says.

use std::sync::{Arc, atomic::Ordering};

use ibid_api::{
    EmbeddingState, ErrorCode, Freshness, Generation, IndexStatus, ReindexReason, Result, SourceStatus,
    Status, Warning, WarningCode,
};
use serde_json::json;

use super::{Opened, Shared, answering, lock};
use crate::{config::EmbeddingConfig, error, freshness, source::SourceRoot, store::StoreSummary};

impl Shared {
    /// Never fails because there is no index: that is a status.
    pub(super) fn status(&self) -> Result<Status> {
        let opened = match self.reading() {
            Ok(opened) => Some(opened),
            Err(error) if error.code == ErrorCode::IndexNotFound => None,
            Err(error) => return Err(error),
        };
        let summary = match &opened {
            Some(opened) => opened.store.summary().map_err(error::store)?,
            None => StoreSummary::default(),
        };
        let (freshness, mut reindex_reasons) = match &opened {
            Some(opened) => {
                let store = opened.store.as_ref();
                (self.freshness(store)?, self.reindex_reasons(store)?)
            }
            None => (Freshness::Unknown, Vec::new()),
        };
        let stands_in = match &opened {
            Some(opened) => self.answering(opened)?.1,
            None => false,
        };
        let (mut embedding_state, embedding_model, embeddings_missing) =
            self.embedding_status(opened.as_ref())?;
        // The last vector is there, and the model before still answers for a moment.
        if stands_in && embedding_state == EmbeddingState::Ready {
            embedding_state = EmbeddingState::Stale;
        }
        let mut warnings: Vec<Warning> = freshness::warning(freshness).into_iter().collect();
        if stands_in {
            warnings.push(answering::stale());
        }
        if embedding_state == EmbeddingState::Incompatible {
            reindex_reasons.push(ReindexReason::EmbeddingDimensionMismatch);
        }
        let sources = self.sources(&summary, &mut warnings);
        if summary.searchable < summary.generation {
            warnings.push(Warning::new(
                WarningCode::IndexCatchingUp,
                "the last changes are stored and become searchable with the next update",
            ));
        }
        let index = IndexStatus {
            freshness,
            last_update_ms: summary.last_write_ms,
            last_error: self.last_failure(),
            pending_changes: self.pending.load(Ordering::Relaxed),
            reindex_reasons,
            embedding_state,
            embedding_model,
            embeddings_missing,
            generation: if opened.is_some() { summary.generation } else { Generation::default() },
            documents: summary.documents,
            chunks: summary.chunks,
            disk_bytes: summary.disk_bytes,
        };
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            index,
            sources,
            watch: lock(&self.watch).clone(),
            sync: lock(&self.sync).clone(),
            warnings,
        })
    }

    fn embedding_status(&self, opened: Option<&Opened>) -> Result<(EmbeddingState, Option<String>, u64)> {
        if self.config.embedding == EmbeddingConfig::Disabled {
            return Ok((EmbeddingState::Disabled, None, 0));
        }
        let Ok(Some(embedder)) = self.embedder() else { return Ok((EmbeddingState::Unavailable, None, 0)) };
        let missing = match opened {
            Some(opened) => opened.store.count_pending_embeddings(embedder.model()).map_err(error::store)?,
            None => 0,
        };
        let state = if self.has_other_length(embedder.as_ref()) {
            EmbeddingState::Incompatible
        } else if self.embedder_failed.load(Ordering::Relaxed) {
            EmbeddingState::Unavailable
        } else if missing > 0 {
            EmbeddingState::Stale
        } else {
            EmbeddingState::Ready
        };
        Ok((state, Some(embedder.model().to_owned()), missing))
    }

    fn sources(&self, summary: &StoreSummary, warnings: &mut Vec<Warning>) -> Vec<SourceStatus> {
        let mut sources = Vec::new();
        for source in &self.config.sources {
            let counts = summary.sources.iter().find(|(name, ..)| *name == source.name);
            let (indexed, skipped, failed) =
                counts.map_or((0, 0, 0), |counts| (counts.1, counts.2, counts.3));
            let available = SourceRoot::open(source, Arc::clone(&self.reads)).is_ok();
            if !available {
                let text = "a source folder cannot be read; what is known of it is kept";
                let mut warning = Warning::new(WarningCode::SourceUnavailable, text);
                warning.details = Some(json!({ "source": source.name }));
                warnings.push(warning);
            }
            sources.push(SourceStatus { name: source.name.clone(), available, indexed, skipped, failed });
        }
        sources
    }
}
