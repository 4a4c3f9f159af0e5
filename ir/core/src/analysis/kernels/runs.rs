//! Scatters in runs: those that put elements of which a condition holds, in their order, at places one behind the other, as a scan has counted
//! them. So programs pack what they keep, or split elements in two (Blelloch, "Prefix Sums and Their Applications", 1990).

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use super::depths;
use crate::{
    Action, Binary, DimBoundary, DimIndex, ElementType, Instruction, Kernel, Lambda, LevelOrder, LocalId, ScalarOp,
    ScalarOperand, ScatterOrder, Statement, Unary,
    analysis::{Linear, algebra::built_ins, need::local},
};

/// How many operands are followed to what they are made of, at most.
const MOST_DEPTH: usize = 32;

/// How a scatter puts its elements in runs along the innermost level around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs<'k> {
    /// The scan that counts them (its position): before each element, in `i64`.
    pub scan: usize,
    /// The place of each element.
    pub index: &'k DimIndex,
    /// One or two. No element is in both.
    pub runs: Vec<Run<'k>>,
}

/// The elements of one run. Along the level of the scatter, each is put one place behind the one before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run<'k> {
    /// A `bool` at the depth of the scatter.
    pub condition: ScalarOperand,
    /// The run has the elements of which the condition is this.
    pub holds: bool,
    /// Whether these are the elements that the scan counts, and not the others.
    pub counted: bool,
    /// The place of an element, if it is in the run; of an element before it that is in no run, the place of the next one that is.
    pub place: RunPlace<'k>,
}

/// What says a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunPlace<'k> {
    /// The index of the scatter.
    Index(&'k DimIndex),
    /// A function without parameters, of which nothing can fail: a branch.
    Function(&'k Lambda),
}

/// Why a scatter does not put elements in runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotInRuns {
    /// It is no scatter.
    NoScatter,
    /// It is outside of all levels.
    Outside,
    /// Elements may have one target.
    NotUnique,
    /// It combines elements with what is at their targets.
    Combines,
    /// Its index has several dimensions, or no condition decides where elements go.
    Index,
    /// No scan along its level counts elements from the first on.
    NoCount,
    /// What is counted is not what a condition says.
    Condition,
    /// The place does not move by one for each element of the run.
    Place,
}

impl fmt::Display for NotInRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoScatter => "it is no scatter",
            Self::Outside => "it is outside of all levels",
            Self::NotUnique => "elements may have one target",
            Self::Combines => "it combines elements with what is at their targets",
            Self::Index => "its index has several dimensions, or no condition decides where elements go",
            Self::NoCount => "no scan along its level counts elements from the first on",
            Self::Condition => "what is counted is not what the condition says",
            Self::Place => "the place does not move by one for each element of a run",
        })
    }
}

/// The runs in which a scatter (a statement) puts its elements.
///
/// # Errors
/// Why it does not.
pub fn in_runs(kernel: &Kernel, position: usize) -> Result<Runs<'_>, NotInRuns> {
    let Some(Statement { depth, when, action: Action::Scatter { map, combine, values, order, .. }, .. }) =
        kernel.statements.get(position)
    else {
        return Err(NotInRuns::NoScatter);
    };
    let Some(level) = (*depth as usize).checked_sub(1).and_then(|level| kernel.levels.get(level)) else {
        return Err(NotInRuns::Outside);
    };
    if *order != ScatterOrder::Unique {
        return Err(NotInRuns::NotUnique);
    }
    let new = combine.params.iter().take(values.len()).map(|param| ScalarOperand::Local(param.id));
    if !combine.instructions.is_empty() || !new.eq(combine.results.iter().copied()) {
        return Err(NotInRuns::Combines);
    }
    let [index @ DimIndex { boundary: DimBoundary::None, .. }] = map.dims.as_slice() else {
        return Err(NotInRuns::Index);
    };
    if level.order != LevelOrder::Up {
        return Err(NotInRuns::NoCount);
    }
    let made = Made::of(kernel, *depth);
    // Of the condition that decides, where elements go of which it holds, and where the others.
    let branch = match (index.offset, index.terms.as_slice()) {
        (0, [(1, place)]) => made.instruction(*place).map(|instruction| &instruction.op),
        _ => None,
    };
    let (condition, places) = match (branch, when) {
        (_, Some(when)) => (*when, vec![(true, RunPlace::Index(index))]),
        (Some(ScalarOp::If { condition, then, otherwise }), None) => {
            (*condition, vec![(true, RunPlace::Function(then)), (false, RunPlace::Function(otherwise))])
        }
        _ => return Err(NotInRuns::Index),
    };
    let condition_bit = made.bit(condition, MOST_DEPTH).ok_or(NotInRuns::Condition)?;
    let mut why = NotInRuns::NoCount;
    for (scan, statement) in kernel.statements.iter().enumerate() {
        let Some((count, value)) = counts(statement, *depth) else { continue };
        let Some(bit) =
            made.bit(value, MOST_DEPTH).filter(|bit| made.is_same(bit.root, condition_bit.root, MOST_DEPTH))
        else {
            why = NotInRuns::Condition;
            continue;
        };
        let counts_those = bit.turned == condition_bit.turned;
        let runs: Option<Vec<Run<'_>>> = places
            .iter()
            .map(|&(holds, place)| {
                let moves = made.moves(place, count, level.index.id)?;
                // Elements that are counted have a place for each that was counted before; others for each that was not.
                let counted = holds == counts_those;
                let wanted = if counted { (1, 0) } else { (-1, 1) };
                (moves == wanted).then_some(Run { condition, holds, counted, place })
            })
            .collect();
        match runs {
            Some(runs) => return Ok(Runs { scan, index, runs }),
            None => why = NotInRuns::Place,
        }
    }
    Err(why)
}

