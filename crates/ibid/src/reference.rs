//! The generated pages of the reference. A test holds them current; `./check --update` rewrites them.

use std::fmt::Write as _;

use ibid_api::{ErrorCode, Result};

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
         <!-- Made from the table of error codes by `./check --update`; do not edit. -->\n\n\
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
    page
}
