//! The programs and the library that building and finding HiGHS takes: on the machine already, or brought here.
//!
//! What is missing comes as Python packages into the cache, since that needs no rights on the machine; else, for root,
//! from apt. Packages are asked for by their ordinary clients.

use super::cache::Cache;
use super::python;
use crate::process;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Begins the names of the cache's folders that hold one tool each.
pub const PREFIX: &str = "tool-";

/// The file that records where tools were found, so that they are not searched for again.
const RECORD: &str = "tools.json";

/// Something needed that is not part of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// Configures the build of HiGHS.
    Cmake,
    /// Runs that build: make, or else ninja.
    Make,
    /// With it the build script of `highs-sys` reads the C header.
    Libclang,
    /// Tells that build script where the library is.
    PkgConfig,
}

/// Where tools are. A path without folder is a program on the `PATH`.
#[derive(Clone, Debug, Default)]
pub struct Tools(BTreeMap<Tool, PathBuf>);

impl Tools {
    /// The place of `tool`, if it was asked for.
    pub fn get(&self, tool: Tool) -> Option<&Path> {
        self.0.get(&tool).map(PathBuf::as_path)
    }

    #[cfg(test)]
    pub fn of(tools: &[(Tool, &str)]) -> Self {
        Self(tools.iter().map(|(tool, place)| (*tool, place.into())).collect())
    }

    /// What an earlier set-up used for building with a HiGHS that is there, if all of it still is.
    pub fn recorded(cache: &Cache) -> Option<Self> {
        let text = fs::read_to_string(cache.path(RECORD)).ok()?;
        let record: BTreeMap<String, PathBuf> = serde_json::from_str(&text).ok()?;
        let mut tools = BTreeMap::new();
        for tool in Tool::TO_USE {
            let place = record.get(tool.name())?;
            let there = if place.is_absolute() { place.is_file() } else { answers(place) };
            if !there {
                return None;
            }
            tools.insert(tool, place.clone());
        }
        Some(Self(tools))
    }

    /// Writes what [`Tools::recorded`] reads.
    pub fn record(&self, cache: &Cache) -> Result<()> {
        let record: BTreeMap<&str, &PathBuf> = self.0.iter().map(|(tool, place)| (tool.name(), place)).collect();
        let new = cache.path(&format!("{RECORD}.new"));
        fs::write(&new, serde_json::to_string_pretty(&record)?)?;
        fs::rename(&new, cache.path(RECORD)).context("cannot write the record of tools")
    }
}

/// Finds the tools, and brings those that are missing. Only under the cache's lock.
///
/// # Errors
/// If one is missing and no way of bringing it worked; the message says which ways, and what to do by hand.
pub fn bring(cache: &Cache, tools: &[Tool]) -> Result<Tools> {
    let mut found = Tools::default();
    let mut missing = search(cache, tools, &mut found);
    let mut tried = String::new();
    for (way, bring) in
        [("as Python packages", from_python as fn(&Cache, &[Tool]) -> Result<()>), ("by apt-get", from_apt)]
    {
        if missing.is_empty() {
            break;
        }
        eprintln!("bringing {} {way}", names(&missing));
        if let Err(error) = bring(cache, &missing) {
            tried += &format!("\n  {way}: {error:#}");
        }
        missing = search(cache, &missing, &mut found);
    }
    if !missing.is_empty() {
        bail!(
            "{} missing, and could not be brought:{tried}\n\
             Install cmake, libclang, pkg-config and make by your system's packages (on Debian and Ubuntu: \
             apt-get install cmake libclang-dev pkg-config make), then run this again.",
            names(&missing)
        );
    }
    Ok(found)
}

/// Puts what is there into `found`; returns what is not.
fn search(cache: &Cache, tools: &[Tool], found: &mut Tools) -> Vec<Tool> {
    let mut missing = Vec::new();
    for &tool in tools {
        match tool.on_machine().or_else(|| tool.in_cache(cache)) {
            Some(place) => drop(found.0.insert(tool, place)),
            None => missing.push(tool),
        }
    }
    missing
}

