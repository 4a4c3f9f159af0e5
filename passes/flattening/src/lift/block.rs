//! The bindings of a block: which of them are lifted where they stand, and which only when something needs them.
//!
//! A program means evaluation by need, in each lane; a flat operation is of all lanes. So what may fail, and not every lane needs, waits: scalar
//! code until a function uses it, an operation until a lifted one reads it, in the lanes that do.

use std::collections::HashSet;

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block, Extent, Lambda, LocalId, Operand, Part, ScalarOp, ScalarOperand,
    ScalarPart, analysis::effects::binding_can_fail,
};

use super::{
    Bound, Lifter, Value,
    context::{ContextId, ROOT},
    stack::deeper,
};
use crate::Error;

impl<'p> Lifter<'p> {
    /// Lifts the bindings of a block that its results need.
    pub fn bindings(&mut self, block: &'p Block) -> Result<(), Error> {
        deeper(|| self.bindings_here(block))
    }

    fn bindings_here(&mut self, block: &'p Block) -> Result<(), Error> {
        let (live, certain) = needed(block);
        for (position, binding) in block.bindings.iter().enumerate() {
            if !live[position] {
                continue;
            }
            // What depends on no lane is evaluated by need when it is flat, too.
            let (home, waits) = self.reached_by(binding);
            if !certain[position] && home != ROOT && (waits || self.can_fail(binding)) {
                for (at, var) in binding.results.iter().enumerate() {
                    match &binding.op {
                        ArrayOp::Unit { f } => _ = self.env.insert(var.id, Bound::Code(f, at)),
                        _ => {
                            self.env.remove(&var.id);
                            self.pending.insert(var.id, binding);
                        }
                    }
                }
                continue;
            }
            self.prepare(binding)?;
            self.binding(binding)?;
        }
        for &id in &block.results {
            self.force(id)?;
        }
        Ok(())
    }

    pub fn can_fail(&self, binding: &Binding) -> bool {
        binding_can_fail(binding, &self.sizes, &|id| self.vars.get(&id).map(|var| &var.ty))
    }

    /// Lifts what waits and is needed to lift a binding; what only a branch or a loop uses goes on waiting.
    fn prepare(&mut self, binding: &'p Binding) -> Result<(), Error> {
        let mut uses = Vec::new();
        for part in binding.op.parts() {
            match part {
                Part::Array(id) | Part::Inner(id) => uses.push(*id),
                Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => uses.push(*id),
                Part::Value(Operand::Constant(_)) | Part::Argument(Operand::Constant(_)) => {}
                Part::Function(f) => f.outer_uses(&mut |id| uses.push(id)),
                Part::Body(_) => {}
            }
        }
        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| uses.push(id)));
        if matches!(binding.op, ArrayOp::Nest { .. } | ArrayOp::Foreign { .. } | ArrayOp::Cluster { .. }) {
            uses.extend(binding.op.uses());
        }
        let mut seen = HashSet::new();
        while let Some(id) = uses.pop() {
            if !seen.insert(id) {
                continue;
            }
            self.force(id)?;
            if let Bound::Code(f, _) = self.bound(id) {
                f.outer_uses(&mut |id| uses.push(id));
            }
        }
        Ok(())
    }

    /// Lifts an operation that waits, in the lanes of now.
    fn force(&mut self, id: ArrayId) -> Result<(), Error> {
        let Some(&binding) = self.pending.get(&id) else { return Ok(()) };
        deeper(|| {
            let place = self.flat.place.clone();
            for var in &binding.results {
                self.pending.remove(&var.id);
                self.forced.push((var.id, None, Some(binding)));
            }
            self.prepare(binding)?;
            self.binding(binding)?;
            self.flat.place = place;
            Ok(())
        })
    }

    /// Where the list of what was bound of what waited ends now.
    pub fn mark(&self) -> usize {
        self.forced.len()
    }

    /// Lets wait again what was bound since.
    pub fn undo(&mut self, mark: usize) {
        for (id, bound, binding) in self.forced.split_off(mark).into_iter().rev() {
            self.env.remove(&id);
            self.rows.remove(&id);
            if let Some(bound) = bound {
                self.env.insert(id, bound);
            }
            if let Some(binding) = binding {
                self.pending.insert(id, binding);
            }
        }
    }

    /// A scalar of the nested program as a flat array over its context.
    pub fn scalar_value(&mut self, id: ArrayId) -> Value {
        match self.bound(id) {
            Bound::Value(value) => value,
            Bound::Index(step) => self.index_value(step),
            Bound::Code(f, position) => {
                let home = self.home_of_code(f);
                let ty = self.source_type(id).element;
                let one = Lambda { results: vec![f.results[position]], ..f.clone() };
                let name = self.source_name(id).into();
                let array = self.scalar_code(home, &one, &[(name, ty)])[0];
                let value = Value { array, home, elements: home, ty };
                self.forced.push((id, Some(Bound::Code(f, position)), None));
                self.env.insert(id, Bound::Value(value.clone()));
                value
            }
            Bound::Missing => fusebox_ir::bug!(self.program, "{id} has no value"),
        }
    }

    fn home_of_code(&mut self, f: &Lambda) -> ContextId {
        let home = self.home_of_uses(|visit| f.outer_uses(visit));
        if home == ROOT { ROOT } else { self.here }
    }

    /// The deepest context that what is visited depends on.
    pub fn home_of_uses(&self, uses: impl FnOnce(&mut dyn FnMut(ArrayId))) -> ContextId {
        self.reached(uses).0
    }

    /// The deepest context that what is visited depends on, and whether something of it waits until a lane needs it.
    fn reached(&self, uses: impl FnOnce(&mut dyn FnMut(ArrayId))) -> (ContextId, bool) {
        let mut waiting = Vec::new();
        uses(&mut |id| waiting.push(id));
        let (mut home, mut waits, mut seen) = (ROOT, false, HashSet::new());
        while let Some(id) = waiting.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.bound(id) {
                Bound::Value(value) => home = self.deeper(home, value.home),
                Bound::Index(step) => home = self.deeper(home, step),
                Bound::Code(f, _) => {
                    waits = true;
                    f.outer_uses(&mut |id| waiting.push(id));
                }
                // Bound in a block inside, or waiting until that block needs it.
                Bound::Missing => {
                    if let Some(binding) = self.pending.get(&id) {
                        waits = true;
                        waiting.extend(binding.op.uses());
                        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| waiting.push(id)));
                    }
                }
            }
        }
        (home, waits)
    }

    /// The same of what a binding uses.
    fn reached_by(&self, binding: &Binding) -> (ContextId, bool) {
        self.reached(|visit| {
            binding.op.uses().into_iter().for_each(&mut *visit);
            binding.results.iter().for_each(|var| var.ty.for_each_use(visit));
        })
    }

    /// The lanes in which a binding is computed: the outermost that have all that it uses. What may fail, and what is made of something that waits as
    /// it may, is not computed for more lanes than need it; outside of lanes evaluation is by need again.
    pub fn home_of(&self, binding: &Binding) -> ContextId {
        let (home, waits) = self.reached_by(binding);
        if home == ROOT || !(waits || self.can_fail(binding)) { home } else { self.here }
    }
}

