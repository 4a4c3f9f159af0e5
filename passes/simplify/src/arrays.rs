//! Blocks: constants and equal sizes, operations that hand on an array, operations that stand twice, what nobody uses.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Extent, Lambda, Name, Operand, Part, PartMut, Place, Program, ScalarOp,
    ScalarOperand, Tap, TapBoundary, Type, Var,
    analysis::{
        Answer, Size, Sizes,
        restrict::{closure, restrict},
    },
};

use crate::{
    Config, checks,
    edits::{self, retain},
    scalar::{ElementTypes, simplified},
};

pub(crate) struct Arrays<'a> {
    config: &'a Config,
    elements: ElementTypes,
    sizes: Sizes,
    types: HashMap<ArrayId, Type>,
    /// What stands for a value.
    pub(crate) values: HashMap<ArrayId, Operand>,
    /// Of scalars for which a constant stands: the first of the same constant, where an operation reads it as an array.
    pub(crate) first: HashMap<ArrayId, ArrayId>,
    /// Sizes that have a name, and operations that may be used again: one table for each block around.
    pub(crate) scopes: Vec<Scope>,
    /// An id that nothing has.
    next: u32,
}

#[derive(Default)]
pub(crate) struct Scope {
    sizes: HashMap<Size, ArrayId>,
    /// By name and operands.
    pub(crate) operations: HashMap<(&'static str, Vec<ArrayId>), Vec<Binding>>,
}

pub(crate) fn simplify_program(mut program: Program, config: &Config) -> Program {
    let mut arrays = Arrays {
        config,
        elements: HashMap::new(),
        sizes: Sizes::new(),
        types: HashMap::new(),
        values: HashMap::new(),
        first: HashMap::new(),
        scopes: Vec::new(),
        next: program.fresh().0,
    };
    arrays.block(&mut program.body);
    remove_dead(&mut program.body);
    program.renumbered()
}

impl Arrays<'_> {
    fn block(&mut self, block: &mut Block) {
        self.scopes.push(Scope::default());
        self.sizes.enter_block(block);
        for var in block.sizes.iter().chain(&block.params) {
            self.know(var.id, &var.ty);
            self.name_size(var.id);
        }
        let mut bindings = Vec::with_capacity(block.bindings.len());
        for binding in std::mem::take(&mut block.bindings) {
            self.binding(binding, &mut bindings);
        }
        block.bindings = bindings;
        let values = |id| self.values.get(&id).copied().unwrap_or(Operand::Value(id));
        for result in &mut block.results {
            if let Operand::Value(id) = values(*result) {
                *result = id;
            }
        }
        self.scopes.pop();
    }

    fn know(&mut self, id: ArrayId, ty: &Type) {
        self.elements.insert(id, ty.element);
        self.types.insert(id, ty.clone());
    }

    /// The first name of a size stands for it.
    fn name_size(&mut self, id: ArrayId) {
        if let (Some(size), Some(scope)) = (self.sizes.value(id), self.scopes.last_mut()) {
            scope.sizes.entry(size).or_insert(id);
        }
    }

    fn binding(&mut self, mut binding: Binding, out: &mut Vec<Binding>) {
        if let ArrayOp::Stencil { taps, boundaries, .. } = &mut binding.op {
            self.keep_apart(taps, boundaries, out);
        }
        binding.substitute(&mut |id| self.values.get(&id).copied().unwrap_or(Operand::Value(id)));
        self.read_first(&mut binding.op);
        let is_cluster = matches!(binding.op, ArrayOp::Cluster { .. });
        let before = reads_sources(&binding.op).then(|| binding.op.clone());
        for part in binding.op.parts_mut() {
            match part {
                PartMut::Function(f) => *f = simplified(std::mem::take(f), &self.elements, self.config),
                PartMut::Body(body) if is_cluster => self.cluster(body),
                PartMut::Body(body) => self.block(body),
                PartMut::Array(_) | PartMut::Value(_) | PartMut::Argument(_) | PartMut::Inner(_) => {}
            }
        }
        if let Some(before) = before
            && checks::is_lost(&before, &binding, &self.types, &self.sizes)
        {
            binding.op = before;
        }
        self.sizes.add_binding(&binding);
        for var in &binding.results {
            self.know(var.id, &var.ty);
        }
        if let ArrayOp::Cond { condition: Operand::Constant(condition), then, otherwise } = &mut binding.op {
            let branch = std::mem::take(if condition.bits() != 0 { then } else { otherwise });
            for inner in branch.bindings {
                self.binding(inner, out);
            }
            for (var, &result) in binding.results.iter().zip(&branch.results) {
                // What stands for the result now; a constant cannot where a block gives it, and its binding is there.
                let value = self.values.get(&result).copied().filter(|value| matches!(value, Operand::Value(_)));
                self.values.insert(var.id, value.unwrap_or(Operand::Value(result)));
            }
            return;
        }
        for (at, var) in binding.results.iter().enumerate() {
            if let Some(value) = self.handed_on(&binding, at).or_else(|| self.size(var.id)) {
                self.values.insert(var.id, value);
            }
        }
        if self.config.share && self.again(&binding) {
            return;
        }
        for var in &binding.results {
            if !self.values.contains_key(&var.id) {
                self.name_size(var.id);
            }
        }
        out.push(binding);
    }

