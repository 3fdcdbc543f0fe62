//! What the tools find and read.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Enveloped, Stdio, Vault, note_id};

fn results(reply: &Value) -> &Vec<Value> {
    reply["results"].as_array().unwrap()
}

fn search(client: &mut Stdio, arguments: Value) -> Value {
    client.call("search", arguments).unwrap()
}

#[test]
fn search_results_are_compact_and_complete() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let reply = search(&mut client, json!({"query": "irrigation of the beds at dawn", "limit": 3}));
    assert_eq!(
        (&reply["requestedMode"], &reply["usedMode"], &reply["limit"]),
        (&json!("hybrid"), &json!("hybrid"), &json!(3))
    );
    let first = &results(&reply)[0];
    let id = note_id("Projects/Garden plan.md");
    assert_eq!(first["noteId"], id);
    assert_eq!(first["id"], format!("{id}:{}", first["chunkIndex"]));
    assert_eq!((&first["type"], &first["heading"]), (&json!("chunk"), &json!("Beds")));
    assert_eq!(first["headingPath"], json!(["Garden plan", "Beds"]));
    let fields: BTreeSet<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "id",
        "type",
        "noteId",
        "chunkIndex",
        "path",
        "title",
        "heading",
        "headingPath",
        "snippet",
        "score",
        "reason",
        "metadata",
    ];
    assert_eq!(fields, BTreeSet::from(expected));
}

#[test]
fn a_snippet_shows_why_it_matched_and_is_never_the_whole_passage() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    for query in ["irrigation dawn", "straw", "electric fence", "labels face the front", "thatching", "hens"]
    {
        for item in results(&search(&mut client, json!({"query": query, "mode": "lexical"}))) {
            let snippet = item["snippet"].as_str().unwrap();
            assert!(snippet.chars().count() <= 240, "{snippet}");
            let index = &item["chunkIndex"];
            let chunk =
                client.call("get_chunk", json!({"note_id": item["noteId"], "chunk_index": index})).unwrap();
            let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_ne!(plain(snippet), plain(chunk["content"].as_str().unwrap()), "{query}");
        }
    }
    let reply = search(&mut client, json!({"query": "labels face the front", "mode": "lexical"}));
    let snippet = results(&reply)[0]["snippet"].as_str().unwrap().to_owned();
    assert!(
        snippet.contains("labels face the front"),
        "the end of a passage is shown where it matched: {snippet}"
    );
}

#[test]
fn scores_fall_from_the_first_to_the_last_and_lie_between_zero_and_one() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    for mode in ["lexical", "embedding", "hybrid"] {
        let reply = search(&mut client, json!({"query": "straw for the hens", "mode": mode}));
        let scores: Vec<f64> = results(&reply).iter().map(|item| item["score"].as_f64().unwrap()).collect();
        assert!(scores.len() > 1, "{mode}");
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)), "{mode} {scores:?}");
        assert!(scores.is_sorted_by(|left, right| left >= right), "{mode} {scores:?}");
        assert!(scores.first() > scores.last(), "{mode}: ranks differ, so do scores: {scores:?}");
    }
}

#[test]
fn the_same_question_has_the_same_answer_in_every_process() {
    let vault = Vault::indexed();
    let answers: BTreeSet<String> = (0..3)
        .map(|_| search(&mut vault.mcp(), json!({"query": "eggs in spring", "limit": 50})).to_string())
        .collect();
    assert_eq!(answers.len(), 1);
}

#[test]
fn each_mode_says_how_it_found() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    for (mode, reason) in
        [("lexical", "lexical_match"), ("embedding", "embedding_match"), ("hybrid", "hybrid_match")]
    {
        let reply = search(&mut client, json!({"query": "tomatoes", "mode": mode}));
        assert_eq!(reply["usedMode"], mode);
        assert!(results(&reply).iter().all(|item| item["reason"] == reason), "{reply}");
    }
}

