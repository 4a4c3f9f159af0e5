//! Programs in the embedded language are the same as their texts.
//!
//! With `FUSEBOX_BLESS=1` (as `cargo xtask bless` sets it) texts that differ are written anew out of the embedded form, under the comment
//! that heads them.

use fusebox::{Backend, Options, compile_program};
use fusebox_golden::{
    embedded::{self, Embedded},
    folder, load,
};
use fusebox_ir::{Program, Property, text, validate};

#[test]
fn texts_are_the_same_programs() {
    let mut different = Vec::new();
    for program in embedded::all() {
        let terms = (program.build)().unwrap_or_else(|error| panic!("{}: {error}", program.name));
        let recovered = fusebox_sharing::program(&terms, &fusebox_sharing::Config::default())
            .unwrap_or_else(|error| panic!("{}: {error}", program.name));
        validate(&recovered, &[]).unwrap_or_else(|errors| panic!("{}: {errors}\n{recovered}", program.name));
        let golden = load(program.name);
        if recovered == golden.program {
            continue;
        }
        if std::env::var_os("FUSEBOX_BLESS").is_some() {
            let comment: String = golden
                .source
                .lines()
                .take_while(|line| line.starts_with('#'))
                .map(|line| format!("{line}\n"))
                .collect();
            let path = folder().join("programs").join(format!("{}.fbx", program.name));
            std::fs::write(&path, format!("{comment}{recovered}\n"))
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(text::parse(&recovered.to_string()).as_ref(), Ok(&recovered));
        } else {
            different.push(format!("{}:\n{recovered}", program.name));
        }
    }
    assert!(different.is_empty(), "embedded programs that are not those of the texts:\n{}", different.join("\n"));
}

#[test]
fn nested_programs_give_what_their_texts_give() {
    for program in embedded::nested() {
        let recovered = recovered_alike(&program);
        assert!(validate(&recovered, &[Property::Flat]).is_err(), "{} is not nested\n{recovered}", program.name);
    }
}

#[test]
fn programs_written_another_way_give_what_their_texts_give() {
    let names: Vec<&str> = embedded::another_way().iter().map(|program| program.name).collect();
    assert_eq!(names, ["quicksort"]);
    embedded::another_way().iter().for_each(|program| drop(recovered_alike(program)));
}

/// The program, which gives what its text gives.
fn recovered_alike(program: &Embedded) -> Program {
    let terms = (program.build)().unwrap_or_else(|error| panic!("{}: {error}", program.name));
    let recovered = fusebox_sharing::program(&terms, &fusebox_sharing::Config::default())
        .unwrap_or_else(|error| panic!("{}: {error}", program.name));
    validate(&recovered, &[]).unwrap_or_else(|errors| panic!("{}: {errors}\n{recovered}", program.name));
    let golden = load(program.name);
    let names = |program: &Program| program.outputs.iter().map(|output| output.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&recovered), names(&golden.program), "{}", program.name);
    for backend in [Backend::Interp, Backend::Cpu] {
        let compiled = compile_program(&recovered, &Options { backend, ..Options::default() })
            .unwrap_or_else(|error| panic!("{}: {error}\n{recovered}", program.name));
        let results = compiled.run(&golden.inputs).unwrap_or_else(|error| panic!("{}: {error}", program.name));
        golden.check(&results).unwrap_or_else(|mismatch| panic!("{}: {mismatch}", program.name));
    }
    recovered
}

#[test]
fn there_are_as_many_as_promised() {
    let names: Vec<&str> = embedded::all().iter().map(|program| program.name).collect();
    let required = [
        "dotp",
        "black_scholes",
        "smvm",
        "mandelbrot",
        "nbody",
        "radix_sort",
        "canny",
        "fluid",
        "life",
        "histogram",
        "md5",
        "normalise2",
        "pagerank",
        "kmeans",
        "filter",
        "sieve",
        "matmul",
        "ray",
    ];
    let missing: Vec<_> = required.iter().filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "not in the embedded language: {missing:?}");
    assert!(names.len() >= 25, "{} programs", names.len());
    let nested: Vec<&str> = embedded::nested().iter().map(|program| program.name).collect();
    let required = [
        "nested_quicksort",
        "nested_fft",
        "nested_fft_rows",
        "nested_triangle_count",
        "nested_smvm",
        "nested_bubble_sort",
        "nested_mandelbrot",
        "nested_hull",
        "nested_volatility",
        "nested_queens",
        "nested_find",
        "nested_nearest",
        "nested_merge",
    ];
    let missing: Vec<_> = required.iter().filter(|name| !nested.contains(name)).collect();
    assert!(missing.is_empty(), "not in the embedded language: {missing:?}");
}
