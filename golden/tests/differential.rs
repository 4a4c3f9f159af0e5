//! Random programs: what is made of a program means the same.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_QUICK=1` a tenth of them, `FUSEBOX_PROGRAMS=N` as many as it says for each test.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
};

use fusebox_interp::{run, run_plan};
use fusebox_ir::{
    Array, Constant, ElementType, Fault, FlatInterface, Program, Value,
    generate::{Config, Kind, Rounding, inputs, minimize, program},
    json, text, validate, validate_plan,
};

/// What a way of running gives.
type Outcome = Result<Vec<Value>, Failure>;

/// How a run failed.
enum Failure {
    /// As programs fail.
    Run(Fault),
    /// In a way that no program may fail in.
    Other(String),
}

impl From<fusebox_interp::Error> for Failure {
    fn from(error: fusebox_interp::Error) -> Self {
        match error {
            fusebox_interp::Error::Run(error) => Self::Run(error.fault),
            error => Self::Other(error.to_string()),
        }
    }
}

impl From<fusebox::Error> for Failure {
    fn from(error: fusebox::Error) -> Self {
        match error {
            fusebox::Error::Run(error) => Self::Run(error.fault),
            error => Self::Other(error.to_string()),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run(fault) => write!(f, "{fault}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

/// Whether a fault is of extents: it is one of operations, not of elements that perhaps nobody reads.
fn is_of_extents(fault: &Fault) -> bool {
    matches!(fault, Fault::Sizes { .. } | Fault::TooFew { .. } | Fault::NegativeExtent { .. })
}

/// Another way to run a program.
type Way = fn(&Program, &[Value]) -> Result<Outcome, String>;

fn as_plan(program: &Program, inputs: &[Value]) -> Result<Outcome, String> {
    let (strict, _) = fusebox_strictness::make_strict(program, &fusebox_strictness::Config::default())
        .map_err(|error| format!("not strict: {error}"))?;
    let (plan, _) = fusebox_kernels::lower(&strict, &fusebox_kernels::Config::default())
        .map_err(|error| format!("not lowered: {error}"))?;
    validate_plan(&plan).map_err(|errors| format!("the plan is not valid: {errors}"))?;
    match json::plan_from_json(&json::plan_to_json(&plan)) {
        Ok(read) if read == plan => {}
        Ok(_) => return Err("another plan through JSON: ".into()),
        Err(error) => return Err(format!("the plan is not read from JSON: {error}")),
    }
    Ok(run_plan(&plan, inputs).map(|(results, _)| results).map_err(Failure::from))
}

fn simplified(program: &Program, inputs: &[Value]) -> Result<Outcome, String> {
    let (simple, _) = fusebox_simplify::simplify(program, &fusebox_simplify::Config::default());
    validate(&simple, &[]).map_err(|errors| format!("simplified it is not valid: {errors}\n{simple}"))?;
    Ok(run(&simple, inputs).map_err(Failure::from))
}

/// All passes, and machine code: fused as well as possible, on three threads.
fn compiled(program: &Program, inputs: &[Value]) -> Result<Outcome, String> {
    on_all_cores(program, inputs, fusebox::Fusion::Optimal, 3)
}

/// All passes with the least of fusion, on one thread.
fn compiled_apart(program: &Program, inputs: &[Value]) -> Result<Outcome, String> {
    on_all_cores(program, inputs, fusebox::Fusion::None, 1)
}

/// All passes, each in a process of its own as far as it can tell: what it reads was printed, as text and as JSON by turns, and parsed.
fn through_files(program: &Program, inputs: &[Value]) -> Result<Outcome, String> {
    let options = fusebox::Options { cache: false, ..Default::default() };
    let mut program = program.clone();
    for (at, pass) in fusebox::pipeline(&options).into_iter().enumerate() {
        let name = pass.name();
        program = match at % 2 {
            0 => text::parse(&program.to_string()).map_err(|error| format!("no text for {name}: {error}"))?,
            _ => {
                let read = json::from_json(&json::to_json(&program, &[]));
                read.map_err(|error| format!("no JSON for {name}: {error}"))?.0
            }
        };
        let stages = fusebox::run_passes(&program, &[pass], true).map_err(|error| format!("{name}: {error}"))?;
        let Some(stage) = stages.into_iter().next() else { return Err(format!("{name} makes nothing")) };
        if let Some(plan) = stage.plan() {
            let plan = json::plan_from_json(&json::plan_to_json(plan)).map_err(|error| format!("no plan: {error}"))?;
            let compiled = fusebox::compile_plan(&plan, &options).map_err(|error| format!("not compiled: {error}"))?;
            return Ok(compiled.run(inputs).map_err(Failure::from));
        }
        program = stage.program().cloned().ok_or_else(|| format!("{name} makes no program"))?;
    }
    Err("no pass makes a plan".into())
}

fn on_all_cores(
    program: &Program,
    inputs: &[Value],
    fusion: fusebox::Fusion,
    threads: usize,
) -> Result<Outcome, String> {
    let options = fusebox::Options { fusion, threads: NonZeroUsize::new(threads), cache: false, ..Default::default() };
    let compiled = fusebox::compile_program(program, &options).map_err(|error| format!("not compiled: {error}"))?;
    Ok(compiled.run(inputs).map_err(Failure::from))
}

/// As [`compiled`], of programs that nest and traverse streams, on 1, 2 and 7 threads; those of which names are taken are left out. The flat program
/// on the interpreter gives the same.
fn flattened(program: &Program, inputs: &[Value]) -> Result<Outcome, String> {
    let config = fusebox_flattening::Config::of(fusebox_flattening::Flattening::Alone);
    let Some((flat, interface, given)) = in_flat_form(program, inputs, &config)? else {
        return Ok(run(program, inputs).map_err(Failure::from));
    };
    let first = of_flat(&interface, run(&flat, &given).map_err(Failure::from));
    for threads in [1, 2, 7] {
        match (&first, on_all_cores(program, inputs, fusebox::Fusion::Optimal, threads)?) {
            (Ok(expected), Ok(found)) => {
                if let Some(other) = different(program, expected, &found) {
                    return Err(format!("not what the flat program gives, on {threads} threads: {other}"));
                }
            }
            (Err(_), Err(Failure::Run(_))) => {}
            (_, Err(error)) => return Err(format!("it alone fails on {threads} threads: {error}")),
            (Err(error), Ok(_)) => return Err(format!("the flat program alone fails on the interpreter: {error}")),
        }
    }
    Ok(first)
}

/// A program with nests and traversals as a flat one, what it takes and gives, and its inputs; none if names are taken.
fn in_flat_form(
    program: &Program,
    inputs: &[Value],
    config: &fusebox_flattening::Config,
) -> Result<Option<(Program, FlatInterface, Vec<Value>)>, String> {
    use fusebox_flattening::{Error, flatten, streams_in_memory};
    let flat = match flatten(program, config).and_then(|(flat, _)| streams_in_memory(&flat)) {
        Ok(flat) => flat,
        Err(Error::Taken { .. }) => return Ok(None),
        Err(error) => return Err(format!("not flat: {error}")),
    };
    let interface = FlatInterface::of(program);
    let given = interface.flat(inputs).map_err(|error| error.to_string())?;
    Ok(Some((flat, interface, given.into_iter().map(Value::Array).collect())))
}

/// What a flat program gave, as what the nested one gives.
fn of_flat(interface: &FlatInterface, outcome: Outcome) -> Outcome {
    let arrays = |value: Value| if let Value::Array(array) = value { Some(array) } else { None };
    let results = interface.values(outcome?.into_iter().filter_map(arrays).collect());
    results.map_err(|error| Failure::Other(error.to_string()))
}

/// As [`flattened`], with the lanes of every outermost nest one at a time.
fn one_lane_at_a_time(program: &Program, inputs: &[Value]) -> Result<Outcome, String> {
    let mut config = fusebox_flattening::Config::of(fusebox_flattening::Flattening::Alone);
    config.every_alone = true;
    let Some((flat, interface, given)) = in_flat_form(program, inputs, &config)? else {
        return Ok(run(program, inputs).map_err(Failure::from));
    };
    let threads = [1, 2, 7][program.body.bindings.len() % 3];
    Ok(of_flat(&interface, on_all_cores(&flat, &given, fusebox::Fusion::Optimal, threads)?))
}

const FAILS: &str = "the program fails";

/// What is wrong with running a program in a way.
fn fault(program: &Program, seed: u64, config: &Config, way: Way) -> Option<String> {
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let inputs = inputs(program, seed, config);
        let expected = run(program, &inputs).map_err(Failure::from);
        if !config.may_fail
            && let Err(error) = &expected
        {
            return Some(format!("{FAILS}: {error}"));
        }
        let found = match way(program, &inputs) {
            Ok(found) => found,
            Err(why) => return Some(why),
        };
        match (expected, found) {
            (Ok(expected), Ok(found)) => different(program, &expected, &found),
            (Ok(_), Err(error)) => Some(format!("it alone fails: {error}")),
            (Err(Failure::Other(why)), _) => Some(format!("the interpreter fails otherwise: {why}")),
            (Err(_), Err(Failure::Other(why))) => Some(format!("it fails otherwise: {why}")),
            // Of several errors any is reported.
            (Err(Failure::Run(_)), Err(Failure::Run(_))) => None,
            (Err(Failure::Run(fault)), Ok(_)) if is_of_extents(&fault) => Some(format!("an error is lost: {fault}")),
            // The error of an element that nothing reads may be lost.
            (Err(Failure::Run(_)), Ok(_)) => None,
        }
    }));
    checked.unwrap_or_else(|panic| {
        let message =
            panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Some(format!("panic {}", message.unwrap_or_default()))
    })
}

fn different(program: &Program, expected: &[Value], found: &[Value]) -> Option<String> {
    for (position, output) in program.outputs.iter().enumerate() {
        let name = &output.name;
        let same = match (&expected[position], &found[position]) {
            (Value::Array(left), Value::Array(right)) if name.ends_with(".sum") => match expected.get(position + 1) {
                Some(Value::Array(bounds)) => all(left, right, |at, a, b| is_sum(a, b, bounds.get(at))),
                _ => true,
            },
            // A sum too; only its neighbour needs it.
            _ if name.ends_with(".bound") => true,
            (Value::Array(left), Value::Array(right)) if name.ends_with(".ulp") => {
                all(left, right, |_, a, b| ulps(a, b) <= 2)
            }
            (Value::Array(left), Value::Array(right)) => all(left, right, |_, a, b| is_same(a, b)),
            (Value::Stream(left), Value::Stream(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| all(left, right, |_, a, b| is_same(a, b)))
            }
            (Value::Nested(left), Value::Nested(right)) => {
                left.extents == right.extents && all(&left.values, &right.values, |_, a, b| is_same(a, b))
            }
            _ => false,
        };
        if !same {
            return Some(format!(
                "other results: `{name}` is\n  {:?}, should be\n  {:?}",
                found[position], expected[position]
            ));
        }
    }
    None
}

fn all(left: &Array, right: &Array, same: impl Fn(usize, Constant, Constant) -> bool) -> bool {
    left.element() == right.element()
        && left.extents() == right.extents()
        && left.constants().zip(right.constants()).enumerate().all(|(at, (a, b))| is_same(a, b) || same(at, a, b))
}

/// To the bit, but for sign and payload of NaN.
fn is_same(a: Constant, b: Constant) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a.is_nan() && b.is_nan())
}