#[test]
fn without_embeddings_the_mode_table_holds() {
    let vault = Vault::new().set("VAULT_AGENT_EMBEDDING_ENABLED", "false");
    vault.index();
    let (mut client, server) = (vault.mcp(), vault.serve(&[]));
    let codes = |reply: &Value| -> Vec<String> {
        let warnings = reply["warnings"].as_array().unwrap();
        warnings
            .iter()
            .map(|warning| warning["code"].as_str().unwrap().to_owned())
            .filter(|code| code.starts_with("EMB"))
            .collect()
    };
    let implicit = search(&mut client, json!({"query": "tomatoes"}));
    assert_eq!((&implicit["usedMode"], codes(&implicit)), (&json!("lexical"), vec![]));
    let hybrid = search(&mut client, json!({"query": "tomatoes", "mode": "hybrid"}));
    assert_eq!(
        (&hybrid["usedMode"], codes(&hybrid)),
        (&json!("lexical"), vec!["EMBEDDING_UNAVAILABLE".to_owned()])
    );
    let error = client.call("search", json!({"query": "tomatoes", "mode": "embedding"})).unwrap_err();
    assert_eq!(
        (&error["code"], &error["data"]["errorCode"]),
        (&json!(-32007), &json!("EMBEDDING_UNAVAILABLE"))
    );

    let id = note_id("Home.md");
    let related = client.call("related", json!({"type": "note", "id": id})).unwrap();
    assert_eq!(
        (&related["requestedMode"], &related["usedMode"], codes(&related)),
        (&json!("embedding"), &json!("lexical"), vec![])
    );
    let error = client.call("related", json!({"type": "note", "id": id, "mode": "embedding"})).unwrap_err();
    assert_eq!(error["code"], -32007);
    let reply = server.post("/search", &json!({"query": "tomatoes", "mode": "embedding"}));
    assert_eq!(reply.refused(), (503, "EMBEDDING_UNAVAILABLE".to_owned()));
}

#[test]
fn meaning_finds_what_shares_no_words() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let reply = search(&mut client, json!({"query": "chicken predators", "mode": "embedding", "limit": 3}));
    let paths: Vec<&str> = results(&reply).iter().map(|item| item["path"].as_str().unwrap()).collect();
    assert!(paths.contains(&"Animals/Poultry.MD") || paths.contains(&"Home.md"), "{paths:?}");
}

#[test]
fn a_note_without_text_is_found_by_its_name() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let reply = search(&mut client, json!({"query": "empty thoughts", "mode": "lexical"}));
    let item = results(&reply)
        .iter()
        .find(|item| item["path"] == "Empty thoughts.md")
        .unwrap_or_else(|| panic!("{reply}"));
    assert_eq!((&item["type"], &item["id"]), (&json!("note"), &item["noteId"]));
    assert_eq!(
        (&item["chunkIndex"], &item["heading"], &item["snippet"]),
        (&Value::Null, &Value::Null, &json!(""))
    );
    assert_eq!(item["headingPath"], json!([]));
}

#[test]
fn a_note_has_its_frontmatter_title_links_and_attachments() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let note = client.call("get_note", json!({"note_id": note_id("Home.md")})).unwrap();
    assert_eq!(note["title"], "Homestead");
    let content = note["content"].as_str().unwrap();
    assert!(content.starts_with("---\ntitle: Homestead"), "frontmatter is part of the content");
    assert_eq!(note["size"], content.len());
    let metadata = json!({
        "aliases": ["Start", "Farm"],
        "tags": ["farm", "journal/daily"],
        "date": "2024-05-01",
        "created": "2024-04-30",
        "updated": "2024-05-02",
        "attachmentCount": 2,
    });
    assert_eq!(note["metadata"], metadata);
    let garden = note_id("Projects/Garden plan.md");
    let resolved = note["links"]["resolved"].as_array().unwrap();
    assert!(resolved.iter().all(|link| link["noteId"] == garden) && resolved.len() == 2, "{resolved:?}");
    assert_eq!(resolved[1]["heading"], "Beds");
    assert_eq!(note["links"]["unresolved"][0]["target"], "Windmill");
    let attachments = note["attachments"].as_array().unwrap();
    assert_eq!(attachments.len(), 2, "{attachments:?}");
}

#[test]
fn chunks_follow_headings_and_not_code() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let id = note_id("Projects/Garden plan.md");
    let mut headings = Vec::new();
    for index in 0..10 {
        let Ok(chunk) = client.call("get_chunk", json!({"note_id": id, "chunk_index": index})) else { break };
        assert_eq!(chunk["id"], format!("{id}:{index}"));
        assert_eq!(chunk["size"], chunk["content"].as_str().unwrap().len());
        headings.push(chunk["heading"].as_str().unwrap().to_owned());
    }
    assert_eq!(headings, ["Garden plan", "Beds", "Compost"]);
    let opening = client.call("get_chunk", json!({"note_id": note_id("Home.md"), "chunk_index": 0})).unwrap();
    assert_eq!((&opening["heading"], &opening["headingPath"]), (&Value::Null, &json!([])));
    assert!(!opening["content"].as_str().unwrap().contains("title:"), "frontmatter is not in a chunk");
}

