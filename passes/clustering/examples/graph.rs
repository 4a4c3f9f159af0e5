//! Reads a bare graph as JSON, clusters it, prints the clusters and the report as JSON.
//!
//! `cargo run -p fusebox-clustering --example graph -- [FILE]`; without a file, normalise2.

use std::{error::Error, fs};

use fusebox_clustering::{Config, Graph, cluster_graph};

const NORMALISE2: &str = r#"{
  "externals": ["xs"],
  "nodes": [
    {"name": "sum1", "kind": "fold_all"},
    {"name": "scn", "kind": {"scan_left": {"longer": false}}},
    {"name": "sum2", "kind": "fold_all"},
    {"name": "ys1", "kind": "elementwise", "outputs": [{"result": true}]},
    {"name": "ys2", "kind": "elementwise", "outputs": [{"result": true}]}
  ],
  "edges": [
    {"from": {"external": 0}, "to": 0}, {"from": {"external": 0}, "to": 1}, {"from": {"output": [1, 0]}, "to": 2},
    {"from": {"external": 0}, "to": 3}, {"from": {"output": [0, 0]}, "to": 3, "complete": "scalar"},
    {"from": {"external": 0}, "to": 4}, {"from": {"output": [2, 0]}, "to": 4, "complete": "scalar"}
  ]
}"#;

fn main() -> Result<(), Box<dyn Error>> {
    let source = match std::env::args().nth(1) {
        Some(file) => fs::read_to_string(file)?,
        None => NORMALISE2.to_owned(),
    };
    let graph: Graph = serde_json::from_str(&source)?;
    println!("{}", serde_json::to_string_pretty(&cluster_graph(&graph, &Config::default())?)?);
    Ok(())
}
