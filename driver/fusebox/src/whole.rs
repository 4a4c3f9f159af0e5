//! Files that appear whole or not at all.
//!
//! What is written goes to a file beside the one it is for, which takes its name when everything is there. So a run that is interrupted,
//! and a disk that is full, leave what was there before.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Seek, Write},
    path::{Path, PathBuf},
};

use tempfile::{Builder, NamedTempFile, TempDir};

/// Begins the names of files that are not whole yet; folders of streams are read without files that begin with a dot.
const UNFINISHED: &str = ".unfinished-";

/// A file that is written. Without [`Draft::complete`] and [`Finished::name`] it is as if nothing had been.
pub(crate) struct Draft {
    out: BufWriter<File>,
    bytes: u64,
    /// None where it is written in place.
    beside: Option<(NamedTempFile, PathBuf)>,
}

impl Draft {
    /// Begins a file. What is no regular file, such as a pipe or a device, is written in place; so is a file in a folder that takes no
    /// others.
    pub fn new(path: &Path) -> io::Result<Self> {
        // A link stays, and what it leads to is written.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let there = fs::metadata(&path).ok();
        let beside = match &there {
            Some(there) if !there.is_file() => None,
            _ => match beside(&path, there.as_ref()) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied && there.is_some() => None,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let folder = path.parent().unwrap_or(Path::new(".")).display();
                    return Err(io::Error::new(error.kind(), format!("there is no folder {folder}")));
                }
                made => Some((made?, path.clone())),
            },
        };
        let file = match &beside {
            Some((beside, _)) => beside.reopen()?,
            None => File::create(&path)?,
        };
        Ok(Self { out: BufWriter::with_capacity(1 << 16, file), bytes: 0, beside })
    }

    /// Writes what is still held back. The file is renamed later.
    pub fn complete(mut self) -> io::Result<Finished> {
        self.out.flush()?;
        Ok(Finished {
            bytes: self.bytes,
            kind: self.beside.map_or(FinishedKind::InPlace, |(file, path)| FinishedKind::File(file, path)),
        })
    }
}

/// A file beside the one it is for, with the permissions of that, or else those of any new file.
fn beside(path: &Path, there: Option<&fs::Metadata>) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(UNFINISHED);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(parent(path))?;
    if let Some(there) = there {
        fs::set_permissions(file.path(), there.permissions())?;
    }
    Ok(file)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Seek for Draft {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.out.seek(to)
    }
}

/// A folder that is filled. Without [`Finished::name`] it is as if it had never been.
pub(crate) struct Folder {
    beside: TempDir,
    path: PathBuf,
}

impl Folder {
    /// Begins a folder.
    pub fn new(path: &Path) -> io::Result<Self> {
        let mut builder = Builder::new();
        builder.prefix(UNFINISHED);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        Ok(Self { beside: builder.tempdir_in(parent(path))?, path: path.to_owned() })
    }

    /// Where its files go meanwhile.
    pub fn file(&self, name: &str) -> PathBuf {
        self.beside.path().join(name)
    }

    /// It has all its files, of so many bytes together.
    pub fn complete(self, bytes: u64) -> Finished {
        Finished { bytes, kind: FinishedKind::Folder(self.beside, self.path) }
    }
}

/// Something whole, that has its name yet to get.
pub(crate) struct Finished {
    /// How long it is.
    pub bytes: u64,
    kind: FinishedKind,
}

enum FinishedKind {
    InPlace,
    File(NamedTempFile, PathBuf),
    Folder(TempDir, PathBuf),
}

impl Finished {
    /// Gives it its name, instead of what had it before.
    pub fn name(self) -> io::Result<()> {
        match self.kind {
            FinishedKind::InPlace => Ok(()),
            FinishedKind::File(file, path) => file.persist(path).map(drop).map_err(|error| error.error),
            FinishedKind::Folder(folder, path) => {
                if path.exists() {
                    fs::remove_dir(&path)?; // only an empty one goes
                }
                fs::rename(folder.keep(), path)
            }
        }
    }
}

/// Writes a file, whole or not at all.
///
/// # Errors
/// Those of `write` and of the system; then the file is what it was.
pub(crate) fn write<E: From<io::Error>>(path: &Path, write: impl FnOnce(&mut Draft) -> Result<(), E>) -> Result<(), E> {
    let mut draft = Draft::new(path)?;
    write(&mut draft)?;
    Ok(draft.complete()?.name()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything in a folder, by name.
    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_what_it_was_until_the_new_one_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "before").unwrap();
        let mut draft = Draft::new(&path).unwrap();
        draft.write_all(&[1; 100_000]).unwrap();
        draft.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"before");
        drop(draft);
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"before".to_vec(), vec!["a".to_owned()]));

        let failed = write(&path, |draft| {
            draft.write_all(b"half")?;
            Err(io::Error::other("no"))
        });
        assert!(failed.is_err());
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"before".to_vec(), vec!["a".to_owned()]));

        write(&path, |draft| draft.write_all(b"after")).unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"after".to_vec(), vec!["a".to_owned()]));
    }

    #[test]
    fn a_folder_appears_with_all_its_files() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("stream");
        let folder = Folder::new(&path).unwrap();
        fs::write(folder.file("0"), "x").unwrap();
        drop(folder);
        assert_eq!(names(outer.path()), [""; 0]);
        for there in [false, true] {
            if there {
                fs::remove_dir_all(&path).unwrap();
                fs::create_dir(&path).unwrap();
            }
            let folder = Folder::new(&path).unwrap();
            fs::write(folder.file("0"), "x").unwrap();
            folder.complete(1).name().unwrap();
            assert_eq!((names(outer.path()), names(&path)), (vec!["stream".to_owned()], vec!["0".to_owned()]));
        }
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_links_too() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("link"));
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, |draft| draft.write_all(b"after")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&path).unwrap(), b"after");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        // A new file has the permissions that other new files have.
        let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
        write(&ours, |draft| draft.write_all(b"x")).unwrap();
        fs::write(&theirs, "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&ours), mode(&theirs));
    }
}
