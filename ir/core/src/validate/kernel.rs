//! Kernels: the invariants that `kernel.rs` states.

use super::{
    ProgramFault, ValidationErrors,
    context::{PathStep, Validator},
};
use crate::{
    Access, Action, Association, ElementType, Extent, IndexMap, Kernel, KernelArrayId, KernelExtent, Lambda,
    LevelOrder, Local, LocalId, MAX_EXTENT, MAX_NESTING, MAX_RANK, ScalarOp, ScalarOperand, Statement, StatementPart,
    Type, Var,
    analysis::{InPlace, NotInPlace},
    association::BLOCK,
};

/// Checks that `kernel` keeps what its type promises: dense locals, a nest that does not branch, types, arrays used as they say.
///
/// # Errors
/// Every fault, each with its position.
pub fn validate_kernel(kernel: &Kernel) -> Result<(), ValidationErrors> {
    let errors = kernel_errors(kernel);
    if errors.is_empty() { Ok(()) } else { Err(ValidationErrors { errors }) }
}

pub(super) fn kernel_errors(kernel: &Kernel) -> Vec<super::ValidationError> {
    // Of arrays scalar code sees rank and element type; extents are the launch's.
    let arrays: Vec<Var> = kernel
        .arrays
        .iter()
        .enumerate()
        .map(|(position, array)| Var {
            id: KernelArrayId::at(position).in_code(),
            ty: Type::array(vec![Extent::Unknown; array.extents.len()], array.element),
            name: array.name.as_str().into(),
        })
        .collect();
    let mut validator = Validator::new();
    validator.in_kernel = true;
    validator.kernel(kernel, &arrays);
    validator.finish()
}

/// Locals that are seen from some depth on, until it ends.
#[derive(Default)]
struct Scopes {
    /// For each depth what is defined there.
    open: Vec<Vec<LocalId>>,
    /// Results of reduces and totals of scans: seen at their depth, after the levels inside.
    later: Vec<Vec<LocalId>>,
    depth: usize,
}

impl Scopes {
    fn define(&mut self, locals: &[Local], depth: usize) {
        if let Some(open) = self.open.get_mut(depth) {
            open.extend(locals.iter().map(|local| local.id));
        }
    }
}

