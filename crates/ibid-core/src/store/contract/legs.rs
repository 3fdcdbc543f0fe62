//! Candidates by words and by meaning.

use ibid_api::{ChunkRef, DocumentId, DocumentKind, Filter};

use super::{Check, samples::*};
use crate::store::{Clause, DOCUMENT_ITSELF, LexicalQuery, Store, WriteBatch};

pub(super) const ALL: &[Check] = &[
    ("any word finds, and more words find better", any_word_finds),
    ("stems, parts of identifiers and accents find", forms_of_words_find),
    ("titles, aliases, tags and paths find", names_find),
    ("phrases, exclusions, titles and prefixes restrict", clauses_restrict),
    ("filters act inside the leg", filters_act_inside_the_leg),
    ("without words everything that passes is listed", without_words_everything_that_passes),
    ("the order of equal scores is fixed", the_order_of_equal_scores_is_fixed),
    ("hostile text is only text", hostile_text_is_only_text),
    ("long questions are answered", long_questions_are_answered),
    ("languages are analysed in their own way", languages_are_analysed),
    ("similar terms are found for typos", similar_terms_are_found),
    ("the nearest by meaning come first", the_nearest_come_first),
];

fn any_word_finds(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![
            document("a.md", "One", &["how to bake bread with yeast", "how to store flour"]),
            document("b.md", "Two", &["bread is bought at the bakery"]),
            document("c.md", "Three", &["nothing of the kind"]),
        ],
    );
    let answer = store.lexical(&words("what is the best way to bake bread?")).unwrap();
    assert_eq!(documents_of(&answer)[..2], [ids[0].0, ids[1].0]);
    assert_eq!(answer.list[0].chunk, ChunkRef { document: ids[0], index: 0 });
    assert!(answer.list.windows(2).all(|pair| pair[0].score >= pair[1].score));

    let one = LexicalQuery { limit: 1, ..words("bread") };
    assert_eq!(store.lexical(&one).unwrap().list.len(), 1);
    let none = LexicalQuery { limit: 0, ..words("bread") };
    assert_eq!(store.lexical(&none).unwrap().list, []);
    let without = LexicalQuery { without_document: Some(ids[0]), ..words("bread bake") };
    assert_eq!(found(store, &without), [ids[1].0]);
    assert_eq!(found(store, &words("unheard-of")), [0; 0]);
}

fn forms_of_words_find(store: &dyn Store) {
    let id = store_all(
        store,
        vec![document(
            "a.md",
            "A",
            &["The servers were connecting; call getUserName() in Größe café 東京都庁"],
        )],
    )[0];
    for text in
        ["server", "connect", "username", "user name", "getusername", "GROSSE", "cafe", "東京", "京都庁"]
    {
        let want: &[i64] = if text == "username" { &[] } else { &[id.0] };
        assert_eq!(found(store, &words(text)), want, "{text}");
    }
}

fn names_find(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![
            document("handbook/deploy-guide.md", "Shipping", &["text"])
                .aliases(&["Rollout"])
                .tags(&["ops/release"]),
            document("empty.md", "Placeholder page", &[]),
        ],
    );
    for name in ["shipping", "rollouts", "release", "deploy", "handbook"] {
        assert_eq!(found(store, &words(name)), [ids[0].0], "{name}");
    }
    let answer = store.lexical(&words("placeholder")).unwrap();
    assert_eq!(answer.list[0].chunk, ChunkRef { document: ids[1], index: DOCUMENT_ITSELF });
    assert_eq!(store.chunks(&[answer.list[0].chunk]).unwrap(), []);
}

