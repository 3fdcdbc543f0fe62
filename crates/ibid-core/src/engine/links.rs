//! Links of the whole knowledge base: which lead somewhere, and which do not.

use ibid_api::{DocumentFilter, Link, Paging, RelPath, Result};

use super::{LocalEngine, Shared};
use crate::error;

/// Documents are asked for in pages of this size.
const PAGE: u32 = 1_000;

/// What became of every link.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkReport {
    /// Links that lead to exactly one document.
    pub resolved: u64,
    /// Links that lead to none, or could lead to several, by source and path of the document they stand in.
    pub unresolved: Vec<LostLink>,
}

/// A link that leads to no document, or could lead to several.
#[derive(Debug, Clone, PartialEq)]
pub struct LostLink {
    /// Source of the document it stands in.
    pub source: String,
    /// Path of that document.
    pub path: RelPath,
    /// The link.
    pub link: Link,
}

impl LocalEngine {
    /// Follows every link of every document, as far as the index knows.
    pub async fn links(&self) -> Result<LinkReport> {
        self.blocking(Shared::links).await
    }
}

impl Shared {
    fn links(&self) -> Result<LinkReport> {
        let store = self.reading()?.store;
        let mut report = LinkReport::default();
        let mut offset = 0;
        loop {
            let page = store.documents(&DocumentFilter::default(), Paging { limit: PAGE, offset });
            let page = page.map_err(error::store)?.items;
            for document in &page {
                for link in store.links_from(document.id).map_err(error::store)? {
                    if link.target.is_some() {
                        report.resolved += 1;
                        continue;
                    }
                    let link = super::documents::link(link);
                    let (source, path) = (document.source.clone(), document.path.clone());
                    report.unresolved.push(LostLink { source, path, link });
                }
            }
            if page.len() < PAGE as usize {
                return Ok(report);
            }
            offset += PAGE;
        }
    }
}
