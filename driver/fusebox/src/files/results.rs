//! From the results of a program to files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use fusebox_ir::{Array, Value};

use super::{
    FileError, FileFault,
    error::{names, unfit},
    image, matrix_market,
    npy::{self, Columns},
    npz::Writer,
};
use crate::{
    Signature,
    signature::list,
    whole::{self, Draft, Finished},
};

/// A file, and the result that goes to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// A result, or what comes before the dot of several (`z` of `z.re` and `z.im`); without, all of them to an archive, or the only
    /// one to a file.
    pub name: Option<String>,
    /// The file: `.npy`, `.npz`, `.png`, `.mtx`; for a stream `.npz`, or a folder.
    pub path: PathBuf,
}

/// How a file is written, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Npy,
    Npz,
    Png,
    Matrix,
    Folder,
}

fn kind(path: &Path) -> Result<Kind, FileFault> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("npy") => Ok(Kind::Npy),
        Some("npz") => Ok(Kind::Npz),
        Some("png") => Ok(Kind::Png),
        Some("mtx") => Ok(Kind::Matrix),
        None => Ok(Kind::Folder),
        Some(other) => Err(unfit(
            "a file that ends in .npy, .npz, .png or .mtx, or a folder without an ending",
            format!(".{other}"),
        )),
    }
}

/// What is written as one array.
struct Leaf<'v> {
    name: String,
    part: Part<'v>,
}

#[derive(Clone, Copy)]
enum Part<'v> {
    Array(&'v Array),
    Stream(&'v [Array]),
}

/// Names of what is written, of streams too.
fn leaf_names(signature: &Signature) -> Vec<(String, bool)> {
    let mut leaves = Vec::new();
    for slot in &signature.results {
        if slot.ty.inner.is_empty() {
            leaves.push((slot.name.clone(), slot.ty.stream));
        } else {
            leaves.push((format!("{}.extents", slot.name), false));
            leaves.push((format!("{}.values", slot.name), false));
        }
    }
    leaves
}

fn leaves<'v>(signature: &Signature, values: &'v [Value]) -> Vec<Leaf<'v>> {
    let mut parts = Vec::new();
    for value in values {
        match value {
            Value::Array(array) => parts.push(Part::Array(array)),
            Value::Stream(elements) => parts.push(Part::Stream(elements)),
            Value::Nested(nested) => parts.extend([Part::Array(&nested.extents), Part::Array(&nested.values)]),
        }
    }
    leaf_names(signature).into_iter().zip(parts).map(|((name, _), part)| Leaf { name, part }).collect()
}

/// The positions of the leaves that a target takes, with what is behind its name.
fn resolve(target: &Target, names: &[(String, bool)]) -> Option<Vec<(usize, String)>> {
    let Some(name) = &target.name else {
        return Some(names.iter().enumerate().map(|(at, (name, _))| (at, name.clone())).collect());
    };
    if let Some(at) = names.iter().position(|(leaf, _)| leaf == name) {
        return Some(vec![(at, String::new())]);
    }
    let behind = |leaf: &str| Some(leaf.strip_prefix(name.as_str())?.strip_prefix('.')?.to_owned());
    let found: Vec<_> = names.iter().enumerate().filter_map(|(at, (leaf, _))| Some((at, behind(leaf)?))).collect();
    if found.is_empty() { None } else { Some(found) }
}

/// Whether these are files that the results of the program can go to: names, kinds, folders that are there. To be asked before the
/// program runs.
///
/// # Errors
/// The first target that cannot be.
pub fn check_targets(signature: &Signature, targets: &[Target]) -> Result<(), FileError> {
    let names = leaf_names(signature);
    let mut paths: Vec<&Path> = Vec::new();
    for target in targets {
        let at = |fault| about(target, fault);
        let found = resolve(target, &names).ok_or_else(|| {
            let name = target.name.clone().unwrap_or_default();
            FileError::general(FileFault::Unknown { what: "result", name, there: list(&signature.results) })
        })?;
        let kind = kind(&target.path).map_err(at)?;
        let streams = found.iter().filter(|(leaf, _)| names[*leaf].1).count();
        let several =
            || unfit("an .npz archive, or NAME=FILE for each", format!("one file for {} results", found.len()));
        match kind {
            _ if streams > 0 && found.len() > 1 => {
                return Err(at(unfit("NAME=FOLDER or NAME=FILE.npz for a stream", "a file for several results")));
            }
            Kind::Npz => {}
            Kind::Folder if streams == 1 => empty(&target.path).map_err(at)?,
            Kind::Folder => return Err(at(unfit("a file that ends in .npy, .npz, .png or .mtx", "no ending"))),
            _ if streams > 0 => return Err(at(unfit("a folder or an .npz archive, for a stream", "a single array"))),
            Kind::Npy | Kind::Png if found.len() > 1 && target.name.is_some() => {}
            _ if found.len() != 1 => return Err(at(several())),
            _ => {}
        }
        let parent = target.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent
            && !parent.is_dir()
        {
            return Err(at(unfit("a file in a folder that is there", format!("no folder {}", parent.display()))));
        }
        if kind != Kind::Folder && target.path.is_dir() {
            return Err(at(unfit("a file", "a folder")));
        }
        if paths.contains(&target.path.as_path()) {
            return Err(at(FileFault::Twice { what: "file", name: target.path.display().to_string() }));
        }
        paths.push(&target.path);
    }
    Ok(())
}

