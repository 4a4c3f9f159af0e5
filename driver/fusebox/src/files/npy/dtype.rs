//! Types of elements, as headers describe them.

use fusebox_ir::ElementType;

use super::literal::Literal;
use crate::files::FileFault;

/// A component of an element: where it is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// Names of fields, joined by `.`; of a complex number `re` and `im` behind.
    pub name: String,
    pub ty: ElementType,
    pub big_endian: bool,
    /// In bytes, from the start of the element.
    pub offset: usize,
}

/// What an element is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dtype {
    pub fields: Vec<Field>,
    /// In bytes.
    pub size: usize,
}

impl Dtype {
    pub fn of(literal: &Literal) -> Result<Self, FileFault> {
        let mut dtype = Self { fields: Vec::new(), size: 0 };
        dtype.add("", literal)?;
        Ok(dtype)
    }

    fn add(&mut self, name: &str, literal: &Literal) -> Result<(), FileFault> {
        match literal {
            Literal::Text(text) => self.plain(name, text),
            Literal::List(fields) => fields.iter().try_for_each(|field| self.field(name, field)),
            other => Err(FileFault::Header { why: format!("{other:?} describes no type") }),
        }
    }

    fn field(&mut self, prefix: &str, literal: &Literal) -> Result<(), FileFault> {
        let no_field = || FileFault::Header { why: format!("{literal:?} describes no field") };
        let (name, ty) = match literal.list() {
            Some([name, ty]) => (name, ty),
            Some([name, _, shape]) => {
                let name = name.text().unwrap_or_default();
                return Err(FileFault::Dtype { found: format!("array (field `{name}` of extents {shape:?})") });
            }
            _ => return Err(no_field()),
        };
        let name = match name {
            Literal::Text(name) => name.as_str(),
            // A title and a name.
            Literal::List(both) => both.get(1).and_then(Literal::text).ok_or_else(no_field)?,
            _ => return Err(no_field()),
        };
        // Padding has no name and no type.
        if let (true, Some(bytes)) = (name.is_empty(), ty.text().and_then(|ty| ty.strip_prefix("|V"))) {
            let bytes: usize = bytes.parse().map_err(|_| no_field())?;
            return self.grow(bytes);
        }
        let name = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        self.add(&name, ty)
    }

    fn plain(&mut self, name: &str, text: &str) -> Result<(), FileFault> {
        use ElementType::{Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let (order, rest) = match text.chars().next() {
            Some(order @ ('<' | '>' | '|' | '=')) => (order, &text[1..]),
            _ => ('=', text),
        };
        let big_endian = order == '>' || (order == '=' && cfg!(target_endian = "big"));
        let ty = match rest {
            "b1" | "?" => Bool,
            "i1" => I8,
            "i2" => I16,
            "i4" => I32,
            "i8" => I64,
            "u1" => U8,
            "u2" => U16,
            "u4" => U32,
            "u8" => U64,
            "f2" => F16,
            "f4" | "c8" => F32,
            "f8" | "c16" => F64,
            _ => return Err(FileFault::Dtype { found: format!("`{text}`") }),
        };
        let parts: &[&str] = if rest.starts_with('c') { &["re", "im"] } else { &[""] };
        for part in parts {
            let name = match (name.is_empty(), part.is_empty()) {
                (_, true) => name.to_owned(),
                (true, _) => (*part).to_owned(),
                _ => format!("{name}.{part}"),
            };
            self.fields.push(Field { name, ty, big_endian, offset: self.size });
            self.grow(ty.bytes())?;
        }
        Ok(())
    }

    fn grow(&mut self, bytes: usize) -> Result<(), FileFault> {
        let size = self.size.checked_add(bytes).filter(|&size| size <= 1 << 20);
        self.size = size.ok_or_else(|| FileFault::Header { why: "an element has more than a million bytes".into() })?;
        Ok(())
    }
}
