//! Binding points of plain lambda terms: the worked example of the paper, its counterexamples, and random terms.

use fusebox_ir::term::TermGraph;
use fusebox_sharing::{GraphError, binding_points};

#[derive(Clone, Debug)]
enum Node {
    Constant(&'static str),
    Variable,
    Lambda { variable: usize, body: usize },
    Apply(Vec<usize>),
}

struct Graph {
    nodes: Vec<Node>,
    root: usize,
}

impl TermGraph for Graph {
    fn len(&self) -> usize {
        self.nodes.len()
    }
    fn root(&self) -> usize {
        self.root
    }
    fn children(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        match &self.nodes[node] {
            Node::Constant(_) | Node::Variable => {}
            Node::Lambda { body, .. } => visit(*body),
            Node::Apply(parts) => parts.iter().for_each(|&part| visit(part)),
        }
    }
    fn binds(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        if let Node::Lambda { variable, .. } = self.nodes[node] {
            visit(variable);
        }
    }
    fn is_variable(&self, node: usize) -> bool {
        matches!(self.nodes[node], Node::Variable)
    }
    fn is_trivial(&self, node: usize) -> bool {
        matches!(self.nodes[node], Node::Constant(_))
    }
}

struct Builder {
    nodes: Vec<Node>,
}

impl Builder {
    fn new() -> Self {
        Self { nodes: Vec::new() }
    }
    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }
    fn constant(&mut self, name: &'static str) -> usize {
        self.add(Node::Constant(name))
    }
    fn apply(&mut self, parts: &[usize]) -> usize {
        self.add(Node::Apply(parts.to_vec()))
    }
    fn lambda(&mut self, body: impl FnOnce(&mut Self, usize) -> usize) -> usize {
        let variable = self.add(Node::Variable);
        let body = body(self, variable);
        self.add(Node::Lambda { variable, body })
    }
    fn finish(self, root: usize) -> Graph {
        Graph { nodes: self.nodes, root }
    }
}

/// The term as a tree with lets. Lets of a lambda stand inside of it.
fn print(graph: &Graph) -> String {
    let points = binding_points(graph).unwrap();
    fn node(graph: &Graph, points: &fusebox_sharing::BindingPoints, at: usize, out: &mut String) {
        if points.is_shared(at) {
            out.push_str(&format!("#{at}"));
        } else {
            definition(graph, points, at, out);
        }
    }
    fn definition(graph: &Graph, points: &fusebox_sharing::BindingPoints, at: usize, out: &mut String) {
        if let Node::Lambda { variable, .. } = graph.nodes[at] {
            out.push_str(&format!("\\#{variable}. "));
        }
        for &shared in points.at(at) {
            out.push_str(&format!("let #{shared} = "));
            definition(graph, points, shared, out);
            out.push_str(" in ");
        }
        match &graph.nodes[at] {
            Node::Constant(name) => out.push_str(name),
            Node::Variable => out.push_str(&format!("#{at}")),
            Node::Lambda { body, .. } => node(graph, points, *body, out),
            Node::Apply(parts) => {
                out.push('(');
                for (i, &part) in parts.iter().enumerate() {
                    if i > 0 {
                        out.push(' ');
                    }
                    node(graph, points, part, out);
                }
                out.push(')');
            }
        }
    }
    let mut out = String::new();
    node(graph, &points, graph.root, &mut out);
    out
}

#[test]
fn the_worked_example_has_exactly_three_lets() {
    // inc = (+) 1; nine = (let three = inc 2 in (*) three three); (-) (inc nine) nine
    let mut b = Builder::new();
    let (plus, times, minus, one, two) =
        (b.constant("(+)"), b.constant("(*)"), b.constant("(-)"), b.constant("1"), b.constant("2"));
    let inc = b.apply(&[plus, one]);
    let three = b.apply(&[inc, two]);
    let square = b.apply(&[times, three]);
    let nine = b.apply(&[square, three]);
    let inc_nine = b.apply(&[inc, nine]);
    let left = b.apply(&[minus, inc_nine]);
    let root = b.apply(&[left, nine]);
    assert_eq!(
        print(&b.finish(root)),
        "let #5 = ((+) 1) in let #8 = let #6 = (#5 2) in (((*) #6) #6) in (((-) (#5 #8)) #8)"
    );
}

