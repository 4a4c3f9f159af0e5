//! Compile time of growing programs: how long each pass takes, and how much memory the compiler held at most.
//!
//! Each program is compiled in a process of its own, so that the peak of memory is that of this program alone and a program that takes too
//! long can be stopped.

pub mod families;

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use fusebox::ir::{Made, Pass, Program, validate};

use families::Family;

/// Measure how long programs take to compile as they grow, and how much memory that takes
#[derive(Debug, Parser)]
#[command(name = "fusebox-bench growth")]
pub struct Options {
    /// Which families of programs [default: all]
    #[arg(long, value_delimiter = ',')]
    pub families: Vec<String>,
    /// How many operations
    #[arg(long, value_delimiter = ',', default_value = "30,300,3000")]
    pub sizes: Vec<usize>,
    /// After how many seconds a program is given up
    #[arg(long, default_value = "60")]
    pub limit: u64,
    /// Leave out a pass, to see how the others do without it
    #[arg(long)]
    pub without: Option<String>,
    /// Compile one program in this process and print a line for each pass
    #[arg(long, hide = true)]
    pub child: bool,
    /// List the families
    #[arg(long)]
    pub list: bool,
}

/// One step of compiling a program.
struct Step {
    name: String,
    seconds: f64,
    /// The most bytes that the process held so far, where the system tells.
    peak: Option<u64>,
    /// What it counted.
    counts: String,
}

/// Prints a table of times and memory.
///
/// # Errors
/// Unknown families; processes that cannot be started; at the end if a program was not compiled within the limit.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.list {
        families::ALL.iter().for_each(|family| println!("{:12} {}", family.name, family.summary));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&Family> = if options.families.is_empty() {
        families::ALL.iter().collect()
    } else {
        options.families.iter().map(|name| found(name)).collect::<Result<_>>()?
    };
    if options.child {
        let (Some(family), Some(&size)) = (chosen.first(), options.sizes.first()) else { return Ok(ExitCode::FAILURE) };
        child(family, size, options.without.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    println!("seconds of processor time; MiB: the most memory that the process held");
    let columns =
        ["sharing", "validate", "simplify", "flattening", "fusion", "strictness", "clustering", "kernels", "code"];
    print!("{:12} {:>6}", "family", "n");
    columns.iter().for_each(|column| print!(" {column:>10}"));
    println!(" {:>8} {:>6}  counts", "all", "MiB");
    let mut late = Vec::new();
    for family in chosen {
        for &size in &options.sizes {
            let (steps, finished) = measured(family, size, options)?;
            print!("{:12} {size:>6}", family.name);
            let mut all = 0.0;
            for column in columns {
                let own: Vec<f64> = steps.iter().filter(|step| step.name == column).map(|step| step.seconds).collect();
                let sum: f64 = own.iter().sum();
                all += sum;
                if own.is_empty() { print!(" {:>10}", "-") } else { print!(" {sum:>10.3}") }
            }
            let peak = steps.iter().filter_map(|step| step.peak).max();
            let peak = peak.map_or("-".to_owned(), |bytes| (bytes >> 20).to_string());
            let counts: Vec<&str> = steps.iter().map(|step| step.counts.as_str()).filter(|c| !c.is_empty()).collect();
            let end = if finished { "" } else { "  gave up" };
            println!(" {all:>8.2} {peak:>6}  {}{end}", counts.join(", "));
            std::io::stdout().flush()?;
            if !finished {
                late.push(format!("{} {size}", family.name));
            }
        }
    }
    ensure!(late.is_empty(), "not compiled within {} s: {}", options.limit, late.join(", "));
    Ok(ExitCode::SUCCESS)
}

fn found(name: &str) -> Result<&'static Family> {
    families::find(name).with_context(|| {
        let names: Vec<_> = families::ALL.iter().map(|family| family.name).collect();
        format!("there is no family `{name}`; there are {}", names.join(", "))
    })
}

