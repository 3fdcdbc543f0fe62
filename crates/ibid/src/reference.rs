//! The generated pages of the reference. A test holds them current; `./check --update` rewrites them.

use std::fmt::Write as _;

use ibid_api::{ErrorCode, ReindexReason, Result, UpdateError, WarningCode, WatchError};

use crate::{
    assemble,
    config::{self, Config, env::Surroundings},
};

/// Every generated page: its path in the repository and its content.
pub fn pages() -> Result<Vec<(&'static str, String)>> {
    Ok(vec![
        ("docs/config.md", config::reference::page()),
        ("docs/errors.md", errors()),
        ("docs/tools.md", tools()?),
    ])
}

fn tools() -> Result<String> {
    let config = Config::load(Surroundings::default(), None, &[])?;
    Ok(ibid_tools::reference::markdown(&assemble::described_tools(&config)?))
}

fn errors() -> String {
    let mut page = String::from(
        "# Errors\n\n\
         <!-- Made from the tables of codes by `./check --update`; do not edit. -->\n\n\
         An error has a stable code, one sentence, and where possible a hint at what to do next. The command\n\
         line prints it to stderr as `CODE: message`, then `hint: …`. HTTP and MCP carry the same code.\n\n\
         | exit code | meaning |\n\
         | --- | --- |\n\
         | 0 | done |\n\
         | 1 | failed while running; `ibid doctor` found something |\n\
         | 2 | bad input or configuration |\n\
         | 3 | not authorised |\n\
         | 4 | not found |\n\
         | 5 | already in progress |\n\
         | 70 | a defect in ibid itself |\n\
         | 130 | interrupted with Ctrl-C |\n\n\
         | code | HTTP | JSON-RPC | exit | meaning |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    for code in ErrorCode::ALL {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} |",
            code.as_str(),
            code.http_status(),
            code.rpc_code(),
            code.exit_code(),
            code.about().trim()
        );
    }
    page.push_str(
        "\n## Other codes\n\n\
         An answer can carry warnings: it is an answer, and something is to be known about it. It shows at most a\n\
         hundred of them, and one more that counts the rest.\n",
    );
    let mut table = |title: &str, rows: Vec<(&str, &str)>| {
        let _ = write!(page, "\n### {title}\n\n| code | meaning |\n| --- | --- |\n");
        for (code, about) in rows {
            let _ = writeln!(page, "| `{code}` | {} |", about.trim());
        }
    };
    macro_rules! rows {
        ($codes:ident) => {
            $codes::ALL.iter().map(|code| (code.as_str(), code.about())).collect()
        };
    }
    table("Warnings", rows!(WarningCode));
    table("Reasons to rebuild: `reindexReasons` of the status", rows!(ReindexReason));
    table("Updates in the background: `index.lastError` of the status", rows!(UpdateError));
    table("Watcher: `watch.lastError` of the status", rows!(WatchError));
    page
}
