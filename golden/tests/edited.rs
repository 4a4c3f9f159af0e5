//! Plans of golden programs with one number changed: refused, failed, or run as the interpreter of plans runs them. Never a panic, a signal, or
//! memory of others.
//!
//! Plans are those of operations each in a kernel of its own, of some programs, and of all programs those that the passes make. `FUSEBOX_EDITS=all` gives every number of every plan all values, and `FUSEBOX_EDITS=NAME` those of one program. The test command does so where it is short, gives each
//! number of long plans and those with loops one value, and of the plans that the passes make takes some numbers, spread over all of each. Edits run in other processes, with a limit of memory on Linux: what ends such a process is
//! told with the edit that did. An edit that makes loops as good as endless is stopped; there may be few.

mod common;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    panic::{AssertUnwindSafe, catch_unwind},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

use fusebox_backend::BackendError;
use fusebox_conformance::{lowered, same_bits};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_golden::Golden;
use fusebox_interp::run_plan_with_unwritten;
use fusebox_ir::{Array, Plan, Value, json};
use serde_json::Value as Json;

/// Golden programs whose operations are each a kernel, and what each has that others have not.
const EACH_ALONE: [&str; 17] = [
    "filter",             // an append, truncated
    "expand",             // an extent known only when it runs
    "permuted_expand",    // and scattered
    "scans",              // scans of all kinds
    "segmented_scans",    // segments
    "segmented_sums",     // ragged reduces
    "normalise2",         // a fold and a scan
    "sort_carry",         // a library step, aliases
    "sort_rows",          // rows of it
    "stencil_boundaries", // boundaries of all kinds
    "heat",               // values over others, in a loop
    "histogram",          // a scatter
    "breadth_first",      // a loop with scatters, extents that change
    "quicksort",          // a loop with distinct targets
    "concat",             // arrays written in parts
    "nan_order",          // branches
    "lanes",              // lanes that loop, each as long as it likes
];

/// Programs whose plans have thousands of numbers, or loops, of which many edits have to be stopped.
const LONG: [&str; 8] =
    ["lanes", "expand", "scans", "segmented_scans", "segmented_sums", "heat", "breadth_first", "quicksort"];

/// Numbers of a plan that the passes make which the test command changes.
const MOST: usize = 120;

/// The inverse of 15 modulo 2^64: multiples of it are small at the last of 16 lanes, and nowhere between.
const BACK_AT_15: i64 = -1_229_782_938_247_303_441;

/// What a number becomes.
fn values(was: i64) -> Vec<i64> {
    let mut values = vec![-1, 0, 1, 2, 3, 4096, 1 << 31, (1 << 32) - 1, 1 << 32, i64::MIN, i64::MAX, BACK_AT_15];
    values.extend([was.wrapping_sub(1), was.wrapping_add(1)]);
    values.retain(|&value| value != was);
    values
}

/// Places of numbers, those in constants that are written `3i64` too, but for places in the source.
fn numbers(value: &Json, at: String, into: &mut Vec<String>) {
    match value {
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(key, item)| numbers(item, format!("{at}/{key}"), into));
        }
        Json::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "place")
            .for_each(|(key, field)| numbers(field, format!("{at}/{key}"), into)),
        Json::Number(_) => into.push(at),
        Json::String(text) if constant(text).is_some() => into.push(at),
        _ => {}
    }
}

/// The number and the type of a whole constant.
fn constant(text: &str) -> Option<(i64, &str)> {
    let (number, ty) = text.split_at(text.find(['i', 'u'])?);
    Some((number.parse().ok()?, ty))
}

/// One change of a plan.
struct Edit {
    at: String,
    to: i64,
}

/// How many of the edits of a plan are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    /// All values of every number.
    All,
    /// One value of each number, another for each.
    One,
    /// One value of so many numbers at most.
    Most(usize),
}

/// A plan whose numbers are changed.
#[derive(Clone)]
struct Case {
    name: String,
    /// Whether each operation is a kernel of its own; else it is what the passes make.
    alone: bool,
    edits: Which,
}

/// Edits of a plan.
fn edits(plan: &Json, which: Which) -> Vec<Edit> {
    let mut places = Vec::new();
    numbers(&plan["plan"], "/plan".to_owned(), &mut places);
    let all = which == Which::All;
    let step = if let Which::Most(most) = which { places.len().div_ceil(most) } else { 1 };
    let mut edits = Vec::new();
    for (position, at) in places.into_iter().enumerate().step_by(step) {
        let was = match plan.pointer(&at) {
            Some(Json::Number(number)) => number.as_i64().unwrap_or(0),
            Some(Json::String(text)) => constant(text).map_or(0, |(number, _)| number),
            _ => 0,
        };
        let values = values(was);
        let chosen: Vec<i64> = if all { values } else { vec![values[position / step % values.len()]] };
        edits.extend(chosen.into_iter().map(|to| Edit { at: at.clone(), to }));
    }
    edits
}

