//! Programs and plans as graphs, for [Graphviz](https://graphviz.org): what the command `dump --format dot` prints.

use std::{collections::HashMap, fmt::Write, hash::Hash};

use fusebox_ir::{ArrayId, Block, Operand, Part, Plan, PlanOperand, Program, Step, ValueId};

/// A program: a node for each binding, an arrow for each use; blocks are boxes around their nodes.
///
/// ```
/// let program = fusebox::ir::text::parse("fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x * x, a) return b }")?;
/// assert!(fusebox::dot::program(&program).contains("label=\"map b\""));
/// # Ok::<(), fusebox::Error>(())
/// ```
pub fn program(program: &Program) -> String {
    let mut graph = Graph::new(&program.name);
    for var in program.body.sizes.iter().chain(&program.body.params) {
        graph.made(var.id, &var.name.0, "ellipse", &var.name.0);
    }
    graph.block(&program.body, "  ");
    for (position, (output, id)) in program.outputs.iter().zip(&program.body.results).enumerate() {
        let _ = writeln!(graph.text, "  result{position} [shape=ellipse, label={}]", quoted(&output.name));
        graph.edge(*id, &format!("result{position}"));
    }
    graph.finish()
}

/// A plan: a node for each step that makes or uses values, in order.
pub fn plan(plan: &Plan) -> String {
    let mut graph = Graph::new(&plan.name);
    for &id in plan.sizes.iter().chain(&plan.inputs) {
        let name = &plan.values[id.index()].name;
        graph.made(id, name, "ellipse", name);
    }
    graph.steps(plan, &plan.steps, "  ");
    for (position, (output, id)) in plan.outputs.iter().zip(&plan.results).enumerate() {
        let _ = writeln!(graph.text, "  result{position} [shape=ellipse, label={}]", quoted(&output.name));
        graph.edge(*id, &format!("result{position}"));
    }
    graph.finish()
}

/// A graph in the making, of what names its values by `V`.
struct Graph<V> {
    text: String,
    edges: String,
    nodes: usize,
    clusters: usize,
    /// The node that made each value, and its name.
    made: HashMap<V, (String, String)>,
}

pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l"))
}

impl<V: Eq + Hash> Graph<V> {
    fn new(name: &str) -> Self {
        let text = format!("digraph {} {{\n  node [shape=box, fontname=monospace]\n", quoted(name));
        Self { text, edges: String::new(), nodes: 0, clusters: 0, made: HashMap::new() }
    }

    fn finish(self) -> String {
        format!("{}{}}}\n", self.text, self.edges)
    }

    fn node(&mut self, shape: &str, label: &str, indent: &str) -> String {
        let node = format!("n{}", self.nodes);
        self.nodes += 1;
        let _ = writeln!(self.text, "{indent}{node} [shape={shape}, label={}]", quoted(label));
        node
    }

    fn made(&mut self, id: V, name: &str, shape: &str, label: &str) {
        let node = self.node(shape, label, "  ");
        self.made.insert(id, (node, name.to_owned()));
    }

    fn edge(&mut self, from: V, to: &str) {
        if let Some((node, name)) = self.made.get(&from)
            && node != to
        {
            let _ = writeln!(self.edges, "  {node} -> {to} [label={}]", quoted(name));
        }
    }
}

impl Graph<ArrayId> {
    /// Nesting is at most as deep as validation allows.
    fn block(&mut self, block: &Block, indent: &str) {
        for binding in &block.bindings {
            let names: Vec<_> = binding.results.iter().map(|var| var.name.0.as_str()).collect();
            let bodies: Vec<&Block> = binding
                .op
                .parts()
                .into_iter()
                .filter_map(|part| match part {
                    Part::Body(body) => Some(body),
                    _ => None,
                })
                .collect();
            let node = self.node("box", &format!("{} {}", binding.op.name(), names.join(", ")), indent);
            for id in uses(&binding.op) {
                self.edge(id, &node);
            }
            for body in bodies {
                let _ = writeln!(self.text, "{indent}subgraph cluster{} {{", self.clusters);
                self.clusters += 1;
                let inner = format!("{indent}  ");
                for var in body.sizes.iter().chain(&body.params) {
                    let param = self.node("ellipse", &var.name.0, &inner);
                    self.made.insert(var.id, (param, var.name.0.clone()));
                }
                self.block(body, &inner);
                let _ = writeln!(self.text, "{indent}}}");
                for &id in &body.results {
                    self.edge(id, &node);
                }
            }
            for var in &binding.results {
                self.made.insert(var.id, (node.clone(), var.name.0.clone()));
            }
        }
    }
}