    /// Two tapped arrays that are found to be one have a boundary each: the second becomes a copy.
    fn keep_apart(&mut self, taps: &mut [Tap], boundaries: &mut [TapBoundary], out: &mut Vec<Binding>) {
        let mut seen = HashSet::new();
        for boundary in boundaries {
            let Some(Operand::Value(value)) =
                self.values.get(&boundary.array).copied().or(Some(Operand::Value(boundary.array)))
            else {
                continue;
            };
            if seen.insert(value) {
                continue;
            }
            let Some(ty) = self.types.get(&value).cloned() else { continue };
            let copy = ArrayId(self.next);
            self.next += 1;
            self.know(copy, &ty);
            for tap in taps.iter_mut().filter(|tap| tap.array == boundary.array) {
                tap.array = copy;
            }
            boundary.array = copy;
            let results = vec![Var { id: copy, ty, name: Name::default() }];
            out.push(Binding { results, op: ArrayOp::Compute { sources: vec![value] }, place: Place::default() });
        }
    }

    /// What was clustered stays as it was clustered, with its marks: only functions are simplified.
    fn cluster(&mut self, block: &mut Block) {
        for binding in &mut block.bindings {
            let before = reads_sources(&binding.op).then(|| binding.op.clone());
            for part in binding.op.parts_mut() {
                if let PartMut::Function(f) = part {
                    let simplified = simplified(f.clone(), &self.elements, self.config);
                    // What is bound in a cluster is used in it, or a result: a read must not go.
                    if outer(&simplified) == outer(f) {
                        *f = simplified;
                    }
                }
            }
            if let Some(before) = before
                && checks::is_lost(&before, binding, &self.types, &self.sizes)
            {
                binding.op = before;
            }
            self.sizes.add_binding(binding);
            for var in &binding.results {
                self.know(var.id, &var.ty);
            }
        }
    }

    /// An earlier name of the same size, or its number.
    fn size(&self, id: ArrayId) -> Option<Operand> {
        let size = self.sizes.value(id)?;
        if let Some(number) = size.as_constant() {
            return Some(Operand::Constant(number.into()));
        }
        self.scopes.iter().rev().find_map(|scope| scope.sizes.get(&size)).map(|&id| Operand::Value(id))
    }

    fn same_extents(&self, a: &Type, b: ArrayId) -> bool {
        let Some(b) = self.types.get(&b) else { return false };
        let equal = |(a, b): (&Extent, &Extent)| self.sizes.equal(*a, *b) == Answer::Proved;
        a.rank() == b.rank() && a.inner.is_empty() && b.inner.is_empty() && a.extents.iter().zip(&b.extents).all(equal)
    }

    /// What a result merely hands on, if it does.
    fn handed_on(&self, binding: &Binding, at: usize) -> Option<Operand> {
        let ty = &binding.results[at].ty;
        let whole = |id: ArrayId| (self.same_extents(ty, id)).then_some(Operand::Value(id));
        match &binding.op {
            ArrayOp::Unit { f } => match f.results[at] {
                ScalarOperand::Constant(constant) => Some(Operand::Constant(constant)),
                ScalarOperand::Outer(id) => Some(Operand::Value(id)),
                ScalarOperand::Local(_) => None,
            },
            ArrayOp::Map { f, sources } => whole(sources[param(f, f.results[at])?]),
            ArrayOp::Backpermute { f, sources, .. } if is_identity(f) => whole(sources[at]),
            ArrayOp::Transform { index, f, sources, .. } if is_identity(index) => {
                whole(sources[param(f, f.results[at])?])
            }
            ArrayOp::Reshape { sources, .. } => whole(sources[at]),
            ArrayOp::Stencil { f, taps, .. } => {
                let tap = &taps[param(f, f.results[at])?];
                if tap.offsets.iter().all(|&offset| offset == 0) { whole(tap.array) } else { None }
            }
            ArrayOp::Replicate { dims, sources } | ArrayOp::Slice { dims, sources }
                if dims.iter().all(Option::is_none) =>
            {
                whole(sources[at])
            }
            ArrayOp::Generate { f, .. } => {
                match f.instructions.iter().find(|i| i.results.iter().any(|local| f.results[at] == local.id.into())) {
                    Some(read) => match &read.op {
                        ScalarOp::Read { array, index } => {
                            let own = f.params.iter().map(|param| ScalarOperand::Local(param.id));
                            if own.eq(index.iter().copied()) { whole(*array) } else { None }
                        }
                        _ => None,
                    },
                    None => None,
                }
            }
            _ => None,
        }
    }
}

