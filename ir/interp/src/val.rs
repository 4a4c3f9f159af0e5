//! Values as the interpreter holds them.

use std::rc::Rc;

use fusebox_ir::{Array, Constant, ElementType, Fault, MAX_EXTENT, Nested, Value};

/// An array: extents and elements in row-major order, which are constants, or arrays again (arrays of arrays, streams).
#[derive(Clone, Debug)]
pub(crate) struct Val {
    pub(crate) element: ElementType,
    pub(crate) extents: Vec<i64>,
    items: Rc<Items>,
}

#[derive(Debug)]
enum Items {
    Scalars(Vec<Constant>),
    Arrays(Vec<Val>),
}

impl Val {
    pub(crate) fn new(element: ElementType, extents: Vec<i64>, scalars: Vec<Constant>) -> Self {
        Self { element, extents, items: Rc::new(Items::Scalars(scalars)) }
    }

    pub(crate) fn nested(element: ElementType, extents: Vec<i64>, arrays: Vec<Self>) -> Self {
        Self { element, extents, items: Rc::new(Items::Arrays(arrays)) }
    }

    pub(crate) fn scalar(value: Constant) -> Self {
        Self::new(value.ty(), Vec::new(), vec![value])
    }

    pub(crate) fn len(&self) -> usize {
        match &*self.items {
            Items::Scalars(scalars) => scalars.len(),
            Items::Arrays(arrays) => arrays.len(),
        }
    }

    pub(crate) fn is_nested(&self) -> bool {
        matches!(&*self.items, Items::Arrays(_))
    }

    /// All elements, if they are scalars; else none.
    pub(crate) fn scalars(&self) -> &[Constant] {
        match &*self.items {
            Items::Scalars(scalars) => scalars,
            Items::Arrays(_) => &[],
        }
    }

    /// The arrays inside, if there are; else none.
    pub(crate) fn arrays(&self) -> &[Self] {
        match &*self.items {
            Items::Scalars(_) => &[],
            Items::Arrays(arrays) => arrays,
        }
    }

    /// The scalar at a row-major position.
    pub(crate) fn at(&self, position: usize) -> Constant {
        self.scalars()[position]
    }

    /// The value of a scalar `i64`.
    pub(crate) fn to_i64(&self) -> i64 {
        self.at(0).as_i64().unwrap_or_default()
    }

    /// The same elements in other extents.
    pub(crate) fn reshaped(&self, extents: Vec<i64>) -> Self {
        Self { element: self.element, extents, items: Rc::clone(&self.items) }
    }

    /// The part at index `i` of the outermost dimension; of an array of arrays with that dimension alone, or a stream, an array inside.
    pub(crate) fn part(&self, i: usize) -> Self {
        match &*self.items {
            Items::Arrays(arrays) if self.extents.len() == 1 => arrays[i].clone(),
            Items::Arrays(arrays) => {
                let extents = self.extents[1..].to_vec();
                let size = count(&extents);
                Self::nested(self.element, extents, arrays[i * size..][..size].to_vec())
            }
            Items::Scalars(scalars) => {
                let extents = self.extents[1..].to_vec();
                let size = count(&extents);
                Self::new(self.element, extents, scalars[i * size..][..size].to_vec())
            }
        }
    }

    /// The row-major position of an index, if it is inside.
    pub(crate) fn position(&self, index: &[i64]) -> Option<usize> {
        position(&self.extents, index)
    }
}

/// The number of elements of extents that are known to fit.
pub(crate) fn count(extents: &[i64]) -> usize {
    extents.iter().map(|&n| n as usize).product()
}

/// So many elements of one value, or the fault that there is no memory for them.
pub(crate) fn filled(name: &str, extents: &[i64], with: Constant) -> Result<Vec<Constant>, Fault> {
    let mut elements = room(name, extents)?;
    elements.resize(count(extents), with);
    Ok(elements)
}

/// A copy of elements that are of these extents, or the fault that there is no memory for it.
pub(crate) fn copied(name: &str, extents: &[i64], elements: &[Constant]) -> Result<Vec<Constant>, Fault> {
    let mut copy = room(name, extents)?;
    copy.extend_from_slice(elements);
    Ok(copy)
}

