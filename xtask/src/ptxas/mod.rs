//! `ptxas`: NVIDIA's assembler on every PTX text of the project.
//!
//! Texts are files named `*.ptx`, and what tests write to the folder that `FUSEBOX_PTX_OUT` names.

mod assemble;

use crate::workspace::Workspace;
use crate::{process, setup};
use anyhow::{Context, Result, bail};
use assemble::{Assembled, assemble};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where tests write the texts that they make.
pub const VARIABLE: &str = "FUSEBOX_PTX_OUT";
/// The crates whose tests do, and which of them.
const WRITERS: [(&str, &[&str]); 2] =
    [("fusebox-ptx-sim", &["--tests"]), ("fusebox-ptx", &["--test", "emitted", "--test", "snapshots"])];
/// What begins the names of texts that are of interest to their tests alone.
const OF_A_TEST: &str = "test-";

/// Assemble PTX texts for each architecture: registers, shared memory; a spill fails
#[derive(clap::Args)]
pub struct Options {
    /// Files, or folders of files `*.ptx`; without any, those of the project and those that tests make
    files: Vec<PathBuf>,
    /// Architectures
    #[arg(long, value_delimiter = ',', default_value = "sm_70,sm_80,sm_90,sm_100")]
    arch: Vec<String>,
    /// Print every kernel, also of the texts that tests make
    #[arg(long)]
    all: bool,
}

/// Runs the command.
pub fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let ptxas = setup::ptxas()?;
    let mut texts = Vec::new();
    if options.files.is_empty() {
        let folder = written(workspace)?;
        make(workspace, &folder)?;
        texts.extend(of_project(workspace)?);
        collect(&folder, &mut texts)?;
    }
    for file in &options.files {
        collect(file, &mut texts)?;
    }
    let print = if options.all || !options.files.is_empty() { Print::All } else { Print::Some };
    report(&ptxas, &texts, &options.arch, print)
}

/// After tests that have written texts to [`written`]: assembles those, and the files of the project.
///
/// # Errors
/// If a text is no PTX, or a kernel spills.
pub fn after_tests(workspace: &Workspace) -> Result<()> {
    let ptxas = match setup::ptxas() {
        Ok(ptxas) => ptxas,
        Err(error) => {
            println!("ptxas: SKIPPED, nothing was assembled: {error:#}");
            return Ok(());
        }
    };
    let mut texts: Vec<PathBuf> = of_project(workspace)?;
    collect(&written(workspace)?, &mut texts)?;
    report(&ptxas, &texts, &["sm_70", "sm_80", "sm_90", "sm_100"].map(String::from), Print::Sum)
}

/// The folder for what tests make, empty.
///
/// # Errors
/// If it cannot be made.
pub fn fresh(workspace: &Workspace) -> Result<PathBuf> {
    let folder = written(workspace)?;
    if folder.is_dir() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn written(workspace: &Workspace) -> Result<PathBuf> {
    Ok(workspace.target()?.join("ptx"))
}

/// Runs the tests that write texts.
fn make(workspace: &Workspace, folder: &Path) -> Result<()> {
    fresh(workspace)?;
    let metadata = workspace.metadata()?;
    let packages = metadata["packages"].as_array().context("cargo metadata names no packages")?;
    for (writer, tests) in WRITERS {
        if packages.iter().any(|package| package["name"] == writer) {
            let mut cargo = workspace.cargo();
            cargo.args(["test", "--quiet", "--package", writer]).args(tests).env(VARIABLE, folder);
            process::output(&mut cargo)?;
        }
    }
    Ok(())
}

fn of_project(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let files = workspace.files()?.into_iter();
    Ok(files.filter(|file| is_ptx(file)).map(|file| workspace.root().join(file)).collect())
}

fn is_ptx(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "ptx")
}

