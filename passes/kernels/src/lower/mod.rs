#![doc = include_str!("README.md")]

mod arrays;
mod block;
mod checks;
mod cluster;
mod concat;
mod control;
mod elementwise;
mod expand;
mod fold;
mod fuse;
mod reads;
mod scan;
mod scatter;
mod segments;
mod stencil;
mod unit;

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    Access, ArrayId, ArrayOp, Binding, Block, Constant, ElementType, Extent, Kernel, Operand, Output, Part, Place,
    Plan, PlanExtent, PlanOperand, PlanType, Program, Step, Type, ValueId, Var,
    analysis::{Sizes, demand::by_need, scalar_blocks::scalars_as_code},
    bug,
};

use crate::{
    bounds::linear::{Atom, Linear},
    bounds::values::Values,
    error::Error,
    nest::{KernelBuilder, ProgramPoint, Scope},
    unneeded,
};

/// Loops of scalars, and branches of them inside of loops, as scalar code: one kernel without levels runs all turns. As steps of a plan each turn of
/// such a loop is two launches. What they use from outside is computed before them, as the program is strict.
fn scalars_in_loops(program: &Program) -> Program {
    scalars_as_code(program, |op| matches!(op, ArrayOp::While { .. }))
}

/// Where a value of the program is.
#[derive(Clone, Copy, Debug)]
enum Bound {
    Plan(PlanOperand),
    /// A constant that is also read as an array of rank 0, which this value of the plan is.
    Constant(Constant, ValueId),
    /// A number of elements that is known only at the end of a nest, and not stored. As an extent it is equal to itself alone: it has an id that no
    /// value has.
    Counted(ValueId),
}

/// Values of the program that are in scope.
#[derive(Debug)]
struct Bindings<'p> {
    /// Shown with bugs.
    program: &'p Program,
    bound: HashMap<ArrayId, Bound>,
    log: Vec<(ArrayId, Option<Bound>)>,
    /// The first name of each value of the plan.
    names: HashMap<ValueId, ArrayId>,
}

impl Scope for Bindings<'_> {
    fn find(&self, id: ArrayId) -> PlanOperand {
        match self.bound.get(&id) {
            Some(Bound::Plan(operand)) => *operand,
            Some(Bound::Constant(constant, _)) => Operand::Constant(*constant),
            Some(Bound::Counted(_)) => bug!(self.program, "{id} is known only after its nest"),
            None => bug!(self.program, "{id} is used before it is made"),
        }
    }

    fn array(&self, id: ArrayId) -> Option<ValueId> {
        match self.bound.get(&id)? {
            Bound::Plan(Operand::Value(value)) | Bound::Constant(_, value) => Some(*value),
            Bound::Plan(Operand::Constant(_)) | Bound::Counted(_) => None,
        }
    }

    fn name(&self, value: ValueId) -> Option<ArrayId> {
        self.names.get(&value).copied()
    }
}