/// The steps of a program in a process of its own, and whether it came to its end.
fn measured(family: &Family, size: usize, options: &Options) -> Result<(Vec<Step>, bool)> {
    let mut command = Command::new(std::env::current_exe().context("this program has no path")?);
    command.args(["growth", "--child", "--families", family.name, "--sizes", &size.to_string()]);
    options.without.iter().for_each(|pass| _ = command.args(["--without", pass]));
    let mut process = command.stdout(Stdio::piped()).spawn().context("cannot start a process")?;
    let output = process.stdout.take().context("a process without output")?;
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).filter_map(|line| step(&line)).for_each(|step| {
            // Nobody listens any more once the limit is over.
            let _ = sender.send(step);
        });
    });
    let end = Instant::now() + Duration::from_secs(options.limit);
    let mut steps = Vec::new();
    let finished = loop {
        match receiver.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(step) => steps.push(step),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break process.wait()?.success(),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                process.kill()?;
                process.wait()?;
                break false;
            }
        }
    };
    ensure!(reader.join().is_ok(), "reading a process's output failed");
    Ok((steps, finished))
}

fn step(line: &str) -> Option<Step> {
    let mut fields = line.split('\t');
    let (name, seconds, peak) = (fields.next()?, fields.next()?.parse().ok()?, fields.next()?.parse().ok());
    Some(Step { name: name.to_owned(), seconds, peak, counts: fields.next().unwrap_or("").to_owned() })
}

/// Compiles a program, and prints each step when it is done.
fn child(family: &Family, size: usize, without: Option<&str>) -> Result<()> {
    let terms = (family.terms)(size)?;
    let begin = Clock::now();
    let program = fusebox_sharing::program(&terms, &fusebox_sharing::Config::default())?;
    report("sharing", begin.elapsed(), "")?;
    let begin = Clock::now();
    validate(&program, &[])?;
    report("validate", begin.elapsed(), "")?;
    let options = fusebox::Options { cache: false, ..fusebox::Options::default() };
    let mut program = program;
    for pass in fusebox::pipeline_of(&program, &options).into_iter().filter(|pass| Some(pass.name()) != without) {
        let begin = Clock::now();
        let passed = pass.run(&program).map_err(|error| anyhow::anyhow!("{}: {error}", pass.name()))?;
        report(pass.name(), begin.elapsed(), &counts(pass, &passed.report))?;
        match passed.made {
            Made::Program(made) => program = made,
            Made::Plan(plan) => {
                let begin = Clock::now();
                let compiled = fusebox::compile_plan(&plan, &options)?;
                report("code", begin.elapsed(), "")?;
                drop(compiled);
            }
        }
    }
    Ok(())
}

/// What a reader of the table wants to know of what a pass counted.
fn counts(pass: &dyn Pass, report: &[(String, u64)]) -> String {
    let wanted: &[&str] = match pass.name() {
        "fusion" => &["limit_reached"],
        "clustering" => &["operations", "clusters", "variables", "limit_reached"],
        "kernels" => &["kernels"],
        _ => &["unfinished"],
    };
    let counted = report.iter().filter(|(name, count)| wanted.contains(&name.as_str()) && *count > 0);
    counted.map(|(name, count)| format!("{}.{name} {count}", pass.name())).collect::<Vec<_>>().join(", ")
}

/// Time of this thread on a processor, which other programs on the machine do not lengthen; where the system does not tell, time.
struct Clock {
    start: Instant,
    used: Option<Duration>,
}

impl Clock {
    fn now() -> Self {
        Self { start: Instant::now(), used: used() }
    }

    fn elapsed(&self) -> Duration {
        match (self.used, used()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => self.start.elapsed(),
        }
    }
}

/// How long this process's first thread has run, which compiles.
fn used() -> Option<Duration> {
    let statistics = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    Some(Duration::from_nanos(statistics.split(' ').next()?.parse().ok()?))
}

fn report(name: &str, time: Duration, counts: &str) -> Result<()> {
    let mut out = std::io::stdout();
    let peak = peak_bytes().map_or("-".to_owned(), |bytes| bytes.to_string());
    writeln!(out, "{name}\t{}\t{peak}\t{counts}", time.as_secs_f64())?;
    Ok(out.flush()?)
}

/// The most bytes of memory that this process held at one time, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}

/// The program of a family at a size.
///
/// # Errors
/// Terms that are no program.
pub fn program(family: &Family, size: usize) -> Result<Program> {
    Ok(fusebox_sharing::program(&(family.terms)(size)?, &fusebox_sharing::Config::default())?)
}
