//! Values as text: `[[1, 2], [3, 4]]`, as people write them in tests.

use crate::{Array, ArrayError, Constant, ElementType, Extent, Nested, Type, Value};

use super::{
    error::{Span, shown},
    literal::{Literal, Radix},
};

/// What is wrong with the text of a value.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ValueError {
    message: String,
    at: usize,
}

crate::debug_is_message!(struct ValueError { message, at });

impl ValueError {
    /// Where in the text it is, in bytes.
    pub fn at(&self) -> usize {
        self.at
    }
}

/// Reads a value of this type: a scalar as it is written in a program, with or without its type (`1.5`, `1.5f32`, `-inf`, `nan`, `true`), an
/// array as a list of its rows, an array of arrays as a list of arrays, a stream as a list of its elements. What `fusebox run` prints of an
/// array can be read again.
///
/// ```
/// use fusebox_ir::{Array, ElementType, Extent, Type, text};
/// let matrix: Type = Type::array(vec![Extent::Unknown, Extent::Unknown], ElementType::F32);
/// let value = text::value("[[1, 2.5], [-inf, 1e-3]]", &matrix).unwrap();
/// assert_eq!(value, Array::new(&[2, 2], &[1.0, 2.5, f32::NEG_INFINITY, 1e-3]).unwrap().into());
/// let error = text::value("[[1, 2], [3]]", &matrix).unwrap_err();
/// assert_eq!(error.to_string(), "this list has 1 element, and the first beside it has 2");
/// ```
///
/// # Errors
/// What is not such a text, with its place.
pub fn value<V>(source: &str, ty: &Type<V>) -> Result<Value, ValueError> {
    let mut reader = Reader { source, at: 0 };
    let value = match ty.inner.as_slice() {
        [] if ty.stream => {
            Value::Stream(reader.items(|reader| Ok(reader.array(&constants(&ty.extents), ty.element)?.0))?)
        }
        [] => Value::Array(reader.array(&constants(&ty.extents), ty.element)?.0),
        [inner] => Value::Nested(reader.nested(&constants(&ty.extents), &constants(inner), ty.element)?),
        _ => return Err(reader.error("arrays of arrays of arrays are not written as text")),
    };
    reader.skip();
    if reader.at < source.len() {
        let rest = reader.word();
        return Err(reader.error(format!("`{}` stands behind the value", shown(rest))));
    }
    Ok(value)
}

/// Reads a scalar of this type, as [`value`] does.
///
/// # Errors
/// What to write instead, as a message.
pub fn scalar(text: &str, element: ElementType) -> Result<Constant, String> {
    let typed = match text {
        "inf" | "nan" | "-inf" | "-nan" if element.is_float() => format!("{text}_{element}"),
        _ => text.to_owned(),
    };
    if let Ok(constant) = typed.parse::<Constant>()
        && constant.ty() == element
    {
        return Ok(constant);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("expected {element}, found `{}`", shown(text)));
    }
    let span = Span { start: 0, end: text.len() as u32 };
    let constant = Literal::new(digits, digits.len() < text.len(), span).and_then(|mut literal| {
        // The type is known: a whole number may be a float.
        if element.is_float() && literal.radix == Radix::Decimal {
            literal.suffix = literal.suffix.or(Some(element));
        }
        Ok((literal.suffix, literal.constant(element, span, text)?))
    });
    match constant {
        Ok((None, constant)) => Ok(constant),
        Ok((Some(suffix), constant)) if suffix == element => Ok(constant),
        Ok(_) => Err(format!("expected {element}, found `{}`", shown(text))),
        Err(fault) => Err(fault.message),
    }
}

/// What is known of extents before the value is read.
fn constants<V>(extents: &[Extent<V>]) -> Vec<Option<usize>> {
    let known = |extent: &Extent<V>| match extent {
        Extent::Constant(extent) => usize::try_from(*extent).ok(),
        _ => None,
    };
    extents.iter().map(known).collect()
}

