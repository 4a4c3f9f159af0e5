//! From files to the inputs of a program.

use std::path::{Path, PathBuf};

use fusebox_ir::{Array, ElementType, Extent, Nested, Type, Value, text};

use super::{
    FileError, FileFault,
    error::{names, unfit},
    fetch::{self, Kind, Source},
    image::Image,
    matrix_market::Matrix,
    npy::{self, Table},
    npz::Archive,
    stream,
};
use crate::{
    Signature, Slot,
    signature::{describe, list},
};

/// A file, and the input that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// An input, or what comes before the dot of several (`z` of `z.re` and `z.im`); without, the file is an archive of inputs by name, or,
    /// where a program has one input, that input.
    pub name: Option<String>,
    /// The file or folder. For a scalar also its value: `5`, `1.5`, `true`; for an array of scalars its elements: `[[1, 2], [3, 4]]`.
    pub path: PathBuf,
}

/// Reads the inputs of a program, in order.
///
/// | input | from |
/// |---|---|
/// | an array | `.npy`; `.npz` (the member of its name, or the only one); PNG; Matrix Market, dense; or its elements, `[1, 2]` |
/// | a scalar | the same files, of rank 0; or the value itself |
/// | several `z.*` | `.npy` of a complex or structured type; `.npz` of members `re` or `z.re`; PNG by channels `r g b a`; Matrix Market: below |
/// | an array of arrays `t` | `t.extents` and `t.values`, as several inputs |
/// | a stream | `.npy` along its outermost dimension; a folder or `.npz`, each file an element, in natural order of names |
///
/// Of a sparse Matrix Market file `m` the components are `m.row`, `m.column`, `m.value` (in the order of the file), `m.offsets`,
/// `m.columns`, `m.values` (compressed rows, row-major), and of every one `m.height`, `m.width`. Indices count from 0.
///
/// # Errors
/// Files that cannot be read, do not hold what the input is declared as, or are for no input; inputs without a file. Whether sizes
/// agree among inputs is checked when the program is run ([`Signature::check`]).
pub fn inputs(signature: &Signature, given: &[Given]) -> Result<Vec<Value>, FileError> {
    let leaves = leaves(&signature.inputs);
    let mut loaded: Vec<Option<Loaded>> = leaves.iter().map(|_| None).collect();
    let mut take = |name: &str, parts: Vec<(usize, Loaded)>| {
        for (at, part) in parts {
            if loaded[at].replace(part).is_some() {
                return Err(
                    FileError::general(FileFault::Twice { what: "input", name: leaves[at].name.clone() }).of(name)
                );
            }
        }
        Ok(())
    };
    let only = match signature.inputs.as_slice() {
        [slot] => Some(&slot.name),
        _ => None,
    };
    for Given { name, path } in given {
        let name = name.as_ref().or_else(|| only.filter(|_| !is_archive(path)));
        let Some(name) = name else {
            for (name, wanted, table) in archive(path, signature, &leaves)? {
                let parts = from_table(&table, &wanted, &leaves)
                    .map_err(|fault| FileError::new(path, fault).member(&name).of(&name))?;
                take(&name, parts)?;
            }
            continue;
        };
        let wanted = resolve(name, &leaves).ok_or_else(|| FileError::general(unknown(name, signature)))?;
        take(name, load(name, path, &wanted, &leaves).map_err(|error| error.of(name))?)?;
    }
    values(signature, &leaves, loaded)
}

/// What a file gives: an array of an input, its extents or values alone, or the elements of a stream.
#[derive(Debug)]
struct Leaf<'s> {
    name: String,
    slot: &'s Slot,
    element: ElementType,
    rank: usize,
    /// The type in messages.
    spelled: String,
}

#[derive(Debug)]
enum Loaded {
    Array(Array),
    Stream(Vec<Array>),
}

fn leaves(inputs: &[Slot]) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    for slot in inputs {
        let ty = &slot.ty;
        if let [inner, ..] = ty.inner.as_slice() {
            let rank = ty.rank() + usize::from(inner.len() > 1);
            let part = |part: &str, element, rank| {
                let name = format!("{}.{part}", slot.name);
                Leaf {
                    name,
                    slot,
                    element,
                    rank,
                    spelled: format!("the {part} of {}, of rank {rank} and {element}", slot.spelled),
                }
            };
            leaves.push(part("extents", ElementType::I64, rank));
            leaves.push(part("values", ty.element, 1));
        } else {
            let spelled = slot.spelled.clone();
            leaves.push(Leaf { name: slot.name.clone(), slot, element: ty.element, rank: ty.rank(), spelled });
        }
    }
    leaves
}