fn names(tools: &[Tool]) -> String {
    tools.iter().map(|tool| tool.name()).collect::<Vec<_>>().join(", ")
}

impl Tool {
    /// What building with a library that is there needs.
    pub const TO_USE: [Self; 2] = [Self::Libclang, Self::PkgConfig];
    /// What building the library needs, and then using it.
    pub const TO_BUILD: [Self; 4] = [Self::Cmake, Self::Make, Self::Libclang, Self::PkgConfig];

    fn name(self) -> &'static str {
        match self {
            Self::Cmake => "cmake",
            Self::Make => "make",
            Self::Libclang => "libclang",
            Self::PkgConfig => "pkg-config",
        }
    }

    /// What `pip install` is asked for.
    fn python_package(self) -> &'static str {
        match self {
            Self::Cmake => "cmake>=3.24,<5",
            Self::Make => "ninja",
            Self::Libclang => "libclang==18.1.1",
            Self::PkgConfig => "pkgconf",
        }
    }

    /// Where that package has it.
    fn in_package(self) -> &'static [&'static str] {
        match self {
            Self::Cmake => &["cmake/data/bin/cmake"],
            Self::Make => &["bin/ninja", "ninja/data/bin/ninja"],
            Self::Libclang => &["clang/native/libclang.so", "clang/native/libclang.dylib"],
            Self::PkgConfig => &["pkgconf/.bin/pkgconf"],
        }
    }

    fn apt_package(self) -> &'static str {
        match self {
            Self::Cmake => "cmake",
            Self::Make => "make",
            Self::Libclang => "libclang-dev",
            Self::PkgConfig => "pkg-config",
        }
    }

    fn on_machine(self) -> Option<PathBuf> {
        let program = |name: &str| Some(PathBuf::from(name)).filter(|name| answers(name));
        match self {
            Self::Cmake => program("cmake").filter(|cmake| is_new_enough(cmake)),
            Self::Make => program("make").or_else(|| program("ninja")),
            Self::Libclang => libclang(),
            Self::PkgConfig => {
                let chosen = variable("PKG_CONFIG").filter(|chosen| answers(chosen));
                chosen.or_else(|| program("pkg-config")).or_else(|| program("pkgconf"))
            }
        }
    }

    fn folder(self, cache: &Cache) -> PathBuf {
        cache.path(&format!("{PREFIX}{}", self.name()))
    }

    fn in_cache(self, cache: &Cache) -> Option<PathBuf> {
        let folder = self.folder(cache);
        self.in_package().iter().map(|file| folder.join(file)).find(|file| file.is_file())
    }
}

/// Each package into a folder of its own.
fn from_python(cache: &Cache, tools: &[Tool]) -> Result<()> {
    tools.iter().try_for_each(|tool| python::install(cache, &[tool.python_package()], &tool.folder(cache)))
}

fn from_apt(_: &Cache, tools: &[Tool]) -> Result<()> {
    if !process::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0") {
        bail!("only root may install packages");
    }
    let apt = |arguments: &[&str]| {
        process::output(Command::new("apt-get").env("DEBIAN_FRONTEND", "noninteractive").args(arguments)).map(drop)
    };
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(tools.iter().map(|tool| tool.apt_package()));
    // The lists of packages are absent in fresh containers and stale on old machines.
    apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
}

/// Whether the program can be started and tells its version.
fn answers(program: &Path) -> bool {
    process::works(Command::new(program).arg("--version"))
}

/// HiGHS asks for cmake 3.15.
fn is_new_enough(cmake: &Path) -> bool {
    let text = process::output(Command::new(cmake).arg("--version")).unwrap_or_default();
    version(&text).is_some_and(|version| version >= (3, 15))
}

