//! The HiGHS library: where it is, how a program that is linked with it proves it, and how it is built from the source that the crate
//! `highs-sys` carries.

use super::cache::{self, Cache, LIBRARY};
use super::environment::Environment;
use super::tools::{Tool, Tools};
use crate::process;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The version that `xtask/highs/Cargo.toml` asks for.
const VERSION: &str = "1.15.0";
/// To be counted up when anything about how the library is built changes.
const RECIPE: u32 = 1;

/// The pkg-config file. Its own folder is the prefix: those that HiGHS installs name the folder of whoever built it, and leave out the C++
/// runtime, which a static library needs.
pub fn description(version: &str, libraries: &str) -> String {
    format!(
        "\
prefix=${{pcfiledir}}/../..

Name: HiGHS
Description: Linear optimization software
URL: https://highs.dev
Version: {version}
Libs: -L${{prefix}}/lib {libraries}
Cflags: -I${{prefix}}/include/highs
"
    )
}

/// Where the library built here is or is to be.
pub fn folder(cache: &Cache) -> PathBuf {
    named(cache, VERSION, if cfg!(target_env = "musl") { "musl" } else { "built" }, RECIPE)
}

/// The folder of a library for this machine.
pub fn named(cache: &Cache, version: &str, kind: &str, recipe: u32) -> PathBuf {
    let (machine, system) = (std::env::consts::ARCH, std::env::consts::OS);
    cache.path(&format!("{LIBRARY}{version}-{machine}-{system}-{kind}-{recipe}"))
}

/// Whether a library is there: with what pkg-config is told, and shared or static.
pub fn is_there(library: &Path) -> bool {
    let has = |file: &str| library.join(file).is_file();
    let linked = has("lib/libhighs.so") || (has("lib/libhighs.a") && has("lib/libhighs_extras.a"));
    has("lib/pkgconfig/highs.pc") && has("include/highs/interfaces/highs_c_api.h") && linked
}

/// Whether it has solved something.
pub fn is_proved(library: &Path) -> bool {
    is_there(library) && proof(library).is_file()
}

fn proof(library: &Path) -> PathBuf {
    library.join("proved")
}

