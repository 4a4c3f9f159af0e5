//! Evaluation by need: a value is computed when something that is needed uses it, once for each run of the block that binds it.

use std::cell::RefCell;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Constant, Extent, Fault, Operand, Output, Part, Place, Program, RunError, Type,
    Var,
};

use crate::{
    operation,
    scalar::{Outside, Stop},
    val::Val,
};

/// Stack left before a deeper evaluation takes more, and how much it takes.
const RED_ZONE: usize = 256 * 1024;
const MORE_STACK: usize = 8 * 1024 * 1024;

/// A program that is run: the values computed so far.
pub(crate) struct Evaluator<'p> {
    /// Where each value is defined, by id.
    definitions: Vec<Definition<'p>>,
    /// What has been computed in the current run of the block that defines it, by id.
    values: RefCell<Vec<Option<Val>>>,
    /// Lanes of blocks; the first are none, outside of all nests.
    lanes: Vec<Lanes<'p>>,
    /// Whether blocks compute all of their bindings, in order, whatever is needed of them.
    in_order: bool,
}

#[derive(Clone, Copy)]
struct Definition<'p> {
    var: Option<&'p Var>,
    /// The binding and which of its results; none for parameters and sizes.
    binding: Option<(&'p Binding, usize)>,
    /// The lanes that it is defined in.
    lanes: usize,
}

/// The lanes of a block: the indices of a nest, or the number of the step of a traversal, and the lanes around these.
struct Lanes<'p> {
    indices: &'p [Var],
    around: usize,
}

