//! Values of programs as the arrays that flat programs and plans take and give.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{Array, ArrayError, ElementType, Nested, Program, Type, Value};

/// What goes in and comes out of a program, as arrays of scalars: of an array of arrays its extents and its values, of a stream that is held
/// in memory the extents of its elements and their values one after the other, of a stream of scalars a vector.
#[derive(Clone, Debug)]
pub struct FlatInterface {
    inputs: Arc<[FlatKind]>,
    results: Arc<[FlatKind]>,
}

/// Which arrays of scalars a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlatKind {
    /// Itself.
    Array,
    /// The extents of an array of arrays, and its values.
    Nested,
    /// The extents of the elements of a stream, unless they are scalars, and the values of all of them.
    Stream {
        /// The rank of an element.
        rank: usize,
        /// The type of the values.
        element: ElementType,
    },
}

impl FlatKind {
    fn of(ty: &Type) -> Self {
        match ty {
            Type { stream: true, .. } => Self::Stream { rank: ty.rank(), element: ty.element },
            ty if ty.inner.is_empty() => Self::Array,
            _ => Self::Nested,
        }
    }

    /// That of a value; none of a stream whose elements do not say it, since there are none or they differ.
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Array(_) => Some(Self::Array),
            Value::Nested(_) => Some(Self::Nested),
            Value::Stream(elements) => {
                let first = elements.first()?;
                let (rank, element) = (first.extents().len(), first.element());
                let same = |other: &Array| other.extents().len() == rank && other.element() == element;
                elements.iter().all(same).then_some(Self::Stream { rank, element })
            }
        }
    }

    /// How many arrays there are.
    pub fn arrays(self) -> usize {
        match self {
            Self::Array | Self::Stream { rank: 0, .. } => 1,
            Self::Nested | Self::Stream { .. } => 2,
        }
    }

    /// The arrays that a value is, which has this kind.
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`] if the elements of a stream do not fit in memory.
    pub fn flat(self, value: &Value) -> Result<SmallVec<[Array; 2]>, ArrayError> {
        // Clones share their elements.
        match value {
            Value::Array(array) => Ok(SmallVec::from_iter([array.clone()])),
            Value::Nested(nested) => Ok(SmallVec::from_iter([nested.extents.clone(), nested.values.clone()])),
            Value::Stream(elements) => match self {
                Self::Stream { rank, element } => joined(elements, rank, element),
                Self::Array | Self::Nested => joined(elements, 0, ElementType::I64),
            },
        }
    }

    /// The value that the next arrays are; none where there are too few.
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`] if the elements of a stream do not fit in memory.
    pub fn value(self, arrays: &mut impl Iterator<Item = Array>) -> Result<Option<Value>, ArrayError> {
        let Some(first) = arrays.next() else { return Ok(None) };
        let second = if self.arrays() == 2 { arrays.next() } else { None };
        Ok(match (self, second) {
            (Self::Array, _) => Some(Value::Array(first)),
            (Self::Stream { rank: 0, .. }, _) => Some(Value::Stream(apart(None, &first)?)),
            (Self::Stream { rank, .. }, Some(values)) => Some(Value::Stream(apart(Some((&first, rank)), &values)?)),
            (Self::Nested, Some(values)) => Some(Value::Nested(Nested { extents: first, values })),
            (_, None) => None,
        })
    }
}

impl FlatInterface {
    /// That of a program.
    pub fn of(program: &Program) -> Self {
        Self {
            inputs: program.body.params.iter().map(|param| FlatKind::of(&param.ty)).collect(),
            results: program.outputs.iter().map(|output| FlatKind::of(&output.ty)).collect(),
        }
    }

    /// That of a plan, which takes and gives arrays.
    pub fn of_arrays(results: usize) -> Self {
        Self { inputs: Arc::new([]), results: vec![FlatKind::Array; results].into() }
    }

    /// Which arrays each result is.
    pub fn results(&self) -> &[FlatKind] {
        &self.results
    }

