//! What the tests share: a device, arrays on it, kernels by their text.
#![allow(dead_code)]

use fusebox_ptx_sim::{Counts, Device, Fault, FaultKind, Launch, Module, Options};
use std::hash::{Hash, Hasher};

/// A kernel with this body, whose registers are declared: `%r` of 32 bits, `%d` of 64, `%h` of 16, `%f` and `%e` floats, `%p` predicates.
pub fn kernel(params: &str, body: &str) -> String {
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k({params})\n{{\n\
         .reg .pred %p<20>; .reg .b16 %h<20>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<20>; .reg .f64 %e<20>;\n{body}\n}}\n"
    )
}

/// A text as a module. If `FUSEBOX_PTX_OUT` names a folder, the text is left there for the assembler.
pub fn parsed(text: &str) -> Module {
    if let Some(folder) = std::env::var_os("FUSEBOX_PTX_OUT") {
        let mut hasher = std::hash::DefaultHasher::new();
        text.hash(&mut hasher);
        let file = std::path::Path::new(&folder).join(format!("test-sim-{:016x}.ptx", hasher.finish()));
        std::fs::write(&file, text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    Module::parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

pub fn line(blocks: u32, threads: u32) -> Launch {
    Launch { grid: [blocks, 1, 1], block: [threads, 1, 1], shared: 0 }
}

pub fn seeded(seed: u64) -> Options {
    Options { seed, ..Options::default() }
}

/// An array of words with these values.
pub fn words(device: &mut Device, name: &str, values: &[u32]) -> u64 {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let address = device.allocate(name, bytes.len() as u64).unwrap();
    device.write(address, &bytes).unwrap();
    address
}

pub fn read_words(device: &mut Device, address: u64, count: usize) -> Vec<u32> {
    let bytes = device.read(address, 4 * count as u64).unwrap();
    bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The fault of a launch with one array `a` of words.
pub fn fault(text: &str, launch: Launch, values: &[u32]) -> Fault {
    let mut device = Device::new(Options::default());
    let a = words(&mut device, "a", values);
    device.launch(&parsed(text), "k", launch, &[a]).expect_err("this kernel has a fault")
}

/// The array after a launch, for some seeds.
pub fn results(text: &str, launch: Launch, values: &[u32]) -> Vec<u32> {
    let module = parsed(text);
    let mut all: Vec<Vec<u32>> = Vec::new();
    for seed in 0..8 {
        let mut device = Device::new(seeded(seed));
        let a = words(&mut device, "a", values);
        device.launch(&module, "k", launch, &[a]).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        all.push(read_words(&mut device, a, values.len()));
    }
    assert!(all.iter().all(|found| *found == all[0]), "results depend on the seed");
    all.swap_remove(0)
}

pub fn kind(fault: &Fault) -> FaultKind {
    fault.kind
}

pub fn counts(text: &str, launch: Launch, values: &[u32]) -> Counts {
    let mut device = Device::new(Options::default());
    let a = words(&mut device, "a", values);
    device.launch(&parsed(text), "k", launch, &[a]).unwrap()
}
