//! Kernels to block functions: levels become loops, statements become instructions for one point or for a gang of points.
//!
//! One emitter serves scalar and vector code, and carries out the [`Nest`] of a schedule. Values at a point are uniform, or gangs along the level that the nest puts
//! across lanes; with no such level every value is uniform and the code is scalar. Loops that do not fill a gang end in scalar code, or,
//! where a scan fixes the gang, in a masked one.

mod abreast;
mod access;
mod border;
mod branch;
mod checks;
mod choices;
mod clamped;
mod combine;
mod counted;
mod divide;
mod emitted_level;
mod failures;
mod few;
mod first_step;
mod held;
mod hidden;
mod in_gangs;
mod interchanged;
mod jammed;
mod levels;
mod non_temporal;
mod operand;
mod panels;
mod repeat;
mod rows;
mod scalar;
mod statement;
mod steps;
mod stores;
mod strip_mined;
mod together;
mod uniform;
mod unrolled;

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use fusebox_backend::BackendError;
use fusebox_ir::{
    Action, DimIndex, Kernel, KernelArrayId, KernelExtent, LocalId, ScalarOp, Statement,
    analysis::kernels::{ByRow, LongLevels, by_row, used},
    bug,
};

pub use hidden::HiddenArgument;

use crate::vector::{Builder, Function, Value};
pub use fusebox_ir::analysis::algebra::identities;
use fusebox_schedule::{Gang, Nest, Node};

use statement::{reduce::Reduce, scan::Scan};

/// Which part of a kernel a function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// How many steps the outermost level has, where that is no size: the first word of scratch memory.
    Steps,
    /// Everything, in one call for the whole outermost level.
    Whole,
    /// A range of the outermost level; reduces to depth 0 leave a result for each block of 4,096 steps.
    Body,
    /// The totals of scans in a tile: what they need of a range of the outermost level, and nothing that is seen outside.
    Totals,
    /// The carry behind a tile: that before it and its totals. The range's first step is the tile's number.
    Carry,
    /// What comes at depth 0: combines the results of blocks, and runs the statements behind the loops.
    Finish,
    /// Combines a range of copied targets of one scatter (by statement) into its arrays.
    Merge(usize),
    /// As [`Self::Body`], but the elements of one scatter (by statement) are put aside as records, from the first on, for partitions of its targets.
    Partition(usize),
    /// Combines a range of records of one scatter (by statement), those of one partition, into its arrays.
    Combine(usize),
}

impl Part {
    /// Whether statements of depth 0 are another part's, but for what others need.
    fn is_inside(self) -> bool {
        self.is_body() || matches!(self, Self::Totals | Self::Carry | Self::Steps)
    }

    /// Whether it does everything of a range of the outermost level.
    pub fn is_body(self) -> bool {
        matches!(self, Self::Body | Self::Partition(_))
    }

    /// Whether it runs once for each element or target, and not once for each block, tile or launch.
    pub fn is_hot(self) -> bool {
        match self {
            Self::Whole | Self::Body | Self::Totals | Self::Merge(_) | Self::Partition(_) | Self::Combine(_) => true,
            Self::Steps | Self::Carry | Self::Finish => false,
        }
    }

    /// Whether it runs a range of the outermost level.
    pub fn is_ranged(self) -> bool {
        self.is_body() || self == Self::Totals
    }
}

/// A value at a point, or at a gang of points.
#[derive(Clone, Copy, Debug)]
pub enum Val {
    /// The same in all lanes.
    Uniform(Value),
    /// One for each lane.
    Gang(Value),
    /// `i64`: `base + lane · stride`, both uniform.
    Linear(Value, Value),
}