    /// The arrays that inputs are.
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`] if the elements of a stream do not fit in memory.
    pub fn flat(&self, values: &[Value]) -> Result<SmallVec<[Array; 8]>, ArrayError> {
        let mut arrays: SmallVec<[Array; 8]> = SmallVec::new();
        for (at, value) in values.iter().enumerate() {
            match (self.inputs.get(at), value) {
                (None | Some(FlatKind::Array | FlatKind::Nested), Value::Array(array)) => arrays.push(array.clone()),
                _ => arrays.extend(self.flat_input(at, value)?),
            }
        }
        Ok(arrays)
    }

    /// The arrays that the input at a position is.
    ///
    /// # Errors
    /// As [`Self::flat`].
    pub fn flat_input(&self, at: usize, value: &Value) -> Result<SmallVec<[Array; 2]>, ArrayError> {
        let declared = self.inputs.get(at).copied().filter(|kind| matches!(kind, FlatKind::Stream { .. }));
        declared.or_else(|| FlatKind::of_value(value)).unwrap_or(FlatKind::Array).flat(value)
    }

    /// The results that arrays are. Where there are fewer arrays than the program has, the rest is left out.
    ///
    /// # Errors
    /// As [`Self::flat`].
    pub fn values(&self, arrays: Vec<Array>) -> Result<Vec<Value>, ArrayError> {
        let mut values = Vec::with_capacity(self.results.len());
        self.values_into(arrays, &mut values)?;
        Ok(values)
    }

    /// As [`Self::values`], behind what `values` holds.
    ///
    /// # Errors
    /// As [`Self::flat`].
    pub fn values_into(
        &self,
        arrays: impl IntoIterator<Item = Array>,
        values: &mut Vec<Value>,
    ) -> Result<(), ArrayError> {
        let mut flat = arrays.into_iter();
        for kind in self.results.iter() {
            let value = match kind {
                FlatKind::Array => flat.next().map(Value::Array),
                kind => kind.value(&mut flat)?,
            };
            let Some(value) = value else { break };
            values.push(value);
        }
        Ok(())
    }
}

/// All elements of a stream: their extents, if they are no scalars, and their values.
fn joined(elements: &[Array], rank: usize, ty: ElementType) -> Result<SmallVec<[Array; 2]>, ArrayError> {
    let mut arrays = SmallVec::new();
    if rank > 0 {
        let extents: Vec<i64> =
            elements.iter().flat_map(|element| element.extents().iter().map(|&extent| extent as i64)).collect();
        let shape: &[usize] = if rank == 1 { &[elements.len()] } else { &[elements.len(), rank] };
        arrays.push(Array::new(shape, &extents)?);
    }
    let total = elements.iter().map(Array::len).sum();
    let mut values = Array::zeros(ty, &[total])?;
    let mut rest = values.bytes_mut();
    for element in elements {
        let (part, behind) = rest.split_at_mut(element.bytes().len().min(rest.len()));
        part.copy_from_slice(&element.bytes()[..part.len()]);
        rest = behind;
    }
    arrays.push(values);
    Ok(arrays)
}

/// The elements of a stream, from their extents and all values.
fn apart(extents: Option<(&Array, usize)>, values: &Array) -> Result<Vec<Array>, ArrayError> {
    let number = match extents {
        Some((extents, _)) => extents.extents().first().copied().unwrap_or(0),
        None => values.len(),
    };
    let mut rest = values.bytes();
    let mut elements = Vec::with_capacity(number);
    for at in 0..number {
        let shape: SmallVec<[usize; 4]> = match extents {
            Some((extents, rank)) => {
                let all = extents.as_slice::<i64>().unwrap_or_default();
                let own = all.get(at * rank..(at + 1) * rank).unwrap_or_default();
                own.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect()
            }
            None => SmallVec::new(),
        };
        let mut element = Array::zeros(values.element(), &shape)?;
        let bytes = element.bytes_mut();
        let (part, behind) = rest.split_at(bytes.len().min(rest.len()));
        bytes[..part.len()].copy_from_slice(part);
        rest = behind;
        elements.push(element);
    }
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(extents: &[usize]) -> Array {
        let numbers: Vec<i64> = (0..extents.iter().product::<usize>() as i64).collect();
        Array::new(extents, &numbers).unwrap()
    }

    #[test]
    fn values_are_the_arrays_that_they_become() {
        let nested = Nested { extents: Array::new(&[3], &[2i64, 0, 1]).unwrap(), values: ints(&[3]) };
        let stream = |shapes: &[&[usize]]| Value::Stream(shapes.iter().map(|shape| ints(shape)).collect());
        for (value, kind) in [
            (Value::Array(ints(&[2, 3])), FlatKind::Array),
            (Value::Nested(nested), FlatKind::Nested),
            (stream(&[&[], &[]]), FlatKind::Stream { rank: 0, element: ElementType::I64 }),
            (stream(&[&[2], &[0], &[3]]), FlatKind::Stream { rank: 1, element: ElementType::I64 }),
            (stream(&[&[2, 2], &[0, 7], &[1, 3]]), FlatKind::Stream { rank: 2, element: ElementType::I64 }),
        ] {
            assert_eq!(FlatKind::of_value(&value), Some(kind));
            let arrays = kind.flat(&value).unwrap();
            assert_eq!(arrays.len(), kind.arrays());
            assert_eq!(kind.value(&mut arrays.clone().into_iter()).unwrap().as_ref(), Some(&value));
            // One too few.
            assert_eq!(kind.value(&mut arrays.into_iter().skip(1)).unwrap(), None);
            assert_eq!(kind.value(&mut std::iter::empty()).unwrap(), None);
        }
        let mixed = Value::Stream(vec![ints(&[2]), ints(&[])]);
        assert_eq!((FlatKind::of_value(&mixed), FlatKind::of_value(&stream(&[]))), (None, None));
    }
}
