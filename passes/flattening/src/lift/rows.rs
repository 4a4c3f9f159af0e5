//! Folds, scans and sorts: rows of all lanes at once, as segments where their extents differ.
//!
//! A seed or a function that depends on the lane: elements carry what their lane knows along. A seed of the lane is combined in at the end,
//! which is the same as the function is associative; until then a row without elements is a value that is absent.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Constant, Direction, ElementType, ElementType::Bool, Emit, Lambda,
    LambdaBuilder, Name, Operand, ScalarOp, ScalarOperand, ScanForm, Type, Var, inline,
};

use super::{
    LaneOperand, Lifter, Value,
    code::Code,
    context::{ContextId, Made},
    flat::operands,
};
use crate::Error;

/// The flat rows that a fold or scan runs over.
pub(super) struct Rows {
    /// The sources, of equal extents.
    pub sources: Vec<ArrayId>,
    /// Where segments begin, if rows are segments of vectors.
    pub offsets: Option<ArrayId>,
    /// The lanes of which the elements are, and how flat arrays over them are brought into the form of the sources.
    pub elements: ContextId,
    pub as_vectors: bool,
    /// The lanes that have a result each: rows, or segments.
    pub outer: ContextId,
}

/// A combining function that carries along what it needs of the lane.
struct Carried {
    combine: Lambda,
    seeds: Vec<Operand>,
    /// The flag that a value is there, if it may be absent.
    flag: bool,
    /// What is carried.
    extras: Vec<ArrayId>,
}

/// A fold or a scan, in parts.
struct Rowwise<'p> {
    combine: &'p Lambda,
    seeds: &'p [Operand],
    sources: &'p [ArrayId],
    offsets: Option<ArrayId>,
    commutes: bool,
    scan: Option<(Direction, ScanForm)>,
}

impl<'p> Rowwise<'p> {
    fn of(op: &'p ArrayOp) -> Option<Self> {
        match op {
            ArrayOp::Fold { combine, seeds, sources, offsets, commutes } => {
                Some(Self { combine, seeds, sources, offsets: *offsets, commutes: *commutes, scan: None })
            }
            ArrayOp::Scan { direction, form, combine, seeds, sources, offsets, commutes } => {
                let scan = Some((*direction, *form));
                Some(Self { combine, seeds, sources, offsets: *offsets, commutes: *commutes, scan })
            }
            _ => None,
        }
    }

    /// The same operation of others.
    fn with(&self, combine: Lambda, seeds: Vec<Operand>, sources: Vec<ArrayId>, offsets: Option<ArrayId>) -> ArrayOp {
        let commutes = self.commutes;
        match self.scan {
            None => ArrayOp::Fold { combine, seeds, sources, offsets, commutes },
            Some((direction, form)) => ArrayOp::Scan { direction, form, combine, seeds, sources, offsets, commutes },
        }
    }
}

impl<'p> Lifter<'p> {
    pub fn rows(&mut self, binding: &'p Binding, home: ContextId) -> Result<(), Error> {
        let Some(of) = Rowwise::of(&binding.op) else { fusebox_ir::bug!(self.program, "folds and scans go by rows") };
        let rows = self.rows_of(binding, home, of.sources, of.offsets)?;
        let lane_seeds: Vec<LaneOperand> = of.seeds.iter().map(|&seed| self.lane_operand(seed)).collect();
        let Carried { combine, seeds, flag, extras } = self.carried(of.combine, &lane_seeds, &rows);

        let there = flag.then(|| self.flags(&rows));
        let mut all: Vec<ArrayId> = there.into_iter().chain(rows.sources.iter().copied()).collect();
        for &extra in &extras {
            all.push(if rows.as_vectors { self.as_vector(extra) } else { extra });
        }
        let components: Vec<ElementType> = all.iter().map(|&id| self.flat.ty(id).element).collect();

        // Results are bodies, then totals.
        let k = of.sources.len();
        let body = match of.scan {
            None => rows.outer,
            Some((_, ScanForm::Exclusive)) => self.elements(home, &binding.results[0].ty),
            Some(_) => rows.elements,
        };
        let totals = matches!(of.scan, Some((_, ScanForm::Body))).then_some(rows.outer);
        let groups: Vec<(ContextId, &[Var])> =
            [body].into_iter().chain(totals).zip(binding.results.chunks(k)).collect();
        let types = self.types_of_rows(&groups, &components, usize::from(flag), rows.as_vectors);
        let ids = self.flat.bind(of.with(combine, seeds, all, rows.offsets), types);
        for (&(context, vars), ids) in groups.iter().zip(ids.chunks(components.len())) {
            let made: Vec<ArrayId> = ids.iter().map(|&id| self.shaped(id, context)).collect();
            if flag {
                let direction = of.scan.map_or(Direction::Left, |(direction, _)| direction);
                self.with_seeds(vars, home, context, &made[..=k], of.combine, &lane_seeds, direction);
            } else {
                for (var, &array) in vars.iter().zip(&made) {
                    self.define(var, Value { array, home, elements: context, ty: var.ty.element });
                }
            }
        }
        Ok(())
    }

