//! Shape descriptors of all values, found in one walk over the program.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Extent, Operand, Part, Program, Sink, Type, Var,
    analysis::{Answer, Size, Sizes, sizes::Term},
};

use super::{Dim, Shapes};

/// The shapes of all values of a valid program.
///
/// Sizes are followed through scalar code; two arrays taken out of an array of arrays at the same index have equal extents; what a nest
/// makes of each array of an array of arrays, of the same extents, has the shape of that; a branch or a loop whose sizes agree keeps them.
pub fn shapes(program: &Program) -> Shapes {
    let mut walk = Walk::default();
    walk.block(&program.body);
    walk.known.shapes
}

/// What an `element` gave: which inner extent of what, at which index, and the extents that the index has to be inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Taken {
    dim: Dim,
    index: Vec<Size>,
    outer: Vec<Dim>,
}

/// What a turn of a loop that is tried may have to undo.
#[derive(Clone, Default)]
struct Known {
    shapes: Shapes,
    /// The first value that is such an extent.
    elements: HashMap<Taken, ArrayId>,
    taken: HashMap<ArrayId, Taken>,
    /// The first index of a nest of these extents in a lane of that nest; the dimension comes last.
    indices: HashMap<(Option<ArrayId>, Vec<Size>, usize), ArrayId>,
}

#[derive(Default)]
struct Walk<'p> {
    known: Known,
    types: HashMap<ArrayId, &'p Type>,
    /// How many nests are around the definition of a value.
    depths: HashMap<ArrayId, usize>,
    depth: usize,
    /// The index of the innermost nest.
    scope: Option<ArrayId>,
}

impl<'p> Walk<'p> {
    fn block(&mut self, block: &'p Block) {
        self.enter(block);
        for binding in &block.bindings {
            self.binding(binding);
        }
    }

    fn enter(&mut self, block: &'p Block) {
        self.known.shapes.sizes.enter_block(block);
        block.sizes.iter().chain(&block.params).for_each(|var| self.define(var));
    }

    fn define(&mut self, var: &'p Var) {
        self.types.insert(var.id, &var.ty);
        self.depths.insert(var.id, self.depth);
        self.known.shapes.note(var.id, &var.ty);
    }

    fn sizes(&mut self) -> &mut Sizes {
        &mut self.known.shapes.sizes
    }

    fn binding(&mut self, binding: &'p Binding) {
        match &binding.op {
            ArrayOp::Nest { extents, body } => return self.nest(binding, extents, body),
            ArrayOp::Element { source, index } => return self.element(binding, *source, index),
            ArrayOp::Cond { then, otherwise, .. } => return self.cond(binding, then, otherwise),
            ArrayOp::While { condition, step, starts } => return self.repeat(binding, condition, step, starts),
            ArrayOp::Foreign { fallback, arguments, .. } => {
                let types = &self.types;
                self.known.shapes.sizes.enter_fallback(fallback, arguments, &|id| types.get(&id).copied());
            }
            // Each element of a chunk is a lane.
            ArrayOp::Consume { body, sinks, .. } => {
                let outside = (self.depth, self.scope);
                self.depth += 1;
                self.scope = body.params.first().map(|param| param.id).or(self.scope);
                self.block(body);
                (self.depth, self.scope) = outside;
                for sink in sinks {
                    if let Sink::Accumulate { f, .. } = sink {
                        self.block(f);
                    }
                }
                return self.results(binding);
            }
            _ => {}
        }
        for part in binding.op.parts() {
            if let Part::Body(body) = part {
                self.block(body);
            }
        }
        self.results(binding);
    }

    /// What the size analysis finds, and types.
    fn results(&mut self, binding: &'p Binding) {
        self.sizes().add_binding(binding);
        binding.results.iter().for_each(|var| self.define(var));
    }

    fn nest(&mut self, binding: &'p Binding, extents: &[Operand], body: &'p Block) {
        let sizes: Vec<Size> = extents.iter().filter_map(|extent| self.sizes().operand(extent)).collect();
        let outside = (self.depth, self.scope);
        self.depth += 1;
        self.enter(body);
        let mut own = Vec::new();
        for (dim, param) in body.params.iter().enumerate() {
            let first = *self.known.indices.entry((outside.1, sizes.clone(), dim)).or_insert(param.id);
            let size = Sizes::unknown(first);
            self.sizes().define(param.id, size.clone());
            own.push(size);
        }
        self.scope = body
            .params
            .first()
            .map_or(outside.1, |param| self.sizes().value(param.id).and_then(|size| value(&size)).or(Some(param.id)));
        for inner in &body.bindings {
            self.binding(inner);
        }
        (self.depth, self.scope) = outside;
        self.results(binding);
        let outer: Vec<Dim> = sizes.into_iter().map(Dim::Size).collect();
        for (var, &result) in binding.results.iter().zip(&body.results) {
            let inside = self.known.shapes.dims(result).to_vec();
            for (position, dim) in inside.into_iter().enumerate() {
                let at = var.ty.rank() + position;
                let declared = var.ty.inner.iter().flatten().nth(position);
                if declared == Some(&Extent::Unknown) {
                    let dim = self.outside(dim, &own, &outer);
                    if let Some(entry) = self.known.shapes.dims.get_mut(&var.id).and_then(|dims| dims.get_mut(at)) {
                        *entry = dim;
                    }
                }
            }
        }
    }

