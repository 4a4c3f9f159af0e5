//! Functions of elements: what they need of the lane becomes further parameters, elements of arrays beside the sources.

use std::collections::BTreeSet;

use fusebox_ir::{ArrayId, ElementType, ElementType::I64, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart};

use super::{
    Bound, Lifter,
    checks::divides,
    code::Code,
    context::{ContextId, ROOT},
};

/// What functions need of the lane beside their parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Needs {
    /// Scalars of lanes.
    pub scalars: BTreeSet<ArrayId>,
    /// Whether arrays of lanes are read, or indices of nests used.
    pub coords: bool,
}

impl Lifter<'_> {
    /// What a function needs of the lane.
    pub fn needs(&self, f: &Lambda, needs: &mut Needs) {
        let mut waiting = vec![f];
        let mut seen = BTreeSet::new();
        while let Some(f) = waiting.pop() {
            let mut used = Vec::new();
            f.outer_uses(&mut |id| used.push(id));
            for id in used {
                if !seen.insert(id) {
                    continue;
                }
                match self.bound(id) {
                    Bound::Value(value) if value.home == ROOT => {}
                    Bound::Value(value) if value.home == value.elements && self.is_scalar(id) => {
                        _ = needs.scalars.insert(id)
                    }
                    Bound::Value(_) | Bound::Index(_) => needs.coords = true,
                    Bound::Code(f, _) => waiting.push(f),
                    Bound::Missing => {}
                }
            }
        }
    }

    /// Whether code, or code that waits and that it uses, has an error that names the lane: it divides integers, or asserts.
    fn names_lane(&self, f: &Lambda) -> bool {
        let mut waiting = vec![f];
        let mut seen = BTreeSet::new();
        while let Some(f) = waiting.pop() {
            for instruction in &f.instructions {
                let integer = instruction.results.first().is_some_and(|result| !result.ty.is_float());
                match &instruction.op {
                    ScalarOp::Assert { .. } => return true,
                    ScalarOp::Binary { function, b, .. } if divides(*function) && integer => {
                        if !matches!(b, ScalarOperand::Constant(by) if by.bits() != 0) {
                            return true;
                        }
                    }
                    op => waiting.extend(op.parts().into_iter().filter_map(|part| match part {
                        ScalarPart::Body(body) => Some(body),
                        _ => None,
                    })),
                }
            }
            f.outer_uses(&mut |id| {
                if let Bound::Code(f, _) = self.bound(id)
                    && seen.insert(id)
                {
                    waiting.push(f);
                }
            });
        }
        false
    }

    /// As [`Self::functions`], of code whose errors name the lane, which takes its coordinates.
    pub fn functions_of_lanes<const N: usize>(
        &mut self,
        context: ContextId,
        list: [(&Lambda, usize); N],
    ) -> ([Lambda; N], Vec<ArrayId>) {
        let names = context != ROOT && list.iter().any(|(f, _)| self.names_lane(f));
        self.functions_with(context, list, names)
    }

    /// Functions for each element of a context, with what they need of the lane as further parameters after the first `split` ones.
    /// Gives the functions, and the flat arrays over the context that those parameters are elements of.
    pub fn functions<const N: usize>(
        &mut self,
        context: ContextId,
        list: [(&Lambda, usize); N],
    ) -> ([Lambda; N], Vec<ArrayId>) {
        self.functions_with(context, list, false)
    }

    fn functions_with<const N: usize>(
        &mut self,
        context: ContextId,
        list: [(&Lambda, usize); N],
        coords: bool,
    ) -> ([Lambda; N], Vec<ArrayId>) {
        let mut needs = Needs { coords, ..Needs::default() };
        list.iter().for_each(|(f, _)| self.needs(f, &mut needs));
        let scalars: Vec<ArrayId> = needs.scalars.iter().copied().collect();
        let types: Vec<ElementType> = scalars.iter().map(|&id| self.source_type(id).element).collect();
        let rank = if needs.coords { self.context(context).dims.len() } else { 0 };
        let made = list.map(|(f, split)| {
            let mut code = Code::new(self, context);
            let (before, after) = f.params.split_at(split);
            let mut arguments: Vec<ScalarOperand> =
                before.iter().map(|p| code.b.param(&p.name.0, p.ty).operand).collect();
            code.scalars = scalars.iter().zip(&types).map(|(&id, &ty)| (id, code.b.param("", ty).operand)).collect();
            code.coords = (0..rank).map(|_| code.b.param("", I64).operand).collect();
            let extras: Vec<ScalarOperand> =
                code.scalars.iter().map(|(_, operand)| *operand).chain(code.coords.clone()).collect();
            arguments.extend(after.iter().map(|p| code.b.param(&p.name.0, p.ty).operand));
            let results = code.call(f, &arguments);
            (code.b.finish_needed(&results), extras)
        });
        // Of what was offered what some function takes.
        let taken: Vec<bool> = (0..scalars.len() + rank)
            .map(|at| {
                made.iter().any(|(f, extras)| {
                    let mut used = false;
                    f.for_each_operand(&mut |operand| used |= *operand == extras[at]);
                    used
                })
            })
            .collect();
        let functions = made.map(|(mut f, extras)| {
            let dropped: BTreeSet<LocalId> = extras
                .iter()
                .zip(&taken)
                .filter_map(|(extra, taken)| match extra {
                    ScalarOperand::Local(id) if !taken => Some(*id),
                    _ => None,
                })
                .collect();
            f.params.retain(|param| !dropped.contains(&param.id));
            f
        });
        let mut arrays = Vec::new();
        for (at, &id) in scalars.iter().enumerate() {
            if taken[at] {
                let value = self.scalar_value(id);
                arrays.push(self.lifted(&value, context).array);
            }
        }
        let dims = self.dims(context);
        for dim in 0..rank {
            if taken[scalars.len() + dim] {
                arrays.push(self.coordinate_of(&dims, dim));
            }
        }
        (functions, arrays)
    }

    /// The function of an index of an array whose elements have a context: its parameters are the coordinates there, and the function's
    /// own ones the indices along `steps`.
    pub fn indexed(&mut self, context: ContextId, steps: &[ContextId], f: &Lambda) -> Lambda {
        let mut code = Code::over(self, context);
        let index = code.own_indices(steps);
        let results = code.call(f, &index);
        code.b.finish_needed(&results)
    }
}
