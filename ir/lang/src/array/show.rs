//! Arrays of the host as rows of elements in brackets, as numpy prints them.

use std::fmt::{self, Alignment, Debug, Display, Formatter};

use super::Array;
use crate::{elt::Elt, shape::Shape};

/// How many elements are shown in full.
const FULL: usize = 1000;
/// Of longer arrays, how many are shown at each end of a dimension.
const EDGE: usize = 3;

impl<Sh: Shape, T: Elt + Display> Display for Array<Sh, T> {
    /// The elements in brackets, a row a line, in columns. A width or precision holds of each element: `{:.2}`. Of arrays of more than
    /// 1000 elements the first and last three along each dimension are shown.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 40, 50, 60]).unwrap();
    /// assert_eq!(m.to_string(), "[[ 1,  2,  3],\n [40, 50, 60]]");
    /// ```
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let texts = Shown::of(self, &|element: T| match (f.precision(), f.sign_plus()) {
            (Some(precision), true) => format!("{element:+.precision$}"),
            (Some(precision), false) => format!("{element:.precision$}"),
            (None, true) => format!("{element:+}"),
            (None, false) => format!("{element}"),
        });
        texts.write(f, f.width().unwrap_or(0))
    }
}

impl<Sh: Shape, T: Elt + Debug> Debug for Array<Sh, T> {
    /// The extents, then the elements as by `Display`, in one line where there is one row.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let separator = if self.extents.len() > 1 { "\n" } else { " " };
        write!(f, "{:?}{separator}", self.extents())?;
        let texts = Shown::of(self, &|element: T| match f.precision() {
            Some(precision) => format!("{element:.precision$?}"),
            None => format!("{element:?}"),
        });
        texts.write(f, 0)
    }
}

/// The elements that are shown, as texts.
struct Shown<'a> {
    extents: &'a [usize],
    /// Of each dimension how many indices at each end are shown; `None` where all are.
    edge: Option<usize>,
    /// In row-major order.
    texts: Vec<String>,
}

impl<'a> Shown<'a> {
    fn of<Sh: Shape, T: Elt>(array: &'a Array<Sh, T>, text: &dyn Fn(T) -> String) -> Self {
        let edge = (array.len() > FULL).then_some(EDGE);
        let mut shown = Self { extents: &array.extents, edge, texts: Vec::new() };
        let mut texts = Vec::new();
        shown.visit(0, 0, &mut |position| texts.push(array.get(position).map_or_else(|| "?".to_owned(), text)));
        shown.texts = texts;
        shown
    }

    /// The indices of a dimension that are shown; a gap between the first and the last of them.
    fn indices(&self, dimension: usize) -> (Vec<usize>, bool) {
        let extent = self.extents[dimension];
        match self.edge {
            Some(edge) if extent > 2 * edge => ((0..edge).chain(extent - edge..extent).collect(), true),
            _ => ((0..extent).collect(), false),
        }
    }

    /// The row-major positions of what is shown, in order.
    fn visit(&self, dimension: usize, position: usize, found: &mut dyn FnMut(usize)) {
        if dimension == self.extents.len() {
            return found(position);
        }
        for index in self.indices(dimension).0 {
            self.visit(dimension + 1, position * self.extents[dimension] + index, found);
        }
    }

    fn write(&self, f: &mut Formatter<'_>, least: usize) -> fmt::Result {
        let widest = self.texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        // One row needs no columns.
        let width = if self.extents.len() > 1 { widest.max(least) } else { least };
        self.dimension(f, 0, width, &mut self.texts.iter())
    }

    fn dimension(
        &self,
        f: &mut Formatter<'_>,
        dimension: usize,
        width: usize,
        texts: &mut std::slice::Iter<'_, String>,
    ) -> fmt::Result {
        if dimension == self.extents.len() {
            let text = texts.next().map_or("", String::as_str);
            return match f.align() {
                Some(Alignment::Left) => write!(f, "{text:<width$}"),
                Some(Alignment::Center) => write!(f, "{text:^width$}"),
                Some(Alignment::Right) | None => write!(f, "{text:>width$}"),
            };
        }
        let (indices, gap) = self.indices(dimension);
        let inner = self.extents.len() - dimension - 1;
        // Between rows a line ends, between matrices there is an empty one too.
        let separator = if inner == 0 { " ".to_owned() } else { "\n".repeat(inner) + &" ".repeat(dimension + 1) };
        f.write_str("[")?;
        for at in 0..indices.len() {
            if at > 0 {
                write!(f, ",{separator}")?;
            }
            if gap && at == indices.len() / 2 {
                write!(f, "...,{separator}")?;
            }
            self.dimension(f, dimension + 1, width, texts)?;
        }
        f.write_str("]")
    }
}
