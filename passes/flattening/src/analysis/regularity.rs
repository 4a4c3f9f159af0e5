//! What depends on which lanes: for each value the nests whose index its elements depend on, and those that its extents depend on.
//!
//! Source: van den Haak, McDonell, Keller, de Wolff, "Accelerating Nested Data Parallelism: Preserving Regularity", Euro-Par 2020, with a
//! fixpoint for loops, and with a set of nests in the place of the outermost one.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Extent, Operand, Part, Program, Sink, Type, Var, analysis::sizes::Term,
};

use super::{Dim, Shapes};

/// A set of nests around a value, the outermost is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lanes(u128);

impl Lanes {
    /// No nest: the same in all lanes.
    pub const NONE: Self = Self(0);

    /// The nest at this depth alone; nests deeper than any valid program has count as the deepest.
    pub fn of(depth: usize) -> Self {
        Self(1 << depth.min(127))
    }

    /// Whether it is the same in all lanes.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The union of both sets.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Without one.
    #[must_use]
    pub fn without(self, depth: usize) -> Self {
        Self(self.0 & !Self::of(depth).0)
    }

    /// Whether the nest at this depth is among them.
    pub fn has(self, depth: usize) -> bool {
        self.0 & Self::of(depth).0 != 0
    }

    /// The innermost one.
    pub fn innermost(self) -> Option<usize> {
        (self.0 != 0).then(|| 127 - self.0.leading_zeros() as usize)
    }
}

/// What an extent of a value depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Varies {
    /// The nests around the value whose lanes have different extents.
    pub lanes: Lanes,
    /// Whether the arrays of this array of arrays have different ones.
    pub ragged: bool,
}

/// What values of a program depend on.
#[derive(Clone, Debug, Default)]
pub struct Regularity {
    pub(super) lanes: HashMap<ArrayId, Lanes>,
    pub(super) extents: HashMap<ArrayId, Vec<Varies>>,
    /// How many nests are around the definition.
    pub(super) depths: HashMap<ArrayId, usize>,
    /// The extents that types do not name.
    unnamed: HashMap<ArrayId, Vec<usize>>,
}

impl Regularity {
    /// The nests whose index elements of a value depend on.
    pub fn lanes(&self, id: ArrayId) -> Lanes {
        self.lanes.get(&id).copied().unwrap_or_default()
    }

    /// What its extents depend on, outer levels first.
    pub fn extents(&self, id: ArrayId) -> &[Varies] {
        self.extents.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Whether all lanes have the same extents, and all arrays inside of it.
    pub fn is_regular(&self, id: ArrayId) -> bool {
        self.extents(id).iter().all(|varies| varies.lanes.is_none() && !varies.ragged)
    }

    /// How many nests are around the definition of a value.
    pub fn depth(&self, id: ArrayId) -> usize {
        self.depths.get(&id).copied().unwrap_or_default()
    }
}

/// What the values of a valid program depend on, given its [`shapes`](super::shapes).
///
/// An extent is what its name says, so rules are needed only for what binds or joins names: nests, `element`, branches, loops, and
/// functions of others. All other operations depend on what they use, and their extents on what names them.
pub fn regularity(program: &Program, shapes: &Shapes) -> Regularity {
    let mut walk = Walk { shapes, found: Regularity::default(), depth: 0 };
    walk.params(&program.body, Lanes::NONE);
    walk.bindings(&program.body);
    walk.found
}

struct Walk<'s> {
    shapes: &'s Shapes,
    found: Regularity,
    depth: usize,
}