impl<'p> Validator<'p> {
    fn kernel(&mut self, kernel: &'p Kernel, arrays: &'p [Var]) {
        self.open_scope();
        arrays.iter().for_each(|array| self.define(array));
        self.start_function();
        self.open_body();
        for (position, size) in kernel.sizes.iter().enumerate() {
            self.within(PathStep::Item("sizes", position), |v| v.index_local(size, "a size"));
        }
        let mut uses = None;
        for (position, array) in kernel.arrays.iter().enumerate() {
            self.within(PathStep::Item("arrays", position), |v| {
                for (dim, extent) in array.extents.iter().enumerate() {
                    match *extent {
                        KernelExtent::Constant(extent) if extent < 0 => {
                            let what = format!("`{}`", array.name);
                            v.report(ProgramFault::NegativeExtent { what, dim, extent });
                        }
                        KernelExtent::Constant(_) => {}
                        // Sizes come first, so their ids are their positions; where they are not that is a fault already.
                        KernelExtent::Size(local) if local.index() < kernel.sizes.len() => {}
                        KernelExtent::Size(LocalId(local)) => {
                            v.report(ProgramFault::KernelExtent { array: array.name.clone(), dim, local });
                        }
                    }
                }
                if array.extents.len() > MAX_RANK {
                    let what = format!("`{}`", array.name);
                    v.report(ProgramFault::Rank { what, rank: array.extents.len(), limit: MAX_RANK });
                }
                if let Some(source) = array.in_place_of {
                    let again = kernel.arrays[..position].iter().any(|other| other.in_place_of == Some(source));
                    let found =
                        uses.get_or_insert_with(|| InPlace::of(kernel)).allows(KernelArrayId::at(position), source);
                    if let Err(why) = if again { Err(NotInPlace::Twice) } else { found } {
                        let of =
                            kernel.arrays.get(source.index()).map_or(source.to_string(), |array| array.name.clone());
                        v.report(ProgramFault::InPlace { value: array.name.clone(), source_name: of, why });
                    }
                }
            });
        }
        if kernel.levels.len() > MAX_NESTING {
            return self.report(ProgramFault::TooDeep { limit: MAX_NESTING });
        }
        for (position, level) in kernel.levels.iter().enumerate() {
            self.within(PathStep::Item("levels", position), |v| v.index_local(&level.index, "an index"));
            self.set_local_open(level.index.id, false);
        }
        let depths = kernel.levels.len() + 1;
        let mut scopes = Scopes { open: vec![Vec::new(); depths], later: vec![Vec::new(); depths], depth: 0 };
        let (mut falling, mut appends) = (false, 0);
        for (position, statement) in kernel.statements.iter().enumerate() {
            self.within(PathStep::Item("statements", position), |v| {
                let depth = statement.depth as usize;
                if depth > kernel.levels.len() {
                    let levels = kernel.levels.len();
                    return v.report(ProgramFault::Depth { depth: statement.depth, levels });
                }
                if depth > scopes.depth && falling {
                    let before = scopes.depth as u32;
                    v.report(ProgramFault::Branches { depth: statement.depth, before });
                }
                falling |= depth < scopes.depth;
                v.move_to(depth, kernel, &mut scopes);
                v.statement(statement, kernel, &mut scopes);
                appends += usize::from(matches!(statement.action, Action::Append { .. }));
                if appends > 1 {
                    v.report(ProgramFault::Appends);
                }
            });
        }
        if !falling {
            // Levels without statements run for nothing, but their bounds are used.
            self.move_to(kernel.levels.len(), kernel, &mut scopes);
        }
        self.close_body();
        self.close_scope();
    }

    fn index_local(&mut self, local: &Local, what: &str) {
        if local.ty != ElementType::I64 {
            self.report(ProgramFault::NoIndex { what: what.to_owned(), found: local.ty });
        }
        self.define_local(local);
    }

    /// Enters levels, whose bounds are seen around them, or leaves them.
    fn move_to(&mut self, depth: usize, kernel: &'p Kernel, scopes: &mut Scopes) {
        while scopes.depth < depth {
            let level = &kernel.levels[scopes.depth];
            for (bound, name) in [(&level.from, "from"), (&level.to, "to")] {
                let what = format!("`{name}` of level {}", scopes.depth);
                self.scalar_operand_of(bound, ElementType::I64, &|| what.clone());
                let constant = if let ScalarOperand::Constant(constant) = bound { constant.as_i64() } else { None };
                let most = if name == "from" { MAX_EXTENT } else { i64::MAX };
                if let Some(bound) = constant.filter(|bound| !(-MAX_EXTENT..=most).contains(bound)) {
                    self.report(ProgramFault::LevelBound { what, bound });
                }
            }
            scopes.depth += 1;
            self.set_local_open(level.index.id, true);
            scopes.open[scopes.depth].push(level.index.id);
        }
        while scopes.depth > depth {
            for id in std::mem::take(&mut scopes.open[scopes.depth]) {
                self.set_local_open(id, false);
            }
            scopes.depth -= 1;
            for id in std::mem::take(&mut scopes.later[scopes.depth]) {
                self.set_local_open(id, true);
                scopes.open[scopes.depth].push(id);
            }
        }
    }

