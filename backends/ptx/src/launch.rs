//! Launches of a kernel's entries, in order; what failed is read when they are done.

use fusebox_backend::{BackendError, Launch, LaunchArray};
use fusebox_ir::KernelArrayId;

use crate::{
    device::{Device, DeviceLaunch, device_error},
    failure,
    generate::{elements, steps},
    gpu::{Buffer, Gpu},
    module::{Argument, Entry, Quantity},
};

/// Most blocks of a grid; those that have done a piece go on to another.
const MOST_BLOCKS: i64 = 1 << 20;

/// What the arguments of entries stand for.
struct Places<'a> {
    sizes: &'a [i64],
    arrays: &'a [u64],
    scratch: &'a [u64],
    error: u64,
    steps: u64,
}

/// Runs a kernel.
pub(crate) fn run<D: Device>(gpu: &Gpu<'_, D>, launch: &Launch<'_, Buffer<D>>) -> Result<(), BackendError> {
    let (Some(kernel), Some(compiled), Some(loaded)) =
        (gpu.plan.kernels.get(launch.kernel), gpu.kernels.get(launch.kernel), gpu.loaded.get(launch.kernel))
    else {
        return Err(BackendError::BadPlan { message: format!("there is no kernel {}", launch.kernel) });
    };
    let (module, loaded) = loaded.of((kernel, compiled), gpu.device, launch.sizes, gpu.wide_from)?;
    let loaded = &*loaded;
    let said = |error: crate::device::DeviceError| device_error(&kernel.name.0, &error);
    let mut kept = Vec::new();
    let mut arrays = Vec::new();
    for (position, array) in launch.arrays.iter().enumerate() {
        let address = match array {
            LaunchArray::Read(buffer) => buffer.address,
            LaunchArray::Write(buffer) => buffer.address,
            LaunchArray::InPlace(other) => {
                let Some(LaunchArray::Write(buffer)) = launch.arrays.get(*other) else {
                    return Err(BackendError::BadPlan { message: "in place of what is not written".to_owned() });
                };
                if module.copied.contains(&KernelArrayId::at(position)) {
                    let id = KernelArrayId::at(position);
                    let bytes =
                        elements(kernel, launch.sizes, id) as u64 * kernel.arrays[position].element.bytes() as u64;
                    let copy = gpu.needed(bytes, &kernel.arrays[position].name)?;
                    if bytes > 0 {
                        gpu.device.copy(buffer.address, copy.address, bytes).map_err(said)?;
                    }
                    let address = copy.address;
                    kept.push(copy);
                    address
                } else {
                    buffer.address
                }
            }
        };
        arrays.push(address);
    }
    let slot_bytes = failure::slot_bytes(&module.sites);
    let slot = gpu.needed(slot_bytes, "the error slot")?;
    gpu.device.clear(slot.address, slot_bytes).map_err(said)?;
    let counts = gpu.needed(8 * module.counted.max(1) as u64, "numbers of steps")?;
    let mut places =
        Places { sizes: launch.sizes, arrays: &arrays, scratch: &[], error: slot.address, steps: counts.address };
    let check = |result: Result<(), crate::device::DeviceError>| {
        // What a check found says more than what the device makes of the rest.
        if !module.sites.is_empty() || result.is_err() {
            let slot = gpu.bytes_of(&slot, slot_bytes as usize);
            if let Some(error) = slot.ok().and_then(|slot| failure::error(&module.sites, &slot)) {
                return Err(error.into());
            }
        }
        result.map_err(said)
    };
    let none = |_: KernelArrayId| 0;
    let numbers: Vec<i64> = match &module.count {
        Some(entry) => {
            check(start(gpu, loaded, entry, &places, &[], &none))?;
            let bytes = gpu.bytes_of(&counts, 8 * module.counted)?;
            bytes.chunks_exact(8).map(|word| i64::from_le_bytes(word.try_into().unwrap_or_default())).collect()
        }
        None => (0..kernel.levels.len()).map_while(|level| steps(kernel, launch.sizes, level)).collect(),
    };
    let size = |array: KernelArrayId| elements(kernel, launch.sizes, array);
    let mut scratch = Vec::new();
    for memory in &module.scratch {
        let bytes = memory.bytes.value(&numbers, &size).max(0) as u64;
        let buffer = gpu.needed(bytes, &format!("memory to work in, of {}", kernel.name.0))?;
        if memory.zeros && bytes > 0 {
            gpu.device.clear(buffer.address, bytes).map_err(said)?;
        }
        scratch.push(buffer);
    }
    let addresses: Vec<u64> = scratch.iter().map(|buffer| buffer.address).collect();
    places.scratch = &addresses;
    for entry in &module.entries {
        let result = start(gpu, loaded, entry, &places, &numbers, &size);
        if result.is_err() {
            return check(result);
        }
    }
    check(if module.sites.is_empty() { Ok(()) } else { gpu.device.synchronise() })
}

/// Launches one entry.
fn start<D: Device>(
    gpu: &Gpu<'_, D>,
    loaded: &D::Module,
    entry: &Entry,
    places: &Places<'_>,
    steps: &[i64],
    size: &dyn Fn(KernelArrayId) -> i64,
) -> Result<(), crate::device::DeviceError> {
    let argument = |argument: &Argument| match *argument {
        Argument::Size(position) => places.sizes.get(position).copied().unwrap_or(0) as u64,
        Argument::Array(id) => places.arrays.get(id.index()).copied().unwrap_or(0),
        Argument::Error => places.error,
        Argument::Scratch(position) => places.scratch.get(position).copied().unwrap_or(0),
        Argument::Steps => places.steps,
    };
    let arguments: Vec<u64> = entry.arguments.iter().map(argument).collect();
    let blocks = entry.blocks.value(steps, size).saturating_add(i64::from(entry.one_more));
    let blocks = blocks.clamp(1, if entry.any_blocks { MOST_BLOCKS } else { i64::from(i32::MAX) });
    let _: &Quantity = &entry.blocks;
    let launch =
        DeviceLaunch { entry: &entry.name, blocks: blocks as u32, threads: entry.threads, arguments: &arguments };
    gpu.device.launch(loaded, &launch)
}
