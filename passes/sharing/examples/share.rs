//! Reads a graph of terms as JSON and says where each shared term is bound.
//!
//! `cargo run -p fusebox-sharing --example share -- [FILE]`. A graph is
//! `{"root": 0, "terms": [{"name": "+", "children": [1, 1]}, {"name": "exp", "children": [2]}, {"name": "x", "trivial": true}]}`, which is
//! also what is read without a file; a binder has `"binds": [variables]`, and its variables have `"variable": true`.

use std::{error::Error, fs};

use fusebox_ir::term::TermGraph;
use fusebox_sharing::binding_points;
use serde::Deserialize;

const GRAPH: &str = r#"{"root": 0, "terms": [
    {"name": "+", "children": [1, 1]}, {"name": "exp", "children": [2]}, {"name": "x", "trivial": true}]}"#;

#[derive(Deserialize)]
struct Graph {
    root: usize,
    terms: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    name: String,
    #[serde(default)]
    children: Vec<usize>,
    #[serde(default)]
    binds: Vec<usize>,
    #[serde(default)]
    variable: bool,
    #[serde(default)]
    trivial: bool,
}

impl TermGraph for Graph {
    fn len(&self) -> usize {
        self.terms.len()
    }

    fn root(&self) -> usize {
        self.root
    }

    fn children(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        self.terms[node].children.iter().for_each(|&child| visit(child));
    }

    fn binds(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        self.terms[node].binds.iter().for_each(|&variable| visit(variable));
    }

    fn is_variable(&self, node: usize) -> bool {
        self.terms[node].variable
    }

    fn is_trivial(&self, node: usize) -> bool {
        self.terms[node].trivial
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let source = std::env::args().nth(1).map_or_else(|| Ok(GRAPH.to_owned()), fs::read_to_string)?;
    let graph: Graph = serde_json::from_str(&source)?;
    let named = graph.terms.iter().flat_map(|node| node.children.iter().chain(&node.binds)).chain([&graph.root]);
    if let Some(missing) = named.copied().find(|&node| node >= graph.terms.len()) {
        return Err(format!("term {missing} is not there: terms are numbered from 0 to {}", graph.terms.len()).into());
    }
    let points = binding_points(&graph)?;
    for (node, term) in graph.terms.iter().enumerate() {
        for &bound in points.at(node) {
            println!("term {bound} (`{}`) is bound at term {node} (`{}`)", graph.terms[bound].name, term.name);
        }
    }
    Ok(())
}
