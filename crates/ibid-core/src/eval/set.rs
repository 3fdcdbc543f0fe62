//! A judged set: questions, and which documents answer them how well.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

/// Why a set could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A file is missing or unreadable.
    #[error("`{0}` cannot be read")]
    Unreadable(&'static str),
    /// A line does not have the expected form.
    #[error("line {line} of `{file}` is not {expected}")]
    Malformed {
        /// Which file.
        file: &'static str,
        /// Which line, from 1.
        line: usize,
        /// What it should be.
        expected: &'static str,
    },
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Its identifier.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Grade of each document that answers it; larger is better.
    pub grades: BTreeMap<String, u32>,
}

/// Questions with judgements, and the documents where the set brings its own.
#[derive(Debug, Clone, Default)]
pub struct JudgedSet {
    /// The questions that have a judgement.
    pub questions: Vec<Question>,
    /// Identifier, title and text of each document; empty when the set judges an existing folder, whose
    /// documents go by their paths.
    pub corpus: Vec<(String, String, String)>,
}

#[derive(Deserialize)]
struct QueryLine {
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct CorpusLine {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

impl JudgedSet {
    /// Reads `queries.jsonl` (`id`, `text`), `qrels.tsv` (query, document, grade; a header is skipped), and
    /// `corpus.jsonl` (`id`, `title`, `text`) where there is one.
    pub fn read(folder: &Path) -> Result<Self, SetError> {
        let read = |name: &'static str| {
            fs::read_to_string(folder.join(name)).map_err(|_| SetError::Unreadable(name))
        };
        let mut grades: HashMap<String, BTreeMap<String, u32>> = HashMap::new();
        for (number, line) in read("qrels.tsv")?.lines().enumerate() {
            let mut columns = line.split('\t');
            let (Some(query), Some(document), Some(grade)) = (columns.next(), columns.next(), columns.next())
            else {
                return Err(malformed("qrels.tsv", number, "query, document and grade with tabs between"));
            };
            match grade.trim().parse::<f32>() {
                Ok(grade) if grade > 0.0 => {
                    grades
                        .entry(query.to_owned())
                        .or_default()
                        .insert(document.to_owned(), grade.round() as u32);
                }
                Ok(_) => {}
                Err(_) if number == 0 => {}
                Err(_) => {
                    return Err(malformed(
                        "qrels.tsv",
                        number,
                        "query, document and grade with tabs between",
                    ));
                }
            }
        }
        let mut questions = Vec::new();
        for (number, line) in
            read("queries.jsonl")?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())
        {
            let line: QueryLine = serde_json::from_str(line)
                .map_err(|_| malformed("queries.jsonl", number, "an object with `id` and `text`"))?;
            if let Some(grades) = grades.remove(&line.id) {
                questions.push(Question { id: line.id, text: line.text, grades });
            }
        }
        let mut corpus = Vec::new();
        if folder.join("corpus.jsonl").exists() {
            for (number, line) in
                read("corpus.jsonl")?.lines().enumerate().filter(|(_, line)| !line.trim().is_empty())
            {
                let line: CorpusLine = serde_json::from_str(line).map_err(|_| {
                    malformed("corpus.jsonl", number, "an object with `id`, `title` and `text`")
                })?;
                corpus.push((line.id, line.title, line.text));
            }
        }
        Ok(Self { questions, corpus })
    }

    /// The folder itself when it is a set, and else the sets below it, by name.
    pub fn folders(folder: &Path) -> Vec<PathBuf> {
        const DEPTH: usize = 4;
        let mut found = Vec::new();
        let mut left = vec![(folder.to_path_buf(), 0)];
        while let Some((folder, depth)) = left.pop() {
            if folder.join("queries.jsonl").is_file() {
                found.push(folder);
            } else if depth < DEPTH
                && let Ok(entries) = fs::read_dir(&folder)
            {
                let folders =
                    entries.filter_map(Result::ok).filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
                left.extend(folders.map(|entry| (entry.path(), depth + 1)));
            }
        }
        found.sort();
        found
    }

    /// Writes the documents as Markdown notes into a folder, and returns which path holds which document.
    pub fn write_vault(&self, folder: &Path) -> std::io::Result<HashMap<String, String>> {
        let mut names = HashMap::new();
        for (number, (id, title, text)) in self.corpus.iter().enumerate() {
            let part = format!("{:03}", number / 500);
            let path = format!("{part}/{number:06}.md");
            fs::create_dir_all(folder.join(&part))?;
            let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
            let mut note = String::with_capacity(text.len() + title.len() + 64);
            if !title.is_empty() {
                note.push_str("---\ntitle: ");
                note.push_str(&serde_json::Value::String(title.clone()).to_string());
                note.push_str("\n---\n\n# ");
                note.push_str(&title);
                note.push_str("\n\n");
            }
            note.push_str(text);
            note.push('\n');
            let place = folder.join(&path);
            // Notes of an earlier run stay as they are, so that nothing is indexed twice.
            if fs::read_to_string(&place).ok().as_deref() != Some(&note) {
                fs::write(place, note)?;
            }
            names.insert(path, id.clone());
        }
        Ok(names)
    }
}

fn malformed(file: &'static str, number: usize, expected: &'static str) -> SetError {
    SetError::Malformed { file, line: number + 1, expected }
}