impl Bindings<'_> {
    /// Whether the plan has a value.
    fn has(&self, id: ArrayId) -> bool {
        matches!(self.bound.get(&id), Some(Bound::Plan(_) | Bound::Constant(..)))
    }

    fn bind(&mut self, id: ArrayId, to: Bound) {
        if let Bound::Plan(Operand::Value(value)) = to {
            self.names.entry(value).or_insert(id);
        }
        let before = self.bound.insert(id, to);
        self.log.push((id, before));
    }

    fn undo(&mut self, mark: usize) {
        for (id, before) in self.log.drain(mark..).rev() {
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
    values: Values<'p>,
    kernels: Vec<Kernel>,
    bindings: Bindings<'p>,
    /// What operations and functions use as an array, rank 0 included.
    as_arrays: HashSet<ArrayId>,
    /// What is known of the program's sizes.
    sizes: Sizes,
    /// The program's values.
    vars: HashMap<ArrayId, &'p Var>,
}

/// Lowers a flat program that is strict.
pub(crate) fn lower(program: &Program) -> Result<Plan, Error> {
    if let Some(found) = by_need(program).first() {
        let result = found.binding.results.first().map(name).unwrap_or_default();
        return Err(Error::ByNeed { result, why: found.why, place: found.binding.place.clone() });
    }
    let mut bindings = program.body.blocks().flat_map(|block| &block.bindings);
    let apart = bindings.find_map(|binding| Some((binding, binding.declared_apart_from_count().next()?)));
    if let Some((binding, var)) = apart {
        let count = binding.results.first().map(name).unwrap_or_default();
        return Err(Error::Counted { result: name(var), count, place: binding.place.clone() });
    }
    let program = &scalars_in_loops(program);
    let mut lower = Lower {
        values: Values::new(program),
        kernels: Vec::new(),
        bindings: Bindings { program, bound: HashMap::new(), log: Vec::new(), names: HashMap::new() },
        as_arrays: used_as_arrays(&program.body),
        sizes: Sizes::of_program(program),
        vars: HashMap::new(),
    };
    vars_in(&program.body, &mut lower.vars);
    let body = &program.body;
    let input = |lower: &mut Lower<'_>, var: &Var| -> Result<ValueId, Error> {
        let ty = lower.plan_type(var)?;
        lower.values.made(&ty);
        let id = lower.values.add(name(var), ty);
        lower.bindings.bind(var.id, Bound::Plan(id.into()));
        Ok(id)
    };
    let sizes = body.sizes.iter().map(|var| input(&mut lower, var)).collect::<Result<Vec<_>, _>>()?;
    let inputs = body.params.iter().map(|var| input(&mut lower, var)).collect::<Result<Vec<_>, _>>()?;
    let mut steps = Vec::new();
    lower.block(&body.bindings, &body.results, &mut steps)?;
    let mut results = Vec::new();
    let mut outputs = Vec::new();
    for (&id, output) in body.results.iter().zip(&program.outputs) {
        let declared = Output { name: output.name.clone(), ty: lower.declared(&output.ty) };
        let value = lower.materialised(lower.find(id), &output.name, &mut steps);
        lower.check_output(&format!("program `{}`", program.name), value, &declared, &mut steps);
        results.push(value);
        outputs.push(declared);
    }
    let Lower { values, mut kernels, .. } = lower;
    let (values, mut counts) = values.into_parts();
    counts.extend(&sizes);
    let given = inputs.iter().copied().collect();
    unneeded::drop(program, (&mut steps, &mut kernels), &values, (&counts, given), &results);
    crate::memory::free::insert(&mut steps, &results, &values);
    let mut plan = Plan { name: program.name.clone(), values, sizes, inputs, kernels, steps, results, outputs };
    crate::memory::reuse::insert(&mut plan);
    Ok(plan)
}

/// What operations take as an array or a function reads.
fn used_as_arrays(body: &Block) -> HashSet<ArrayId> {
    let mut used = HashSet::new();
    let bindings = body.blocks().flat_map(|block| &block.bindings);
    for part in bindings.flat_map(|binding| binding.op.parts()) {
        match part {
            Part::Array(id) => {
                used.insert(*id);
            }
            Part::Function(f) => used.extend(f.arrays_read()),
            Part::Body(_) | Part::Value(_) | Part::Argument(_) | Part::Inner(_) => {}
        }
    }
    used
}

