//! Array control: conditions and loops over arrays, foreign functions.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayOp, Block, ElementType, Type,
    term::{BlockTerm, Term, TermId},
};

use crate::{
    arena::{self, At, here, operand, operands},
    error::Mistake,
    exp::IntoExp,
    interface::{Arrays, Maker, Taken},
};

/// Extents and arrays of what a handle, or a tuple of them, stands for.
pub(crate) struct State {
    taken: Vec<Taken>,
}

impl State {
    pub(crate) fn of<S: Arrays>(state: S, at: At) -> Self {
        let mut taken = Vec::new();
        state.take(at, &mut taken);
        if taken.iter().any(|one| one.stream) {
            arena::problem(Mistake::Stream, at);
        }
        Self { taken }
    }

    /// Every extent, in order: of each array the outer ones, then the inner ones.
    pub(crate) fn extents(&self) -> Vec<TermId> {
        self.taken.iter().flat_map(|one| one.extents.iter().chain(&one.inner).copied()).collect()
    }

    pub(crate) fn arrays(&self) -> Vec<TermId> {
        self.taken.iter().flat_map(|one| one.arrays.iter().copied()).collect()
    }

    /// The types of the arrays, were these the extents.
    pub(crate) fn types(&self, extents: &[TermId]) -> Vec<Type> {
        let mut next = extents.iter().copied();
        let mut types = Vec::new();
        for one in &self.taken {
            let outer: Vec<TermId> = next.by_ref().take(one.extents.len()).collect();
            let inner: Vec<TermId> = next.by_ref().take(one.inner.len()).collect();
            types.extend(one.elements.iter().map(|&element| crate::nest::nested_type(&outer, &inner, element)));
        }
        types
    }

    /// A handle of these extents and arrays.
    pub(crate) fn make<S: Arrays>(extents: &[TermId], arrays: &[TermId]) -> S {
        let mut next = extents.iter().copied();
        let mut next_array = arrays.iter().copied();
        let mut extents = |rank: usize, _: bool| -> Vec<TermId> { next.by_ref().take(rank).collect() };
        let mut array = |_: Type| next_array.next().unwrap_or(TermId(0));
        S::make(&mut Maker { extents: &mut extents, array: &mut array })
    }
}

/// The array, or tuple of arrays, `a` where the condition holds, else `b`. The other one is not computed.
///
/// Where their extents differ, those of the result are known when the program runs.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| acond(xs.at(0).gt(5), xs, take(2, xs)), &xs);
/// assert_eq!(r.to_vec(), [1, 2]);
/// ```
#[track_caller]
pub fn acond<S: Arrays>(condition: impl IntoExp<bool>, a: S, b: S) -> S {
    let at = here();
    let condition = condition.into_exp().term(at);
    let (a, b) = (State::of(a, at), State::of(b, at));
    // Extents on which the branches disagree are results before the arrays; the same two extents are one result.
    let mut differing: Vec<(TermId, TermId)> = Vec::new();
    let slots: Vec<Result<TermId, usize>> = a
        .extents()
        .into_iter()
        .zip(b.extents())
        .map(|(x, y)| {
            if x == y || arena::same_size(x, y) {
                return Ok(x);
            }
            if x == crate::nest::UNKNOWN || y == crate::nest::UNKNOWN {
                return Ok(crate::nest::UNKNOWN);
            }
            Err(position(&mut differing, (x, y)))
        })
        .collect();
    let block = |sizes: Vec<TermId>, state: &State| BlockTerm {
        params: Vec::new(),
        results: sizes.into_iter().chain(state.arrays()).collect(),
    };
    let blocks = vec![
        block(differing.iter().map(|pair| pair.0).collect(), &a),
        block(differing.iter().map(|pair| pair.1).collect(), &b),
    ];
    let op = ArrayOp::Cond { condition: operand(condition), then: Block::default(), otherwise: Block::default() };
    let extents = |result: &dyn Fn(usize) -> TermId| -> Vec<TermId> {
        slots.iter().map(|slot| slot.unwrap_or_else(result)).collect()
    };
    finish(op, blocks, differing.len(), &a, extents, at)
}

