//! Puts the golden programs and their data into the program.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

fn main() {
    let golden = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("..");
    let mut files = vec![golden.join("programs.json")];
    for folder in ["programs", "data"] {
        collect(&golden.join(folder), &mut files);
        println!("cargo::rerun-if-changed={}", golden.join(folder).display());
    }
    println!("cargo::rerun-if-changed={}", golden.join("programs.json").display());
    files.sort();
    let mut text = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&golden).unwrap_or(file).to_string_lossy().replace('\\', "/");
        let path = fs::canonicalize(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        _ = writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    text.push_str("]\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("golden.rs");
    fs::write(&out, text).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
