//! How people point at things: a note id, a chunk, a path, a section or a range of lines.

use std::path::Path;

use ibid_api::{DocumentKey, Error, ErrorCode, LineRange, NoteId, RelPath, Result};

use crate::config::place::Place;

/// What a reference points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A whole document.
    Document(DocumentKey),
    /// A chunk of a document, by its zero-based place.
    Chunk(NoteId, u32),
    /// A section of a document, by its anchor or heading.
    Section(RelPath, String),
    /// Lines of a document.
    Lines(RelPath, LineRange),
}

impl Reference {
    /// Reads a reference. Paths may start at the current folder or at the root of a source.
    pub fn parse(raw: &str, current_dir: &Path, place: &Place) -> Result<Self> {
        if let Ok(note) = raw.parse::<NoteId>() {
            return Ok(Self::Document(DocumentKey::Note(note)));
        }
        if let Some((note, index)) = raw.split_once(':')
            && let (Ok(note), Ok(index)) = (note.parse::<NoteId>(), index.parse())
        {
            return Ok(Self::Chunk(note, index));
        }
        let path = |path: &str| locate(path, current_dir, place);
        if let Some((file, anchor)) = raw.split_once('#')
            && !file.is_empty()
            && !anchor.is_empty()
        {
            return Ok(Self::Section(path(file)?, anchor.to_owned()));
        }
        if let Some((file, lines)) = raw.rsplit_once(':')
            && let Some(lines) = line_range(lines)?
        {
            return Ok(Self::Lines(path(file)?, lines));
        }
        Ok(Self::Document(DocumentKey::Path(path(raw)?)))
    }
}

/// `10`, `10-20`, `10-`; nothing when it is not about lines at all.
fn line_range(raw: &str) -> Result<Option<LineRange>> {
    if raw.is_empty() || !raw.chars().all(|c| c.is_ascii_digit() || c == '-') {
        return Ok(None);
    }
    let wrong = || {
        Error::new(ErrorCode::InvalidParameter, "the range of lines is not one")
            .with_hint("write `path:10`, `path:10-20` or `path:10-`")
    };
    let number = |raw: &str| raw.parse::<u32>().ok().filter(|line| *line > 0).ok_or_else(wrong);
    let (start, end) = match raw.split_once('-') {
        None => (number(raw)?, number(raw)?),
        Some((start, "")) => (number(start)?, u32::MAX),
        Some((start, end)) => (number(start)?, number(end)?),
    };
    if end < start { Err(wrong()) } else { Ok(Some(LineRange { start, end })) }
}

/// The path below its source of a path as the user sees it.
pub(super) fn locate(raw: &str, current_dir: &Path, place: &Place) -> Result<RelPath> {
    let seen = current_dir.join(raw);
    if let Ok(real) = seen.canonicalize() {
        for source in &place.sources {
            if let Ok(inside) = real.strip_prefix(&source.root)
                && let Some(inside) = inside.to_str()
                && let Ok(path) = RelPath::parse(inside)
            {
                return Ok(path);
            }
        }
    }
    RelPath::parse(raw).map_err(|error| {
        Error::new(ErrorCode::InvalidPath, error.to_string())
            .with_hint("`ibid list` shows the paths of all documents")
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::place::Source;

    #[test]
    fn references_point_at_documents_chunks_sections_and_lines() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/a.md"), "").unwrap();
        let source = Source {
            name: "s".to_owned(),
            root: root.clone(),
            exclude: Vec::new(),
            include_hidden: false,
            follow_links: true,
            respect_gitignore: true,
            kinds: None,
            max_file_bytes: 1,
        };
        let place = Place { sources: vec![source], data_dir: root.clone(), root: root.clone() };
        let path = |raw: &str| RelPath::parse(raw).unwrap();
        let note = NoteId::of(&path("sub/a.md"));
        let absolute = root.join("sub/a.md").to_str().unwrap().to_owned();
        for (raw, from, want) in [
            (note.to_string().as_str(), "", Reference::Document(DocumentKey::Note(note))),
            (&format!("{note}:3"), "", Reference::Chunk(note, 3)),
            ("sub/a.md", "", Reference::Document(DocumentKey::Path(path("sub/a.md")))),
            ("a.md", "sub", Reference::Document(DocumentKey::Path(path("sub/a.md")))),
            ("sub/a.md", "sub", Reference::Document(DocumentKey::Path(path("sub/a.md")))),
            (absolute.as_str(), "sub", Reference::Document(DocumentKey::Path(path("sub/a.md")))),
            ("gone.md#a-b", "", Reference::Section(path("gone.md"), "a-b".to_owned())),
            ("a.md:7", "sub", Reference::Lines(path("sub/a.md"), LineRange { start: 7, end: 7 })),
            ("x.md:7-9", "", Reference::Lines(path("x.md"), LineRange { start: 7, end: 9 })),
            ("x.md:7-", "", Reference::Lines(path("x.md"), LineRange { start: 7, end: u32::MAX })),
            ("ab:c.md", "", Reference::Document(DocumentKey::Path(path("ab:c.md")))),
        ] {
            assert_eq!(Reference::parse(raw, &root.join(from), &place), Ok(want), "{raw} from {from:?}");
        }
        for (raw, code) in [
            ("x.md:9-7", ErrorCode::InvalidParameter),
            ("x.md:0", ErrorCode::InvalidParameter),
            ("../x.md", ErrorCode::InvalidPath),
            ("/nowhere/x.md", ErrorCode::InvalidPath),
        ] {
            assert_eq!(Reference::parse(raw, &root, &place).unwrap_err().code, code, "{raw}");
        }
    }
}
