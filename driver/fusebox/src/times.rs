//! What each kernel of a run took.

use std::collections::BTreeMap;

use fusebox_backend::LaunchTime;
use fusebox_ir::{
    Array, Extent, Plan, ValueId,
    analysis::counts::{Polynomial, launch_traffic, plan_names},
};

use crate::{KernelTime, KernelTimes};

/// Adds up the launches of a run.
pub(crate) fn times(plan: &Plan, inputs: &[Array], launches: &[LaunchTime]) -> KernelTimes {
    let mut kernels: BTreeMap<usize, KernelTime> = BTreeMap::new();
    for launch in launches {
        let Some(kernel) = plan.kernels.get(launch.kernel) else { continue };
        let traffic = launch_traffic(kernel, &launch.sizes);
        let number = |count: &Polynomial| count.as_constant().and_then(|count| u64::try_from(count).ok());
        let sum = kernels.entry(launch.kernel).or_insert_with(|| KernelTime {
            kernel: launch.kernel,
            name: kernel.name.0.clone(),
            launches: 0,
            milliseconds: 0.0,
            bytes_read: Some(0),
            bytes_written: Some(0),
            flops: Some(0),
        });
        let add =
            |sum: &mut Option<u64>, count| *sum = sum.zip(number(count)).map(|(sum, count)| sum.saturating_add(count));
        sum.launches += 1;
        sum.milliseconds += launch.time.as_secs_f64() * 1e3;
        add(&mut sum.bytes_read, &traffic.bytes_read);
        add(&mut sum.bytes_written, &traffic.bytes_written);
        add(&mut sum.flops, &traffic.flops);
    }
    // To the nanosecond: what is beyond was not measured.
    let rounded = |kernel: KernelTime| KernelTime { milliseconds: (kernel.milliseconds * 1e6).round() / 1e6, ..kernel };
    KernelTimes { sizes: sizes(plan, inputs), kernels: kernels.into_values().map(rounded).collect() }
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
