//! Lifting: the operations of lanes become operations of flat arrays, for all lanes at once.
//!
//! Source: Clifton-Everest, "Optimising purely functional GPU programs" (flattening that identifies regularity), with its rules repaired, and
//! Blelloch, "Vector models for data-parallel computing". Here a representation is no choice of its own: an array has a context (`context.rs`)
//! whose steps are uniform or ragged, and what does not depend on a lane has its home above it.

mod alive;
mod alone;
mod arrange;
mod block;
mod branches;
mod checks;
mod code;
mod concatenation;
mod context;
mod control;
mod coordinates;
mod counted;
mod demands;
mod elementwise;
mod flat;
mod functions;
mod guarded;
mod inner;
mod interface;
mod lane;
mod loops;
mod nested;
mod rows;
mod scattered;
mod segments;
mod sequence;
mod slots;
mod stack;
mod stencil;
mod value;

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Extent, Fresh, Lambda, Name, Operand, Program, Type, Var,
    analysis::{Answer, Size, Sizes, sizes::Term},
};

use self::{
    context::{Context, ContextId, LaneExtent, Made, ROOT},
    flat::Flat,
    guarded::Guard,
    nested::Row,
    value::Value,
};
use crate::{
    Config, Error, Flattening,
    analysis::{NestAlone, Regularity, regularity, shapes},
};

/// What stands for a value of the nested program.
#[derive(Clone, Debug)]
enum Bound<'p> {
    Value(Value),
    /// The index of a nest: along the dimension by which a context was made.
    Index(ContextId),
    /// Scalar code that may fail, for the functions that use it: result `1` of it.
    Code(&'p Lambda, usize),
    /// Nothing does, which a valid program does not bring about.
    Missing,
}

/// A program on its way.
struct Lifter<'p> {
    program: &'p Program,
    flat: Flat,
    contexts: Vec<Context>,
    env: HashMap<ArrayId, Bound<'p>>,
    /// Operations that may fail and that not every lane needs, until one that is lifted does.
    pending: HashMap<ArrayId, &'p Binding>,
    /// What was bound of them, so that it can be undone when the block in which it is known ends.
    forced: Vec<(ArrayId, Option<Bound<'p>>, Option<&'p Binding>)>,
    vars: HashMap<ArrayId, &'p Var>,
    /// What something uses.
    used: HashSet<ArrayId>,
    sizes: Sizes,
    regularity: Regularity,
    /// The lanes whose operations are lifted now.
    here: ContextId,
    /// The lanes that need what is lifted now; none outside of lanes.
    guard: Option<Guard>,
    /// For numbers outside of lanes what stands for them as extents in lanes, below a context each.
    guards: HashMap<ArrayId, Vec<(ContextId, ArrayId)>>,
    /// What numbers are where there is a lane, of those that are another where there is none.
    stand_for: HashMap<ArrayId, ArrayId>,
    /// Numbers that are 0 where no lane needs them.
    zeroed: HashSet<ArrayId>,
    /// Numbers that are extents of arrays outside of lanes, which fail where one is negative whether or not there are lanes.
    outside_extents: HashSet<ArrayId>,
    names: HashMap<ArrayId, String>,
    /// Flat sizes and inputs.
    inputs: HashSet<ArrayId>,
    /// Flat arrays without negative numbers.
    not_negative: HashSet<ArrayId>,
    /// Flat values outside of lanes that may fail to be computed.
    risky: HashSet<ArrayId>,
    uniforms: HashMap<(ContextId, Extent), ContextId>,
    raggeds: HashMap<(ContextId, ArrayId), ContextId>,
    products: HashMap<Vec<Extent>, Extent>,
    coordinates: HashMap<(Vec<Extent>, usize), ArrayId>,
    lifts: HashMap<(ArrayId, ContextId, ContextId), Value>,
    /// Values over contexts that have rows of other extents.
    conformed: HashMap<(ArrayId, ContextId), ArrayId>,
    /// What code reads where it lies.
    rows: HashMap<ArrayId, Row>,
    read_where_they_lie: HashSet<ArrayId>,
    /// Whether arrays in lanes are held as irregular ones, whatever is known of them.
    irregular: bool,
    ways: Flattening,
    /// Whether lanes of all outermost nests run one at a time, if they may.
    every_alone: bool,
    /// Where one lane of an outermost nest is lifted, which runs alone, its number and how many there are.
    in_one_lane: Option<(ArrayId, Extent)>,
    done: Done,
}

