//! What terms depend on: the functions and blocks whose parameters they use.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayOp, Extent, Operand, Part, ScalarOp, ScalarOperand, ScalarPart, Type,
    term::{BlockTerm, FunctionTerm, Term, TermId, Terms},
};

/// A function or a block of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Scope {
    pub(crate) owner: TermId,
    /// Among the owner's functions, or its blocks.
    pub(crate) index: usize,
    pub(crate) is_block: bool,
}

/// Terms that the results need, and what they depend on.
pub(crate) struct Dependences {
    /// Needed terms, ascending: operands before users.
    pub(crate) needed: Vec<TermId>,
    /// The scope of each parameter.
    pub(crate) scope_of: HashMap<TermId, Scope>,
    /// By term: an index into `sets`.
    set_of: Vec<u32>,
    /// Sorted sets of scopes; few, and shared by most terms.
    sets: Vec<Vec<Scope>>,
    numbers: HashMap<Vec<Scope>, u32>,
}

impl Dependences {
    pub(crate) fn new(terms: &Terms) -> Self {
        let needed = needed(terms);
        let mut dependences = Self {
            scope_of: HashMap::new(),
            set_of: vec![0; terms.nodes.len()],
            sets: vec![Vec::new()],
            numbers: HashMap::from([(Vec::new(), 0)]),
            needed,
        };
        for &id in &dependences.needed {
            for (scope, params, _) in scopes(terms, id) {
                dependences.scope_of.extend(params.iter().map(|&param| (param, scope)));
            }
        }
        dependences.bind_sizes(terms);
        for at in 0..dependences.needed.len() {
            let id = dependences.needed[at];
            let set = dependences.of_term(terms, id);
            dependences.set_of[id.index()] = set;
        }
        dependences
    }

    /// Sizes that the types of parameters of fallbacks and of `consume` bind are parameters of these blocks. Of several blocks that say
    /// a size the outermost binds it, which is the last: its operation is made after what is inside.
    fn bind_sizes(&mut self, terms: &Terms) {
        let mut of_inputs = HashSet::new();
        for &input in &terms.inputs {
            operands_of(terms, input, &mut |size| {
                of_inputs.insert(size);
            });
        }
        for &id in self.needed.iter().rev() {
            let Term::Array { op, .. } = &terms.nodes[id.index()].term else { continue };
            if !matches!(**op, ArrayOp::Foreign { .. } | ArrayOp::Consume { .. }) {
                continue;
            }
            for (scope, params, _) in scopes(terms, id) {
                for &param in params {
                    operands_of(terms, param, &mut |size| {
                        let is_size = matches!(terms.nodes[size.index()].term, Term::Size { .. });
                        if is_size && !of_inputs.contains(&size) {
                            self.scope_of.entry(size).or_insert(scope);
                        }
                    });
                }
            }
        }
    }

    /// The scopes whose parameters a term uses, but for its own.
    pub(crate) fn of(&self, id: TermId) -> &[Scope] {
        &self.sets[self.set_of[id.index()] as usize]
    }

    fn of_term(&mut self, terms: &Terms, id: TermId) -> u32 {
        let mut set = match self.scope_of.get(&id) {
            Some(&scope) => self.number(vec![scope]),
            None => 0,
        };
        let mut operands = Vec::new();
        operands_of(terms, id, &mut |operand| operands.push(operand));
        for operand in operands {
            // Only the types of an operation refer to what comes after it: its own results.
            if operand < id {
                set = self.union(set, self.set_of[operand.index()]);
            }
        }
        for (scope, _, results) in scopes(terms, id) {
            for result in results {
                let inside = self.set_of[result.index()];
                let outside = self.without(inside, scope);
                set = self.union(set, outside);
            }
        }
        set
    }

    fn number(&mut self, set: Vec<Scope>) -> u32 {
        let next = self.sets.len() as u32;
        let sets = &mut self.sets;
        *self.numbers.entry(set).or_insert_with_key(|set| {
            sets.push(set.clone());
            next
        })
    }

