//! `run`: a program on files.

use std::{
    io::Write,
    num::NonZeroUsize,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use fusebox::{
    Backend, KernelTimes, PassReport, Signature,
    files::{self, Target},
};
use fusebox_ir::{Made, Value};
use serde_json::{Map, json};

use super::{
    after_all::AfterAll,
    choices::Choices,
    inputs::{Inputs, named},
};
use crate::{Failure, progress::Progress, show, source};

/// Run a program, or a plan, on arrays from files
///
/// A plan is what `dump PROGRAM --stage kernels --format json` prints, as it is or edited; no passes run on it.
///
/// Inputs are .npy, .npz, Matrix Market or PNG files, told apart by their content; a scalar or a small array may be given as its value. A file of a
/// complex or structured type, an archive or an image gives all inputs whose names begin with NAME and a dot. Results go to .npy,
/// .npz, .png or .mtx files, by the end of their names. Existing files keep their content until all
/// results are written. Exit codes: 0; 1 if the
/// program failed while it ran or its results cannot be written; 2 if anything before is wrong. Results that no file is named for are
/// printed.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The program, as text (.fbx) or JSON; or a plan, as JSON
    program: PathBuf,
    #[command(flatten)]
    inputs: Inputs,
    /// A result and its file; or an .npz archive for all, or a file for the only one
    #[arg(long = "output", short = 'o', value_name = "[NAME=]FILE")]
    outputs: Vec<String>,
    /// What runs it, as `devices` lists them
    #[arg(long, default_value = "cpu")]
    backend: String,
    #[command(flatten)]
    choices: Choices,
    /// How many threads; results do not depend on it [default: as many as there are cores]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Bits of the longest vectors of code for the backend `cpu`: 128, 256 or 512; results do not depend on it [default: the longest that
    /// the machine has]
    #[arg(long, value_name = "BITS")]
    vector: Option<u32>,
    /// How much of the device's memory arrays take at most, on the backends `cuda` and `sim`: bytes, or with K, M or G behind; others wait on
    /// the host, and results do not depend on it [default: all of it]
    #[arg(long, value_name = "BYTES", value_parser = bytes_of)]
    device_memory: Option<u64>,
    /// Schedules for its kernels, as `dump --stage schedule` prints them, or JSON; results do not depend on them. Not for the backend `interp`;
    /// those for vectors that this machine does not have are passed over
    #[arg(long, value_name = "FILE")]
    schedule: Option<PathBuf>,
    /// How often to run it; times are medians
    #[arg(long, default_value = "1")]
    repeat: NonZeroUsize,
    /// Print times and sizes as one line of JSON, with what each kernel took, the median of the last run and every second before it:
    /// `explain --stats` shows it
    #[arg(long)]
    stats: bool,
    /// Check the program after each pass
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    after_all: AfterAll,
    /// Leave out the checks of indices and offsets, to see what they cost: the program runs with them once before
    #[arg(long)]
    unchecked: bool,
    /// Print results, also those that go to files
    #[arg(long)]
    print: bool,
}

