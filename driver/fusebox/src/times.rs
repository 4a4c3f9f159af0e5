//! What each kernel of a run took.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Mutex,
};

use fusebox_backend::{LaunchTime, lock};
use fusebox_ir::{
    Array, Extent, Kernel, Plan, ValueId,
    analysis::counts::{Polynomial, launch_traffic, plan_names},
};

use crate::{KernelTime, KernelTimes};

/// What a launch reads, writes and computes: bytes, bytes, operations; none of what hangs on data.
type Counts = [Option<u64>; 3];

/// Launches whose counts are kept, at most.
const MAX_COUNTED: usize = 1 << 14;

/// Counts of the launches of a plan, kept from run to run: to count takes longer than most launches of lanes do, and who measures runs wants them one
/// soon after the other.
#[derive(Debug, Default)]
pub(crate) struct LaunchCounts {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By kernel, then by sizes.
    by_kernel: HashMap<usize, HashMap<Vec<i64>, Counts>>,
    /// How many.
    launches: usize,
}

impl LaunchCounts {
    /// Adds up the launches of a run.
    pub(crate) fn times(&self, plan: &Plan, inputs: &[Array], launches: &[LaunchTime]) -> KernelTimes {
        let mut known = lock(&self.known);
        let mut kernels: BTreeMap<usize, KernelTime> = BTreeMap::new();
        for launch in launches {
            let Some(kernel) = plan.kernels.get(launch.kernel) else { continue };
            let [read, written, flops] = known.of(launch, kernel);
            let sum = kernels.entry(launch.kernel).or_insert_with(|| KernelTime {
                kernel: launch.kernel,
                name: kernel.name.0.clone(),
                launches: 0,
                milliseconds: 0.0,
                bytes_read: Some(0),
                bytes_written: Some(0),
                flops: Some(0),
            });
            let add = |sum: &mut Option<u64>, count: Option<u64>| {
                *sum = sum.zip(count).map(|(sum, count)| sum.saturating_add(count));
            };
            sum.launches += 1;
            sum.milliseconds += launch.time.as_secs_f64() * 1e3;
            add(&mut sum.bytes_read, read);
            add(&mut sum.bytes_written, written);
            add(&mut sum.flops, flops);
        }
        // To the nanosecond: what is beyond was not measured.
        let rounded =
            |kernel: KernelTime| KernelTime { milliseconds: (kernel.milliseconds * 1e6).round() / 1e6, ..kernel };
        KernelTimes { sizes: sizes(plan, inputs), kernels: kernels.into_values().map(rounded).collect() }
    }
}

impl Known {
    fn of(&mut self, launch: &LaunchTime, kernel: &Kernel) -> Counts {
        if let Some(counts) = self.by_kernel.get(&launch.kernel).and_then(|sizes| sizes.get(&launch.sizes)) {
            return *counts;
        }
        let traffic = launch_traffic(kernel, &launch.sizes);
        let number = |count: &Polynomial| count.as_constant().and_then(|count| u64::try_from(count).ok());
        let counts = [&traffic.bytes_read, &traffic.bytes_written, &traffic.flops].map(number);
        if self.launches == MAX_COUNTED {
            *self = Self::default();
        }
        self.launches += 1;
        self.by_kernel.entry(launch.kernel).or_default().insert(launch.sizes.clone(), counts);
        counts
    }
}

impl KernelTimes {
    /// For each kernel the median of its times in some runs of a program on the same inputs; none of no runs.
    pub fn median(runs: Vec<Self>) -> Option<Self> {
        let mut times: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for kernel in runs.iter().flat_map(|run| &run.kernels) {
            times.entry(kernel.kernel).or_default().push(kernel.milliseconds);
        }
        let mut last = runs.into_iter().next_back()?;
        for kernel in &mut last.kernels {
            let Some(times) = times.get_mut(&kernel.kernel) else { continue };
            times.sort_by(f64::total_cmp);
            kernel.milliseconds = times[times.len() / 2];
        }
        Some(last)
    }
}

/// The values of sizes that types of inputs bind, and of inputs that are integers themselves.
fn sizes(plan: &Plan, inputs: &[Array]) -> BTreeMap<String, i64> {
    let names = plan_names(plan);
    let mut sizes = BTreeMap::new();
    let mut add = |id: ValueId, value: i64| names.get(id.index()).map(|name| sizes.insert(name.clone(), value));
    for (&id, input) in plan.inputs.iter().zip(inputs) {
        let Some(value) = plan.values.get(id.index()) else { continue };
        for (extent, &given) in value.ty.extents.iter().zip(input.extents()) {
            if let (Extent::Value(size), Ok(given)) = (extent, i64::try_from(given)) {
                add(*size, given);
            }
        }
        if value.ty.is_scalar()
            && value.ty.element.is_integer()
            && !input.is_empty()
            && let Some(given) = input.get(0).as_i64()
        {
            add(id, given);
        }
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_of_each_kernel() {
        let run = |times: [f64; 2]| {
            let kernel = |(kernel, &milliseconds)| KernelTime { kernel, milliseconds, ..KernelTime::default() };
            KernelTimes { kernels: times.iter().enumerate().map(kernel).collect(), ..KernelTimes::default() }
        };
        let median = KernelTimes::median(vec![run([3.0, 1.0]), run([1.0, 5.0]), run([2.0, 4.0])]);
        assert_eq!(median, Some(run([2.0, 4.0])));
        assert_eq!(KernelTimes::median(Vec::new()), None);
    }
}
