//! Names: how titles, stems, tags and links are folded so that they find each other.

use unicode_normalization::UnicodeNormalization;

/// Lower case in composed form: names that differ only in case or in how accents are encoded become one.
pub(super) fn fold(name: &str) -> String {
    if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        name.nfc().flat_map(char::to_lowercase).collect()
    }
}

/// A tag as filters compare it, or nothing if there is nothing left of it.
pub(super) fn fold_tag(tag: &str) -> Option<String> {
    let tag = fold(tag.trim().trim_start_matches('#').trim_matches('/'));
    (!tag.is_empty()).then_some(tag)
}

/// The tag under which a document of this collection is filed.
pub(super) fn collection_tag(collection: &str) -> Option<String> {
    fold_tag(&format!("{COLLECTION}{collection}"))
}

/// Tags that start like this name a collection.
pub(super) const COLLECTION: &str = "collection:";

/// Folded tags together with the tags above them: `a/b/c` is also `a/b` and `a`. Sorted, each once.
pub(super) fn with_ancestors(tags: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for tag in tags.iter().filter_map(|tag| fold_tag(tag)) {
        all.extend(tag.match_indices('/').map(|(slash, _)| tag[..slash].to_owned()));
        all.push(tag);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// What a link and the document it leads to have in common, whichever way the link is written: the last
/// segment without its extension, folded. Equal keys make a candidate, no more.
pub(super) fn link_key(name: &str) -> String {
    let last = name.trim().trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    match last.rfind('.') {
        Some(0) | None => fold(last),
        Some(dot) => fold(&last[..dot]),
    }
}

/// A path without the extension of its last segment.
pub(super) fn without_extension(path: &str) -> &str {
    let name_start = path.rfind('/').map_or(0, |slash| slash + 1);
    match path[name_start..].rfind('.') {
        Some(0) | None => path,
        Some(dot) => &path[..name_start + dot],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_tags_bring_the_tags_above_them() {
        let tags = ["#Area/Work/".to_owned(), "area".to_owned(), " ".to_owned()];
        assert_eq!(with_ancestors(&tags), ["area", "area/work"]);
        assert_eq!(collection_tag("Ops").as_deref(), Some("collection:ops"));
    }

    #[test]
    fn keys_ignore_folders_extensions_and_case() {
        for name in ["Note", "note.md", "folder/Note.MD", "/a/b/NOTE", "note/"] {
            assert_eq!(link_key(name), "note", "{name}");
        }
        assert_eq!(link_key("e\u{301}te\u{301}"), link_key("été"));
    }

    #[test]
    fn extensions_belong_to_the_last_segment() {
        for (path, want) in [("a.b/c", "a.b/c"), ("a/b.md", "a/b"), (".env", ".env"), ("x/.env", "x/.env")] {
            assert_eq!(without_extension(path), want);
        }
    }
}
