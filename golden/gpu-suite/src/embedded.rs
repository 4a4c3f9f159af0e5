//! The golden programs that are inside of this program, as files in a folder.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// Names and contents.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/golden.rs"));

/// Files in a folder of their own, which goes when this is dropped.
pub(crate) struct Unpacked {
    folder: PathBuf,
}

impl Unpacked {
    /// Writes the files.
    pub(crate) fn new() -> Result<Self> {
        let folder = std::env::temp_dir().join(format!("fusebox-gpu-suite-{}", std::process::id()));
        let unpacked = Self { folder };
        for (name, content) in FILES {
            let path = unpacked.folder.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
            }
            fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(unpacked)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // What stays in a folder for temporary files does no harm.
        _ = fs::remove_dir_all(&self.folder);
    }
}
