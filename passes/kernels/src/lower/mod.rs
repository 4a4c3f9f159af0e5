//! From a flat program to a plan: blocks to steps, each operation by itself to kernels.

mod checks;
mod cluster;
mod combine;
mod concat;
mod control;
mod elementwise;
mod expand;
mod fuse;
mod need;
mod scan;
mod scatter;
mod stencil;
mod unit;

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Access, ArrayId, ArrayOp, Binding, Block, Constant, ElementType, Extent, Kernel, Lambda, Operand, Output, Part,
    Place, Plan, Program, Step, Type, Var,
    analysis::{Sizes, makes_elements},
};

use self::need::{Item, Portion};
use crate::{
    error::Error,
    linear::{Atom, Linear},
    nest::{Nest, Scope, Source, Spot},
    restrict::{self, closure, restrict},
    values::{Values, extent},
};

/// Where a value of the program is.
#[derive(Clone, Copy, Debug)]
enum Bound<'p> {
    Plan(Operand),
    /// A constant that is also read as an array of rank 0, which this value of the plan is.
    Constant(Constant, ArrayId),
    Deferred(&'p Lambda, usize),
}

/// Values of the program that are in scope.
#[derive(Debug, Default)]
struct Bindings<'p> {
    bound: HashMap<ArrayId, Bound<'p>>,
    log: Vec<(ArrayId, Option<Bound<'p>>)>,
}

impl<'p> Scope<'p> for Bindings<'p> {
    fn find(&self, id: ArrayId) -> Source<'p> {
        match self.bound.get(&id) {
            Some(Bound::Plan(operand)) => Source::Plan(*operand),
            Some(Bound::Constant(constant, _)) => Source::Plan(Operand::Constant(*constant)),
            Some(Bound::Deferred(lambda, result)) => Source::Deferred(lambda, *result),
            None => Source::Plan(Operand::Constant(0i64.into())),
        }
    }

    fn array(&self, id: ArrayId) -> Option<ArrayId> {
        match self.bound.get(&id)? {
            Bound::Plan(Operand::Value(value)) | Bound::Constant(_, value) => Some(*value),
            Bound::Plan(Operand::Constant(_)) | Bound::Deferred(..) => None,
        }
    }
}

impl<'p> Bindings<'p> {
    fn bind(&mut self, id: ArrayId, to: Bound<'p>) {
        let before = self.bound.insert(id, to);
        self.log.push((id, before));
    }

    fn undo(&mut self, mark: usize) {
        while self.log.len() > mark {
            let Some((id, before)) = self.log.pop() else { break };
            match before {
                Some(bound) => self.bound.insert(id, bound),
                None => self.bound.remove(&id),
            };
        }
    }
}

/// The operation that is being lowered, for names and messages.
#[derive(Clone, Debug)]
struct Origin {
    /// Such as ``fold `s` ``.
    operation: String,
    place: Place,
}

/// A plan under construction.
pub(crate) struct Lower<'p> {
    values: Values,
    kernels: Vec<Kernel>,
    bindings: Bindings<'p>,
    /// Results of units that may fail: functions compute these where they need them.
    fallible: HashSet<ArrayId>,
    /// What operations and functions use as an array, rank 0 included.
    as_arrays: HashSet<ArrayId>,
    /// Whether sizes are only looked at: set where some would have to be checked.
    trial: Option<bool>,
    /// The cluster that a binding was in, by its first result.
    groups: HashMap<ArrayId, usize>,
    /// What is known of the program's sizes.
    sizes: Sizes,
    /// The program's values.
    vars: HashMap<ArrayId, &'p Var>,
}