/// A file, or the texts in a folder, in order.
fn collect(place: &Path, texts: &mut Vec<PathBuf>) -> Result<()> {
    if !place.is_dir() {
        texts.push(place.into());
        return Ok(());
    }
    let entries = fs::read_dir(place).with_context(|| format!("cannot read {}", place.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| is_ptx(file));
    files.sort();
    texts.append(&mut files);
    Ok(())
}

/// What came of one text for one architecture.
type Outcome = Result<Vec<Assembled>>;

fn report(ptxas: &Path, texts: &[PathBuf], architectures: &[String], print: Print) -> Result<()> {
    let mut failures = Vec::new();
    let (mut most_registers, mut most_shared) = (0, 0);
    let mut kernels: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (text, outcomes) in texts.iter().zip(all_of(ptxas, texts, architectures)?) {
        let name = Name::of(text);
        for (architecture, outcome) in outcomes {
            let assembled = outcome.unwrap_or_else(|error| {
                failures.push(format!("{} for {architecture}: {error:#}", text.display()));
                Vec::new()
            });
            for Assembled { entry, registers, shared, spilled } in assembled {
                (most_registers, most_shared) = (most_registers.max(registers), most_shared.max(shared));
                if spilled > 0 {
                    failures.push(format!("{}: `{entry}` spills {spilled} bytes for {architecture}", text.display()));
                }
                let figures = format!("{architecture} {registers:3} {shared:6} {spilled:3}");
                kernels.entry((name.stem.clone(), entry)).or_default().push(figures);
            }
        }
    }
    if print != Print::Sum {
        println!("kernel: for each architecture registers, bytes of shared memory, bytes spilled");
    }
    for ((name, entry), figures) in &kernels {
        let wanted = match print {
            Print::All => true,
            Print::Some => !name.starts_with(OF_A_TEST),
            Print::Sum => false,
        };
        if wanted {
            println!("{name} {entry}: {}", figures.join("; "));
        }
    }
    let (count, texts, names) = (kernels.len(), texts.len(), architectures.join(", "));
    println!(
        "ptxas: {count} kernels in {texts} texts for {names}: at most {most_registers} registers, {most_shared} bytes of shared memory"
    );
    if !failures.is_empty() {
        bail!("{} were not assembled as they should be:\n{}", failures.len(), failures.join("\n"));
    }
    if texts == 0 {
        bail!("there is no text");
    }
    Ok(())
}

/// Which kernels are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Print {
    All,
    /// Not those of texts that are of interest to their tests alone.
    Some,
    /// How many there are.
    Sum,
}

/// The name of a text: `dotp.0.sm_80.ptx` is `dotp.0`, and for that architecture alone.
struct Name {
    stem: String,
    architecture: Option<String>,
}

impl Name {
    fn of(text: &Path) -> Self {
        let stem = text.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match stem.rsplit_once('.') {
            Some((before, last)) if last.starts_with("sm_") => {
                Self { stem: before.into(), architecture: Some(last.into()) }
            }
            _ => Self { stem, architecture: None },
        }
    }
}

/// The outcomes of each text, in order; those for architectures older than the text's own are left out.
fn all_of(ptxas: &Path, texts: &[PathBuf], architectures: &[String]) -> Result<Vec<Vec<(String, Outcome)>>> {
    let mut jobs = Vec::new();
    for (text, path) in texts.iter().enumerate() {
        let content = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let target = target(&content);
        let only = Name::of(path).architecture;
        let takes = |name: &&String| only.as_ref().map_or(number(name) >= target, |only| only == *name);
        jobs.extend(architectures.iter().filter(takes).map(|name| (text, name)));
    }
    let scratch = tempdir()?;
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![None; jobs.len()]);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&(text, architecture)) = jobs.get(job) else { return };
                    let outcome = assemble(ptxas, &texts[text], architecture, &scratch.join(format!("{job}.cubin")));
                    if let Ok(mut done) = done.lock() {
                        done[job] = Some(outcome.map_err(|error| format!("{error:#}")));
                    }
                }
            });
        }
    });
    fs::remove_dir_all(&scratch).context("cannot remove what was assembled")?;
    let done = done.into_inner().map_err(|_| anyhow::anyhow!("a thread of the assembler has panicked"))?;
    let mut outcomes: Vec<Vec<(String, Outcome)>> = texts.iter().map(|_| Vec::new()).collect();
    for ((text, architecture), outcome) in jobs.into_iter().zip(done) {
        let outcome = outcome.context("a text was not assembled")?;
        outcomes[text].push((architecture.clone(), outcome.map_err(anyhow::Error::msg)));
    }
    Ok(outcomes)
}

fn tempdir() -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("fusebox-ptxas-{}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

/// The architecture that a text asks for.
fn target(text: &str) -> u32 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(".target"));
    line.map_or(0, |line| number(line.split(',').next().unwrap_or_default().trim()))
}

/// 70 of `sm_70`.
fn number(architecture: &str) -> u32 {
    let digits: String = architecture.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_say_an_architecture() {
        let name = Name::of(Path::new("a/dotp.0.sm_80.ptx"));
        assert_eq!((name.stem.as_str(), name.architecture.as_deref()), ("dotp.0", Some("sm_80")));
        let name = Name::of(Path::new("saxpy.ptx"));
        assert_eq!((name.stem.as_str(), name.architecture), ("saxpy", None));
    }

    #[test]
    fn targets() {
        assert_eq!(target(".version 7.0\n.target sm_80, debug\n"), 80);
        assert_eq!(target("nothing"), 0);
        assert_eq!(number("sm_90a"), 90);
    }
}
