//! The scripts of a plan, as machine code.

use std::collections::HashMap;

use fusebox_backend::BackendError;
use fusebox_ir::{Plan, Step, ValueId};

use super::{
    lower,
    script::{LaneCode, Script},
};
use crate::{
    code_memory::{CodeMemory, CodeMemoryBuilder},
    loaded_kernel::LoadedKernel,
};

/// What lanes do that run one at a time, by the value that holds the number of the lane.
#[derive(Debug, Default)]
pub(crate) struct Scripts {
    codes: HashMap<ValueId, LaneCode>,
    /// Owns what the functions are in.
    _memory: Option<CodeMemory>,
}

impl Scripts {
    /// Of all steps of lanes that have one.
    ///
    /// # Errors
    /// [`BackendError::Compile`].
    pub(crate) fn of(plan: &Plan, kernels: &[LoadedKernel]) -> Result<Self, BackendError> {
        let steps = plan.steps.iter().flat_map(Step::within);
        let scripts: Vec<(ValueId, Script)> = steps.filter_map(|step| Script::of(plan, step, kernels)).collect();
        if scripts.is_empty() {
            return Ok(Self::default());
        }
        let mut maker = CodeMemoryBuilder::new()?;
        let made = scripts
            .iter()
            .map(|(_, script)| maker.lane(&plan.name, |builder, config| lower::lower(script, builder, config)));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        let memory = maker.finish()?;
        let codes = scripts.into_iter().zip(made);
        let codes =
            codes.map(|((lane, script), made)| (lane, LaneCode { script, function: memory.lane(made) })).collect();
        Ok(Self { codes, _memory: Some(memory) })
    }

    pub(crate) fn get(&self, lane: ValueId) -> Option<&LaneCode> {
        self.codes.get(&lane)
    }

    pub(crate) fn len(&self) -> usize {
        self.codes.len()
    }
}