/// Lowers a flat program.
pub(crate) fn lower(program: &Program) -> Result<Plan, Error> {
    let cluster::Dissolved { program, groups } = cluster::dissolved(program)?;
    let program = &*program;
    let mut lower = Lower {
        values: Values::default(),
        kernels: Vec::new(),
        bindings: Bindings::default(),
        fallible: need::fallible_units(&program.body),
        as_arrays: need::used_as_arrays(&program.body),
        trial: None,
        groups,
        sizes: Sizes::of_program(program),
        vars: HashMap::new(),
    };
    vars_in(&program.body, &mut lower.vars);
    let body = &program.body;
    let input = |lower: &mut Lower<'_>, var: &Var| -> Result<ArrayId, Error> {
        let ty = lower.plan_type(var)?;
        lower.values.made(&ty);
        let id = lower.values.add(name(var), ty);
        lower.bindings.bind(var.id, Bound::Plan(id.into()));
        Ok(id)
    };
    let sizes = body.sizes.iter().map(|var| input(&mut lower, var)).collect::<Result<Vec<_>, _>>()?;
    let inputs = body.params.iter().map(|var| input(&mut lower, var)).collect::<Result<Vec<_>, _>>()?;
    let mut steps = Vec::new();
    lower.block(&[], &body.bindings, &body.results, &mut steps)?;
    let mut results = Vec::new();
    let mut outputs = Vec::new();
    for (&id, output) in body.results.iter().zip(&program.outputs) {
        let declared = Output { name: output.name.clone(), ty: lower.declared(&output.ty) };
        let value = lower.materialised(lower.find(id), &output.name, &mut steps);
        lower.check_output(&format!("program `{}`", program.name), value, &declared, &mut steps);
        results.push(value);
        outputs.push(declared);
    }
    let Lower { values, kernels, .. } = lower;
    let values = values.into_list();
    crate::free::insert(&mut steps, &results, &values);
    let mut plan = Plan { name: program.name.clone(), values, sizes, inputs, kernels, steps, results, outputs };
    crate::reuse::insert(&mut plan);
    Ok(plan)
}

/// All values, of nested blocks too.
fn vars_in<'p>(body: &'p Block, vars: &mut HashMap<ArrayId, &'p Var>) {
    let mut blocks = vec![body];
    while let Some(block) = blocks.pop() {
        vars.extend(block.sizes.iter().chain(&block.params).map(|var| (var.id, var)));
        for binding in &block.bindings {
            vars.extend(binding.results.iter().map(|var| (var.id, var)));
            blocks.extend(
                binding
                    .op
                    .parts()
                    .into_iter()
                    .filter_map(|part| if let Part::Body(block) = part { Some(block) } else { None }),
            );
        }
    }
}

fn unsupported(binding: &Binding) -> Error {
    let result = binding.results.first().map(name).unwrap_or_default();
    Error::Unsupported { op: binding.op.name(), result, place: binding.place.clone() }
}

/// The name of a value in the source, or its id.
fn name(var: &Var) -> String {
    if var.name.is_empty() { var.id.to_string() } else { var.name.0.clone() }
}

impl<'p> Lower<'p> {
    /// What a value of the program is in the plan; not for those that were put off.
    fn find(&self, id: ArrayId) -> Operand {
        match self.bindings.find(id) {
            Source::Plan(operand) => operand,
            Source::Deferred(..) => Operand::Constant(0i64.into()),
        }
    }

    /// The array of the plan that a value of the program is.
    fn array(&self, id: ArrayId) -> ArrayId {
        self.bindings.array(id).unwrap_or(ArrayId(0))
    }

    /// Binds a value of the program to an operand of the plan; a constant becomes an array too where the program uses it as one.
    fn bind_operand(&mut self, var: &Var, to: Operand, steps: &mut Vec<Step>) {
        let bound = match to {
            Operand::Constant(constant) if self.as_arrays.contains(&var.id) => {
                Bound::Constant(constant, self.materialised(to, &name(var), steps))
            }
            _ => Bound::Plan(to),
        };
        self.bindings.bind(var.id, bound);
    }

    fn operand(&self, operand: Operand) -> Operand {
        match operand {
            Operand::Value(id) => self.find(id),
            Operand::Constant(_) => operand,
        }
    }

    fn extent(&self, of: Extent) -> Extent {
        match of {
            Extent::Value(id) => extent(self.find(id)),
            Extent::Constant(_) | Extent::Unknown => of,
        }
    }