    /// Names and types of what flat rows give: for each group of results one of each component, of which the first `skip` are no results.
    fn types_of_rows(
        &mut self,
        groups: &[(ContextId, &[Var])],
        components: &[ElementType],
        skip: usize,
        as_vectors: bool,
    ) -> Vec<(Name, Type)> {
        let mut types = Vec::new();
        for &(context, vars) in groups {
            let dims = self.dims(context);
            let dims = if as_vectors { vec![self.product(&dims)] } else { dims };
            for (component, &ty) in components.iter().enumerate() {
                let var = component.checked_sub(skip).and_then(|at| vars.get(at));
                types.push((var.map_or(Name::default(), |var| var.name.clone()), Type::array(dims.clone(), ty)));
            }
        }
        types
    }

    /// A flat array over a context, in its extents.
    pub fn shaped(&mut self, array: ArrayId, context: ContextId) -> ArrayId {
        let dims = self.dims(context);
        if self.flat.ty(array).rank() == dims.len() {
            return array;
        }
        self.reshaped(array, dims)
    }

    fn rows_of(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        sources: &[ArrayId],
        offsets: Option<ArrayId>,
    ) -> Result<Rows, Error> {
        let values: Vec<Value> = sources.iter().map(|&source| self.array_value(source)).collect();
        let first = self.lifted(&values[0], home);
        let elements = first.elements;
        let arrays: Vec<ArrayId> = values.iter().map(|value| self.conformed(value, home, elements)).collect();
        let outer = self.context(elements).parent;
        let ragged = match &self.context(elements).made {
            Made::Ragged { offsets, .. } => Some(*offsets),
            Made::Root | Made::Uniform { .. } | Made::Subset { .. } => None,
        };
        let Some(segments) = offsets else {
            return Ok(Rows { sources: arrays, offsets: ragged, elements, as_vectors: ragged.is_some(), outer });
        };
        let segments_value = self.array_value(segments);
        let plain = segments_value.home == super::context::ROOT && ragged.is_none();
        let extent = self.segments(binding, home, &segments_value)?;
        let segment_lanes = self.extend(home, outer, &extent);
        if plain && matches!(self.context(segment_lanes).made, Made::Uniform { .. }) {
            return Ok(Rows {
                sources: arrays,
                offsets: Some(segments_value.array),
                elements,
                as_vectors: false,
                outer: segment_lanes,
            });
        }
        let name = self.source_name(segments);
        let offsets = self.segments_of_lanes(&segments_value, elements, segment_lanes, &name);
        let sources = arrays.into_iter().map(|array| self.as_vector(array)).collect();
        Ok(Rows { sources, offsets: Some(offsets), elements, as_vectors: true, outer: segment_lanes })
    }

    /// A combining function of flat elements. It carries along what it needs of the lane, and a flag where the seed is one of the lane.
    fn carried(&mut self, combine: &'p Lambda, seeds: &[LaneOperand], rows: &Rows) -> Carried {
        let k = rows.sources.len();
        let ([f], extras) = self.functions_of_lanes(rows.elements, [(combine, 2 * k)]);
        let outside: Option<Vec<Operand>> = seeds
            .iter()
            .map(|seed| match seed {
                LaneOperand::Outside(operand) => Some(*operand),
                LaneOperand::Varying(_) | LaneOperand::Index(_) => None,
            })
            .collect();
        if extras.is_empty()
            && let Some(seeds) = outside
        {
            return Carried { combine: f, seeds, flag: false, extras };
        }
        let flag = !seeds.is_empty();
        let types: Vec<ElementType> = f.params[..k].iter().map(|param| param.ty).collect();
        let carried: Vec<ElementType> = extras.iter().map(|&id| self.flat.ty(id).element).collect();
        let all: Vec<ElementType> =
            flag.then_some(Bool).into_iter().chain(types.iter().copied()).chain(carried.iter().copied()).collect();
        let combine = combined(&f, k, &all, flag);
        let seeds = if flag {
            all.iter().map(|&ty| Operand::Constant(Constant::from_bits(ty, 0))).collect()
        } else {
            Vec::new()
        };
        Carried { combine, seeds, flag, extras }
    }

    fn flags(&mut self, rows: &Rows) -> ArrayId {
        let dims = self.dims(rows.elements);
        let dims = if rows.as_vectors { vec![self.product(&dims)] } else { dims };
        let params = vec![("", ElementType::I64); dims.len()];
        let mut f = Lambda::build(&params, |_, _| Vec::new());
        f.results = vec![ScalarOperand::Constant(true.into())];
        let op = ArrayOp::Generate { extents: operands(&dims), f };
        self.flat.bind_out(op, &"there".into(), Type::array(dims, Bool))
    }

