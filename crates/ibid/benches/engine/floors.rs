//! What indexing costs at least: each part alone, done by the same libraries without an engine around it.

use std::{fs, path::Path};

use ibid_core::{
    CoreConfig,
    chunk::{Draft, chunk},
    lexical::{Language, Terms, Views},
    parse::Parsed,
};
use rusqlite::{Connection, params};
use tantivy::{
    Index, TantivyDocument,
    schema::{FAST, INDEXED, IndexRecordOption, STRING, Schema, TEXT, TextFieldIndexing, TextOptions},
};

use super::{
    Outcome,
    measure::{Cost, measured},
    world::World,
};

/// Each part of a first index, alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Floors {
    /// Reading and parsing the files.
    pub(crate) parse: Cost,
    /// Adding the chunks to a bare index, with the terms of every field already made.
    pub(crate) lexical: Cost,
    /// Adding only text and title of the chunks to a bare index.
    pub(crate) lexical_text_only: Cost,
    /// Inserting the rows into a bare file.
    pub(crate) record: Cost,
    pub(crate) chunks: usize,
}

impl Floors {
    /// CPU time of all parts.
    pub(crate) fn cpu(&self) -> f64 {
        self.parse.cpu + self.lexical.cpu + self.record.cpu
    }
}

/// A document taken apart.
struct Made {
    path: String,
    parsed: Parsed,
    chunks: Vec<Draft>,
}

pub(crate) fn measure(world: &World) -> Outcome<Floors> {
    let ((), parse) = measured(|| world.parsed().try_for_each(|parsed| parsed.map(drop)))?;
    let documents: Vec<Made> = world
        .parsed()
        .map(|parsed| {
            let (path, parsed) = parsed?;
            let chunks = chunk(&parsed, &CoreConfig::HEADING_CHUNKS);
            Ok(Made { path, parsed, chunks })
        })
        .collect::<Outcome<_>>()?;
    let chunks = documents.iter().map(|document| document.chunks.len()).sum();
    let record = insert_rows(&world.beside("floor-record")?, &documents)?;
    let lexical_text_only = add_texts(&world.beside("floor-text")?, &documents)?;
    let lexical = add_fields(&world.beside("floor-lexical")?, &documents)?;
    Ok(Floors { parse, lexical, lexical_text_only, record, chunks })
}

