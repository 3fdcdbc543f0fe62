//! How well chunks of different sizes hold the passages that answer questions.
//!
//! `cargo test -p ibid-core --lib chunk::evaluation -- --nocapture` prints the table that the choice of the
//! default rests on.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::parse::tests::{parsed, shared_data};

/// Characters an answer may cost: what is put before a reader or a model, whatever the size of the chunks.
const BUDGETS: [usize; 3] = [2000, 4000, 8000];

struct Question {
    text: String,
    document: String,
    /// Bytes of the document that answer it.
    gold: Vec<Range<usize>>,
}

/// A ranking by BM25 over the words of all chunks.
struct Index {
    chunks: Vec<(String, Draft)>,
    lengths: Vec<f64>,
    postings: HashMap<String, Vec<(usize, f64)>>,
}

impl Index {
    fn new(chunks: Vec<(String, Draft)>) -> Self {
        let mut postings: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::new();
        for (index, (_, draft)) in chunks.iter().enumerate() {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let mut length = 0.0;
            for word in words(&draft.text) {
                *counts.entry(word).or_default() += 1.0;
                length += 1.0;
            }
            lengths.push(length);
            for (word, count) in counts {
                postings.entry(word).or_default().push((index, count));
            }
        }
        Self { chunks, lengths, postings }
    }

    fn ranked(&self, question: &str) -> Vec<usize> {
        let mean = self.lengths.iter().sum::<f64>() / self.lengths.len() as f64;
        let mut scores = vec![0.0; self.chunks.len()];
        for word in words(question).collect::<HashSet<_>>() {
            let Some(found) = self.postings.get(&word) else { continue };
            let n_found = found.len() as f64;
            let rarity = (1.0 + (self.chunks.len() as f64 - n_found + 0.5) / (n_found + 0.5)).ln();
            for &(index, count) in found {
                let norm = 1.2 * (0.25 + 0.75 * self.lengths[index] / mean);
                scores[index] += rarity * count * 2.2 / (count + norm);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).filter(|&index| scores[index] > 0.0).collect();
        order.sort_by(|&one, &other| scores[other].total_cmp(&scores[one]).then(one.cmp(&other)));
        order
    }
}

/// Words in lower case, plural endings dropped.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty()).map(|word| {
        let word = word.to_lowercase();
        match word.strip_suffix('s') {
            Some(stem) if stem.len() > 2 => stem.to_owned(),
            _ => word,
        }
    })
}

#[derive(Default, Clone, Copy)]
struct Score {
    recall: f64,
    precision: f64,
    overlap: f64,
}

/// What the best chunks hold of the gold passages, when so many bytes may be taken.
fn score(index: &Index, order: &[usize], question: &Question, budget: usize) -> Score {
    let mut taken: Vec<Range<usize>> = Vec::new();
    let mut elsewhere = 0;
    let mut left = budget;
    for &chunk in order {
        let (document, draft) = &index.chunks[chunk];
        let length = draft.bytes.len().min(left);
        if *document == question.document {
            taken.push(draft.bytes.start..draft.bytes.start + length);
        } else {
            elsewhere += length;
        }
        left -= length;
        if left == 0 {
            break;
        }
    }
    let taken = merged(taken);
    let gold = merged(question.gold.clone());
    let both: usize = gold
        .iter()
        .flat_map(|gold| taken.iter().map(move |taken| (gold, taken)))
        .map(|(gold, taken)| gold.end.min(taken.end).saturating_sub(gold.start.max(taken.start)))
        .sum();
    let wanted: usize = gold.iter().map(Range::len).sum();
    let got = taken.iter().map(Range::len).sum::<usize>() + elsewhere;
    Score {
        recall: both as f64 / wanted as f64,
        precision: both as f64 / got.max(1) as f64,
        overlap: both as f64 / (wanted + got - both) as f64,
    }
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn json_lines(text: &str) -> impl Iterator<Item = serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn the_default_size_holds_answers_as_well_as_any() {
    let Some(folder) = shared_data("retrieval/chroma-chunking") else { return };
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let queries = read("queries.jsonl");
    let texts: HashMap<String, String> = json_lines(&queries)
        .map(|query| (query["id"].as_str().unwrap().to_owned(), query["text"].as_str().unwrap().to_owned()))
        .collect();
    let mut documents: HashMap<String, (Parsed, Vec<usize>)> = HashMap::new();
    let mut questions = Vec::new();
    for line in json_lines(&read("spans.jsonl")) {
        let name = line["doc"].as_str().unwrap().to_owned();
        let (_, bytes_of) = documents.entry(name.clone()).or_insert_with(|| {
            let text = read(&format!("md/{name}.md"));
            let bytes_of = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            (parsed("document.md", &text), bytes_of)
        });
        let spans: Vec<(usize, usize)> = serde_json::from_value(line["spans"].clone()).unwrap();
        let gold = spans.iter().map(|&(start, end)| bytes_of[start]..bytes_of[end]).collect();
        questions.push(Question { text: texts[line["id"].as_str().unwrap()].clone(), document: name, gold });
    }
    let mut names: Vec<&String> = documents.keys().collect();
    names.sort();

    let heading = |target, max| ChunkPolicy::Heading { target, max };
    let policies = [
        heading(300, 600),
        heading(500, 1000),
        heading(800, 1600),
        heading(1200, 2400),
        heading(1600, 3200),
        ChunkPolicy::VAULT,
        ChunkPolicy::Tokens { target: 200, max: 400, overlap: 0 },
        ChunkPolicy::Tokens { target: 200, max: 400, overlap: 50 },
        ChunkPolicy::LIBRARY,
        ChunkPolicy::DOCS,
        ChunkPolicy::default(),
    ];
    println!("{:<52} chunks  mean | recall, precision, intersection over union at {BUDGETS:?}", "policy");
    let mut recalls = Vec::new();
    for policy in policies {
        let chunks: Vec<(String, Draft)> = names
            .iter()
            .flat_map(|name| {
                chunk(&documents[*name].0, &policy).into_iter().map(|draft| ((*name).clone(), draft))
            })
            .collect();
        let n_chunks = chunks.len();
        let mean = chunks.iter().map(|(_, draft)| draft.text.len()).sum::<usize>() / n_chunks;
        let index = Index::new(chunks);
        let mut totals = [Score::default(); BUDGETS.len()];
        for question in &questions {
            let order = index.ranked(&question.text);
            for (total, budget) in totals.iter_mut().zip(BUDGETS) {
                let score = score(&index, &order, question, budget);
                total.recall += score.recall / questions.len() as f64;
                total.precision += score.precision / questions.len() as f64;
                total.overlap += score.overlap / questions.len() as f64;
            }
        }
        let row: Vec<String> = totals
            .iter()
            .map(|total| format!("{:.3} {:.3} {:.3}", total.recall, total.precision, total.overlap))
            .collect();
        println!("{:<52} {n_chunks:>6} {mean:>5} | {}", format!("{policy:?}"), row.join(" | "));
        recalls.push(totals[1].recall);
    }
    let best = recalls.iter().copied().fold(0.0, f64::max);
    let default = recalls.last().copied().unwrap();
    assert!(default >= best - 0.03, "the default finds {default:.3} of the answers, the best size {best:.3}");
}