fn clauses_restrict(store: &dyn Store) {
    let ids: Vec<i64> = store_all(
        store,
        vec![
            document("a.md", "Alpha", &["the state of the art in search engines"]),
            document("b.md", "Beta", &["the art of the state, and searching"]),
            document("c.md", "Gamma search", &["configuration of src/main.rs and more"]),
        ],
    )
    .iter()
    .map(|id| id.0)
    .collect();
    let check = |parts: Vec<Clause>, want: &[i64]| {
        let mut numbers = found(store, &clauses(parts.clone()));
        numbers.sort_unstable();
        assert_eq!(numbers, want, "{parts:?}");
    };
    let text = |text: &str| text.to_owned();
    check(vec![Clause::Phrase(text("state of the art"))], &ids[..1]);
    check(vec![Clause::Phrase(text("State of the ART")), Clause::Words(text("configuration"))], &ids[..1]);
    check(vec![Clause::Phrase(text("state art"))], &[]);
    check(vec![Clause::Phrase(text("main.rs"))], &ids[2..]);
    check(vec![Clause::Phrase(text("gamma search"))], &ids[2..]);
    check(vec![Clause::Words(text("search")), Clause::Not(text("engines"))], &ids[1..]);
    check(vec![Clause::Words(text("search")), Clause::Not(text("of the art"))], &ids[1..]);
    check(vec![Clause::Not(text("art"))], &ids[2..]);
    check(vec![Clause::Title(text("searching"))], &ids[2..]);
    check(vec![Clause::Title(text("gamma beta"))], &[]);
    check(vec![Clause::Title(text("the"))], &[]);
    check(vec![Clause::Prefix(text("confi"))], &ids[2..]);
    check(vec![Clause::Prefix(text("gam"))], &ids[2..]);
    check(vec![Clause::Prefix(text("zzz"))], &[]);
    check(vec![Clause::Words(text("!?"))], &[]);
    check(vec![Clause::Words(text("of the"))], &ids);
}

fn filters_act_inside_the_leg(store: &dyn Store) {
    // Many better matches that do not pass: a filter after the cut would leave nothing.
    let mut files: Vec<_> =
        (0..60).map(|n| document(&format!("many/{n}.md"), "Pears", &["pears pears pears"])).collect();
    files.push(document("few/one.md", "Fruit", &["some pears among other fruit"]).tags(&["Fruit/Green"]));
    files.push(document("few/two.txt", "Fruit", &["pears and apples"]).kind(DocumentKind::Text).source("b"));
    files.push(document("few/old.md", "Fruit", &["old pears"]).modified_ms(5000).tags(&["collection:Attic"]));
    files.push(document("few/es.md", "Fruta", &["peras pears"]).language("es"));
    let ids = store_all(store, files);
    let check = |filter: Filter, want: &[usize]| {
        let want: Vec<i64> = want.iter().map(|&index| ids[index].0).collect();
        let query = LexicalQuery { filter: filter.clone(), limit: 3, ..words("pears") };
        let mut numbers = found(store, &query);
        numbers.sort_unstable();
        assert_eq!(numbers, want, "{filter:?}");
    };
    let texts = |values: &[&str]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
    let filter = Filter::default;
    check(Filter { tags: texts(&["fruit"]), ..filter() }, &[60]);
    check(Filter { tags: texts(&["fruit/green"]), kinds: vec![DocumentKind::Markdown], ..filter() }, &[60]);
    check(Filter { tags: texts(&["fruit", "absent"]), ..filter() }, &[]);
    check(Filter { collection: Some("attic".into()), ..filter() }, &[62]);
    check(Filter { kinds: vec![DocumentKind::Text, DocumentKind::Pdf], ..filter() }, &[61]);
    check(Filter { sources: texts(&["b"]), ..filter() }, &[61]);
    check(Filter { languages: texts(&["es"]), ..filter() }, &[63]);
    check(Filter { modified_to_ms: Some(5001), ..filter() }, &[62]);
    check(Filter { modified_from_ms: Some(5000), modified_to_ms: Some(5001), ..filter() }, &[62]);
    check(Filter { paths: texts(&["few/*.md"]), ..filter() }, &[60, 62, 63]);
    check(Filter { paths: texts(&["few/*.md"]), languages: texts(&["es"]), ..filter() }, &[63]);
    check(Filter { paths: texts(&["nowhere/**"]), ..filter() }, &[]);
}

