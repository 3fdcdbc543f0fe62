//! Which model answers: the configured one, or the one before it until the vectors of the new one are
//! complete. Vectors of two models are never ranked together.

use std::{path::PathBuf, sync::Arc};

use ibid_api::{ContentHash, Result, Warning, WarningCode};
use serde::{Deserialize, Serialize};

use super::{Opened, Shared, lock};
use crate::{
    config::{EmbeddingConfig, EndpointConfig},
    embed::{self, EmbedError, Embedder},
    error,
    search::Searcher,
    store::{SettingWrite, Store, WriteBatch},
};

/// Name of the setting that says whose vectors answer.
const ANSWERING: &str = "answering_model";

/// The searcher in use, and the setting that it was made for.
#[derive(Default)]
pub(super) struct Searching {
    made_for: Option<String>,
    searcher: Option<Arc<Searcher>>,
    stands_in: bool,
}

/// The model whose vectors answer, and how to get it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Answering {
    /// Its name, as vectors carry it.
    model: String,
    /// Length of its vectors; zero when that is not known yet.
    dimensions: usize,
    origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Origin {
    Builtin,
    Local {
        path: PathBuf,
    },
    /// Neither the key nor the address, which may hold one: both are kept nowhere but in the configuration.
    Endpoint {
        address: ContentHash,
        query_prefix: String,
        passage_prefix: String,
    },
}

impl Answering {
    fn of(config: &EmbeddingConfig, embedder: &dyn Embedder) -> Option<Self> {
        let origin = match config {
            EmbeddingConfig::Disabled => return None,
            EmbeddingConfig::Builtin => Origin::Builtin,
            EmbeddingConfig::Local(path) => Origin::Local { path: path.clone() },
            EmbeddingConfig::Endpoint(endpoint) => Origin::Endpoint {
                address: ContentHash::of(endpoint.url.as_bytes()),
                query_prefix: endpoint.query_prefix.clone(),
                passage_prefix: endpoint.passage_prefix.clone(),
            },
        };
        Some(Self { model: embedder.model().to_owned(), dimensions: embedder.dimensions(), origin })
    }

    /// What to open to get it while another model is configured. A server that the configuration names no
    /// more is not spoken to.
    fn config(&self, configured: &EmbeddingConfig) -> Option<EmbeddingConfig> {
        match (&self.origin, configured) {
            (Origin::Builtin, _) => Some(EmbeddingConfig::Builtin),
            (Origin::Local { path }, _) => Some(EmbeddingConfig::Local(path.clone())),
            (Origin::Endpoint { address, query_prefix, passage_prefix }, EmbeddingConfig::Endpoint(same))
                if *address == ContentHash::of(same.url.as_bytes()) =>
            {
                Some(EmbeddingConfig::Endpoint(EndpointConfig {
                    model: self.model.clone(),
                    query_prefix: query_prefix.clone(),
                    passage_prefix: passage_prefix.clone(),
                    ..same.clone()
                }))
            }
            (Origin::Endpoint { .. }, _) => None,
        }
    }
}

impl Shared {
    /// Who answers searches now.
    pub(super) fn searcher(&self, opened: &Opened) -> Result<Arc<Searcher>> {
        self.answering(opened).map(|(searcher, _)| searcher)
    }

    /// Who answers searches now, and whether that is the model before the configured one.
    pub(super) fn answering(&self, opened: &Opened) -> Result<(Arc<Searcher>, bool)> {
        let store = &opened.store;
        let setting = store.setting(ANSWERING).map_err(error::store)?;
        let mut searching = lock(&self.searching);
        if let Some(searcher) = &searching.searcher
            && searching.made_for == setting
        {
            let found = (Arc::clone(searcher), searching.stands_in);
            drop(searching);
            if let Ok(Some(embedder)) = self.embedder()
                && self.has_other_length(embedder.as_ref())
            {
                self.expect_stored_length(store.as_ref(), embedder.as_ref())?;
            }
            return Ok(found);
        }
        let answering: Option<Answering> =
            setting.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let (embedder, stands_in) = self.answerer(store.as_ref(), answering.as_ref())?;
        let searcher = Arc::new(Searcher::new(Arc::clone(store), embedder));
        *searching = Searching { made_for: setting, searcher: Some(Arc::clone(&searcher)), stands_in };
        Ok((searcher, stands_in))
    }

