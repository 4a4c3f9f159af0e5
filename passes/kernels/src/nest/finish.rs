//! The end of a kernel's construction: statements in order, what nothing uses dropped, locals and arrays numbered.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Access, Action, ElementType, Extent, Kernel, KernelArray, KernelArrayId, Lambda, Level, Local, LocalId, Name,
    PlanExtent, Program, Statement, ValueId, bug,
};

use super::{KernelBuilder, walk::Visit};
use crate::{
    association,
    strict::{can_fail, lambda_can_fail},
};

/// A kernel, and what launches give it.
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) sizes: Vec<PlanExtent>,
    pub(crate) arrays: Vec<ValueId>,
}

impl KernelBuilder<'_> {
    /// The kernel made of what was put into the nest.
    pub(crate) fn finish(mut self) -> Launch {
        association::put(&mut self);
        let name = Name(std::mem::take(&mut self.name));
        let mut arrays: Vec<(ValueId, KernelArray)> =
            self.arrays.iter().map(|array| (array.value, self.kernel_array(array))).collect();
        let mut statements: Vec<Statement> = std::mem::take(&mut self.before).into_iter().flatten().collect();
        statements.extend(std::mem::take(&mut self.after).into_iter().rev().flatten());
        let mut same = Rename { locals: &self.same };
        statements.iter_mut().for_each(|statement| same.statement(statement));
        let mut levels = std::mem::take(&mut self.levels);
        for level in &mut levels {
            same.operand(&mut level.from);
            same.operand(&mut level.to);
        }
        let mut statements = live(statements, &mut levels);
        for statement in &mut statements {
            if !fails(&statement.action) || statement.operation.0 == name.0 {
                statement.operation = Name::default();
            }
        }
        let mut kernel = Kernel { name, sizes: Vec::new(), arrays: Vec::new(), levels, statements };

        let mut used = Used::default();
        kernel.statements.iter_mut().for_each(|statement| used.statement(statement));
        for level in &mut kernel.levels {
            used.operand(&mut level.from);
            used.operand(&mut level.to);
        }
        let mut position = HashMap::new();
        let mut values = Vec::new();
        for (old, (value, array)) in arrays.drain(..).enumerate() {
            if used.arrays.contains(&KernelArrayId::at(old)) || array.access != Access::Read {
                position.insert(KernelArrayId::at(old), KernelArrayId::at(values.len()));
                values.push(value);
                kernel.arrays.push(array);
            }
        }
        for array in &kernel.arrays {
            for extent in &array.extents {
                if let fusebox_ir::KernelExtent::Size(id) = extent {
                    used.locals.insert(*id);
                }
            }
        }
        let mut sizes = Vec::new();
        for (value, id) in &self.sizes {
            if used.locals.contains(id) {
                sizes.push(Extent::Value(*value));
                let hint = self.known.values.name(*value).into();
                kernel.sizes.push(Local { id: *id, ty: ElementType::I64, name: hint });
            }
        }
        number(self.program(), &mut kernel, &position);
        Launch { kernel, sizes, arrays: values }
    }
}

/// Whether a statement may fail, and says its operation then (checks say it anyway).
fn fails(action: &Action) -> bool {
    let function = |lambda: &Lambda| lambda_can_fail(lambda, &|_| false);
    match action {
        Action::Load { map, outside, .. } => map.checked || outside.as_ref().is_some_and(function),
        Action::Scalar(instruction) => can_fail(instruction, &|_| false),
        Action::Reduce { combine, .. } | Action::Scan { combine, .. } => function(combine),
        Action::Scatter { map, combine, .. } => map.checked || function(combine),
        Action::Check { .. } | Action::Store { .. } | Action::Append { .. } => false,
    }
}

struct Rename<'a> {
    locals: &'a HashMap<LocalId, LocalId>,
}

impl Visit for Rename<'_> {
    fn define(&mut self, _: &mut Local) {}

    fn local(&mut self, id: &mut LocalId) {
        while let Some(&other) = self.locals.get(id) {
            *id = other;
        }
    }

    fn array(&mut self, _: &mut KernelArrayId) {}
}

#[derive(Default)]
struct Used {
    locals: HashSet<LocalId>,
    arrays: HashSet<KernelArrayId>,
}

impl Visit for Used {
    fn define(&mut self, _: &mut Local) {}

    fn local(&mut self, id: &mut LocalId) {
        self.locals.insert(*id);
    }

    fn array(&mut self, id: &mut KernelArrayId) {
        self.arrays.insert(*id);
    }
}

/// Drops statements whose results nothing uses and that cannot fail: index arithmetic that went into maps, mostly.
fn live(mut statements: Vec<Statement>, levels: &mut [Level]) -> Vec<Statement> {
    let mut used = Used::default();
    for level in levels {
        used.operand(&mut level.from);
        used.operand(&mut level.to);
    }
    let mut kept = vec![false; statements.len()];
    for (kept, statement) in kept.iter_mut().zip(&mut statements).rev() {
        let results = statement.results();
        // What makes nothing is there for what it does.
        if !results.is_empty()
            && !fails(&statement.action)
            && !results.iter().any(|result| used.locals.contains(&result.id))
        {
            continue;
        }
        *kept = true;
        used.statement(statement);
    }
    statements.into_iter().zip(kept).filter_map(|(statement, kept)| kept.then_some(statement)).collect()
}

struct Number<'a> {
    /// Shown with bugs.
    program: &'a Program,
    locals: HashMap<LocalId, LocalId>,
    arrays: &'a HashMap<KernelArrayId, KernelArrayId>,
}

impl Visit for Number<'_> {
    fn define(&mut self, local: &mut Local) {
        let next = LocalId(self.locals.len() as u32);
        local.id = *self.locals.entry(local.id).or_insert(next);
    }

    fn local(&mut self, id: &mut LocalId) {
        match self.locals.get(id) {
            Some(&new) => *id = new,
            None => bug!(self.program, "{id} is used before it is defined in a kernel"),
        }
    }

    fn array(&mut self, id: &mut KernelArrayId) {
        match self.arrays.get(id) {
            Some(&new) => *id = new,
            None => bug!(self.program, "{id} is no array of its kernel"),
        }
    }
}

/// Numbers sizes, then indices, then the locals of statements in order.
fn number(program: &Program, kernel: &mut Kernel, arrays: &HashMap<KernelArrayId, KernelArrayId>) {
    let mut number = Number { program, locals: HashMap::new(), arrays };
    kernel.sizes.iter_mut().for_each(|size| number.define(size));
    kernel.levels.iter_mut().for_each(|level| number.define(&mut level.index));
    kernel.statements.iter_mut().for_each(|statement| number.statement(statement));
    for level in &mut kernel.levels {
        number.operand(&mut level.from);
        number.operand(&mut level.to);
    }
    for array in &mut kernel.arrays {
        for extent in &mut array.extents {
            if let fusebox_ir::KernelExtent::Size(id) = extent {
                number.local(id);
            }
        }
    }
    // Terms of maps are by id, which numbering may have changed.
    for statement in &mut kernel.statements {
        if let Some((_, map)) = statement.action.map_mut() {
            map.dims.iter_mut().for_each(|dim| dim.terms.sort_by_key(|&(_, id)| id));
        }
    }
}
