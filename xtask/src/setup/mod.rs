//! `setup`: everything the workspace needs that cargo does not fetch.
//!
//! That is the HiGHS solver, which is written in C++. The package index of Python has it compiled for many machines; elsewhere it is built
//! from source, once, into a cache outside `target/`, since cargo would build it again for every profile and target folder. Builds find
//! it there through pkg-config. Where a tool that this takes is missing, it is brought first.

mod cache;
mod environment;
mod highs;
mod mdbook;
mod prebuilt;
mod ptxas;
mod python;
mod tools;

use crate::workspace::Workspace;
use anyhow::Result;
use cache::Cache;
use environment::Environment;
use std::path::Path;
use std::time::Instant;
use tools::{Tool, Tools};

pub use environment::VARIABLES;
pub use mdbook::ensure as mdbook;
pub use ptxas::ensure as ptxas;

/// Bring what builds and tests need beside Rust: the solver HiGHS, the assembler ptxas, into a cache outside target/
#[derive(clap::Args, Default)]
pub struct Options {
    /// Bring HiGHS again, even if it is there
    #[arg(long)]
    rebuild: bool,
    /// Build HiGHS from source, as a static library, also where a compiled one is to be had
    #[arg(long)]
    from_source: bool,
    /// Solve a small problem with the library again, even if that was done before
    #[arg(long)]
    prove: bool,
    /// Print the environment as shell commands, for builds outside this folder
    #[arg(long)]
    print_env: bool,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let begin = Instant::now();
    let environment = prepare(workspace, options)?;
    if options.print_env {
        for (name, value) in environment.variables() {
            println!("export {name}='{}'", value.replace('\'', r"'\''"));
        }
        return Ok(());
    }
    println!("ready after {:.1} s; HiGHS is in {}", begin.elapsed().as_secs_f64(), environment.library().display());
    println!("cargo in this folder finds it through {}", environment::FILE);
    match ptxas::ensure() {
        Ok(program) => println!("the assembler of PTX is {}", program.display()),
        Err(error) => println!("there is no assembler of PTX, so that `cargo xtask ptxas` will not run: {error:#}"),
    }
    println!("elsewhere: eval \"$(cargo xtask setup --print-env)\"");
    Ok(())
}

/// What every command that builds does first; takes milliseconds where it was done before.
///
/// # Errors
/// If a tool is missing that cannot be brought, or HiGHS cannot be built or does not work.
pub fn ensure(workspace: &Workspace) -> Result<()> {
    prepare(workspace, &Options::default()).map(drop)
}

fn prepare(workspace: &Workspace, options: &Options) -> Result<Environment> {
    let cache = Cache::open()?;
    let built = highs::folder(&cache);
    let prebuilt = prebuilt::folder(&cache).filter(|_| !options.from_source);
    let known = prebuilt.iter().chain([&built]).find(|library| highs::is_proved(library));
    if !options.rebuild
        && !options.prove
        && let Some(library) = known
        && let Some(tools) = Tools::recorded(&cache)
    {
        let environment = Environment::new(library, &tools);
        environment.write(workspace)?;
        return Ok(environment);
    }

    let _lock = cache.lock()?; // another set-up may have done all of it while we waited: each step looks again
    cache.sweep()?;
    if options.rebuild {
        prebuilt.iter().chain([&built]).try_for_each(|library| cache::remove(library))?;
    }
    let from_source = || from_source(workspace, options, &cache, &built);
    let (environment, tools) = match &prebuilt {
        Some(library) => compiled(options, &cache, library).or_else(|error| {
            eprintln!("the compiled HiGHS cannot be used: {error:#}");
            cache::remove(library)?;
            from_source()
        }),
        None => from_source(),
    }?;
    environment.write(workspace)?;
    tools.record(&cache)?;
    Ok(environment)
}

/// With the library of the package index.
fn compiled(options: &Options, cache: &Cache, library: &Path) -> Result<(Environment, Tools)> {
    if !highs::is_there(library) {
        prebuilt::bring(cache, library)?;
    }
    if options.prove || !highs::is_proved(library) {
        prebuilt::prove(library)?;
    }
    let tools = tools::bring(cache, &Tool::TO_USE)?;
    Ok((Environment::new(library, &tools), tools))
}

/// With a library built here.
fn from_source(
    workspace: &Workspace,
    options: &Options,
    cache: &Cache,
    library: &Path,
) -> Result<(Environment, Tools)> {
    let there = highs::is_there(library);
    let tools = tools::bring(cache, if there { &Tool::TO_USE } else { &Tool::TO_BUILD })?;
    if !there {
        highs::build(workspace, cache, &tools, library)?;
    }
    let environment = Environment::new(library, &tools);
    if options.prove || !highs::is_proved(library) {
        highs::prove(workspace, &environment, library)?;
    }
    Ok((environment, tools))
}
