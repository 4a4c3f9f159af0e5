//! Which operations each line of a stage's text is about, by the names of their results.

use std::collections::{BTreeMap, BTreeSet};

use crate::Explanation;

/// Names that the graphs know, and what has become of those that are fused away.
pub(super) struct Names {
    known: BTreeSet<String>,
    /// Names of an earlier stage, and the operations that they have gone into.
    became: BTreeMap<String, BTreeSet<String>>,
    /// For each first name in a kernel's own, all names of its cluster.
    clusters: BTreeMap<String, Vec<String>>,
}

impl Names {
    pub(super) fn new(explanation: &Explanation) -> Self {
        let nodes = || explanation.graphs.iter().flat_map(|graph| &graph.nodes);
        let known = nodes().flat_map(|node| node.results.clone()).collect();
        let mut became: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for choice in explanation.producers.iter().flat_map(|report| &report.choices) {
            for name in &choice.absorbed {
                became.entry(name.clone()).or_default().insert(choice.name.clone());
            }
        }
        let mut clusters = BTreeMap::new();
        for graph in &explanation.graphs {
            for cluster in &graph.clusters {
                let names: Vec<String> = cluster.nodes.iter().flat_map(|&at| graph.nodes[at].results.clone()).collect();
                // A name may be that of several: a kernel is called after what it stores.
                for node in cluster.nodes.iter().map(|&at| &graph.nodes[at]) {
                    for name in &node.results {
                        if node.manifest || !clusters.contains_key(name) {
                            clusters.insert(name.clone(), names.clone());
                        }
                    }
                }
            }
        }
        Self { known, became, clusters }
    }

    /// What a name is now.
    fn now(&self, name: &str) -> Vec<&str> {
        let mut found = BTreeSet::new();
        let (mut rest, mut seen) = (vec![name], BTreeSet::new());
        while let Some(name) = rest.pop().filter(|name| seen.insert(*name)) {
            match (self.known.get(name), self.became.get(name)) {
                (Some(known), _) => drop(found.insert(known.as_str())),
                (None, Some(others)) => rest.extend(others.iter().map(String::as_str)),
                (None, None) => {}
            }
        }
        found.into_iter().collect()
    }

    /// All results of the operations that a kernel holds, by the kernel's name: that of its first result stands in it between backquotes.
    pub(super) fn of_kernel(&self, kernel: &str) -> Vec<String> {
        let Some(name) = kernel.split('`').nth(1) else { return Vec::new() };
        let all = |name: &str| self.clusters.get(name).cloned();
        match all(name) {
            Some(names) => names,
            None => {
                self.now(name).into_iter().flat_map(|name| all(name).unwrap_or_else(|| vec![name.to_owned()])).collect()
            }
        }
    }

    /// For each line of a program's text the inputs or operations that it is about: those that it defines, or the one that it is inside of.
    pub(super) fn of_program<'t>(&self, lines: impl Iterator<Item = &'t str>) -> Vec<Vec<String>> {
        let mut around: Vec<(usize, Vec<String>)> = Vec::new();
        lines
            .map(|line| {
                let indent = line.len() - line.trim_start().len();
                around.retain(|(other, _)| *other < indent);
                let inputs: Vec<String> =
                    inputs(line).into_iter().filter_map(|name| self.known.get(name).cloned()).collect();
                if !inputs.is_empty() {
                    return inputs;
                }
                let own: BTreeSet<&str> = defined(line).into_iter().flat_map(|name| self.now(name)).collect();
                if own.is_empty() {
                    return around.last().map(|(_, names)| names.clone()).unwrap_or_default();
                }
                let own: Vec<String> = own.into_iter().map(str::to_owned).collect();
                around.push((indent, own.clone()));
                own
            })
            .collect()
    }

    /// The same of a plan's: lines of a kernel are about all that it holds.
    pub(super) fn of_plan<'t>(&self, lines: impl Iterator<Item = &'t str>) -> Vec<Vec<String>> {
        let mut kernel: Vec<String> = Vec::new();
        let of = |line: &str| {
            let (number, rest) = line.split_once(": ")?;
            (number.bytes().all(|c| c.is_ascii_digit()) && rest.starts_with("kernel ")).then_some(())?;
            Some(self.of_kernel(rest))
        };
        lines
            .map(|line| {
                if let Some(names) = of(line) {
                    kernel = names;
                }
                match line.trim_start().strip_prefix("allocate ") {
                    Some(rest) => {
                        self.now(rest.split(':').next().unwrap_or_default()).into_iter().map(str::to_owned).collect()
                    }
                    None => kernel.clone(),
                }
            })
            .collect()
    }
}

/// The names that a line defines: between `let` and `=`, without types.
fn defined(line: &str) -> Vec<&str> {
    let Some(rest) = line.trim_start().strip_prefix("let ") else { return Vec::new() };
    names_in(rest.split(" = ").next().unwrap_or_default())
}

/// The inputs that the first line of a program names.
fn inputs(line: &str) -> Vec<&str> {
    let Some((_, list)) = line.strip_prefix("fn ").and_then(|rest| rest.split_once('(')) else { return Vec::new() };
    names_in(list.split(')').next().unwrap_or_default())
}

/// Names in a list of names with types.
fn names_in(list: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    // Commas in extents stand between brackets.
    let mut depth = 0;
    let parts = list.split(|c: char| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    parts
        .map(|part| part.split(':').next().unwrap_or_default().trim())
        .filter(|name| !name.is_empty() && name.chars().all(is_name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        Names {
            known: set(&["b", "d", "e"]),
            became: [("a".into(), set(&["b"])), ("c".into(), set(&["a", "d"]))].into(),
            clusters: [("b", vec!["b", "d"]), ("d", vec!["b", "d"])]
                .map(|(name, all)| (name.to_owned(), all.into_iter().map(str::to_owned).collect()))
                .into(),
        }
    }

    #[test]
    fn lines_are_about_what_they_define_and_what_they_are_in() {
        let text = "fn f(x: [n]f32) -> f32 {\n  let b: [n, m]f32, q: f32 = map(|x| {\n    let y = x * 2.0\n    return y }, x)\n  let e: f32 = fold(|x, y| x + y, 0.0, b)\n  return e }";
        let about = names().of_program(text.lines());
        let joined: Vec<String> = about.iter().map(|names| names.join(" ")).collect();
        assert_eq!(joined, ["", "b", "b", "b", "e", ""]);
        // Names that fusion took in are what they have gone into.
        assert_eq!(names().of_program(["let c: f32 = 1.0"].into_iter()), [["b", "d"]]);
        // The first line is about the inputs, and what follows is not inside of them.
        let about = names().of_program("fn f(b: [n, m]f32, x: i64, e: [n]f32) -> f32 {\n  return x }".lines());
        assert_eq!(about, [vec!["b", "e"], vec![]]);
        assert_eq!(defined("  let a.re: [n]f32, a.im: [n, m]f32 = map("), ["a.re", "a.im"]);
    }

    #[test]
    fn lines_of_a_kernel_are_about_its_cluster() {
        let text = "plan p() {\n  allocate e: [n]f32 for map `e`\n  launch 0 k (n; e) }\n0: kernel cluster `a` (n) {\n  0: x }\n1: kernel map `e` (n) {\n  0: y }";
        let joined: Vec<String> = names().of_plan(text.lines()).iter().map(|names| names.join(" ")).collect();
        assert_eq!(joined, ["", "e", "", "b d", "b d", "e", "e"]);
        assert!(names().of_kernel("fold `unknown`").is_empty());
    }
}