impl Runs<'_> {
    /// The statements that make of the counts what the index adds up.
    pub fn makers(&self, kernel: &Kernel) -> Vec<usize> {
        let counts = self.counts(kernel);
        let makes = |statement: &Statement| {
            statement.results().iter().any(|result| self.index.terms.iter().any(|&(_, term)| term == result.id))
                && statement.used_locals().iter().any(|id| counts.contains(id))
        };
        (0..kernel.statements.len()).filter(|&position| makes(&kernel.statements[position])).collect()
    }

    /// What the scan gives for each element.
    fn counts(&self, kernel: &Kernel) -> Vec<LocalId> {
        match kernel.statements.get(self.scan).map(|scan| &scan.action) {
            Some(Action::Scan { results, .. }) => results.iter().map(|result| result.id).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether nothing but the places of these elements is made of what the scan gives: then it takes the number of elements of each run, and none
    /// of what is before each.
    pub fn counts_alone(&self, kernel: &Kernel, position: usize) -> bool {
        let (counts, makers) = (self.counts(kernel), self.makers(kernel));
        let places: Vec<LocalId> =
            makers.iter().flat_map(|&maker| kernel.statements[maker].results()).map(|result| result.id).collect();
        self.runs.iter().any(|run| run.counted)
            && kernel.statements.iter().enumerate().all(|(other, statement)| {
                let used = statement.used_locals();
                let of_counts = used.iter().any(|id| counts.contains(id));
                let of_places = used.iter().any(|id| places.contains(id));
                other == position || !of_places && (!of_counts || makers.contains(&other))
            })
            && kernel.levels.iter().all(|level| {
                let mut bounds = [level.from, level.to].into_iter().filter_map(|bound| local(&bound));
                bounds.all(|id| !places.contains(&id) && !counts.contains(&id))
            })
    }
}

/// What a scan along the level gives for each element, and what it adds up: before the element, one after the other.
fn counts(statement: &Statement, depth: u32) -> Option<(LocalId, ScalarOperand)> {
    let Action::Scan { results, exclusive: true, combine, values, .. } = &statement.action else { return None };
    let ([result], [value]) = (results.as_slice(), values.as_slice()) else { return None };
    let adds = result.ty == ElementType::I64 && built_ins(combine)? == [Binary::Add];
    (adds && statement.depth == depth && statement.when.is_none()).then_some((result.id, *value))
}

/// A number that is 0 or 1, or a truth value: what `root` is, or, `turned`, what it is not.
struct Bit {
    root: ScalarOperand,
    turned: bool,
}

impl Bit {
    fn other(self) -> Self {
        Self { turned: !self.turned, ..self }
    }
}

/// What locals are made of.
struct Made<'k> {
    /// Those that are the same in all steps: made around the level.
    around: HashSet<LocalId>,
    /// What makes each, those inside of branches too.
    instructions: HashMap<LocalId, &'k Instruction>,
    types: HashMap<LocalId, ElementType>,
}

impl<'k> Made<'k> {
    fn of(kernel: &'k Kernel, depth: u32) -> Self {
        let around = depths(kernel).into_iter().filter(|&(_, own)| own < depth as usize).map(|(id, _)| id).collect();
        let mut made = Self { around, instructions: HashMap::new(), types: HashMap::new() };
        for statement in &kernel.statements {
            made.types.extend(statement.results().iter().map(|local| (local.id, local.ty)));
            if let Action::Scalar(instruction) = &statement.action {
                made.instruction_and_arms(instruction);
            }
        }
        made
    }

    fn instruction_and_arms(&mut self, instruction: &'k Instruction) {
        for local in &instruction.results {
            self.types.insert(local.id, local.ty);
            self.instructions.insert(local.id, instruction);
        }
        if let ScalarOp::If { then, otherwise, .. } = &instruction.op {
            for inner in then.instructions.iter().chain(&otherwise.instructions) {
                self.instruction_and_arms(inner);
            }
        }
    }

