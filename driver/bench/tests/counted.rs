//! The innermost loops of the suite's kernels, counted: a change of the code that they are made of is seen here without a clock.
//!
//! Each line is a loop that no other is inside of, in the machine code of a part of a kernel: how many instructions a turn has, how many of them
//! read arrays, read constants, write arrays, use the stack, move a register to another, and leave the loop (checks, and ends that come
//! before the turn's). Registers are allocated then, and no machine plays a part: code for AVX-512 is counted anywhere, and kernels that have no code for long vectors where Cranelift makes code for x86-64. Parts that a launch
//! runs once, for few elements, are left out.

#[path = "counted/loops.rs"]
mod loops;

use std::fmt::Write as _;

use fusebox::{Options, pipeline_of, run_passes};
use fusebox_bench::programs;
#[cfg(target_arch = "x86_64")]
use fusebox_cranelift::short_code;
use fusebox_cranelift::{Config, Cranelift, Features, emit::Part};
use fusebox_ir::ProvedPlan;
use iced_x86::Instruction;

/// The plan of each program, by its name.
fn plans() -> Vec<(&'static str, ProvedPlan)> {
    let plan = |program: &fusebox_bench::program::Program| -> anyhow::Result<ProvedPlan> {
        let ir = program.ir()?;
        let mut passes = pipeline_of(&ir, &Options::default());
        passes.pop();
        let stages = run_passes(&ir, &passes, false)?;
        let last = stages.last().and_then(|stage| stage.program()).unwrap_or(&ir);
        Ok(fusebox_kernels::lower_proved(last, &Default::default())?.0)
    };
    let named = |program: &fusebox_bench::program::Program| {
        (program.name, plan(program).unwrap_or_else(|error| panic!("{}: {error}", program.name)))
    };
    programs::all().iter().map(named).collect()
}

/// The loops of a part of a kernel, of those that a launch may spend its time in.
fn lines(table: &mut String, of: &str, part: Part, all: &[Instruction]) {
    if matches!(part, Part::Steps | Part::Carry | Part::Finish) {
        return;
    }
    for found in loops::innermost(all) {
        let loops::Counts { instructions, loads, constants, stores, stack, moves, exits } = found;
        let counts = format!("{instructions} {loads} {constants} {stores} {stack} {moves} {exits}");
        writeln!(table, "{of}, {part:?}: {counts}").expect("text");
    }
}

/// A line for each innermost loop of each kernel's code for these features.
fn table(plans: &[(&'static str, ProvedPlan)], features: Features) -> String {
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).expect("a thread");
    let mut table = String::from("program, kernel, part: instructions loads constants stores stack moves exits\n");
    for (program, plan) in plans {
        let compiled = backend.compile_proved_plan(plan).unwrap_or_else(|error| panic!("{program}: {error}"));
        let codes = compiled.wide_code(features).unwrap_or_else(|error| panic!("{program}: {error}"));
        for (kernel, wide) in plan.kernels.iter().zip(codes) {
            let of = format!("{program}, {}", kernel.name.0);
            for ((part, _), code) in wide.iter().flat_map(|wide| wide.compiled.parts.iter().zip(&wide.codes)) {
                code.iter().for_each(|code| lines(&mut table, &of, *part, &loops::of_long_vectors(code)));
            }
        }
    }
    table
}

/// The same of kernels that have no code for long vectors even with AVX-512: their code through Cranelift, for a processor with SSE4.2.
#[cfg(target_arch = "x86_64")]
fn table_of_the_rest(plans: &[(&'static str, ProvedPlan)]) -> String {
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).expect("a thread");
    let mut table = String::from("program, kernel, part: instructions loads constants stores stack moves exits\n");
    for (program, plan) in plans {
        let compiled = backend.compile_proved_plan(plan).unwrap_or_else(|error| panic!("{program}: {error}"));
        let wide = compiled.wide_code(Features::FULL).unwrap_or_else(|error| panic!("{program}: {error}"));
        let short = compiled.kernels().unwrap_or_else(|error| panic!("{program}: {error}"));
        for ((kernel, wide), short) in plan.kernels.iter().zip(wide).zip(short) {
            for (part, function) in short.parts.iter().filter(|_| wide.is_none()) {
                let code = short_code(function).unwrap_or_else(|error| panic!("{program}: {error}"));
                lines(&mut table, &format!("{program}, {}", kernel.name.0), *part, &loops::of_short_vectors(&code));
            }
        }
    }
    table
}

#[test]
fn innermost_loops() {
    let plans = plans();
    for (name, features) in [("avx2", Features::AVX2), ("avx512", Features::FULL)] {
        insta::assert_snapshot!(format!("innermost_loops_{name}"), table(&plans, features));
    }
    #[cfg(target_arch = "x86_64")]
    insta::assert_snapshot!("innermost_loops_without_long_vectors", table_of_the_rest(&plans));
}