fn edited(plan: &Json, edit: &Edit) -> Json {
    let mut plan = plan.clone();
    if let Some(place) = plan.pointer_mut(&edit.at) {
        *place = match place {
            Json::String(text) => format!("{}{}", edit.to, constant(text).map_or("", |(_, ty)| ty)).into(),
            _ => edit.to.into(),
        };
    }
    plan
}

/// What an edit comes to; `Err` is a defect.
fn outcome(plan: &Json, edit: &Edit, inputs: &[Array], backend: &Cranelift) -> Result<&'static str, String> {
    let Ok(plan) = json::plan_from_json(&edited(plan, edit).to_string()) else { return Ok("refused") };
    let shown = |panic: Box<dyn std::any::Any + Send>| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or(panic.downcast_ref::<&str>().map(|&text| text.to_owned())).unwrap_or_default()
    };
    let cpu = catch_unwind(AssertUnwindSafe(|| on_cpu(&plan, inputs, backend)))
        .map_err(|panic| format!("the CPU panics: {}", shown(panic)))?;
    let interpreted = |unwritten| {
        let given: Vec<Value> = inputs.iter().cloned().map(Value::Array).collect();
        catch_unwind(AssertUnwindSafe(|| run_plan_with_unwritten(&plan, &given, unwritten)))
            .map_err(|panic| format!("the interpreter panics: {}", shown(panic)))
    };
    // Numbers of every type that change whatever is computed with them, and zeros.
    let first = interpreted(0x45a5_45a5_45a5_45a5)?;
    let second = interpreted(0)?;
    let (first, second) = match (first, second) {
        (Ok((first, _)), Ok((second, _))) => (first, second),
        (Err(first), Err(second)) => {
            // What is written twice, or what nobody has written, decides.
            let twice = first.to_string().contains("twice");
            let (first, second) = (first.to_string(), second.to_string());
            return match cpu {
                _ if first != second || twice => Ok("unspecified"),
                Err(_) => Ok("failed"),
                Ok(_) => Err(format!("it runs, but should fail: {first}")),
            };
        }
        // Elements that nobody has written decide.
        _ => return Ok("unspecified"),
    };
    let same = |left: &[Value], right: &[Array]| {
        left.iter().zip(right).all(|(left, right)| matches!(left, Value::Array(left) if same_bits(left, right)))
    };
    let again: Vec<Array> = second
        .iter()
        .filter_map(|value| if let Value::Array(array) = value { Some(array.clone()) } else { None })
        .collect();
    match cpu {
        _ if !same(&first, &again) => Ok("unspecified"),
        Ok(results) if same(&first, &results) => Ok("ran"),
        Ok(results) => Err(format!("other results:\n  {results:?}, should be\n  {first:?}")),
        Err(error) => Err(format!("it fails, but should run: {error}")),
    }
}

fn on_cpu(plan: &Plan, inputs: &[Array], backend: &Cranelift) -> Result<Vec<Array>, BackendError> {
    backend.compile_plan(plan)?.load_plan()?.run_plan(inputs)
}

fn plan_of(golden: &Golden, alone: bool) -> Plan {
    if alone {
        return lowered(&golden.program).unwrap();
    }
    common::plan_of(&golden.program)
}

const WORKER: &str = "FUSEBOX_EDITS_WORKER";

/// The other process: runs the edits of a program from some number on, if it is one.
#[test]
fn worker() {
    let Ok(words) = std::env::var(WORKER) else { return };
    let words: Vec<&str> = words.split(' ').collect();
    let [name, alone, edited, from] = words[..] else { panic!("{words:?}") };
    let golden = fusebox_golden::load(name);
    let plan = plan_of(&golden, alone == "alone");
    let plan: Json = serde_json::from_str(&json::plan_to_json(&plan)).unwrap();
    let inputs = golden.flat_arrays();
    let which = match edited {
        "all" => Which::All,
        "one" => Which::One,
        most => Which::Most(most.parse().unwrap()),
    };
    let backends = [(true, 0), (false, 0), (true, 1)].map(|(wide, script_from_runs)| {
        // Turns of loops are done in strips, or over all rows.
        let (strips_from_bytes, strip_bytes) = (if wide { 0 } else { 1 << 30 }, 2_000);
        // Some lanes are left to all threads.
        let config = Config { threads: 2, share_from_ns: 1_000, wide, lane_bytes: 128, ..Config::default() };
        // What is not shared runs at once.
        let config = Config { strips_from_bytes, strip_bytes, at_once_from_ns: 0, script_from_runs, ..config };
        // Or everything is small, and the plan runs by its script.
        let long = 1_000_000_000;
        let small = Config { share_from_ns: long, at_once_from_ns: long, lane_bytes: 1 << 20, ..config.clone() };
        Cranelift::new(if script_from_runs > 0 { small } else { config }).unwrap()
    });
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::stdout();
    for (position, edit) in edits(&plan, which).iter().enumerate().skip(from.parse().unwrap()) {
        writeln!(out, "begin {position} {} = {}", edit.at, edit.to).unwrap();
        out.flush().unwrap();
        let told = match outcome(&plan, edit, &inputs, &backends[position % 3]) {
            Ok(outcome) => outcome.to_owned(),
            Err(defect) => format!("defect {}", defect.replace('\n', " ").chars().take(600).collect::<String>()),
        };
        writeln!(out, "end {told}").unwrap();
        out.flush().unwrap();
    }
    writeln!(out, "all edits").unwrap();
}

