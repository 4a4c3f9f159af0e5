#![doc = include_str!("../README.md")]

mod asked;
pub mod device_memory;
mod error;
mod execute;
mod flight;
mod inputs;
mod lock;
mod machine;
mod pool;
mod profile;
mod replay;
mod resident;
mod turns;
mod unrolled;

use fusebox_ir::{Array, Plan, ProvedPlan};

use crate::device_memory::Transfers;

pub use crate::{
    asked::{AtOnce, Extents, Few, Given, Joined, LaneStep, Lanes, Launch, LaunchArray, Sort, Stored},
    error::BackendError,
    execute::{LaneRun, Statistics, Values, execute},
    flight::{Running, start},
    inputs::{Input, check_inputs},
    lock::lock,
    machine::Machine,
    pool::Pool,
    profile::{LaunchTime, is_wanted, profiled, timed, took},
    replay::{Course, Recording, Recordings},
    resident::{DeviceArray, OnDevice},
    turns::{RowBytes, RowShape, TurnArray, TurnLaunch, Turns},
    unrolled::{RowRun, Unrolled, Version, VersionMemory},
};

/// Something that runs plans.
pub trait Backend: Send + Sync {
    /// The name by which the backend is chosen: `cpu`, `cuda`.
    fn name(&self) -> &'static str;

    /// Compiles a plan; no device is needed. Whatever the plan says, its runs touch no memory but that of its arrays.
    ///
    /// # Errors
    /// [`BackendError::BadPlan`] if it is not valid, [`BackendError::Unsupported`], [`BackendError::Compile`].
    fn compile(&self, plan: &Plan) -> Result<Box<dyn Compiled>, BackendError>;

    /// As [`Self::compile`], for a plan that lowering made: indices that the plan does not check are not checked.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`], [`BackendError::Compile`].
    fn compile_proved(&self, plan: &ProvedPlan) -> Result<Box<dyn Compiled>, BackendError>;
}

/// A compiled plan, not yet on a device.
pub trait Compiled: Send + Sync {
    /// The code as text, for people and snapshots.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`], [`BackendError::Compile`].
    fn text(&self) -> Result<String, BackendError>;

    /// Brings the code to the device.
    ///
    /// # Errors
    /// [`BackendError::Compile`] if the device refuses it.
    fn load(&self) -> Result<Box<dyn Program>, BackendError>;
}

/// A loaded plan: runs any number of times, from any number of threads at once.
pub trait Program: Send + Sync {
    /// What it runs.
    fn plan(&self) -> &Plan;

    /// Runs on these inputs, in the order of the plan's; gives its results, in order.
    ///
    /// # Errors
    /// [`BackendError::BadInput`] before anything runs; [`BackendError::Run`] for what fails inside.
    fn run(&self, inputs: &[Array]) -> Result<Vec<Array>, BackendError> {
        self.run_with_statistics(inputs).map(|(results, _)| results)
    }

    /// As [`Self::run`]; says what the run took too.
    ///
    /// # Errors
    /// As [`Self::run`].
    fn run_with_statistics(&self, inputs: &[Array]) -> Result<(Vec<Array>, Statistics), BackendError> {
        let mut results = Vec::with_capacity(self.plan().results.len());
        let statistics = self.run_into(inputs, &mut results)?;
        Ok((results, statistics))
    }

    /// As [`Self::run`], with results in the place of what `results` held, whose memory is used again. On the CPU a run whose results take the
    /// memory of earlier ones allocates nothing.
    ///
    /// # Errors
    /// As [`Self::run`]; then there are no results.
    fn run_into(&self, inputs: &[Array], results: &mut Vec<Array>) -> Result<Statistics, BackendError>;

    /// What was copied between the host and the device so far, by all programs that run on it; nothing where programs run in the host's
    /// memory.
    fn transfers(&self) -> Transfers {
        Transfers::default()
    }

    /// Brings an array to the device that runs the program, where it stays for any number of runs, of other programs too.
    ///
    /// Where that memory is the host's, as it is unless a backend says otherwise, nothing is copied.
    ///
    /// # Errors
    /// [`BackendError::NoRoom`]; what the device says.
    fn to_device(&self, array: &Array) -> Result<DeviceArray, BackendError> {
        Ok(DeviceArray::of_host(array.clone()))
    }

    /// As [`Self::run_with_statistics`], from and to arrays that stay on the device: nothing is copied to the host, nor from it what is there
    /// already. Inputs keep their values. An array of another device goes through the host.
    ///
    /// # Errors
    /// As [`Self::run`].
    fn run_resident(&self, inputs: &[DeviceArray]) -> Result<(Vec<DeviceArray>, Statistics), BackendError> {
        let inputs = inputs.iter().map(DeviceArray::to_host).collect::<Result<Vec<Array>, _>>()?;
        let (results, statistics) = self.run_with_statistics(&inputs)?;
        Ok((results.into_iter().map(DeviceArray::of_host).collect(), statistics))
    }
}
