//! Marks of clusters: the explicit fusion tree as a list.

use std::collections::HashSet;

use crate::{ArrayId, Binding, Mark};

/// How each binding of a cluster is fused with those behind it, where the cluster gives `results`.
pub fn marks(bindings: &[Binding], results: &[ArrayId]) -> Vec<Mark> {
    let results: HashSet<ArrayId> = results.iter().copied().collect();
    let mut used: HashSet<ArrayId> = HashSet::new();
    let mut marks = Vec::with_capacity(bindings.len());
    for (position, binding) in bindings.iter().enumerate().rev() {
        let is_result = binding.results.iter().any(|var| results.contains(&var.id));
        let is_used = binding.results.iter().any(|var| used.contains(&var.id));
        marks.push(match (is_used, is_result) {
            _ if position + 1 == bindings.len() => Mark::Last,
            (true, true) => Mark::Diagonal,
            (true, false) => Mark::Vertical,
            (false, _) => Mark::Horizontal,
        });
        binding.for_each_use(&mut |id| _ = used.insert(id));
    }
    marks.reverse();
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    #[test]
    fn marks_say_who_uses_what_and_what_leaves() {
        let source = "fn f(xs: [n]i64) -> [n]i64, [n]i64 {
          let a: [n]i64 = map(|x| x + 1, xs)
          let b: [n]i64 = map(|x| x + 2, xs)
          let c: [n]i64 = map(|x| x + 3, xs)
          let d: [n]i64 = map(|x, y| x + y, a, b)
          return b, d }";
        let body = text::parse(source).unwrap_or_else(|error| panic!("{error}")).body;
        let expected = [Mark::Vertical, Mark::Diagonal, Mark::Horizontal, Mark::Last];
        assert_eq!(marks(&body.bindings, &body.results), expected);
    }
}