/// Major and minor of the first dotted number in `text`.
fn version(text: &str) -> Option<(u32, u32)> {
    let word = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    let mut parts = word.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The value of an environment variable, unless an earlier set-up put it there (cargo hands those to us as well).
fn variable(name: &str) -> Option<PathBuf> {
    let value = PathBuf::from(std::env::var_os(name)?);
    let ours = value.components().any(|part| part.as_os_str().to_string_lossy().starts_with(PREFIX));
    (!ours && !value.as_os_str().is_empty()).then_some(value)
}

/// The newest libclang in the places where `clang-sys` looks as well, by name.
fn libclang() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(chosen) = variable("LIBCLANG_PATH") {
        if chosen.is_file() && loads(&chosen) {
            return Some(chosen);
        }
        folders.push(chosen);
    }
    if let Ok(folder) = process::output(Command::new("llvm-config").arg("--libdir")) {
        folders.push(folder.trim().into());
    }
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    for root in ["/usr/lib", "/usr/local", "/opt/homebrew/opt", "/usr/local/opt"] {
        let mut versions: Vec<_> =
            fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        versions.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("llvm")));
        versions.sort();
        folders.extend(versions.into_iter().rev().map(|path| path.join("lib")));
    }
    let places =
        [&multiarch, "/usr/lib64", "/usr/lib", "/usr/local/lib", "/Library/Developer/CommandLineTools/usr/lib"];
    folders.extend(places.iter().map(PathBuf::from));
    folders.iter().find_map(|folder| {
        let files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        let mut files: Vec<_> = files.filter(|file| is_libclang(file)).collect();
        files.sort();
        files.into_iter().rev().find(|file| loads(file))
    })
}

/// `libclang.so`, `libclang.so.13`, `libclang-14.so.1`, `libclang.dylib`; not `libclang-cpp.so`, which has no C interface.
fn is_libclang(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let Some(rest) = name.strip_prefix("libclang") else { return false };
    let rest = match rest.strip_prefix('-') {
        Some(version) => version.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'),
        None => rest,
    };
    // The version may have eaten the dot of the suffix.
    let rest = rest.trim_start_matches('.');
    rest == "so" || rest.starts_with("so.") || rest == "dylib"
}

/// Whether the library can be loaded, as far as Python can tell; without Python the proof at the end tells.
fn loads(library: &Path) -> bool {
    let mut python = Command::new("python3");
    python.args(["-c", "import ctypes, sys; ctypes.CDLL(sys.argv[1])"]).arg(library);
    python.output().map_or(true, |output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libclang() {
        for good in ["libclang.so", "libclang.so.13", "libclang-14.so.1", "libclang-14.so.14.0.6", "libclang.dylib"] {
            assert!(is_libclang(Path::new(good)), "{good}");
        }
        for bad in ["libclang-cpp.so.14", "libclang_rt.asan.so", "libclang.a", "libclangAST.so", "clang.so"] {
            assert!(!is_libclang(Path::new(bad)), "{bad}");
        }
    }

    #[test]
    fn versions() {
        assert_eq!(version("cmake version 3.25.1\n\nCMake suite"), Some((3, 25)));
        assert_eq!(version("cmake version 4.4.4-rc1"), Some((4, 4)));
        assert_eq!(version("no number"), None);
    }

    #[test]
    fn a_record_holds_while_everything_is_there() {
        let cache = Cache::for_test("record");
        assert!(Tools::recorded(&cache).is_none());
        let library = cache.path("libclang.so");
        fs::write(&library, "").unwrap();
        let tools =
            Tools::of(&[(Tool::Libclang, library.to_str().unwrap()), (Tool::PkgConfig, library.to_str().unwrap())]);
        tools.record(&cache).unwrap();
        assert_eq!(Tools::recorded(&cache).unwrap().get(Tool::Libclang), Some(library.as_path()));
        fs::remove_file(&library).unwrap();
        assert!(Tools::recorded(&cache).is_none());
        fs::write(cache.path(RECORD), "{").unwrap();
        assert!(Tools::recorded(&cache).is_none());
        crate::setup::cache::remove(library.parent().unwrap()).unwrap();
    }
}
