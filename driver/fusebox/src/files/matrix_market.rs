//! Matrix Market files: dense (`array`) and sparse (`coordinate`).
//!
//! A dense matrix becomes a 2-D input `m`. A sparse one becomes components, by what the program declares: triplets `m.row`, `m.column`,
//! `m.value` in the order of the file, or compressed rows `m.offsets`, `m.columns`, `m.values` in row-major order; and of both kinds
//! `m.height` and `m.width` (`i64`). Indices count from 0 and are of any integer type. What symmetry leaves out of the file is there:
//! of triplets behind each its mirror image. Of complex matrices `m.value.re`, `m.value.im` (`m.re`, `m.im` if dense).

use std::io::{self, BufRead, Write};

use fusebox_ir::{Array, Constant, ElementType, round_to_f16};

use super::{FileFault, error::unfit, fetch::Source};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Integer,
    Real,
    Complex,
    Pattern,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
    Hermitian,
}

/// A number as written: exact until its type is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i64),
    Real(f64),
}

impl Number {
    fn negated(self) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(value.wrapping_neg()),
            Self::Real(value) => Self::Real(-value),
        }
    }

    /// As an element, if the type has the value (floats round).
    fn constant(self, ty: ElementType) -> Option<Constant> {
        match self {
            Self::Real(value) => match ty {
                ElementType::F16 => Some(round_to_f16(value).into()),
                ElementType::F32 => Some((value as f32).into()),
                ElementType::F64 => Some(value.into()),
                _ => None,
            },
            Self::Integer(value) if ty.is_float() => Some(Constant::from_i64(ty, value)),
            Self::Integer(value) if ty == ElementType::Bool => (value == 0 || value == 1).then(|| (value == 1).into()),
            Self::Integer(value) if ty == ElementType::U64 => u64::try_from(value).ok().map(Constant::from),
            Self::Integer(value) => {
                Some(Constant::from_i64(ty, value)).filter(|constant| constant.as_i64() == Some(value))
            }
        }
    }
}

/// A matrix: its entries, of a dense one all.
pub(super) struct Matrix {
    dense: bool,
    complex: bool,
    field: Field,
    height: usize,
    width: usize,
    rows: Vec<usize>,
    columns: Vec<usize>,
    re: Vec<Number>,
    im: Vec<Number>,
}

struct Lines<R> {
    reader: R,
    line: usize,
    text: String,
}

impl<R: BufRead> Lines<R> {
    fn wrong<T>(&self, why: impl Into<String>) -> Result<T, FileFault> {
        Err(FileFault::Matrix { line: self.line, why: why.into() })
    }

    /// The next line; `None` where the file ends.
    fn next(&mut self) -> Result<Option<()>, FileFault> {
        self.text.clear();
        self.line += 1;
        match self.reader.read_line(&mut self.text) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(Some(())),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => self.wrong("not text"),
            Err(error) => Err(error.into()),
        }
    }

    /// The next line with something on it.
    fn next_filled(&mut self, comments: bool) -> Result<Option<()>, FileFault> {
        while self.next()?.is_some() {
            if !(self.text.trim().is_empty() || comments && self.text.starts_with('%')) {
                return Ok(Some(()));
            }
        }
        Ok(None)
    }

    fn number(&self, word: Option<&str>, field: Field) -> Result<Number, FileFault> {
        let Some(word) = word else { return self.wrong("a number is missing") };
        let number = match field {
            Field::Integer => word.parse().ok().map(Number::Integer),
            _ => word.replace(['d', 'D'], "e").parse().ok().map(Number::Real),
        };
        match number {
            Some(number) => Ok(number),
            None => self
                .wrong(format!("`{word}` is no {} number", if field == Field::Integer { "integer" } else { "real" })),
        }
    }

    fn index(&self, word: Option<&str>, extent: usize, what: &str) -> Result<usize, FileFault> {
        match word.and_then(|word| word.parse::<usize>().ok()) {
            Some(index) if (1..=extent).contains(&index) => Ok(index - 1),
            _ => self.wrong(format!("{what} `{}` is none from 1 to {extent}", word.unwrap_or_default())),
        }
    }
}

