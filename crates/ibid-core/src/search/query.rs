//! The query language: words, `"phrases"`, `-exclusions` and `field:value`.

use ibid_api::{DocumentKind, Filter};

use crate::store::Clause;

/// A query taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedQuery {
    /// What the lexical leg looks for.
    pub clauses: Vec<Clause>,
    /// What the words are restricted to.
    pub filter: Filter,
    /// The words alone, as typed: what is embedded, highlighted and compared with titles.
    pub words: String,
}

impl ParsedQuery {
    /// Takes a query apart. There are no errors: what is not syntax is words.
    pub fn parse(query: &str, prefix: bool) -> Self {
        let mut parsed = Self::default();
        let mut plain: Vec<&str> = Vec::new();
        let mut said: Vec<&str> = Vec::new();
        for piece in pieces(query) {
            match piece {
                Piece::Phrase { text, negated: true } | Piece::Word { text, negated: true } => {
                    parsed.clauses.push(Clause::Not(text.to_owned()));
                }
                Piece::Phrase { text, negated: false } => {
                    parsed.clauses.push(Clause::Phrase(text.to_owned()));
                    said.push(text);
                }
                Piece::Field { name, value } => {
                    if !parsed.field(name, value) {
                        let whole = &query[offset_in(query, name)..offset_in(query, value) + value.len()];
                        plain.push(whole);
                        said.push(whole);
                    }
                }
                Piece::Word { text, negated: false } => {
                    plain.push(text);
                    said.push(text);
                }
            }
        }
        if prefix && let Some(last) = plain.last() {
            parsed.clauses.push(Clause::Prefix((*last).to_owned()));
        }
        if !plain.is_empty() {
            parsed.clauses.push(Clause::Words(plain.join(" ")));
        }
        parsed.words = said.join(" ");
        parsed
    }

    /// Applies `field:value`; tells whether the field is one.
    fn field(&mut self, name: &str, value: &str) -> bool {
        match name {
            "tag" | "tags" => self.filter.tags.push(value.trim_start_matches('#').to_owned()),
            "path" | "in" => self.filter.paths.push(as_glob(value)),
            "kind" | "type" => match DocumentKind::parse(&value.to_lowercase()) {
                Some(kind) => self.filter.kinds.push(kind),
                None => return false,
            },
            "source" => self.filter.sources.push(value.to_owned()),
            "lang" | "language" => self.filter.languages.push(value.to_lowercase()),
            "collection" => self.filter.collection = Some(value.to_owned()),
            "title" => self.clauses.push(Clause::Title(value.to_owned())),
            "after" | "since" => match date_ms(value) {
                Some(ms) => self.filter.modified_from_ms = Some(ms),
                None => return false,
            },
            "before" | "until" => match date_ms(value) {
                Some(ms) => self.filter.modified_to_ms = Some(ms),
                None => return false,
            },
            _ => return false,
        }
        true
    }
}

/// A plain folder or name becomes a glob for everything below or called so.
fn as_glob(value: &str) -> String {
    let value = value.trim_start_matches("./");
    if value.contains(['*', '?', '[', '{']) {
        value.to_owned()
    } else if let Some(folder) = value.strip_suffix('/') {
        format!("{folder}/**")
    } else {
        format!("{{{value},{value}/**,**/{value},**/{value}/**}}")
    }
}

fn date_ms(value: &str) -> Option<i64> {
    let date: jiff::civil::Date = value.parse().ok()?;
    Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

enum Piece<'a> {
    Word { text: &'a str, negated: bool },
    Phrase { text: &'a str, negated: bool },
    Field { name: &'a str, value: &'a str },
}

fn offset_in(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

fn pieces(query: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = query;
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return found;
        }
        let negated =
            rest.starts_with('-') && rest[1..].starts_with(|c: char| c.is_alphanumeric() || c == '"');
        let body = if negated { &rest[1..] } else { rest };
        if let Some(quoted) = body.strip_prefix('"')
            && let Some(end) = quoted.find('"')
        {
            let text = quoted[..end].trim();
            if !text.is_empty() {
                found.push(Piece::Phrase { text, negated });
            }
            rest = &quoted[end + 1..];
            continue;
        }
        let word_end = body.find(char::is_whitespace).unwrap_or(body.len());
        let word = &body[..word_end];
        rest = &body[word_end..];
        let field = word.split_once(':').filter(|(name, _)| {
            !negated && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase())
        });
        match field {
            Some((name, value)) if value.starts_with('"') => {
                let quoted = &body[name.len() + 2..];
                let end = quoted.find('"').unwrap_or(quoted.len());
                found.push(Piece::Field { name, value: &quoted[..end] });
                rest = quoted.get(end + 1..).unwrap_or("");
            }
            Some((name, value)) if !value.is_empty() && !value.starts_with([':', '/']) => {
                found.push(Piece::Field { name, value });
            }
            _ => found.push(Piece::Word { text: word, negated }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, clauses: &[Clause], words: &str) {
        let parsed = ParsedQuery::parse(query, false);
        assert_eq!(parsed.clauses, clauses, "{query:?}");
        assert_eq!(parsed.words, words, "{query:?}");
    }

    #[test]
    fn words_phrases_and_exclusions_come_apart() {
        check("how to deploy", &[Clause::Words("how to deploy".into())], "how to deploy");
        check(
            r#"deploy "blue green" -heroku -"old way""#,
            &[
                Clause::Phrase("blue green".into()),
                Clause::Not("heroku".into()),
                Clause::Not("old way".into()),
                Clause::Words("deploy".into()),
            ],
            "deploy blue green",
        );
        check("a - b", &[Clause::Words("a - b".into())], "a - b");
        check(r#"say "unclosed"#, &[Clause::Words(r#"say "unclosed"#.into())], r#"say "unclosed"#);
    }

    #[test]
    fn known_fields_filter_and_unknown_ones_are_words() {
        let parsed = ParsedQuery::parse(
            r#"tag:#rust path:docs/ kind:markdown lang:ES after:2024-01-02 title:"two words" x"#,
            false,
        );
        assert_eq!(parsed.filter.tags, ["rust"]);
        assert_eq!(parsed.filter.paths, ["docs/**"]);
        assert_eq!(parsed.filter.kinds, [DocumentKind::Markdown]);
        assert_eq!(parsed.filter.languages, ["es"]);
        assert_eq!(parsed.filter.modified_from_ms, Some(1_704_153_600_000));
        assert_eq!(parsed.clauses, [Clause::Title("two words".into()), Clause::Words("x".into())]);
        check("std::fmt", &[Clause::Words("std::fmt".into())], "std::fmt");
        check("http://x.y/z", &[Clause::Words("http://x.y/z".into())], "http://x.y/z");
        check("note:this", &[Clause::Words("note:this".into())], "note:this");
        check("kind:unknown", &[Clause::Words("kind:unknown".into())], "kind:unknown");
    }

    proptest::proptest! {
        #[test]
        fn any_query_can_be_parsed(query in "\\PC{0,80}") {
            let _ = ParsedQuery::parse(&query, true);
        }
        #[test]
        fn queries_full_of_syntax_can_be_parsed(query in "[a\"\\-: #*é]{0,40}") {
            let _ = ParsedQuery::parse(&query, true);
        }
    }
}
