//! Machine code on disk, by the text that it was made of, the architecture, and the version of the driver.
//!
//! A file holds the text before the code, and is used for that text alone, so that no hash must be without collisions. What is broken or from
//! another version is not used and is written again; a cache that cannot be written is none.

use std::fs;
use std::path::{Path, PathBuf};

/// To be counted up when the form of files changes.
const FORM: u64 = 1;
/// Bytes before the text: the form and the lengths of text and code.
const HEADER: usize = 24;

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file for a text.
    fn file(&self, text: &str, architecture: &str, driver: i32) -> PathBuf {
        let key = format!("{architecture}\n{driver}\n{text}");
        self.folder.join(format!("{architecture}-{driver}-{:032x}.cubin", hash(key.as_bytes())))
    }

    /// The code made of a text before.
    pub fn load(&self, text: &str, architecture: &str, driver: i32) -> Option<Vec<u8>> {
        let content = fs::read(self.file(text, architecture, driver)).ok()?;
        let number = |at: usize| Some(u64::from_le_bytes(content.get(8 * at..8 * at + 8)?.try_into().ok()?));
        let (form, length, code) = (number(0)?, number(1)?, number(2)?);
        let rest = &content[HEADER..];
        let fits = form == FORM && length == text.len() as u64 && rest.len() as u64 == length.checked_add(code)?;
        (fits && rest[..text.len()] == *text.as_bytes()).then(|| rest[text.len()..].to_vec())
    }

    /// Keeps the code. It appears whole or not at all, whoever else writes.
    pub fn store(&self, text: &str, architecture: &str, driver: i32, code: &[u8]) {
        let mut content = Vec::with_capacity(HEADER + text.len() + code.len());
        for number in [FORM, text.len() as u64, code.len() as u64] {
            content.extend(number.to_le_bytes());
        }
        content.extend(text.as_bytes());
        content.extend(code);
        let file = self.file(text, architecture, driver);
        let unfinished = file.with_extension(format!("{}.unfinished", std::process::id()));
        let written = fs::create_dir_all(&self.folder).and_then(|()| fs::write(&unfinished, content));
        if written.and_then(|()| fs::rename(&unfinished, &file)).is_err() {
            _ = fs::remove_file(&unfinished);
        }
    }

    /// Forgets what was kept for a text.
    pub fn forget(&self, text: &str, architecture: &str, driver: i32) {
        _ = fs::remove_file(self.file(text, architecture, driver));
    }

    /// `$FUSEBOX_CACHE`, else `$XDG_CACHE_HOME/fusebox`, else `~/.cache/fusebox`; none where none of them is set.
    pub fn folder() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let base = set("FUSEBOX_CACHE").map(PathBuf::from);
        let base = base.or_else(|| set("XDG_CACHE_HOME").map(|folder| Path::new(&folder).join("fusebox")));
        let base = base.or_else(|| set("HOME").map(|folder| Path::new(&folder).join(".cache/fusebox")));
        Some(base?.join("cubin"))
    }
}

/// FNV-1a of 128 bits: it never changes, as the standard library's hash may.
fn hash(bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes
        .iter()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comes_back_for_its_text_alone() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("inside"));
        assert_eq!(cache.load("text", "sm_80", 12020), None);
        cache.store("text", "sm_80", 12020, b"code");
        assert_eq!(cache.load("text", "sm_80", 12020).as_deref(), Some(&b"code"[..]));
        assert_eq!(cache.load("text", "sm_90", 12020), None);
        assert_eq!(cache.load("text", "sm_80", 12030), None);
        assert_eq!(cache.load("text2", "sm_80", 12020), None);
        cache.forget("text", "sm_80", 12020);
        assert_eq!(cache.load("text", "sm_80", 12020), None);
    }

    #[test]
    fn broken_files_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().into());
        cache.store("text", "sm_80", 1, b"code");
        let file = cache.file("text", "sm_80", 1);
        let whole = fs::read(&file).unwrap();
        for length in 0..whole.len() {
            fs::write(&file, &whole[..length]).unwrap();
            assert_eq!(cache.load("text", "sm_80", 1), None, "{length}");
        }
        for at in 0..HEADER + 4 {
            let mut broken = whole.clone();
            broken[at] ^= 0x40;
            fs::write(&file, broken).unwrap();
            assert_eq!(cache.load("text", "sm_80", 1), None, "{at}");
        }
        // A folder that cannot be made.
        let none = Cache::new(file.join("below a file"));
        none.store("text", "sm_80", 1, b"code");
        assert_eq!(none.load("text", "sm_80", 1), None);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