/// `4096`, `64K`, `1G`.
fn bytes_of(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: u64 = digits.parse().map_err(|_| "not a number of bytes, such as 4096, 64K, 8M or 1G".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "more bytes than there can be".to_owned())
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    let asked: Backend = options.backend.parse().map_err(fusebox::Error::UnknownBackend)?;
    let (backend, reason) = asked.chosen();
    let choices = options.choices.options()?;
    let inputs = options.inputs.given()?;
    let outputs: Vec<Target> =
        options.outputs.iter().map(|text| named(text)).map(|(name, path)| Target { name, path }).collect();
    let progress = Progress::start();
    progress.step("reading the program");
    let begin = Instant::now();
    let source = source::read(&options.program)?;
    let signature = match &source {
        Made::Program(program) => Signature::of(program),
        Made::Plan(plan) => {
            options.choices.refuse(&options.program)?;
            source::refuse(&options.program, "--verify", options.verify)?;
            source::refuse(&options.program, "--unchecked", options.unchecked)?;
            source::refuse(&options.program, "--print-after-all", options.after_all.print_after_all)?;
            Signature::of_plan(plan)
        }
    };
    let read = begin.elapsed();
    files::check_targets(&signature, &outputs)?;
    progress.step("reading inputs");
    let begin = Instant::now();
    let values = files::inputs(&signature, &inputs)?;
    signature.check(&values).map_err(fusebox::Error::from)?;
    let load = begin.elapsed();
    if let Some(reason) = reason {
        eprintln!("{asked}: {backend}, as {reason}");
    }
    progress.step(format!("compiling for {backend}"));
    let schedules = match &options.schedule {
        None => None,
        Some(_) if backend == Backend::Interp => {
            return Err(anyhow::anyhow!("--schedule is for kernels that are compiled, and this is `{backend}`").into());
        }
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| format!("{}", file.display()))?;
            Some(text.into())
        }
    };
    // A command compiles once: nothing would find the program in a cache.
    let compile_options = fusebox::Options {
        backend,
        threads: options.threads,
        vector_bits: options.vector,
        device_memory: options.device_memory,
        verify: options.verify,
        cache: false,
        schedules,
        ..choices
    };
    if let (Made::Program(program), true) = (&source, options.after_all.print_after_all) {
        options.after_all.run(program, &fusebox::pipeline_of(program, &compile_options), options.verify)?;
    }
    let begin = Instant::now();
    let compiled = match &source {
        Made::Program(program) if options.unchecked => unchecked(program, &compile_options, &values)?,
        Made::Program(program) => compiled(fusebox::compile_program(program, &compile_options), options)?,
        Made::Plan(plan) => compiled(fusebox::compile_plan(plan, &compile_options), options)?,
    };
    let compile = begin.elapsed();
    if let (Some(file), [_, ..]) = (&options.schedule, &*compiled.report().passed_over) {
        let targets = compiled.report().passed_over.join(", ");
        eprintln!(
            "{}: its schedules are for {targets}, and this runs on none of them: it has the usual ones",
            file.display()
        );
    }
    let mut times = Vec::new();
    let mut results = Vec::new();
    let mut peak_bytes = None;
    let mut timed = Vec::new();
    for turn in 1..=options.repeat.get() {
        progress.step(if options.repeat.get() == 1 {
            "running".into()
        } else {
            format!("running, {turn} of {}", options.repeat)
        });
        drop(std::mem::take(&mut results)); // their memory is free for this turn
        let begin = Instant::now();
        // Kernels are timed in the last run, and in every second one before it: those take longer, and count as runs if there are no others.
        let times_kernels = options.stats && (options.repeat.get() - turn).is_multiple_of(2);
        let (made, report) = if times_kernels {
            let (made, report, kernels) = compiled.run_timed(&values)?;
            timed.push(kernels);
            (made, report)
        } else {
            compiled.run_with_report(&values)?
        };
        (results, peak_bytes) = (made, report.peak_bytes);
        if !times_kernels || options.repeat.get() == 1 {
            times.push(begin.elapsed());
        }
    }
    progress.step("writing results");
    let begin = Instant::now();
    files::write_results(&signature, &results, &outputs).map_err(Failure::of_result_files)?;
    let write = begin.elapsed();
    drop(progress);
    for target in &outputs {
        eprintln!("wrote {}", target.path.display());
    }
    // Who asks for numbers of a run alone does not want its results.
    if options.print || (outputs.is_empty() && !options.stats) {
        for (slot, value) in signature.results.iter().zip(&results) {
            writeln!(out, "{}: {} = {}", slot.name, show::ty(value, slot), show::value(value))
                .map_err(Failure::of_results)?;
        }
    }
    if options.stats {
        let report = compiled.report();
        let passes: Map<_, _> = named_passes(&report.passes, |pass| json!(milliseconds(pass.time)));
        let counts: Map<_, _> = named_passes(&report.passes, |pass| {
            pass.counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect()
        });
        let threads = match backend {
            Backend::Interp | Backend::Sim => 1,
            _ => options.threads.or(std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get),
        };
        times.sort();
        let kernels = KernelTimes::median(timed);
        let transfers = compiled.transfers();
        let line = json!({
            "program": signature.name,
            "backend": backend.name(),
            // What was fused in a plan, nobody knows.
            "fusion": matches!(source, Made::Program(_)).then(|| compile_options.fusion.name()),
            "threads": threads,
            "milliseconds": {
                "read_program": milliseconds(read),
                "read_inputs": milliseconds(load),
                "passes": passes,
                "code": milliseconds(report.code),
                "compile": milliseconds(compile),
                "run_median": milliseconds(median(&times)),
                "run_min": milliseconds(times.first().copied().unwrap_or_default()),
                "write_results": milliseconds(write),
            },
            "runs": options.repeat,
            "counts": counts,
            "bytes_in": values.iter().map(bytes).sum::<usize>(),
            "peak_bytes": peak_bytes,
            // Of all runs.
            "transfers": {
                "uploads": transfers.uploads,
                "uploaded_bytes": transfers.uploaded_bytes,
                "downloads": transfers.downloads,
                "downloaded_bytes": transfers.downloaded_bytes,
                "evictions": transfers.evictions,
            },
            "bytes_out": results.iter().map(bytes).sum::<usize>(),
            "sizes": kernels.as_ref().map(|kernels| &kernels.sizes),
            "kernels": kernels.as_ref().map(|kernels| &kernels.kernels),
        });
        writeln!(out, "{line}").map_err(Failure::of_results)?;
    }
    Ok(())
}

