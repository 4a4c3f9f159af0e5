//! The folder that outlives `target/`, and who may write to it.

use anyhow::{Context, Result};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Names of folders that are being filled; complete ones are renamed.
const UNFINISHED: &str = "unfinished-";
/// Begins the names of folders that hold the library HiGHS.
pub const LIBRARY: &str = "highs-";

/// `$FUSEBOX_CACHE`, else `$XDG_CACHE_HOME/fusebox`, else `~/.cache/fusebox`.
///
/// Whatever lies in it under its final name is complete: it was made in an unfinished folder and renamed.
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Finds the folder, and makes it if there is none.
    pub fn open() -> Result<Self> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = set("FUSEBOX_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("fusebox")))
            .or_else(|| set("HOME").map(|folder| folder.join(".cache/fusebox")))
            .context("neither FUSEBOX_CACHE nor HOME is set: no place for the cache")?;
        let folder = std::path::absolute(&folder)?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make the cache folder {}", folder.display()))?;
        Ok(Self { folder })
    }

    /// The path of `name` in the cache, there or not.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Waits until no other set-up writes here. The system gives the lock back however its holder ends.
    pub fn lock(&self) -> Result<File> {
        let path = self.path("lock");
        let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => eprintln!("waiting for another set-up that uses the same cache"),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
        Ok(file)
    }

    /// An empty folder to fill and then [`finish`]. Only under the lock.
    pub fn unfinished(&self, name: &str) -> Result<PathBuf> {
        let folder = self.path(&format!("{UNFINISHED}{name}"));
        remove(&folder)?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// Removes what set-ups that were interrupted have left. Only under the lock.
    pub fn sweep(&self) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Gives a filled folder its final name, in one step.
pub fn finish(unfinished: &Path, complete: &Path) -> Result<()> {
    remove(complete)?;
    fs::rename(unfinished, complete).with_context(|| format!("cannot rename {} into place", unfinished.display()))
}

/// Removes a folder that may not be there.
pub fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
impl Cache {
    /// An empty cache for one test.
    pub fn for_test(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("fusebox-cache-{}-{name}", std::process::id()));
        remove(&folder).unwrap();
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_appears_whole_and_what_is_unfinished_goes() {
        let cache = Cache::for_test("finish");
        let complete = cache.path("library");
        for text in ["first", "second"] {
            let unfinished = cache.unfinished("library").unwrap();
            fs::write(unfinished.join("file"), text).unwrap();
            finish(&unfinished, &complete).unwrap();
            assert_eq!(fs::read_to_string(complete.join("file")).unwrap(), text);
        }
        let interrupted = cache.unfinished("library").unwrap();
        cache.sweep().unwrap();
        assert!(!interrupted.exists() && complete.exists());
        remove(&cache.folder).unwrap();
    }

    #[test]
    fn the_lock_is_for_one_and_comes_back() {
        let cache = Cache::for_test("lock");
        let held = cache.lock().unwrap();
        let other = File::open(cache.path("lock")).unwrap();
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        assert!(other.try_lock().is_ok());
        remove(&cache.folder).unwrap();
    }
}
