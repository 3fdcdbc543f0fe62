//! Options that restrict a search or a list.

use clap::{Args, builder::PossibleValuesParser};
use ibid_api::{DocumentKind, Error, ErrorCode, Filter, Result};

use super::time::parse_moment;
use crate::config::place::Place;

/// What to look in. All given conditions hold together.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Filters")]
pub struct FilterArguments {
    /// Only documents with this tag or one nested below it; repeat for several.
    #[arg(short, long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Only paths that match this glob, or lie below this folder; repeat for either.
    #[arg(short, long, value_name = "GLOB")]
    pub path: Vec<String>,
    /// Only this kind of document; repeat for either.
    #[arg(short, long, value_name = "KIND", value_parser = kinds())]
    pub kind: Vec<String>,
    /// Only this source; repeat for either.
    #[arg(long, value_name = "NAME")]
    pub source: Vec<String>,
    /// Only documents in this language, as a two-letter code; repeat for either.
    #[arg(long, value_name = "CODE")]
    pub lang: Vec<String>,
    /// Only documents changed at or after this date, or this long ago.
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only documents changed before this date, or this long ago.
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only documents of this collection.
    #[arg(long, value_name = "NAME")]
    pub collection: Option<String>,
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(DocumentKind::ALL.iter().map(|kind| kind.as_str()))
}

impl FilterArguments {
    /// The filter they ask for.
    pub(super) fn filter(&self, place: &Place) -> Result<Filter> {
        for name in &self.source {
            if !place.sources.iter().any(|source| source.name == *name) {
                let known: Vec<_> = place.sources.iter().map(|source| format!("`{}`", source.name)).collect();
                return Err(Error::new(ErrorCode::InvalidParameter, format!("there is no source `{name}`"))
                    .with_hint(format!("the sources are {}", known.join(", "))));
            }
        }
        let moment =
            |raw: &Option<String>, flag| raw.as_deref().map(|raw| parse_moment(raw, flag)).transpose();
        Ok(Filter {
            tags: self.tag.iter().map(|tag| tag.trim_start_matches('#').to_owned()).collect(),
            collection: self.collection.clone(),
            kinds: self.kind.iter().filter_map(|name| DocumentKind::parse(name)).collect(),
            paths: self.path.iter().flat_map(|path| globs(path)).collect(),
            sources: self.source.clone(),
            languages: self.lang.iter().map(|code| code.to_lowercase()).collect(),
            modified_from_ms: moment(&self.since, "--since")?,
            modified_to_ms: moment(&self.until, "--until")?,
        })
    }
}

/// A path without wildcards means the file itself or everything below the folder.
fn globs(path: &str) -> Vec<String> {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    if path.contains(['*', '?', '[', '{']) {
        vec![path.to_owned()]
    } else {
        vec![path.to_owned(), format!("{path}/**")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_means_what_lies_below_it() {
        for (path, want) in [
            ("docs/", vec!["docs", "docs/**"]),
            ("./a.md", vec!["a.md", "a.md/**"]),
            ("**/*.rs", vec!["**/*.rs"]),
        ] {
            assert_eq!(globs(path), want, "{path}");
        }
    }
}
