//! Links: which document a name leads to, and who leads to a document.

use std::{borrow::Cow, collections::HashMap};

use ibid_api::{DocumentId, RelPath};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{
    error,
    names::{self, without_extension},
};
use crate::store::{StoreResult, StoredLink};

/// Links that start at a document, resolved against the documents there are now.
pub(super) fn links_from(connection: &Connection, document: DocumentId) -> StoreResult<Vec<StoredLink>> {
    let Some(origin) = Origin::of(connection, document)? else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached(
        "SELECT name, fragment, label, embed, wiki, line, chunk FROM links WHERE document = ?1 ORDER BY ord",
    )?;
    let mut rows = select.query([document.0])?;
    let mut resolver = Resolver { connection, known: HashMap::new() };
    let mut links = Vec::new();
    while let Some(row) = rows.next()? {
        let written = Written { name: row.get(0)?, label: row.get(2)?, wiki: row.get(4)? };
        let target = resolver.resolve(&origin, &written)?;
        links.push(StoredLink {
            name: written.name,
            fragment: row.get(1)?,
            label: written.label,
            embed: row.get(3)?,
            line: row.get(5)?,
            chunk: row.get(6)?,
            target: target.map(Target::into_parts).transpose()?,
        });
    }
    Ok(links)
}

/// Other documents with a link that resolves to this one, by number.
pub(super) fn links_to(connection: &Connection, document: DocumentId) -> StoreResult<Vec<DocumentId>> {
    let Some(own) = Origin::of(connection, document)? else { return Ok(Vec::new()) };
    let mut select = connection.prepare_cached("SELECT name FROM names WHERE document = ?1")?;
    let own_names = select.query_map([document.0], |row| row.get::<_, String>(0))?;
    let mut keys =
        own_names.map(|name| name.map(|name| names::link_key(&name))).collect::<Result<Vec<_>, _>>()?;
    keys.push(names::link_key(&own.path));
    keys.sort_unstable();
    keys.dedup();

    let mut select = connection.prepare_cached(
        "SELECT document, name, label, wiki FROM links WHERE name_key = ?1
         UNION SELECT document, name, label, wiki FROM links WHERE label_key = ?1",
    )?;
    let mut resolver = Resolver { connection, known: HashMap::new() };
    let mut origins: HashMap<i64, Option<Origin>> = HashMap::new();
    let mut found = Vec::new();
    for key in keys {
        let mut rows = select.query([key])?;
        while let Some(row) = rows.next()? {
            let from = DocumentId(row.get(0)?);
            if from == document || found.contains(&from) {
                continue;
            }
            let origin = match origins.get(&from.0) {
                Some(known) => known,
                None => origins.entry(from.0).or_insert(Origin::of(connection, from)?),
            };
            let Some(origin) = origin else { continue };
            let written = Written { name: row.get(1)?, label: row.get(2)?, wiki: row.get(3)? };
            if resolver.resolve(origin, &written)?.is_some_and(|target| target.id == document.0) {
                found.push(from);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The key under which a link is filed.
pub(super) fn name_key(name: &str, wiki: bool) -> String {
    if wiki { names::link_key(name) } else { names::link_key(&decoded(without_query(name))) }
}

/// Where a link stands.
struct Origin {
    source: String,
    path: String,
}

impl Origin {
    fn of(connection: &Connection, document: DocumentId) -> StoreResult<Option<Self>> {
        Ok(connection
            .prepare_cached("SELECT source, path FROM documents WHERE id = ?1")?
            .query_row([document.0], |row| Ok(Self { source: row.get(0)?, path: row.get(1)? }))
            .optional()?)
    }

    fn folder(&self) -> &str {
        self.path.rfind('/').map_or("", |slash| &self.path[..slash])
    }
}

/// A link as written.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Written {
    name: String,
    label: Option<String>,
    wiki: bool,
}

/// A document that a link may lead to.
#[derive(Clone, PartialEq, Eq)]
struct Target {
    id: i64,
    source: String,
    path: String,
    title: String,
}

impl Target {
    /// Columns that [`Target::read`] reads, in its order.
    const COLUMNS: &'static str = "documents.id, source, path, title";

    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, source: row.get(1)?, path: row.get(2)?, title: row.get(3)? })
    }

    fn into_parts(self) -> StoreResult<(DocumentId, RelPath, String)> {
        let path =
            RelPath::parse(&self.path).map_err(|_| error::corrupt("a stored path has an unexpected form"))?;
        Ok((DocumentId(self.id), path, self.title))
    }
}

struct Resolver<'a> {
    connection: &'a Connection,
    /// Answers by source, folder (where it matters) and link.
    known: HashMap<(String, String, Written), Option<Target>>,
}

