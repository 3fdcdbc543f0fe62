//! What the rules of the sources keep from being read.

use ibid_api::Result;

use super::{LocalEngine, Shared};
use crate::source::LeftOut;

impl LocalEngine {
    /// What rules keep from being read now, by source; a folder stands for everything in it. Reads no files.
    pub async fn left_out(&self) -> Result<Vec<(String, LeftOut)>> {
        self.blocking(|shared| Ok(shared.left_out())).await
    }
}

impl Shared {
    fn left_out(&self) -> Vec<(String, LeftOut)> {
        let mut all = Vec::new();
        for source in &self.config.sources {
            // A source that cannot be read now is told of by the status.
            let found = self.root(source).and_then(|root| root.left_out().ok()).unwrap_or_default();
            all.extend(found.into_iter().map(|left_out| (source.name.clone(), left_out)));
        }
        all
    }
}
