//! Small documents to store and queries to ask.

use ibid_api::{ContentHash, DocumentId, DocumentKind, FileOutcome, Filter, LineRange, Metadata, RelPath};

use crate::store::{
    Applied, Candidates, ChunkWrite, Clause, DocumentWrite, EmbeddingWrite, FileWrite, LexicalQuery,
    LinkWrite, Store, VectorQuery, WriteBatch,
};

/// The source of documents that name no other.
pub(crate) const SOURCE: &str = "notes";

/// A document of these chunks, in a file of its own.
pub(crate) fn document(path: &str, title: &str, chunks: &[&str]) -> FileWrite {
    let drafts = chunks.iter().enumerate().map(|(index, text)| ChunkWrite {
        heading_path: vec![title.to_owned()],
        anchor: None,
        bytes: (index as u64 * 100, index as u64 * 100 + text.len() as u64),
        lines: LineRange { start: index as u32 + 1, end: index as u32 + 1 },
        text: (*text).to_owned(),
        hash: hash_of(title, text),
    });
    FileWrite {
        source: SOURCE.to_owned(),
        path: path.to_owned(),
        size: chunks.iter().map(|text| text.len() as u64).sum(),
        modified_ns: 1_700_000_000_000_000_000,
        hash: Some(ContentHash::of(chunks.join("\n").as_bytes())),
        outcome: FileOutcome::Indexed { chunks: chunks.len() as u32 },
        document: Some(DocumentWrite {
            path: RelPath::parse(path).unwrap(),
            title: title.to_owned(),
            kind: DocumentKind::Markdown,
            language: Some("en".to_owned()),
            metadata: Metadata::default(),
            fields: vec![("status".to_owned(), vec!["draft".to_owned()])],
            headings: Vec::new(),
            chunks: drafts.collect(),
            links: Vec::new(),
            attachments: vec!["picture.png".to_owned()],
        }),
        keep_document: false,
    }
}

/// The identity of a chunk made by [`document`].
pub(crate) fn hash_of(title: &str, text: &str) -> ContentHash {
    ContentHash::of(format!("{title}\n{text}").as_bytes())
}

pub(crate) trait With: Sized {
    fn source(self, source: &str) -> Self;
    fn tags(self, tags: &[&str]) -> Self;
    fn aliases(self, aliases: &[&str]) -> Self;
    fn kind(self, kind: DocumentKind) -> Self;
    fn language(self, language: &str) -> Self;
    fn modified_ms(self, time: i64) -> Self;
    fn links(self, links: &[LinkWrite]) -> Self;
}

impl With for FileWrite {
    fn source(mut self, source: &str) -> Self {
        source.clone_into(&mut self.source);
        self
    }

    fn tags(mut self, tags: &[&str]) -> Self {
        self.document.as_mut().unwrap().metadata.tags = tags.iter().map(ToString::to_string).collect();
        self
    }

    fn aliases(mut self, aliases: &[&str]) -> Self {
        self.document.as_mut().unwrap().metadata.aliases = aliases.iter().map(ToString::to_string).collect();
        self
    }

    fn kind(mut self, kind: DocumentKind) -> Self {
        self.document.as_mut().unwrap().kind = kind;
        self
    }

    fn language(mut self, language: &str) -> Self {
        self.document.as_mut().unwrap().language = Some(language.to_owned());
        self
    }

    fn modified_ms(mut self, time: i64) -> Self {
        self.modified_ns = time * 1_000_000;
        self
    }

    fn links(mut self, links: &[LinkWrite]) -> Self {
        self.document.as_mut().unwrap().links = links.to_vec();
        self
    }
}

/// `[[name]]`.
pub(crate) fn wiki(name: &str) -> LinkWrite {
    LinkWrite {
        name: name.to_owned(),
        fragment: None,
        label: None,
        embed: false,
        wiki: true,
        line: 1,
        chunk: Some(0),
    }
}

/// `[text](name)`.
pub(crate) fn markdown(name: &str) -> LinkWrite {
    LinkWrite { wiki: false, label: Some("text".to_owned()), ..wiki(name) }
}

/// A batch of files.
pub(crate) fn batch(files: Vec<FileWrite>) -> WriteBatch {
    WriteBatch { files, ..WriteBatch::default() }
}

/// Writes files and makes them searchable.
pub(crate) fn store_all(store: &dyn Store, files: Vec<FileWrite>) -> Vec<DocumentId> {
    let Applied { documents, generation } = store.apply(batch(files)).unwrap();
    store.settle().unwrap();
    assert!(store.summary().unwrap().searchable >= generation);
    documents
}

/// A question in words.
pub(crate) fn words(text: &str) -> LexicalQuery {
    clauses(vec![Clause::Words(text.to_owned())])
}

/// A question of these parts.
pub(crate) fn clauses(clauses: Vec<Clause>) -> LexicalQuery {
    LexicalQuery {
        clauses,
        languages: vec!["en".to_owned()],
        filter: Filter::default(),
        without_document: None,
        limit: 20,
    }
}

/// Answers a question with numbers of documents, best first, each once.
pub(crate) fn found(store: &dyn Store, query: &LexicalQuery) -> Vec<i64> {
    documents_of(&store.lexical(query).unwrap())
}

/// Documents of candidates, best first, each once.
pub(crate) fn documents_of(candidates: &Candidates) -> Vec<i64> {
    let mut documents: Vec<i64> = Vec::new();
    for candidate in &candidates.list {
        if !documents.contains(&candidate.chunk.document.0) {
            documents.push(candidate.chunk.document.0);
        }
    }
    documents
}

/// The embedding of a chunk made by [`document`].
pub(crate) fn embedding(title: &str, text: &str, vector: &[f32]) -> EmbeddingWrite {
    EmbeddingWrite { hash: hash_of(title, text), model: "model-a".to_owned(), vector: vector.to_vec() }
}

/// A question in meaning.
pub(crate) fn meaning(vector: &[f32]) -> VectorQuery {
    VectorQuery {
        model: "model-a".to_owned(),
        vector: vector.to_vec(),
        filter: Filter::default(),
        without_document: None,
        limit: 10,
    }
}