    fn declared(&self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        for extent in ty.all_extents_mut() {
            *extent = self.extent(*extent);
        }
        ty
    }

    /// The type of a value in the plan.
    fn plan_type(&self, var: &Var) -> Result<Type, Error> {
        let kind = if var.ty.stream { "stream" } else { "array of arrays" };
        if var.ty.stream || !var.ty.inner.is_empty() {
            return Err(Error::UnsupportedType { name: name(var), kind });
        }
        Ok(self.declared(&var.ty))
    }

    fn origin(&self, binding: &Binding) -> Origin {
        let first = binding.results.first().map(name).unwrap_or_default();
        Origin { operation: format!("{} `{first}`", binding.op.name()), place: binding.place.clone() }
    }

    /// Makes room for a value.
    fn allocate(&mut self, name: String, ty: Type, origin: &Origin, steps: &mut Vec<Step>) -> ArrayId {
        self.values.made(&ty);
        let value = self.values.add(name, ty);
        let (operation, place) = (origin.operation.clone(), origin.place.clone());
        steps.push(Step::Allocate { value, over: None, operation, place });
        value
    }

    /// Makes room for the results of a binding.
    fn results(&mut self, results: &[Var], origin: &Origin, steps: &mut Vec<Step>) -> Result<Vec<ArrayId>, Error> {
        let mut made = Vec::new();
        for var in results {
            let ty = self.plan_type(var)?;
            let value = self.allocate(name(var), ty, origin, steps);
            self.bindings.bind(var.id, Bound::Plan(value.into()));
            made.push(value);
        }
        Ok(made)
    }

    /// A nest that is to become a kernel.
    fn nest(&self, origin: &Origin) -> Nest<'_, 'p> {
        Nest::new(&self.values, &self.bindings, origin.operation.clone())
    }

    /// Adds a finished nest to the plan.
    fn launch(&mut self, launch: crate::nest::Launch, steps: &mut Vec<Step>) {
        let kernel = self.kernels.len();
        self.kernels.push(launch.kernel);
        steps.push(Step::Launch { kernel, sizes: launch.sizes, arrays: launch.arrays });
    }

    /// A value of rank 0 or an array, in the plan: constants become values.
    fn materialised(&mut self, operand: Operand, name: &str, steps: &mut Vec<Step>) -> ArrayId {
        match operand {
            Operand::Value(id) => id,
            Operand::Constant(constant) => {
                let value = self.values.add(name.to_owned(), Type::scalar(constant.ty()));
                steps.push(Step::Constant { value, data: vec![constant] });
                value
            }
        }
    }

    /// A scalar that is linear in others, as an extent of the plan.
    fn linear_extent(&mut self, form: &Linear, name: &str, origin: &Origin, steps: &mut Vec<Step>) -> Extent {
        if let Some(constant) = form.as_constant() {
            return Extent::Constant(constant);
        }
        if let (0, 1, Some((&Atom::Value(id), 1))) = (form.constant, form.terms.len(), form.terms.first_key_value()) {
            return Extent::Value(id);
        }
        let value = self.allocate(name.to_owned(), Type::scalar(ElementType::I64), origin, steps);
        let mut nest = self.nest(origin);
        let at = Spot::before(0);
        let sum = nest.linear(form, at);
        nest.store(value, Access::Write, &[], sum, at, None);
        let launch = nest.finish();
        self.launch(launch, steps);
        self.values.define(value, form.clone());
        Extent::Value(value)
    }

