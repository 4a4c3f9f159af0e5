//! The arena of the program being built: terms, what handles stand for, errors with their places.
//!
//! One arena a thread is current, the innermost call of [`crate::program`]. Handles are positions in it and carry its generation, so
//! that a handle of another program is an error and never another term.

mod sizes;

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
    panic::Location,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Constant, ElementType, Extent, Operand, Place, ScalarOp, ScalarOperand, Type,
    term::{BlockTerm, FunctionTerm, Term, TermId, TermNode},
};

pub(crate) use self::sizes::{greater, meet, same_size, size};
use crate::error::{Mistake, Problem};

/// Where the host program called.
pub(crate) type At = &'static Location<'static>;

/// The place of the caller.
#[track_caller]
pub(crate) fn here() -> At {
    Location::caller()
}

/// What is being built.
pub(crate) struct Arena {
    generation: u32,
    pub(crate) nodes: Vec<TermNode>,
    /// What handles stand for: runs of terms, as long as the type of the handle says.
    runs: Vec<TermId>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) inputs: Vec<TermId>,
    pub(crate) captured: Vec<(TermId, String, fusebox_ir::Array)>,
    captures: usize,
    constants: HashMap<Constant, TermId>,
    sizes: HashMap<(Binary, TermId, TermId), TermId>,
    /// Sizes that are another one and a number.
    sums: HashMap<TermId, (TermId, i64)>,
    /// Sizes that are the greatest of several: these, in order.
    greatest: BTreeMap<TermId, Vec<TermId>>,
    files: HashMap<usize, Arc<str>>,
    pub(crate) size_names: usize,
}

static GENERATIONS: AtomicU32 = AtomicU32::new(1);

thread_local! {
    static STACK: RefCell<Vec<Arena>> = const { RefCell::new(Vec::new()) };
}

/// Removes the arena when the closure that builds ends, by a panic too.
struct Current;

impl Drop for Current {
    fn drop(&mut self) {
        STACK.with_borrow_mut(|stack| stack.pop());
    }
}

/// Runs `build` with a new current arena, and gives it with the result of `build`.
pub(crate) fn scoped<R>(build: impl FnOnce() -> R) -> (R, Arena) {
    let generation = GENERATIONS.fetch_add(1, Ordering::Relaxed);
    STACK.with_borrow_mut(|stack| stack.push(Arena::new(generation)));
    let guard = Current;
    let result = build();
    let arena = STACK.with_borrow_mut(|stack| match stack.last_mut() {
        Some(top) => std::mem::replace(top, Arena::new(0)),
        None => Arena::new(0),
    });
    drop(guard);
    (result, arena)
}

/// Uses the current arena, if a program is being built.
pub(crate) fn with<R>(f: impl FnOnce(&mut Arena) -> R) -> Option<R> {
    STACK.with_borrow_mut(|stack| stack.last_mut().map(f))
}

impl Arena {
    fn new(generation: u32) -> Self {
        Self {
            generation,
            nodes: Vec::new(),
            runs: Vec::new(),
            problems: Vec::new(),
            inputs: Vec::new(),
            captured: Vec::new(),
            captures: 0,
            constants: HashMap::new(),
            sizes: HashMap::new(),
            sums: HashMap::new(),
            greatest: BTreeMap::new(),
            files: HashMap::new(),
            size_names: 0,
        }
    }

    fn place(&mut self, at: At) -> Place {
        let file = self.files.entry(at.file().as_ptr() as usize).or_insert_with(|| at.file().into());
        Place { file: Some(file.clone()), line: at.line(), column: at.column() }
    }

    fn push(&mut self, term: Term, at: At) -> TermId {
        let place = self.place(at);
        self.nodes.push(TermNode { term, place, name: String::new() });
        TermId(self.nodes.len() as u32 - 1)
    }

    fn constant(&mut self, constant: Constant, at: At) -> TermId {
        if let Some(&id) = self.constants.get(&constant) {
            return id;
        }
        let id = self.push(Term::Constant(constant), at);
        self.constants.insert(constant, id);
        id
    }