    fn statement(&mut self, statement: &'p Statement, kernel: &'p Kernel, scopes: &mut Scopes) {
        let depth = scopes.depth;
        self.read_by_code(statement, kernel);
        if let Some(when) = &statement.when {
            self.scalar_operand_of(when, ElementType::Bool, &|| "`when`".to_owned());
            if let Action::Load { .. } | Action::Scalar(_) = statement.action {
                let action = if let Action::Load { .. } = statement.action { "load" } else { "scalar instruction" };
                self.report(ProgramFault::When { action });
            }
        }
        match &statement.action {
            Action::Load { result, array, map, outside, place } => self.at(place, |v| {
                let element = v.accessed(kernel, *array, &[Access::Read], "the array of a load");
                v.index_map(kernel, *array, map);
                if let Some(outside) = outside {
                    if map.checked || map.dims.iter().any(|dim| dim.boundary != crate::DimBoundary::None) {
                        v.report(ProgramFault::OutsideChecked);
                    }
                    v.kernel_function("outside", outside, &[], &[element]);
                }
                v.define_local(result);
                v.is_of(result, element, "the result of a load");
                scopes.define(std::slice::from_ref(result), depth);
            }),
            Action::Scalar(instruction) => self.at(&instruction.place, |v| {
                match &instruction.op {
                    ScalarOp::Read { array, .. } => v.read_alone(kernel, KernelArrayId::of_code(*array)),
                    ScalarOp::ReadFlat { array, .. } if rank(kernel, KernelArrayId::of_code(*array)) == Some(1) => {
                        v.read_alone(kernel, KernelArrayId::of_code(*array))
                    }
                    _ => {}
                }
                v.instruction(instruction);
                scopes.define(&instruction.results, depth);
            }),
            Action::Check { condition, failure } => self.at(&failure.place, |v| {
                v.scalar_operand_of(condition, ElementType::Bool, &|| "the condition of a check".to_owned());
                for operand in failure.fault.operands() {
                    v.scalar_operand_of(operand, ElementType::I64, &|| "a number in the failure of a check".to_owned());
                }
            }),
            Action::Reduce { results, to, association, combine, seeds, values } => {
                if *to as usize >= depth {
                    self.report(ProgramFault::ReduceTo { depth: statement.depth, to: *to });
                }
                let types = self.combination(association, combine, seeds, values, *to as usize, scopes);
                self.define_later(results, &types, (*to as usize).min(depth), scopes);
            }
            Action::Scan { results, exclusive, totals, association, combine, seeds, values } => {
                match depth.checked_sub(1).and_then(|level| kernel.levels.get(level)) {
                    None => self.report(ProgramFault::Scan { why: "at depth 0 has no level around it" }),
                    Some(level) if level.order == LevelOrder::Parallel => {
                        self.report(ProgramFault::Scan { why: "is in a parallel level" });
                    }
                    Some(_) => {}
                }
                if *exclusive && seeds.is_empty() {
                    self.report(ProgramFault::Scan { why: "that is exclusive has no seeds" });
                }
                let around = depth.saturating_sub(1);
                let types = self.combination(association, combine, seeds, values, around, scopes);
                if self.count("results", results.len(), types.len()) {
                    for (result, ty) in results.iter().zip(&types) {
                        self.is_of(result, *ty, "a result of a scan");
                    }
                }
                results.iter().for_each(|result| self.define_local(result));
                scopes.define(results, depth);
                if !totals.is_empty() {
                    self.define_later(totals, &types, depth.saturating_sub(1), scopes);
                }
            }
            Action::Store { array, map, value } => {
                let element = self.accessed(kernel, *array, &[Access::Write, Access::Update], "the array of a store");
                self.index_map(kernel, *array, map);
                self.value_of(value, element, "the value of a store");
            }
            Action::Append { arrays, count, values } => {
                self.count("values", values.len(), arrays.len());
                for (array, value) in arrays.iter().zip(values) {
                    let element = self.accessed(kernel, *array, &[Access::Write], "an array of an append");
                    self.value_of(value, element, "a value of an append");
                    if let Some(0) = rank(kernel, *array) {
                        self.report(ProgramFault::RankZero { what: "an array of an append".to_owned() });
                    }
                }
                let element = self.accessed(kernel, *count, &[Access::Write], "the count of an append");
                if let Some(found) = element
                    && found != ElementType::I64
                {
                    self.report(ProgramFault::NoIndex { what: "the count of an append".to_owned(), found });
                }
                self.rank_is(kernel, *count, 0, "the count of an append");
            }
            Action::Scatter { arrays, map, combine, values, order: _, place } => self.at(place, |v| {
                v.at_least("arrays", arrays.len(), 1);
                v.count("values", values.len(), arrays.len());
                let elements: Vec<_> = arrays
                    .iter()
                    .map(|&array| v.accessed(kernel, array, &[Access::Update], "an array of a scatter"))
                    .collect();
                if let Some(first) = arrays.first() {
                    v.index_map(kernel, *first, map);
                    for array in arrays {
                        if let Some(rank) = rank(kernel, *first) {
                            v.rank_is(kernel, *array, rank, "an array of a scatter");
                        }
                    }
                }
                for (value, element) in values.iter().zip(&elements) {
                    v.value_of(value, *element, "a value of a scatter");
                }
                let params: Vec<_> = elements.iter().chain(&elements).copied().collect();
                // Copies are combined when all levels are done.
                v.seen_at(0, scopes, |v| v.kernel_function("combine", combine, &params, &elements));
            }),
        }
    }

