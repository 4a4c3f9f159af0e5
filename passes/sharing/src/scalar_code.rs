//! Scalar code out of terms: shared terms once, at their immediate dominators, each function by itself.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ElementType, Instruction, Lambda, Local, LocalId, Name, ScalarOp, ScalarOperand, ScalarPart,
    ScalarPartMut,
    term::{FunctionTerm, Term, TermGraph, TermId, Terms},
};

use crate::{
    Config, Error,
    dominators::{BindingPoints, binding_points},
    names::Names,
};

/// How deep branches and loops may nest, one inside the other.
const MAX_NESTING: usize = 128;

/// What scalar code sees of the program around it.
pub(crate) trait Around {
    /// The value that a term is bound to outside of scalar code.
    fn bound(&self, id: TermId) -> Option<ArrayId>;
}

/// A function of an operation; or, with `unit`, the scalar term that a unit binds, all its results.
pub(crate) enum Root<'t> {
    Function(&'t FunctionTerm),
    Unit(TermId),
}

/// Translates scalar terms to a function.
pub(crate) fn translate(
    terms: &Terms,
    around: &dyn Around,
    names: &Names,
    config: &Config,
    root: Root<'_>,
) -> Result<Lambda, Error> {
    let (function, unit) = match &root {
        Root::Function(function) => (function.params.clone(), None),
        Root::Unit(id) => (Vec::new(), Some(*id)),
    };
    let results = match &root {
        Root::Function(function) => function.results.clone(),
        Root::Unit(id) => vec![*id],
    };
    let graph = Graph::new(terms, around, &function, &results, unit);
    let points = if config.share_scalars { binding_points(&graph) } else { Ok(BindingPoints::none(&graph)) };
    let points = points.map_err(|error| graph.error(error))?;
    let mut code = Code {
        terms,
        names,
        graph: &graph,
        points: &points,
        memo: vec![None; graph.nodes.len()],
        params: HashMap::new(),
        next: 0,
        instructions: 0,
        config,
    };
    let mut lambda = code.function(0, &function, &results, 0)?;
    if let Some(id) = unit
        && let Term::Scalar { results, .. } = &terms.nodes[id.index()].term
        && let Some(ScalarOperand::Local(first)) = lambda.results.first().copied()
    {
        lambda.results = (0..results.len() as u32).map(|at| ScalarOperand::Local(LocalId(first.0 + at))).collect();
    }
    Ok(lambda)
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Node {
    /// The function that is translated.
    Root,
    Term(TermId),
    /// A branch, a loop's condition or step.
    Function(TermId, usize),
}

/// The terms of one function, as a graph with node identity. Values from outside and constants are no nodes.
struct Graph<'t> {
    terms: &'t Terms,
    around: &'t dyn Around,
    params: &'t [TermId],
    results: &'t [TermId],
    unit: Option<TermId>,
    nodes: Vec<Node>,
    numbers: HashMap<Node, usize>,
    /// Which variables there are nodes for.
    variables: Vec<bool>,
}

impl<'t> Graph<'t> {
    fn new(
        terms: &'t Terms,
        around: &'t dyn Around,
        params: &'t [TermId],
        results: &'t [TermId],
        unit: Option<TermId>,
    ) -> Self {
        let numbers = HashMap::from([(Node::Root, 0)]);
        let mut graph =
            Self { terms, around, params, results, unit, nodes: vec![Node::Root], numbers, variables: vec![false] };
        let mut at = 0;
        while at < graph.nodes.len() {
            let mut children = Vec::new();
            graph.child_nodes(graph.nodes[at], &mut |child| children.push(child));
            for child in children {
                if !graph.numbers.contains_key(&child) {
                    graph.numbers.insert(child, graph.nodes.len());
                    graph.nodes.push(child);
                    let is_variable = matches!(child, Node::Term(id)
                        if matches!(graph.terms.nodes[id.index()].term, Term::Parameter { .. }));
                    graph.variables.push(is_variable);
                }
            }
            at += 1;
        }
        graph
    }

    /// Whether a term is computed in this function, or is a parameter in it.
    fn is_inside(&self, id: TermId) -> bool {
        match &self.terms.nodes[id.index()].term {
            Term::Constant(_) => false,
            Term::Result { of, .. } => self.is_inside(*of),
            _ => Some(id) == self.unit || self.around.bound(id).is_none(),
        }
    }

    /// The term that a term is a result of, or it itself. Results are no nodes: of several uses of one result the operation is what is shared.
    fn whole(&self, mut id: TermId) -> TermId {
        while let Term::Result { of, .. } = &self.terms.nodes[id.index()].term {
            id = *of;
        }
        id
    }

