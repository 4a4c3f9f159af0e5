//! The driver's library: whether it is there, and calls that cannot panic.

use crate::error::Error;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

/// A GPU of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gpu {
    /// Its number, from 0.
    pub ordinal: usize,
    /// What the maker calls it.
    pub name: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Its compute capability, major and minor: (8, 0).
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub processors: u32,
}

impl Gpu {
    /// The architecture in the words of PTX: `sm_80`.
    pub fn architecture(&self) -> String {
        format!("sm_{}{}", self.capability.0, self.capability.1)
    }
}

/// The GPUs of this machine. Nothing here panics, whatever library lies in the place of the driver.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::NoGpu`], [`Error::Driver`].
pub fn gpus() -> Result<Vec<Gpu>, Error> {
    start()?;
    let count = call("counting GPUs", result::device::get_count)?;
    let gpus: Vec<Gpu> = (0..count).map(describe).collect::<Result<_, _>>()?;
    if gpus.is_empty() { Err(Error::NoGpu) } else { Ok(gpus) }
}

fn describe(ordinal: i32) -> Result<Gpu, Error> {
    use sys::CUdevice_attribute_enum as Attribute;
    call("describing a GPU", || {
        let device = result::device::get(ordinal)?;
        // SAFETY: the device is one that the driver has given.
        let attribute = |attribute| unsafe { result::device::get_attribute(device, attribute) };
        let number = |value: i32| u32::try_from(value).unwrap_or(0);
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let processors = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // SAFETY: as above.
        let memory = unsafe { result::device::total_mem(device) }? as u64;
        let name = result::device::get_name(device)?;
        let capability = (number(major), number(minor));
        Ok(Gpu { ordinal: ordinal as usize, name, memory, capability, processors: number(processors) })
    })
}

/// Loads and initialises the driver, once in a process.
///
/// # Errors
/// [`Error::NoDriver`]; [`Error::NoGpu`] if the driver finds none; [`Error::Driver`].
pub(crate) fn start() -> Result<(), Error> {
    static STARTED: OnceLock<Result<(), Error>> = OnceLock::new();
    STARTED.get_or_init(begin).clone()
}

fn begin() -> Result<(), Error> {
    // SAFETY: what runs as the library is loaded is the code of the driver that the machine has installed.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver { looked_for: looked_for().join(", ") });
    }
    match call("starting", result::init) {
        Err(Error::Driver { said, .. }) if said == "CUDA_ERROR_NO_DEVICE" => Err(Error::NoGpu),
        outcome => outcome,
    }
}

/// Names that the library may have here.
fn looked_for() -> Vec<String> {
    let all = ["cuda", "nvcuda"].iter().flat_map(|name| cudarc::get_lib_name_candidates(name));
    // Those with versions in their names differ in nothing that a reader needs.
    let mut names: Vec<String> = all.filter(|name| !name.contains('_')).collect();
    names.sort_by_key(|name| (name.contains("64"), name.len(), name.clone()));
    names.dedup();
    names.truncate(3);
    names
}

/// The version that the driver says it has: 12020 is 12.2.
pub(crate) fn version() -> Result<i32, Error> {
    let mut version = 0;
    // SAFETY: the pointer is to a number that lives longer than the call.
    call("asking for its version", || unsafe { sys::cuDriverGetVersion(&mut version) }.result())?;
    Ok(version)
}

/// Calls the driver. What a library lacks makes the binding panic: that is an error like others.
///
/// The message names the error itself, since asking the library for words is a call that may fail too.
///
/// # Errors
/// [`Error::Driver`].
pub(crate) fn call<T>(doing: &str, call: impl FnOnce() -> Result<T, DriverError>) -> Result<T, Error> {
    let said = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(DriverError(code))) => format!("{code:?}"),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
        }
    };
    Err(Error::Driver { doing: doing.into(), said })
}