/// What was done so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    /// How many arrays of offsets were made.
    pub descriptors: usize,
    pub lifted: usize,
    /// How often a nest was made one whose lanes run one at a time.
    pub nests_alone: usize,
    /// The nests whose lanes run one at a time, each once.
    pub alone: Vec<NestAlone>,
}

/// The flat program, and what was done.
pub(crate) fn lift(program: &Program, config: &Config) -> Result<(Program, Done), Error> {
    let shapes = shapes(program);
    let regularity = regularity(program, &shapes);
    let mut vars = HashMap::new();
    collect(&program.body, &mut vars);
    let root = Context { parent: ROOT, made: Made::Root, dims: Vec::new(), depth: 0, level: 0 };
    let lifter = Lifter {
        program,
        flat: Flat::new(Fresh::new(program)),
        contexts: vec![root],
        env: HashMap::new(),
        pending: HashMap::new(),
        forced: Vec::new(),
        vars,
        used: used(program),
        sizes: Sizes::of_program(program),
        regularity,
        here: ROOT,
        guard: None,
        guards: HashMap::new(),
        stand_for: HashMap::new(),
        zeroed: HashSet::new(),
        outside_extents: HashSet::new(),
        names: HashMap::new(),
        inputs: HashSet::new(),
        not_negative: HashSet::new(),
        risky: HashSet::new(),
        uniforms: HashMap::new(),
        raggeds: HashMap::new(),
        products: HashMap::new(),
        coordinates: HashMap::new(),
        lifts: HashMap::new(),
        conformed: HashMap::new(),
        rows: HashMap::new(),
        read_where_they_lie: nested::read_where_they_lie(program),
        irregular: config.flattening == Flattening::Irregular,
        ways: config.flattening,
        every_alone: config.every_alone && config.flattening == Flattening::Alone,
        in_one_lane: None,
        done: Done::default(),
    };
    lifter.run()
}

/// All definitions, of inner blocks too.
fn collect<'p>(block: &'p fusebox_ir::Block, vars: &mut HashMap<ArrayId, &'p Var>) {
    for block in block.blocks() {
        let results = block.bindings.iter().flat_map(|binding| &binding.results);
        vars.extend(block.sizes.iter().chain(&block.params).chain(results).map(|var| (var.id, var)));
    }
}

/// What bindings and results use.
fn used(program: &Program) -> HashSet<ArrayId> {
    let mut used: HashSet<ArrayId> = program.body.results.iter().copied().collect();
    program.outputs.iter().for_each(|output| output.ty.for_each_use(&mut |id| _ = used.insert(id)));
    program.body.bindings.iter().for_each(|binding| binding.for_each_use(&mut |id| _ = used.insert(id)));
    used
}

/// A scalar operand in a lane.
enum LaneOperand {
    /// The same in all lanes: an operand of flat operations.
    Outside(Operand),
    Varying(Value),
    /// The index of a nest.
    Index(ContextId),
}