/// Two sums of the same numbers, whose absolute values sum to the bound: within n eps of it, for the most there are to sum.
fn is_sum(a: Constant, b: Constant, bound: Constant) -> bool {
    let (epsilon, largest, terms) = match a.ty() {
        ElementType::F16 => (0.000_976_562_5, 65_504.0, 60.0),
        ElementType::F32 => (f64::from(f32::EPSILON), f64::from(f32::MAX), 700.0),
        _ => (f64::EPSILON, f64::MAX, 40_000.0),
    };
    match (a.as_f64(), b.as_f64(), bound.as_f64()) {
        // Where it may overflow on the way, nothing is said.
        (Some(a), Some(b), Some(bound)) => {
            bound.is_nan() || bound >= largest / 4.0 || (a - b).abs() <= terms * epsilon * bound
        }
        _ => false,
    }
}

/// How many floats lie between.
fn ulps(a: Constant, b: Constant) -> u64 {
    let key = |c: Constant| {
        let sign = 1u64 << (c.ty().bits() - 1);
        let size = (c.bits() & !sign) as i64;
        if c.bits() & sign == 0 { size } else { -size }
    };
    match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) if x.is_nan() || y.is_nan() => u64::MAX,
        (Some(_), Some(_)) if a.ty() == ElementType::F16 => key(a).abs_diff(key(b)) + 1,
        (Some(_), Some(_)) => key(a).abs_diff(key(b)),
        _ => u64::MAX,
    }
}

