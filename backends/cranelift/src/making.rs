//! The machine code of the kernels of a plan, while it is made: of few functions at a time, as those of large plans take much memory.

use std::sync::Arc;

use fusebox_backend::{BackendError, Few};
use fusebox_ir::{
    Action, Kernel, KernelArrayId,
    analysis::kernels::{AcrossLanes, Lanes, in_partitions, row_lengths},
};
use fusebox_schedule::shares::ShareUnit;
use fusebox_wide::Code;

use crate::{
    alike::Alike,
    code_memory::{CodeMemory, CodeMemoryBuilder, DefinedFunction},
    estimate,
    kernel::CompiledKernel,
    launch::measured::Measured,
    loaded_kernel::{LoadedKernel, Partitioned},
};

/// Kernels, some of them machine code.
pub(crate) struct Making<'p> {
    kernels: Vec<&'p Kernel>,
    pub(crate) maker: CodeMemoryBuilder,
    /// Of each kernel, once it is there.
    pub(crate) made: Vec<Option<Made>>,
}

/// The machine code of one kernel.
pub(crate) struct Made {
    /// Its functions without their bodies.
    functions: CompiledKernel,
    pub(crate) codes: Vec<DefinedFunction>,
    wide: bool,
}

impl<'p> Making<'p> {
    pub(crate) fn new(kernels: Vec<&'p Kernel>) -> Result<Self, BackendError> {
        let made = kernels.iter().map(|_| None).collect();
        Ok(Self { kernels, maker: CodeMemoryBuilder::new()?, made })
    }

    /// Makes what is not there yet, of kernels that are alike once: `emitted` gives the functions of a kernel, or none if it is not to be made
    /// now; `codes` what of them is machine code already, or none if they cannot be.
    /// Whether that is code for vectors of 64 or 32 bytes.
    pub(crate) fn all(
        &mut self,
        wide: bool,
        emitted: impl Fn(usize, &Kernel) -> Result<Option<CompiledKernel>, BackendError>,
        codes: impl Fn(&Kernel, &CompiledKernel) -> Result<Option<Vec<Option<Code>>>, BackendError>,
    ) -> Result<(), BackendError> {
        let (mut alike, mut positions) = (Alike::default(), Vec::new());
        for (position, &kernel) in self.kernels.iter().enumerate() {
            if self.made[position].is_none()
                && let Some(functions) = emitted(position, kernel)?
            {
                alike.add(kernel, functions);
                positions.push(position);
            }
        }
        let mut defined: Vec<Option<Vec<DefinedFunction>>> = Vec::with_capacity(positions.len());
        for (functions, &position) in alike.finish().into_iter().zip(&positions) {
            let mut functions = functions;
            let kernel = self.kernels[position];
            let own = if functions.first < defined.len() {
                defined[functions.first].clone()
            } else {
                let codes = codes(kernel, &functions)?;
                codes.map(|codes| self.maker.all(&kernel.name.0, &functions, codes)).transpose()?
            };
            functions.drop_bodies();
            self.made[position] = own.clone().map(|codes| Made { functions, codes, wide });
            defined.push(own);
        }
        Ok(())
    }
}

impl Made {
    /// With what launches ask of the kernel.
    pub(crate) fn loaded(self, kernel: &Kernel, memory: &CodeMemory) -> LoadedKernel {
        let Self { functions, codes, wide } = self;
        let nests = || functions.schedule.iter().flat_map(|schedule| &schedule.versions).map(|version| &version.nest);
        let by_elements = nests().any(|nest| nest.by_elements());
        let rows_again = nests().any(|nest| nest.goes_over_rows_again(kernel.levels.len()));
        let lines_again = nests().any(|nest| nest.goes_over_lines_again(kernel.levels.len()));
        let partitioned = (functions.schedule.iter().flat_map(|schedule| schedule.versions.last()))
            .find_map(|version| version.nest.partitioned())
            .and_then(|(statement, targets, from)| {
                let record = in_partitions(kernel, statement).ok()?.bytes;
                Some(Partitioned { statement, record, targets, from })
            });
        let last = functions.schedule.iter().flat_map(|schedule| schedule.versions.last());
        let gang = functions.gang.filter(|gang| gang.level == 0).map_or(1, |gang| gang.lanes);
        let shares = last.clone().next().map(|version| ShareUnit::of(&version.nest, kernel.levels.len()));
        let shares = shares.unwrap_or(ShareUnit::Steps(gang));
        let copied = last.flat_map(|version| version.nest.copied()).collect();
        let parts = codes.into_iter().zip(&functions.parts);
        LoadedKernel {
            parts: parts.map(|(made, (part, function))| (*part, memory.code(made, function))).collect(),
            work: estimate::statements(kernel, functions.gang, functions.schedule.as_ref()),
            measured: Measured::of(kernel).map(Arc::new),
            trials: Arc::default(),
            turns: Arc::default(),
            wide,
            lengths: by_elements.then(|| row_lengths(kernel)).flatten(),
            read_again: if rows_again { read_at_each_step(kernel) } else { Few::new() },
            lines_again,
            inner_gang: functions
                .gang
                .filter(|gang| gang.level > 0)
                .map(|_| nests().map(|nest| nest.gangs_from(kernel.levels.len())).min().unwrap_or(0)),
            shares,
            hidden: functions.hidden,
            partitioned,
            copied,
            row: None,
            versions: Vec::new(),
        }
    }
}

/// Arrays of which steps of the outermost level read elements of their own.
fn read_at_each_step(kernel: &Kernel) -> Few<KernelArrayId> {
    let lanes = Lanes::of(kernel, 0);
    let mut found = Few::new();
    for statement in &kernel.statements {
        if let Action::Load { array, map, .. } = &statement.action
            && lanes.position(map) != AcrossLanes::Uniform
            && !found.contains(array)
        {
            found.push(*array);
        }
    }
    found
}
