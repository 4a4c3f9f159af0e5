//! Uses, substitution and rewriting of programs: short loops over the traversal, so that passes need none of their own.

use std::collections::HashSet;

use crate::{ArrayId, ArrayOp, Binding, Block, Extent, Operand, Part, PartMut, Program, Type, Var};

impl ArrayOp {
    /// The blocks that the operation holds.
    pub fn bodies(&self) -> impl Iterator<Item = &Block> {
        self.parts().into_iter().filter_map(|part| if let Part::Body(body) = part { Some(body) } else { None })
    }

    /// Calls `visit` with every value that the operation uses, those used (and made) in its blocks too, as often as they occur.
    pub fn for_each_use(&self, visit: &mut dyn FnMut(ArrayId)) {
        let mut operations = vec![self];
        while let Some(op) = operations.pop() {
            for part in op.parts() {
                match part {
                    Part::Array(id) | Part::Inner(id) => visit(*id),
                    Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => visit(*id),
                    Part::Value(Operand::Constant(_)) | Part::Argument(Operand::Constant(_)) => {}
                    Part::Function(f) => f.outer_uses(visit),
                    Part::Body(body) => {
                        for var in body.sizes.iter().chain(&body.params) {
                            var.ty.for_each_use(visit);
                        }
                        for binding in &body.bindings {
                            binding.results.iter().for_each(|var| var.ty.for_each_use(visit));
                            operations.push(&binding.op);
                        }
                        body.results.iter().for_each(|id| visit(*id));
                    }
                }
            }
        }
    }

    /// Every value from outside that the operation uses, each once, in order of first use in printing order of the outermost level.
    pub fn uses(&self) -> Vec<ArrayId> {
        let mut inner = HashSet::new();
        for part in self.parts() {
            if let Part::Body(body) = part {
                body.for_each_definition(&mut |var| {
                    inner.insert(var.id);
                });
            }
        }
        let (mut seen, mut uses) = (HashSet::new(), Vec::new());
        self.for_each_use(&mut |id| {
            if !inner.contains(&id) && seen.insert(id) {
                uses.push(id);
            }
        });
        uses
    }

    /// Replaces every use of a value, in functions and blocks too. A constant cannot stand where an array is read or a block
    /// gives a result: there the old value stays.
    pub fn substitute(&mut self, map: &mut dyn FnMut(ArrayId) -> Operand) {
        let mut operations = vec![self];
        while let Some(op) = operations.pop() {
            for part in op.parts_mut() {
                match part {
                    PartMut::Array(id) | PartMut::Inner(id) => substitute_id(id, map),
                    PartMut::Value(operand) | PartMut::Argument(operand) => {
                        if let Operand::Value(id) = *operand {
                            *operand = map(id);
                        }
                    }
                    PartMut::Function(f) => f.map_outer(map),
                    PartMut::Body(body) => {
                        for var in body.sizes.iter_mut().chain(&mut body.params) {
                            var.ty.substitute(map);
                        }
                        for binding in &mut body.bindings {
                            binding.results.iter_mut().for_each(|var| var.ty.substitute(map));
                            operations.push(&mut binding.op);
                        }
                        body.results.iter_mut().for_each(|id| substitute_id(id, map));
                    }
                }
            }
        }
    }
}

fn substitute_id(id: &mut ArrayId, map: &mut dyn FnMut(ArrayId) -> Operand) {
    if let Operand::Value(new) = map(*id) {
        *id = new;
    }
}

impl Binding {
    /// Calls `visit` with every value that the binding uses: in the types of its results and in its operation.
    pub fn for_each_use(&self, visit: &mut dyn FnMut(ArrayId)) {
        self.results.iter().for_each(|var| var.ty.for_each_use(visit));
        self.op.for_each_use(visit);
    }
}

impl<V: Copy> Type<V> {
    /// Calls `visit` with every value that is an extent.
    pub fn for_each_use(&self, visit: &mut dyn FnMut(V)) {
        for extent in self.all_extents() {
            if let Extent::Value(id) = extent {
                visit(*id);
            }
        }
    }
}

impl Type {
    /// Replaces every value that is an extent; an `i64` constant becomes a constant extent.
    pub fn substitute(&mut self, map: &mut dyn FnMut(ArrayId) -> Operand) {
        for extent in self.all_extents_mut() {
            if let Extent::Value(id) = *extent {
                match map(id) {
                    Operand::Value(new) => *extent = Extent::Value(new),
                    Operand::Constant(constant) => {
                        if let Some(value) = constant.as_i64() {
                            *extent = Extent::Constant(value);
                        }
                    }
                }
            }
        }
    }
}

impl Binding {
    /// Replaces every use of a value: in the operation, and in the types of results.
    pub fn substitute(&mut self, map: &mut dyn FnMut(ArrayId) -> Operand) {
        self.results.iter_mut().for_each(|var| var.ty.substitute(map));
        self.op.substitute(map);
    }
}

impl Block {
    /// Replaces every use of a value: in types, bindings and results.
    pub fn substitute(&mut self, map: &mut dyn FnMut(ArrayId) -> Operand) {
        for var in self.sizes.iter_mut().chain(&mut self.params) {
            var.ty.substitute(map);
        }
        for binding in &mut self.bindings {
            binding.substitute(map);
        }
        self.results.iter_mut().for_each(|id| substitute_id(id, map));
    }

    /// The block and all blocks inside of it, each after the one that it is in.
    pub fn blocks(&self) -> impl Iterator<Item = &Self> {
        let mut waiting = vec![self];
        std::iter::from_fn(move || {
            let block = waiting.pop()?;
            waiting.extend(block.bindings.iter().flat_map(|binding| binding.op.bodies()));
            Some(block)
        })
    }

    /// Calls `visit` with every value defined in the block, in blocks inside too.
    pub fn for_each_definition(&self, visit: &mut dyn FnMut(&Var)) {
        for block in self.blocks() {
            block.sizes.iter().chain(&block.params).for_each(&mut *visit);
            block.bindings.iter().flat_map(|binding| &binding.results).for_each(&mut *visit);
        }
    }
}

/// New ids, for what a rewriting makes.
#[derive(Clone, Debug)]
pub struct Fresh(u32);

impl Fresh {
    /// Ids that no value of the program has.
    pub fn new(program: &Program) -> Self {
        Self(program.fresh().0)
    }

    /// The next one.
    ///
    /// # Panics
    /// After 2³² of them.
    pub fn id(&mut self) -> ArrayId {
        let id = ArrayId(self.0);
        self.0 = self.0.checked_add(1).expect("fewer than 2^32 values");
        id
    }
}

impl Program {
    /// Replaces each binding by what `rewrite` makes of it, bindings of inner blocks before those that hold them; then counts ids anew.
    ///
    /// The bindings that replace one must define its results, or have their uses substituted by the caller afterwards.
    pub fn rewrite(mut self, rewrite: &mut dyn FnMut(Binding, &mut Fresh) -> Vec<Binding>) -> Self {
        let mut fresh = Fresh::new(&self);
        rewrite_block(&mut self.body, &mut fresh, rewrite);
        self.renumbered()
    }
}

fn rewrite_block(block: &mut Block, fresh: &mut Fresh, rewrite: &mut dyn FnMut(Binding, &mut Fresh) -> Vec<Binding>) {
    for mut binding in std::mem::take(&mut block.bindings) {
        for part in binding.op.parts_mut() {
            if let PartMut::Body(body) = part {
                rewrite_block(body, fresh, rewrite);
            }
        }
        block.bindings.extend(rewrite(binding, fresh));
    }
}
