//! Filters on the record: which documents a search or a list is restricted to.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use ibid_api::{DocumentId, Filter, Generation, Paging};
use roaring::RoaringTreemap;
use rusqlite::{Connection, params_from_iter, types::Value};

use super::names;
use crate::store::StoreResult;

/// Conditions on rows of `documents`, all of which hold.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    clauses: Vec<String>,
    values: Vec<Value>,
}

impl Conditions {
    /// Everything a filter says except its path globs.
    pub(super) fn of(filter: &Filter) -> Self {
        let mut conditions = Self::default();
        let collection = filter.collection.as_deref().and_then(names::collection_tag);
        for tag in filter.tags.iter().filter_map(|tag| names::fold_tag(tag)).chain(collection) {
            conditions.add("id IN (SELECT document FROM tags WHERE tag = ?)", [tag.into()]);
        }
        conditions.one_of("kind", filter.kinds.iter().map(|kind| kind.as_str().to_owned()));
        conditions.one_of("source", filter.sources.iter().cloned());
        conditions.one_of("language", filter.languages.iter().cloned());
        if let Some(from) = filter.modified_from_ms {
            conditions.add("modified_ms >= ?", [from.into()]);
        }
        if let Some(to) = filter.modified_to_ms {
            conditions.add("modified_ms < ?", [to.into()]);
        }
        conditions
    }

    /// Adds a condition with its values.
    pub(super) fn add(&mut self, clause: &str, values: impl IntoIterator<Item = Value>) {
        self.clauses.push(clause.to_owned());
        self.values.extend(values);
    }

    fn one_of(&mut self, column: &str, values: impl Iterator<Item = String>) {
        let values: Vec<Value> = values.map(Value::from).collect();
        if !values.is_empty() {
            let places = vec!["?"; values.len()].join(", ");
            self.add(&format!("{column} IN ({places})"), values);
        }
    }

    fn sql(&self, columns: &str) -> String {
        let conditions = if self.clauses.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", self.clauses.join(" AND "))
        };
        format!("SELECT {columns} FROM documents{conditions}")
    }

    /// How many documents there are.
    pub(super) fn count(&self, connection: &Connection) -> StoreResult<u64> {
        let count: i64 = connection
            .prepare_cached(&self.sql("count(*)"))?
            .query_row(params_from_iter(&self.values), |row| row.get(0))?;
        Ok(count as u64)
    }

    /// The documents, in this order.
    pub(super) fn ids(
        &self,
        connection: &Connection,
        order: &str,
        paging: Option<Paging>,
    ) -> StoreResult<Vec<DocumentId>> {
        let limit = paging
            .map_or_else(String::new, |paging| format!(" LIMIT {} OFFSET {}", paging.limit, paging.offset));
        let sql = self.sql("id") + " ORDER BY " + order + &limit;
        let mut select = connection.prepare(&sql)?;
        let ids = select.query_map(params_from_iter(&self.values), |row| row.get(0).map(DocumentId))?;
        Ok(ids.collect::<Result<_, _>>()?)
    }

    /// The documents whose path matches one of the globs, in this order.
    pub(super) fn ids_matching(
        &self,
        connection: &Connection,
        order: &str,
        globs: &GlobSet,
    ) -> StoreResult<Vec<DocumentId>> {
        let mut select = connection.prepare_cached(&(self.sql("id, path") + " ORDER BY " + order))?;
        let mut rows = select.query(params_from_iter(&self.values))?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            if globs.is_match(row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?) {
                ids.push(DocumentId(row.get(0)?));
            }
        }
        Ok(ids)
    }
}

/// Globs over paths: `*` stays inside a folder, `**` does not, and a plain folder means all that is below.
/// What is not a valid glob is taken literally.
pub(super) fn globs(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./").trim_matches('/');
        let literal = globset::escape(pattern);
        let pattern = if glob(pattern).is_ok() { pattern } else { &literal };
        for glob in [glob(pattern), glob(&format!("{pattern}/**"))].into_iter().flatten() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

fn glob(pattern: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).backslash_escape(false).build()
}

/// Sets of documents that passed a filter, kept for as long as nothing changes.
#[derive(Debug, Default)]
pub(super) struct FilterCache(Mutex<VecDeque<(Generation, Filter, Arc<RoaringTreemap>)>>);

const CACHED_FILTERS: usize = 16;

impl FilterCache {
    /// The documents that pass a filter, or `None` when all do.
    pub(super) fn documents(
        &self,
        connection: &Connection,
        generation: Generation,
        filter: &Filter,
    ) -> StoreResult<Option<Arc<RoaringTreemap>>> {
        if filter.is_empty() {
            return Ok(None);
        }
        if let Some(known) = self.known(generation, filter) {
            return Ok(Some(known));
        }
        let conditions = Conditions::of(filter);
        let ids = if filter.paths.is_empty() {
            conditions.ids(connection, "id", None)?
        } else {
            conditions.ids_matching(connection, "id", &globs(&filter.paths))?
        };
        let set: Arc<RoaringTreemap> = Arc::new(ids.into_iter().map(|id| id.0 as u64).collect());
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cached.len() == CACHED_FILTERS {
            cached.pop_front();
        }
        cached.push_back((generation, filter.clone(), Arc::clone(&set)));
        Ok(Some(set))
    }

    fn known(&self, generation: Generation, filter: &Filter) -> Option<Arc<RoaringTreemap>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cached
            .iter()
            .find(|known| known.0 == generation && known.1 == *filter)
            .map(|known| Arc::clone(&known.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], other: &[&str]) {
        let set = globs(&[pattern.to_owned()]);
        for path in matching {
            assert!(set.is_match(path), "{pattern} should match {path}");
        }
        for path in other {
            assert!(!set.is_match(path), "{pattern} should not match {path}");
        }
    }

    #[test]
    fn globs_follow_folders() {
        check("docs", &["docs/a.md", "docs/x/b.md", "docs"], &["docs2/a.md", "x/docs/a.md"]);
        check("docs/", &["docs/a.md"], &["docs2/a.md"]);
        check("docs/*.md", &["docs/a.md"], &["docs/x/a.md", "docs/a.txt"]);
        check("**/*.md", &["a.md", "x/y/a.md"], &["a.txt"]);
        check("{a,b}/**", &["a/x.md", "b/x/y.md"], &["c/x.md"]);
        check("/docs/*", &["docs/a.md"], &["a.md"]);
    }

    #[test]
    fn what_is_no_glob_is_taken_literally() {
        check("a[b", &["a[b", "a[b/c.md"], &["ab"]);
        check("", &[], &["a.md"]);
    }
}
