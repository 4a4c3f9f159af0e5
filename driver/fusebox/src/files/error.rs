//! What may be wrong with a file.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use fusebox_ir::ArrayError;

/// A file, what it was for, and what is wrong with it.
pub struct FileError {
    /// The file; of archives and folders with the member in it.
    pub path: PathBuf,
    /// The member of an archive, where it is about one.
    pub member: Option<String>,
    /// The input or result it was for, where known.
    pub of: Option<String>,
    /// What is wrong.
    pub fault: Box<FileFault>,
}

/// What is wrong with a file, or with the list of files.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileFault {
    /// The system says no.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Neither of the kinds of files that are known.
    #[error("expected .npy, .npz, Matrix Market or PNG, found {found}")]
    Kind {
        /// How it begins.
        found: String,
    },
    /// A kind of file that does not become this input.
    #[error("expected {expected}, found {found}")]
    Unfit {
        /// What is wanted.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A header that is none.
    #[error("the header is not that of a .npy file: {why}")]
    Header {
        /// What is wrong with it.
        why: String,
    },
    /// A type that arrays have not.
    #[error(
        "elements are of numpy type {found}, and only bool, integers and floats of up to 64 bits, complex64, complex128 and records of these are read"
    )]
    Dtype {
        /// The type.
        found: String,
    },
    /// Less than the header says.
    #[error("the file is cut: expected {expected} bytes of elements, found {found}")]
    Truncated {
        /// Bytes that the header asks for.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// More than the header says.
    #[error("expected {expected} bytes of elements, found {found}")]
    Trailing {
        /// Bytes that the header asks for.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// A `bool` that is neither 0 nor 1.
    #[error("byte {value} at position {position} is no bool: expected 0 or 1")]
    NoBool {
        /// The row-major position, as stored.
        position: usize,
        /// The byte.
        value: u8,
    },
    /// More than memory holds.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// Not in an archive, or not among the fields of a type.
    #[error("there is no {what} in it; there are {there}")]
    Missing {
        /// What is wanted.
        what: String,
        /// What is there.
        there: String,
    },
    /// Not a zip archive.
    #[error("not an .npz archive: {why}")]
    Archive {
        /// What is wrong with it.
        why: String,
    },
    /// Not an image.
    #[error("not a PNG image: {why}")]
    Image {
        /// What is wrong with it.
        why: String,
    },
    /// Not a matrix.
    #[error("line {line}: {why}")]
    Matrix {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// A name of no input or result.
    #[error("the program has no {what} `{name}`; it has {there}")]
    Unknown {
        /// `input` or `result`.
        what: &'static str,
        /// The name given.
        name: String,
        /// Those there are.
        there: String,
    },
    /// An input or a result that two files are given for.
    #[error("{what} `{name}` is given twice")]
    Twice {
        /// `input` or `result`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Inputs without files.
    #[error("no file is given for {inputs}")]
    Ungiven {
        /// Their names and types.
        inputs: String,
    },
}

impl FileError {
    pub(crate) fn new(path: &Path, fault: FileFault) -> Self {
        Self { path: path.to_owned(), member: None, of: None, fault: Box::new(fault) }
    }

    /// About no file.
    pub(crate) fn general(fault: FileFault) -> Self {
        Self { path: PathBuf::new(), member: None, of: None, fault: Box::new(fault) }
    }

    /// For this input or result, if none is known that says it more exactly.
    pub(crate) fn of(mut self, name: &str) -> Self {
        self.of.get_or_insert_with(|| name.to_owned());
        self
    }

    /// In this member.
    pub(crate) fn member(mut self, name: &str) -> Self {
        self.member.get_or_insert_with(|| name.to_owned());
        self
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}", self.path.display())?;
            if let Some(member) = &self.member {
                write!(f, ", member `{member}`")?;
            }
            if let Some(of) = &self.of {
                write!(f, ", for `{of}`")?;
            }
            write!(f, ": ")?;
        }
        self.fault.fmt(f)
    }
}

fusebox_ir::debug_is_message!(struct FileError { path, member, of, fault });

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.fault {
            FileFault::Io(error) => Some(error),
            _ => None,
        }
    }
}

pub(crate) fn unfit(expected: impl Into<String>, found: impl Into<String>) -> FileFault {
    FileFault::Unfit { expected: expected.into(), found: found.into() }
}

/// Names in messages: all, or the first of many.
pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let all: Vec<_> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match all.len() {
        0 => "none".into(),
        count if count > MOST => format!("{}, … ({count} in all)", all[..MOST].join(", ")),
        _ => all.join(", "),
    }
}
