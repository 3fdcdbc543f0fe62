//! Embedding what has no vector yet: the most recently changed first, in steps that are kept.

use ibid_api::ContentHash;

use super::{Progress, Step};
use crate::{
    embed::{EmbedError, Embedder, embedding_text},
    store::{EmbeddingWrite, Pending, Store, StoreError, WriteBatch},
};

/// Texts embedded between two writes. Few, because a wish to stop is heard only between them.
const STEP: usize = 32;
/// Vectors become searchable after this many.
const SETTLE: u64 = 4_096;

/// Why embedding stopped. Everything embedded until then is kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EmbedRunError {
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model failed.
    #[error(transparent)]
    Model(#[from] EmbedError),
    /// It was asked to stop.
    #[error("embedding was cancelled")]
    Cancelled,
}

/// Embeds up to `limit` texts; returns how many it did.
pub(crate) fn embed_pending(
    store: &dyn Store,
    embedder: &dyn Embedder,
    threads: usize,
    limit: Option<u64>,
    progress: &dyn Progress,
) -> Result<u64, EmbedRunError> {
    let waiting = store.count_pending_embeddings(embedder.model())?;
    let total = limit.map_or(waiting, |limit| limit.min(waiting));
    if total == 0 {
        return Ok(0);
    }
    progress.begin(Step::Embed, Some(total));
    let mut done = 0;
    let result = steps(store, embedder, threads, total, progress, &mut done);
    if done > 0 {
        store.settle()?;
    }
    progress.end();
    result.map(|()| done)
}

fn steps(
    store: &dyn Store,
    embedder: &dyn Embedder,
    threads: usize,
    total: u64,
    progress: &dyn Progress,
    done: &mut u64,
) -> Result<(), EmbedRunError> {
    let mut settled = 0;
    let mut last: Option<ContentHash> = None;
    while *done < total {
        if progress.cancelled() {
            return Err(EmbedRunError::Cancelled);
        }
        let step = usize::try_from(total - *done).map_or(STEP, |rest| rest.min(STEP));
        let pending = store.pending_embeddings(embedder.model(), step)?;
        let first = pending.first().map(|pending| pending.hash);
        // Nothing more to do, or what was written is not seen: going on would never end.
        if first.is_none() || first == last {
            return Ok(());
        }
        last = first;
        let vectors = embed(embedder, &pending, threads)?;
        let written = pending.len() as u64;
        let embeddings = pending
            .into_iter()
            .zip(vectors)
            .map(|(pending, vector)| EmbeddingWrite {
                hash: pending.hash,
                model: embedder.model().to_owned(),
                vector,
            })
            .collect();
        store.apply(WriteBatch { embeddings, ..WriteBatch::default() })?;
        *done += written;
        progress.advance(written);
        if *done - settled >= SETTLE {
            store.settle()?;
            settled = *done;
        }
    }
    Ok(())
}

/// Embeds texts on several threads, in order.
fn embed(embedder: &dyn Embedder, pending: &[Pending], threads: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
    let texts: Vec<String> = pending
        .iter()
        .map(|pending| embedding_text(&pending.title, &pending.heading_path, &pending.text))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let share = texts.len().div_ceil(threads.max(1)).max(1);
    let parts: Vec<Result<Vec<Vec<f32>>, EmbedError>> = std::thread::scope(|scope| {
        let workers: Vec<_> = texts
            .chunks(share)
            .map(|part| {
                scope.spawn(move || {
                    let vectors = embedder.embed_passages(part)?;
                    if vectors.len() == part.len() {
                        Ok(vectors)
                    } else {
                        Err(EmbedError::BadAnswer("a different number of vectors than texts"))
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or(Err(EmbedError::BadAnswer("the model gave up"))))
            .collect()
    });
    let mut vectors = Vec::with_capacity(texts.len());
    for part in parts {
        vectors.extend(part?);
    }
    Ok(vectors)
}