    /// An extent of what a lane gives, as seen outside of the nest whose index is `own` and whose extents are `outer`.
    fn outside(&self, dim: Dim, own: &[Size], outer: &[Dim]) -> Dim {
        let Dim::Size(size) = dim else { return dim };
        let same = |term: &Term| matches!(term, Term::Value(id) if self.depths.get(id).is_some_and(|&depth| depth <= self.depth));
        if size.terms().iter().all(|(term, _)| same(term)) {
            return Dim::Size(size);
        }
        let taken = value(&size).and_then(|id| self.known.taken.get(&id));
        match taken.filter(|taken| taken.index == own && self.all_equal(&taken.outer, outer)) {
            Some(taken) => taken.dim.clone(),
            None => Dim::Lanes(size),
        }
    }

    fn all_equal(&self, a: &[Dim], b: &[Dim]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.known.shapes.equal_dims(a, b))
    }

    fn element(&mut self, binding: &'p Binding, source: ArrayId, index: &[Operand]) {
        self.results(binding);
        let dims = self.known.shapes.dims(source).to_vec();
        let Some(ty) = self.types.get(&source).copied() else { return };
        let (outer, inner) = dims.split_at(ty.rank().min(dims.len()));
        let index: Option<Vec<Size>> = index.iter().map(|operand| self.sizes().operand(operand)).collect();
        let Some(index) = index else { return };
        let level = ty.inner.first().map_or(0, Vec::len);
        let mut results = binding.results.iter();
        for (declared, dim) in ty.inner.iter().flatten().zip(inner).take(level) {
            if *declared != Extent::Unknown {
                continue;
            }
            let Some(var) = results.next() else { return };
            let size = match dim {
                Dim::Size(size) => size.clone(),
                dim => {
                    let taken = Taken { dim: dim.clone(), index: index.clone(), outer: outer.to_vec() };
                    let first = *self.known.elements.entry(taken.clone()).or_insert(var.id);
                    self.known.taken.entry(first).or_insert(taken);
                    Sizes::unknown(first)
                }
            };
            if Sizes::unknown(var.id) != size {
                self.sizes().define(var.id, size);
            }
        }
        // Types were noted before the sizes were known.
        binding.results.iter().for_each(|var| self.known.shapes.note(var.id, &var.ty));
    }

    fn cond(&mut self, binding: &'p Binding, then: &'p Block, otherwise: &'p Block) {
        self.block(then);
        self.block(otherwise);
        self.results(binding);
        for ((var, &a), &b) in binding.results.iter().zip(&then.results).zip(&otherwise.results) {
            if let (true, Some(a), Some(b)) = (is_size(&var.ty), self.sizes().value(a), self.sizes().value(b))
                && self.sizes().equal_sizes(&a, &b) == Answer::Proved
            {
                self.sizes().define(var.id, a);
            }
        }
        binding.results.iter().for_each(|var| self.known.shapes.note(var.id, &var.ty));
    }

    /// Sizes of the state are taken for what they are at the start, until a turn shows that one is not.
    fn repeat(&mut self, binding: &'p Binding, condition: &'p Block, step: &'p Block, starts: &[Operand]) {
        let before = self.known.clone();
        let starting: Vec<Option<Size>> = step
            .params
            .iter()
            .zip(starts)
            .map(|(param, start)| if is_size(&param.ty) { self.sizes().operand(start) } else { None })
            .collect();
        let mut changing: HashSet<usize> = HashSet::new();
        loop {
            for block in [condition, step] {
                block.sizes.iter().chain(&block.params).for_each(|var| self.sizes().declare(var));
                for (position, (param, start)) in block.params.iter().zip(&starting).enumerate() {
                    let kept = start.clone().filter(|_| !changing.contains(&position));
                    if is_size(&param.ty) {
                        self.sizes().define(param.id, kept.unwrap_or_else(|| Sizes::unknown(param.id)));
                    }
                }
                self.block(block);
            }
            let wrong: Vec<usize> = (0..step.params.len())
                .filter(|position| starting[*position].is_some() && !changing.contains(position))
                .filter(|&position| {
                    let next = step.results.get(position).and_then(|&id| self.sizes().value(id));
                    match (&starting[position], next) {
                        (Some(start), Some(next)) => self.sizes().equal_sizes(start, &next) != Answer::Proved,
                        _ => true,
                    }
                })
                .collect();
            if wrong.is_empty() {
                break;
            }
            changing.extend(wrong);
            self.known = before.clone();
        }
        self.results(binding);
        for (position, var) in binding.results.iter().enumerate() {
            if let Some(start) = starting.get(position).cloned().flatten()
                && !changing.contains(&position)
            {
                self.sizes().define(var.id, start);
            }
        }
        binding.results.iter().for_each(|var| self.known.shapes.note(var.id, &var.ty));
    }
}

/// Whether values of this type are sizes.
fn is_size(ty: &Type) -> bool {
    ty.is_scalar() && ty.element == ElementType::I64
}

/// The value that a size is.
fn value(size: &Size) -> Option<ArrayId> {
    match size.as_term() {
        Some(Term::Value(id)) => Some(*id),
        _ => None,
    }
}
