//! Folding: letters that people do not tell apart when they search become one.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Lower-cases a word into `out`, compatibility forms resolved, accents kept (stemmers need them).
pub(super) fn lower(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        out.make_ascii_lowercase();
    } else {
        out.extend(word.nfkc().flat_map(char::to_lowercase));
    }
}

/// Drops accents from a lower-case word, for scripts where they are optional when typing.
pub(super) fn without_accents(word: &str, out: &mut String) {
    out.clear();
    if word.is_ascii() {
        out.push_str(word);
        return;
    }
    let mut base_takes_accents = false;
    for c in word.nfd() {
        if is_combining_mark(c) {
            if !base_takes_accents {
                out.push(c);
            }
        } else {
            base_takes_accents = accents_are_optional(c);
            match c {
                'ß' => out.push_str("ss"),
                'æ' => out.push_str("ae"),
                'œ' => out.push_str("oe"),
                'ø' => out.push('o'),
                'ł' => out.push('l'),
                'đ' | 'ð' => out.push('d'),
                'ı' => out.push('i'),
                'ς' => out.push('σ'),
                _ => out.push(c),
            }
        }
    }
}

/// Latin, Greek, Cyrillic, Hebrew and Arabic; in other scripts a mark is part of the letter.
fn accents_are_optional(c: char) -> bool {
    matches!(c, 'a'..='z' | '\u{00C0}'..='\u{024F}' | '\u{0370}'..='\u{06FF}' | '\u{1E00}'..='\u{1FFF}')
}

#[cfg(test)]
mod tests {
    fn fold(word: &str) -> String {
        let (mut lowered, mut folded) = (String::new(), String::new());
        super::lower(word, &mut lowered);
        super::without_accents(&lowered, &mut folded);
        folded
    }

    #[test]
    fn accents_and_case_fold_where_typing_them_is_optional() {
        for (word, want) in [
            ("Résumé", "resume"),
            ("STRASSE", "strasse"),
            ("Straße", "strasse"),
            ("Ångström", "angstrom"),
            ("ﬁle", "file"),
            ("İstanbul", "istanbul"),
            ("ЁЛКА", "елка"),
            ("Ελλάδας", "ελλαδασ"),
            ("ｆｕｌｌ", "full"),
        ] {
            assert_eq!(fold(word), want, "{word}");
        }
    }

    #[test]
    fn marks_that_are_part_of_a_letter_stay() {
        assert_ne!(fold("हिन्दी"), fold("हनद"));
        assert_ne!(fold("が"), fold("か"));
    }
}
