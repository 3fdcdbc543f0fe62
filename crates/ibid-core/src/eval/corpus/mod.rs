//! A made corpus: as many pages of real-looking Markdown as wanted, the same on every machine for a seed,
//! and queries of several kinds whose answer is known. What benchmarks and end-to-end tests run on.

mod ask;
mod page;
mod words;

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

pub use ask::{Ask, Asked};
pub use page::CorpusPage;
use words::Vocabulary;

const VOCABULARY: usize = 60_000;
const TOPICS_PER_SHELF: usize = 10;

/// How large the pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// About five kilobytes in five sections each.
    Pages,
    /// A few hundred bytes each: a folder of many small notes.
    Notes,
}

impl Shape {
    const fn page_bytes(self) -> usize {
        match self {
            Self::Pages => 4_300,
            Self::Notes => 260,
        }
    }

    const fn section_bytes(self) -> usize {
        match self {
            Self::Pages => 900,
            Self::Notes => 240,
        }
    }

    const fn pages_per_topic(self) -> usize {
        match self {
            Self::Pages => 50,
            Self::Notes => 200,
        }
    }
}

/// A corpus; making one costs some milliseconds, each page some microseconds.
#[derive(Debug)]
pub struct Corpus {
    seed: u64,
    pages: usize,
    shape: Shape,
    vocabulary: Vocabulary,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Files.
    pub files: usize,
    /// Bytes in them.
    pub bytes: u64,
}

impl Corpus {
    /// A corpus of this many pages, at least one.
    pub fn new(seed: u64, pages: usize, shape: Shape) -> Self {
        Self { seed, pages: pages.max(1), shape, vocabulary: Vocabulary::new(seed, VOCABULARY) }
    }

    /// How many pages there are.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Writes every page below `root`, one after the other; memory does not grow with the corpus.
    pub fn write(&self, root: &Path) -> io::Result<Written> {
        let mut written = Written::default();
        let mut folder = PathBuf::new();
        for number in 0..self.pages {
            let page = self.page(number, 0);
            let path = root.join(&page.path);
            if let Some(parent) = path.parent()
                && parent != folder
            {
                fs::create_dir_all(parent)?;
                parent.clone_into(&mut folder);
            }
            fs::File::create(&path)?.write_all(page.text.as_bytes())?;
            written.files += 1;
            written.bytes += page.text.len() as u64;
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests;
