//! The program under construction: open blocks, the values in scope, what is known of sizes.

mod extents;
mod interface;

pub(in crate::generate) use self::extents::{operand, operands, scalar, single};

use std::collections::HashMap;

use crate::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Extent, Place, Type, Var,
    generate::{Config, Rounding, random::Random},
};

/// The least and the greatest value that a number may have.
pub(in crate::generate) type Bounds = (i64, i64);

/// The name of programs whose arrays grow at most linearly with their inputs. By that name [`inputs`](super::inputs()) knows that inputs may be
/// large.
pub(in crate::generate) const LINEAR: &str = "large";

/// Extents of inputs of programs that grow linearly are at most this.
pub(in crate::generate) const LARGE: i64 = 10_000;

/// A value in scope.
#[derive(Clone, Debug)]
pub(in crate::generate) struct Known {
    pub id: ArrayId,
    pub ty: Type,
    /// Whether all elements are whole numbers of at most 16, so that sums of floats are exact.
    pub small: bool,
    /// Valid offsets of segments of this extent, and how many segments.
    pub segments: Option<(Extent, Extent)>,
}

impl Known {
    pub fn element(&self) -> ElementType {
        self.ty.element
    }

    pub fn is_array(&self) -> bool {
        !self.ty.stream && self.ty.inner.is_empty()
    }
}

/// What is built, and what may be used in it.
pub(in crate::generate) struct Scope<'c> {
    pub random: Random,
    pub config: &'c Config,
    /// Whether arrays have one extent that is no constant, and sizes grow by sums alone.
    pub linear: bool,
    /// Whether the block is that of a cluster, which holds no `unit`.
    pub in_cluster: bool,
    /// How many blocks are around this one.
    pub depth: usize,
    pub values: Vec<Known>,
    pub bounds: HashMap<ArrayId, Bounds>,
    next: u32,
    blocks: Vec<Block>,
    /// Sums of extents that were bound before. They are used where no new sum can be bound.
    sums: HashMap<(Extent, Extent), Extent>,
    /// The indices of nests around this point, with their extents.
    pub indices: HashMap<ArrayId, Extent>,
    /// The greatest extent inside of each array of arrays.
    pub nested_most: HashMap<ArrayId, i64>,
    /// How many times the code at this point runs, at most.
    pub lanes: i64,
    /// Values that become results of the program and that nothing may use, since their last bits depend on who runs the program.
    pub marked: Vec<(String, Known)>,
}

impl<'c> Scope<'c> {
    pub fn new(random: Random, config: &'c Config, linear: bool) -> Self {
        Self {
            random,
            config,
            linear,
            in_cluster: false,
            depth: 0,
            values: Vec::new(),
            bounds: HashMap::new(),
            next: 0,
            blocks: vec![Block::default()],
            sums: HashMap::new(),
            indices: HashMap::new(),
            nested_most: HashMap::new(),
            lanes: 1,
            marked: Vec::new(),
        }
    }

    /// Decides at random whether what comes next may fail.
    pub fn unsafely(&mut self) -> bool {
        self.config.may_fail && self.random.chance(1, 16)
    }

    /// Whether functions and reductions that round may stand anywhere.
    pub fn free(&self) -> bool {
        self.config.rounding == Rounding::Free
    }

    pub fn fresh(&mut self) -> ArrayId {
        self.next += 1;
        ArrayId(self.next - 1)
    }

    pub fn block(&mut self) -> &mut Block {
        self.blocks.last_mut().expect("the program's body is always open")
    }

    /// Opens a block; what is known outside stays known.
    pub fn open(&mut self) -> usize {
        self.blocks.push(Block::default());
        self.depth += 1;
        self.values.len()
    }

    /// Closes it; `mark` is what `open` gave.
    pub fn close(&mut self, mark: usize, results: Vec<ArrayId>) -> Block {
        self.values.truncate(mark);
        self.depth -= 1;
        let mut block = self.blocks.pop().unwrap_or_default();
        block.results = results;
        block
    }

    pub fn var(&mut self, id: ArrayId, ty: Type) -> Var {
        Var { id, ty, name: self.random.hint() }
    }

    /// Makes a value known.
    pub fn know(&mut self, id: ArrayId, ty: Type) -> Known {
        let known = Known { id, ty, small: false, segments: None };
        self.values.push(known.clone());
        known
    }

    /// Binds results of these ids, whose types may name each other.
    pub fn bind_ids(&mut self, ids: &[ArrayId], op: ArrayOp, types: Vec<Type>) -> Vec<Known> {
        let results = ids.iter().zip(&types).map(|(&id, ty)| self.var(id, ty.clone())).collect();
        let place = if self.random.chance(1, 4) {
            Place { file: None, line: self.random.range(1, 99) as u32, column: 1 }
        } else {
            Place::default()
        };
        self.block().bindings.push(Binding { results, op, place });
        ids.iter().zip(types).map(|(&id, ty)| self.know(id, ty)).collect()
    }

    pub fn bind(&mut self, op: ArrayOp, types: Vec<Type>) -> Vec<Known> {
        let ids: Vec<ArrayId> = types.iter().map(|_| self.fresh()).collect();
        self.bind_ids(&ids, op, types)
    }

    /// Removes the latest values from the scope, so that nothing uses them.
    pub fn hide(&mut self, values: &[Known]) {
        self.values.retain(|known| values.iter().all(|hidden| hidden.id != known.id));
    }

    /// One of the values that fit, the latest more often.
    pub fn pick(&mut self, fits: impl Fn(&Self, &Known) -> bool) -> Option<Known> {
        let fitting: Vec<usize> = (0..self.values.len()).filter(|&at| fits(self, &self.values[at])).collect();
        if fitting.is_empty() {
            return None;
        }
        let recent = fitting.len().min(4);
        let at = if self.random.chance(1, 2) {
            fitting.len() - 1 - self.random.below(recent)
        } else {
            self.random.below(fitting.len())
        };
        Some(self.values[fitting[at]].clone())
    }

    /// One of the arrays of scalars of at least that rank.
    pub fn array(&mut self, rank: usize) -> Option<Known> {
        self.pick(|_, known| known.is_array() && known.ty.rank() >= rank)
    }

    /// An array of these extents and, if one is asked for, that element type: one in scope, or a new one.
    pub fn produce(&mut self, element: Option<ElementType>, extents: &[Extent]) -> Known {
        let fits = |known: &Known| {
            known.is_array() && known.ty.extents == extents && element.is_none_or(|e| e == known.element())
        };
        if self.random.chance(4, 5)
            && let Some(known) = self.pick(|_, known| fits(known))
        {
            return known;
        }
        let element = element.unwrap_or_else(|| self.random.element());
        self.generated(element, extents)
    }
}
