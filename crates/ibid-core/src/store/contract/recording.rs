//! Writing and reading back.

use ibid_api::{
    DocumentFilter, DocumentKey, DocumentKind, FileOutcome, Filter, Generation, NoteId, Paging, RelPath,
    SkipReason,
};

use super::{Check, samples::*};
use crate::store::{FileWrite, SettingWrite, Store, WriteBatch};

pub(super) const ALL: &[Check] = &[
    ("an empty store answers everything with nothing", an_empty_store_answers_everything_with_nothing),
    ("documents are read back as they were written", documents_are_read_back_as_they_were_written),
    ("a document keeps its number while its path stays", a_document_keeps_its_number_while_its_path_stays),
    ("removed documents are gone and numbers are not reused", removed_documents_are_gone),
    ("generations count writes", generations_count_writes),
    ("files are listed with their outcomes", files_are_listed_with_their_outcomes),
    ("lists are filtered and paged", lists_are_filtered_and_paged),
    ("settings are kept", settings_are_kept),
    ("embeddings are kept by content", embeddings_are_kept_by_content),
];

fn an_empty_store_answers_everything_with_nothing(store: &dyn Store) {
    let path = RelPath::parse("a.md").unwrap();
    assert_eq!(store.generation().unwrap(), Generation(0));
    assert_eq!(store.document(&DocumentKey::Path(path)).unwrap(), None);
    assert_eq!(store.documents(&DocumentFilter::default(), Paging::default()).unwrap().total, 0);
    assert_eq!(found(store, &words("anything")), [0; 0]);
    assert!(!store.lexical(&words("anything")).unwrap().behind);
    assert!(store.nearest(&meaning(&[1.0])).unwrap().list.is_empty());
    assert_eq!(store.similar_terms("anything", 5).unwrap(), []);
    assert_eq!(store.count_pending_embeddings("model-a").unwrap(), 0);
    assert_eq!(store.settle().unwrap(), Generation(0));
    assert_eq!(store.summary().unwrap().documents, 0);
}

fn documents_are_read_back_as_they_were_written(store: &dyn Store) {
    let file = document(
        "folder/Ünïcode ノート.md",
        "Title \u{1F600} \"quoted\"",
        &["first", "", "日本語 text\n\tend"],
    )
    .tags(&["a/b", "collection:work"])
    .aliases(&["Alias"])
    .kind(DocumentKind::Note);
    let written = file.document.clone().unwrap();
    let id = store_all(store, vec![file.clone()])[0];

    let stored = store.document(&DocumentKey::Id(id)).unwrap().unwrap();
    for key in [DocumentKey::Path(written.path.clone()), DocumentKey::Note(NoteId::of(&written.path))] {
        assert_eq!(store.document(&key).unwrap().as_ref(), Some(&stored));
    }
    assert_eq!(stored.summary.source, file.source);
    assert_eq!(stored.summary.title, written.title);
    assert_eq!(stored.summary.kind, DocumentKind::Note);
    assert_eq!(stored.summary.metadata, written.metadata);
    assert_eq!(stored.summary.modified_ms, 1_700_000_000_000);
    assert_eq!(stored.summary.chunk_count, 3);
    assert_eq!(stored.fields, written.fields);
    assert_eq!(stored.attachments, written.attachments);
    assert_eq!(stored.hash, file.hash);
    assert_eq!(store.summaries(&[id, id]).unwrap(), [stored.summary.clone(), stored.summary]);

    let chunks = store.chunks_of(id).unwrap();
    assert_eq!(chunks.len(), 3);
    for (chunk, draft) in chunks.iter().zip(&written.chunks) {
        assert_eq!((&chunk.text, chunk.hash), (&draft.text, draft.hash));
        assert_eq!((chunk.bytes, chunk.lines), (draft.bytes, draft.lines));
        assert_eq!(chunk.heading_path, draft.heading_path);
    }
    let wanted = [chunks[2].chunk, ibid_api::ChunkRef { document: id, index: 9 }, chunks[0].chunk];
    assert_eq!(store.chunks(&wanted).unwrap(), [chunks[2].clone(), chunks[0].clone()]);
}

fn a_document_keeps_its_number_while_its_path_stays(store: &dyn Store) {
    let first = document("a.md", "First", &["alpha beta"]);
    let id = store_all(store, vec![first.clone()])[0];
    assert_eq!(store_all(store, vec![first.clone()]), [id]);
    assert_eq!(store_all(store, vec![first.clone().tags(&["new"])]), [id]);
    assert_eq!(store_all(store, vec![document("a.md", "Second", &["gamma", "delta"])]), [id]);
    assert_eq!(found(store, &words("alpha")), [0; 0]);
    assert_eq!(found(store, &words("delta")), [id.0]);
    assert_eq!(store.chunks_of(id).unwrap().len(), 2);
    assert_eq!(store.summary().unwrap().chunks, 2);

    let touched = FileWrite { document: None, keep_document: true, ..first };
    assert_eq!(store_all(store, vec![touched]), []);
    assert_eq!(found(store, &words("delta")), [id.0]);
}

