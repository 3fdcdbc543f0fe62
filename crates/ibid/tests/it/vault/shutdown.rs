//! A server that is told to end ends, whatever it is doing.

use std::time::{Duration, Instant};

use super::{Enveloped, Vault};
use crate::harness::{signal, wait};

/// Enough for the step of the work that is under way on a loaded machine, far too little for all of it.
const SOON: Duration = Duration::from_secs(20);

/// A vault whose meanings take minutes to make.
fn large() -> Vault {
    let vault = Vault::empty().set("VAULT_AGENT_WATCH_ENABLED", "true");
    for note in 0..400 {
        let mut text = format!("# Note {note}\n\n");
        for sentence in 0..60 {
            text.push_str(&format!(
                "Sentence {sentence} of note {note} speaks of rivers, barges and locks. "
            ));
        }
        vault.write(&format!("{note}.md"), &text);
    }
    vault
}

#[test]
fn sigterm_ends_a_server_promptly_while_it_embeds() {
    let vault = large();
    let mut server = vault.serve(&[]);
    // It listens once words are searchable; meanings are made in the background from then on.
    let waiting = server.get("/health").json();
    assert_eq!(waiting["data"]["index"]["available"], true, "{waiting}");
    let status = server.get("/status").data();
    assert_eq!(status["index"]["embeddingState"], "stale", "embeddings are still being made: {status}");
    let told = Instant::now();
    signal(server.child(), "TERM");
    let ended = wait(server.child());
    let took = told.elapsed();
    eprintln!("ended {took:?} after SIGTERM while embeddings were made");
    assert!(ended.success(), "{ended}");
    assert!(took < SOON, "{took:?}");
}