fn insert_rows(folder: &Path, documents: &[Made]) -> Outcome<Cost> {
    let ((), cost) = measured(|| {
        let mut connection = Connection::open(folder.join("record.db"))?;
        connection.execute_batch(
            "pragma journal_mode = wal; pragma synchronous = normal;
             create table document (id integer primary key, path text unique, title text, metadata text);
             create table chunk (document integer, place integer, heading text, anchor text, start integer,
                 length integer, line integer, last_line integer, hash blob, text text,
                 primary key (document, place)) without rowid;
             create table link (document integer, name text, fragment text, label text, place integer);",
        )?;
        for (group, some) in documents.chunks(1_000).enumerate() {
            let transaction = connection.transaction()?;
            {
                let mut add_document = transaction.prepare("insert into document values (?, ?, ?, ?)")?;
                let mut add_chunk =
                    transaction.prepare("insert into chunk values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
                let mut add_link = transaction.prepare("insert into link values (?, ?, ?, ?, ?)")?;
                for (place, document) in some.iter().enumerate() {
                    let id = (group * 1_000 + place) as i64;
                    let metadata = serde_json::to_string(&document.parsed.metadata)?;
                    add_document.execute(params![id, document.path, document.parsed.title, metadata])?;
                    for (place, chunk) in document.chunks.iter().enumerate() {
                        add_chunk.execute(params![
                            id,
                            place as i64,
                            chunk.heading_path.join("\n"),
                            chunk.anchor,
                            chunk.bytes.start as i64,
                            chunk.bytes.len() as i64,
                            chunk.lines.start,
                            chunk.lines.end,
                            chunk.hash.to_string(),
                            chunk.text,
                        ])?;
                    }
                    for link in &document.parsed.links {
                        add_link.execute(params![
                            id,
                            link.name,
                            link.fragment,
                            link.label,
                            link.at as i64
                        ])?;
                    }
                }
            }
            transaction.commit()?;
        }
        connection.execute_batch("pragma wal_checkpoint(truncate)")?;
        Ok(())
    })?;
    Ok(cost)
}

fn add_texts(folder: &Path, documents: &[Made]) -> Outcome<Cost> {
    let mut schema = Schema::builder();
    let (text, title) = (schema.add_text_field("text", TEXT), schema.add_text_field("title", TEXT));
    let schema = schema.build();
    let ((), cost) = measured(|| {
        let mut writer = Index::create_in_dir(folder, schema)?.writer_with_num_threads(1, WRITER_BYTES)?;
        for document in documents {
            for chunk in &document.chunks {
                let mut entry = TantivyDocument::default();
                entry.add_text(text, &chunk.text);
                entry.add_text(title, title_of(document, chunk));
                writer.add_document(entry)?;
            }
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok(())
    })?;
    Ok(cost)
}

/// The same terms in the same kinds of fields as the engine's index has. Making the terms is not counted.
fn add_fields(folder: &Path, documents: &[Made]) -> Outcome<Cost> {
    let mut schema = Schema::builder();
    let frequencies = TextOptions::default().set_indexing_options(
        TextFieldIndexing::default().set_tokenizer("default").set_index_option(IndexRecordOption::WithFreqs),
    );
    let number = schema.add_u64_field("document", INDEXED | FAST);
    let place = schema.add_u64_field("chunk", FAST);
    let tag = schema.add_text_field("tag", STRING);
    let fields = [
        schema.add_text_field("exact", TEXT),
        schema.add_text_field("stemmed", frequencies.clone()),
        schema.add_text_field("pairs", frequencies.clone()),
        schema.add_text_field("title", frequencies),
        schema.add_text_field("title_exact", TEXT),
    ];
    let schema = schema.build();
    let mut entries = Vec::new();
    let (mut body, mut title) = (Views::default(), Views::default());
    for (id, document) in documents.iter().enumerate() {
        let language = Language::from_code(document.parsed.language);
        for (index, chunk) in document.chunks.iter().enumerate() {
            body.clear();
            body.add(&chunk.text, language, 0);
            title.clear();
            title.add(&title_of(document, chunk), language, 0);
            let mut entry = TantivyDocument::default();
            entry.add_u64(number, id as u64);
            entry.add_u64(place, index as u64);
            for name in &document.parsed.metadata.tags {
                entry.add_text(tag, name);
            }
            let terms = [&body.exact, &body.stemmed, &body.pairs, &title.stemmed, &title.exact];
            for (field, terms) in fields.into_iter().zip(terms) {
                entry.add_text(field, spaced(terms));
            }
            entries.push(entry);
        }
    }
    let ((), cost) = measured(|| {
        let mut writer = Index::create_in_dir(folder, schema)?.writer_with_num_threads(1, WRITER_BYTES)?;
        for entry in entries {
            writer.add_document(entry)?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        Ok(())
    })?;
    Ok(cost)
}

/// As much as the engine gives its own writer.
const WRITER_BYTES: usize = 112_000_000;

/// Terms as a text that the default tokenizer takes apart into the same number of terms.
fn spaced(terms: &Terms) -> String {
    let mut text = String::new();
    for token in terms.iter() {
        text.extend(token.term.chars().filter(|character| character.is_alphanumeric()));
        text.push(' ');
    }
    text
}

fn title_of(document: &Made, chunk: &Draft) -> String {
    let metadata = &document.parsed.metadata;
    let mut title = document.parsed.title.clone();
    for part in metadata.aliases.iter().chain(&chunk.heading_path).chain(&metadata.tags) {
        title.push(' ');
        title.push_str(part);
    }
    title.push(' ');
    title.push_str(document.path.trim_end_matches(".md"));
    title
}

/// Visits every file below a folder and asks the system for its size and time: what finding out that
/// nothing changed costs at least.
pub(crate) fn walk(folder: &Path) -> Outcome<u64> {
    let mut seen = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            seen += walk(&entry.path())?;
        } else {
            let metadata = entry.metadata()?;
            metadata.modified()?;
            seen += u64::from(metadata.len() > 0);
        }
    }
    Ok(seen)
}
