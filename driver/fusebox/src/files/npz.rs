//! `.npz` archives: zip files whose members are `.npy` files.

use std::io::{self, BufReader, Read, Seek, Write};

use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter, result::ZipError, write::FileOptions};

use super::{
    FileFault,
    error::names,
    fetch::{ReadSeek, Source},
    natural,
    npy::{self, Columns, Table},
};

/// The most that deflate makes of a byte.
const MOST_EXPANDED: u64 = 1032;

/// An archive that is read.
pub(super) struct Archive {
    zip: ZipArchive<BufReader<Box<dyn ReadSeek>>>,
    size: u64,
    /// Names of members without `.npy`, in natural order.
    names: Vec<String>,
}

impl From<ZipError> for FileFault {
    fn from(error: ZipError) -> Self {
        match error {
            ZipError::Io(error) => Self::Io(error),
            other => Self::Archive { why: other.to_string() },
        }
    }
}

impl Archive {
    pub fn open(source: Source) -> Result<Self, FileFault> {
        let zip = ZipArchive::new(source.reader)?;
        let mut names: Vec<String> =
            zip.file_names().filter_map(|name| name.strip_suffix(".npy")).map(String::from).collect();
        names.sort_by(|a, b| natural::compare(a, b));
        Ok(Self { zip, size: source.size, names })
    }

    /// Names of arrays, in natural order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The array of this name.
    pub fn read(&mut self, name: &str) -> Result<Table, FileFault> {
        if !self.names.iter().any(|member| member == name) {
            let there = names(self.names.iter().map(String::as_str));
            return Err(FileFault::Missing { what: format!("array `{name}`"), there });
        }
        let mut member = self.zip.by_name(&format!("{name}.npy"))?;
        let (size, packed) = (member.size(), member.compressed_size());
        // What a member claims to be is not what it is.
        if packed > self.size || size > packed.saturating_mul(MOST_EXPANDED).saturating_add(1024) {
            return Err(FileFault::Archive {
                why: format!("a member claims to be {size} bytes long, packed into {packed}"),
            });
        }
        let table = npy::read(&mut member, size)?;
        // The checksum is compared where the member ends.
        io::copy(&mut member.take(1), &mut io::sink())?;
        Ok(table)
    }
}

/// An archive that is written.
pub(super) struct Writer<W: Write + Seek> {
    zip: ZipWriter<W>,
}

impl<W: Write + Seek> Writer<W> {
    pub fn new(out: W) -> Self {
        Self { zip: ZipWriter::new(out) }
    }

    /// Adds an array, as it is: numbers seldom get smaller.
    pub fn add(&mut self, name: &str, columns: &Columns<'_>) -> Result<(), FileFault> {
        // No time of day: the same results are the same file, whatever features of `zip` others ask for.
        let options = FileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .last_modified_time(DateTime::default())
            .large_file(true);
        self.zip.start_file(format!("{name}.npy"), options)?;
        Ok(npy::write(&mut self.zip, columns)?)
    }

    pub fn finish(mut self) -> Result<W, FileFault> {
        Ok(self.zip.finish()?)
    }
}
