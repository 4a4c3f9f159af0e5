//! Scalar code: expressions where parsing them gives the same list of instructions back, `let` elsewhere.
//!
//! The list is what evaluating expressions from left to right would emit, so it is read like postfix notation: a value that is used
//! once, in the body that makes it, waits on a stack; the instruction that takes it finds it on top, or it becomes a `let`, with
//! everything before it.

mod render;

use std::collections::HashMap;

use self::render::{render_function_body, render_grouped};
use super::{
    Printer,
    layout::Out,
    names::{Unique, legal},
};
use crate::{
    Binary, Constant, ElementType, Instruction, Lambda, Local, LocalId, ScalarOp, ScalarOperand, ScalarPart, Unary,
};

/// Expressions nest no deeper than this.
const DEEPEST: u32 = 40;
/// Expressions have no more operators and operands than this.
const MOST: u32 = 64;

/// A literal without its type.
pub(super) fn bare(constant: Constant) -> String {
    let text = constant.to_string();
    if needs_type(constant) { text } else { text[..text.len() - constant.ty().name().len()].to_owned() }
}

/// Whether the spelling says the type in any case: `true`, `inf_f32`.
fn needs_type(constant: Constant) -> bool {
    constant.ty() == ElementType::Bool || constant.as_f64().is_some_and(|value| !value.is_finite())
}

/// An expression.
enum Tree<'p> {
    Constant(Constant),
    Name(String),
    Op(Box<Node<'p>>),
}

struct Node<'p> {
    instruction: &'p Instruction,
    /// Of operands in order of evaluation.
    operands: Vec<Tree<'p>>,
    /// Of branches, or of a loop's condition and step.
    bodies: Vec<Body<'p>>,
    depth: u32,
    size: u32,
    /// Whether leaves tell the type of the (first) result.
    typed: bool,
    /// The array that is read.
    array: String,
}

struct Body<'p> {
    params: Vec<(String, ElementType)>,
    lets: Vec<(Vec<String>, Tree<'p>)>,
    results: Vec<Tree<'p>>,
}

impl Tree<'_> {
    fn depth(&self) -> u32 {
        if let Self::Op(node) = self { node.depth } else { 0 }
    }

    fn size(&self) -> u32 {
        if let Self::Op(node) = self { node.size } else { 1 }
    }

    fn typed(&self) -> bool {
        match self {
            Self::Constant(constant) => needs_type(*constant),
            Self::Name(_) => true,
            Self::Op(node) => node.typed,
        }
    }

    fn ty(&self) -> Option<ElementType> {
        match self {
            Self::Constant(constant) => Some(constant.ty()),
            Self::Name(_) => None,
            Self::Op(node) => node.instruction.results.first().map(|local| local.ty),
        }
    }
}

impl Body<'_> {
    fn depth(&self) -> u32 {
        self.lets.iter().map(|(_, tree)| tree).chain(&self.results).map(Tree::depth).max().unwrap_or(0)
    }

    /// The `if` that is all of it: `else if`.
    fn only_if(&self) -> Option<&Node<'_>> {
        match (&self.lets[..], &self.results[..]) {
            ([], [Tree::Op(node)]) if matches!(node.instruction.op, ScalarOp::If { .. }) => Some(node),
            ([(names, Tree::Op(node))], results) if matches!(node.instruction.op, ScalarOp::If { .. }) => {
                let same = results.len() == names.len()
                    && results
                        .iter()
                        .zip(names)
                        .all(|(result, name)| matches!(result, Tree::Name(other) if other == name));
                same.then_some(node)
            }
            _ => None,
        }
    }

    /// Whether leaves tell the types of its results.
    fn typed(&self) -> Vec<bool> {
        match self.only_if() {
            Some(node) => node.typed_results(),
            None => self.results.iter().map(Tree::typed).collect(),
        }
    }
}

impl Node<'_> {
    fn typed_results(&self) -> Vec<bool> {
        match &self.bodies[..] {
            [then, otherwise] if matches!(self.instruction.op, ScalarOp::If { .. }) => {
                then.typed().into_iter().zip(otherwise.typed()).map(|(left, right)| left || right).collect()
            }
            _ => vec![self.typed; self.instruction.results.len()],
        }
    }
}

/// When a body that is one instruction, whose results are the body's, is written without naming them.
#[derive(Clone, Copy)]
enum Whole {
    /// It is a function's or a branch's: `let` and `return`.
    Never,
    /// It stands after `else`: an `if` is written there.
    If,
    /// It is a binding's: the names are the binding's.
    Any,
}

/// What one outermost function needs.
pub(super) struct Scalars<'p> {
    printer: &'p Printer,
    unique: Unique,
    names: HashMap<LocalId, String>,
    /// How often each local is used, and in which body (its address) last.
    uses: HashMap<LocalId, (u32, usize)>,
}

impl Printer {
    /// A function whose parameters carry no types.
    pub(super) fn function(&self, lambda: &Lambda) -> Out {
        Scalars::empty(self).lambda(lambda)
    }