#[test]
fn a_term_saturated_before_its_superterm_is_bound_with_it() {
    // f (g c t) t with t = h c: both above f, c outermost (erratum E1).
    let mut b = Builder::new();
    let (f, g, h, k) = (b.constant("f"), b.constant("g"), b.constant("h"), b.constant("k"));
    let c = b.apply(&[k]);
    let t = b.apply(&[h, c]);
    let inner = b.apply(&[g, c, t]);
    let root = b.apply(&[f, inner, t]);
    assert_eq!(print(&b.finish(root)), "let #4 = (k) in let #5 = (h #4) in (f (g #4 #5) #5)");
}

#[test]
fn lower_terms_are_outermost_whatever_their_first_visit() {
    // F s (G t) t with t = H s (erratum E3).
    let mut b = Builder::new();
    let (f, g, h, k) = (b.constant("F"), b.constant("G"), b.constant("H"), b.constant("k"));
    let s = b.apply(&[k]);
    let t = b.apply(&[h, s]);
    let gt = b.apply(&[g, t]);
    let root = b.apply(&[f, s, gt, t]);
    assert_eq!(print(&b.finish(root)), "let #4 = (k) in let #5 = (H #4) in (F #4 (G #5) #5)");
}

#[test]
fn nothing_escapes_its_lambda() {
    // f u (\x. g u s s) with closed u = k c, s = h x: the leading-run rule lets s escape.
    let mut b = Builder::new();
    let (f, g, h, k, c) = (b.constant("f"), b.constant("g"), b.constant("h"), b.constant("k"), b.constant("c"));
    let u = b.apply(&[k, c]);
    let lambda = b.lambda(|b, x| {
        let s = b.apply(&[h, x]);
        b.apply(&[g, u, s, s])
    });
    let root = b.apply(&[f, u, lambda]);
    assert_eq!(print(&b.finish(root)), "let #5 = (k c) in (f #5 \\#6. let #7 = (h #6) in (g #5 #7 #7))");
}

#[test]
fn equal_terms_built_apart_are_not_shared_and_unused_binders_convert() {
    let mut b = Builder::new();
    let k = b.constant("k");
    let (x, y) = (b.apply(&[k]), b.apply(&[k]));
    let ignoring = b.lambda(|_, _| x);
    let root = b.apply(&[ignoring, y]);
    assert_eq!(print(&b.finish(root)), "(\\#3. (k) (k))");
}

#[test]
fn errors_are_those_of_the_term() {
    let mut b = Builder::new();
    let open = b.add(Node::Variable);
    let root = b.apply(&[open, open]);
    assert_eq!(binding_points(&b.finish(root)).unwrap_err(), GraphError::Open { variable: 0 });

    let mut b = Builder::new();
    let mut escaped = 0;
    let lambda = b.lambda(|_, x| {
        escaped = x;
        x
    });
    let root = b.apply(&[lambda, escaped]);
    assert_eq!(binding_points(&b.finish(root)).unwrap_err(), GraphError::Escapes { variable: 0, binder: 1 });

    let mut b = Builder::new();
    let x = b.add(Node::Variable);
    let first = b.add(Node::Lambda { variable: x, body: x });
    let second = b.add(Node::Lambda { variable: x, body: first });
    assert_eq!(
        binding_points(&b.finish(second)).unwrap_err(),
        GraphError::BoundTwice { variable: 0, first: 1, second: 2 }
    );

    let graph = Graph { nodes: vec![Node::Apply(vec![1]), Node::Apply(vec![0])], root: 0 };
    assert_eq!(binding_points(&graph).unwrap_err(), GraphError::Cyclic { node: 0 });
}

/// A generator of its own, so that runs repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// A random closed term: nodes use earlier ones in scope, lambdas nest.
fn random(seed: u64, lambdas: bool) -> Graph {
    fn grow(b: &mut Builder, random: &mut Random, scope: &mut Vec<usize>, lambdas: bool, depth: usize) -> usize {
        let outer = scope.len();
        for _ in 0..1 + random.below(8) {
            let node = if lambdas && depth < 4 && random.below(4) == 0 {
                b.lambda(|b, x| {
                    scope.push(x);
                    let kept = scope.len();
                    let body = grow(b, random, scope, lambdas, depth + 1);
                    scope.truncate(kept - 1);
                    body
                })
            } else {
                let parts: Vec<usize> = (0..1 + random.below(3)).map(|_| scope[random.below(scope.len())]).collect();
                b.apply(&parts)
            };
            scope.push(node);
        }
        let parts: Vec<usize> =
            (0..1 + random.below(4)).map(|_| scope[scope.len() - 1 - random.below(scope.len().min(5))]).collect();
        scope.truncate(outer);
        b.apply(&parts)
    }
    let mut b = Builder::new();
    let k = b.constant("k");
    let base = b.apply(&[k]);
    let root = grow(&mut b, &mut Random(seed), &mut vec![base], lambdas, 0);
    b.finish(root)
}

