//! Where shared nodes are bound: at their immediate dominators.

use fusebox_ir::term::TermGraph;

/// Why a graph of terms has no binding points.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A variable that no binder binds. An input is not a variable: it is a leaf.
    #[error("variable {variable} is bound nowhere; inputs are not variables, but leaves")]
    Open {
        /// The node.
        variable: usize,
    },
    /// A variable used outside of its binder.
    #[error("variable {variable} is used outside of its binder {binder}")]
    Escapes {
        /// The node.
        variable: usize,
        /// The binder's node.
        binder: usize,
    },
    /// Two binders of one variable.
    #[error("variable {variable} is bound by {first} and by {second}")]
    BoundTwice {
        /// The node.
        variable: usize,
        /// A binder.
        first: usize,
        /// Another.
        second: usize,
    },
    /// A node that is part of itself.
    #[error("node {node} is part of itself")]
    Cyclic {
        /// The node.
        node: usize,
    },
}

/// Binding points: which shared nodes are bound where.
///
/// A node is shared if two edges or more lead to it (one from the outside leads to the root), and it is neither a variable nor trivial.
/// It is bound right above its immediate dominator; where that is a binder, right inside.
#[derive(Clone, Debug)]
pub struct BindingPoints {
    /// By node: where its list in `nodes` starts.
    starts: Vec<usize>,
    nodes: Vec<usize>,
    shared: Vec<bool>,
}

impl BindingPoints {
    /// The nodes bound at `node`, the outermost first: a node comes after those that are part of it.
    pub fn at(&self, node: usize) -> &[usize] {
        &self.nodes[self.starts[node]..self.starts[node + 1]]
    }

    /// Whether `node` is bound somewhere.
    pub fn is_shared(&self, node: usize) -> bool {
        self.shared[node]
    }

    /// No node is bound: every use of a term is a copy of it.
    pub fn none(graph: &impl TermGraph) -> Self {
        Self { starts: vec![0; graph.len() + 1], nodes: Vec::new(), shared: vec![false; graph.len()] }
    }
}

const UNSEEN: usize = usize::MAX;

/// The binding point of every shared node; linear time but for a logarithm, and no recursion.
///
/// *Inputs are not variables.* A variable is a parameter that some binder of the graph binds. What comes from outside of the graph (an input, a
/// name of the host) is a leaf like a constant: [`TermGraph::is_variable`] is `false` for it, and [`TermGraph::is_trivial`] is `true`, so that it
/// is never bound.
///
/// # Errors
/// [`GraphError`]: terms that are not closed, or not terms.
pub fn binding_points(graph: &impl TermGraph) -> Result<BindingPoints, GraphError> {
    let binders = binders(graph)?;
    let order = post_order(graph)?;
    let tree = dominators(graph, &order);
    for &node in &order {
        if graph.is_variable(node) {
            let binder = binders[node];
            if binder == UNSEEN {
                return Err(GraphError::Open { variable: node });
            }
            if !tree.dominates(binder, node) {
                return Err(GraphError::Escapes { variable: node, binder });
            }
        }
    }

    let mut edges = vec![0u32; graph.len()];
    let mut height = vec![0u32; graph.len()];
    for &node in &order {
        graph.children(node, &mut |child| {
            edges[child] = edges[child].saturating_add(1);
            height[node] = height[node].max(height[child] + 1);
        });
    }
    let is_shared = |node: usize| edges[node] > 1 && !graph.is_variable(node) && !graph.is_trivial(node);
    let mut bound: Vec<usize> = order.iter().copied().filter(|&node| is_shared(node)).collect();
    // Stable: nodes of one height keep the order in which they are met.
    bound.sort_by_key(|&node| (tree.parent[node], height[node]));
    let mut starts = vec![0; graph.len() + 1];
    for &node in &bound {
        starts[tree.parent[node] + 1] += 1;
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut shared = vec![false; graph.len()];
    bound.iter().for_each(|&node| shared[node] = true);
    Ok(BindingPoints { starts, nodes: bound, shared })
}

/// The binder of each variable.
fn binders(graph: &impl TermGraph) -> Result<Vec<usize>, GraphError> {
    let mut binders = vec![UNSEEN; graph.len()];
    let mut twice = None;
    for node in 0..graph.len() {
        graph.binds(node, &mut |variable| {
            if binders[variable] != UNSEEN {
                twice = Some(GraphError::BoundTwice { variable, first: binders[variable], second: node });
            }
            binders[variable] = node;
        });
    }
    twice.map_or(Ok(binders), Err)
}

/// Every node that the root reaches, children before parents.
fn post_order(graph: &impl TermGraph) -> Result<Vec<usize>, GraphError> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; graph.len()];
    let mut order = Vec::new();
    let mut stack = vec![(graph.root(), false)];
    let mut children = Vec::new();
    while let Some((node, leaving)) = stack.pop() {
        if leaving {
            state[node] = State::Done;
            order.push(node);
            continue;
        }
        if state[node] != State::New {
            continue;
        }
        state[node] = State::Open;
        stack.push((node, true));
        graph.children(node, &mut |child| children.push(child));
        for child in children.drain(..).rev() {
            match state[child] {
                State::New => stack.push((child, false)),
                State::Open => return Err(GraphError::Cyclic { node: child }),
                State::Done => {}
            }
        }
    }
    Ok(order)
}

/// The dominator tree, with jumps to ancestors that make a common ancestor a matter of a logarithm of steps.
struct Tree {
    parent: Vec<usize>,
    depth: Vec<u32>,
    jump: Vec<usize>,
}

impl Tree {
    fn add(&mut self, node: usize, parent: usize) {
        self.parent[node] = parent;
        self.depth[node] = self.depth[parent] + 1;
        let (near, far) = (self.jump[parent], self.jump[self.jump[parent]]);
        let even = self.depth[parent] - self.depth[near] == self.depth[near] - self.depth[far];
        self.jump[node] = if even { far } else { parent };
    }

    fn ancestor(&self, mut node: usize, depth: u32) -> usize {
        while self.depth[node] > depth {
            let jump = self.jump[node];
            node = if self.depth[jump] >= depth { jump } else { self.parent[node] };
        }
        node
    }

    fn common_ancestor(&self, a: usize, b: usize) -> usize {
        let depth = self.depth[a].min(self.depth[b]);
        let (mut a, mut b) = (self.ancestor(a, depth), self.ancestor(b, depth));
        while a != b {
            let (next_a, next_b) = (self.jump[a], self.jump[b]);
            (a, b) = if next_a == next_b { (self.parent[a], self.parent[b]) } else { (next_a, next_b) };
        }
        a
    }

    fn dominates(&self, above: usize, node: usize) -> bool {
        self.depth[above] != u32::MAX
            && self.depth[above] <= self.depth[node]
            && self.ancestor(node, self.depth[above]) == above
    }
}

/// Of an acyclic graph one pass is exact: parents first, each node below the common ancestor of all its parents.
fn dominators(graph: &impl TermGraph, order: &[usize]) -> Tree {
    let root = graph.root();
    let mut tree =
        Tree { parent: vec![root; graph.len()], depth: vec![u32::MAX; graph.len()], jump: vec![root; graph.len()] };
    tree.depth[root] = 0;
    let mut above = vec![UNSEEN; graph.len()];
    for &node in order.iter().rev() {
        if node != root {
            tree.add(node, above[node]);
        }
        graph.children(node, &mut |child| {
            above[child] = match above[child] {
                UNSEEN => node,
                other => tree.common_ancestor(other, node),
            };
        });
    }
    tree
}
