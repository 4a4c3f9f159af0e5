//! Inputs against the types that a signature declares: sizes are bound where first met, and checked where met again.

use fusebox_backend::DeviceArray;
use fusebox_ir::{Array, ArrayId, ElementType, Extent, FlatKind, Nested, Value};
use smallvec::SmallVec;

use super::{InputError, Signature, Slot, describe, described};
use crate::{DeviceValue, Error, device::Place};

/// Sizes that inputs bind, and what bound them.
pub(super) struct Sizes<'s> {
    signature: &'s Signature,
    /// There are few, and a call on small arrays takes a microsecond.
    known: SmallVec<[(ArrayId, i64, Known<'s>); 8]>,
}

/// Where a size is known from.
#[derive(Clone, Copy)]
pub(super) enum Known<'s> {
    /// It is this input.
    Value(&'s Slot),
    /// It is this one of the signature, and this input has it as an extent.
    Extent(ArrayId, &'s Slot),
    /// It is an inner extent of this input, which has no rows.
    NoRows(&'s Slot),
}

impl<'s> Sizes<'s> {
    pub fn new(signature: &'s Signature) -> Self {
        Self { signature, known: SmallVec::new() }
    }

    fn known(&self, id: ArrayId) -> Option<(i64, Known<'s>)> {
        self.known.iter().find(|(known, ..)| *known == id).map(|&(_, size, from)| (size, from))
    }

    pub fn know(&mut self, id: ArrayId, size: i64, from: Known<'s>) {
        self.known.retain(|(known, ..)| *known != id);
        self.known.push((id, size, from));
    }

    /// Where a size is known from, in words.
    fn origin(&self, from: Known<'_>) -> String {
        match from {
            Known::Value(slot) => format!("the value of `{}`", slot.name),
            Known::Extent(id, slot) => {
                let name = self.signature.names.get(&id).map_or("", String::as_str);
                format!("`{name}`, from input `{}`", slot.name)
            }
            Known::NoRows(slot) => format!("the inner extent of `{}`, which has no rows", slot.name),
        }
    }

    /// A plain array, or an element of a stream.
    fn array(&mut self, slot: &'s Slot, element: ElementType, extents: &[usize]) -> Result<(), InputError> {
        if element != slot.ty.element || extents.len() != slot.ty.rank() {
            let (expected, found) = (slot.spelled.clone(), described(element, extents));
            return Err(InputError::Type { input: slot.name.clone(), expected, found });
        }
        self.extents(slot, 0, &slot.ty.extents, extents.iter().map(|&extent| extent as i64))
    }

    /// An input on the host.
    pub fn input(&mut self, slot: &'s Slot, value: &Value) -> Result<(), InputError> {
        let wrong =
            |found: String| Err(InputError::Type { input: slot.name.clone(), expected: slot.spelled.clone(), found });
        let ty = &slot.ty;
        match value {
            Value::Array(array) if !ty.stream && ty.inner.is_empty() => {
                self.array(slot, array.element(), array.extents())
            }
            Value::Stream(elements) if ty.stream => elements.iter().enumerate().try_for_each(|(position, array)| {
                // A name that nothing else binds is that of each element alone.
                let bound = self.known.clone();
                let checked = self.array(slot, array.element(), array.extents());
                self.known = bound;
                match checked {
                    Err(InputError::Type { found, .. }) => wrong(format!("{found} (element {position})")),
                    checked => checked,
                }
            }),
            Value::Nested(Nested { extents, values }) if ty.inner.len() == 1 => {
                self.nested(slot, (extents.element(), extents.extents()), (values.element(), values.extents()))?;
                self.inside(slot, extents, values.len())
            }
            Value::Array(array) => wrong(describe(array)),
            Value::Stream(elements) => wrong(format!("a stream of {} elements", elements.len())),
            Value::Nested(_) => wrong("an array of arrays".into()),
        }
    }

    /// An input that stays where programs run.
    pub fn input_on_device(&mut self, slot: &'s Slot, value: &DeviceValue) -> Result<(), Error> {
        let ty = &slot.ty;
        let host = |array: &DeviceArray| array.to_host().map_err(|error| value.failed(error));
        match value.place() {
            Place::Host(value) => self.input(slot, value)?,
            Place::Flat { kind: FlatKind::Array, arrays, .. } if !ty.stream && ty.inner.is_empty() => {
                self.array(slot, arrays[0].element(), arrays[0].extents())?;
            }
            Place::Flat { kind: FlatKind::Nested, arrays, made } if ty.inner.len() == 1 => {
                let [extents, values] = [&arrays[0], &arrays[1]];
                self.nested(slot, (extents.element(), extents.extents()), (values.element(), values.extents()))?;
                if !made || ty.inner[0].iter().any(|extent| *extent != Extent::Unknown) {
                    self.inside(slot, &host(extents)?, values.extents().iter().product())?;
                }
            }
            Place::Flat { kind: FlatKind::Stream { rank, element }, arrays, .. }
                if ty.stream && (*rank, *element) == (ty.rank(), ty.element) =>
            {
                if *rank > 0 && !self.free(&ty.extents) {
                    self.elements(slot, &host(&arrays[0])?)?;
                }
            }
            // What is wrong with it is said as on the host.
            Place::Flat { .. } => self.input(slot, &value.to_host()?)?,
        }
        Ok(())
    }

    /// Whether extents of an element of a stream may be any.
    fn free(&self, extents: &[Extent]) -> bool {
        extents.iter().enumerate().all(|(at, extent)| match extent {
            Extent::Unknown => true,
            Extent::Constant(_) => false,
            Extent::Value(id) => self.known(*id).is_none() && !extents[..at].contains(extent),
        })
    }

    /// The extents of the elements of a stream.
    fn elements(&mut self, slot: &'s Slot, extents: &Array) -> Result<(), InputError> {
        let all = extents.as_slice::<i64>().unwrap_or_default();
        all.chunks(slot.ty.rank().max(1)).try_for_each(|own| {
            // As in `input`.
            let bound = self.known.clone();
            let checked = self.extents(slot, 0, &slot.ty.extents, own.iter().copied());
            self.known = bound;
            checked
        })
    }

    /// Declared extents and those of the value: bound where first met, equal where met again.
    fn extents(
        &mut self,
        slot: &'s Slot,
        first: usize,
        declared: &[Extent],
        found: impl Iterator<Item = i64>,
    ) -> Result<(), InputError> {
        for ((at, extent), found) in declared.iter().enumerate().zip(found) {
            let dimension = first + at;
            let expected = match extent {
                Extent::Unknown => continue,
                Extent::Constant(wanted) if *wanted == found => continue,
                Extent::Constant(wanted) => wanted.to_string(),
                Extent::Value(id) => match self.known(*id) {
                    Some((wanted, _)) if wanted == found => continue,
                    Some((wanted, from)) => format!("{wanted}, {}", self.origin(from)),
                    None => {
                        self.know(*id, found, Known::Extent(*id, slot));
                        continue;
                    }
                },
            };
            return Err(InputError::Extent { input: slot.name.clone(), dimension, found, expected });
        }
        Ok(())
    }

    /// The types of the arrays that an array of arrays is, and its outer extents.
    fn nested(
        &mut self,
        slot: &'s Slot,
        (extents, shape): (ElementType, &[usize]),
        (element, values): (ElementType, &[usize]),
    ) -> Result<(), InputError> {
        let ty = &slot.ty;
        if extents != ElementType::I64 {
            return wrong_inside(slot, format!("the extents are of {extents}, and should be of i64"));
        }
        let outer = match (ty.inner[0].len(), shape) {
            (1, outer) => outer,
            (rank, [outer @ .., last]) if *last == rank => outer,
            (rank, found) => {
                let why = format!("the extents of extents {found:?} should end in {rank}, the inner rank");
                return wrong_inside(slot, why);
            }
        };
        if outer.len() != ty.rank() {
            let why = format!("extents of rank {} are given for outer rank {}", outer.len(), ty.rank());
            return wrong_inside(slot, why);
        }
        if element != ty.element || values.len() != 1 {
            let found = described(element, values);
            return wrong_inside(slot, format!("the values are {found}, and should be a vector of {}", ty.element));
        }
        self.extents(slot, 0, &ty.extents, outer.iter().map(|&extent| extent as i64))
    }

    /// The extents of the arrays inside, which are to have so many values.
    fn inside(&mut self, slot: &'s Slot, extents: &Array, values: usize) -> Result<(), InputError> {
        let inner = &slot.ty.inner[0];
        let all = extents.as_slice::<i64>().unwrap_or_default();
        // Most are vectors of any lengths, and a small program should not take as long to look at them as to run.
        let lengths = (inner[..] == [Extent::Unknown]).then(|| sum_of_lengths(all)).flatten();
        let mut total = lengths.unwrap_or(0);
        let each = if lengths.is_some() { &[] } else { all };
        for (position, extents) in each.chunks(inner.len().max(1)).enumerate() {
            self.extents(slot, slot.ty.rank(), inner, extents.iter().copied())?;
            let size = extents.iter().try_fold(1i64, |size, &extent| size.checked_mul(extent).filter(|_| extent >= 0));
            match size.and_then(|size| total.checked_add(size)) {
                Some(sum) => total = sum,
                None => {
                    let why = match extents.iter().find(|&&extent| extent < 0) {
                        Some(extent) => format!("extent {extent} of array {position} is negative"),
                        None => format!("array {position} has too many elements: its extents are {extents:?}"),
                    };
                    return wrong_inside(slot, why);
                }
            }
        }
        if all.is_empty() {
            for extent in inner {
                if let Extent::Value(id) = extent
                    && self.known(*id).is_none()
                {
                    self.know(*id, 0, Known::NoRows(slot));
                }
            }
        }
        if total != values as i64 {
            return wrong_inside(slot, format!("there are {values} values, and the extents need {total}"));
        }
        Ok(())
    }
}

/// What is wrong with an array of arrays.
fn wrong_inside(slot: &Slot, why: String) -> Result<(), InputError> {
    Err(InputError::Nested { input: slot.name.clone(), expected: slot.spelled.clone(), why })
}

/// The sum of lengths, if none is negative and their largest times how many there are fits into an `i64`: then it is exact. Its loop has no branch.
fn sum_of_lengths(lengths: &[i64]) -> Option<i64> {
    let (bits, sum) = lengths.iter().fold((0, 0i64), |(bits, sum), &length| (bits | length, sum.wrapping_add(length)));
    // No length is greater than all of their bits together, and these are negative if one length is.
    let count = i64::try_from(lengths.len()).ok()?;
    (bits >= 0 && bits.checked_mul(count).is_some()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::sum_of_lengths;

    #[test]
    fn lengths_are_summed_where_the_sum_is_exact() {
        assert_eq!(sum_of_lengths(&[]), Some(0));
        assert_eq!(sum_of_lengths(&[3, 0, 5, 1]), Some(9));
        assert_eq!(sum_of_lengths(&[i64::MAX]), Some(i64::MAX));
        assert_eq!(sum_of_lengths(&[3, -1, 5]), None);
        assert_eq!(sum_of_lengths(&[i64::MIN]), None);
        assert_eq!(sum_of_lengths(&[i64::MAX, i64::MAX, 2]), None);
    }
}