    /// Results of a fold or scan without seeds, which may be absent, with the seeds of their lanes.
    #[allow(clippy::too_many_arguments)] // what the operation is made of
    fn with_seeds(
        &mut self,
        vars: &[Var],
        home: ContextId,
        context: ContextId,
        made: &[ArrayId],
        combine: &'p Lambda,
        seeds: &[LaneOperand],
        direction: Direction,
    ) {
        let dims = self.dims(context);
        let mut code = Code::over(self, context);
        let coords = code.coords.clone();
        let there = code.read(made[0], coords.clone());
        let values: Vec<ScalarOperand> = made[1..].iter().map(|&id| code.read(id, coords.clone())).collect();
        let seeds: Vec<ScalarOperand> = seeds.iter().map(|seed| Self::code_operand(&mut code, seed)).collect();
        let results: Vec<ScalarOperand> = (0..vars.len())
            .map(|at| {
                code.choose(
                    there,
                    vars[at].ty.element,
                    |code| {
                        let arguments = match direction {
                            Direction::Left => [&seeds[..], &values].concat(),
                            Direction::Right => [&values[..], &seeds].concat(),
                        };
                        code.call(combine, &arguments)[at]
                    },
                    |_| seeds[at],
                )
            })
            .collect();
        let f = code.b.finish_needed(&results);
        let types = vars.iter().map(|var| (var.name.clone(), Type::array(dims.clone(), var.ty.element))).collect();
        let ids = self.flat.bind(ArrayOp::Generate { extents: operands(&dims), f }, types);
        for (var, array) in vars.iter().zip(ids) {
            self.define(var, Value { array, home, elements: context, ty: var.ty.element });
        }
    }

    pub fn sort(&mut self, binding: &'p Binding, home: ContextId, keys: &[ArrayId], carry: &[ArrayId]) {
        let first = self.array_value(keys[0]);
        let elements = self.lifted(&first, home).elements;
        let arrays = self.all_conformed(keys.iter().chain(carry), home, elements);
        let (sorted, rest) = arrays.split_at(keys.len());
        let dims = self.dims(elements);
        let mut types: Vec<(Name, Type)> =
            binding.results.iter().map(|var| (var.name.clone(), Type::array(dims.clone(), var.ty.element))).collect();
        let mut all = sorted.to_vec();
        // Rows of different extents are sorted together, by their number first.
        let ragged = matches!(self.context(elements).made, Made::Ragged { .. });
        if ragged {
            let (row, _) = self.origin(elements);
            all.insert(0, row);
            types.insert(0, (Name::default(), Type::array(dims, ElementType::I64)));
        }
        let ids = self.flat.bind(ArrayOp::Sort { keys: all, carry: rest.to_vec() }, types);
        for (var, &array) in binding.results.iter().zip(&ids[usize::from(ragged)..]) {
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }
}

/// The function of components that combines k of them by `f`, whose further parameters are the last components; with a flag first that says
/// whether there is a value.
fn combined(f: &Lambda, k: usize, all: &[ElementType], flag: bool) -> Lambda {
    let (skip, n) = (usize::from(flag), all.len());
    let mut b = LambdaBuilder::new();
    let params = b.params(all.iter().chain(all).copied());
    let (left, right) = params.split_at(n);
    let values = |side: &[ScalarOperand]| side[skip..skip + k].to_vec();
    let carried = |side: &[ScalarOperand]| side[skip + k..].to_vec();
    let arguments = [values(left), values(right), carried(left)].concat();
    if !flag {
        let results = inline(&mut b, f, &arguments);
        let results = [results, carried(left)].concat();
        return b.finish(&results);
    }
    let mut results = Vec::new();
    let either = {
        let op = ScalarOp::Binary { function: Binary::Or, a: left[0], b: right[0] };
        b.instruction(op, &[Bool])[0].operand
    };
    results.push(either);
    // Both, or the one that is there; the right one where none is.
    let rest: Vec<ElementType> = all[1..].to_vec();
    b.open(&[]);
    let made = [inline(&mut b, f, &arguments), carried(left)].concat();
    let both = b.close(made);
    b.open(&[]);
    let only_left = b.close(left[1..].to_vec());
    b.open(&[]);
    let inner = b.instruction(ScalarOp::If { condition: right[0], then: both, otherwise: only_left }, &rest);
    let inner = b.close(inner.iter().map(|value| value.operand).collect());
    b.open(&[]);
    let only_right = b.close(right[1..].to_vec());
    let chosen = b.instruction(ScalarOp::If { condition: left[0], then: inner, otherwise: only_right }, &rest);
    results.extend(chosen.iter().map(|value| value.operand));
    b.finish(&results)
}