    fn value_of(&self, id: TermId) -> Option<Constant> {
        match self.nodes.get(id.index())?.term {
            Term::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// The number of the next array of the host that is used.
    pub(crate) fn captures(&mut self) -> usize {
        self.captures += 1;
        self.captures - 1
    }

    /// Makes a component of an array of the host an input.
    pub(crate) fn capture(&mut self, term: TermId, name: String, column: fusebox_ir::Array) {
        self.captured.push((term, name, column));
    }

    /// Records a mistake.
    pub(crate) fn problem(&mut self, mistake: Mistake, at: At) {
        let place = self.place(at);
        self.problems.push(Problem { mistake, place });
    }
}

/// What a handle holds: a run of terms in an arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    generation: u32,
    start: u32,
}

impl Run {
    /// The run that begins `offset` terms later.
    pub(crate) fn skip(self, offset: usize) -> Self {
        Self { start: self.start + offset as u32, ..self }
    }
}

/// A run of these terms; outside of programs, a run of none.
pub(crate) fn run(terms: &[TermId]) -> Run {
    with(|arena| {
        let start = arena.runs.len() as u32;
        arena.runs.extend_from_slice(terms);
        Run { generation: arena.generation, start }
    })
    .unwrap_or(Run { generation: 0, start: 0 })
}

/// The terms of a run of `count`; `None`, and a mistake noted, where it belongs to another program or to none.
pub(crate) fn terms(run: Run, count: usize, at: At) -> Option<Vec<TermId>> {
    with(|arena| {
        if run.generation == arena.generation {
            let start = run.start as usize;
            return arena.runs.get(start..start + count).map(<[_]>::to_vec);
        }
        let mistake = if run.generation == 0 { Mistake::HandleOfNone } else { Mistake::HandleOfAnother };
        arena.problem(mistake, at);
        None
    })
    .flatten()
}

/// Adds a term.
pub(crate) fn push(term: Term, at: At) -> TermId {
    with(|arena| arena.push(term, at)).unwrap_or(TermId(0))
}

/// The term of a constant.
pub(crate) fn constant(constant: impl Into<Constant>, at: At) -> TermId {
    with(|arena| arena.constant(constant.into(), at)).unwrap_or(TermId(0))
}

/// The constant that a term is, if it is one.
pub(crate) fn value_of(id: TermId) -> Option<Constant> {
    with(|arena| arena.value_of(id)).flatten()
}

/// Records a mistake; without a program there is nobody to tell.
pub(crate) fn problem(mistake: Mistake, at: At) {
    with(|arena| arena.problem(mistake, at));
}

/// The number of mistakes so far.
pub(crate) fn problems() -> usize {
    with(|arena| arena.problems.len()).unwrap_or(0)
}

/// Forgets the mistakes after the first `count`: what found them is built again.
pub(crate) fn forget_problems(count: usize) {
    with(|arena| arena.problems.truncate(count));
}

/// The number of terms so far.
pub(crate) fn len() -> usize {
    with(|arena| arena.nodes.len()).unwrap_or(0)
}

/// As an operand of an array operation.
pub(crate) fn operand(id: TermId) -> Operand {
    Operand::Value(id.as_array())
}

/// As operands of an array operation.
pub(crate) fn operands(ids: &[TermId]) -> Vec<Operand> {
    ids.iter().copied().map(operand).collect()
}

/// As operands of an array operation that are arrays.
pub(crate) fn array_ids(ids: &[TermId]) -> Vec<ArrayId> {
    ids.iter().map(|id| id.as_array()).collect()
}

/// As an operand of scalar code.
pub(crate) fn local(id: TermId) -> ScalarOperand {
    ScalarOperand::Local(id.as_local())
}

/// As an extent in a type: a number where it is constant.
pub(crate) fn extent(id: TermId) -> Extent {
    match value_of(id).and_then(Constant::as_i64) {
        Some(number) => Extent::Constant(number),
        None => Extent::Value(id.as_array()),
    }
}

/// As extents in a type.
pub(crate) fn extents(ids: &[TermId]) -> Vec<Extent> {
    ids.iter().copied().map(extent).collect()
}

/// A scalar instruction of one result.
pub(crate) fn scalar(op: ScalarOp, result: ElementType, at: At) -> TermId {
    push(Term::Scalar { op, functions: Vec::new(), results: vec![result] }, at)
}

/// A scalar instruction with bodies; the terms of its results.
pub(crate) fn scalar_bodies(
    op: ScalarOp,
    functions: Vec<FunctionTerm>,
    results: Vec<ElementType>,
    at: At,
) -> Vec<TermId> {
    let count = results.len();
    let of = push(Term::Scalar { op, functions, results }, at);
    if count == 1 {
        return vec![of];
    }
    (0..count as u32).map(|index| push(Term::Result { of, index }, at)).collect()
}

/// An array operation; `types` gets the terms that its results will be.
pub(crate) fn array_op(
    op: ArrayOp,
    functions: Vec<FunctionTerm>,
    blocks: Vec<BlockTerm>,
    types: impl FnOnce(&dyn Fn(usize) -> TermId) -> Vec<Type>,
    at: At,
) -> Vec<TermId> {
    let first = len() as u32 + 1;
    let results = types(&|index| TermId(first + index as u32));
    let count = results.len() as u32;
    let of = push(Term::Array { op: Box::new(op), functions, blocks, results }, at);
    (0..count).map(|index| push(Term::Result { of, index }, at)).collect()
}

/// The operation that an array is a result of, and which.
pub(crate) fn result(id: TermId) -> Option<(TermId, u32)> {
    with(|arena| match arena.nodes.get(id.index())?.term {
        Term::Result { of, index } => Some((of, index)),
        _ => None,
    })
    .flatten()
}

/// A name for the next size that an input binds.
pub(crate) fn size_name() -> String {
    let number = with(|arena| {
        arena.size_names += 1;
        arena.size_names - 1
    })
    .unwrap_or(0);
    match ["n", "m", "k", "l", "p", "q"].get(number) {
        Some(name) => (*name).to_owned(),
        None => format!("n{number}"),
    }
}