/// Nodes reached from the root without going through `removed`.
fn reached(graph: &Graph, removed: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; graph.len()];
    let mut stack = vec![graph.root];
    while let Some(node) = stack.pop() {
        if Some(node) == removed || std::mem::replace(&mut seen[node], true) {
            continue;
        }
        graph.children(node, &mut |child| stack.push(child));
    }
    seen
}

#[test]
fn random_terms_are_well_scoped_and_bound_at_their_immediate_dominators() {
    for seed in 0..3_000u64 {
        let graph = random(seed, seed % 2 == 1);
        let points = binding_points(&graph).unwrap();
        let all = reached(&graph, None);
        let mut bound_at = vec![None; graph.len()];
        for node in 0..graph.len() {
            for &shared in points.at(node) {
                assert_eq!(bound_at[shared].replace(node), None, "bound once (seed {seed})");
            }
        }
        let without: Vec<Vec<bool>> = (0..graph.len()).map(|node| reached(&graph, Some(node))).collect();
        let dominates = |a: usize, b: usize| !without[a][b];
        let mut edges = vec![0; graph.len()];
        for node in (0..graph.len()).filter(|&node| all[node]) {
            graph.children(node, &mut |child| edges[child] += 1);
        }
        for node in (0..graph.len()).filter(|&node| all[node] && node != graph.root) {
            let is_shared = edges[node] > 1 && !graph.is_variable(node) && !graph.is_trivial(node);
            assert_eq!(bound_at[node].is_some(), is_shared, "seed {seed}, node {node}");
            let Some(at) = bound_at[node] else { continue };
            let lowest = (0..graph.len()).filter(|&other| other != node && all[other] && dominates(other, node)).find(
                |&other| (0..graph.len()).all(|o| o == node || !all[o] || !dominates(o, node) || dominates(o, other)),
            );
            assert_eq!(Some(at), lowest, "seed {seed}, node {node}");
        }
        check_scopes(&graph, &points, seed);
    }
}

/// Walks the tree with lets: names are in scope where used, and unfolding gives the term back (each node stands for itself).
fn check_scopes(graph: &Graph, points: &fusebox_sharing::BindingPoints, seed: u64) {
    fn walk(graph: &Graph, points: &fusebox_sharing::BindingPoints, at: usize, scope: &mut Vec<usize>, seed: u64) {
        let outer = scope.len();
        if let Node::Lambda { variable, .. } = graph.nodes[at] {
            scope.push(variable);
        }
        for &shared in points.at(at) {
            walk(graph, points, shared, scope, seed);
            scope.push(shared);
        }
        graph.children(at, &mut |child| {
            if points.is_shared(child) || graph.is_variable(child) {
                assert!(scope.contains(&child), "seed {seed}: {child} is used at {at} and not in scope");
            } else {
                walk(graph, points, child, scope, seed);
            }
        });
        scope.truncate(outer);
    }
    walk(graph, points, graph.root, &mut Vec::new(), seed);
}

#[test]
fn a_million_nodes_take_no_recursion_and_linear_time() {
    let mut b = Builder::new();
    let k = b.constant("k");
    let mut node = b.apply(&[k]);
    for _ in 0..1_000_000 {
        node = b.apply(&[node, node]);
    }
    let graph = b.finish(node);
    let start = std::time::Instant::now();
    let points = binding_points(&graph).unwrap();
    eprintln!("1,000,000 doublings: {:?}", start.elapsed());
    assert_eq!((0..graph.len()).filter(|&node| points.is_shared(node)).count(), 1_000_000);
    assert!((0..graph.len()).all(|node| points.at(node).len() <= 1), "each is bound right above its user");
}
