//! A second look at the best candidates: a page that is named in the query belongs above one that only
//! uses the same words.

use std::collections::{HashMap, HashSet};

use ibid_api::{DocumentId, DocumentSummary, LegScore};

use super::{SearchError, fusion, fusion::Ranked, query::ParsedQuery};
use crate::{
    lexical::{Language, View, analyze},
    store::Store,
};

/// Candidates that are looked at again.
const DEPTH: usize = 50;
/// What a name that makes up the whole query adds, in deviations of the fused score.
const NAMED: f32 = 2.5;

/// Adds the bonus for named documents and sorts again.
pub(super) fn rank(
    store: &dyn Store,
    query: &ParsedQuery,
    ranked: &mut Vec<Ranked>,
) -> Result<(), SearchError> {
    let asked = Asked::new(&query.words);
    if asked.sequence.is_empty() || ranked.is_empty() {
        return Ok(());
    }
    let top = ranked.len().min(DEPTH);
    let mut seen = HashSet::new();
    let ids: Vec<DocumentId> =
        ranked[..top].iter().map(|r| r.chunk.document).filter(|id| seen.insert(*id)).collect();
    let bonuses: HashMap<DocumentId, f32> =
        store.summaries(&ids)?.iter().map(|summary| (summary.id, asked.bonus(summary))).collect();
    for candidate in &mut ranked[..top] {
        if let Some(&bonus) = bonuses.get(&candidate.chunk.document)
            && bonus > 0.0
        {
            candidate.score += bonus;
            candidate.legs.push(LegScore {
                leg: "named".to_owned(),
                rank: None,
                score: bonus / NAMED,
                weight: bonus,
            });
        }
    }
    fusion::sort(ranked);
    Ok(())
}

/// The query as a sequence of stems.
struct Asked {
    sequence: Vec<String>,
}

impl Asked {
    fn new(words: &str) -> Self {
        Self { sequence: stems(words) }
    }

    fn bonus(&self, summary: &DocumentSummary) -> f32 {
        let names = std::iter::once(summary.title.as_str())
            .chain(summary.metadata.aliases.iter().map(String::as_str))
            .chain(std::iter::once(summary.path.stem()));
        names.map(|name| self.share(name)).fold(0.0, f32::max) * NAMED
    }

    /// How much of the query a name makes up, when the query holds all of it, in order.
    fn share(&self, name: &str) -> f32 {
        let name = stems(name);
        if name.is_empty() || name.len() > self.sequence.len() {
            return 0.0;
        }
        let held = self.sequence.windows(name.len()).any(|window| window == name);
        if held { (name.len() as f32 / self.sequence.len() as f32).sqrt() } else { 0.0 }
    }
}

fn stems(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut last_position = usize::MAX;
    analyze(text, Language::English, View::Stemmed, &mut |token| {
        // Only whole words: the parts of an identifier share its position.
        if token.position != last_position {
            last_position = token.position;
            found.push(token.term.to_owned());
        }
    });
    found
}
