//! A device: its memory, and the launches on it.

use crate::counts::Counts;
use crate::fault::{Fault, FaultKind};
use crate::module::{Entry, Module};
use crate::random::Random;
use crate::run::{self, Memory, Request};
use std::collections::BTreeMap;

/// How a device behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of memory.
    pub memory: u64,
    /// Decides the order of blocks and of warps: all that PTX leaves open.
    pub seed: u64,
    /// Blocks on the device at once.
    pub resident: u32,
    /// Steps of groups of lanes that a launch may take.
    pub steps: u64,
    /// Whether reading a register that nobody has written is a fault.
    pub registers: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory: 1 << 30, seed: 0, resident: 6, steps: 4_000_000_000, registers: true }
    }
}

/// The extents of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks along `x`, `y`, `z`.
    pub grid: [u32; 3],
    /// Threads of a block along `x`, `y`, `z`.
    pub block: [u32; 3],
    /// Bytes of shared memory beside what the entry declares.
    pub shared: u32,
}

/// A simulated GPU.
///
/// A fault ends the launch that it is in; memory is then as the launch has left it.
#[derive(Debug)]
pub struct Device {
    options: Options,
    memory: Memory,
    random: Random,
    launches: u32,
    /// Addresses of the variables of modules.
    globals: BTreeMap<u64, Vec<u64>>,
}

impl Device {
    /// A device with nothing on it.
    pub fn new(options: Options) -> Self {
        let (memory, random) = (Memory::new(options.memory), Random(options.seed));
        Self { options, memory, random, launches: 0, globals: BTreeMap::new() }
    }

    /// How it behaves.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Bytes that are allocated, and bytes that there are.
    pub fn usage(&self) -> (u64, u64) {
        self.memory.usage()
    }

    /// Memory that nobody has written; gives its address. The name is for faults.
    ///
    /// # Errors
    /// [`FaultKind::OutOfMemory`].
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<u64, Fault> {
        self.memory.allocate(name, bytes, false, &mut self.random)
    }

    /// Gives memory back. Its addresses are never used again, so that accesses are found.
    ///
    /// # Errors
    /// If nothing was allocated at the address, or it was freed.
    pub fn free(&mut self, address: u64) -> Result<(), Fault> {
        self.memory.free(address)
    }

    /// Copies from the host.
    ///
    /// # Errors
    /// If the bytes are not all in one allocation.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.memory.write(address, bytes)
    }

    /// Copies to the host.
    ///
    /// # Errors
    /// If the bytes are not all in one allocation, or nobody has written them.
    pub fn read(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>, Fault> {
        self.memory.read(address, bytes)
    }

    /// As [`Self::read`], also of bytes that nobody has written.
    ///
    /// # Errors
    /// If the bytes are not all in one allocation.
    pub fn read_anything(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>, Fault> {
        self.memory.read_anything(address, bytes)
    }

    /// From here on nobody has written an allocation, as if it were new.
    ///
    /// # Errors
    /// If nothing is allocated at the address.
    pub fn forget(&mut self, address: u64) -> Result<(), Fault> {
        self.memory.forget(address)
    }

    /// Runs an entry to its end. Of a parameter of 32 bits the low half of its number counts; a parameter that is an array takes a number for
    /// each eight bytes.
    ///
    /// # Errors
    /// If the launch does not fit the entry, and whatever it did that it may not do.
    pub fn launch(&mut self, module: &Module, entry: &str, launch: Launch, params: &[u64]) -> Result<Counts, Fault> {
        let of_launch = |kind, message: String| Fault { entry: entry.into(), ..Fault::of_host(kind, message) };
        let bad = |message: String| of_launch(FaultKind::BadLaunch, message);
        let Some(found) = module.entries.get(entry) else {
            let names: Vec<&str> = module.entries().collect();
            return Err(bad(format!("there is no such entry; there are: {}", names.join(", "))));
        };
        fits(found, launch).map_err(&bad)?;
        let params = layout(found, params).map_err(&bad)?;
        if !self.globals.contains_key(&module.id) {
            let addresses = self.variables(module)?;
            self.globals.insert(module.id, addresses);
        }
        self.launches += 1;
        let request = Request {
            entry: found,
            name: entry,
            launch,
            params,
            globals: &self.globals[&module.id],
            options: &self.options,
            stamp: self.launches,
        };
        run::run(request, &mut self.memory, &mut self.random).map_err(|fault| *fault)
    }

    /// Allocates the variables of a module, once.
    fn variables(&mut self, module: &Module) -> Result<Vec<u64>, Fault> {
        let mut addresses = Vec::new();
        for variable in &module.variables {
            let constant = variable.space == crate::text::tree::Space::Const;
            let address = self.memory.allocate(&variable.name, variable.bytes(), constant, &mut self.random)?;
            // Without an initial value they are zero.
            let mut bytes = vec![0; variable.bytes() as usize];
            let size = variable.ty.bytes() as usize;
            for (place, value) in bytes.chunks_mut(size).zip(variable.initial.iter().flatten()) {
                place.copy_from_slice(&value.to_le_bytes()[..size]);
            }
            self.memory.write(address, &bytes)?;
            addresses.push(address);
        }
        Ok(addresses)
    }
}

/// The limits of devices from sm_70 on.
fn fits(entry: &Entry, launch: Launch) -> Result<(), String> {
    let product = |extents: [u32; 3]| extents.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
    let (blocks, threads) = (product(launch.grid), product(launch.block));
    let most = entry.most.unwrap_or(1024).min(1024);
    match (blocks, threads) {
        (Some(0) | None, _) => return Err(format!("a grid of {:?} blocks", launch.grid)),
        (_, Some(0) | None) => return Err(format!("a block of {:?} threads", launch.block)),
        (Some(blocks), Some(threads)) => {
            if u64::from(threads) > most || launch.block[2] > 64 {
                return Err(format!("a block of {:?} threads, and at most {most} are allowed", launch.block));
            }
            if launch.grid[1] > 65_535 || launch.grid[2] > 65_535 || blocks.checked_mul(1024).is_none() {
                return Err(format!("a grid of {:?} blocks is too large", launch.grid));
            }
        }
    }
    if entry.required.is_some_and(|required| required != launch.block) {
        return Err(format!(
            "a block of {:?} threads, and the entry is written for {:?}",
            launch.block, entry.required
        ));
    }
    let shared = entry.dynamic + u64::from(launch.shared);
    if shared > 227 << 10 {
        return Err(format!("{shared} bytes of shared memory, and a block has at most {}", 227 << 10));
    }
    Ok(())
}

/// The bytes of the parameters.
fn layout(entry: &Entry, values: &[u64]) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; entry.param_bytes as usize];
    let wanted: u64 = entry.params.iter().map(|(_, size)| size.div_ceil(8)).sum();
    if wanted != values.len() as u64 {
        return Err(format!("{} parameters, and the entry has {wanted}", values.len()));
    }
    let mut values = values.iter();
    for &(offset, size) in &entry.params {
        let param = &mut bytes[offset as usize..(offset + size) as usize];
        for place in param.chunks_mut(8) {
            let value = values.next().copied().unwrap_or(0).to_le_bytes();
            place.copy_from_slice(&value[..place.len()]);
        }
    }
    Ok(bytes)
}