impl Resolver<'_> {
    fn resolve(&mut self, origin: &Origin, written: &Written) -> StoreResult<Option<Target>> {
        let folder = if written.wiki { "" } else { origin.folder() };
        let key = (origin.source.clone(), folder.to_owned(), written.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let target =
            if written.wiki { self.wiki(&origin.source, written)? } else { self.relative(origin, written)? };
        self.known.insert(key, target.clone());
        Ok(target)
    }

    /// The first way of reading the name under which there is anything decides; it must be one document.
    fn wiki(&self, source: &str, written: &Written) -> StoreResult<Option<Target>> {
        let name = written.name.trim();
        if name.is_empty() {
            return Ok(None);
        }
        let bare = without_markdown(name);
        let label = written.label.as_deref().map(str::trim).filter(|label| !label.is_empty());
        let mut found = self.exactly(name)?;
        if found.is_empty() && bare != name {
            found = self.exactly(bare)?;
        }
        if found.is_empty() {
            found = self.below_any_folder(bare, ToOwned::to_owned)?;
        }
        if let (true, Some(label)) = (found.is_empty(), label) {
            found = self.exactly(label)?;
        }
        if found.is_empty() {
            found = self.folded(&names::fold(bare))?;
        }
        if found.is_empty() {
            found = self.below_any_folder(bare, names::fold)?;
        }
        Ok(only(found, source))
    }

    /// Documents with this stem, title or alias, or, for a name with folders, at this path.
    fn exactly(&self, name: &str) -> StoreResult<Vec<Target>> {
        let mut found = Vec::new();
        if name.contains('/') {
            found = self.at_paths(name)?;
        }
        if found.is_empty() {
            found = self.select("JOIN names ON names.document = documents.id WHERE name = ?1", name)?;
        }
        Ok(found)
    }

    fn folded(&self, folded: &str) -> StoreResult<Vec<Target>> {
        self.select("JOIN names ON names.document = documents.id WHERE folded = ?1", folded)
    }

    /// Documents at this path from the root of a source, with or without an extension.
    fn at_paths(&self, name: &str) -> StoreResult<Vec<Target>> {
        let path = name.trim_start_matches('/');
        let found = self.select("WHERE path = ?1", path)?;
        if !found.is_empty() {
            return Ok(found);
        }
        let mut found = Vec::new();
        for extension in MARKDOWN {
            found.extend(self.select("WHERE path = ?1", &format!("{path}{extension}"))?);
        }
        Ok(found)
    }

    /// Documents whose path ends with this one, with or without its extension.
    fn below_any_folder(&self, name: &str, compared: impl Fn(&str) -> String) -> StoreResult<Vec<Target>> {
        let wanted = compared(name.trim_matches('/'));
        let mut found = self.folded(&names::link_key(name))?;
        let last = wanted.rsplit('/').next().unwrap_or(&wanted);
        found.extend(self.folded(&names::fold(last))?);
        let ends_so = |path: &str| {
            path.strip_suffix(wanted.as_str())
                .is_some_and(|folders| folders.is_empty() || folders.ends_with('/'))
        };
        found.retain(|target| {
            let path = compared(&target.path);
            ends_so(&path) || ends_so(without_extension(&path))
        });
        Ok(found)
    }

    /// A Markdown link: a path from the folder of the document, or from the root of its source.
    fn relative(&self, origin: &Origin, written: &Written) -> StoreResult<Option<Target>> {
        let name = without_query(written.name.trim());
        let decoded = decoded(name);
        for name in [name, decoded.as_ref()] {
            for folder in [origin.folder(), ""] {
                let Some(path) = join(folder, name) else { continue };
                let found = self.at_paths(&path)?.into_iter().find(|target| target.source == origin.source);
                if found.is_some() {
                    return Ok(found);
                }
            }
        }
        Ok(None)
    }

    fn select(&self, condition: &str, value: &str) -> StoreResult<Vec<Target>> {
        let sql = format!("SELECT {} FROM documents {condition}", Target::COLUMNS);
        let mut select = self.connection.prepare_cached(&sql)?;
        let found = select.query_map(params![value], Target::read)?;
        Ok(found.collect::<Result<_, _>>()?)
    }
}

/// The only document there is, or else the only one of the same source.
fn only(mut found: Vec<Target>, source: &str) -> Option<Target> {
    found.sort_unstable_by_key(|target| target.id);
    found.dedup();
    if found.len() > 1 {
        found.retain(|target| target.source == source);
    }
    if found.len() == 1 { found.pop() } else { None }
}

const MARKDOWN: [&str; 2] = [".md", ".markdown"];

fn without_markdown(name: &str) -> &str {
    let lower = name.to_ascii_lowercase();
    MARKDOWN.iter().find(|extension| lower.ends_with(*extension)).map_or(name, |extension| {
        let bare = &name[..name.len() - extension.len()];
        if bare.is_empty() { name } else { bare }
    })
}

fn without_query(name: &str) -> &str {
    name.split('?').next().unwrap_or(name)
}

/// Joins a relative path to a folder; `None` if it leads out of the source or nowhere.
fn join(folder: &str, name: &str) -> Option<String> {
    let mut segments: Vec<&str> = match name.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => folder.split('/').filter(|segment| !segment.is_empty()).collect(),
    };
    for segment in name.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            _ => segments.push(segment),
        }
    }
    (!segments.is_empty()).then(|| segments.join("/"))
}

/// Resolves `%20` and its like; what is not valid stays as it is.
fn decoded(name: &str) -> Cow<'_, str> {
    if !name.contains('%') {
        return Cow::Borrowed(name);
    }
    let digit =
        |byte: Option<&u8>| byte.and_then(|&byte| char::from(byte).to_digit(16)).map(|value| value as u8);
    let raw = name.as_bytes();
    let mut bytes = Vec::with_capacity(raw.len());
    let mut at = 0;
    while at < raw.len() {
        match (raw[at], digit(raw.get(at + 1)), digit(raw.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(high << 4 | low);
                at += 3;
            }
            (byte, ..) => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(name), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_stay_inside_the_source() {
        for (folder, name, want) in [
            ("a/b", "c.md", Some("a/b/c.md")),
            ("a/b", "../c.md", Some("a/c.md")),
            ("a", "../../c.md", None),
            ("a", "/c.md", Some("c.md")),
            ("", "./x/./y.md", Some("x/y.md")),
            ("a", "..", None),
        ] {
            assert_eq!(join(folder, name).as_deref(), want, "{folder} {name}");
        }
    }

    #[test]
    fn percent_signs_are_resolved_where_they_mean_something() {
        for (raw, want) in
            [("a%20b", "a b"), ("100%", "100%"), ("%zz", "%zz"), ("%ff", "%ff"), ("%C3%A9", "é")]
        {
            assert_eq!(decoded(raw), want);
        }
    }
}