/// Of each binding of a block whether results need it, and whether they do for certain: in every lane, whatever scalar code and branches do.
fn needed(block: &Block) -> (Vec<bool>, Vec<bool>) {
    let mut live: HashSet<ArrayId> = block.results.iter().copied().collect();
    let mut sure = live.clone();
    let (mut is_live, mut is_certain) = (vec![false; block.bindings.len()], vec![false; block.bindings.len()]);
    for (position, binding) in block.bindings.iter().enumerate().rev() {
        let any = |set: &HashSet<ArrayId>| binding.results.iter().any(|var| set.contains(&var.id));
        (is_live[position], is_certain[position]) = (any(&live), any(&sure));
        if is_live[position] {
            binding.for_each_use(&mut |id| _ = live.insert(id));
        }
        if is_certain[position] {
            for var in &binding.results {
                for extent in var.ty.all_extents() {
                    if let Extent::Value(id) = extent {
                        sure.insert(*id);
                    }
                }
            }
            for part in binding.op.parts() {
                match part {
                    Part::Array(id) => _ = sure.insert(*id),
                    Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => _ = sure.insert(*id),
                    Part::Function(f) if matches!(binding.op, ArrayOp::Unit { .. }) => certain_uses(f, &mut sure),
                    _ => {}
                }
            }
        }
    }
    (is_live, is_certain)
}

/// What scalar code uses from outside whatever branches it takes.
fn certain_uses(f: &Lambda, sure: &mut HashSet<ArrayId>) {
    let mut waiting: Vec<ScalarOperand> = f.results.clone();
    let mut seen: HashSet<LocalId> = HashSet::new();
    while let Some(operand) = waiting.pop() {
        match operand {
            ScalarOperand::Constant(_) => {}
            ScalarOperand::Outer(id) => _ = sure.insert(id),
            ScalarOperand::Local(id) => {
                if !seen.insert(id) {
                    continue;
                }
                let made =
                    f.instructions.iter().find(|instruction| instruction.results.iter().any(|local| local.id == id));
                let Some(instruction) = made else { continue };
                match &instruction.op {
                    ScalarOp::Binary { function: Binary::LogicalAnd | Binary::LogicalOr, a, .. } => waiting.push(*a),
                    ScalarOp::If { condition, .. } => waiting.push(*condition),
                    ScalarOp::While { .. } => {}
                    op => {
                        for part in op.parts() {
                            match part {
                                ScalarPart::Operand(operand) => waiting.push(*operand),
                                ScalarPart::Array(id) => _ = sure.insert(*id),
                                ScalarPart::Body(_) => {}
                            }
                        }
                    }
                }
            }
        }
    }
}
