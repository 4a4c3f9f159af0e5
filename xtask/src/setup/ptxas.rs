//! NVIDIA's assembler of PTX, as the package index of Python has it. It is brought and never committed: its licence is beside it.

use super::cache::{self, Cache};
use super::python;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;

/// To be counted up when anything about how it is brought changes.
const RECIPE: u32 = 1;
/// The version in the package below: it assembles for sm_50 to sm_120.
const VERSION: &str = "12.9.86";
/// What is installed, and the hash of its file for x86-64.
const PACKAGE: &str = "nvidia-cuda-nvcc-cu12==12.9.86 \
     --hash=sha256:5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0";

/// The assembler, brought if it is not there.
///
/// # Errors
/// If there is none for this platform, or it cannot be had.
pub fn ensure() -> Result<PathBuf> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("ptxas is brought for Linux on x86-64 only");
    }
    let cache = Cache::open()?;
    let place = cache.path(&format!("ptxas-{VERSION}-{RECIPE}"));
    let program = place.join("ptxas");
    if program.is_file() {
        return Ok(program);
    }
    let _lock = cache.lock()?;
    if program.is_file() {
        return Ok(program); // by another set-up, while we waited
    }
    eprintln!("bringing ptxas {VERSION} as a Python package (40 MB)");
    let packages = cache.path("ptxas-packages");
    python::install(&cache, &[PACKAGE], &packages)?;
    let unfinished = cache.unfinished("ptxas")?;
    let from = packages.join("nvidia/cuda_nvcc/bin/ptxas");
    fs::copy(from, unfinished.join("ptxas")).context("the package has no ptxas")?;
    let licence = packages.join(format!("nvidia_cuda_nvcc_cu12-{VERSION}.dist-info/licenses/License.txt"));
    fs::copy(licence, unfinished.join("LICENSE.txt")).context("the package has no licence")?;
    make_executable(&unfinished.join("ptxas"))?;
    cache::finish(&unfinished, &place)?;
    cache::remove(&packages)?;
    Ok(program)
}

#[cfg(unix)]
fn make_executable(program: &std::path::Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).context("cannot make ptxas a program")
}

#[cfg(not(unix))]
fn make_executable(_: &std::path::Path) -> Result<()> {
    Ok(())
}
