//! Random programs on a simulated device with as little memory as they run in, twice, on arrays that stay there.

use crate::common::proved;
use fusebox_backend::{BackendError, DeviceArray, Program, Statistics};
use fusebox_conformance::{Way, Ways};
use fusebox_ir::{Array, Fault, Plan, RunError};
use fusebox_ptx::{DeviceMemory, PtxBackend, sim::Simulator};
use fusebox_schedule::Target;

/// A device of so many bytes at first.
const LEAST: u64 = 1 << 9;
/// More than any of the programs needs.
const MOST: u64 = 1 << 28;

struct Tight;

impl Ways for Tight {
    fn package(&self) -> &'static str {
        "fusebox-ptx"
    }

    fn part(&self) -> u64 {
        15
    }

    fn of(&self, plan: &Plan, seed: Option<u64>) -> Vec<Way> {
        let seed = seed.unwrap_or(0);
        vec![("little memory".into(), Ok(Box::new(OnLittle { plan: plan.clone(), seed }) as Box<dyn Program>))]
    }
}

/// A program that is run on the smallest device on which it can be.
struct OnLittle {
    plan: Plan,
    seed: u64,
}

impl OnLittle {
    /// Two runs on the same arrays, on a device with so many bytes for arrays.
    fn run_twice(&self, inputs: &[Array], limit: u64) -> Result<(Vec<Array>, Statistics), BackendError> {
        let simulated = Simulator::new(fusebox_ptx::sim::Options { seed: self.seed, ..Default::default() });
        let simulated = if self.seed.is_multiple_of(2) { simulated } else { simulated.that_keeps_blocks() };
        let memory = DeviceMemory::with_limit(simulated, limit);
        let target = ["sm_70", "sm_80", "sm_90"][self.seed as usize % 3];
        let backend = PtxBackend::with_memory(memory, Target::named(target).unwrap());
        let program = backend.compile_proved_plan(&proved(&self.plan))?.load_plan()?;
        let given = inputs.iter().map(|input| program.to_device(input)).collect::<Result<Vec<DeviceArray>, _>>()?;
        drop(program.run_resident(&given)?);
        let (results, statistics) = program.run_resident(&given)?;
        assert!(backend.device().used_bytes() <= limit);
        Ok((results.iter().map(DeviceArray::to_host).collect::<Result<_, _>>()?, statistics))
    }
}

impl Program for OnLittle {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run_into(&self, inputs: &[Array], results: &mut Vec<Array>) -> Result<Statistics, BackendError> {
        let mut limit = LEAST;
        loop {
            match self.run_twice(inputs, limit) {
                // What is larger than the device is too large, and what does not fit beside other arrays has no room.
                Err(
                    BackendError::NoRoom { .. } | BackendError::Run(RunError { fault: Fault::TooLarge { .. }, .. }),
                ) if limit < MOST => {
                    limit *= 2;
                }
                Err(error) => return Err(error),
                Ok((made, statistics)) => {
                    *results = made;
                    return Ok(statistics);
                }
            }
        }
    }
}

fusebox_conformance::generated!(Tight);
