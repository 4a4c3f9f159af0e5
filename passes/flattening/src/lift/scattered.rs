//! Permutes: elements of all lanes go into the arrays of all lanes, each into that of its own.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Constant, ElementType, ElementType::I64, Emit, Lambda, LambdaBuilder, Name,
    PermuteOrder, ScalarOperand, Type, inline,
};

use super::{
    Lifter, Value,
    code::{Code, Outside},
    context::ContextId,
    flat::operands,
};
use crate::Error;

impl<'p> Lifter<'p> {
    pub fn permute(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        let ArrayOp::Permute { combine, defaults, values, targets, keep, order } = &binding.op else {
            fusebox_ir::bug!(self.program, "it is a permute");
        };
        let into = self.elements(home, &binding.results[0].ty);
        let sources: Vec<ArrayId> = values.iter().chain(targets).chain(keep).copied().collect();
        let first = self.array_value(sources[0]);
        let elements = self.lifted(&first, home).elements;
        let arrays = self.all_conformed(&sources, home, elements);
        let (new, rest) = arrays.split_at(values.len());
        let (at, keep) = rest.split_at(targets.len());
        let name = self.source_name(binding.results[0].id);
        let targets = self.targets(home, into, elements, at, keep.first().copied(), &name);
        let new = new.to_vec();
        self.scatter(binding, home, into, elements, combine, defaults, new, targets, keep.first().copied(), *order);
        Ok(())
    }

    /// Where elements go in a flat array over `into`, an array for each of its dimensions.
    fn targets(
        &mut self,
        home: ContextId,
        into: ContextId,
        elements: ContextId,
        at: &[ArrayId],
        keep: Option<ArrayId>,
        name: &str,
    ) -> Vec<ArrayId> {
        let dims = self.dims(elements);
        let steps = self.steps(home, into);
        if self.is_uniform(home, into) {
            // The lane's own coordinates, then the targets as they are.
            let lanes: Vec<ArrayId> = {
                let rank = self.context(home).dims.len();
                (0..rank).map(|dim| self.lane_coordinate(home, dim, elements)).collect()
            };
            return lanes.into_iter().chain(at.iter().copied()).collect();
        }
        let rank = self.context(into).dims.len();
        let mut code = Code::over(self, elements);
        let coords = code.coords.clone();
        let lane = code.lane(home);
        let index: Vec<ScalarOperand> = at.iter().map(|&id| code.read(id, coords.clone())).collect();
        let name = Outside::Error(name.to_owned());
        let to = match keep {
            None => code.down(&lane, &steps, &index, &name),
            // What is dropped may have any target.
            Some(keep) => {
                let kept = code.read(keep, coords.clone());
                let safe: Vec<ScalarOperand> = index;
                code.open(&[]);
                let to = code.down(&lane, &steps, &safe, &name);
                let then = code.close(to);
                code.open(&[]);
                let otherwise = code.close(vec![Code::constant(0); rank]);
                let place = code.place.clone();
                let op = fusebox_ir::ScalarOp::If { condition: kept, then, otherwise };
                code.b.emit(op, &fusebox_ir::unnamed(&vec![I64; rank]), &place)
            }
        };
        let f = code.b.finish_needed(&to);
        let types: Vec<(Name, Type)> = to.iter().map(|_| ("at".into(), Type::array(dims.clone(), I64))).collect();
        self.flat.bind(ArrayOp::Generate { extents: operands(&dims), f }, types)
    }

    /// One of the coordinates of a context above, for each lane of a context.
    fn lane_coordinate(&mut self, above: ContextId, dim: usize, context: ContextId) -> ArrayId {
        let dims = self.dims(context);
        if self.is_uniform(above, context) {
            return self.coordinate_of(&dims, dim);
        }
        let mut code = Code::over(self, context);
        let coords = code.lane(above);
        let f = code.b.finish_needed(&[coords[dim]]);
        let op = ArrayOp::Generate { extents: operands(&dims), f };
        self.flat.bind_out(op, &"lane".into(), Type::array(dims, I64))
    }

