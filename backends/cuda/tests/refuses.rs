//! Without a GPU everything is an error that says why; whatever library is in the place of the driver.

use fusebox_cuda::{Cuda, Error, Options, gpus};
use std::path::Path;
use std::process::Command;

/// Set in the processes that the test below starts: what they are to find.
const EXPECTED: &str = "FUSEBOX_TEST_EXPECTED";

#[test]
fn without_a_driver_the_error_says_what_was_looked_for() {
    match gpus() {
        Ok(gpus) => println!("SKIPPED: there are GPUs here: {gpus:?}"),
        Err(Error::NoDriver { looked_for }) => {
            assert!(looked_for.contains("libcuda.so") || looked_for.contains("nvcuda"), "{looked_for}");
            let error = Cuda::open(Options::default()).unwrap_err();
            assert!(error.to_string().starts_with("there is no driver of NVIDIA here: looked for "), "{error}");
        }
        Err(error) => println!("SKIPPED: there is a driver here, and it says: {error}"),
    }
}

#[test]
fn a_gpu_that_is_not_there_is_refused() {
    let error = Cuda::open(Options { ordinal: 1000, cache: None }).unwrap_err();
    assert!(!error.to_string().is_empty());
}

/// Only does something in a process that `strange_libraries_are_errors` starts.
#[test]
fn in_a_process_with_a_strange_library() {
    let Ok(expected) = std::env::var(EXPECTED) else { return };
    let said = gpus().map(|gpus| format!("{gpus:?}")).unwrap_or_else(|error| error.to_string());
    assert!(said.contains(&expected), "{said}");
    assert!(Cuda::open(Options::default()).is_err());
}

#[test]
#[cfg(target_os = "linux")]
fn strange_libraries_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    for (source, expected) in [
        // Nothing that a driver has.
        ("int nothing(void) { return 0; }", "the driver says"),
        // A driver that starts and lacks all else.
        ("int cuInit(unsigned flags) { return 0; }", "the driver says"),
        // One that finds no device.
        ("int cuInit(unsigned flags) { return 100; }", "and no GPU"),
        ("int cuInit(unsigned f) { return 0; } int cuDeviceGetCount(int *n) { *n = 0; return 0; }", "and no GPU"),
        ("int cuInit(unsigned f) { return 0; } int cuDeviceGetCount(int *n) { return 999; }", "CUDA_ERROR_UNKNOWN"),
        ("int cuInit(unsigned f) { return 0; } int cuDeviceGetCount(int *n) { *n = 1; return 0; }", "describing a GPU"),
    ] {
        if !library(folder.path(), source) {
            println!("SKIPPED: there is no C compiler");
            return;
        }
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "in_a_process_with_a_strange_library"]);
        child.env("LD_LIBRARY_PATH", folder.path()).env(EXPECTED, expected);
        let output = child.output().unwrap();
        assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stdout));
    }
}

fn library(folder: &Path, source: &str) -> bool {
    let (text, library) = (folder.join("driver.c"), folder.join("libcuda.so"));
    std::fs::write(&text, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(&library).arg(&text);
    match compiler.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(_) => false,
    }
}