    fn answerer(
        &self,
        store: &dyn Store,
        answering: Option<&Answering>,
    ) -> Result<(Option<Arc<dyn Embedder>>, bool)> {
        let configured = match self.embedder() {
            Ok(None) => return Ok((None, false)),
            Ok(Some(embedder)) => Some(embedder),
            Err(_) => None,
        };
        if let Some(embedder) = &configured {
            self.expect_stored_length(store, embedder.as_ref())?;
        }
        let waits = match &configured {
            Some(embedder) => store.count_pending_embeddings(embedder.model()).map_err(error::store)? > 0,
            None => true,
        };
        if let Some(answering) = answering.filter(|_| waits)
            && configured.as_ref().is_none_or(|embedder| embedder.model() != answering.model)
            && let Some(config) = answering.config(&self.config.embedding)
            && let Ok(Some(before)) = embed::open(&config)
            // A folder may hold another model by now.
            && before.model() == answering.model
        {
            return Ok((Some(before), true));
        }
        Ok((Some(configured.unwrap_or_else(|| Arc::new(Unusable))), false))
    }

    /// Notes that the vectors of the configured model answer from now on. Until a first model has been
    /// noted, whichever begins is it.
    pub(super) fn note_answering(
        &self,
        store: &dyn Store,
        embedder: &dyn Embedder,
        complete: bool,
    ) -> Result<()> {
        let stored = store.setting(ANSWERING).map_err(error::store)?;
        if stored.is_some() && !complete {
            return Ok(());
        }
        let now = Answering::of(&self.config.embedding, embedder);
        let Some(value) = now.and_then(|now| serde_json::to_string(&now).ok()) else { return Ok(()) };
        if stored.as_ref() != Some(&value) {
            let settings = vec![SettingWrite { name: ANSWERING.to_owned(), value: Some(value) }];
            store.apply(WriteBatch { settings, ..WriteBatch::default() }).map_err(error::store)?;
        }
        Ok(())
    }
}

/// What is told while the model before the configured one answers.
pub(super) fn stale() -> Warning {
    Warning::new(
        WarningCode::IndexEmbeddingsStale,
        "the model before this one answers until all texts have an embedding of the new one",
    )
}

/// Stands for a model that cannot be opened, so that a search says why it goes by words.
struct Unusable;

const CANNOT_OPEN: EmbedError = EmbedError::Damaged("it cannot be opened");

impl Embedder for Unusable {
    fn model(&self) -> &'static str {
        ""
    }

    fn dimensions(&self) -> usize {
        0
    }

    fn embed_passages(&self, _texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, EmbedError> {
        Err(CANNOT_OPEN)
    }

    fn embed_query(&self, _query: &str) -> std::result::Result<Vec<f32>, EmbedError> {
        Err(CANNOT_OPEN)
    }

    fn fertility(&self, _text: &str) -> Option<f32> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_stands_in_only_while_the_configuration_names_it() {
        let endpoint = |url: &str, model: &str| {
            let mut endpoint = EndpointConfig::new(url, model);
            endpoint.key = Some("marked-key".to_owned());
            EmbeddingConfig::Endpoint(endpoint)
        };
        let before = endpoint("http://127.0.0.1:9/v1?key=marked-key", "old");
        let embedder = embed::open(&before).unwrap().unwrap();
        let answering = Answering::of(&before, embedder.as_ref()).unwrap();
        assert!(!serde_json::to_string(&answering).unwrap().contains("marked-key"));
        assert_eq!(answering.config(&endpoint("http://127.0.0.1:9/v1?key=marked-key", "new")), Some(before));
        for other in [endpoint("http://127.0.0.1:9/v2", "old"), EmbeddingConfig::Builtin] {
            assert_eq!(answering.config(&other), None, "{other:?}");
        }
    }
}