    /// Defines what is seen at a depth around this one, after what is inside of it.
    fn define_later(&mut self, locals: &[Local], types: &[Option<ElementType>], depth: usize, scopes: &mut Scopes) {
        if self.count("results", locals.len(), types.len()) {
            for (local, ty) in locals.iter().zip(types) {
                self.is_of(local, *ty, "a result");
            }
        }
        for local in locals {
            self.define_local(local);
            self.set_local_open(local.id, false);
            scopes.later[depth].push(local.id);
        }
    }

    /// Checks something that sees the locals of a depth and of those around it, and none from deeper levels.
    fn seen_at(&mut self, depth: usize, scopes: &Scopes, check: impl FnOnce(&mut Self)) {
        let deeper = || scopes.open.iter().skip(depth + 1).flatten();
        deeper().for_each(|&id| self.set_local_open(id, false));
        check(self);
        deeper().for_each(|&id| self.set_local_open(id, true));
    }

    /// What reduces and scans have in common; the types of the values. Seeds and what is combined with them are of the depth `around`.
    fn combination(
        &mut self,
        association: &Association,
        combine: &'p Lambda,
        seeds: &[ScalarOperand],
        values: &[ScalarOperand],
        around: usize,
        scopes: &Scopes,
    ) -> Vec<Option<ElementType>> {
        let lanes = match *association {
            Association::InOrder => None,
            Association::Interleaved { lanes } | Association::Runs { lanes } => Some(lanes),
            Association::Ragged { lanes, least: _ } => Some(lanes),
            Association::Tiles { lanes, total_lanes } => {
                if total_lanes != 0 && !may_be_lanes(total_lanes) {
                    self.report(ProgramFault::Lanes { lanes: total_lanes });
                }
                Some(lanes)
            }
        };
        if let Some(lanes) = lanes.filter(|&lanes| !may_be_lanes(lanes)) {
            self.report(ProgramFault::Lanes { lanes });
        }
        self.at_least("values", values.len(), 1);
        let types: Vec<_> =
            values.iter().map(|value| self.scalar_operand(value, &|| "a value that is combined".to_owned())).collect();
        self.seen_at(around, scopes, |v| {
            if !seeds.is_empty() && v.count("seeds", seeds.len(), values.len()) {
                for (seed, ty) in seeds.iter().zip(&types) {
                    v.value_of(seed, *ty, "a seed");
                }
            }
            let params: Vec<_> = types.iter().chain(&types).copied().collect();
            v.kernel_function("combine", combine, &params, &types);
        });
        types
    }

