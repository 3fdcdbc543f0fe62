//! Anchors of headings as GitHub makes them.

use std::collections::HashMap;

use unicode_normalization::char::is_combining_mark;

/// Hands out anchors, each only once in a document.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    /// Anchors given out, with the last number added to each.
    given: HashMap<String, usize>,
}

impl Anchors {
    /// The anchor of a heading with this text: the second one like it ends in `-1`, the third in `-2`.
    pub(super) fn next(&mut self, text: &str) -> String {
        let plain = slug(text);
        let Some(&last) = self.given.get(&plain) else {
            self.given.insert(plain.clone(), 0);
            return plain;
        };
        let mut number = last;
        let numbered = loop {
            number += 1;
            let candidate = format!("{plain}-{number}");
            if !self.given.contains_key(&candidate) {
                break candidate;
            }
        };
        self.given.insert(plain, number);
        self.given.insert(numbered.clone(), 0);
        numbered
    }
}

/// Lower case, punctuation dropped, spaces to hyphens.
fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for character in text.trim().chars() {
        match character {
            ' ' => slug.push('-'),
            '-' | '_' | '0'..='9' | 'a'..='z' => slug.push(character),
            'A'..='Z' => slug.push(character.to_ascii_lowercase()),
            _ if character.is_ascii() => {}
            _ if character.is_alphanumeric() || is_combining_mark(character) => {
                slug.extend(character.to_lowercase());
            }
            _ => {}
        }
    }
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        for (text, want) in [
            ("Getting Started", "getting-started"),
            ("What's new in 2.0?", "whats-new-in-20"),
            ("  C++ & Rust  ", "c--rust"),
            ("snake_case and kebab-case", "snake_case-and-kebab-case"),
            ("Größe Über alles", "größe-über-alles"),
            ("日本語 の 見出し", "日本語-の-見出し"),
            ("🚀 Launch", "-launch"),
            ("`code()` here", "code-here"),
            ("", ""),
        ] {
            assert_eq!(Anchors::default().next(text), want, "{text}");
        }
    }

    #[test]
    fn equal_headings_are_numbered_and_never_collide() {
        let mut anchors = Anchors::default();
        let got: Vec<String> =
            ["A", "A", "a-1", "A", "a-1", "B"].iter().map(|text| anchors.next(text)).collect();
        assert_eq!(got, ["a", "a-1", "a-1-1", "a-2", "a-1-2", "b"]);
    }
}