impl Graph<ValueId> {
    fn steps(&mut self, plan: &Plan, steps: &[Step], indent: &str) {
        let name = |id: ValueId| plan.values[id.index()].name.clone();
        for step in steps {
            match step {
                Step::Allocate { .. } | Step::Free { .. } => {}
                Step::Constant { value, .. } => {
                    self.made(*value, &name(*value), "box", &format!("constant {}", name(*value)))
                }
                Step::Launch { kernel, arrays, .. } => {
                    let kernel = &plan.kernels[*kernel];
                    let node = self.node("box3d", &kernel.name.0, indent);
                    for (&id, array) in arrays.iter().zip(&kernel.arrays) {
                        if array.access != fusebox_ir::Access::Write {
                            self.edge(id, &node);
                        }
                    }
                    for (&id, array) in arrays.iter().zip(&kernel.arrays) {
                        if array.access != fusebox_ir::Access::Read {
                            self.made.insert(id, (node.clone(), name(id)));
                        }
                    }
                }
                Step::Alias { value, source, .. } => {
                    let node = self.node("box", &format!("alias {}", name(*value)), indent);
                    if let PlanOperand::Value(source) = source {
                        self.edge(*source, &node);
                    }
                    self.made.insert(*value, (node, name(*value)));
                }
                Step::Truncate { value, source } | Step::Copy { value, source } => {
                    let what = if matches!(step, Step::Copy { .. }) { "copy" } else { "truncate" };
                    let node = self.node("box", &format!("{what} {}", name(*value)), indent);
                    self.edge(*source, &node);
                    self.made.insert(*value, (node, name(*value)));
                }
                Step::CheckEqual { operation, .. }
                | Step::CheckAtMost { operation, .. }
                | Step::CheckNotNegative { operation, .. } => {
                    self.node("octagon", &format!("check extents of {operation}"), indent);
                }
                Step::Sort { keys, carry, results } => {
                    let node = self.node("box3d", "sort", indent);
                    for &id in keys.iter().chain(carry) {
                        self.edge(id, &node);
                    }
                    for &id in results {
                        self.made.insert(id, (node.clone(), name(id)));
                    }
                }
                Step::If { condition, then, otherwise, results } => {
                    let node = self.node("diamond", "if", indent);
                    if let PlanOperand::Value(id) = condition {
                        self.edge(*id, &node);
                    }
                    self.boxed(plan, then, indent, "then");
                    self.boxed(plan, otherwise, indent, "else");
                    let _ = results;
                }
                Step::Lanes { lane, count, body, results, .. } => {
                    let node = self.node("diamond", "lanes", indent);
                    if let fusebox_ir::Extent::Value(id) = count {
                        self.edge(*id, &node);
                    }
                    self.made.insert(*lane, (node.clone(), name(*lane)));
                    self.boxed(plan, body, indent, "each lane");
                    for &id in results {
                        self.made.insert(id, (node.clone(), name(id)));
                    }
                }
                Step::While { condition_steps, condition, body, .. } => {
                    let node = self.node("diamond", "while", indent);
                    self.boxed(plan, condition_steps, indent, "condition");
                    if let PlanOperand::Value(id) = condition {
                        self.edge(*id, &node);
                    }
                    self.boxed(plan, body, indent, "body");
                }
            }
        }
    }

    fn boxed(&mut self, plan: &Plan, steps: &[Step], indent: &str, label: &str) {
        let _ = writeln!(self.text, "{indent}subgraph cluster{} {{\n{indent}  label={}", self.clusters, quoted(label));
        self.clusters += 1;
        self.steps(plan, steps, &format!("{indent}  "));
        let _ = writeln!(self.text, "{indent}}}");
    }
}

/// Values that an operation uses itself, not those that its blocks use.
fn uses(op: &fusebox_ir::ArrayOp) -> Vec<ArrayId> {
    let mut ids = Vec::new();
    for part in op.parts() {
        match part {
            Part::Array(id) => ids.push(*id),
            Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => ids.push(*id),
            Part::Function(lambda) => lambda_uses(lambda, &mut ids),
            Part::Value(_) | Part::Argument(_) | Part::Body(_) | Part::Inner(_) => {}
        }
    }
    ids.sort();
    ids.dedup();
    ids
}

fn lambda_uses(lambda: &fusebox_ir::Lambda, ids: &mut Vec<ArrayId>) {
    use fusebox_ir::{ScalarOperand, ScalarPart};
    let operand = |operand: &ScalarOperand, ids: &mut Vec<ArrayId>| {
        if let ScalarOperand::Outer(id) = operand {
            ids.push(*id);
        }
    };
    for result in &lambda.results {
        operand(result, ids);
    }
    for instruction in &lambda.instructions {
        for part in instruction.op.parts() {
            match part {
                ScalarPart::Array(id) => ids.push(*id),
                ScalarPart::Operand(used) => operand(used, ids),
                ScalarPart::Body(body) => lambda_uses(body, ids),
            }
        }
    }
}