/// Emits one part of a kernel.
pub struct Emitter<'k> {
    kernel: &'k Kernel,
    /// What the kernel is where levels are long.
    long_levels: &'k LongLevels,
    part: Part,
    b: Builder,
    /// What is carried out.
    nest: &'k Nest,
    /// Of the nest, what is around the statements that come.
    nodes: &'k [Node],
    /// The level across lanes.
    gang: Option<Gang>,
    /// Bytes of the vectors that the code is for.
    vector_bytes: usize,
    /// Lanes of the code that is emitted just now.
    lanes: u32,
    /// Lanes that take part, where not all do.
    mask: Option<Value>,
    /// A mask of which some lane is known to take part.
    some_lane: Option<Value>,
    /// How many lanes the last, short gang of a level has.
    remainder: Option<Value>,
    /// Whether taps along the level across lanes are known to be inside.
    interior: bool,
    /// How many steps of the level across lanes are known to be before the gang that is emitted just now, and how many behind it.
    around: (i64, i64),
    /// A level along which no boundary applies at the steps being emitted.
    inside: Option<usize>,
    locals: HashMap<LocalId, Val>,
    /// Locals that something uses.
    used: HashSet<LocalId>,
    /// Values that the loops around carry.
    states: Vec<Value>,
    reduces: HashMap<usize, Reduce>,
    scans: HashMap<usize, Scan>,
    /// Dimensions of loads that do not change in the levels being emitted, with their extents, and what their boundaries make of them.
    bounded: Vec<(DimIndex, KernelExtent, Val)>,
    /// Counts of loops that are inside of a dimension of an array.
    known_inside: Vec<(Value, KernelArrayId, usize)>,
    /// Arrays whose stores go past the caches.
    streaming: HashSet<KernelArrayId>,
    /// Where only some statements are emitted.
    only: Option<HashSet<usize>>,
    /// Reduces, and scans' totals, that have got what is emitted already.
    done: HashSet<usize>,
    /// A level of which some steps alone run: the first of them, and the one behind the last.
    window: Option<(usize, (Value, Value))>,
    /// Levels that have fewer steps than so many, where it is known by a choice.
    fewer_than: Vec<(usize, u32)>,
    /// Levels that have at least so many steps, where it is known by a choice.
    at_least: Vec<(usize, u32)>,
    /// In gangs of which any number of lanes may take part: whether some do.
    some_steps: Option<Value>,
    /// What steps of the outermost level touch of each array, where code may run on some rows alone.
    in_rows: Option<ByRow>,
    /// Steps of a level that run at once.
    jam: Option<jammed::Jam>,
    /// What is copied before the loops around, by the statement that loads it.
    panels: HashMap<usize, panels::Panel>,
    /// Of ragged reduces: whether the version for short trips is emitted just now.
    short_trip: HashMap<usize, bool>,
    /// States that say whether a reduce in order, without seeds, has got anything.
    in_order_flags: HashSet<usize>,
    /// The state that counts appended elements, or those that are put aside.
    appended: Option<usize>,
    /// Where appends of a gang write what is not kept.
    spare: i64,
    /// The step of the outermost level, where emitted.
    outer_step: Option<Value>,
    /// What errors call the operation of the statement that is emitted.
    operation: &'k str,
    hidden: &'k mut Vec<HiddenArgument>,
    arrays: Vec<Value>,
    scratch: Value,
    range: (Value, Value),
    /// Where sizes may say so: whether no step of the outermost level does anything.
    idle: Option<Value>,
}

type Result<T = ()> = std::result::Result<T, BackendError>;

/// The function for one part of a kernel, as a nest says, for vectors of so many bytes, and perhaps for strips of rows.
///
/// # Errors
/// [`BackendError::Unsupported`] for functions that should have been expanded.
pub fn emit(
    kernel: &Kernel,
    part: Part,
    (nest, vector_bytes, in_strips): (&Nest, usize, bool),
    hidden: &mut Vec<HiddenArgument>,
) -> Result<Function> {
    let mut b = Builder::new();
    let range = (b.parameter(0), b.parameter(1));
    let scratch = b.parameter(2);
    // The first word is where an append leaves its count; what is not kept goes beside.
    let spare = b.scratch(128) + 64;
    let locals = kernel.sizes.iter().enumerate().map(|(i, size)| (size.id, Val::Uniform(b.argument(i)))).collect();
    let arrays = (0..kernel.arrays.len()).map(|i| b.argument(kernel.sizes.len() + i)).collect();
    let long_levels = &LongLevels::of(kernel);
    let mut emitter = Emitter {
        kernel,
        long_levels,
        part,
        b,
        nest,
        nodes: &nest.nodes,
        // What runs once for a launch has no gangs.
        gang: nest.gang(kernel.levels.len()).filter(|_| part.is_hot()),
        vector_bytes,
        lanes: 1,
        mask: None,
        some_lane: None,
        remainder: None,
        interior: false,
        around: (0, 0),
        inside: None,
        locals,
        used: used(kernel),
        states: Vec::new(),
        reduces: HashMap::new(),
        scans: HashMap::new(),
        bounded: Vec::new(),
        known_inside: Vec::new(),
        streaming: HashSet::new(),
        only: None,
        done: HashSet::new(),
        window: None,
        fewer_than: Vec::new(),
        at_least: Vec::new(),
        some_steps: None,
        in_rows: if in_strips { by_row(kernel) } else { None },
        jam: None,
        panels: HashMap::new(),
        short_trip: HashMap::new(),
        in_order_flags: HashSet::new(),
        appended: None,
        spare,
        outer_step: None,
        operation: &kernel.name.0,
        hidden,
        arrays,
        scratch,
        range,
        idle: None,
    };
    match part {
        Part::Merge(statement) => emitter.merge(statement)?,
        Part::Combine(statement) => emitter.records(statement)?,
        _ => emitter.everything()?,
    }
    let name = format!("{} {part:?}", kernel.name.0).to_lowercase();
    Ok(emitter.b.finish(name))
}