/// All seeds, a tenth of them, as many as are asked for, or the one that is.
fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    match (number("FUSEBOX_SEED"), number("FUSEBOX_PROGRAMS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(programs)) => 0..programs,
        (None, None) if std::env::var_os("FUSEBOX_QUICK").is_some() => 0..count / 10,
        (None, None) => 0..count,
    }
}

/// Runs programs in a way; says of each kind of fault the smallest program that was found.
fn check(test: &str, count: u64, config: &Config, way: Way) {
    let kind = |fault: &str| fault.chars().take_while(|&c| c != ':').take(60).collect::<String>();
    let mut faults: BTreeMap<String, (usize, u64, String)> = BTreeMap::new();
    for seed in seeds(count) {
        let program = program(seed, config);
        if let Some(fault) = fault(&program, seed, config, way) {
            let known = faults.entry(kind(&fault)).or_insert((0, seed, fault));
            known.0 += 1;
        }
    }
    let mut report = String::new();
    for (which, (times, seed, first)) in faults {
        // Of smaller programs other inputs fail for reasons of their own: a program that should not fail is shown whole.
        let small = minimize(&program(seed, config), &mut |smaller| {
            which != FAILS && self::fault(smaller, seed, config, way).is_some_and(|fault| kind(&fault) == which)
        });
        let of_small = self::fault(&small, seed, config, way).unwrap_or(first);
        let given: Vec<String> = inputs(&small, seed, config).iter().map(|value| format!("{value:?}")).collect();
        report += &format!(
            "\n{times} times, first seed {seed} (FUSEBOX_SEED={seed} cargo test -p fusebox-golden --test all {test}):\n\
             {of_small}\n{small}\n{}\n",
            given.join("\n")
        );
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn plans() {
    check("plans", 1_500, &Config { rounding: Rounding::Marked, large: true, ..Config::default() }, as_plan);
}

#[test]
fn plans_that_fail() {
    check(
        "plans_that_fail",
        1_000,
        &Config { rounding: Rounding::Marked, may_fail: true, ..Config::default() },
        as_plan,
    );
}

#[test]
fn simplification() {
    let config = Config { rounding: Rounding::Free, nested: true, clusters: true, ..Config::default() };
    check("simplification", 1_500, &config, simplified);
}

#[test]
fn simplification_of_what_fails() {
    let config = Config { rounding: Rounding::Free, nested: true, may_fail: true, ..Config::default() };
    check("simplification_of_what_fails", 1_000, &config, simplified);
}

#[test]
fn the_whole_pipeline() {
    let config = Config { rounding: Rounding::Marked, large: true, ..Config::default() };
    check("the_whole_pipeline", 400, &config, compiled);
}

#[test]
fn the_whole_pipeline_through_files() {
    let config = Config { rounding: Rounding::Marked, ..Config::default() };
    check("the_whole_pipeline_through_files", 200, &config, through_files);
}

#[test]
fn the_whole_pipeline_without_fusion() {
    let config = Config { rounding: Rounding::Marked, ..Config::default() };
    check("the_whole_pipeline_without_fusion", 200, &config, compiled_apart);
}

#[test]
fn the_whole_pipeline_of_what_fails() {
    let config = Config { rounding: Rounding::Marked, may_fail: true, ..Config::default() };
    check("the_whole_pipeline_of_what_fails", 300, &config, compiled);
}

#[test]
fn nested_programs_on_all_cores() {
    let config = Config { nested: true, max_bindings: 8, ..Config::default() };
    check("nested_programs_on_all_cores", 1_000, &config, flattened);
}

/// One row of a thousand elements beside short ones, nests in nests in nests.
#[test]
fn deep_nests_and_rows_of_very_unequal_length_on_all_cores() {
    let deep = Config { nested: true, max_bindings: 8, max_depth: 5, ..Config::default() };
    check("deep_nests_and_rows_of_very_unequal_length_on_all_cores", 150, &deep, flattened);
    let long = Config { nested: true, max_bindings: 8, max_depth: 5, long_rows: true, ..Config::default() };
    check("deep_nests_and_rows_of_very_unequal_length_on_all_cores", 150, &long, flattened);
}

#[test]
fn nested_programs_one_lane_at_a_time() {
    let config = Config { nested: true, max_bindings: 8, ..Config::default() };
    check("nested_programs_one_lane_at_a_time", 600, &config, one_lane_at_a_time);
}

#[test]
fn replicates_by_offsets() {
    let mut config = Config { rounding: Rounding::Marked, segments: true, ..Config::default() };
    for (kind, weight) in &mut config.operations {
        *weight *= if *kind == Kind::Replicate { 6 } else { 1 };
    }
    check("replicates_by_offsets", 300, &config, as_plan);
    check("replicates_by_offsets", 100, &config, compiled);
}

/// Seed 997 of `plans_that_fail` with [`Config::segments`]: a branch gives a scalar to a function that runs for no element.
#[test]
fn a_branch_that_no_element_needs_does_not_fail() {
    let source = "fn f(n: i64, z: i64) -> [n]i64 {
      let c = z > 0
      let x: i64 = cond(c, || { let a = z + 1 return a }, || { let b: i64 = unit(|| assert(z > 5, \"boom\", z)) return b })
      let r: [n]i64 = generate([n], |i| i + x)
      return r }";
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let inputs: Vec<Value> = vec![Array::scalar(0i64).into(), Array::scalar(0i64).into()];
    assert!(run(&program, &inputs).is_ok());
    if let Err(failure) = as_plan(&program, &inputs).unwrap_or_else(|error| panic!("{error}")) {
        panic!("{failure}");
    }
}