    fn union(&mut self, a: u32, b: u32) -> u32 {
        if a == b || b == 0 {
            return a;
        }
        if a == 0 {
            return b;
        }
        let mut set: Vec<Scope> = self.sets[a as usize].iter().chain(&self.sets[b as usize]).copied().collect();
        set.sort_unstable();
        set.dedup();
        self.number(set)
    }

    fn without(&mut self, a: u32, scope: Scope) -> u32 {
        if !self.sets[a as usize].contains(&scope) {
            return a;
        }
        let set = self.sets[a as usize].iter().copied().filter(|&other| other != scope).collect();
        self.number(set)
    }
}

/// Terms that the results need, ascending. By a stack: terms may be deep.
fn needed(terms: &Terms) -> Vec<TermId> {
    let mut seen = vec![false; terms.nodes.len()];
    let mut stack: Vec<TermId> = terms.outputs.iter().map(|(_, id)| *id).chain(terms.inputs.iter().copied()).collect();
    while let Some(id) = stack.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        operands_of(terms, id, &mut |operand| stack.push(operand));
        for (_, params, results) in scopes(terms, id) {
            stack.extend(params.iter().chain(results));
        }
    }
    (0..terms.nodes.len() as u32).map(TermId).filter(|id| seen[id.index()]).collect()
}

/// The functions and blocks of a term: parameters and results.
pub(crate) fn scopes(terms: &Terms, owner: TermId) -> impl Iterator<Item = (Scope, &[TermId], &[TermId])> {
    let (functions, blocks): (&[FunctionTerm], &[BlockTerm]) = match &terms.nodes[owner.index()].term {
        Term::Scalar { functions, .. } => (functions, &[]),
        Term::Array { functions, blocks, .. } => (functions, blocks),
        _ => (&[], &[]),
    };
    let functions = functions
        .iter()
        .enumerate()
        .map(move |(index, f)| (Scope { owner, index, is_block: false }, f.params.as_slice(), f.results.as_slice()));
    let blocks = blocks
        .iter()
        .enumerate()
        .map(move |(index, b)| (Scope { owner, index, is_block: true }, b.params.as_slice(), b.results.as_slice()));
    functions.chain(blocks)
}

/// Calls `visit` with each term that a term uses directly: not those inside its functions and blocks.
pub(crate) fn operands_of(terms: &Terms, id: TermId, visit: &mut dyn FnMut(TermId)) {
    match &terms.nodes[id.index()].term {
        Term::Input { ty, .. } | Term::BlockParameter { ty, .. } => extents_of(ty, visit),
        Term::Size { .. } | Term::Parameter { .. } | Term::Constant(_) => {}
        Term::Scalar { op, .. } => scalar_operands_of(op, visit),
        Term::Array { op, results, .. } => {
            array_operands_of(op, visit);
            results.iter().for_each(|ty| extents_of(ty, visit));
        }
        Term::Result { of, .. } => visit(*of),
    }
}

pub(crate) fn extents_of(ty: &Type, visit: &mut dyn FnMut(TermId)) {
    for extent in ty.all_extents() {
        if let Extent::Value(id) = extent {
            visit(TermId::of_array(*id));
        }
    }
}

pub(crate) fn scalar_operands_of(op: &ScalarOp, visit: &mut dyn FnMut(TermId)) {
    for part in op.parts() {
        match part {
            ScalarPart::Operand(ScalarOperand::Local(id)) => visit(TermId::of_local(*id)),
            ScalarPart::Array(id) => visit(TermId::of_array(*id)),
            ScalarPart::Operand(_) | ScalarPart::Body(_) => {}
        }
    }
}

pub(crate) fn array_operands_of(op: &ArrayOp, visit: &mut dyn FnMut(TermId)) {
    for part in op.parts() {
        match part {
            Part::Array(id) => visit(TermId::of_array(*id)),
            Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => visit(TermId::of_array(*id)),
            Part::Value(_) | Part::Argument(_) | Part::Function(_) | Part::Body(_) | Part::Inner(_) => {}
        }
    }
}
