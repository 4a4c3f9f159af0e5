//! Arrays as `.npy`.

use std::io::{self, Write};

use fusebox_ir::{Array, ElementType};

/// What is written as one `.npy` file: arrays of equal extents, each a field of the elements.
pub(in crate::files) struct Columns<'a> {
    descr: String,
    arrays: Vec<&'a Array>,
}

/// numpy's name of an element type.
fn descr(ty: ElementType) -> &'static str {
    match ty {
        ElementType::Bool => "'|b1'",
        ElementType::I8 => "'|i1'",
        ElementType::I16 => "'<i2'",
        ElementType::I32 => "'<i4'",
        ElementType::I64 => "'<i8'",
        ElementType::U8 => "'|u1'",
        ElementType::U16 => "'<u2'",
        ElementType::U32 => "'<u4'",
        ElementType::U64 => "'<u8'",
        ElementType::F16 => "'<f2'",
        ElementType::F32 => "'<f4'",
        ElementType::F64 => "'<f8'",
    }
}

impl<'a> Columns<'a> {
    /// An array alone.
    pub fn plain(array: &'a Array) -> Self {
        Self { descr: descr(array.element()).into(), arrays: vec![array] }
    }

    /// Named arrays of equal extents: a complex type of `re` and `im` of one type, else a structured one, whose fields of dotted names
    /// are in fields.
    pub fn fields(fields: &[(&str, &'a Array)]) -> Self {
        let arrays = fields.iter().map(|(_, array)| *array).collect();
        let descr = match fields {
            [("re", re), ("im", im)] if re.element() == im.element() && re.element() == ElementType::F32 => {
                "'<c8'".into()
            }
            [("re", re), ("im", im)] if re.element() == im.element() && re.element() == ElementType::F64 => {
                "'<c16'".into()
            }
            _ => record(&fields.iter().map(|(name, array)| (*name, array.element())).collect::<Vec<_>>()),
        };
        Self { descr, arrays }
    }
}

/// `[('a', '<f4'), ('b', [('x', '<i8')])]`; names in order, those of one first part beside each other.
fn record(fields: &[(&str, ElementType)]) -> String {
    let mut parts = Vec::new();
    let mut rest = fields;
    while let Some((name, ty)) = rest.first() {
        let Some((first, _)) = name.split_once('.') else {
            parts.push(format!("('{name}', {})", descr(*ty)));
            rest = &rest[1..];
            continue;
        };
        let inside = |name: &str| name.strip_prefix(first).is_some_and(|rest| rest.starts_with('.'));
        let count = rest.iter().take_while(|(name, _)| inside(name)).count();
        let inner: Vec<_> = rest[..count].iter().map(|(name, ty)| (&name[first.len() + 1..], *ty)).collect();
        parts.push(format!("('{first}', {})", record(&inner)));
        rest = &rest[count..];
    }
    format!("[{}]", parts.join(", "))
}

/// Writes a whole `.npy` file.
pub(in crate::files) fn write(out: &mut dyn Write, columns: &Columns<'_>) -> io::Result<()> {
    let Some(first) = columns.arrays.first() else { return Ok(()) };
    let extents: Vec<String> = first.extents().iter().map(ToString::to_string).collect();
    let shape = match extents.as_slice() {
        [one] => format!("({one},)"),
        several => format!("({})", several.join(", ")),
    };
    let dictionary = format!("{{'descr': {}, 'fortran_order': False, 'shape': {shape}, }}", columns.descr);
    // Elements begin at a multiple of 64 bytes; a line break ends the header.
    let (version, before) = if dictionary.len() < 65_000 { (1, 10) } else { (2, 12) };
    let length = (before + dictionary.len() + 1).next_multiple_of(64) - before;
    out.write_all(super::MAGIC)?;
    out.write_all(&[version, 0])?;
    match version {
        1 => out.write_all(&(length as u16).to_le_bytes())?,
        _ => out.write_all(&(length as u32).to_le_bytes())?,
    }
    write!(out, "{dictionary:<0$}", length - 1)?;
    out.write_all(b"\n")?;
    if let [only] = columns.arrays.as_slice() {
        return out.write_all(only.bytes());
    }
    for position in 0..first.len() {
        for array in &columns.arrays {
            let width = array.element().bytes();
            out.write_all(&array.bytes()[position * width..][..width])?;
        }
    }
    Ok(())
}