    fn kernel_function(
        &mut self,
        field: &'static str,
        f: &'p Lambda,
        params: &[Option<ElementType>],
        results: &[Option<ElementType>],
    ) {
        self.within(PathStep::Field(field), |v| {
            let given = v.body(f, Some(params));
            v.results_are(&given, results, "results of the function", "result");
        });
    }

    fn is_of(&mut self, local: &Local, ty: Option<ElementType>, what: &str) {
        if let Some(expected) = ty
            && local.ty != expected
        {
            self.report(ProgramFault::WrongElement { what: what.to_owned(), found: local.ty, expected });
        }
    }

    fn value_of(&mut self, value: &ScalarOperand, ty: Option<ElementType>, what: &str) {
        match ty {
            Some(ty) => self.scalar_operand_of(value, ty, &|| what.to_owned()),
            None => _ = self.scalar_operand(value, &|| what.to_owned()),
        }
    }

    fn accessed(
        &mut self,
        kernel: &Kernel,
        array: KernelArrayId,
        access: &[Access],
        what: &str,
    ) -> Option<ElementType> {
        let Some(found) = kernel.arrays.get(array.index()) else {
            let (what, arrays) = (what.to_owned(), kernel.arrays.len());
            self.report(ProgramFault::NoArray { what, array: array.0, arrays });
            return None;
        };
        if !access.contains(&found.access) {
            let expected = access.first().map_or("", |access| access_name(*access));
            let (what, array) = (what.to_owned(), found.name.clone());
            self.report(ProgramFault::Access { what, array, found: access_name(found.access), expected });
        }
        Some(found.element)
    }

    fn rank_is(&mut self, kernel: &Kernel, array: KernelArrayId, expected: usize, what: &str) {
        if let Some(found) = rank(kernel, array)
            && found != expected
        {
            self.report(ProgramFault::WrongRank { what: what.to_owned(), found, expected });
        }
    }

    fn index_map(&mut self, kernel: &Kernel, array: KernelArrayId, map: &IndexMap) {
        if let Some(rank) = rank(kernel, array) {
            self.count("dimensions of the map", map.dims.len(), rank);
        }
        for (dim, index) in map.dims.iter().enumerate() {
            for &(_, local) in &index.terms {
                let operand = ScalarOperand::Local(local);
                self.scalar_operand_of(&operand, ElementType::I64, &|| format!("a term of dimension {dim}"));
            }
            if !index.terms.is_sorted_by(|a, b| a.1 < b.1) {
                self.report(ProgramFault::Terms { dim });
            }
        }
    }

    /// Functions read no array that the kernel writes: which elements are there already would depend on the schedule.
    fn read_by_code(&mut self, statement: &Statement, kernel: &Kernel) {
        let (mut code, mut read) = (Vec::new(), Vec::new());
        for part in statement.parts() {
            match part {
                StatementPart::Body(body) => code.extend(body.arrays_read()),
                StatementPart::Array(array, Access::Read) => read.push(array),
                _ => {}
            }
        }
        if let Action::Load { .. } = statement.action {
            read.clear();
        }
        read.extend(code.into_iter().map(KernelArrayId::of_code));
        for array in read.into_iter().filter(|array| array.index() < kernel.arrays.len()) {
            self.accessed(kernel, array, &[Access::Read], "an array that code reads");
        }
    }

    fn read_alone(&mut self, kernel: &Kernel, array: KernelArrayId) {
        let array = kernel.arrays.get(array.index()).map_or(array.to_string(), |array| array.name.clone());
        self.report(ProgramFault::ReadAlone { array });
    }
}

/// More than a block of a reduce has elements would only be absent; scratch memory is made for each.
fn may_be_lanes(lanes: u32) -> bool {
    lanes.is_power_of_two() && i64::from(lanes) <= BLOCK
}

fn rank(kernel: &Kernel, array: KernelArrayId) -> Option<usize> {
    kernel.arrays.get(array.index()).map(|array| array.extents.len())
}

fn access_name(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::Update => "update",
    }
}