impl<'p> Evaluator<'p> {
    pub(crate) fn new(program: &'p Program, in_order: bool) -> Self {
        let mut definitions = Vec::new();
        let mut define = |var: &'p Var, binding, lanes| {
            if definitions.len() <= var.id.index() {
                definitions.resize(var.id.index() + 1, Definition { var: None, binding: None, lanes: 0 });
            }
            definitions[var.id.index()] = Definition { var: Some(var), binding, lanes };
        };
        let mut all = vec![Lanes { indices: &[], around: 0 }];
        let mut blocks = vec![(&program.body, 0)];
        while let Some((block, lanes)) = blocks.pop() {
            block.sizes.iter().chain(&block.params).for_each(|var| define(var, None, lanes));
            for binding in &block.bindings {
                for (position, var) in binding.results.iter().enumerate() {
                    define(var, Some((binding, position)), lanes);
                }
                let indices = match &binding.op {
                    ArrayOp::Nest { body, .. } => &body.params[..],
                    ArrayOp::Consume { body, chunks: false, .. } => &body.params[..1],
                    _ => &[],
                };
                let mut inside = lanes;
                if !indices.is_empty() {
                    inside = all.len();
                    all.push(Lanes { indices, around: lanes });
                }
                blocks.extend(blocks_of(binding).map(|block| (block, inside)));
            }
        }
        let values = RefCell::new(vec![None; definitions.len()]);
        Self { definitions, values, lanes: all, in_order }
    }

    /// The value of `id`, computing first whatever it needs.
    pub(crate) fn value(&self, id: ArrayId) -> Result<Val, Stop> {
        if let Some(value) = &self.values.borrow()[id.index()] {
            return Ok(value.clone());
        }
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            self.compute_operands_of(id)?;
            self.compute(id)
        })
    }

    /// Computes what `id` needs in any case, and what that needs, by a stack of its own, as programs may be long.
    fn compute_operands_of(&self, id: ArrayId) -> Result<(), Stop> {
        let mut stack = vec![(id, false)];
        while let Some((top, ready)) = stack.pop() {
            if self.values.borrow()[top.index()].is_some() {
                continue;
            }
            if ready {
                self.compute(top)?;
                continue;
            }
            if top != id {
                stack.push((top, true));
            }
            let Some((binding, position)) = self.definitions[top.index()].binding else { continue };
            stack.extend(operation::certainly_needs(&binding.op, position).into_iter().map(|id| (id, false)));
        }
        Ok(())
    }

    fn compute(&self, id: ArrayId) -> Result<Val, Stop> {
        if let Some(value) = &self.values.borrow()[id.index()] {
            return Ok(value.clone());
        }
        let Some((binding, position)) = self.definitions[id.index()].binding else {
            unreachable!("parameters have values while their block runs");
        };
        let computed = operation::evaluate(self, binding, position).and_then(|values| {
            for (at, value) in &values {
                self.check_type(&binding.results[*at], value, &binding.results[..*at], &values)?;
            }
            Ok(values)
        });
        let values = computed.map_err(|stop| self.located(stop, binding, position))?;
        let mut result = None;
        let mut table = self.values.borrow_mut();
        for (at, value) in values {
            if at == position {
                result = Some(value.clone());
            }
            table[binding.results[at].id.index()] = Some(value);
        }
        Ok(result.unwrap_or_else(|| unreachable!("an operation computes the result that is wanted")))
    }

    /// A fault with the operation it happened in.
    fn located(&self, stop: Stop, binding: &Binding, position: usize) -> Stop {
        match stop {
            Stop::Fault(fault, place) => {
                let place = if place.is_unknown() { binding.place.clone() } else { place };
                let id = binding.results[position].id;
                let (name, fault) = (self.name(id), fault.in_lane(self.lane(id)));
                RunError { operation: format!("{} `{name}`", binding.op.name()), place, fault }.into()
            }
            other => other,
        }
    }

    /// The lane in which a value is computed: the indices of nests around it, the outermost first.
    fn lane(&self, id: ArrayId) -> Vec<i64> {
        let (mut lane, mut at) = (Vec::new(), self.definitions[id.index()].lanes);
        let values = self.values.borrow();
        while at != 0 {
            let lanes = &self.lanes[at];
            let index = |var: &Var| values[var.id.index()].as_ref().map_or(0, Val::to_i64);
            lane.extend(lanes.indices.iter().rev().map(index));
            at = lanes.around;
        }
        lane.reverse();
        lane
    }

    /// Results of a block for these arguments, computed anew.
    pub(crate) fn block(
        &self,
        block: &'p Block,
        arguments: &[Val],
        results: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<Val>, Stop> {
        self.clear(block);
        self.bind(block, arguments)?;
        self.all(block)?;
        results.into_iter().map(|r| self.value(block.results[r])).collect()
    }

    /// Computes all bindings of a block, in order, if that is how blocks are run.
    pub(crate) fn all(&self, block: &'p Block) -> Result<(), Stop> {
        let list = block.bindings.iter().filter(|_| self.in_order).flat_map(|binding| &binding.results);
        list.into_iter().try_for_each(|var| self.value(var.id).map(drop))
    }

    /// Forgets what an earlier run of the block computed.
    fn clear(&self, block: &'p Block) {
        let mut table = self.values.borrow_mut();
        let mut blocks = vec![block];
        while let Some(block) = blocks.pop() {
            for var in block.sizes.iter().chain(&block.params) {
                table[var.id.index()] = None;
            }
            for binding in &block.bindings {
                for var in &binding.results {
                    table[var.id.index()] = None;
                }
                blocks.extend(blocks_of(binding));
            }
        }
    }

    /// Gives the parameters of a block their values; sizes in their types are bound where first met, checked where met again.
    pub(crate) fn bind(&self, block: &'p Block, arguments: &[Val]) -> Result<(), Stop> {
        // Elements of streams may have extents that later parameters bind.
        let of = |stream: bool| {
            let all = block.params.iter().zip(arguments);
            all.filter(move |(param, _)| param.ty.stream == stream)
        };
        for (param, argument) in of(false).chain(of(true)) {
            let inner = argument.arrays().first().map(|a| a.extents.as_slice()).unwrap_or_default();
            let declared = param.ty.inner.first().map(Vec::as_slice).unwrap_or_default();
            // How many elements a stream has is no extent of it.
            let (outer, inner_of) =
                if param.ty.stream { (inner, &[][..]) } else { (argument.extents.as_slice(), inner) };
            let met = outer.iter().zip(&param.ty.extents).chain(inner_of.iter().zip(declared));
            for (&extent, declared) in met {
                let unbound = matches!(declared, Extent::Value(id)
                    if self.values.borrow()[id.index()].is_none() && block.sizes.iter().any(|size| size.id == *id));
                if let (true, Extent::Value(id)) = (unbound, declared) {
                    self.set(*id, Val::scalar(extent.into()));
                }
            }
            // No arrays, no inner extents: they count as 0.
            for declared in declared.iter().chain(&param.ty.extents) {
                if let Extent::Value(id) = declared
                    && block.sizes.iter().any(|size| size.id == *id)
                    && self.values.borrow()[id.index()].is_none()
                {
                    self.set(*id, Val::scalar(0i64.into()));
                }
            }
            self.set(param.id, argument.clone());
            self.check_type(param, argument, &[], &[])?;
        }
        Ok(())
    }

    fn set(&self, id: ArrayId, value: Val) {
        self.values.borrow_mut()[id.index()] = Some(value);
    }

    /// The declared type of a program's result is that of the value.
    pub(crate) fn check_output(&self, id: ArrayId, output: &Output, value: &Val) -> Result<(), Stop> {
        let var = Var { id, ty: output.ty.clone(), name: output.name.as_str().into() };
        self.check_type(&var, value, &[], &[])
    }

    /// Declared extents are those that the value has.
    fn check_type(&self, var: &Var, value: &Val, siblings: &[Var], computed: &[(usize, Val)]) -> Result<(), Stop> {
        let extent = |declared: &Extent| match declared {
            Extent::Constant(n) => Ok(Some((*n, n.to_string()))),
            Extent::Unknown => Ok(None),
            Extent::Value(id) => {
                let sibling = siblings.iter().position(|var| var.id == *id);
                let of_sibling = sibling.and_then(|at| computed.iter().find(|(p, _)| *p == at));
                let value = match of_sibling {
                    Some((_, value)) => value.clone(),
                    None => self.value(*id)?,
                };
                Ok::<_, Stop>(Some((value.to_i64(), self.name(*id))))
            }
        };
        let check = |declared: &[Extent], found: &[i64]| {
            for (declared, &found) in declared.iter().zip(found) {
                if let Some((wanted, right)) = extent(declared)?
                    && wanted != found
                {
                    let left = self.name(var.id);
                    return Err(Stop::from(Fault::Sizes { left, left_extent: found, right, right_extent: wanted }));
                }
            }
            Ok(())
        };
        if !var.ty.stream {
            check(&var.ty.extents, &value.extents)?;
            let mut level: Vec<&Val> = vec![value];
            for declared in &var.ty.inner {
                level = level.into_iter().flat_map(Val::arrays).collect();
                for array in &level {
                    check(declared, &array.extents)?;
                }
            }
        }
        Ok(())
    }

    /// The name of a value in the source, or its number.
    pub(crate) fn name(&self, id: ArrayId) -> String {
        match self.definitions[id.index()].var {
            Some(var) if !var.name.is_empty() => var.name.0.clone(),
            _ => id.to_string(),
        }
    }

    /// The declared type.
    pub(crate) fn ty(&self, id: ArrayId) -> &'p Type {
        &self.definitions[id.index()].var.unwrap_or_else(|| unreachable!("validated programs define what they use")).ty
    }

    /// The values that the extents of a type have.
    pub(crate) fn extents(&self, extents: &[Extent]) -> Result<Vec<i64>, Stop> {
        extents
            .iter()
            .map(|extent| match extent {
                Extent::Constant(n) => Ok(*n),
                Extent::Value(id) => Ok(self.value(*id)?.to_i64()),
                Extent::Unknown => unreachable!("bindings of arrays have known extents"),
            })
            .collect()
    }

    /// The value of an operand.
    pub(crate) fn operand(&self, operand: Operand) -> Result<Val, Stop> {
        match operand {
            Operand::Value(id) => self.value(id),
            Operand::Constant(constant) => Ok(Val::scalar(constant)),
        }
    }

    /// The value of a scalar operand.
    pub(crate) fn constant(&self, operand: Operand) -> Result<Constant, Stop> {
        Ok(self.operand(operand)?.at(0))
    }

    /// The values of `i64` operands.
    pub(crate) fn integers(&self, operands: &[Operand]) -> Result<Vec<i64>, Stop> {
        operands.iter().map(|&operand| Ok(self.operand(operand)?.to_i64())).collect()
    }

    /// The element of `id` at an index that must be inside.
    pub(crate) fn element(&self, id: ArrayId, index: &[i64]) -> Result<Constant, Stop> {
        let array = self.value(id)?;
        match array.position(index) {
            Some(position) => Ok(array.at(position)),
            None => Err(self.outside(id, &array, index)),
        }
    }

    /// The fault of an index outside of an array.
    pub(crate) fn outside(&self, id: ArrayId, array: &Val, index: &[i64]) -> Stop {
        Fault::Index { array: self.name(id), index: index.to_vec(), extents: array.extents.clone() }.into()
    }
}