/// Writes the results of a program, and says how many bytes were written.
///
/// Each file is written beside the one it is for, and all get their names when the last of them is whole: where one cannot be written, all
/// stay what they were.
///
/// Scalars are arrays of rank 0; arrays of arrays are `t.extents` and `t.values`; members of archives are called as results. Several
/// results `z.*` in one `.npy` are a complex or structured type, in one `.png` its channels.
///
/// # Errors
/// Targets that cannot be ([`check_targets`]), and files that cannot be written.
pub fn write_results(signature: &Signature, values: &[Value], targets: &[Target]) -> Result<u64, FileError> {
    check_targets(signature, targets)?;
    let names = leaf_names(signature);
    let leaves = leaves(signature, values);
    let mut finished = Vec::new();
    for target in targets {
        let found = resolve(target, &names).unwrap_or_default();
        let parts: Vec<_> = found.iter().filter_map(|(at, behind)| Some((behind.as_str(), leaves.get(*at)?))).collect();
        finished.push(write(target, &parts).map_err(|fault| about(target, fault))?);
    }
    let bytes = finished.iter().map(|file| file.bytes).sum();
    for (target, file) in targets.iter().zip(finished) {
        file.name().map_err(|error| about(target, error.into()))?;
    }
    Ok(bytes)
}

fn about(target: &Target, fault: FileFault) -> FileError {
    let error = FileError::new(&target.path, fault);
    match &target.name {
        Some(name) => error.of(name),
        None => error,
    }
}

fn write(target: &Target, parts: &[(&str, &Leaf<'_>)]) -> Result<Finished, FileFault> {
    let path = &target.path;
    let kind = kind(path)?;
    if let [(_, Leaf { part: Part::Stream(elements), .. })] = parts {
        return match kind {
            Kind::Npz => archive(path, elements.iter().enumerate().map(|(at, element)| (element_name(at), element))),
            _ => folder(path, elements),
        };
    }
    let arrays: Vec<(&str, &str, &Array)> = parts
        .iter()
        .filter_map(|(behind, leaf)| match leaf.part {
            Part::Array(array) => Some((*behind, leaf.name.as_str(), array)),
            Part::Stream(_) => None,
        })
        .collect();
    if kind == Kind::Npz {
        return archive(path, arrays.iter().map(|(_, name, array)| ((*name).to_owned(), *array)));
    }
    let fields: Vec<(&str, &Array)> = arrays.iter().map(|(behind, _, array)| (*behind, *array)).collect();
    if fields.windows(2).any(|pair| pair[0].1.extents() != pair[1].1.extents()) {
        let found = fields.iter().map(|(name, array)| format!("{name}: {:?}", array.extents())).collect::<Vec<_>>();
        return Err(unfit("results of equal extents for one file", found.join(", ")));
    }
    let mut out = Draft::new(path)?;
    match (kind, fields.as_slice()) {
        (Kind::Npy, [(_, only)]) => npy::write(&mut out, &Columns::plain(only))?,
        (Kind::Npy, several) => npy::write(&mut out, &Columns::fields(several))?,
        (Kind::Png, [(_, only)]) => image::write(&mut out, only)?,
        (Kind::Png, several) => image::write_channels(&mut out, &channels(several)?)?,
        (Kind::Matrix, [(_, only)]) => matrix_market::write(&mut out, only)?,
        (Kind::Matrix | Kind::Npz | Kind::Folder, _) => return Err(unfit("one result", format!("{}", fields.len()))),
    }
    Ok(out.complete()?)
}

/// Channels by name, in the order of PNG.
fn channels<'v>(fields: &[(&str, &'v Array)]) -> Result<Vec<&'v Array>, FileFault> {
    let orders: [&[&str]; 4] = [&["v"], &["v", "a"], &["r", "g", "b"], &["r", "g", "b", "a"]];
    let of = |name: &str| fields.iter().find(|(field, _)| *field == name).map(|(_, array)| *array);
    orders
        .iter()
        .filter(|order| order.len() == fields.len())
        .find_map(|order| order.iter().map(|name| of(name)).collect::<Option<Vec<_>>>())
        .ok_or_else(|| unfit("channels `r`, `g`, `b`, and `a` perhaps", names(fields.iter().map(|(name, _)| *name))))
}

/// The name of an element of a stream: as many digits for each, so that other orders of names are the natural one too.
fn element_name(at: usize) -> String {
    format!("{at:06}")
}

fn archive<'v>(path: &Path, arrays: impl Iterator<Item = (String, &'v Array)>) -> Result<Finished, FileFault> {
    let mut writer = Writer::new(Draft::new(path)?);
    for (name, array) in arrays {
        writer.add(&name, &Columns::plain(array))?;
    }
    Ok(writer.finish()?.complete()?)
}

/// A folder that is there must be empty: else elements of another run would stay among those of this.
fn empty(path: &Path) -> Result<(), FileFault> {
    if path.exists() && fs::read_dir(path)?.next().is_some() {
        return Err(unfit("a folder that is empty or not there", "a folder with files in it"));
    }
    Ok(())
}

/// A file for each element, in a folder that is [`empty`] or not there.
fn folder(path: &Path, elements: &[Array]) -> Result<Finished, FileFault> {
    let folder = whole::Folder::new(path)?;
    let mut bytes = 0;
    for (at, element) in elements.iter().enumerate() {
        let mut out = Draft::new(&folder.file(&format!("{}.npy", element_name(at))))?;
        npy::write(&mut out, &Columns::plain(element))?;
        let file = out.complete()?;
        bytes += file.bytes;
        file.name()?;
    }
    Ok(folder.complete(bytes))
}