    fn child_nodes(&self, node: Node, visit: &mut dyn FnMut(Node)) {
        let term = |id: TermId, visit: &mut dyn FnMut(Node)| {
            if self.is_inside(id) {
                visit(Node::Term(self.whole(id)));
            }
        };
        match node {
            Node::Root => self.results.iter().for_each(|&id| term(id, visit)),
            Node::Function(owner, index) => {
                if let Term::Scalar { functions, .. } = &self.terms.nodes[owner.index()].term {
                    functions[index].results.iter().for_each(|&id| term(id, visit));
                }
            }
            Node::Term(id) => {
                let Term::Scalar { op, .. } = &self.terms.nodes[id.index()].term else { return };
                let mut functions = 0;
                for part in op.parts() {
                    match part {
                        ScalarPart::Operand(ScalarOperand::Local(operand)) => term(TermId::of_local(*operand), visit),
                        ScalarPart::Operand(_) | ScalarPart::Array(_) => {}
                        ScalarPart::Body(_) => {
                            visit(Node::Function(id, functions));
                            functions += 1;
                        }
                    }
                }
            }
        }
    }

    fn error(&self, error: crate::dominators::GraphError) -> Error {
        use crate::dominators::GraphError::{BoundTwice, Cyclic, Escapes, Open};
        let (Open { variable: node }
        | Escapes { variable: node, .. }
        | BoundTwice { variable: node, .. }
        | Cyclic { node }) = error;
        let place = match self.nodes[node] {
            Node::Term(id) | Node::Function(id, _) => self.terms.nodes[id.index()].place.clone(),
            Node::Root => fusebox_ir::Place::default(),
        };
        Error::Escapes { place }
    }
}

impl TermGraph for Graph<'_> {
    fn len(&self) -> usize {
        self.nodes.len()
    }

    fn root(&self) -> usize {
        0
    }

    fn children(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        self.child_nodes(self.nodes[node], &mut |child| visit(self.numbers[&child]));
    }

    fn binds(&self, node: usize, visit: &mut dyn FnMut(usize)) {
        let params = match self.nodes[node] {
            Node::Root => self.params,
            Node::Function(owner, index) => match &self.terms.nodes[owner.index()].term {
                Term::Scalar { functions, .. } => functions[index].params.as_slice(),
                _ => &[],
            },
            Node::Term(_) => &[],
        };
        params.iter().filter_map(|&param| self.numbers.get(&Node::Term(param))).for_each(|&number| visit(number));
    }

    fn is_variable(&self, node: usize) -> bool {
        self.variables[node]
    }

    fn is_trivial(&self, node: usize) -> bool {
        !matches!(self.nodes[node], Node::Term(_))
    }
}

struct Code<'t> {
    terms: &'t Terms,
    names: &'t Names,
    graph: &'t Graph<'t>,
    points: &'t BindingPoints,
    /// The first result of instructions that are shared, by node.
    memo: Vec<Option<LocalId>>,
    params: HashMap<TermId, LocalId>,
    next: u32,
    instructions: usize,
    config: &'t Config,
}

enum Task {
    /// Leaves the value of a term.
    Value(TermId),
    /// Emits a shared node before what uses it.
    Bind(usize),
    /// Emits an instruction whose operands have been left, and leaves its value if something waits for it.
    Emit { id: TermId, awaited: bool },
    /// Takes one of several results.
    Project(u32),
}