impl Outside for Evaluator<'_> {
    fn scalar(&self, id: ArrayId) -> Result<Constant, Stop> {
        Ok(self.value(id)?.at(0))
    }

    fn read(&self, id: ArrayId, index: &[i64]) -> Result<Constant, Stop> {
        self.element(id, index)
    }

    fn read_flat(&self, id: ArrayId, position: i64) -> Result<Constant, Stop> {
        let array = self.value(id)?;
        match usize::try_from(position) {
            Ok(inside) if inside < array.len() => Ok(array.at(inside)),
            _ => Err(self.outside(id, &array, &[position])),
        }
    }
}

fn blocks_of(binding: &Binding) -> impl Iterator<Item = &Block> {
    binding.op.parts().into_iter().filter_map(|part| match part {
        Part::Body(block) => Some(block),
        _ => None,
    })
}

/// A stop outside of any operation: of a program's own inputs.
pub(crate) fn finished(stop: Stop, program: &str) -> RunError {
    match stop {
        Stop::Failed(error) => *error,
        Stop::Fault(fault, place) => RunError { operation: format!("program `{program}`"), place, fault },
        Stop::Missing(_) => RunError {
            operation: format!("program `{program}`"),
            place: Place::default(),
            fault: Fault::Assertion { message: "a scalar has no value".into() },
        },
    }
}