    /// Computes some results of a binding; `waits` are bindings that were not computed, for its blocks.
    fn emit(&mut self, item: &Item<'p>, waits: &[Item<'p>], steps: &mut Vec<Step>) -> Result<(), Error> {
        let wanted = closure(item.binding, &item.wanted);
        match &item.binding.op {
            ArrayOp::Cond { .. } => return self.cond(item.binding, &wanted, waits, steps),
            ArrayOp::While { .. } => return self.while_loop(item.binding, waits, steps),
            ArrayOp::Foreign { .. } => return self.foreign(item.binding, &wanted, steps),
            _ => {}
        }
        let binding = restrict(item.binding, &wanted);
        for part in self.parts_apart(binding)? {
            self.emit_operation(&part, steps)?;
        }
        Ok(())
    }

    /// The results of an operation that do not depend on each other, apart if their sizes might disagree: sizes agree among what a
    /// result needs, and siblings are none of it.
    fn parts_apart(&mut self, binding: Binding) -> Result<Vec<Binding>, Error> {
        if binding.results.len() < 2 || self.sizes_are_proved(&binding)? {
            return Ok(vec![binding]);
        }
        Ok(restrict::independent(&binding))
    }

    /// Computes all results of an operation without blocks.
    fn emit_operation(&mut self, binding: &Binding, steps: &mut Vec<Step>) -> Result<(), Error> {
        if makes_elements(&binding.op) {
            return self.fuse(std::slice::from_ref(binding), &[], &|_| true, steps);
        }
        let origin = self.origin(binding);
        self.check_sizes(binding, &origin, steps)?;
        match &binding.op {
            ArrayOp::Constant { values, .. } => {
                let [var] = &binding.results[..] else { return Err(unsupported(binding)) };
                let ty = self.plan_type(var)?;
                self.values.made(&ty);
                let value = self.values.add(name(var), ty);
                self.bindings.bind(var.id, Bound::Plan(value.into()));
                steps.push(Step::Constant { value, data: values.clone() });
                Ok(())
            }
            ArrayOp::Unit { .. } => self.units(std::slice::from_ref(binding), &|_| true, steps),
            ArrayOp::Reshape { sources, .. } => {
                for (var, &source) in binding.results.iter().zip(sources) {
                    let ty = self.plan_type(var)?;
                    let value = self.values.add(name(var), ty.clone());
                    let source = Operand::Value(self.array(source));
                    let (operation, place) = (origin.operation.clone(), origin.place.clone());
                    steps.push(Step::Alias { value, source, operation, place });
                    self.values.made(&ty);
                    self.bindings.bind(var.id, Bound::Plan(value.into()));
                }
                Ok(())
            }
            ArrayOp::Concat { sources, dim } => self.concat(binding, sources, *dim, &origin, steps),
            ArrayOp::Sort { keys, carry } => {
                let results = self.results(&binding.results, &origin, steps)?;
                let arrays = |this: &Self, list: &[ArrayId]| list.iter().map(|&id| this.array(id)).collect();
                steps.push(Step::Sort { keys: arrays(self, keys), carry: arrays(self, carry), results });
                Ok(())
            }
            ArrayOp::Nest { .. }
            | ArrayOp::Element { .. }
            | ArrayOp::Consume { .. }
            | ArrayOp::Cond { .. }
            | ArrayOp::While { .. }
            | ArrayOp::Foreign { .. }
            | ArrayOp::Cluster { .. } => Err(unsupported(binding)),
            // Lowered with what shares their nest.
            _ => Ok(()),
        }
    }
}

