//! Words and meaning together: which of them decides.

use ibid_api::{Engine as _, Mode, SearchRequest};
use ibid_core::{EmbeddingConfig, LocalEngine, ingest::Silent};

use crate::{
    knowledge::{call, config, update},
    tree::Tree,
};

fn knowledge(tree: &Tree) -> LocalEngine {
    let mut config = config(tree);
    config.embedding = EmbeddingConfig::Builtin;
    let engine = LocalEngine::open(config).unwrap();
    update(&engine);
    engine.embed_pending_blocking(&Silent, None).unwrap();
    engine
}

fn found(engine: &LocalEngine, query: &str, mode: Mode) -> Vec<String> {
    let mut request = SearchRequest::new(query, 20);
    request.mode = Some(mode);
    let reply = call(engine.search(request)).unwrap();
    assert_eq!(reply.used_mode, mode, "{query}");
    reply.hits.iter().map(|hit| hit.document.path.to_string()).collect()
}

#[test]
fn the_only_text_with_the_word_asked_for_comes_first() {
    let night = "The night run ended early and the belts stood still until morning. The operator wrote E4711 \
                 into the book, turned off the lights and drove home through the rain.";
    let tree = Tree::new(&[
        ("1.md", "E4712: no paper."),
        ("2.md", "E4710: the door is open."),
        ("3.md", "E4117: too hot."),
        ("4.md", "E4771: call the service."),
        ("5.md", night),
        ("6.md", "Error codes have a letter and four digits."),
        ("7.md", "Teachers bargain with the ministry for better pay and smaller classes."),
    ]);
    let engine = knowledge(&tree);
    assert_ne!(found(&engine, "E4711", Mode::Embedding)[0], "5.md");
    assert_eq!(found(&engine, "E4711", Mode::Hybrid)[0], "5.md");
    // One word among many that no text has says little about what is sought.
    let asked = "who negotiates salaries for staff at school when it rains";
    assert_eq!(found(&engine, asked, Mode::Hybrid)[0], "7.md");
}

#[test]
fn words_decide_alone_until_half_of_the_passages_have_a_meaning() {
    let texts =
        ["Bees", "Bread", "Bridges", "Boats"].map(|name| (format!("{name}.md"), format!("About {name}.")));
    let files: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let tree = Tree::new(&files);
    let mut config = config(&tree);
    config.embedding = EmbeddingConfig::Builtin;
    let engine = LocalEngine::open(config).unwrap();
    update(&engine);
    let used = || call(engine.search(SearchRequest::new("about bread", 4))).unwrap().used_mode;
    engine.embed_pending_blocking(&Silent, Some(1)).unwrap();
    assert_eq!(used(), Mode::Lexical);
    engine.embed_pending_blocking(&Silent, Some(1)).unwrap();
    assert_eq!(used(), Mode::Hybrid);
}

#[test]
fn words_decide_alone_where_the_model_sees_letters() {
    let tree = Tree::new(&[
        ("1.md", "Капусту солят и мнут до появления сока."),
        ("2.md", "Ульи осматривают в безветренный день."),
        ("3.md", "Мосты разводят около двух часов ночи."),
        ("4.md", "Сковороду моют горячей водой и сушат на огне."),
    ]);
    let engine = knowledge(&tree);
    for query in ["когда разводят мосты ночью", "в какой день осматривать ульи"]
    {
        assert_eq!(found(&engine, query, Mode::Hybrid), found(&engine, query, Mode::Lexical), "{query}");
    }
    // Where words find nothing, meaning is asked all the same.
    assert!(!found(&engine, "пчеловодство", Mode::Hybrid).is_empty());
}