/// The extents of lists: of a dimension that no list has shown, because there are no elements around it, what the type says, or 0.
fn extents(read: &[Option<usize>], known: &[Option<usize>]) -> Vec<usize> {
    read.iter().zip(known).map(|(&read, &known)| read.or(known).unwrap_or(0)).collect()
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Reader<'s> {
    fn error(&self, message: impl Into<String>) -> ValueError {
        ValueError { message: message.into(), at: self.at }
    }

    fn skip(&mut self) {
        let rest = &self.source[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    /// What comes, up to a sign of lists.
    fn word(&self) -> &'s str {
        let rest = &self.source[self.at..];
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']')).unwrap_or(rest.len());
        // A sign is a word of its own, so that there is something to show.
        if end == 0 { rest.get(..1).unwrap_or(rest) } else { &rest[..end] }
    }

    fn eat(&mut self, sign: char) -> bool {
        self.skip();
        let is = self.source[self.at..].starts_with(sign);
        self.at += if is { sign.len_utf8() } else { 0 };
        is
    }

    /// The items of a list.
    fn items<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, ValueError>) -> Result<Vec<T>, ValueError> {
        if !self.eat('[') {
            return Err(self.expected("`[` before the elements of a list"));
        }
        let mut items = Vec::new();
        if self.eat(']') {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(']') {
                return Ok(items);
            }
            if !self.eat(',') {
                return Err(self.expected("`,` or `]` behind an element"));
            }
        }
    }

    fn expected(&self, what: &str) -> ValueError {
        match self.word() {
            "" => self.error(format!("expected {what}, and the text ends")),
            "…" => self.error("this list is cut short: `…` stands for elements that are not shown"),
            found => self.error(format!("expected {what}, found `{}`", shown(found))),
        }
    }

    /// Lists of lists, down to something; counts their elements. Ranks are at most 8, so this is not deep.
    fn lists(
        &mut self,
        counts: &mut [Option<usize>],
        inside: &mut dyn FnMut(&mut Self) -> Result<(), ValueError>,
    ) -> Result<(), ValueError> {
        let Some((first, inner)) = counts.split_first_mut() else { return inside(self) };
        self.skip();
        let start = self.at;
        let count = self.items(|reader| reader.lists(inner, inside))?.len();
        match first.replace(count) {
            Some(first) if first != count => {
                let s = if count == 1 { "" } else { "s" };
                let message = format!("this list has {count} element{s}, and the first beside it has {first}");
                Err(ValueError { message, at: start })
            }
            _ => Ok(()),
        }
    }

    /// An array, and its extents.
    fn array(&mut self, known: &[Option<usize>], element: ElementType) -> Result<(Array, Vec<usize>), ValueError> {
        let mut counts = vec![None; known.len()];
        let mut elements = Vec::new();
        self.skip();
        let start = self.at;
        self.lists(&mut counts, &mut |reader| {
            elements.push(reader.scalar(element)?);
            Ok(())
        })?;
        let extents = extents(&counts, known);
        let array = Array::from_constants(element, &extents, &elements);
        array.map(|array| (array, extents)).map_err(|error| of_array(&error, start))
    }

    fn scalar(&mut self, element: ElementType) -> Result<Constant, ValueError> {
        self.skip();
        let word = self.word();
        if word.is_empty() || matches!(word, "[" | "]" | "," | "…") {
            return Err(self.expected(element.name()));
        }
        let constant = scalar(word, element).map_err(|message| self.error(message))?;
        self.at += word.len();
        Ok(constant)
    }

    /// An array of arrays: as the interface has it, the extents of each in turn, and all elements.
    fn nested(
        &mut self,
        outer: &[Option<usize>],
        inner: &[Option<usize>],
        element: ElementType,
    ) -> Result<Nested, ValueError> {
        let (mut shapes, mut values) = (Vec::new(), Vec::new());
        let mut counts = vec![None; outer.len()];
        self.skip();
        let start = self.at;
        self.lists(&mut counts, &mut |reader| {
            let (array, of) = reader.array(inner, element)?;
            shapes.extend(of.iter().map(|&extent| extent as i64));
            values.extend(array.constants());
            Ok(())
        })?;
        let mut shape = extents(&counts, outer);
        if inner.len() > 1 {
            shape.push(inner.len());
        }
        let wrong = |error: ArrayError| of_array(&error, start);
        Ok(Nested {
            extents: Array::new(&shape, &shapes).map_err(wrong)?,
            values: Array::from_constants(element, &[values.len()], &values).map_err(wrong)?,
        })
    }
}

fn of_array(error: &ArrayError, at: usize) -> ValueError {
    ValueError { message: error.to_string(), at }
}
