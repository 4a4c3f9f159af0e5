//! Natural order of names: numbers in them by value, so that `x10` is behind `x9`.

use std::cmp::Ordering;

/// Compares names in natural order; names that differ in leading zeros alone are not equal.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        match (digits(left), digits(right)) {
            (m, n) if m > 0 && n > 0 => {
                let (one, other) = (left[..m].trim_start_matches('0'), right[..n].trim_start_matches('0'));
                let order = one.len().cmp(&other.len()).then_with(|| one.cmp(other));
                if order.is_ne() {
                    return order;
                }
                (left, right) = (&left[m..], &right[n..]);
            }
            _ => match (left.chars().next(), right.chars().next()) {
                (None, None) => return a.cmp(b),
                (None, Some(_)) => return Ordering::Less,
                (Some(_), None) => return Ordering::Greater,
                (Some(x), Some(y)) if x != y => return x.cmp(&y),
                (Some(x), Some(y)) => (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_by_value() {
        let mut names =
            ["x10", "x9", "x1", "y", "x", "x09", "x1b", "x1a2", "x1a10", "10", "9", "x99999999999999999999999", ""];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(
            names,
            ["", "9", "10", "x", "x1", "x1a2", "x1a10", "x1b", "x09", "x9", "x10", "x99999999999999999999999", "y"]
        );
    }
}