/// All values, of nested blocks too.
fn vars_in<'p>(body: &'p Block, vars: &mut HashMap<ArrayId, &'p Var>) {
    for block in body.blocks() {
        let results = block.bindings.iter().flat_map(|binding| &binding.results);
        vars.extend(block.sizes.iter().chain(&block.params).chain(results).map(|var| (var.id, var)));
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
    /// What is lowered: shown with bugs.
    fn program(&self) -> &'p Program {
        self.bindings.program
    }

    /// What a value of the program is in the plan.
    fn find(&self, id: ArrayId) -> PlanOperand {
        self.bindings.find(id)
    }

    /// The array of the plan that a value of the program is.
    fn array(&self, id: ArrayId) -> ValueId {
        self.bindings.array(id).unwrap_or_else(|| bug!(self.program(), "{id} is no array here"))
    }

    /// Binds a value of the program to an operand of the plan; a constant becomes an array too where the program uses it as one.
    fn bind_operand(&mut self, var: &Var, to: PlanOperand, steps: &mut Vec<Step>) {
        let bound = match to {
            Operand::Constant(constant) if self.as_arrays.contains(&var.id) => {
                Bound::Constant(constant, self.materialised(to, &name(var), steps))
            }
            _ => Bound::Plan(to),
        };
        self.bindings.bind(var.id, bound);
    }

    fn operand(&self, operand: Operand) -> PlanOperand {
        match operand {
            Operand::Value(id) => self.find(id),
            Operand::Constant(constant) => constant.into(),
        }
    }

    fn extent(&self, of: Extent) -> PlanExtent {
        match of {
            Extent::Value(id) => match self.bindings.bound.get(&id) {
                Some(&Bound::Counted(own)) => Extent::Value(own),
                _ => self.values.operand_as_extent(self.find(id)),
            },
            Extent::Constant(number) => Extent::Constant(number),
            Extent::Unknown => Extent::Unknown,
        }
    }

    /// The extent that a scalar of the program is.
    fn extent_of(&self, operand: Operand) -> PlanExtent {
        match operand {
            Operand::Value(id) => self.extent(Extent::Value(id)),
            Operand::Constant(constant) => self.values.operand_as_extent(constant.into()),
        }
    }

    fn declared(&self, ty: &Type) -> PlanType {
        ty.with_extents(&mut |extent| self.extent(extent))
    }

    /// The type of a value in the plan.
    fn plan_type(&self, var: &Var) -> Result<PlanType, Error> {
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

    /// Allocates a value.
    fn allocate(&mut self, name: String, ty: PlanType, origin: &Origin, steps: &mut Vec<Step>) -> ValueId {
        self.values.made(&ty);
        let value = self.values.add(name, ty);
        let (operation, place) = (origin.operation.clone(), origin.place.clone());
        steps.push(Step::Allocate { value, in_place_of: None, operation, place });
        value
    }

    /// Allocates the results of a binding.
    fn results(&mut self, results: &[Var], origin: &Origin, steps: &mut Vec<Step>) -> Result<Vec<ValueId>, Error> {
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
    fn nest(&self, origin: &Origin) -> KernelBuilder<'_> {
        KernelBuilder::new(&self.values, &self.bindings, &self.sizes, origin.operation.clone())
    }

    /// Adds a finished nest to the plan.
    fn launch(&mut self, launch: crate::nest::Launch, steps: &mut Vec<Step>) {
        let kernel = self.kernels.len();
        self.kernels.push(launch.kernel);
        steps.push(Step::Launch { kernel, sizes: launch.sizes, arrays: launch.arrays });
    }

    /// A value of rank 0 or an array, in the plan: constants become values.
    fn materialised(&mut self, operand: PlanOperand, name: &str, steps: &mut Vec<Step>) -> ValueId {
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
    fn linear_extent(&mut self, form: &Linear, name: &str, origin: &Origin, steps: &mut Vec<Step>) -> PlanExtent {
        if let Some(constant) = form.as_constant() {
            return Extent::Constant(constant);
        }
        if let Some(&Atom::Value(id)) = form.as_term() {
            return Extent::Value(id);
        }
        let value = self.allocate(name.to_owned(), Type::scalar(ElementType::I64), origin, steps);
        let mut nest = self.nest(origin);
        let at = ProgramPoint::before(0);
        let sum = nest.linear(form, at);
        nest.store(value, Access::Write, &[], sum, at, None);
        let launch = nest.finish();
        self.launch(launch, steps);
        self.values.define(value, form.clone());
        Extent::Value(value)
    }

    /// Computes an operation that neither makes elements nor holds blocks.
    fn emit_operation(&mut self, binding: &Binding, steps: &mut Vec<Step>) -> Result<(), Error> {
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
            op => unreachable!("{} is lowered where its block is", op.name()),
        }
    }
}
