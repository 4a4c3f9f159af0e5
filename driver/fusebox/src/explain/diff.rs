//! The lines of a stage against those of the stage before.

use std::collections::HashMap;

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It stands in both.
    Kept,
    /// It stands in the later one.
    Added,
    /// It stood in the earlier one.
    Removed,
}

/// The most pairs of lines that are compared: beyond it all lines in between are taken for changed.
const MOST_PAIRS: usize = 4_000_000;

/// The lines of both, in order, such that as many as can be are kept; what is removed stands before what takes its place.
///
/// Source: Hunt, McIlroy, "An algorithm for differential file comparison", 1976: a longest common subsequence, here by its table.
pub(super) fn lines<'t>(before: &'t str, after: &'t str) -> Vec<(Change, &'t str)> {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let begin = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - begin;
    let end = a.iter().rev().zip(b.iter().rev()).take(rest).take_while(|(x, y)| x == y).count();
    let mut all: Vec<(Change, &str)> = a[..begin].iter().map(|&line| (Change::Kept, line)).collect();
    between(&a[begin..a.len() - end], &b[begin..b.len() - end], &mut all);
    all.extend(a[a.len() - end..].iter().map(|&line| (Change::Kept, line)));
    all
}

fn between<'t>(a: &[&'t str], b: &[&'t str], all: &mut Vec<(Change, &'t str)>) {
    let removed = |lines: &[&'t str], all: &mut Vec<_>| all.extend(lines.iter().map(|&line| (Change::Removed, line)));
    let added = |lines: &[&'t str], all: &mut Vec<_>| all.extend(lines.iter().map(|&line| (Change::Added, line)));
    if a.len().saturating_mul(b.len()) > MOST_PAIRS {
        removed(a, all);
        added(b, all);
        return;
    }
    // Lines as numbers; `longest[i][j]` is how many lines of `a[i..]` and `b[j..]` can be kept.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut number = |lines: &[&'t str]| -> Vec<usize> {
        lines
            .iter()
            .map(|&line| {
                let next = numbers.len();
                *numbers.entry(line).or_insert(next)
            })
            .collect()
    };
    let (x, y) = (number(a), number(b));
    let width = b.len() + 1;
    let mut longest = vec![0u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = if x[i] == y[j] {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if x[i] == y[j] {
            all.push((Change::Kept, a[i]));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            all.push((Change::Removed, a[i]));
            i += 1;
        } else {
            all.push((Change::Added, b[j]));
            j += 1;
        }
    }
    removed(&a[i..], all);
    added(&b[j..], all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let sign = |change| match change {
            Change::Kept => ' ',
            Change::Added => '+',
            Change::Removed => '-',
        };
        let lines = lines(&before.replace(' ', "\n"), &after.replace(' ', "\n"))
            .into_iter()
            .map(|(c, l)| (c, l.to_owned()))
            .collect::<Vec<_>>();
        lines.into_iter().map(|(change, line)| format!("{}{line}", sign(change))).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn lines_are_kept_added_and_removed() {
        assert_eq!(shown("a b c", "a b c"), " a| b| c");
        assert_eq!(shown("a b c", "a c d"), " a|-b| c|+d");
        assert_eq!(shown("a x y b", "a z b"), " a|-x|-y|+z| b");
        // A line that moves is kept once.
        assert_eq!(shown("a b c d", "d a b c"), "+d| a| b| c|-d");
        assert_eq!(shown("", "a"), "+a");
        assert_eq!(shown("a a", "a"), " a|-a");
    }

    #[test]
    fn both_texts_are_in_it_however_long() {
        let text = |modulus: usize| (0..3_000).map(|i| format!("{}\n", i * 7 % modulus)).collect::<String>();
        let (before, after) = (text(11), text(13));
        let all = lines(&before, &after);
        let of =
            |other: Change| all.iter().filter(|(c, _)| *c != other).map(|(_, l)| format!("{l}\n")).collect::<String>();
        assert_eq!(of(Change::Added), before);
        assert_eq!(of(Change::Removed), after);
    }
}
