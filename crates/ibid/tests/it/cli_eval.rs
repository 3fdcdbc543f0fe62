//! `ibid eval` on small judged sets.

use std::fs;

use crate::cli_program::World;

/// Notes, and beside them a set that judges them and one that brings its own documents.
fn world() -> World {
    let world = World::with(&[
        ("keys.md", "# Keys\n\nRotate the signing keys every ninety days.\n"),
        ("tea.md", "# Tea\n\nGreen tea wants eighty degrees.\n"),
        ("judged/here/queries.jsonl", "{\"id\":\"q1\",\"text\":\"rotate signing keys\"}\n"),
        ("judged/here/qrels.tsv", "query-id\tcorpus-id\tscore\nq1\tkeys.md\t1\n"),
        ("judged/own/corpus.jsonl", "{\"id\":\"a\",\"text\":\"The ferry leaves at noon.\"}\n"),
        (
            "judged/own/queries.jsonl",
            "{\"id\":\"q1\",\"text\":\"ferry at noon\"}\n{\"id\":\"q2\",\"text\":\"xylophone\"}\n",
        ),
        ("judged/own/qrels.tsv", "q1\ta\t1\nq2\ta\t1\n"),
    ]);
    world.set("IBID_EMBEDDING_ENABLED", "false")
}

#[test]
fn a_folder_of_sets_is_measured_set_by_set() {
    let report = world().json(&["eval", "judged", "--json"]);
    let runs = report["runs"].as_array().unwrap();
    let names: Vec<&str> = runs.iter().map(|run| run["set"].as_str().unwrap()).collect();
    assert_eq!(names, ["here", "own"], "meaning is off, so each set runs by words only");
    assert_eq!(runs[0]["ndcg_10"], 1.0, "{report:#}");
    assert_eq!(runs[1]["ndcg_10"], 0.5, "{report:#}");
    assert_eq!(runs[1]["answers"][1]["ndcg_10"], 0.0, "{report:#}");
}

#[test]
fn a_report_is_compared_with_an_earlier_one() {
    let world = world();
    let mut report = world.json(&["eval", "judged/own", "--json"]);
    let same = world.run(&["eval", "judged/own", "--against", "missing.json"]);
    assert_eq!(same.code, 2, "{}", same.err);
    report["runs"][0]["answers"][1]["ndcg_10"] = 1.0.into();
    fs::write(world.vault().join("before.json"), report.to_string()).unwrap();
    let run = world.run(&["eval", "judged/own", "--against", "before.json"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("lexical, earlier") && run.out.contains("-0.500"), "{}", run.out);
    assert!(run.out.contains("1.000   0.000  xylophone"), "{}", run.out);
}

#[test]
fn an_index_can_be_kept_and_a_plot_drawn() {
    let world = world();
    for _ in 0..2 {
        let run = world.run(&["eval", "judged/own", "--keep", "kept", "--svg", "plot.svg"]);
        assert_eq!(run.code, 0, "{}", run.err);
    }
    assert!(world.vault().join("kept/own/data").is_dir());
    let plot = fs::read_to_string(world.vault().join("plot.svg")).unwrap();
    assert!(plot.starts_with("<svg") && plot.contains("0.500"), "{plot}");
}

#[test]
fn a_floor_that_is_not_reached_fails() {
    let world = world();
    assert_eq!(world.run(&["eval", "judged/own", "--require", "words=0.5"]).code, 0);
    let run = world.run(&["eval", "judged/own", "--require", "0.6"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("own, lexical: nDCG@10 is 0.500, required is 0.600"), "{}", run.err);
    let run = world.run(&["eval", "judged/own", "--require", "best"]);
    assert!(run.code == 2 && run.err.contains("number from 0 to 1"), "{}", run.err);
    let run = world.run(&["eval", "nowhere"]);
    assert!(run.code == 2 && run.err.contains("is not a judged set"), "{}", run.err);
}