    /// Scalar code between operations as one expression for `results` names, if it is one.
    pub(super) fn unit(&self, lambda: &Lambda, results: usize) -> Option<Out> {
        let mut scalars = Scalars::new(self, lambda);
        let body = scalars.body(lambda, Whole::Any);
        let tree = match (&body.lets[..], &body.results[..]) {
            ([], [tree]) if results == 1 => tree,
            ([(names, tree)], given) => {
                let same = given.len() == names.len()
                    && given
                        .iter()
                        .zip(names)
                        .all(|(result, name)| matches!(result, Tree::Name(other) if other == name));
                if !same {
                    return None;
                }
                tree
            }
            _ => return None,
        };
        let mut out = Out::default();
        let parentheses = matches!(tree, Tree::Op(node) if matches!(node.instruction.op, ScalarOp::While { .. }));
        render_grouped(tree, parentheses, &vec![false; results], &mut out);
        Some(out)
    }
}

impl<'p> Scalars<'p> {
    fn new(printer: &'p Printer, lambda: &Lambda) -> Self {
        let mut scalars = Self::empty(printer);
        scalars.count(lambda);
        scalars
    }

    /// For code that is no function by itself: kernels.
    pub fn empty(printer: &'p Printer) -> Self {
        Self { printer, unique: Unique::default(), names: HashMap::new(), uses: HashMap::new() }
    }

    fn count(&mut self, lambda: &Lambda) {
        let mut bodies = vec![lambda];
        while let Some(body) = bodies.pop() {
            let here = std::ptr::from_ref(body).addr();
            let mut note = |operand: &ScalarOperand| {
                if let ScalarOperand::Local(id) = operand {
                    let entry = self.uses.entry(*id).or_insert((0, here));
                    *entry = (entry.0 + 1, here);
                }
            };
            body.results.iter().for_each(&mut note);
            for instruction in &body.instructions {
                for part in instruction.op.parts() {
                    match part {
                        ScalarPart::Operand(operand) => note(operand),
                        ScalarPart::Array(_) => {}
                        ScalarPart::Body(inner) => bodies.push(inner),
                    }
                }
            }
        }
    }

    /// A function among other code, whose names it may use.
    pub fn lambda(&mut self, lambda: &'p Lambda) -> Out {
        self.count(lambda);
        let body = self.body(lambda, Whole::Never);
        let params: Vec<_> = body.params.iter().map(|(name, _)| name.as_str()).collect();
        let mut out = Out::new(format!("|{}| ", params.join(", ")));
        render_function_body(&body, &vec![true; body.results.len()], &mut out);
        out
    }

    /// One instruction among others.
    pub fn instruction(&mut self, instruction: &'p Instruction) -> Out {
        for part in instruction.op.parts() {
            if let ScalarPart::Body(inner) = part {
                self.count(inner);
            }
        }
        let node = self.node(instruction, &mut Vec::new(), &mut Vec::new());
        let mut out = Out::default();
        render_grouped(&Tree::Op(Box::new(node)), false, &vec![false; instruction.results.len()], &mut out);
        out
    }

    /// A name, or a literal with its type.
    pub fn operand(&self, operand: &ScalarOperand) -> String {
        match operand {
            ScalarOperand::Constant(constant) => constant.to_string(),
            ScalarOperand::Outer(id) => self.printer.name(*id),
            ScalarOperand::Local(id) => self.names.get(id).cloned().unwrap_or_else(|| id.to_string()),
        }
    }

    pub fn give_name(&mut self, local: &Local) -> String {
        let name = legal(&local.name.0).unwrap_or_else(|| "x".to_owned());
        let arrays = &self.printer.arrays.unique;
        let name = self.unique.take(name, |name| !arrays.contains(name));
        self.names.insert(local.id, name.clone());
        name
    }

    /// For a local whose name is not printed, so that none is used up for it.
    fn give_no_name(&mut self, local: &Local) -> String {
        self.names.insert(local.id, local.id.to_string());
        local.id.to_string()
    }

