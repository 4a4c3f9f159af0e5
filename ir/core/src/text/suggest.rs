//! "Did you mean": the known name nearest to a wrong one.

/// The name of least edit distance, if it is near enough to be meant.
pub(super) fn closest<'n>(wrong: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const LONGEST: usize = 40;
    const MOST: usize = 10_000;
    let wrong: Vec<char> = wrong.chars().take(LONGEST + 1).collect();
    if wrong.len() > LONGEST {
        return None;
    }
    let limit = wrong.len().div_ceil(3);
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    known
        .into_iter()
        .take(MOST)
        .filter(|name| name.len() <= 4 * LONGEST && name.chars().count().abs_diff(wrong.len()) <= limit)
        .map(|name| (distance(&wrong, name), name))
        .filter(|(distance, _)| *distance <= limit && *distance < wrong.len())
        .min()
        .map(|(_, name)| name)
}

/// Insertions, removals, replacements and exchanges of neighbours.
fn distance(a: &[char], b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut best = (last[j] + usize::from(a[i] != b[j])).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
