//! The contestant, run as an outside runner runs it.

use std::process::{Command, Output};

use fusebox_bench::{compare::compare, program::stacked, programs};

fn contestant(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fusebox-bench"));
    command.args(arguments).env("BENCH_MIN_REPS", "3").env("BENCH_MIN_TIME", "0.001");
    command.output().unwrap()
}

#[test]
fn every_program_takes_part() {
    for program in programs::all().into_iter().filter(|program| program.outside) {
        let name = program.name;
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("result.npy");
        let data = (program.generate)(program.tiny);
        data.write(folder.path()).unwrap();
        let output = contestant(&[name, "tiny", folder.path().to_str().unwrap(), out.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{name}: {said}");
        let line: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((line["program"].as_str(), line["size"].as_str()), (Some(name), Some("tiny")));
        assert!(line["reps"].as_u64().unwrap() >= 3, "{line}");
        for time in ["first_ms", "median_ms", "min_ms"] {
            assert!(line[time].as_f64().unwrap() > 0.0, "{line}");
        }
        assert!(line["min_ms"].as_f64() <= line["median_ms"].as_f64(), "{line}");
        assert!(line["checksum"].is_number(), "{line}");
        let found = fusebox::files::read_npy(&out).unwrap();
        let mut hand = (program.hand)(&data).unwrap();
        hand.run();
        let expected = stacked(hand.results()).unwrap();
        let near = compare(&[expected], &[found.plain().unwrap().clone()], program.tolerance);
        assert!(near.is_ok(), "{name}: {near:?}");
    }
}

#[test]
fn what_is_not_supported_exits_with_77() {
    let output = contestant(&["frobnicate", "tiny", ".", "x.npy"]);
    assert_eq!(output.status.code(), Some(77));
    assert!(output.stdout.is_empty());
}

#[test]
fn bad_data_is_an_error_of_another_code() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let output = contestant(&["dot", "tiny", data, "x.npy"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("params.json"));
    std::fs::write(folder.path().join("params.json"), "{}").unwrap();
    let output = contestant(&["dot", "tiny", data, "x.npy"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("input `xs`") && said.contains("`x`"), "{said}");
}