impl<'k> Emitter<'k> {
    /// All statements of the kernel.
    fn everything(&mut self) -> Result {
        self.find_idle()?;
        self.append_begin();
        self.depth(0, 0..self.kernel.statements.len())?;
        self.append_end();
        Ok(())
    }

    /// The statements of `range` that have depth `depth` or more, with the loop around the deeper ones.
    fn depth(&mut self, depth: usize, range: Range<usize>) -> Result {
        let (before, inner, behind) = self.parts(depth, range);
        self.statements(before, depth == 0 && self.part.is_inside())?;
        if !inner.is_empty() {
            let (first, last) = (inner.start, inner.end);
            if depth == 0 && self.part == Part::Finish {
                self.finish_reduces(first..last)?;
                self.finish_scans(first..last)?;
            } else if depth == 0 && self.part == Part::Carry {
                self.carries(first..last)?;
            } else if depth == 0 && self.part == Part::Steps {
                self.steps_of_outermost()?;
            } else {
                self.level(depth, first..last)?;
            }
        }
        if depth == 0 && self.part.is_inside() {
            return Ok(());
        }
        self.statements(behind, false)
    }

    /// Statements of depth `depth` or more: those before the deeper ones, the deeper ones, and those behind.
    fn parts(&self, depth: usize, range: Range<usize>) -> (Range<usize>, Range<usize>, Range<usize>) {
        let deeper = |statement: &Statement| statement.depth as usize > depth;
        let statements = &self.kernel.statements[range.clone()];
        let first = statements.iter().position(deeper);
        let (first, last) = match (first, statements.iter().rposition(deeper)) {
            (Some(first), Some(last)) => (range.start + first, range.start + last + 1),
            _ => (range.end, range.end),
        };
        (range.start..first, first..last, last..range.end)
    }

    /// One statement; where `pure_only`, what has an effect is left to another part.
    fn statement(&mut self, position: usize, pure_only: bool) -> Result {
        let kernel = self.kernel;
        let Statement { when, action, .. } = &kernel.statements[position];
        if self.only.as_ref().is_some_and(|only| !only.contains(&position)) {
            return Ok(());
        }
        self.operation = kernel.operation(&kernel.statements[position]);
        if pure_only && matches!(action, Action::Store { .. } | Action::Scatter { .. } | Action::Append { .. }) {
            return Ok(());
        }
        let when = match when {
            None => None,
            Some(condition) => {
                let condition = self.operand(*condition)?;
                Some(self.plain(condition))
            }
        };
        match action {
            Action::Load { result, array, map, outside, place } => {
                let value = match self.load_from_panel(position)? {
                    Some(value) => value,
                    None => self.load(*array, map, outside.as_ref(), place)?,
                };
                self.locals.insert(result.id, value);
                Ok(())
            }
            Action::Scalar(instruction) => match (&instruction.op, self.nest.unrolled(position)) {
                (ScalarOp::While { condition, step, starts }, Some(turns)) => {
                    self.unrolled_loop((condition, step), starts, turns, &instruction.results)
                }
                _ => self.instruction(instruction),
            },
            Action::Check { condition, failure } => self.check(*condition, when, failure),
            Action::Reduce { .. } => self.reduce(position, when),
            Action::Scan { .. } => self.scan(position, when),
            Action::Store { array, map, value } => self.store(*array, map, *value, when),
            Action::Append { .. } => self.append(position, when),
            Action::Scatter { .. } => self.scatter(position, when),
        }
    }

    /// Panics: a statement is emitted as what it is not, or where it is not under way.
    fn misplaced(&self, position: usize) -> ! {
        bug!(self.kernel, "statement {position} is emitted where it cannot be")
    }

    fn broken(&self, what: &str) -> BackendError {
        BackendError::Compile { kernel: self.kernel.name.0.clone(), message: what.to_owned() }
    }
}