/// Compiles and installs the library. Only under the cache's lock.
///
/// # Errors
/// If a compiler is missing or fails: with the end of what it said, and where the rest is.
pub fn build(workspace: &Workspace, cache: &Cache, tools: &Tools, library: &Path) -> Result<()> {
    let begin = Instant::now();
    let cmake = tools.get(Tool::Cmake).context("building HiGHS takes cmake")?;
    let make = tools.get(Tool::Make).context("building HiGHS takes make or ninja")?;
    let source = source(workspace)?;
    let unfinished = cache.unfinished("highs")?;
    let (objects, installed) = (unfinished.join("build"), unfinished.join("installed"));
    let log = cache.path("highs.log");
    let mut log_file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    eprintln!("building HiGHS {VERSION}, once: several minutes (log: {})", log.display());

    let mut configure = Command::new(cmake);
    configure.arg("-S").arg(&source).arg("-B").arg(&objects);
    if make.file_name().is_some_and(|name| name == "ninja") {
        configure.args(["-G", "Ninja"]);
    }
    if make.is_absolute() {
        configure.arg(format!("-DCMAKE_MAKE_PROGRAM={}", make.display()));
    }
    configure.arg(format!("-DCMAKE_INSTALL_PREFIX={}", installed.display()));
    configure.args([
        "-DCMAKE_BUILD_TYPE=Release",
        "-DCMAKE_INSTALL_LIBDIR=lib",
        "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    ]);
    configure.args([
        "-DFAST_BUILD=ON",
        "-DBUILD_SHARED_LIBS=OFF",
        "-DZLIB=OFF",
        "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=OFF",
    ]);
    // The library alone, and its extras linked in: as a shared library, they would be looked for on the user's machine.
    configure.args([
        "-DBUILD_CXX_EXE=OFF",
        "-DBUILD_EXAMPLES=OFF",
        "-DBUILD_TESTING=OFF",
        "-DBUILD_SHARED_EXTRAS_LIB=OFF",
    ]);
    logged(&mut configure, &log, &mut log_file)?;

    let mut compile = Command::new(cmake);
    compile.arg("--build").arg(&objects).args(["--target", "install", "--parallel", &jobs().to_string()]);
    logged(&mut compile, &log, &mut log_file)?;

    let runtime = if cfg!(target_os = "macos") { "-lc++" } else { "-lstdc++ -lpthread -lm" };
    fs::create_dir_all(installed.join("lib/pkgconfig"))?;
    let libraries = format!("-lhighs -lhighs_extras {runtime}");
    fs::write(installed.join("lib/pkgconfig/highs.pc"), description(VERSION, &libraries))?;
    if !is_there(&installed) {
        bail!("HiGHS was built, but no library came of it (log: {})", log.display());
    }
    cache::finish(&installed, library)?;
    cache::remove(&unfinished)?;
    eprintln!("built HiGHS in {:.0} s", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The C++ source: in the crate that cargo fetches, so that nothing else is downloaded.
fn source(workspace: &Workspace) -> Result<PathBuf> {
    let mut cargo = workspace.cargo();
    cargo.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]).arg(manifest(workspace));
    let metadata: serde_json::Value = serde_json::from_str(&process::output(&mut cargo)?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    let package = packages.iter().find(|package| package["name"] == "highs-sys").context("highs-sys is not used")?;
    if package["version"] != VERSION {
        bail!("xtask/highs asks for highs-sys {}, setup/highs.rs for {VERSION}: make them equal", package["version"]);
    }
    let manifest = package["manifest_path"].as_str().context("highs-sys has no path")?;
    let source = Path::new(manifest).with_file_name("HiGHS");
    if !source.join("CMakeLists.txt").is_file() {
        bail!("the crate highs-sys has no C++ source in {}", source.display());
    }
    Ok(source)
}

fn manifest(workspace: &Workspace) -> PathBuf {
    workspace.root().join("xtask/highs/Cargo.toml")
}

/// Links a program with the library and lets it solve two small problems.
///
/// # Errors
/// If that fails, with all that cargo said.
pub fn prove(workspace: &Workspace, environment: &Environment, library: &Path) -> Result<()> {
    eprintln!("linking a program with HiGHS and solving two problems");
    let target = workspace.target()?.join("highs-proof");
    cache::remove(&target)?; // what an earlier build was told about a library in this place may no longer be true
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--locked", "--manifest-path"]).arg(manifest(workspace));
    cargo.env("CARGO_TARGET_DIR", target);
    cargo.envs(environment.variables());
    // Where pkg-config does not find the library, highs-sys would compile it again, for minutes: then rather fail.
    cargo.env("CMAKE", "the-prebuilt-HiGHS-was-not-found");
    process::output(&mut cargo).context("a program linked with HiGHS does not work")?;
    note_proof(library)
}

/// Notes that the library works: [`is_proved`].
pub fn note_proof(library: &Path) -> Result<()> {
    fs::write(proof(library), "").context("cannot write to the cache")
}

/// Compilations at once: a core each, and a gigabyte of memory each where that can be asked.
fn jobs() -> u64 {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    cores.min(memory_in_gigabytes().unwrap_or(cores)).max(1)
}

fn memory_in_gigabytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes >> 20)
}

/// Runs a command, what it says going to the log; on a terminal, how far it has come is shown.
fn logged(command: &mut Command, log: &Path, log_file: &mut File) -> Result<()> {
    let (output, input) = std::io::pipe()?;
    command.stdin(std::process::Stdio::null()).stdout(input.try_clone()?).stderr(input);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    // The command holds the writing ends too; with them open, the loop below would never see the end.
    *command = Command::new(command.get_program());
    let shown = std::io::stderr().is_terminal();
    let mut last = Vec::new();
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        log_file.write_all(&line)?;
        log_file.write_all(b"\n")?;
        let line = String::from_utf8_lossy(&line).into_owned();
        if shown && let Some((progress, _)) = line.split_once(']').filter(|_| line.starts_with('[')) {
            eprint!("\r  {progress}] ");
        }
        last.push(line);
        if last.len() > 30 {
            last.remove(0);
        }
    }
    if shown {
        eprint!("\r            \r");
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("building HiGHS failed ({status}); all of it is in {}, the end is\n{}", log.display(), last.join("\n"));
    }
    Ok(())
}