/// The leaves that a name is for, each with what is behind the name: of one the name is, nothing.
fn resolve<'l>(name: &str, leaves: &'l [Leaf<'_>]) -> Option<Vec<(usize, &'l str)>> {
    if let Some(at) = leaves.iter().position(|leaf| leaf.name == name) {
        return Some(vec![(at, "")]);
    }
    let behind = |leaf: &'l Leaf<'_>| leaf.name.strip_prefix(name)?.strip_prefix('.');
    let found: Vec<_> = leaves.iter().enumerate().filter_map(|(at, leaf)| Some((at, behind(leaf)?))).collect();
    if found.is_empty() { None } else { Some(found) }
}

fn unknown(name: &str, signature: &Signature) -> FileFault {
    let there = if signature.inputs.is_empty() { "none".into() } else { list(&signature.inputs) };
    FileFault::Unknown { what: "input", name: name.into(), there }
}

/// Whether a file is an archive, whose members have names. What cannot be opened is none: it is a folder, a number, or a mistake to be told.
fn is_archive(path: &Path) -> bool {
    fetch::open(path).is_ok_and(|source| source.kind == Kind::Npz)
}

/// The members of an archive without a name, each with the leaves it is for.
#[allow(clippy::type_complexity)]
fn archive<'l>(
    path: &Path,
    signature: &Signature,
    leaves: &'l [Leaf<'_>],
) -> Result<Vec<(String, Vec<(usize, &'l str)>, Table)>, FileError> {
    let at = |fault| FileError::new(path, fault);
    let source = fetch::open(path).map_err(at)?;
    if source.kind != Kind::Npz {
        let expected = "NAME=FILE, or an .npz archive of inputs by name";
        return Err(at(unfit(expected, source.kind.name())));
    }
    let mut archive = Archive::open(source).map_err(at)?;
    let mut members = Vec::new();
    for name in archive.names().to_vec() {
        let at = |fault| FileError::new(path, fault).member(&name);
        let wanted = resolve(&name, leaves).ok_or_else(|| at(unknown(&name, signature)))?;
        let table = archive.read(&name).map_err(at)?;
        members.push((name, wanted, table));
    }
    Ok(members)
}

/// What a file or folder gives for these leaves.
fn load(
    name: &str,
    path: &Path,
    wanted: &[(usize, &str)],
    leaves: &[Leaf<'_>],
) -> Result<Vec<(usize, Loaded)>, FileError> {
    let at = |fault| FileError::new(path, fault);
    let alone = match wanted {
        [(index, "")] => Some((*index, &leaves[*index])),
        _ => None,
    };
    if let Some((index, leaf)) = alone {
        if leaf.slot.ty.stream && path.is_dir() {
            return Ok(vec![(index, Loaded::Stream(folder(path, leaf)?))]);
        }
        if let (0, false, false, Some(text)) = (leaf.rank, leaf.slot.ty.stream, path.exists(), path.to_str())
            && let Ok(constant) = text::scalar(text.trim(), leaf.element)
        {
            return Ok(vec![(index, Loaded::Array(Array::scalar(constant)))]);
        }
        if let Some(array) = written_out(path, leaf).map_err(at)? {
            return Ok(vec![(index, Loaded::Array(array))]);
        }
    }
    let source = fetch::open(path).map_err(|fault| match alone {
        None if path.to_str().is_some_and(|text| text.trim_start().starts_with('[')) => {
            let parts: Vec<&str> = wanted.iter().map(|&(index, _)| leaves[index].name.as_str()).collect();
            at(unfit(format!("an archive with {}, or each of them by itself", names(parts)), "elements in brackets"))
        }
        _ => at(no_file(fault, path, alone.map(|(_, leaf)| leaf))),
    })?;
    match (source.kind, alone) {
        (Kind::Npz, Some((index, leaf))) if leaf.slot.ty.stream => {
            let mut archive = Archive::open(source).map_err(at)?;
            let mut elements = Vec::new();
            for member in archive.names().to_vec() {
                let table = archive.read(&member).and_then(|table| fitting(plain(&table, leaf)?.clone(), leaf));
                elements.push(table.map_err(|fault| at(fault).member(&member))?);
            }
            Ok(vec![(index, Loaded::Stream(elements))])
        }
        (Kind::Npz, Some((index, leaf))) => {
            let mut archive = Archive::open(source).map_err(at)?;
            let last = leaf.name.rsplit('.').next().unwrap_or_default();
            let there = archive.names();
            let member = match there {
                [only] => only.clone(),
                several => match several.iter().find(|member| *member == &leaf.name || *member == last) {
                    Some(member) => member.clone(),
                    None => leaf.name.clone(),
                },
            };
            let array = archive.read(&member).and_then(|table| fitting(plain(&table, leaf)?.clone(), leaf));
            Ok(vec![(index, Loaded::Array(array.map_err(|fault| at(fault).member(&member))?))])
        }
        (Kind::Npz, None) => {
            let mut archive = Archive::open(source).map_err(at)?;
            let mut parts = Vec::new();
            for &(index, behind) in wanted {
                let whole = format!("{name}.{behind}");
                let member = if archive.names().contains(&whole) { whole } else { behind.to_owned() };
                let table = archive.read(&member).map_err(|fault| at(fault).of(&leaves[index].name))?;
                let part = from_table(&table, &[(index, "")], leaves);
                parts.extend(part.map_err(|fault| at(fault).member(&member).of(&leaves[index].name))?);
            }
            Ok(parts)
        }
        (Kind::Npy, _) => {
            let mut source = source;
            let table = npy::read(&mut source.reader, source.size).map_err(at)?;
            from_table(&table, wanted, leaves).map_err(at)
        }
        (Kind::Png, _) => image(source, wanted, leaves).map_err(at),
        (Kind::Matrix, _) => matrix(source, wanted, leaves).map_err(at),
    }
}

/// An array that is written out in place of the name of a file: `[1, 2]`.
fn written_out(path: &Path, leaf: &Leaf<'_>) -> Result<Option<Array>, FileFault> {
    let text = path.to_str().map(str::trim).filter(|text| text.starts_with('[') && !path.exists());
    let (Some(text), true, false) = (text, leaf.rank > 0, leaf.slot.ty.stream) else { return Ok(None) };
    let ty: Type = Type::array(vec![Extent::Unknown; leaf.rank], leaf.element);
    let wanted = || format!("a file, or the elements of {}", leaf.spelled);
    match text::value(text, &ty).map_err(|error| unfit(wanted(), format!("neither: {error}")))? {
        Value::Array(array) => Ok(Some(fitting(array, leaf)?)),
        _ => Err(unfit(wanted(), "something else")),
    }
}

/// Where a file is not there, a value was meant perhaps: scalars and small arrays may be given so.
fn no_file(fault: FileFault, path: &Path, leaf: Option<&Leaf<'_>>) -> FileFault {
    let missing = matches!(&fault, FileFault::Io(error) if error.kind() == std::io::ErrorKind::NotFound);
    let (Some(leaf), Some(written)) = (leaf.filter(|_| missing), path.to_str()) else { return fault };
    if leaf.rank > 0 {
        let is_value = text::scalar(written, leaf.element).is_ok();
        return if is_value {
            unfit(
                format!("a file of {}, or its elements in brackets", leaf.spelled),
                "a single value, and no file of that name",
            )
        } else {
            fault
        };
    }
    match text::scalar(written, leaf.element) {
        Err(why) => unfit(format!("a file, or a value of {}", leaf.spelled), format!("neither: {why}")),
        Ok(_) => fault,
    }
}

/// The columns of a table for these leaves.
fn from_table(table: &Table, wanted: &[(usize, &str)], leaves: &[Leaf<'_>]) -> Result<Vec<(usize, Loaded)>, FileFault> {
    let mut parts = Vec::new();
    for &(index, behind) in wanted {
        let leaf = &leaves[index];
        let array = if behind.is_empty() {
            plain(table, leaf)?
        } else {
            table.column(behind).ok_or_else(|| match table.plain() {
                Some(array) if !leaf.slot.ty.inner.is_empty() => {
                    let name = &leaf.slot.name;
                    unfit(format!("an .npz archive with `{name}.extents` (i64) and `{name}.values`"), describe(array))
                }
                Some(array) => {
                    let fields = wanted.iter().map(|&(_, behind)| behind);
                    unfit(format!("elements with the fields {}", names(fields)), describe(array))
                }
                None => FileFault::Missing { what: format!("field `{behind}`"), there: fields(table) },
            })?
        };
        parts.push((index, fitted(array.clone(), leaf)?));
    }
    Ok(parts)
}

fn fields(table: &Table) -> String {
    names(table.columns.iter().map(|(name, _)| name.as_str()))
}

fn plain<'t>(table: &'t Table, leaf: &Leaf<'_>) -> Result<&'t Array, FileFault> {
    table.plain().ok_or_else(|| {
        unfit(leaf.spelled.clone(), format!("{:?} elements with the fields {}", table.extents, fields(table)))
    })
}

/// The array as the leaf wants it: cut into elements for a stream.
fn fitted(array: Array, leaf: &Leaf<'_>) -> Result<Loaded, FileFault> {
    if !leaf.slot.ty.stream {
        return Ok(Loaded::Array(fitting(array, leaf)?));
    }
    if array.element() != leaf.element || array.extents().len() != leaf.rank + 1 {
        let expected = format!("{}, all elements as an array of rank {}", leaf.spelled, leaf.rank + 1);
        return Err(unfit(expected, describe(&array)));
    }
    Ok(Loaded::Stream(stream::split(&array)?))
}

fn fitting(array: Array, leaf: &Leaf<'_>) -> Result<Array, FileFault> {
    if array.element() == leaf.element && array.extents().len() == leaf.rank {
        return Ok(array);
    }
    let found = describe(&array);
    let other = array.extents().len() == leaf.rank && array.element().is_number() && leaf.element.is_number();
    Err(match numpy_name(leaf.element) {
        Some(name) if other => unfit(leaf.spelled.clone(), format!("{found}; in numpy `x.astype(np.{name})` converts")),
        _ => unfit(leaf.spelled.clone(), found),
    })
}

/// What numpy calls a type of numbers.
fn numpy_name(element: ElementType) -> Option<String> {
    let name = element.name();
    let (kind, bits) = (name.get(..1)?, name.get(1..)?);
    let kind = match kind {
        "f" => "float",
        "i" => "int",
        "u" => "uint",
        _ => return None,
    };
    Some(format!("{kind}{bits}"))
}

/// The elements of a stream, a file each.
fn folder(path: &Path, leaf: &Leaf<'_>) -> Result<Vec<Array>, FileError> {
    let mut elements = Vec::new();
    for member in stream::members(path)? {
        let at = |fault| FileError::new(&member, fault);
        let mut source = fetch::open(&member).map_err(at)?;
        let array = match source.kind {
            Kind::Npy => npy::read(&mut source.reader, source.size).and_then(|table| plain(&table, leaf).cloned()),
            Kind::Png => Image::read(source).and_then(|image| image.array(leaf.element, leaf.rank)),
            Kind::Matrix => Matrix::read(source).and_then(|matrix| matrix.array(leaf.element)),
            Kind::Npz => Err(unfit(leaf.spelled.clone(), source.kind.name())),
        };
        elements.push(array.and_then(|array| fitting(array, leaf)).map_err(at)?);
    }
    Ok(elements)
}

fn image(source: Source, wanted: &[(usize, &str)], leaves: &[Leaf<'_>]) -> Result<Vec<(usize, Loaded)>, FileFault> {
    let image = Image::read(source)?;
    if let [(index, "")] = wanted {
        let leaf = &leaves[*index];
        return Ok(vec![(
            *index,
            fitted(image.array(leaf.element, leaf.rank + usize::from(leaf.slot.ty.stream))?, leaf)?,
        )]);
    }
    let planes = wanted.iter().map(|&(_, behind)| behind);
    if image.has_alpha() && !planes.clone().any(|plane| plane == "a") {
        return Err(unfit(format!("the channels {}", names(planes)), image.describe()));
    }
    let channel = |&(index, behind): &(usize, &str)| {
        let leaf = &leaves[index];
        Ok((index, fitted(image.channel(behind, leaf.element)?, leaf)?))
    };
    wanted.iter().map(channel).collect()
}

fn matrix(source: Source, wanted: &[(usize, &str)], leaves: &[Leaf<'_>]) -> Result<Vec<(usize, Loaded)>, FileFault> {
    let matrix = Matrix::read(source)?;
    let part = |&(index, behind): &(usize, &str)| {
        let leaf = &leaves[index];
        let array =
            if behind.is_empty() { matrix.array(leaf.element)? } else { matrix.component(behind, leaf.element)? };
        Ok((index, fitted(array, leaf)?))
    };
    wanted.iter().map(part).collect()
}

/// One value for each input.
fn values(signature: &Signature, leaves: &[Leaf<'_>], loaded: Vec<Option<Loaded>>) -> Result<Vec<Value>, FileError> {
    let missing = leaves.iter().zip(&loaded).filter(|(_, part)| part.is_none());
    let missing: Vec<_> = missing.map(|(leaf, _)| format!("`{}` ({})", leaf.name, leaf.spelled)).collect();
    if !missing.is_empty() {
        return Err(FileError::general(FileFault::Ungiven { inputs: missing.join(", ") }));
    }
    let mut parts = loaded.into_iter().flatten();
    let mut values = Vec::new();
    for slot in &signature.inputs {
        let value = match (parts.next(), slot.ty.inner.is_empty()) {
            (Some(Loaded::Stream(elements)), _) => Value::Stream(elements),
            (Some(Loaded::Array(array)), true) => Value::Array(array),
            (Some(Loaded::Array(extents)), false) => match parts.next() {
                Some(Loaded::Array(values)) => Value::Nested(Nested { extents, values }),
                _ => continue,
            },
            (None, _) => continue,
        };
        values.push(value);
    }
    Ok(values)
}