fn without_words_everything_that_passes(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![
            document("b.md", "B", &["one", "two"]).tags(&["x"]),
            document("a.md", "A", &["three"]).tags(&["x"]),
            document("c.md", "C", &["four"]),
        ],
    );
    let filter = Filter { tags: vec!["x".to_owned()], ..Filter::default() };
    let list = |query: &LexicalQuery| -> Vec<ChunkRef> {
        store.lexical(query).unwrap().list.iter().map(|candidate| candidate.chunk).collect()
    };
    let chunk = |document: DocumentId, index| ChunkRef { document, index };
    let all = [chunk(ids[0], 0), chunk(ids[0], 1), chunk(ids[1], 0)];
    assert_eq!(list(&LexicalQuery { filter: filter.clone(), ..clauses(vec![]) }), all);
    assert_eq!(list(&LexicalQuery { filter: filter.clone(), limit: 2, ..clauses(vec![]) }), all[..2]);
    assert_eq!(list(&LexicalQuery { filter, without_document: Some(ids[0]), ..clauses(vec![]) }), all[2..]);
    assert_eq!(list(&clauses(vec![])).len(), 4);
}

fn the_order_of_equal_scores_is_fixed(store: &dyn Store) {
    let name = |n: usize| format!("{}.md", char::from(b'a' + (n % 26) as u8).to_string().repeat(n / 26 + 1));
    let mut ids: Vec<i64> = Vec::new();
    // Written in several goes, so that they lie apart in the index.
    for go in 0..5 {
        let files = (0..24).map(|n| document(&name(go * 24 + n), "Same", &["equal words"])).collect();
        ids.extend(store_all(store, files).iter().map(|id| id.0));
    }
    let query = LexicalQuery { limit: 7, ..words("equal words") };
    let first = store.lexical(&query).unwrap();
    assert_eq!(documents_of(&first), ids[..7]);
    assert_eq!(store.lexical(&query).unwrap(), first);
}

fn hostile_text_is_only_text(store: &dyn Store) {
    let hostile = [
        "\"",
        "'",
        "\"unclosed phrase",
        "a\"b'c",
        "(((",
        ")))",
        "[a TO b]",
        "{x}",
        "field:value",
        "-",
        "--",
        "+",
        "~1",
        "^2",
        "*",
        "?",
        "a* OR b?",
        "NOT",
        "AND OR",
        "\\",
        "\\\"",
        "%",
        "_",
        "%00",
        "NULL",
        "undefined",
        "';--",
        "' OR 1=1; DROP TABLE documents;--",
        "<script>alert(1)</script>",
        "\u{202e}RTL",
        "\u{200b}",
        "\u{feff}bom",
        "Ω≈ç√∫˜µ≤≥÷",
        "田中さんにあげて下さい",
        "🏳️‍🌈👨‍👩‍👧‍👦",
        "ﷺ",
        "Z̮̞̠͙͔ͅḀ̗̞͈̻̗Ḷ͙͎̯̹̞͓G̻O̭̗̮",
        "\u{1}\u{1}",
        "\t\n\r",
        "a\u{1}b",
        "",
        "   ",
        "0x0",
        "1e1000",
        "../../../etc/passwd",
        "$(touch x)",
        "{{7*7}}",
        "İstanbul ıI",
        "ﬁ ﬂ",
        "\u{10ffff}",
    ];
    let files =
        hostile.iter().enumerate().map(|(n, text)| document(&format!("{n}.md"), text, &[text])).collect();
    let ids = store_all(store, files);
    for (text, id) in hostile.iter().zip(ids) {
        let text = (*text).to_owned();
        let every = [
            Clause::Words(text.clone()),
            Clause::Phrase(text.clone()),
            Clause::Not(text.clone()),
            Clause::Title(text.clone()),
            Clause::Prefix(text.clone()),
        ];
        for clause in every {
            store.lexical(&clauses(vec![clause])).unwrap();
        }
        let filter = Filter {
            tags: vec![text.clone()],
            collection: Some(text.clone()),
            paths: vec![text.clone()],
            sources: vec![text.clone()],
            languages: vec![text.clone()],
            ..Filter::default()
        };
        store.lexical(&LexicalQuery { filter: filter.clone(), ..words(&text) }).unwrap();
        store.similar_terms(&text, 5).unwrap();
        store.named(&text).unwrap();
        let listed = ibid_api::DocumentFilter { filter, name: Some(text.clone()) };
        store.documents(&listed, ibid_api::Paging::default()).unwrap();
        let stored = store.document(&ibid_api::DocumentKey::Id(id)).unwrap().unwrap();
        assert_eq!(stored.summary.title, text);
        assert_eq!(store.chunks_of(id).unwrap()[0].text, text);
    }
}