impl<'p> Lifter<'p> {
    fn bound(&self, id: ArrayId) -> Bound<'p> {
        self.env.get(&id).cloned().unwrap_or(Bound::Missing)
    }

    fn source_type(&self, id: ArrayId) -> &'p Type {
        match self.vars.get(&id) {
            Some(var) => &var.ty,
            None => fusebox_ir::bug!(self.program, "{id} is not defined"),
        }
    }

    fn is_scalar(&self, id: ArrayId) -> bool {
        self.source_type(id).is_scalar()
    }

    fn source_name(&self, id: ArrayId) -> String {
        match self.vars.get(&id) {
            Some(var) if !var.name.is_empty() => var.name.0.clone(),
            _ => id.to_string(),
        }
    }

    fn name_of(&self, flat: ArrayId) -> String {
        self.names.get(&flat).cloned().unwrap_or_default()
    }

    fn define(&mut self, var: &Var, value: Value) {
        if !var.name.is_empty() {
            self.names.insert(value.array, var.name.0.clone());
        }
        if self.sizes.not_negative(Extent::Value(var.id)) == Answer::Proved {
            self.not_negative.insert(value.array);
        }
        self.rows.remove(&var.id);
        self.env.insert(var.id, Bound::Value(value));
    }

    /// A value as an array (or scalar) over its context.
    fn array_value(&mut self, id: ArrayId) -> Value {
        match self.bound(id) {
            Bound::Value(value) => value,
            Bound::Index(step) => self.index_value(step),
            Bound::Code(..) => self.scalar_value(id),
            Bound::Missing => fusebox_ir::bug!(self.program, "{id} has no value"),
        }
    }

    fn lane_operand(&mut self, operand: Operand) -> LaneOperand {
        match operand {
            Operand::Constant(_) => LaneOperand::Outside(operand),
            Operand::Value(id) => {
                if let Bound::Index(step) = self.bound(id) {
                    return LaneOperand::Index(step);
                }
                let value = self.scalar_value(id);
                if value.home == ROOT { LaneOperand::Outside(value.array.into()) } else { LaneOperand::Varying(value) }
            }
        }
    }

    /// The extents that a type of the nested program says.
    fn lane_extents(&mut self, extents: &[Extent]) -> Vec<LaneExtent> {
        extents.iter().map(|&extent| self.lane_extent(extent)).collect()
    }

    fn lane_extent(&mut self, extent: Extent) -> LaneExtent {
        let Extent::Value(id) = extent else { return LaneExtent::Uniform(extent) };
        if let Some(size) = self.sizes.value(id) {
            if let Some(constant) = size.as_constant().filter(|constant| *constant >= 0) {
                return LaneExtent::Uniform(Extent::Constant(constant));
            }
            // The first of equal sizes stands for all, so that what has equal extents has one context.
            if let Some(Bound::Value(value)) = first(&size).and_then(|first| self.env.get(&first))
                && value.home == ROOT
            {
                let array = value.array;
                return LaneExtent::Uniform(Extent::Value(self.guarded(array)));
            }
        }
        let value = self.scalar_value(id);
        if value.home == ROOT {
            LaneExtent::Uniform(Extent::Value(self.guarded(value.array)))
        } else {
            LaneExtent::Varying(value)
        }
    }

    /// Binds a flat operation whose results are those of the binding, over these contexts.
    fn bind_results(&mut self, binding: &Binding, home: ContextId, op: ArrayOp, contexts: &[ContextId]) {
        let types: Vec<(Name, Type)> = binding
            .results
            .iter()
            .zip(contexts)
            .map(|(var, &context)| (var.name.clone(), Type::array(self.dims(context), var.ty.element)))
            .collect();
        let ids = self.flat.bind(op, types);
        for ((var, id), &elements) in binding.results.iter().zip(ids).zip(contexts) {
            self.define(var, Value { array: id, home, elements, ty: var.ty.element });
        }
    }

    /// The contexts of the elements of all results.
    fn all_elements(&mut self, home: ContextId, results: &[Var]) -> Vec<ContextId> {
        results.iter().map(|var| self.elements(home, &var.ty)).collect()
    }

    /// The context of the elements of a result of these extents.
    fn elements(&mut self, home: ContextId, ty: &Type) -> ContextId {
        let extents = self.lane_extents(&ty.extents);
        self.extend_all(home, &extents)
    }
}

/// The value that a size is.
fn first(size: &Size) -> Option<ArrayId> {
    match size.as_term() {
        Some(Term::Value(id)) => Some(*id),
        _ => None,
    }
}
