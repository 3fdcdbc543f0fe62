//! Paths that lead to the same file by way of a link: a change of the file is a change at each of them.

use std::collections::BTreeMap;

use ibid_api::RelPath;

use crate::source::SourceRoot;

/// The links of a source, and where each really leads.
#[derive(Debug, Default)]
pub(super) struct Aliases(BTreeMap<RelPath, RelPath>);

impl Aliases {
    /// Those that are there now.
    pub(super) fn of(root: &SourceRoot) -> Self {
        Self(root.links(None).into_iter().collect())
    }

    /// Looks again at this path and below it.
    pub(super) fn look_again(&mut self, root: &SourceRoot, path: &RelPath) {
        self.0.retain(|link, _| rest(link, path).is_none());
        self.0.extend(root.links(Some(path)));
    }

    /// Whether a link is known at this path.
    pub(super) fn has(&self, path: &RelPath) -> bool {
        self.0.contains_key(path)
    }

    /// Other paths of what changed here.
    pub(super) fn also(&self, changed: &RelPath) -> Vec<RelPath> {
        let also = self.0.iter().filter_map(|(link, target)| match rest(changed, target) {
            Some("") => Some(link.clone()),
            Some(rest) => RelPath::parse(&format!("{}/{rest}", link.as_str())).ok(),
            // The folder around the target came or went, and the target with it.
            None => rest(target, changed).map(|_| link.clone()),
        });
        also.filter(|path| path != changed).collect()
    }
}

/// What is left of a path below a folder; nothing of the folder itself.
fn rest<'a>(path: &'a RelPath, folder: &RelPath) -> Option<&'a str> {
    let rest = path.as_str().strip_prefix(folder.as_str())?;
    if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rel(path: &str) -> RelPath {
        RelPath::parse(path).unwrap()
    }

    #[test]
    fn a_change_is_a_change_at_every_name() {
        let aliases = Aliases(BTreeMap::from([
            (rel("shelf/current"), rel("projects/garden")),
            (rel("today.md"), rel("journal/monday.md")),
        ]));
        for (changed, also) in [
            ("projects/garden/beds.md", vec!["shelf/current/beds.md"]),
            ("projects/garden", vec!["shelf/current"]),
            ("projects", vec!["shelf/current"]),
            ("projects/garden2/x.md", vec![]),
            ("journal/monday.md", vec!["today.md"]),
            ("elsewhere.md", vec![]),
        ] {
            let also: Vec<_> = also.into_iter().map(rel).collect();
            assert_eq!(aliases.also(&rel(changed)), also, "{changed}");
        }
    }
}