    fn body(&mut self, lambda: &'p Lambda, whole: Whole) -> Body<'p> {
        let params = lambda.params.iter().map(|local| (self.give_name(local), local.ty)).collect();
        let here = std::ptr::from_ref(lambda).addr();
        let mut lets = Vec::new();
        let mut waiting: Vec<(&'p Local, Tree<'p>)> = Vec::new();
        for (position, instruction) in lambda.instructions.iter().enumerate() {
            let node = self.node(instruction, &mut waiting, &mut lets);
            let waits = match &instruction.results[..] {
                [local] => self.uses.get(&local.id) == Some(&(1, here)) && node.depth <= DEEPEST && node.size <= MOST,
                _ => false,
            };
            let tree = Tree::Op(Box::new(node));
            if waits {
                waiting.push((&instruction.results[0], tree));
            } else {
                self.write_down(waiting.len(), &mut waiting, &mut lets);
                let last = position + 1 == lambda.instructions.len();
                let hides = match whole {
                    Whole::Never => false,
                    Whole::If => matches!(instruction.op, ScalarOp::If { .. }),
                    Whole::Any => true,
                };
                let results = instruction.results.iter().map(|local| ScalarOperand::Local(local.id));
                let names = if hides && last && lets.is_empty() && results.eq(lambda.results.iter().copied()) {
                    instruction.results.iter().map(|local| self.give_no_name(local)).collect()
                } else {
                    instruction.results.iter().map(|local| self.give_name(local)).collect()
                };
                lets.push((names, tree));
            }
        }
        let results = self.take(lambda.results.iter().collect(), &mut waiting, &mut lets);
        Body { params, lets, results }
    }

    fn node(
        &mut self,
        instruction: &'p Instruction,
        waiting: &mut Vec<(&'p Local, Tree<'p>)>,
        lets: &mut Vec<(Vec<String>, Tree<'p>)>,
    ) -> Node<'p> {
        let mut operands = Vec::new();
        let mut bodies = Vec::new();
        for part in instruction.op.parts() {
            match part {
                ScalarPart::Operand(operand) => operands.push(operand),
                ScalarPart::Array(_) => {}
                ScalarPart::Body(inner) => bodies.push(inner),
            }
        }
        let operands = self.take(operands, waiting, lets);
        let is_if = matches!(instruction.op, ScalarOp::If { .. });
        let whole = |position| if is_if && position == 1 { Whole::If } else { Whole::Never };
        let bodies: Vec<_> = bodies.into_iter().enumerate().map(|(k, inner)| self.body(inner, whole(k))).collect();
        let array = match &instruction.op {
            ScalarOp::Read { array, .. } | ScalarOp::ReadFlat { array, .. } => self.printer.name(*array),
            _ => String::new(),
        };
        node(instruction, operands, bodies, array)
    }

    /// The first `count` that wait become `let`s.
    fn write_down(
        &mut self,
        count: usize,
        waiting: &mut Vec<(&'p Local, Tree<'p>)>,
        lets: &mut Vec<(Vec<String>, Tree<'p>)>,
    ) {
        for (local, tree) in waiting.drain(..count) {
            lets.push((vec![self.give_name(local)], tree));
        }
    }

    /// Operands as expressions or names.
    fn take(
        &mut self,
        operands: Vec<&'p ScalarOperand>,
        waiting: &mut Vec<(&'p Local, Tree<'p>)>,
        lets: &mut Vec<(Vec<String>, Tree<'p>)>,
    ) -> Vec<Tree<'p>> {
        let mut trees = Vec::with_capacity(operands.len());
        for operand in operands.into_iter().rev() {
            trees.push(match operand {
                ScalarOperand::Constant(constant) => Tree::Constant(*constant),
                ScalarOperand::Outer(id) => Tree::Name(self.printer.name(*id)),
                ScalarOperand::Local(id) => {
                    if let Some(name) = self.names.get(id) {
                        Tree::Name(name.clone())
                    } else if let Some((_, tree)) = waiting.pop_if(|(local, _)| local.id == *id) {
                        tree
                    } else {
                        if let Some(position) = waiting.iter().rposition(|(local, _)| local.id == *id) {
                            self.write_down(position + 1, waiting, lets);
                        }
                        Tree::Name(self.names.get(id).cloned().unwrap_or_else(|| id.to_string()))
                    }
                }
            });
        }
        trees.reverse();
        trees
    }
}

fn node<'p>(instruction: &'p Instruction, operands: Vec<Tree<'p>>, bodies: Vec<Body<'p>>, array: String) -> Node<'p> {
    let any = |trees: &[Tree<'_>]| trees.iter().any(Tree::typed);
    let typed = match &instruction.op {
        ScalarOp::Unary { function: Unary::Not | Unary::IsNan | Unary::IsInf, .. } => true,
        ScalarOp::Unary { .. } => any(&operands),
        ScalarOp::Binary { function, .. } if function.is_comparison() => true,
        ScalarOp::Binary { function: Binary::LogicalAnd | Binary::LogicalOr, .. } => true,
        ScalarOp::Binary { function, .. } if function.is_shift() => operands[0].typed(),
        ScalarOp::Binary { .. } | ScalarOp::Fma { .. } => any(&operands),
        ScalarOp::Assert { .. } => operands[1].typed(),
        ScalarOp::If { .. } => bodies.iter().any(|body| body.typed().first() == Some(&true)),
        ScalarOp::Convert { .. } | ScalarOp::Bits { .. } | ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } => true,
        ScalarOp::While { .. } => true,
    };
    let inner = operands.iter().map(Tree::depth).chain(bodies.iter().map(|body| body.depth() + 1)).max();
    let sizes = operands.iter().map(Tree::size).sum::<u32>();
    // Bodies stand in braces that may be broken over lines, but an expression with a large one is better a statement.
    let body_sizes = bodies.iter().flat_map(|body| {
        let own = if body.lets.is_empty() { 0 } else { MOST };
        body.results.iter().map(Tree::size).chain([own])
    });
    let size = 1 + sizes + body_sizes.sum::<u32>().min(MOST);
    Node { instruction, operands, bodies, depth: 1 + inner.unwrap_or(0), size, typed, array }
}
