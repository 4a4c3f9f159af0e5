//! Operations that make each element by itself: one kernel of parallel levels.

use fusebox_ir::{Access, ArrayId, ArrayOp, Binding, LevelOrder, ScalarOp, ScalarOperand, Step};

use super::{Lower, Origin};
use crate::{
    error::Error,
    linear::Linear,
    nest::{Deferred, Spot},
    strict::Code,
};

impl<'p> Lower<'p> {
    pub(super) fn elementwise(
        &mut self,
        binding: &Binding,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let sources: Vec<ArrayId> = match &binding.op {
            ArrayOp::Compute { sources }
            | ArrayOp::Map { sources, .. }
            | ArrayOp::Backpermute { sources, .. }
            | ArrayOp::Transform { sources, .. }
            | ArrayOp::Replicate { sources, .. }
            | ArrayOp::Slice { sources, .. } => sources.iter().map(|&id| self.array(id)).collect(),
            _ => Vec::new(),
        };
        // Indices of slices are looked up before results come into scope.
        let dims: Vec<Option<fusebox_ir::Operand>> = match &binding.op {
            ArrayOp::Replicate { dims, .. } | ArrayOp::Slice { dims, .. } => {
                dims.iter().map(|dim| dim.map(|operand| self.operand(operand))).collect()
            }
            _ => Vec::new(),
        };
        let results = self.results(&binding.results, origin, steps)?;
        let place = &binding.place;
        self.over(&results, origin, steps, &mut |nest, code, index| {
            let mut deferred = Deferred::default();
            let read_all =
                |nest: &mut crate::nest::Nest<'_, 'p>, code: &mut Code, at: &[ScalarOperand]| -> Vec<ScalarOperand> {
                    sources.iter().map(|&source| nest.read(code, source, at.to_vec(), place)).collect()
                };
            match &binding.op {
                ArrayOp::Generate { f, .. } => nest.call(f, index, &mut deferred, code),
                ArrayOp::Map { f, .. } => {
                    let elements = read_all(nest, code, index);
                    nest.call(f, &elements, &mut deferred, code)
                }
                ArrayOp::Backpermute { f, .. } => {
                    let at = nest.call(f, index, &mut deferred, code);
                    read_all(nest, code, &at)
                }
                ArrayOp::Transform { index: to, f, .. } => {
                    let at = nest.call(to, index, &mut deferred, code);
                    let elements = read_all(nest, code, &at);
                    nest.call(f, &elements, &mut deferred, code)
                }
                ArrayOp::Replicate { .. } => {
                    let kept: Vec<ScalarOperand> =
                        dims.iter().zip(index).filter_map(|(dim, &index)| dim.is_none().then_some(index)).collect();
                    read_all(nest, code, &kept)
                }
                ArrayOp::Slice { .. } => {
                    let mut rest = index.iter().copied();
                    let at: Vec<ScalarOperand> = dims
                        .iter()
                        .map(|dim| match dim {
                            Some(operand) => nest.operand(*operand),
                            None => rest.next().unwrap_or_else(|| fusebox_ir::Constant::from(0i64).into()),
                        })
                        .collect();
                    read_all(nest, code, &at)
                }
                _ => read_all(nest, code, index),
            }
        });
        Ok(())
    }

    /// One kernel for each source, which copies it to its part of the result.
    pub(super) fn concat(
        &mut self,
        binding: &Binding,
        sources: &[ArrayId],
        dim: usize,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let sources: Vec<ArrayId> = sources.iter().map(|&id| self.array(id)).collect();
        let results = self.results(&binding.results, origin, steps)?;
        let Some(&result) = results.first() else { return Ok(()) };
        let mut offset = Linear::default();
        for (number, &source) in sources.iter().enumerate() {
            let ty = self.values.ty(source).clone();
            let own = ty.extents.get(dim).map(|&extent| self.values.form(extent)).unwrap_or_default();
            let mut nest = self.nest(origin);
            let index: Vec<ScalarOperand> =
                ty.extents.iter().map(|&extent| nest.level_over(extent, LevelOrder::Parallel)).collect();
            let at = Spot::before(nest.depth());
            let mut code = Code::default();
            let element = nest.read(&mut code, source, index.clone(), &binding.place);
            let element = nest.run(code, &[element], at)[0];
            let mut target = index;
            let shift = nest.linear(&offset, Spot::before(0));
            if let Some(along) = target.get_mut(dim) {
                let op = ScalarOp::Binary { function: fusebox_ir::Binary::Add, a: *along, b: shift };
                *along = nest.compute(op, fusebox_ir::ElementType::I64, at);
            }
            let access = if number == 0 { Access::Write } else { Access::Update };
            nest.store(result, access, &target, element, at);
            let launch = nest.finish();
            self.launch(launch, steps);
            offset = offset.plus(1, &own);
        }
        Ok(())
    }
}