fn position<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// The operation whose results are `sizes` sizes, then arrays like those of `state` with extents that may be these sizes.
fn finish<S: Arrays>(
    op: ArrayOp,
    blocks: Vec<BlockTerm>,
    sizes: usize,
    state: &State,
    extents: impl Fn(&dyn Fn(usize) -> TermId) -> Vec<TermId>,
    at: At,
) -> S {
    let results = arena::array_op(
        op,
        Vec::new(),
        blocks,
        |result| {
            let mut types = vec![Type::scalar(ElementType::I64); sizes];
            types.extend(state.types(&extents(result)));
            types
        },
        at,
    );
    let extents = extents(&|size| results.get(size).copied().unwrap_or(TermId(0)));
    State::make(&extents, &results[sizes.min(results.len())..])
}

/// Runs `step` on the state, arrays and scalars, while `condition` holds of it; the last state.
///
/// The closures may be called several times while the program is built. Extents that the step changes are known when the program runs.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[3i64, 1, 2]).unwrap();
/// let r = example::run1(
///     |xs: Acc<Vector<i64>>| awhile(xs, |xs| sum(xs).get().lt(100), |xs| map(|x| x * 2, xs)), &xs);
/// assert_eq!(r.to_vec(), [96, 32, 64]);
/// ```
#[track_caller]
pub fn awhile<S: Arrays, C: IntoExp<bool>>(start: S, condition: impl Fn(S) -> C, step: impl Fn(S) -> S) -> S {
    let at = here();
    let start = State::of(start, at);
    let start_extents = canonical(start.extents());
    let problems = arena::problems();
    // Which extents the step changes, and which of these change together: `None` stays as it starts. Refined until it holds.
    let mut classes: Vec<Option<usize>> = vec![None; start_extents.len()];
    loop {
        let count = classes.iter().flatten().max().map_or(0, |class| class + 1);
        let (state, params) = loop_state::<S>(&start, &start_extents, &classes, count, at);
        let stepped = State::of(step(state), at);
        let new = canonical(stepped.extents());
        let refined = refine(&classes, &start_extents, &new);
        if refined != classes {
            classes = refined;
            arena::forget_problems(problems);
            continue;
        }
        let first = |class: usize| classes.iter().position(|&c| c == Some(class)).unwrap_or(0);
        let results = (0..count).map(|class| new[first(class)]).chain(stepped.arrays()).collect();
        let step = BlockTerm { params, results };
        let (state, params) = loop_state::<S>(&start, &start_extents, &classes, count, at);
        let condition = BlockTerm { params, results: vec![condition(state).into_exp().term(at)] };
        let starts: Vec<TermId> = (0..count).map(|class| start_extents[first(class)]).chain(start.arrays()).collect();
        let op = ArrayOp::While { condition: Block::default(), step: Block::default(), starts: operands(&starts) };
        let extents = |result: &dyn Fn(usize) -> TermId| -> Vec<TermId> {
            classes.iter().zip(&start_extents).map(|(class, &start)| class.map_or(start, result)).collect()
        };
        return finish(op, vec![condition, step], count, &start, extents, at);
    }
}

/// New parameters of a block for the state of a loop.
fn loop_state<S: Arrays>(
    start: &State,
    start_extents: &[TermId],
    classes: &[Option<usize>],
    count: usize,
    at: At,
) -> (S, Vec<TermId>) {
    let parameter = |ty: Type, name: &str| arena::push(Term::BlockParameter { ty, name: name.to_owned() }, at);
    let sizes: Vec<TermId> = (0..count).map(|_| parameter(Type::scalar(ElementType::I64), "size")).collect();
    let extents: Vec<TermId> =
        classes.iter().zip(start_extents).map(|(class, &start)| class.map_or(start, |class| sizes[class])).collect();
    let arrays: Vec<TermId> = start.types(&extents).into_iter().map(|ty| parameter(ty, "s")).collect();
    let params = sizes.iter().chain(&arrays).copied().collect();
    (State::make(&extents, &arrays), params)
}