#[test]
fn a_chunk_has_the_links_and_attachments_that_stand_in_it() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let mut chunk = |index: u32| {
        client.call("get_chunk", json!({"note_id": note_id("Home.md"), "chunk_index": index})).unwrap()
    };
    let overview = chunk(1);
    let garden = json!({
        "target": "Garden plan",
        "noteId": note_id("Projects/Garden plan.md"),
        "path": "Projects/Garden plan.md",
        "title": "Garden plan",
    });
    let mut beds = garden.clone();
    (beds["heading"], beds["display"]) = (json!("Beds"), json!("the beds"));
    assert_eq!(
        overview["links"],
        json!({"resolved": [garden, beds], "unresolved": [{"target": "Windmill"}]}),
        "{overview}"
    );
    assert_eq!(overview["attachments"].as_array().unwrap().len(), 2, "{overview}");
    let hens = chunk(2);
    assert_eq!(
        (&hens["links"], &hens["attachments"]),
        (&json!({"resolved": [], "unresolved": []}), &json!([]))
    );
}

/// The fields of an object, sorted.
fn fields(value: &Value) -> Vec<&str> {
    let mut fields: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    fields
}

#[test]
fn payloads_have_the_fields_of_the_contract_and_no_others() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let home = note_id("Home.md");
    let metadata = ["aliases", "attachmentCount", "created", "date", "tags", "updated"];
    let found = search(&mut client, json!({"query": "hens"}));
    let shared = ["freshness", "limit", "requestedMode", "results", "usedMode", "warnings"];
    assert_eq!(fields(&found), shared);
    assert_eq!(fields(&results(&found)[0]["metadata"]), metadata);

    let related = client.call("related", json!({"type": "note", "id": home})).unwrap();
    assert_eq!(fields(&related), [&shared[..1], &["input"], &shared[1..]].concat());
    assert_eq!(related["input"], json!({"type": "note", "id": home}));
    assert_eq!(fields(&results(&related)[0]), fields(&results(&found)[0]));

    let note = client.call("get_note", json!({"note_id": home})).unwrap();
    let expected = [
        "attachments",
        "content",
        "contentType",
        "freshness",
        "id",
        "links",
        "metadata",
        "path",
        "size",
        "title",
        "warnings",
    ];
    assert_eq!(fields(&note), expected);
    assert_eq!(fields(&note["metadata"]), metadata);
    assert_eq!(note["contentType"], "text/markdown; charset=utf-8");

    let chunk = client.call("get_chunk", json!({"note_id": home, "chunk_index": 0})).unwrap();
    let mut expected = [&expected[..], &["chunkIndex", "heading", "headingPath", "noteId"]].concat();
    expected.sort_unstable();
    assert_eq!(fields(&chunk), expected);
    assert_eq!((&chunk["noteId"], &chunk["chunkIndex"]), (&json!(home), &json!(0)));

    let attachment = json!({"vault_relative_path": "data.unknownkind", "download": true});
    let attachment = client.call("get_attachment", attachment).unwrap();
    let expected =
        ["content", "contentType", "downloadAvailable", "encoding", "fileName", "path", "size", "warnings"];
    assert_eq!(fields(&attachment), expected);
    assert_eq!(attachment["contentType"], "application/octet-stream");
}

#[test]
fn related_leaves_out_the_input_and_puts_links_to_use() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let id = note_id("Home.md");
    for mode in ["lexical", "embedding", "hybrid"] {
        let reply =
            client.call("related", json!({"type": "note", "id": id, "mode": mode, "limit": 50})).unwrap();
        let items = results(&reply);
        assert!(items.iter().all(|item| item["noteId"] != id), "{mode}");
        let garden = items.iter().find(|item| item["path"] == "Projects/Garden plan.md").unwrap();
        assert_eq!(garden["reason"], "related_link", "{mode}");
        let scores: BTreeSet<String> = items.iter().map(|item| item["score"].to_string()).collect();
        assert!(scores.len() > 1, "{mode}: {scores:?}");
    }
}

#[test]
fn related_to_a_chunk_may_be_another_chunk_of_its_note() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let note = note_id("Projects/Garden plan.md");
    let chunk = format!("{note}:1");
    let reply = client.call("related", json!({"type": "chunk", "id": chunk, "limit": 50})).unwrap();
    assert_eq!(reply["input"], json!({"type": "chunk", "id": chunk}));
    assert!(results(&reply).iter().all(|item| item["id"] != chunk.as_str()));
}

#[test]
fn broken_frontmatter_does_not_hide_a_note() {
    let vault = Vault::indexed();
    let mut client = vault.mcp();
    let reply = search(&mut client, json!({"query": "thatching", "mode": "lexical"}));
    assert_eq!(results(&reply)[0]["path"], "Broken.md");
}
