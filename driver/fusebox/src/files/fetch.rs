//! Opening files, and what kind of file it is.

use std::{
    fs::File,
    io::{self, BufReader, Cursor, Read, Seek},
    path::Path,
};

use super::FileFault;

/// Something to read from anywhere in it.
pub(super) trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// An open file, at its start.
pub(super) struct Source {
    pub reader: BufReader<Box<dyn ReadSeek>>,
    /// In bytes.
    pub size: u64,
    pub kind: Kind,
}

/// Kinds of files, by how they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Npy,
    Npz,
    Matrix,
    Png,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Npy => "a .npy file",
            Self::Npz => "an .npz archive",
            Self::Matrix => "a Matrix Market file",
            Self::Png => "a PNG image",
        }
    }

    fn of(start: &[u8]) -> Result<Self, FileFault> {
        let begins = |with: &[u8]| start.starts_with(with);
        if begins(super::npy::MAGIC) {
            Ok(Self::Npy)
        } else if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") {
            Ok(Self::Npz)
        } else if start.get(..14).is_some_and(|start| start.eq_ignore_ascii_case(b"%%MatrixMarket")) {
            Ok(Self::Matrix)
        } else if begins(b"\x89PNG\r\n\x1a\n") {
            Ok(Self::Png)
        } else if start.is_empty() {
            Err(FileFault::Kind { found: "an empty file".into() })
        } else {
            let shown: String =
                start.iter().flat_map(|&byte| std::ascii::escape_default(byte)).map(char::from).collect();
            Err(FileFault::Kind { found: format!("a file that begins with \"{shown}\"") })
        }
    }
}

/// Opens a file; what is no regular file (a pipe) is read whole first.
pub(super) fn open(path: &Path) -> Result<Source, FileFault> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(FileFault::Unfit { expected: "a file".into(), found: "a folder".into() });
    }
    if metadata.is_file() {
        return source(Box::new(file), metadata.len());
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    source(Box::new(Cursor::new(bytes)), size)
}

fn source(mut file: Box<dyn ReadSeek>, size: u64) -> Result<Source, FileFault> {
    let mut start = Vec::new();
    file.by_ref().take(16).read_to_end(&mut start)?;
    let kind = Kind::of(&start)?;
    file.seek(io::SeekFrom::Start(0))?;
    Ok(Source { reader: BufReader::with_capacity(1 << 16, file), size, kind })
}