    /// The flat permute; a combining function that depends on the lane finds what it needs of it beside the new element.
    #[allow(clippy::too_many_arguments)] // what a permute is made of
    fn scatter(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        into: ContextId,
        elements: ContextId,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        mut values: Vec<ArrayId>,
        targets: Vec<ArrayId>,
        keep: Option<ArrayId>,
        order: PermuteOrder,
    ) {
        let k = defaults.len();
        let ([f], extras) = self.functions_of_lanes(elements, [(combine, 2 * k)]);
        let mut flat: Vec<ArrayId> = defaults
            .iter()
            .zip(&binding.results)
            .map(|(&id, var)| {
                let value = self.array_value(id);
                let into = self.elements(home, &var.ty);
                self.conformed(&value, home, into)
            })
            .collect();
        let dims = self.dims(into);
        let contexts = self.all_elements(home, &binding.results);
        let mut types: Vec<(Name, Type)> = Vec::new();
        for (var, &context) in binding.results.iter().zip(&contexts) {
            types.push((var.name.clone(), Type::array(self.dims(context), var.ty.element)));
        }
        for &extra in &extras {
            let ty = self.flat.ty(extra).element;
            flat.push(self.filled(&dims, Constant::from_bits(ty, 0)));
            types.push((Name::default(), Type::array(dims.clone(), ty)));
        }
        let carried: Vec<ElementType> = extras.iter().map(|&id| self.flat.ty(id).element).collect();
        let combine = if extras.is_empty() { f } else { with_new(&f, k, &carried) };
        values.extend(extras);
        let op = ArrayOp::Permute { combine, defaults: flat, values, targets, keep, order };
        let ids = self.flat.bind(op, types);
        for ((var, &array), &elements) in binding.results.iter().zip(&ids).zip(&contexts) {
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }

    /// An array of one constant.
    fn filled(&mut self, dims: &[fusebox_ir::Extent], constant: Constant) -> ArrayId {
        let params = vec![("", I64); dims.len()];
        let mut f = Lambda::build(&params, |_, _| Vec::new());
        f.results = vec![ScalarOperand::Constant(constant)];
        let op = ArrayOp::Generate { extents: operands(dims), f };
        self.flat.bind_out(op, &Name::default(), Type::array(dims.to_vec(), constant.ty()))
    }

    /// An expand, then a permute.
    pub fn permuted_expand(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        let ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order } = &binding.op else {
            return Ok(());
        };
        let into = self.elements(home, &binding.results[0].ty);
        let rank = self.source_type(defaults[0]).rank();
        let kept = get.results.len() > rank + defaults.len();
        let types: Vec<ElementType> = std::iter::repeat_n(I64, rank)
            .chain(defaults.iter().map(|&id| self.source_type(id).element))
            .chain(kept.then_some(ElementType::Bool))
            .collect();
        let (elements, made) = self.expanded(home, (size, get), sources, &types);
        let (at, rest) = made.split_at(rank);
        let (values, keep) = rest.split_at(defaults.len());
        let name = self.source_name(binding.results[0].id);
        let keep = keep.first().copied();
        let targets = self.targets(home, into, elements, at, keep, &name);
        self.scatter(binding, home, into, elements, combine, defaults, values.to_vec(), targets, keep, *order);
        Ok(())
    }
}

/// The function of new elements with what they carry, and old ones: the old one's is of no use.
fn with_new(f: &Lambda, k: usize, carried: &[ElementType]) -> Lambda {
    let types: Vec<ElementType> = f.params[..k].iter().map(|param| param.ty).chain(carried.iter().copied()).collect();
    let mut b = LambdaBuilder::new();
    let params = b.params(types.iter().chain(&types).copied());
    let (new, old) = params.split_at(types.len());
    let arguments = [&new[..k], &old[..k], &new[k..]].concat();
    let results = [inline(&mut b, f, &arguments), new[k..].to_vec()].concat();
    b.finish(&results)
}
