//! What carries from tile to tile.

use fusebox_ir::{Binary, Constant, ElementType, Instruction, Lambda, Local, LocalId, Name, Place, ScalarOp};
use fusebox_schedule::grid::WARP;

use crate::{
    emit::{Emitter, Result},
    module::Argument,
    state::{Accumulator, Maybe},
    text::Reg,
};

/// Lanes of a gang where every order is right: a warp.
pub(super) const GANG: u32 = WARP;
/// The state of a tile whose total is there.
pub(super) const TOTAL: i64 = 1;
/// The state of a tile behind which what is carried is there.
pub(super) const CARRY: i64 = 2;

/// What carries from tile to tile.
pub(super) struct Carried<'k> {
    pub(super) position: usize,
    pub(super) combine: &'k Lambda,
    pub(super) down: bool,
    pub(super) exclusive: bool,
    pub(super) types: Vec<ElementType>,
    /// None: the append.
    pub(super) seeds: Option<&'k [fusebox_ir::ScalarOperand]>,
    pub(super) gang: u32,
    /// Whether each step has an element.
    pub(super) always: bool,
    /// In scratch memory: totals of tiles, and what is carried behind them.
    pub(super) totals: Argument,
    pub(super) carries: Argument,
}

/// What a block has of it.
pub(super) struct Own {
    /// Elements of a chunk.
    pub(super) staged: Reg,
    /// Where the element under way goes.
    pub(super) place: Reg,
    /// What each gang starts from.
    pub(super) starts: Reg,
    /// In the threads of the first warp: what is carried so far.
    pub(super) running: Accumulator,
}

impl Carried<'_> {
    pub(super) fn stride(&self) -> u64 {
        8 * self.types.len() as u64 + 8
    }

    /// Bytes of an element of a chunk: where each step has one, nothing says so.
    pub(super) fn staged_stride(&self) -> u64 {
        8 * self.types.len() as u64 + if self.always { 0 } else { 8 }
    }

    /// The element of a chunk at an address.
    pub(super) fn staged(&self, e: &mut Emitter<'_>, address: Reg) -> Maybe {
        e.read_element(address, &self.types, self.always)
    }

    /// Registers for an element of a chunk.
    pub(super) fn element(&self, e: &mut Emitter<'_>) -> Accumulator {
        let element = self.absent(e);
        Accumulator { present: element.present.filter(|_| !self.always), ..element }
    }

    pub(super) fn absent(&self, e: &mut Emitter<'_>) -> Accumulator {
        let values = self.types.iter().map(|&ty| e.c.variable(Constant::zero(ty).into())).collect();
        Accumulator { values, present: Some(e.c.variable(Constant::from(false).into())) }
    }

    /// What is carried into the first tile.
    pub(super) fn first(&self, e: &mut Emitter<'_>) -> Result<Maybe> {
        match self.seeds {
            None => Ok(Maybe { values: vec![0i64.into()], present: None }),
            Some(seeds) if !seeds.is_empty() => Ok(Maybe { values: e.operands(seeds)?, present: None }),
            Some(_) => Ok(self.absent(e).maybe(self.types.iter().copied())),
        }
    }

    pub(super) fn maybe(&self, of: &Accumulator) -> Maybe {
        of.maybe(self.types.iter().copied())
    }
}

/// The function that adds numbers of elements put.
pub(super) fn sum() -> Lambda {
    let local = |at: u32| Local { id: LocalId(u32::MAX - at), ty: ElementType::I64, name: Name::default() };
    let (a, b, c) = (local(0), local(1), local(2));
    let op = ScalarOp::Binary { function: Binary::Add, a: a.id.into(), b: b.id.into() };
    let results = vec![c.id.into()];
    let instruction = Instruction { results: vec![c], op, place: Place::default() };
    Lambda { params: vec![a, b], instructions: vec![instruction], results }
}
