//! Finds the name someone probably meant.

/// The candidate nearest to `name`, if one is near enough to be worth naming.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Long junk is not a typing mistake, and the distance is quadratic.
    if name.chars().count() > 64 {
        return None;
    }
    let fold = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let wanted = fold(name);
    let allowed = (wanted.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &fold(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, substitutions and swaps of neighbours that lead from one to the other.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for row in 1..=left.len() {
        let mut current = vec![row];
        for column in 1..=right.len() {
            let same = left[row - 1] == right[column - 1];
            let mut best = (rows[row - 1][column - 1] + usize::from(!same))
                .min(rows[row - 1][column] + 1)
                .min(current[column - 1] + 1);
            let swapped = row > 1
                && column > 1
                && left[row - 1] == right[column - 2]
                && left[row - 2] == right[column - 1];
            if swapped {
                best = best.min(rows[row - 2][column - 2] + 1);
            }
            current.push(best);
        }
        rows.push(current);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[track_caller]
    fn check(name: &str, expected: Option<&str>) {
        assert_eq!(nearest(name, ["query", "limit", "allow_large", "note_id"]), expected);
    }

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        check("qurey", Some("query"));
        check("limits", Some("limit"));
        check("allow-large", Some("allow_large"));
        check("NoteID", Some("note_id"));
    }

    #[test]
    fn something_else_is_not_forced_onto_a_name() {
        check("banana", None);
        check("", None);
        check(&"query".repeat(1000), None);
    }
}
