//! What of a kernel nothing needs dropped, and the rest numbered.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Access, Action, Kernel, KernelArrayId, KernelExtent, Lambda, Level, Local, LocalId, Program, Statement, bug,
};

use super::{Launch, walk::Visit};
use crate::strict::{can_fail, lambda_can_fail};

/// The launch without statements whose results nothing uses, without levels in which nothing is done, and without arrays and sizes that are not
/// used then. Arrays that are written stay.
pub(crate) fn tidied(program: &Program, launch: Launch) -> Launch {
    let Launch { mut kernel, sizes, arrays } = launch;
    loop {
        kernel.statements = live(std::mem::take(&mut kernel.statements), &mut kernel.levels);
        let deepest = kernel.statements.iter().map(|statement| statement.depth as usize).max().unwrap_or(0);
        if deepest >= kernel.levels.len() {
            break;
        }
        // What their bounds were made of may be of no use now.
        kernel.levels.truncate(deepest);
    }
    let mut used = Used::default();
    kernel.statements.iter_mut().for_each(|statement| used.statement(statement));
    for level in &mut kernel.levels {
        used.operand(&mut level.from);
        used.operand(&mut level.to);
    }
    let mut position = HashMap::new();
    let mut given = Vec::new();
    for (old, (value, array)) in arrays.into_iter().zip(std::mem::take(&mut kernel.arrays)).enumerate() {
        if used.arrays.contains(&KernelArrayId::at(old)) || array.access != Access::Read {
            position.insert(KernelArrayId::at(old), KernelArrayId::at(given.len()));
            given.push(value);
            kernel.arrays.push(array);
        }
    }
    for extent in kernel.arrays.iter().flat_map(|array| &array.extents) {
        if let KernelExtent::Size(id) = extent {
            used.locals.insert(*id);
        }
    }
    let sizes = kernel.sizes.iter().zip(sizes).filter(|(local, _)| used.locals.contains(&local.id));
    let sizes = sizes.map(|(_, size)| size).collect();
    kernel.sizes.retain(|local| used.locals.contains(&local.id));
    number(program, &mut kernel, &position);
    Launch { kernel, sizes, arrays: given }
}

/// Whether a statement may fail, and says its operation then (checks say it anyway).
pub(crate) fn fails(action: &Action) -> bool {
    let function = |lambda: &Lambda| lambda_can_fail(lambda, &|_| false);
    match action {
        Action::Load { map, outside, .. } => map.checked || outside.as_ref().is_some_and(function),
        Action::Scalar(instruction) => can_fail(instruction, &|_| false),
        Action::Reduce { combine, .. } | Action::Scan { combine, .. } => function(combine),
        Action::Scatter { map, combine, .. } => map.checked || function(combine),
        Action::Check { .. } | Action::Store { .. } | Action::Append { .. } => false,
    }
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
            if let KernelExtent::Size(id) = extent {
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