/// Whether functions of an operation have elements of its sources as parameters.
fn reads_sources(op: &ArrayOp) -> bool {
    matches!(
        op,
        ArrayOp::Map { .. }
            | ArrayOp::Transform { .. }
            | ArrayOp::Fold { .. }
            | ArrayOp::Scan { .. }
            | ArrayOp::Permute { .. }
            | ArrayOp::Expand { .. }
            | ArrayOp::PermutedExpand { .. }
            | ArrayOp::Filter { .. }
    )
}

/// Values from outside that a function uses.
fn outer(f: &Lambda) -> HashSet<ArrayId> {
    let mut uses = HashSet::new();
    f.outer_uses(&mut |id| {
        uses.insert(id);
    });
    uses
}

fn param(f: &Lambda, result: ScalarOperand) -> Option<usize> {
    f.params.iter().position(|param| result == param.id.into())
}

fn is_identity(f: &Lambda) -> bool {
    f.params.len() == f.results.len()
        && f.params.iter().zip(&f.results).all(|(param, &result)| result == param.id.into())
}

/// Removes bindings, results and sources that nothing uses, from the last to the first.
fn remove_dead(body: &mut Block) {
    let mut used = HashSet::new();
    remove_dead_in(body, &mut used);
}

fn remove_dead_in(block: &mut Block, used: &mut HashSet<ArrayId>) {
    used.extend(block.results.iter().copied());
    for binding in block.bindings.iter_mut().rev() {
        let mut wanted: Vec<bool> = binding.results.iter().map(|var| used.contains(&var.id)).collect();
        // Sizes of results are results: what is kept keeps them.
        for at in (0..wanted.len()).filter(|&at| wanted[at]).collect::<Vec<_>>() {
            binding.results[at].ty.for_each_use(&mut |id| {
                if let Some(size) = binding.results.iter().position(|var| var.id == id) {
                    wanted[size] = true;
                }
            });
        }
        if !wanted.contains(&true) {
            binding.results.clear();
            continue;
        }
        drop_results(binding, &wanted);
        for var in &binding.results {
            var.ty.for_each_use(&mut |id| {
                used.insert(id);
            });
        }
        let is_cluster = matches!(binding.op, ArrayOp::Cluster { .. });
        for part in binding.op.parts_mut() {
            if let PartMut::Body(body) = part
                && !is_cluster
            {
                remove_dead_in(body, used);
            }
        }
        binding.op.for_each_use(&mut |id| {
            used.insert(id);
        });
    }
    block.bindings.retain(|binding| !binding.results.is_empty());
    for var in block.sizes.iter().chain(&block.params) {
        var.ty.for_each_use(&mut |id| {
            used.insert(id);
        });
    }
}

/// Drops results that are not wanted and can be made apart, and what no result then needs. What an operation checks of extents is for
/// the results that it has.
fn drop_results(binding: &mut Binding, wanted: &[bool]) {
    if let ArrayOp::Cond { then, otherwise, .. } = &mut binding.op {
        retain(&mut then.results, |at| wanted[at]);
        retain(&mut otherwise.results, |at| wanted[at]);
        retain(&mut binding.results, |at| wanted[at]);
        return;
    }
    if binding.op.parts().iter().any(|part| matches!(part, Part::Body(_))) {
        return;
    }
    let mut made = closure(binding, wanted);
    // An expand makes some elements, be they such as may fail.
    if matches!(binding.op, ArrayOp::Expand { .. }) && !made[1..].contains(&true) {
        made[1] = true;
    }
    let Cow::Owned(mut needed) = restrict(binding, &made) else { return };
    for part in needed.op.parts_mut() {
        if let PartMut::Function(f) = part {
            *f = without_dead(std::mem::take(f));
        }
    }
    *binding = needed;
}

/// The function without what its results do not need, in its bodies too.
fn without_dead(mut f: Lambda) -> Lambda {
    let results = f.results.clone();
    edits::remove_dead(&mut f, &results);
    f.renumbered()
}
