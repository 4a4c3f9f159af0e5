//! Concatenation: each source is copied to its part of the result.

use fusebox_ir::{Access, ArrayId, Binary, Binding, LevelOrder, ScalarOperand, Step, ValueId};

use super::{Lower, Origin};
use crate::{bounds::linear::Linear, error::Error, locals::scalar_code, nest::ProgramPoint};

impl<'p> Lower<'p> {
    /// One kernel for each source, which copies it to its part of the result.
    pub(super) fn concat(
        &mut self,
        binding: &Binding,
        sources: &[ArrayId],
        dim: usize,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let sources: Vec<ValueId> = sources.iter().map(|&id| self.array(id)).collect();
        let results = self.results(&binding.results, origin, steps)?;
        let result = results[0];
        let mut offset = Linear::default();
        for (number, &source) in sources.iter().enumerate() {
            let ty = self.values.ty(source).clone();
            let own = self.values.form(ty.extents[dim]);
            let mut nest = self.nest(origin);
            let index: Vec<ScalarOperand> =
                ty.extents.iter().map(|&extent| nest.level_over(extent, LevelOrder::Parallel)).collect();
            let at = ProgramPoint::before(nest.depth());
            let mut code = scalar_code();
            let element = nest.read(&mut code, source, index.clone(), &binding.place);
            let element = nest.run(code, &[element], at)[0];
            let mut target = index;
            let shift = nest.linear(&offset, ProgramPoint::before(0));
            target[dim] = nest.binary(Binary::Add, target[dim], shift, at);
            let access = if number == 0 { Access::Write } else { Access::Update };
            nest.store(result, access, &target, element, at, None);
            let launch = nest.finish();
            self.launch(launch, steps);
            offset = offset.plus(&own, 1);
        }
        Ok(())
    }
}
