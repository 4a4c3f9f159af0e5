//! The header: type, order, extents.

use std::io::{self, Read};

use super::{MAGIC, dtype::Dtype, literal::Literal};
use crate::files::FileFault;

/// Headers are short; a longer one is none.
const LONGEST: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Header {
    pub dtype: Dtype,
    pub fortran_order: bool,
    pub extents: Vec<usize>,
    /// Bytes before the elements.
    pub size: u64,
}

impl Header {
    /// The number of elements, and of their bytes.
    pub fn count(&self) -> Option<(usize, usize)> {
        // Zero first: extents beside a zero may be of any size.
        if self.extents.contains(&0) {
            return Some((0, 0));
        }
        let count = self.extents.iter().try_fold(1usize, |count, &extent| count.checked_mul(extent))?;
        Some((count, count.checked_mul(self.dtype.size)?))
    }
}

fn wrong(why: impl Into<String>) -> FileFault {
    FileFault::Header { why: why.into() }
}

fn exact(reader: &mut dyn Read, bytes: &mut [u8]) -> Result<(), FileFault> {
    reader.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => wrong("the file ends in it"),
        _ => error.into(),
    })
}

pub(super) fn read(reader: &mut dyn Read) -> Result<Header, FileFault> {
    let mut start = [0; 8];
    exact(reader, &mut start)?;
    if start[..6] != *MAGIC {
        return Err(wrong("it does not begin with \\x93NUMPY"));
    }
    let (length, before) = match start[6] {
        1 => {
            let mut bytes = [0; 2];
            exact(reader, &mut bytes)?;
            (usize::from(u16::from_le_bytes(bytes)), 10)
        }
        2 | 3 => {
            let mut bytes = [0; 4];
            exact(reader, &mut bytes)?;
            (u32::from_le_bytes(bytes) as usize, 12)
        }
        version => return Err(wrong(format!("version {version} is not known"))),
    };
    if length > LONGEST {
        return Err(wrong(format!("it has {length} bytes, and at most {LONGEST} are read")));
    }
    // Memory grows with what is there, not with what is claimed.
    let mut bytes = Vec::new();
    reader.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(wrong("the file ends in it"));
    }
    // Versions 1 and 2 are Latin-1.
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if start[6] < 3 => error.as_bytes().iter().map(|&byte| char::from(byte)).collect(),
        Err(_) => return Err(wrong("it is not UTF-8")),
    };
    let Literal::Dictionary(entries) = Literal::parse(text.trim_end()).map_err(wrong)? else {
        return Err(wrong("it is no dictionary"));
    };
    let entry = |name: &str| {
        let found = entries.iter().find(|(key, _)| key.text() == Some(name));
        found.map(|(_, value)| value).ok_or_else(|| wrong(format!("it has no '{name}'")))
    };
    let extents = entry("shape")?.list().ok_or_else(|| wrong("'shape' is no tuple"))?;
    let extents = extents.iter().map(|extent| match extent {
        Literal::Number(extent) => usize::try_from(*extent).map_err(|_| wrong(format!("extent {extent} is too large"))),
        other => Err(wrong(format!("{other:?} is no extent"))),
    });
    let Literal::Truth(fortran_order) = entry("fortran_order")? else {
        return Err(wrong("'fortran_order' is neither True nor False"));
    };
    Ok(Header {
        dtype: Dtype::of(entry("descr")?)?,
        fortran_order: *fortran_order,
        extents: extents.collect::<Result<_, _>>()?,
        size: (before + length) as u64,
    })
}
