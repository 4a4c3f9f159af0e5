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

/// The most bytes of a pipe whose format does not say how long it is.
const LONGEST_PIPE: u64 = 1 << 34;

/// Opens a file; what is no regular file (a pipe) is read whole first.
pub(super) fn open(path: &Path) -> Result<Source, FileFault> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(FileFault::Unfit { expected: "a file".into(), found: "a folder".into() });
    }
    if metadata.is_file() {
        return source(Box::new(file), metadata.len());
    }
    let bytes = piped(file)?;
    let size = bytes.len() as u64;
    source(Box::new(Cursor::new(bytes)), size)
}

/// What a pipe or a device gives. It may have no end: its beginning says whether to go on reading, and a header how far.
fn piped(mut pipe: impl Read) -> Result<Vec<u8>, FileFault> {
    let mut bytes = Vec::new();
    pipe.by_ref().take(16).read_to_end(&mut bytes)?;
    match Kind::of(&bytes)? {
        Kind::Npy => {
            let begin = std::mem::take(&mut bytes);
            let mut copied = Copied { from: begin.as_slice().chain(&mut pipe), copy: &mut bytes };
            let length = super::npy::length(&mut copied)?;
            // One byte more says whether there is anything behind the elements.
            let rest = length.saturating_add(1).saturating_sub(bytes.len() as u64);
            pipe.take(rest).read_to_end(&mut bytes)?;
        }
        Kind::Npz | Kind::Matrix | Kind::Png => {
            if pipe.take(LONGEST_PIPE).read_to_end(&mut bytes)? as u64 == LONGEST_PIPE {
                return Err(FileFault::Unfit {
                    expected: format!("less than {LONGEST_PIPE} bytes from a pipe; a file may be longer"),
                    found: "more".into(),
                });
            }
        }
    }
    Ok(bytes)
}

/// Keeps a copy of what is read.
struct Copied<'b, R> {
    from: R,
    copy: &'b mut Vec<u8>,
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.copy.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}

fn source(mut file: Box<dyn ReadSeek>, size: u64) -> Result<Source, FileFault> {
    let mut start = Vec::new();
    file.by_ref().take(16).read_to_end(&mut start)?;
    let kind = Kind::of(&start)?;
    file.seek(io::SeekFrom::Start(0))?;
    Ok(Source { reader: BufReader::with_capacity(1 << 16, file), size, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_end_is_not_read_to_its_end() {
        assert!(matches!(piped(io::repeat(0)), Err(FileFault::Kind { .. })));
        let mut array = Vec::new();
        let columns = crate::files::npy::Columns::plain;
        crate::files::npy::write(&mut array, &columns(&fusebox_ir::Array::new(&[3], &[1u8, 2, 3]).unwrap())).unwrap();
        assert_eq!(piped(array.as_slice()).unwrap(), array);
        let endless = piped(array.as_slice().chain(io::repeat(7))).unwrap();
        assert_eq!(endless, [array.as_slice(), &[7]].concat());
        // A header of four billion bytes, of which none is there.
        assert!(matches!(piped(&b"\x93NUMPY\x02\0\xff\xff\xff\xff and so on"[..]), Err(FileFault::Header { .. })));
    }
}