/// The same extents, those that are the same by one term.
fn canonical(mut extents: Vec<TermId>) -> Vec<TermId> {
    for position in 1..extents.len() {
        let (before, rest) = extents.split_at_mut(position);
        if let Some(&known) = before.iter().find(|&&known| arena::same_size(known, rest[0])) {
            rest[0] = known;
        }
    }
    extents
}

/// Classes of extents that change together, given what they are after a step.
fn refine(classes: &[Option<usize>], start: &[TermId], new: &[TermId]) -> Vec<Option<usize>> {
    let mut known: HashMap<(Option<usize>, TermId, TermId), usize> = HashMap::new();
    let unknown = crate::nest::UNKNOWN;
    classes
        .iter()
        .zip(start.iter().zip(new))
        .map(|(&class, (&start, &new))| {
            if class.is_none() && (arena::same_size(start, new) || start == unknown) {
                return None;
            }
            let next = known.len();
            Some(*known.entry((class, start, new)).or_insert(next))
        })
        .collect()
}

/// An implementation of this name where the backend has one registered, else `fallback`.
///
/// The fallback is a program of its own: it sees nothing but its parameters. `S` is an array, a scalar, or a tuple of them.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[3.0f32, 4.0]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<f32>>| foreign("squares", |xs| map(|x| x * x, xs), xs), &xs);
/// assert_eq!(r.to_vec(), [9.0, 16.0]);
/// ```
#[track_caller]
pub fn foreign<S: Arrays, R: Arrays>(name: &str, fallback: impl FnOnce(S) -> R, arguments: S) -> R {
    let at = here();
    let arguments = State::of(arguments, at);
    // Inside, sizes are bound by the parameters: one for each extent outside.
    let mut inside: Vec<(TermId, TermId)> = Vec::new();
    let mut extents = Vec::new();
    for outer in arguments.extents() {
        let known = inside.iter().find(|(_, out)| *out == outer).map(|&(inner, _)| inner);
        let constant = arena::value_of(outer).is_some() || outer == crate::nest::UNKNOWN;
        let inner = known.unwrap_or_else(|| {
            let inner = if constant { outer } else { arena::push(Term::Size { name: arena::size_name() }, at) };
            inside.push((inner, outer));
            inner
        });
        extents.push(inner);
    }
    let params: Vec<TermId> = arguments
        .types(&extents)
        .into_iter()
        .map(|ty| arena::push(Term::BlockParameter { ty, name: "x".to_owned() }, at))
        .collect();
    let result = State::of(fallback(State::make(&extents, &params)), at);
    let mut sizes = Vec::new();
    let slots: Vec<Result<TermId, usize>> = result
        .extents()
        .into_iter()
        .map(|inner| {
            if let Some(&(_, outer)) = inside.iter().find(|(known, _)| *known == inner) {
                return Ok(outer);
            }
            if arena::value_of(inner).is_some() || inner == crate::nest::UNKNOWN {
                return Ok(inner);
            }
            Err(position(&mut sizes, inner))
        })
        .collect();
    let count = sizes.len();
    let block = BlockTerm { params, results: sizes.into_iter().chain(result.arrays()).collect() };
    let op = ArrayOp::Foreign {
        name: name.to_owned(),
        fallback: Block::default(),
        arguments: operands(&arguments.arrays()),
    };
    let extents = |results: &dyn Fn(usize) -> TermId| -> Vec<TermId> {
        slots.iter().map(|slot| slot.unwrap_or_else(results)).collect()
    };
    finish(op, vec![block], count, &result, extents, at)
}