/// The results of a block, with what its operations need computed where it is needed.
impl<'p> Lower<'p> {
    fn block(
        &mut self,
        pending: &[Item<'p>],
        own: &'p [Binding],
        results: &[ArrayId],
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let parts = need::parts(pending, own, results, &self.fallible);
        let users = Users::of(&parts, results);
        let mut waits: Vec<Item<'p>> = Vec::new();
        let mut parts: Vec<Option<Portion<'p>>> = parts.into_iter().map(Some).collect();
        for first in 0..parts.len() {
            let Some(part) = parts[first].take() else { continue };
            let group = self.group(&part);
            let mut now = self.put_off(part, &mut waits);
            let mut taken = HashSet::from([first]);
            let mut end = first + 1;
            while group.is_some() && parts.get(end).and_then(|part| self.group(part.as_ref()?)) == group {
                if let Some(next) = parts[end].take() {
                    now.extend(self.put_off(next, &mut waits));
                }
                taken.insert(end);
                end += 1;
            }
            let operations = now
                .iter()
                .all(|item| makes_elements(&item.binding.op) || matches!(item.binding.op, ArrayOp::Unit { .. }));
            match &now[..] {
                [] => continue,
                [item] if !operations => {
                    self.emit(item, &waits, steps)?;
                    continue;
                }
                _ => {}
            }
            let mut list = Vec::new();
            for item in &now {
                let wanted = closure(item.binding, &item.wanted);
                list.extend(self.parts_apart(restrict(item.binding, &wanted))?);
            }
            if group.is_none() && list.len() > 1 {
                // Parts of one operation whose sizes may disagree.
                list.iter().try_for_each(|part| self.emit_operation(part, steps))?;
                continue;
            }
            let (positions, units) = self.units_after(&parts, end, &list);
            for &position in &positions {
                parts[position] = None;
                taken.insert(position);
            }
            let alone = list.len() == 1 && units.is_empty();
            let manifest = |id: ArrayId| alone || users.beyond(id, &taken);
            if let [unit @ Binding { op: ArrayOp::Unit { .. }, .. }] = &list[..] {
                let all: Vec<Binding> = std::iter::once(unit.clone()).chain(units).collect();
                self.units(&all, &manifest, steps)?;
            } else {
                self.fuse(&list, &units, &manifest, steps)?;
            }
        }
        Ok(())
    }

    /// The cluster that a part was in.
    fn group(&self, part: &Portion<'p>) -> Option<usize> {
        let item = part.now.as_ref().or(part.later.as_ref())?;
        self.groups.get(&item.binding.results.first()?.id).copied()
    }

    /// What of a part is computed now; the rest waits.
    fn put_off(&mut self, part: Portion<'p>, waits: &mut Vec<Item<'p>>) -> Vec<Item<'p>> {
        if let Some(later) = part.later {
            if let ArrayOp::Unit { f } = &later.binding.op {
                for (at, (var, &wanted)) in later.binding.results.iter().zip(&later.wanted).enumerate() {
                    if wanted {
                        self.bindings.bind(var.id, Bound::Deferred(f, at));
                    }
                }
            }
            waits.push(later);
        }
        part.now.into_iter().collect()
    }

    /// A block whose bindings are forgotten after it; `results` sees them.
    fn branch(
        &mut self,
        waits: &[Item<'p>],
        block: &'p Block,
        results: &[ArrayId],
        finish: &mut dyn FnMut(&mut Self, &mut Vec<Step>) -> Result<(), Error>,
    ) -> Result<Vec<Step>, Error> {
        let (mark, known) = (self.bindings.log.len(), self.values.known());
        let mut steps = Vec::new();
        self.block(waits, &block.bindings, results, &mut steps)?;
        finish(self, &mut steps)?;
        self.bindings.undo(mark);
        self.values.forget(known);
        Ok(steps)
    }
}

/// Which parts of a block use a value.
struct Users {
    /// Positions of parts; of those that wait beyond all.
    by: HashMap<ArrayId, Vec<usize>>,
}

impl Users {
    fn of(parts: &[Portion<'_>], results: &[ArrayId]) -> Self {
        let mut by: HashMap<ArrayId, Vec<usize>> = HashMap::new();
        results.iter().for_each(|&id| by.entry(id).or_default().push(usize::MAX));
        for (position, part) in parts.iter().enumerate() {
            for (item, position) in
                part.now.iter().map(|item| (item, position)).chain(part.later.iter().map(|item| (item, usize::MAX)))
            {
                need::each_use(item.binding, &mut |id| by.entry(id).or_default().push(position));
            }
        }
        Self { by }
    }

    /// Whether anything but these parts uses a value.
    fn beyond(&self, id: ArrayId, parts: &HashSet<usize>) -> bool {
        self.by.get(&id).is_some_and(|users| users.iter().any(|user| !parts.contains(user)))
    }
}
