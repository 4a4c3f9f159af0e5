//! Clustering for a language of your own: statements on arrays, grouped into as few loops as possible.
//!
//! `cargo run -p fusebox-clustering --example own_clustering`

use fusebox_clustering::{Complete, Config, Edge, Error, Graph, Kind, Node, Source, cluster_graph};

/// A statement of a small array language.
enum Statement {
    /// Element by element, of arrays and of numbers.
    Map { name: &'static str, arrays: Vec<&'static str>, numbers: Vec<&'static str> },
    /// One number of a whole array.
    Sum { name: &'static str, array: &'static str },
    /// Running sums.
    Running { name: &'static str, array: &'static str },
    /// The elements of `array` at the positions that `at` holds.
    Gather { name: &'static str, array: &'static str, at: &'static str },
}

impl Statement {
    fn name(&self) -> &'static str {
        match self {
            Self::Map { name, .. }
            | Self::Sum { name, .. }
            | Self::Running { name, .. }
            | Self::Gather { name, .. } => name,
        }
    }
}

/// All arrays have the same length here, so that one class of extents (0) is enough.
fn graph(inputs: &[&'static str], program: &[Statement], results: &[&str]) -> Graph {
    let source = |name: &str| match program.iter().position(|statement| statement.name() == name) {
        Some(position) => Source::Output(position, 0),
        None => Source::External(inputs.iter().position(|input| *input == name).expect("a name that is defined")),
    };
    let mut graph = Graph { externals: inputs.iter().map(|&name| name.to_owned()).collect(), ..Graph::default() };
    for (position, statement) in program.iter().enumerate() {
        // Read element by element, or complete before: that is all that clustering has to know of a read.
        let traversed = |name: &str| Edge::traversed(source(name), position);
        let complete = |name: &str, why| Edge::complete(source(name), position, why);
        let kind = match statement {
            Statement::Map { arrays, numbers, .. } => {
                graph.edges.extend(arrays.iter().map(|array| traversed(array)));
                graph.edges.extend(numbers.iter().map(|number| complete(number, Complete::Scalar)));
                Kind::Elementwise
            }
            Statement::Sum { array, .. } => {
                graph.edges.push(traversed(array));
                Kind::FoldAll
            }
            Statement::Running { array, .. } => {
                graph.edges.push(traversed(array));
                Kind::ScanLeft { longer: false }
            }
            Statement::Gather { array, at, .. } => {
                graph.edges.extend([complete(array, Complete::Indexed), traversed(at)]);
                Kind::Elementwise
            }
        };
        let node = Node::new(statement.name(), kind);
        graph.nodes.push(if results.contains(&statement.name()) { node.result() } else { node });
    }
    graph
}

/// The loops in order, each as the names of its statements, and the arrays that are stored.
fn loops(graph: &Graph) -> Result<(Vec<Vec<&str>>, Vec<&str>), Error> {
    let clustering = cluster_graph(graph, &Config::default())?;
    let name = |node: usize| graph.nodes[node].name.as_str();
    let loops = clustering.clusters.iter().map(|cluster| cluster.nodes.iter().map(|&node| name(node)).collect());
    Ok((loops.collect(), clustering.written.iter().map(|&(node, _)| name(node)).collect()))
}

/// Normalises by the sum and by the sum of running sums.
fn example() -> Graph {
    let program = [
        Statement::Sum { name: "sum", array: "xs" },
        Statement::Running { name: "running", array: "xs" },
        Statement::Sum { name: "sum2", array: "running" },
        Statement::Map { name: "ys", arrays: vec!["xs"], numbers: vec!["sum"] },
        Statement::Map { name: "zs", arrays: vec!["xs"], numbers: vec!["sum2"] },
    ];
    graph(&["xs"], &program, &["ys", "zs"])
}

/// Squares, and some of them by their positions.
fn by_position() -> Graph {
    let program = [
        Statement::Map { name: "squares", arrays: vec!["xs"], numbers: vec![] },
        Statement::Gather { name: "chosen", array: "squares", at: "at" },
    ];
    graph(&["xs", "at"], &program, &["chosen"])
}

fn main() -> Result<(), Error> {
    for graph in [example(), by_position()] {
        let (loops, stored) = loops(&graph)?;
        loops.iter().for_each(|names| println!("loop over {}", names.join(", ")));
        println!("stored: {}", stored.join(", "));
    }
    Ok(())
}

#[test]
fn two_loops_are_enough() {
    let graph = example();
    let (loops, stored) = loops(&graph).unwrap();
    assert_eq!(loops, [vec!["sum", "running", "sum2"], vec!["ys", "zs"]]);
    assert!(!stored.contains(&"running"), "{stored:?}");
}

#[test]
fn what_is_read_by_index_is_complete_before() {
    let graph = by_position();
    let (loops, stored) = loops(&graph).unwrap();
    assert_eq!(loops, [vec!["squares"], vec!["chosen"]]);
    assert_eq!(stored, ["squares", "chosen"]);
}
