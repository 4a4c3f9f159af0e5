//! Statements of kernels: the operands, arrays and functions of each action, and the types of what it gives.

use super::Scopes;
use crate::{
    Access, Action, Association, ElementType, IndexMap, Kernel, KernelArrayId, Lambda, LevelOrder, Local, ScalarOp,
    ScalarOperand, Statement, StatementPart,
    association::BLOCK,
    validate::{
        ProgramFault,
        context::{PathStep, Validator},
    },
};

impl<'p> Validator<'p> {
    pub(super) fn statement(&mut self, statement: &'p Statement, kernel: &'p Kernel, scopes: &mut Scopes) {
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