/// What was compiled; errors of schedules name their file.
fn compiled(made: Result<fusebox::Program, fusebox::Error>, options: &Options) -> Result<fusebox::Program, Failure> {
    made.map_err(|error| match (&options.schedule, error) {
        (Some(file), fusebox::Error::Schedules { message }) => anyhow::anyhow!("{}: {message}", file.display()).into(),
        (_, error) => error.into(),
    })
}

/// A program without the checks of its kernels, to be run on these inputs and no others: a program that fails on them fails here.
fn unchecked(
    program: &fusebox_ir::Program,
    options: &fusebox::Options,
    inputs: &[Value],
) -> Result<fusebox::Program, Failure> {
    fusebox::compile_program(program, options)?.run(inputs)?;
    // SAFETY: with its checks the program has not failed on these inputs just now, and `run` runs it on no others.
    #[allow(unsafe_code)]
    let compiled = unsafe { fusebox::compile_unchecked(program, options) }?;
    Ok(compiled)
}

/// Something of each pass, by its name; the second of a name is called so: `simplify2`.
fn named_passes(
    passes: &[PassReport],
    get: impl Fn(&PassReport) -> serde_json::Value,
) -> Map<String, serde_json::Value> {
    let mut named = Map::new();
    for pass in passes {
        let before =
            (1..).map(|number| if number == 1 { pass.pass.to_owned() } else { format!("{}{number}", pass.pass) });
        if let Some(name) = before.into_iter().find(|name| !named.contains_key(name)) {
            named.insert(name, get(pass));
        }
    }
    named
}

fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Of sorted times; of an even number the mean of the two in the middle.
fn median(sorted: &[Duration]) -> Duration {
    let at = sorted.len() / 2;
    match sorted {
        [] => Duration::ZERO,
        _ if sorted.len() % 2 == 1 => sorted[at],
        _ => (sorted[at - 1] + sorted[at]) / 2,
    }
}

/// Bytes of elements.
fn bytes(value: &Value) -> usize {
    match value {
        Value::Array(array) => array.bytes().len(),
        Value::Nested(nested) => nested.extents.bytes().len() + nested.values.bytes().len(),
        Value::Stream(elements) => elements.iter().map(|element| element.bytes().len()).sum(),
    }
}