impl Code<'_> {
    fn fresh(&mut self, count: usize) -> LocalId {
        let first = LocalId(self.next);
        self.next += count as u32;
        first
    }

    fn function(
        &mut self,
        node: usize,
        params: &[TermId],
        results: &[TermId],
        nesting: usize,
    ) -> Result<Lambda, Error> {
        if nesting > MAX_NESTING {
            return Err(Error::TooDeep { limit: MAX_NESTING });
        }
        let mut lambda = Lambda::default();
        for &param in params {
            let id = self.fresh(1);
            self.params.insert(param, id);
            if let Term::Parameter { ty, name } = &self.terms.nodes[param.index()].term {
                lambda.params.push(Local { id, ty: *ty, name: Name(name.clone()) });
            }
        }
        let mut values = Vec::new();
        let mut tasks: Vec<Task> = results.iter().rev().map(|&result| Task::Value(result)).collect();
        tasks.extend(self.points.at(node).iter().rev().map(|&shared| Task::Bind(shared)));
        while let Some(task) = tasks.pop() {
            match task {
                Task::Value(id) => self.value(id, &mut tasks, &mut values)?,
                Task::Bind(shared) => {
                    if let Node::Term(id) = self.graph.nodes[shared]
                        && self.memo[shared].is_none()
                    {
                        self.begin(id, false, &mut tasks)?;
                    }
                }
                Task::Project(index) => {
                    if let Some(ScalarOperand::Local(first)) = values.last_mut() {
                        first.0 += index;
                    }
                }
                Task::Emit { id, awaited } => {
                    let first = self.emit(id, &mut lambda.instructions, &mut values, nesting)?;
                    if awaited {
                        values.push(ScalarOperand::Local(first));
                    }
                }
            }
        }
        lambda.results = values;
        Ok(lambda)
    }

    /// Leaves a value that is there, or begins to compute it.
    fn value(&mut self, id: TermId, tasks: &mut Vec<Task>, values: &mut Vec<ScalarOperand>) -> Result<(), Error> {
        match &self.terms.nodes[id.index()].term {
            Term::Constant(constant) => values.push(ScalarOperand::Constant(*constant)),
            Term::Result { of, index } if self.graph.is_inside(*of) => {
                tasks.push(Task::Project(*index));
                tasks.push(Task::Value(*of));
            }
            _ if !self.graph.is_inside(id) => values.push(ScalarOperand::Outer(self.outer(id)?)),
            Term::Parameter { .. } => {
                let param = self.params.get(&id).ok_or_else(|| Error::escapes(self.terms, id))?;
                values.push(ScalarOperand::Local(*param));
            }
            _ => {
                let node = self.graph.numbers[&Node::Term(id)];
                match self.memo[node] {
                    Some(local) => values.push(ScalarOperand::Local(local)),
                    None => self.begin(id, true, tasks)?,
                }
            }
        }
        Ok(())
    }

    /// The value around that a term is.
    fn outer(&self, id: TermId) -> Result<ArrayId, Error> {
        self.graph.around.bound(id).ok_or_else(|| Error::escapes(self.terms, id))
    }

    /// What is bound right above, then the operands, then the instruction.
    fn begin(&self, id: TermId, awaited: bool, tasks: &mut Vec<Task>) -> Result<(), Error> {
        let Term::Scalar { op, .. } = &self.terms.nodes[id.index()].term else {
            return Err(Error::escapes(self.terms, id));
        };
        tasks.push(Task::Emit { id, awaited });
        for part in op.parts().into_iter().rev() {
            if let ScalarPart::Operand(ScalarOperand::Local(operand)) = part {
                tasks.push(Task::Value(TermId::of_local(*operand)));
            }
        }
        let node = self.graph.numbers[&Node::Term(id)];
        tasks.extend(self.points.at(node).iter().rev().map(|&shared| Task::Bind(shared)));
        Ok(())
    }

    fn emit(
        &mut self,
        id: TermId,
        instructions: &mut Vec<Instruction>,
        values: &mut Vec<ScalarOperand>,
        nesting: usize,
    ) -> Result<LocalId, Error> {
        let source = &self.terms.nodes[id.index()];
        let Term::Scalar { op, functions, results } = &source.term else { return Err(Error::escapes(self.terms, id)) };
        self.instructions += 1;
        if self.instructions > self.config.max_instructions {
            return Err(Error::TooLarge { limit: self.config.max_instructions });
        }
        let mut op: ScalarOp = op.clone();
        let terms = |parts: &[ScalarPartMut<'_>]| {
            parts.iter().filter(|part| matches!(part, ScalarPartMut::Operand(ScalarOperand::Local(_)))).count()
        };
        let mut operands = values.split_off(values.len() - terms(&op.parts_mut())).into_iter();
        let mut bodies = functions.iter().enumerate();
        for part in op.parts_mut() {
            match part {
                ScalarPartMut::Operand(operand) => {
                    if matches!(operand, ScalarOperand::Local(_))
                        && let Some(value) = operands.next()
                    {
                        *operand = value;
                    }
                }
                ScalarPartMut::Array(array) => {
                    *array = self.outer(TermId::of_array(*array))?;
                }
                ScalarPartMut::Body(body) => {
                    if let Some((index, function)) = bodies.next() {
                        let node = self.graph.numbers[&Node::Function(id, index)];
                        *body = self.function(node, &function.params, &function.results, nesting + 1)?;
                    }
                }
            }
        }
        let first = self.fresh(results.len());
        let name = |at| self.names.given(self.terms, id, at);
        let local = |(at, &ty): (usize, &ElementType)| Local { id: LocalId(first.0 + at as u32), ty, name: name(at) };
        let results = results.iter().enumerate().map(local).collect();
        instructions.push(Instruction { results, op, place: source.place.clone() });
        let node = self.graph.numbers[&Node::Term(id)];
        if self.points.is_shared(node) {
            self.memo[node] = Some(first);
        }
        Ok(first)
    }
}
