//! A folder of files, and the command run in it.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::{
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// A folder that goes away with the test.
pub struct Folder {
    folder: TempDir,
}

impl Folder {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs the command in the folder; arguments are words.
    pub fn fusebox(&self, arguments: &str) -> Done {
        let output = Command::new(env!("CARGO_BIN_EXE_fusebox"))
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        Done::of(arguments, output)
    }

    /// As [`Self::fusebox`], with this on standard input.
    pub fn with_input(&self, arguments: &str, input: &str) -> Done {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fusebox"))
            .args(arguments.split_whitespace())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        Done::of(arguments, child.wait_with_output().unwrap())
    }
}

/// What a command gave.
pub struct Done {
    pub arguments: String,
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Done {
    fn of(arguments: &str, output: Output) -> Self {
        Self {
            arguments: arguments.to_owned(),
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// It went well; what it printed.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "fusebox {}\n{}", self.arguments, self.err);
        self.out
    }

    /// It went wrong with this exit code, said all of this on standard error, and nothing on standard output.
    #[track_caller]
    pub fn fails(self, code: i32, says: &[&str]) {
        assert_eq!(self.code, code, "fusebox {}\n{}", self.arguments, self.err);
        for text in says {
            assert!(self.err.contains(text), "fusebox {}\nshould say: {text}\nbut says: {}", self.arguments, self.err);
        }
        assert!(!self.err.contains("panicked"), "fusebox {}\n{}", self.arguments, self.err);
        assert_eq!(self.out, "", "fusebox {}", self.arguments);
    }
}

/// A `.npy` file, by hand: version 1, the dictionary with one line break behind, then the elements.
pub fn npy(descr: &str, fortran: bool, shape: &str, elements: &[u8]) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(elements);
    bytes
}

pub fn f32s(elements: &[f32]) -> Vec<u8> {
    npy(
        "'<f4'",
        false,
        &format!("({},)", elements.len()),
        &elements.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>(),
    )
}

pub fn i64s(elements: &[i64]) -> Vec<u8> {
    npy(
        "'<i8'",
        false,
        &format!("({},)", elements.len()),
        &elements.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>(),
    )
}