fn room(name: &str, extents: &[i64]) -> Result<Vec<Constant>, Fault> {
    let mut elements = Vec::new();
    match elements.try_reserve_exact(count(extents)) {
        Ok(()) => Ok(elements),
        Err(_) => Err(Fault::TooLarge { array: name.to_owned(), extents: extents.to_vec() }),
    }
}

/// The row-major position of an index, if it is inside.
pub(crate) fn position(extents: &[i64], index: &[i64]) -> Option<usize> {
    let mut position = 0;
    for (&n, &i) in extents.iter().zip(index) {
        if i < 0 || i >= n {
            return None;
        }
        position = position * n as usize + i as usize;
    }
    Some(position)
}

/// The index of a row-major position.
pub(crate) fn index(extents: &[i64], position: usize) -> Vec<i64> {
    let mut rest = position;
    let mut index = vec![0; extents.len()];
    for (i, &n) in index.iter_mut().zip(extents).rev() {
        *i = (rest % n as usize) as i64;
        rest /= n as usize;
    }
    index
}

/// The extents, or why there can be no array of them.
pub(crate) fn checked(name: &str, extents: Vec<i64>) -> Result<Vec<i64>, Fault> {
    if let Some(&extent) = extents.iter().find(|&&n| n < 0) {
        return Err(Fault::NegativeExtent { array: name.to_owned(), extent });
    }
    // The interpreter takes 16 bytes an element.
    let size = extents.iter().try_fold(16i64, |size, &n| size.checked_mul(n));
    if size.is_none_or(|size| size > 1 << 40) || extents.iter().any(|&n| n > MAX_EXTENT) {
        return Err(Fault::TooLarge { array: name.to_owned(), extents });
    }
    Ok(extents)
}

impl From<&Value> for Val {
    fn from(value: &Value) -> Self {
        let array = |array: &Array| {
            Self::new(array.element(), array.extents().iter().map(|&n| n as i64).collect(), array.constants().collect())
        };
        match value {
            Value::Array(a) => array(a),
            Value::Stream(elements) => {
                let element = elements.first().map_or(ElementType::Bool, Array::element);
                Self::nested(element, vec![elements.len() as i64], elements.iter().map(array).collect())
            }
            Value::Nested(nested) => {
                let extents = array(&nested.extents);
                let values = array(&nested.values);
                // Filled in by `interface::nested`, which knows the ranks.
                Self::nested(values.element, Vec::new(), vec![extents, values])
            }
        }
    }
}

/// As the host holds it; `stream` says how to read arrays inside.
pub(crate) fn to_value(val: &Val, stream: bool, inner_rank: usize) -> Result<Value, Fault> {
    let too_large = |extents: &[i64]| Fault::TooLarge { array: "result".into(), extents: extents.to_vec() };
    let array = |element, extents: &[i64], scalars: &[Constant]| {
        let sizes: Vec<usize> = extents.iter().map(|&n| n as usize).collect();
        Array::from_constants(element, &sizes, scalars).map_err(|_| too_large(extents))
    };
    if stream {
        let parts = (0..val.extents.first().copied().unwrap_or(0) as usize).map(|i| val.part(i));
        let elements: Result<Vec<_>, _> =
            parts.map(|part| array(part.element, &part.extents, part.scalars())).collect();
        return Ok(Value::Stream(elements?));
    }
    if !val.is_nested() {
        return Ok(Value::Array(array(val.element, &val.extents, val.scalars())?));
    }
    let mut extents = val.extents.clone();
    if inner_rank > 1 {
        extents.push(inner_rank as i64);
    }
    let inner: Vec<Constant> = val.arrays().iter().flat_map(|a| a.extents.iter().map(|&n| n.into())).collect();
    let values: Vec<Constant> = val.arrays().iter().flat_map(|a| a.scalars().iter().copied()).collect();
    Ok(Value::Nested(Nested {
        extents: array(ElementType::I64, &extents, &inner)?,
        values: array(val.element, &[values.len() as i64], &values)?,
    }))
}