fn removed_documents_are_gone(store: &dyn Store) {
    let files = ["a.md", "b.md", "c.md"].map(|path| document(path, path, &["shared words"]));
    let other = document("a.md", "other", &["shared words"]).source("other");
    let ids = store_all(store, files.into_iter().chain([other]).collect());

    let removed =
        WriteBatch { remove: vec![(SOURCE.to_owned(), "a.md".to_owned())], ..WriteBatch::default() };
    store.apply(removed).unwrap();
    store.settle().unwrap();
    assert_eq!(found(store, &words("shared")), [ids[1].0, ids[2].0, ids[3].0]);

    let unreadable = FileWrite {
        document: None,
        outcome: FileOutcome::Failed { reason: "permission denied".to_owned() },
        ..document("b.md", "b", &[])
    };
    store_all(store, vec![unreadable]);
    assert_eq!(found(store, &words("shared")), [ids[2].0, ids[3].0]);

    let again = store_all(store, vec![document("a.md", "a", &["shared words"])]);
    assert!(again[0] > ids[3], "a number was used again");

    let forget = WriteBatch { forget_sources: vec![SOURCE.to_owned()], ..WriteBatch::default() };
    store.apply(forget).unwrap();
    store.settle().unwrap();
    assert_eq!(found(store, &words("shared")), [ids[3].0]);
    assert_eq!(store.stored_files(SOURCE).unwrap(), []);
    assert_eq!(store.summary().unwrap().documents, 1);
}

fn generations_count_writes(store: &dyn Store) {
    let first = store.apply(batch(vec![document("a.md", "A", &["alpha"])])).unwrap().generation;
    assert_eq!(store.generation().unwrap(), first);
    store.settle().unwrap();
    let second = store.apply(batch(vec![document("b.md", "B", &["beta"])])).unwrap().generation;
    assert!(second > first);

    let answer = store.lexical(&words("alpha")).unwrap();
    if answer.behind {
        assert!(answer.generation < second);
        assert!(store.summary().unwrap().searchable < second);
    }
    assert_eq!(store.settle().unwrap(), second);
    let answer = store.lexical(&words("beta")).unwrap();
    assert_eq!((answer.behind, answer.generation, answer.list.len()), (false, second, 1));

    // A write that changes no text leaves nothing to settle.
    let vector = embedding("A", "alpha", &[1.0, 0.0]);
    let third =
        store.apply(WriteBatch { embeddings: vec![vector], ..WriteBatch::default() }).unwrap().generation;
    let answer = store.lexical(&words("beta")).unwrap();
    assert_eq!((answer.behind, answer.generation), (false, third));
    let summary = store.summary().unwrap();
    assert_eq!((summary.generation, summary.searchable), (third, third));
    assert!(summary.last_write_ms.is_some());
    assert!(summary.disk_bytes > 0);
}

fn files_are_listed_with_their_outcomes(store: &dyn Store) {
    let skipped = FileOutcome::Skipped { reason: SkipReason::Binary };
    let failed = FileOutcome::Failed { reason: "permission denied".to_owned() };
    let files = vec![
        document("b.md", "B", &["beta"]),
        FileWrite {
            path: "a\\bad".to_owned(),
            document: None,
            hash: None,
            outcome: skipped.clone(),
            ..document("a.md", "", &[])
        },
        FileWrite { document: None, outcome: failed, ..document("c.md", "C", &[]) }.source("other"),
    ];
    store_all(store, files.clone());
    let listed = store.stored_files(SOURCE).unwrap();
    let paths: Vec<_> = listed.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a\\bad", "b.md"]);
    assert_eq!((&listed[0].outcome, listed[0].hash), (&skipped, None));
    assert_eq!((listed[1].size, listed[1].modified_ns), (files[0].size, files[0].modified_ns));

    let page = store.file_reports(Paging { limit: 1, offset: 2 }).unwrap();
    assert_eq!((page.total, page.items[0].source.as_str()), (3, "other"));
    let summary = store.summary().unwrap();
    assert_eq!(summary.sources, [(SOURCE.to_owned(), 1, 1, 0), ("other".to_owned(), 0, 0, 1)]);
}