/// Starts a worker, and hands on what it says.
fn start(case: &Case, from: usize) -> (Child, Receiver<String>) {
    let this = std::env::current_exe().unwrap();
    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("sh");
        // Kilobytes.
        command.args(["-c", "ulimit -v 2000000; ulimit -c 0; exec \"$0\" \"$@\""]).arg(this);
        command
    } else {
        Command::new(this)
    };
    let which = match case.edits {
        Which::All => "all".to_owned(),
        Which::One => "one".to_owned(),
        Which::Most(most) => most.to_string(),
    };
    let words = format!("{} {} {which} {from}", case.name, if case.alone { "alone" } else { "fused" });
    command.args(["--exact", "worker", "--nocapture", "--test-threads=1"]).env(WORKER, words);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (send, receive) = channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    std::thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    (child, receive)
}

/// How long an edit may take before it is taken to be endless.
const LIMIT: Duration = Duration::from_millis(1_500);

#[derive(Default)]
struct Tally {
    outcomes: BTreeMap<String, usize>,
    defects: Vec<String>,
}

fn check(case: &Case) -> Tally {
    let name = &case.name;
    let mut tally = Tally::default();
    let mut from = 0;
    'workers: loop {
        let (mut child, said) = start(case, from);
        let mut edit = String::new();
        // To load the program, and then for each edit.
        let mut limit = Duration::from_secs(60);
        loop {
            match said.recv_timeout(limit) {
                // The first line begins with what the test runner says.
                Ok(line) if line.ends_with("all edits") => {
                    child.wait().unwrap();
                    return tally;
                }
                Ok(line) => {
                    if let Some(begun) = line.find("begin ").map(|at| &line[at + 6..]) {
                        let (position, what) = begun.split_once(' ').unwrap();
                        from = position.parse::<usize>().unwrap() + 1;
                        edit = what.to_owned();
                        limit = LIMIT;
                    } else if let Some(told) = line.strip_prefix("end ") {
                        let kind = told.split(' ').next().unwrap_or_default();
                        *tally.outcomes.entry(kind.to_owned()).or_default() += 1;
                        if kind == "defect" {
                            tally.defects.push(format!("{name}, {edit}: {}", &told[7..]));
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    *tally.outcomes.entry("endless".to_owned()).or_default() += 1;
                    continue 'workers;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = child.wait().unwrap();
                    tally.defects.push(format!("{name}, {edit}: the process ended, {status}"));
                    assert!(!edit.is_empty(), "{name}: the worker does not run, {status}");
                    continue 'workers;
                }
            }
        }
    }
}

#[test]
fn every_number_of_golden_plans() {
    if std::env::var_os(WORKER).is_some() {
        return;
    }
    let wanted = std::env::var("FUSEBOX_EDITS").unwrap_or_default();
    let some = |usual: Which| if wanted.is_empty() { usual } else { Which::All };
    let alone = EACH_ALONE.into_iter().map(|name| {
        let usual = if LONG.contains(&name) { Which::One } else { Which::All };
        Case { name: name.to_owned(), alone: true, edits: some(usual) }
    });
    let fused = fusebox_golden::names().into_iter();
    let fused = fused.map(|name| Case { name, alone: false, edits: some(Which::Most(MOST)) });
    let cases: Vec<Case> =
        alone.chain(fused).filter(|case| wanted.is_empty() || wanted == "all" || wanted == case.name).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let tallies = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let tally = check(case);
                    println!(
                        "{}, {}: {:?}",
                        case.name,
                        if case.alone { "each alone" } else { "fused" },
                        tally.outcomes
                    );
                    tallies.lock().unwrap().push(tally);
                }
            });
        }
    });
    let tallies = tallies.into_inner().unwrap();
    let defects: Vec<String> = tallies.iter().flat_map(|tally| tally.defects.clone()).collect();
    assert!(defects.is_empty(), "{} edits:\n{}", defects.len(), defects.join("\n"));
    let count = |kind: &str| -> usize { tallies.iter().filter_map(|tally| tally.outcomes.get(kind)).sum() };
    let total: usize = tallies.iter().flat_map(|tally| tally.outcomes.values()).sum();
    // Else the edits would show nothing.
    assert!(count("ran") > 0 && count("failed") > 0 && count("refused") > 0);
    assert!(count("endless") * 20 <= total, "{} of {total} edits are as good as endless", count("endless"));
}
