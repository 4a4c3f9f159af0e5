//! Programs in the embedded language are the same as their texts.
//!
//! With `FUSEBOX_BLESS=1` (as `cargo xtask bless` sets it) texts that differ are written anew out of the embedded form, under the comment
//! that heads them.

use fusebox_golden::{embedded, folder, load};
use fusebox_ir::{text, validate};

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
        "quicksort",
        "ray",
    ];
    let missing: Vec<_> = required.iter().filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "not in the embedded language: {missing:?}");
    assert!(names.len() >= 25, "{} programs", names.len());
}