impl Matrix {
    pub fn read(source: Source) -> Result<Self, FileFault> {
        let size = source.size;
        let mut lines = Lines { reader: source.reader, line: 0, text: String::new() };
        lines.next()?;
        let header = lines.text.to_ascii_lowercase();
        let (dense, field, symmetry) = match header.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["%%matrixmarket", "matrix", format, field, symmetry] => {
                let dense = match *format {
                    "array" => true,
                    "coordinate" => false,
                    other => return lines.wrong(format!("expected `array` or `coordinate`, found `{other}`")),
                };
                let field = match *field {
                    "integer" => Field::Integer,
                    "real" | "double" => Field::Real,
                    "complex" => Field::Complex,
                    "pattern" if !dense => Field::Pattern,
                    other => return lines.wrong(format!("`{other}` is no kind of numbers of this format")),
                };
                let symmetry = match *symmetry {
                    "general" => Symmetry::General,
                    "symmetric" => Symmetry::Symmetric,
                    "skew-symmetric" => Symmetry::Skew,
                    "hermitian" => Symmetry::Hermitian,
                    other => return lines.wrong(format!("`{other}` is no kind of symmetry")),
                };
                (dense, field, symmetry)
            }
            _ => return lines.wrong("expected `%%MatrixMarket matrix`, format, numbers, symmetry"),
        };
        if lines.next_filled(true)?.is_none() {
            return lines.wrong("the file ends before the line of sizes");
        }
        let sizes: Option<Vec<usize>> = lines.text.split_whitespace().map(|word| word.parse().ok()).collect();
        let (height, width, count) = match (dense, sizes.as_deref()) {
            (true, Some([height, width])) => {
                let count = match symmetry {
                    Symmetry::General => height.checked_mul(*width),
                    Symmetry::Skew => height.checked_mul(height.saturating_sub(1)).map(|twice| twice / 2),
                    _ => height.checked_add(1).and_then(|next| height.checked_mul(next)).map(|twice| twice / 2),
                };
                (*height, *width, count)
            }
            (false, Some([height, width, count])) => (*height, *width, Some(*count)),
            _ => return lines.wrong("expected the sizes of the matrix"),
        };
        if symmetry != Symmetry::General && height != width {
            return lines.wrong(format!("{height} rows and {width} columns are not symmetric"));
        }
        // Each entry takes two bytes or more: what is claimed beyond that is not there.
        let Some(count) = count.filter(|&count| count as u64 <= size / 2 + 1) else {
            return lines.wrong(format!("{size} bytes cannot hold the entries of this matrix"));
        };
        let complex = field == Field::Complex;
        let mut matrix = Self {
            dense,
            complex,
            field,
            height,
            width,
            rows: Vec::new(),
            columns: Vec::new(),
            re: Vec::new(),
            im: Vec::new(),
        };
        // The position of the next entry of a dense matrix, columns first.
        let (mut row, mut column) = (if symmetry == Symmetry::Skew { 1 } else { 0 }, 0);
        for entry in 0..count {
            if lines.next_filled(false)?.is_none() {
                return lines.wrong(format!("the file ends after {entry} of {count} entries"));
            }
            let text = std::mem::take(&mut lines.text);
            let mut words = text.split_whitespace();
            if !dense {
                row = lines.index(words.next(), height, "row")?;
                column = lines.index(words.next(), width, "column")?;
            }
            let re = match field {
                Field::Pattern => Number::Integer(1),
                _ => lines.number(words.next(), field)?,
            };
            let im = if complex { lines.number(words.next(), field)? } else { Number::Integer(0) };
            if words.next().is_some() {
                return lines.wrong("more than an entry");
            }
            if symmetry == Symmetry::Skew && row == column {
                return lines.wrong("an entry on the diagonal of a skew-symmetric matrix");
            }
            lines.text = text;
            matrix.push(row, column, re, im);
            if row != column {
                match symmetry {
                    Symmetry::General => {}
                    Symmetry::Symmetric => matrix.push(column, row, re, im),
                    Symmetry::Skew => matrix.push(column, row, re.negated(), im.negated()),
                    Symmetry::Hermitian => matrix.push(column, row, re, im.negated()),
                }
            }
            if dense {
                row += 1;
                if row == height {
                    column += 1;
                    row = match symmetry {
                        Symmetry::General => 0,
                        Symmetry::Skew => column + 1,
                        _ => column,
                    };
                }
            }
        }
        if lines.next_filled(true)?.is_some() {
            return lines.wrong(format!("more than {count} entries"));
        }
        Ok(matrix)
    }

    fn push(&mut self, row: usize, column: usize, re: Number, im: Number) {
        self.rows.push(row);
        self.columns.push(column);
        self.re.push(re);
        if self.complex {
            self.im.push(im);
        }
    }

    /// What it is, in words.
    pub fn describe(&self) -> String {
        let kind = if self.dense { "dense" } else { "sparse" };
        let field = match self.field {
            Field::Integer => "integers",
            Field::Real => "real numbers",
            Field::Complex => "complex numbers",
            Field::Pattern => "no values (a pattern)",
        };
        format!("a {kind} matrix of {} x {}, {field}", self.height, self.width)
    }

    /// A dense matrix as `[height, width]`.
    pub fn array(&self, element: ElementType) -> Result<Array, FileFault> {
        if self.complex {
            return Err(unfit("real numbers (complex ones become components .re and .im)", self.describe()));
        }
        self.dense(element, &self.re)
    }

    fn dense(&self, element: ElementType, values: &[Number]) -> Result<Array, FileFault> {
        if !self.dense {
            let expected = "a dense matrix (a sparse one becomes components: .row, .column, .value, or .offsets, .columns, .values)";
            return Err(unfit(expected, self.describe()));
        }
        let mut array = Array::zeros(element, &[self.height, self.width])?;
        let bytes = element.bytes();
        let to = array.bytes_mut();
        for ((&row, &column), &value) in self.rows.iter().zip(&self.columns).zip(values) {
            let constant = self.constant(value, element)?;
            to[(row * self.width + column) * bytes..][..bytes].copy_from_slice(&constant.bits().to_le_bytes()[..bytes]);
        }
        Ok(array)
    }

    fn constant(&self, value: Number, element: ElementType) -> Result<Constant, FileFault> {
        value.constant(element).ok_or_else(|| {
            let found = match value {
                Number::Integer(value) => value.to_string(),
                Number::Real(value) => format!("{value:?}"),
            };
            unfit(format!("elements of {element}"), format!("{found} in {}", self.describe()))
        })
    }

    /// A component, by its name behind that of the matrix.
    pub fn component(&self, name: &str, element: ElementType) -> Result<Array, FileFault> {
        let index = |values: &mut dyn Iterator<Item = usize>| {
            self.vector(element, &mut values.map(|i| Number::Integer(i as i64)))
        };
        let im = || if self.complex { Some(self.im.as_slice()) } else { None };
        let real = if self.complex { None } else { Some(self.re.as_slice()) };
        let order = || {
            let mut order: Vec<usize> = (0..self.rows.len()).collect();
            order.sort_by_key(|&at| (self.rows[at], self.columns[at]));
            order
        };
        let in_file = |values: Option<&[Number]>| match values {
            Some(values) => self.vector(element, &mut values.iter().copied()),
            None => Err(unfit(format!("component `{name}`"), self.describe())),
        };
        let by_rows = |values: Option<&[Number]>| match values {
            Some(values) => self.vector(element, &mut order().into_iter().map(|at| values[at])),
            None => Err(unfit(format!("component `{name}`"), self.describe())),
        };
        match name {
            "height" | "width" => {
                let extent = if name == "height" { self.height } else { self.width };
                let constant = self.constant(Number::Integer(extent as i64), element)?;
                Ok(Array::scalar(constant))
            }
            "re" if self.complex => self.dense(element, &self.re),
            "im" if self.complex => self.dense(element, &self.im),
            _ if self.dense => Err(unfit(format!("component `{name}`, which is of sparse matrices"), self.describe())),
            "row" => index(&mut self.rows.iter().copied()),
            "column" => index(&mut self.columns.iter().copied()),
            "value" => in_file(real),
            "value.re" => in_file(im().map(|_| self.re.as_slice())),
            "value.im" => in_file(im()),
            "offsets" => {
                let mut offsets = Vec::new();
                // A matrix of few entries may claim any height.
                offsets.try_reserve_exact(self.height.saturating_add(1)).map_err(|_| {
                    fusebox_ir::ArrayError::TooLarge { extents: vec![self.height.saturating_add(1)], element }
                })?;
                offsets.resize(self.height + 1, 0usize);
                self.rows.iter().for_each(|&row| offsets[row + 1] += 1);
                for at in 0..self.height {
                    offsets[at + 1] += offsets[at];
                }
                index(&mut offsets.into_iter())
            }
            "columns" => index(&mut order().into_iter().map(|at| self.columns[at])),
            "values" => by_rows(real),
            "values.re" => by_rows(im().map(|_| self.re.as_slice())),
            "values.im" => by_rows(im()),
            _ => Err(FileFault::Missing {
                what: format!("component `{name}`"),
                there: "`row`, `column`, `value`, `offsets`, `columns`, `values`, `height`, `width`".into(),
            }),
        }
    }

    fn vector(&self, element: ElementType, values: &mut dyn Iterator<Item = Number>) -> Result<Array, FileFault> {
        let constants: Vec<Constant> = values.map(|value| self.constant(value, element)).collect::<Result<_, _>>()?;
        Ok(Array::from_constants(element, &[constants.len()], &constants)?)
    }
}

/// Writes a matrix `[height, width]` as a dense one.
pub(super) fn write(out: &mut dyn Write, array: &Array) -> Result<(), FileFault> {
    let &[height, width] = array.extents() else {
        return Err(unfit("a matrix, to be written as Matrix Market", crate::signature::describe(array)));
    };
    let field = if array.element().is_float() { "real" } else { "integer" };
    writeln!(out, "%%MatrixMarket matrix array {field} general")?;
    writeln!(out, "{height} {width}")?;
    for column in 0..width {
        for row in 0..height {
            let element = array.get(row * width + column);
            match (element.as_f64(), element.as_i64()) {
                (Some(value), _) => writeln!(out, "{value:?}")?,
                (_, Some(value)) => writeln!(out, "{value}")?,
                _ => writeln!(out, "{}", element.bits())?,
            }
        }
    }
    Ok(())
}