    fn instruction(&self, id: LocalId) -> Option<&'k Instruction> {
        self.instructions.get(&id).copied()
    }

    fn of_operand(&self, operand: ScalarOperand) -> Option<&'k ScalarOp> {
        self.instruction(local(&operand)?).map(|instruction| &instruction.op)
    }

    fn is_bool(&self, operand: ScalarOperand) -> bool {
        local(&operand).and_then(|id| self.types.get(&id)) == Some(&ElementType::Bool)
    }

    /// The bit that an operand is, if it is none but 0 and 1.
    fn bit(&self, operand: ScalarOperand, depth: usize) -> Option<Bit> {
        let own = || Bit { root: operand, turned: false };
        let depth = depth.checked_sub(1)?;
        let number = |operand: ScalarOperand| match operand {
            ScalarOperand::Constant(constant) if !constant.ty().is_float() => constant.as_i64(),
            _ => None,
        };
        let found = match self.of_operand(operand) {
            Some(ScalarOp::Unary { function: Unary::Not, a }) => self.bit(*a, depth).map(Bit::other),
            Some(ScalarOp::Convert { to, a }) if !to.is_float() => self.bit(*a, depth),
            Some(ScalarOp::Binary { function, a, b }) => match (function, number(*a), number(*b)) {
                (Binary::Eq, None, Some(1)) | (Binary::Ne, None, Some(0)) | (Binary::Gt, None, Some(0)) => {
                    self.bit(*a, depth)
                }
                (Binary::Eq, None, Some(0)) | (Binary::Ne, None, Some(1)) | (Binary::Lt, None, Some(1)) => {
                    self.bit(*a, depth).map(Bit::other)
                }
                (Binary::And, None, Some(1)) => Some(own()),
                (Binary::Sub, Some(1), None) => self.bit(*b, depth).map(Bit::other),
                (Binary::Xor, None, Some(1)) => self.bit(*a, depth).map(Bit::other),
                _ => None,
            },
            Some(ScalarOp::If { condition, then, otherwise }) => {
                match (then.results.as_slice(), otherwise.results.as_slice()) {
                    ([then], [otherwise]) => match (number(*then), number(*otherwise)) {
                        (Some(1), Some(0)) => self.bit(*condition, depth),
                        (Some(0), Some(1)) => self.bit(*condition, depth).map(Bit::other),
                        _ => None,
                    },
                    _ => None,
                }
            }
            _ => None,
        };
        found.or_else(|| self.is_bool(operand).then(own))
    }

    /// Whether two operands have the same value in each step.
    fn is_same(&self, a: ScalarOperand, b: ScalarOperand, depth: usize) -> bool {
        if a == b {
            return true;
        }
        let (Some(depth), Some(x), Some(y)) = (depth.checked_sub(1), self.of_operand(a), self.of_operand(b)) else {
            return false;
        };
        let is_same = |a: &ScalarOperand, b: &ScalarOperand| self.is_same(*a, *b, depth);
        match (x, y) {
            (ScalarOp::Unary { function: f, a }, ScalarOp::Unary { function: g, a: b }) => f == g && is_same(a, b),
            (ScalarOp::Binary { function: f, a, b }, ScalarOp::Binary { function: g, a: c, b: d }) => {
                f == g && is_same(a, c) && is_same(b, d)
            }
            (ScalarOp::Convert { to: f, a }, ScalarOp::Convert { to: g, a: b })
            | (ScalarOp::Bits { to: f, a }, ScalarOp::Bits { to: g, a: b }) => f == g && is_same(a, b),
            _ => false,
        }
    }

    /// By how much a place moves for each element that is counted, and for each step; none where something else moves it.
    fn moves(&self, place: RunPlace<'_>, count: LocalId, index: LocalId) -> Option<(i64, i64)> {
        let own = (count, index);
        let sum = match place {
            RunPlace::Index(place) => {
                place.terms.iter().try_fold(Linear::constant(place.offset), |sum, &(coefficient, term)| {
                    Some(sum.plus(&self.sum(ScalarOperand::Local(term), own, MOST_DEPTH)?, coefficient))
                })?
            }
            RunPlace::Function(function) => match function.results.as_slice() {
                [place] => self.sum(*place, own, MOST_DEPTH)?,
                _ => return None,
            },
        };
        Some((sum.coefficient(&count), sum.coefficient(&index)))
    }

    /// An operand as a sum of locals that are the same in all steps, of the count and of the index.
    fn sum(&self, operand: ScalarOperand, own: (LocalId, LocalId), depth: usize) -> Option<Linear<LocalId>> {
        let depth = depth.checked_sub(1)?;
        let id = match operand {
            ScalarOperand::Constant(constant) => return constant.as_i64().map(Linear::constant),
            ScalarOperand::Local(id) => id,
            ScalarOperand::Outer(_) => return None,
        };
        if id == own.0 || id == own.1 {
            return Some(Linear::term(id));
        }
        if let Some(ScalarOp::Binary { function, a, b }) = self.of_operand(operand)
            && self.types.get(&id) == Some(&ElementType::I64)
        {
            let sum = |operand: &ScalarOperand| self.sum(*operand, own, depth);
            match function {
                Binary::Add => return Some(sum(a)?.plus(&sum(b)?, 1)),
                Binary::Sub => return Some(sum(a)?.minus(&sum(b)?)),
                _ => {}
            }
        }
        self.around.contains(&id).then(|| Linear::term(id))
    }
}
