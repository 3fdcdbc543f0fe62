//! Running a set: documents into a knowledge base, questions through the engine, rankings out.

use std::{collections::HashMap, path::Path, sync::Arc};

use ibid_api::{Engine, IndexRequest, IndexScope, Mode, Result, SearchRequest};

use super::{Answer, JudgedSet, Question, measure};
use crate::{
    config::{CoreConfig, SourceConfig},
    engine::LocalEngine,
    ingest::Progress,
};

/// Documents ranked per question; recall is measured to this depth.
const DEPTH: u32 = 100;

/// A knowledge base to ask, and how its paths translate to the identifiers of the judgements.
pub struct Subject {
    engine: LocalEngine,
    names: Option<HashMap<String, String>>,
}

impl Subject {
    /// A knowledge base made from the set's own documents, in a folder of the caller's, configured like
    /// another one. What an earlier call left in the folder is used again.
    pub async fn of_set(
        set: &JudgedSet,
        folder: &Path,
        like: CoreConfig,
        progress: Arc<dyn Progress>,
    ) -> Result<Self> {
        let vault = folder.join("vault");
        let names = set.write_vault(&vault).map_err(|error| {
            tracing::error!(kind = ?error.kind(), "the set could not be written as notes");
            ibid_api::Error::new(
                ibid_api::ErrorCode::StorageUnavailable,
                "the documents of the set cannot be written",
            )
            .with_hint("make room in the folder for temporary files")
        })?;
        let config = CoreConfig {
            data_dir: folder.join("data"),
            sources: vec![SourceConfig::new("set", vault)],
            read_only: false,
            ..like
        };
        let engine = LocalEngine::open(config)?;
        let request = IndexRequest { scope: IndexScope::Everything, require_embeddings: false };
        engine.index_with_progress(request, Arc::clone(&progress)).await?;
        engine.embed_pending(progress, None).await?;
        Ok(Self { engine, names: Some(names) })
    }

    /// An existing knowledge base, whose documents go by their paths.
    pub fn existing(engine: LocalEngine) -> Self {
        Self { engine, names: None }
    }

    /// The engine that is asked.
    pub fn engine(&self) -> &LocalEngine {
        &self.engine
    }

    /// Identifiers of the documents that answer a question, best first, each once.
    pub async fn ranking(&self, question: &str, mode: Mode) -> Result<Vec<String>> {
        let request =
            SearchRequest { mode: Some(mode), per_document: 1, ..SearchRequest::new(question, DEPTH) };
        let reply = self.engine.search(request).await?;
        let name = |path: &str| match &self.names {
            None => Some(path.to_owned()),
            Some(names) => names.get(path).cloned(),
        };
        Ok(reply.hits.iter().filter_map(|hit| name(hit.document.path.as_str())).collect())
    }

    /// Asks every question, in order.
    pub async fn answers(
        &self,
        questions: &[Question],
        mode: Mode,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let mut answers = Vec::with_capacity(questions.len());
        for question in questions {
            let ranking = self.ranking(&question.text, mode).await?;
            let measures = measure(question, &ranking);
            answers.push(Answer { id: question.id.clone(), text: question.text.clone(), measures });
            progress.advance(1);
        }
        Ok(answers)
    }
}