impl Walk<'_> {
    /// Sizes and parameters that may depend on `lanes`.
    fn params(&mut self, block: &Block, lanes: Lanes) {
        for var in block.sizes.iter().chain(&block.params) {
            self.define(var, lanes);
        }
    }

    fn bindings(&mut self, block: &Block) {
        for binding in &block.bindings {
            self.binding(binding);
        }
    }

    fn define(&mut self, var: &Var, lanes: Lanes) {
        // What a size is may say less than how it was computed.
        let known = self.shapes.size(var.id).filter(|_| is_size(&var.ty));
        let by_size = known.and_then(|size| {
            size.terms().iter().try_fold(Lanes::NONE, |all, (term, _)| match term {
                Term::Value(id) if *id == var.id => None,
                Term::Value(id) => Some(all.or(self.found.lanes.get(id).copied()?)),
                Term::Interned(_) => None,
            })
        });
        self.found.lanes.insert(var.id, by_size.map_or(lanes, |by_size| by_size.and(lanes)));
        self.found.depths.insert(var.id, self.depth);
        let extents = var.ty.all_extents().enumerate().map(|(position, extent)| self.varies(var, position, extent));
        let extents = extents.collect();
        self.found.extents.insert(var.id, extents);
        let unnamed = var.ty.all_extents().enumerate().filter(|(_, extent)| **extent == Extent::Unknown);
        self.found.unnamed.insert(var.id, unnamed.map(|(position, _)| position).collect());
    }

    fn varies(&self, var: &Var, position: usize, extent: &Extent) -> Varies {
        match extent {
            Extent::Constant(_) => Varies::default(),
            Extent::Value(id) => Varies { lanes: self.found.lanes(*id), ragged: false },
            // Of arrays of arrays whose extents are known by what made them the nest says more.
            Extent::Unknown => match self.shapes.dims(var.id).get(position) {
                Some(Dim::Size(size)) => match size.as_constant() {
                    Some(_) => Varies::default(),
                    None => Varies { lanes: Lanes::NONE, ragged: false }.or(self.of_terms(size)),
                },
                _ => Varies { lanes: Lanes::NONE, ragged: true },
            },
        }
    }

    fn of_terms(&self, size: &fusebox_ir::analysis::Size) -> Varies {
        let lanes = size.terms().iter().try_fold(Lanes::NONE, |all, (term, _)| match term {
            Term::Value(id) => Some(all.or(self.found.lanes.get(id).copied()?)),
            Term::Interned(_) => None,
        });
        lanes.map_or(Varies { lanes: Lanes::NONE, ragged: true }, |lanes| Varies { lanes, ragged: false })
    }

    fn operand(&self, operand: &Operand) -> Lanes {
        match operand {
            Operand::Value(id) => self.found.lanes(*id),
            Operand::Constant(_) => Lanes::NONE,
        }
    }

    fn operands(&self, operands: &[Operand]) -> Lanes {
        operands.iter().fold(Lanes::NONE, |all, operand| all.or(self.operand(operand)))
    }

    /// What an operation uses from outside, in its types too.
    fn uses(&self, binding: &Binding) -> Lanes {
        let mut all = binding.op.uses().into_iter().fold(Lanes::NONE, |all, id| all.or(self.found.lanes(id)));
        for var in &binding.results {
            var.ty.for_each_use(&mut |id| all = all.or(self.found.lanes(id)));
        }
        all
    }

    fn binding(&mut self, binding: &Binding) {
        let results: Vec<Lanes> = match &binding.op {
            ArrayOp::Nest { extents, body } => return self.nest(binding, extents, body),
            ArrayOp::Element { source, index } => return self.element(binding, *source, index),
            ArrayOp::Cond { condition, then, otherwise } => {
                self.bindings(then);
                self.bindings(otherwise);
                let way = self.operand(condition);
                let branches = then.results.iter().zip(&otherwise.results);
                branches.map(|(&a, &b)| way.or(self.found.lanes(a)).or(self.found.lanes(b))).collect()
            }
            ArrayOp::While { condition, step, starts } => self.repeat(condition, step, starts),
            ArrayOp::Foreign { fallback, arguments, .. } => {
                let all = self.operands(arguments);
                self.params(fallback, all);
                self.bindings(fallback);
                fallback.results.iter().map(|&id| self.found.lanes(id)).collect()
            }
            ArrayOp::Consume { body, sinks, .. } => {
                let all = self.uses(binding);
                let own = self.depth;
                self.depth += 1;
                // Each element of a chunk is a lane.
                self.params(body, all.or(Lanes::of(own)));
                self.bindings(body);
                self.depth = own;
                for sink in sinks {
                    if let Sink::Accumulate { f, .. } = sink {
                        self.params(f, all);
                        self.bindings(f);
                    }
                }
                vec![all; binding.results.len()]
            }
            ArrayOp::Cluster { body, .. } => {
                self.bindings(body);
                body.results.iter().map(|&id| self.found.lanes(id)).collect()
            }
            // What holds no block: results are of what the operation uses.
            op => {
                debug_assert!(!op.parts().iter().any(|part| matches!(part, Part::Body(_))), "blocks are looked at");
                vec![self.uses(binding); binding.results.len()]
            }
        };
        for (position, var) in binding.results.iter().enumerate() {
            self.define(var, results.get(position).copied().unwrap_or_default());
        }
    }

    fn nest(&mut self, binding: &Binding, extents: &[Operand], body: &Block) {
        let own = self.depth;
        let around = self.operands(extents);
        self.depth += 1;
        // Zero dimensions are one lane, which nothing tells from others.
        self.params(body, Lanes::of(own));
        self.bindings(body);
        self.depth = own;
        for (var, &result) in binding.results.iter().zip(&body.results) {
            let lanes = around.or(self.found.lanes(result).without(own));
            self.define(var, lanes);
            let inside = self.found.extents(result).to_vec();
            let rank = var.ty.rank();
            let declared: Vec<Extent> = var.ty.inner.iter().flatten().copied().collect();
            if let Some(all) = self.found.extents.get_mut(&var.id) {
                for ((varies, inside), declared) in all[rank..].iter_mut().zip(inside).zip(declared) {
                    if declared == Extent::Unknown {
                        let ragged = inside.ragged || inside.lanes.has(own);
                        *varies = Varies { lanes: inside.lanes.without(own), ragged };
                    }
                }
            }
        }
    }

    /// An extent that all arrays have is that of each; others depend on which array it is.
    fn element(&mut self, binding: &Binding, source: ArrayId, index: &[Operand]) {
        let at = self.operands(index);
        let of = self.found.extents(source).to_vec();
        let levels = self.shapes.levels.get(&source).cloned().unwrap_or_default();
        let rank = levels.first().copied().unwrap_or_default();
        let of_level = levels.get(1).copied().unwrap_or_default();
        let value = at.or(self.found.lanes(source));
        let extent = |varies: &Varies| if varies.ragged { value.or(varies.lanes) } else { varies.lanes };
        let sizes = binding.results.len().saturating_sub(1);
        let unknown: Vec<Lanes> = of
            .iter()
            .skip(rank)
            .take(of_level)
            .enumerate()
            .filter(|(position, _)| self.is_unknown(source, rank + position))
            .map(|(_, varies)| extent(varies))
            .collect();
        for (position, var) in binding.results.iter().enumerate() {
            let lanes = if position < sizes { unknown.get(position).copied().unwrap_or(value) } else { value };
            self.define(var, lanes);
        }
        // Deeper levels are as they were.
        if let Some(all) = binding.results.last().and_then(|var| self.found.extents.get_mut(&var.id)) {
            for (varies, deeper) in all.iter_mut().skip(of_level).zip(of.iter().skip(rank + of_level)) {
                if varies.ragged {
                    let lanes = if deeper.ragged { value.or(deeper.lanes) } else { deeper.lanes };
                    *varies = Varies { lanes, ragged: deeper.ragged };
                }
            }
        }
    }

    /// Whether a type does not name an extent: `element` gives it.
    fn is_unknown(&self, id: ArrayId, position: usize) -> bool {
        self.found.unnamed.get(&id).is_some_and(|unnamed| unnamed.contains(&position))
    }

    /// Until no turn makes the state depend on more; then the condition decides how many turns a lane takes.
    fn repeat(&mut self, condition: &Block, step: &Block, starts: &[Operand]) -> Vec<Lanes> {
        let mut state: Vec<Lanes> = starts.iter().map(|start| self.operand(start)).collect();
        loop {
            for block in [condition, step] {
                for (param, &lanes) in block.params.iter().zip(&state) {
                    self.define(param, lanes);
                }
                self.bindings(block);
            }
            let turns = condition.results.first().map_or(Lanes::NONE, |&id| self.found.lanes(id));
            let next: Vec<Lanes> =
                state.iter().zip(&step.results).map(|(&lanes, &id)| lanes.or(self.found.lanes(id)).or(turns)).collect();
            if next == state {
                return state;
            }
            state = next;
        }
    }
}

/// Whether values of this type are sizes.
fn is_size(ty: &Type) -> bool {
    ty.is_scalar() && ty.element == fusebox_ir::ElementType::I64
}

impl Varies {
    fn or(self, other: Self) -> Self {
        Self { lanes: self.lanes.or(other.lanes), ragged: self.ragged || other.ragged }
    }
}
