//! Values of programs as the arrays that flat programs and plans take and give.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{Array, ArrayError, ElementType, Nested, Program, Type, Value};

/// What goes in and comes out of a program, as arrays of scalars: of an array of arrays its extents and its values, of a stream that is held
/// in memory the extents of its elements and their values one after the other, of a stream of scalars a vector.
#[derive(Clone, Debug)]
pub struct FlatInterface {
    inputs: Arc<[Kind]>,
    results: Arc<[Kind]>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Array,
    Nested,
    /// Of elements of this rank.
    Stream(usize, ElementType),
}

impl Kind {
    fn of(ty: &Type) -> Self {
        match ty {
            Type { stream: true, .. } => Self::Stream(ty.rank(), ty.element),
            ty if ty.inner.is_empty() => Self::Array,
            _ => Self::Nested,
        }
    }
}

impl FlatInterface {
    /// That of a program.
    pub fn of(program: &Program) -> Self {
        Self {
            inputs: program.body.params.iter().map(|param| Kind::of(&param.ty)).collect(),
            results: program.outputs.iter().map(|output| Kind::of(&output.ty)).collect(),
        }
    }

    /// That of a plan, which takes and gives arrays.
    pub fn of_arrays(results: usize) -> Self {
        Self { inputs: Arc::new([]), results: vec![Kind::Array; results].into() }
    }

    /// How many arrays each result is, and whether it is a stream.
    pub fn arrays_of_results(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        self.results.iter().map(|kind| match kind {
            Kind::Array => (1, false),
            Kind::Nested => (2, false),
            Kind::Stream(0, _) => (1, true),
            Kind::Stream(..) => (2, true),
        })
    }

    /// The arrays that inputs are.
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`] if the elements of a stream do not fit in memory.
    pub fn flat(&self, values: &[Value]) -> Result<SmallVec<[Array; 8]>, ArrayError> {
        // Clones share their elements.
        let mut arrays: SmallVec<[Array; 8]> = SmallVec::new();
        for (at, value) in values.iter().enumerate() {
            match value {
                Value::Array(array) => arrays.push(array.clone()),
                Value::Nested(nested) => arrays.extend([nested.extents.clone(), nested.values.clone()]),
                Value::Stream(elements) => {
                    let (rank, ty) = match (self.inputs.get(at), elements.first()) {
                        (Some(&Kind::Stream(rank, ty)), _) => (rank, ty),
                        (_, Some(first)) => (first.extents().len(), first.element()),
                        (_, None) => (0, ElementType::I64),
                    };
                    joined(elements, rank, ty, &mut arrays)?;
                }
            }
        }
        Ok(arrays)
    }

    /// The results that arrays are. Where there are fewer arrays than the program has, the rest is left out.
    ///
    /// # Errors
    /// As [`Self::flat`].
    pub fn values(&self, arrays: Vec<Array>) -> Result<Vec<Value>, ArrayError> {
        let mut flat = arrays.into_iter();
        let mut values = Vec::with_capacity(self.results.len());
        for &kind in self.results.iter() {
            let Some(first) = flat.next() else { break };
            values.push(match kind {
                Kind::Array => Value::Array(first),
                Kind::Stream(0, _) => Value::Stream(apart(None, &first)?),
                Kind::Nested | Kind::Stream(..) => {
                    let Some(values) = flat.next() else { break };
                    match kind {
                        Kind::Stream(rank, _) => Value::Stream(apart(Some((&first, rank)), &values)?),
                        _ => Value::Nested(Nested { extents: first, values }),
                    }
                }
            });
        }
        Ok(values)
    }
}

/// All elements of a stream: their extents, if they are no scalars, and their values.
fn joined(
    elements: &[Array],
    rank: usize,
    ty: ElementType,
    arrays: &mut SmallVec<[Array; 8]>,
) -> Result<(), ArrayError> {
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
    Ok(())
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