fn lists_are_filtered_and_paged(store: &dyn Store) {
    store_all(
        store,
        vec![
            document("z/last.md", "Zulu", &["x"]).tags(&["Area/Work", "x"]).modified_ms(1000),
            document("a/first.md", "Alpha ÉTÉ", &["x"]).tags(&["area"]).modified_ms(2000),
            document("a/second.txt", "Beta", &["x"])
                .kind(DocumentKind::Text)
                .aliases(&["Summer"])
                .modified_ms(3000),
            document("a/first.md", "Other", &["x"]).source("b-side").tags(&["collection:Box"]).language("es"),
        ],
    );
    let check = |filter: Filter, name: Option<&str>, want: &[&str]| {
        let wanted = DocumentFilter { filter, name: name.map(ToOwned::to_owned) };
        let page = store.documents(&wanted, Paging::default()).unwrap();
        let titles: Vec<_> = page.items.iter().map(|item| item.title.as_str()).collect();
        assert_eq!((titles.as_slice(), page.total), (want, want.len() as u64), "{wanted:?}");
    };
    let filter = Filter::default;
    let texts = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    check(filter(), None, &["Other", "Alpha ÉTÉ", "Beta", "Zulu"]);
    check(Filter { tags: texts(&["area"]), ..filter() }, None, &["Alpha ÉTÉ", "Zulu"]);
    check(Filter { tags: texts(&["#area/work", "X"]), ..filter() }, None, &["Zulu"]);
    check(Filter { collection: Some("box".into()), ..filter() }, None, &["Other"]);
    check(Filter { kinds: vec![DocumentKind::Text, DocumentKind::Pdf], ..filter() }, None, &["Beta"]);
    check(Filter { paths: texts(&["a/*.md", "z"]), ..filter() }, None, &["Other", "Alpha ÉTÉ", "Zulu"]);
    check(
        Filter { paths: texts(&["a"]), sources: texts(&[SOURCE]), ..filter() },
        None,
        &["Alpha ÉTÉ", "Beta"],
    );
    check(Filter { languages: texts(&["es"]), ..filter() }, None, &["Other"]);
    let recent = Filter { modified_from_ms: Some(2000), modified_to_ms: Some(3000), ..filter() };
    check(recent, None, &["Alpha ÉTÉ"]);
    check(filter(), Some("été"), &["Alpha ÉTÉ"]);
    check(filter(), Some("SUMM"), &["Beta"]);
    check(filter(), Some("area/w"), &["Zulu"]);
    check(filter(), Some("%"), &[]);

    for paths in [vec![], texts(&["**"])] {
        let wanted = DocumentFilter { filter: Filter { paths, ..filter() }, name: None };
        let page = store.documents(&wanted, Paging { limit: 2, offset: 1 }).unwrap();
        let titles: Vec<_> = page.items.iter().map(|item| item.title.as_str()).collect();
        assert_eq!((titles.as_slice(), page.total), (["Alpha ÉTÉ", "Beta"].as_slice(), 4));
    }
}

fn settings_are_kept(store: &dyn Store) {
    let set = |name: &str, value: Option<&str>| {
        let setting = SettingWrite { name: name.to_owned(), value: value.map(ToOwned::to_owned) };
        store.apply(WriteBatch { settings: vec![setting], ..WriteBatch::default() }).unwrap();
    };
    set("fingerprint", Some("one"));
    set("fingerprint", Some("two"));
    assert_eq!(store.setting("fingerprint").unwrap().as_deref(), Some("two"));
    assert_eq!(store.setting("other").unwrap(), None);
    set("fingerprint", None);
    assert_eq!(store.setting("fingerprint").unwrap(), None);
}

fn embeddings_are_kept_by_content(store: &dyn Store) {
    store_all(store, vec![document("a.md", "A", &["alpha", "beta", "alpha"])]);
    store_all(store, vec![document("b.md", "B", &["gamma"])]);
    assert_eq!(store.count_pending_embeddings("model-a").unwrap(), 3);
    let pending = store.pending_embeddings("model-a", 10).unwrap();
    let texts: Vec<_> = pending.iter().map(|text| text.text.as_str()).collect();
    assert_eq!(texts, ["gamma", "alpha", "beta"], "the newest first, each once");
    assert_eq!((pending[1].title.as_str(), pending[1].hash), ("A", hash_of("A", "alpha")));
    assert_eq!(store.pending_embeddings("model-a", 2).unwrap().len(), 2);

    let write = |vectors| store.apply(WriteBatch { embeddings: vectors, ..WriteBatch::default() }).unwrap();
    write(vec![embedding("B", "gamma", &[0.6, 0.8]), embedding("A", "alpha", &[1.0, 0.0])]);
    assert_eq!(store.count_pending_embeddings("model-a").unwrap(), 1);
    assert_eq!(store.count_pending_embeddings("model-b").unwrap(), 3);
    let pending = store.pending_embeddings("model-a", 10).unwrap();
    assert_eq!(pending.iter().map(|text| text.text.as_str()).collect::<Vec<_>>(), ["beta"]);

    let hashes = [hash_of("B", "gamma"), hash_of("A", "beta")];
    let stored = store.embeddings("model-a", &hashes).unwrap();
    let vector = stored[0].as_ref().unwrap();
    assert!((vector[0] - 0.6).abs() < 1e-3 && (vector[1] - 0.8).abs() < 1e-3, "{vector:?}");
    assert_eq!(stored[1], None);
    assert_eq!(store.embeddings("model-b", &hashes).unwrap(), [None, None]);

    // A renamed document has the same texts: nothing is embedded again.
    let rename = WriteBatch {
        remove: vec![(SOURCE.to_owned(), "b.md".to_owned())],
        files: vec![document("c.md", "B", &["gamma"])],
        ..WriteBatch::default()
    };
    store.apply(rename).unwrap();
    store.settle().unwrap();
    assert_eq!(store.count_pending_embeddings("model-a").unwrap(), 1);
}
