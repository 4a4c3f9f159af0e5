//! `setup`: everything the workspace needs that cargo does not fetch.
//!
//! That is the HiGHS solver: C++, several minutes to compile, and by default compiled again for every profile and target
//! folder. So it is built once, into a cache outside `target/`, and found there through pkg-config. Where cmake,
//! libclang, pkg-config or make are missing, they are brought first.

mod cache;
mod environment;
mod highs;
mod tools;

use crate::workspace::Workspace;
use anyhow::Result;
use cache::Cache;
use environment::Environment;
use std::time::Instant;
use tools::{Tool, Tools};

/// Bring what builds need beside Rust: build HiGHS once, into a cache outside target/
#[derive(clap::Args, Default)]
pub struct Options {
    /// Build HiGHS again, even if it is there
    #[arg(long)]
    rebuild: bool,
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
    let library = highs::folder(&cache);
    if !options.rebuild
        && !options.prove
        && highs::is_proved(&library)
        && let Some(tools) = Tools::recorded(&cache)
    {
        let environment = Environment::new(&library, &tools);
        environment.write(workspace)?;
        return Ok(environment);
    }

    let _lock = cache.lock()?; // another set-up may have done all of it while we waited: each step looks again
    cache.sweep()?;
    if options.rebuild {
        cache::remove(&library)?;
    }
    let built = highs::is_built(&library);
    let tools = tools::bring(&cache, if built { &Tool::TO_USE } else { &Tool::TO_BUILD })?;
    if !built {
        highs::build(workspace, &cache, &tools, &library)?;
    }
    let environment = Environment::new(&library, &tools);
    environment.write(workspace)?;
    if options.prove || !highs::is_proved(&library) {
        highs::prove(workspace, &environment, &library)?;
    }
    tools.record(&cache)?;
    Ok(environment)
}
