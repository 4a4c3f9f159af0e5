#![doc = include_str!("../README.md")]

pub mod embedded;
mod files;

use std::path::{Path, PathBuf};

use fusebox_ir::{Array, FlatInterface, Program, Value, compare, text};
pub use fusebox_ir::{Mismatch, Tolerance};
use serde::Deserialize;

/// A program with inputs and the results that it must give.
pub struct Golden {
    /// Also the name of its files.
    pub name: String,
    /// The program as text.
    pub source: String,
    /// The program.
    pub program: Program,
    /// One for each of the program's inputs.
    pub inputs: Vec<Value>,
    /// One for each of the program's results, computed by other means than the program.
    pub expected: Vec<Value>,
    /// How near results must be.
    pub tolerance: Tolerance,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    tolerance: Tolerance,
}

/// The folder of programs and data.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The names of all golden programs, in order.
///
/// # Panics
/// If the files of the project are damaged.
pub fn names() -> Vec<String> {
    names_in(&folder())
}

/// The same, of files in another folder.
///
/// # Panics
/// If the files are damaged.
pub fn names_in(folder: &Path) -> Vec<String> {
    entries(folder).into_iter().map(|entry| entry.name).collect()
}

fn entries(folder: &Path) -> Vec<Entry> {
    let path = folder.join("programs.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The golden program of a name, with its data.
///
/// # Panics
/// If there is none, or its files are damaged.
pub fn load(name: &str) -> Golden {
    load_in(&folder(), name)
}

/// The same, of files in another folder.
///
/// # Panics
/// As [`load`].
pub fn load_in(folder: &Path, name: &str) -> Golden {
    let entry = entries(folder)
        .into_iter()
        .find(|entry| entry.name == name)
        .unwrap_or_else(|| panic!("no golden program `{name}`"));
    let path = folder.join("programs").join(format!("{name}.fbx"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
    let data = folder.join("data").join(name);
    let inputs = program.body.params.iter().map(|param| files::value(&data, &param.name.0, &param.ty)).collect();
    let expected = program
        .outputs
        .iter()
        .map(|output| files::value(&data, &format!("expected.{}", output.name), &output.ty))
        .collect();
    Golden { name: entry.name, source, program, inputs, expected, tolerance: entry.tolerance }
}

impl Golden {
    /// The inputs as flat programs and plans take them.
    ///
    /// # Panics
    /// If the files of the project are damaged.
    pub fn flat_inputs(&self) -> Vec<Value> {
        let arrays: Vec<Array> = self.flat_arrays();
        arrays.into_iter().map(Value::Array).collect()
    }

    /// As [`Self::flat_inputs`].
    ///
    /// # Panics
    /// If the files of the project are damaged.
    pub fn flat_arrays(&self) -> Vec<Array> {
        let arrays = FlatInterface::of(&self.program).flat(&self.inputs);
        arrays.unwrap_or_else(|error| panic!("{}: {error}", self.name)).into_vec()
    }

    /// Whether results are those expected, within the tolerance.
    ///
    /// # Errors
    /// [`Mismatch`]: the first element that is not.
    pub fn check(&self, results: &[Value]) -> Result<(), Mismatch> {
        if results.len() != self.expected.len() {
            return Err(Mismatch::count(results.len(), self.expected.len()));
        }
        for ((output, expected), result) in self.program.outputs.iter().zip(&self.expected).zip(results) {
            compare(&output.name, expected, result, self.tolerance)?;
        }
        Ok(())
    }
}
