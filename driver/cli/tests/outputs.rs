//! Results are written whole, all of them, or not at all; and inputs that have no end are refused.
#![cfg(target_os = "linux")]

mod support;

use std::process::Command;

use support::{Folder, f32s};

const BOTH: &str = "fn both(a: [n]f32) -> [n]f32, [n]f32 {
  let b: [n]f32 = map(|x| x + 1.0, a)
  let c: [n]f32 = map(|x| x * 2.0, a)
  return b, c }";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("both.fbx", BOTH);
    folder.write("a.npy", f32s(&[1.0; 1000]));
    folder.write("b.npy", "what was there");
    folder
}

/// Names of what is in the folder.
fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn where_one_result_cannot_be_written_all_files_stay() {
    let f = folder();
    std::os::unix::fs::symlink("/dev/full", f.path("full.npy")).unwrap();
    f.fusebox("run both.fbx --input a=a.npy --output b=b.npy --output c=full.npy").fails(1, &["full.npy", "`c`"]);
    assert_eq!(f.read("b.npy"), b"what was there");
    assert_eq!(names(&f), ["a.npy", "b.npy", "both.fbx", "full.npy"]);
    f.fusebox("run both.fbx --input a=a.npy --output b=b.npy --output c=c.npy").ok();
    assert_eq!(names(&f), ["a.npy", "b.npy", "both.fbx", "c.npy", "full.npy"]);
    assert_ne!(f.read("b.npy"), b"what was there");
}

/// The system ends a process that writes a longer file than it may.
#[test]
fn an_interrupted_run_leaves_what_was_there() {
    let f = folder();
    let status = Command::new("sh")
        .args([
            "-c",
            "ulimit -f 1; exec \"$0\" run both.fbx --input a=a.npy --output b=b.npy",
            env!("CARGO_BIN_EXE_fusebox"),
        ])
        .current_dir(f.path(""))
        .status()
        .unwrap();
    assert!(!status.success());
    assert_eq!(f.read("b.npy"), b"what was there");
}

#[test]
fn results_go_to_what_is_no_file_as_before() {
    let f = folder();
    std::os::unix::fs::symlink("/dev/null", f.path("null.npy")).unwrap();
    f.fusebox("run both.fbx --input a=a.npy --output b=null.npy").ok();
    f.fusebox("run both.fbx --input a=a.npy --print --output b=b.npy").ok();
}

#[test]
fn what_has_no_end_is_refused() {
    let f = folder();
    f.fusebox("run both.fbx --input a=/dev/zero --print").fails(2, &["a", "/dev/zero"]);
    f.fusebox("check /dev/zero").fails(2, &["/dev/zero"]);
}

#[test]
fn a_mark_of_byte_order_before_a_program_is_skipped() {
    let f = folder();
    f.write("marked.fbx", format!("\u{feff}{BOTH}"));
    f.fusebox("check marked.fbx").ok();
    let json = f.fusebox("dump both.fbx --stage read --format json").ok();
    f.write("marked.json", format!("\u{feff}{json}"));
    f.fusebox("check marked.json").ok();
}