fn long_questions_are_answered(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![document("a.md", "A", &["the zebra crossed"]), document("b.md", "B", &["common filler words"])],
    );
    let filler = (0..600).map(|n| format!("filler{n} common")).collect::<Vec<_>>().join(" ");
    let answer = store.lexical(&words(&format!("{filler} zebra"))).unwrap();
    assert!(documents_of(&answer).contains(&ids[0].0));
}

fn languages_are_analysed(store: &dyn Store) {
    let spanish = "las canciones de la fiesta";
    let ids = store_all(
        store,
        vec![
            document("es.md", "Uno", &[spanish]).language("es"),
            document("en.md", "Two", &["the songs of La Paz de facto"]),
        ],
    );
    let ask = |text: &str, languages: &[&str]| {
        let languages = languages.iter().map(ToString::to_string).collect();
        found(store, &LexicalQuery { languages, ..words(text) })
    };
    assert_eq!(ask("canción", &["es"]), [ids[0].0]);
    assert_eq!(ask("canción", &[]), [ids[0].0], "languages of the documents are always included");
    assert_eq!(ask("song de la", &["en", "es"]), [ids[1].0]);
    assert_eq!(ask("la fiesta", &["es"]), [ids[0].0]);
}

fn similar_terms_are_found(store: &dyn Store) {
    store_all(
        store,
        vec![
            document("a.md", "A", &["configuration kubernetes"]),
            document("b.md", "B", &["configuration configurations cube"]),
        ],
    );
    let check = |term: &str, want: &[(&str, u64)]| {
        let want: Vec<_> = want.iter().map(|(term, count)| ((*term).to_owned(), *count)).collect();
        assert_eq!(store.similar_terms(term, 5).unwrap(), want, "{term}");
    };
    check("configuraton", &[("configuration", 2), ("configurations", 1)]);
    check("kubernites", &[("kubernetes", 1)]);
    check("kubernets", &[]); // shares its stem with a word there is, so it finds without help
    check("Kubrenetes", &[("kubernetes", 1)]);
    check("cubs", &[("cube", 1)]);
    check("cub", &[]);
    check("entirely", &[]);
    assert_eq!(store.similar_terms("configuraton", 1).unwrap().len(), 1);
}

fn the_nearest_come_first(store: &dyn Store) {
    let ids = store_all(
        store,
        vec![
            document("a.md", "A", &["north", "east"]).tags(&["x"]),
            document("b.md", "B", &["north-east"]),
            document("c.md", "C", &["same", "same"]),
        ],
    );
    let embeddings = vec![
        embedding("A", "north", &[0.0, 1.0]),
        embedding("A", "east", &[1.0, 0.0]),
        embedding("B", "north-east", &[0.6, 0.8]),
        embedding("C", "same", &[-1.0, 0.0]),
    ];
    store.apply(WriteBatch { embeddings, ..WriteBatch::default() }).unwrap();
    let list = |query| -> Vec<(i64, u32)> {
        let answer = store.nearest(&query).unwrap();
        assert!(answer.list.windows(2).all(|pair| pair[0].score >= pair[1].score));
        answer.list.iter().map(|found| (found.chunk.document.0, found.chunk.index)).collect()
    };
    let [a, b, c] = [ids[0].0, ids[1].0, ids[2].0];
    assert_eq!(list(meaning(&[1.0, 0.0])), [(a, 1), (b, 0), (a, 0), (c, 0), (c, 1)]);
    let mut query = meaning(&[1.0, 0.0]);
    query.limit = 2;
    assert_eq!(list(query.clone()), [(a, 1), (b, 0)]);
    query.without_document = Some(ids[0]);
    assert_eq!(list(query.clone()), [(b, 0), (c, 0)]);
    query.without_document = None;
    query.filter = Filter { tags: vec!["x".to_owned()], ..Filter::default() };
    assert_eq!(list(query.clone()), [(a, 1), (a, 0)]);
    query.filter = Filter { paths: vec!["b.*".to_owned()], ..Filter::default() };
    assert_eq!(list(query.clone()), [(b, 0)]);
    query.model = "model-b".to_owned();
    assert_eq!(list(query), []);
    assert_eq!(list(meaning(&[1.0, 0.0, 0.0])), [], "vectors of another length do not compare");
}
