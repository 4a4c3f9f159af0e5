//! The suite on the simulator, and on a machine without a GPU.

use std::process::{Command, Output};

fn suite(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fusebox-gpu-suite"))
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{error}"))
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Golden programs, one of them nested, and benchmark programs.
#[test]
fn some_programs_on_the_simulator() {
    let done = suite(&[
        "--backend",
        "sim",
        "--programs",
        "dotp,radixsort,segmented_sums,softmax_rows,nested_softmax,histogram,blackscholes",
    ]);
    let out = out(&done);
    assert_eq!(done.status.code(), Some(0), "{out}");
    assert!(out.contains("dotp") && out.contains("a copy: ") && out.contains(" 0 wrong"), "{out}");
}

#[test]
fn a_program_that_there_is_not() {
    let done = suite(&["--backend", "sim", "--programs", "dotp,nothing"]);
    assert_eq!(done.status.code(), Some(1), "{}", out(&done));
    assert!(out(&done).contains("no program has one of these names: nothing"), "{}", out(&done));
}

#[test]
fn without_a_gpu_it_says_so() {
    if fusebox_cuda::gpus().is_ok_and(|gpus| !gpus.is_empty()) {
        println!("SKIPPED: there is a GPU here");
        return;
    }
    let done = suite(&[]);
    assert_eq!(done.status.code(), Some(2), "{}", out(&done));
    assert!(out(&done).contains("no GPU: "), "{}", out(&done));
}

/// A program that takes too long, or of which there is no data, is one row.
#[test]
fn what_is_wrong_with_a_program_is_its_row() {
    let done = suite(&["--backend", "sim", "--programs", "dotp,radixsort", "--seconds", "0"]);
    let text = out(&done);
    assert_eq!(done.status.code(), Some(1), "{text}");
    assert!(text.matches("WRONG: it did not end within 0 s").count() == 2, "{text}");
    assert!(text.contains("2 programs, 2 wrong"), "{text}");
    let nowhere = suite(&["--backend", "sim", "--one", "golden:dotp", "--golden", "no such folder"]);
    assert!(!nowhere.status.success(), "{}", out(&nowhere));
    for arguments in [["--one", "dotp"], ["--one", "other:dotp"], ["--seconds", "-1"], ["--device", "x"]] {
        let refused = suite(&[&["--backend", "sim"], &arguments[..]].concat());
        assert!(matches!(refused.status.code(), Some(1 | 2)), "{arguments:?}: {}", out(&refused));
        assert!(!out(&refused).contains("panicked"), "{arguments:?}: {}", out(&refused));
    }
}
