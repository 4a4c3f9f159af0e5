//! Values that stay where programs run.

use std::marker::PhantomData;

use fusebox_backend::{BackendError, DeviceArray, Input as _};
use fusebox_ir::{FlatKind, Value};
use fusebox_lang::{ArrayError, Arrays};
use smallvec::SmallVec;

use crate::{Backend, Error, backend::failed};

/// A value that stays where programs run: on a GPU in its memory, on the CPU in that of the host, where nothing is copied. A clone is the
/// same value, and no run changes it.
///
/// Streams and arrays of arrays stay too: the extents inside and the values are an array each.
///
/// Made by [`Program::to_device`](crate::Program::to_device) and by runs; any program takes it. Where the program runs on another device, it
/// goes through the host.
#[derive(Clone, Debug)]
pub struct DeviceValue {
    place: Place,
    backend: Backend,
}

/// Where the arrays of a value are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// On the host: whatever the interpreter runs, and streams whose elements do not say what they are, as there are none.
    Host(Value),
    /// As a program takes and gives it.
    Flat {
        /// Which arrays these are.
        kind: FlatKind,
        /// One or two.
        arrays: SmallVec<[DeviceArray; 2]>,
        /// Whether a program made it: then the extents inside are those of its values.
        made: bool,
    },
}

/// Whether a stream, by its arrays, has no element.
pub(crate) fn is_empty(stream: &[DeviceArray]) -> bool {
    stream.first().is_some_and(|first| first.extents().first() == Some(&0))
}

impl DeviceValue {
    pub(crate) fn new(backend: Backend, place: Place) -> Self {
        Self { place, backend }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The only element, if it is an `i64`.
    pub(crate) fn number(&self) -> Result<Option<i64>, Error> {
        let number = match &self.place {
            Place::Host(Value::Array(array)) => array.number(),
            Place::Flat { kind: FlatKind::Array, arrays, .. } => arrays.first().map_or(Ok(None), DeviceArray::number),
            Place::Host(_) | Place::Flat { .. } => Ok(None),
        };
        number.map_err(|error| self.failed(error))
    }

    /// What an error of the device is an error of.
    pub(crate) fn failed(&self, error: BackendError) -> Error {
        failed(self.backend, error)
    }

    /// The value on the host: copied from the device the first time.
    ///
    /// ```
    /// use fusebox::{Options, compile_program, ir};
    /// let program = ir::text::parse("fn twice(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x * 2.0, a) return b }")?;
    /// let twice = compile_program(&program, &Options::default())?;
    /// let mut values = twice.to_device(&[ir::Array::new(&[3], &[1.0f32, 2.0, 3.0])?.into()])?;
    /// for _ in 0..10 {
    ///     values = twice.run_on_device(&values)?; // nothing is copied to the host
    /// }
    /// assert_eq!(values[0].to_host()?, ir::Array::new(&[3], &[1024.0f32, 2048.0, 3072.0])?.into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Backend`]: what the device says, or that the host has no memory for it.
    pub fn to_host(&self) -> Result<Value, Error> {
        match &self.place {
            Place::Host(value) => Ok(value.clone()),
            Place::Flat { kind, arrays, .. } => {
                let host = |array: &DeviceArray| array.to_host().map_err(|error| self.failed(error));
                let mut arrays = arrays.iter().map(host).collect::<Result<SmallVec<[_; 2]>, _>>()?.into_iter();
                let value = kind.value(&mut arrays)?;
                Ok(value.unwrap_or_else(|| fusebox_ir::bug!("a value on a device", "no array is left for {kind:?}")))
            }
        }
    }
}

/// Arrays of an embedded program that stay where it runs, of the handles `A` that they are inputs or results for.
///
/// ```
/// use fusebox::prelude::*;
///
/// let step = fusebox::compile2(|xs: Acc<Vector<f32>>, a: Exp<f32>| xs.map(|x| a * x + 1.0))?;
/// let (mut xs, a) = step.to_device(&Vector::from_slice(&[1.0, 2.0, 3.0])?, &2.0)?;
/// for _ in 0..3 {
///     xs = step.run_on_device(&xs, &a)?; // on a GPU, `xs` does not leave it
/// }
/// assert_eq!(xs.to_host()?.to_vec(), [15.0, 23.0, 31.0]);
/// # Ok::<(), fusebox::Error>(())
/// ```
pub struct OnDevice<A: Arrays> {
    values: Vec<DeviceValue>,
    of: PhantomData<fn() -> A>,
}

impl<A: Arrays> Clone for OnDevice<A> {
    fn clone(&self) -> Self {
        Self::new(self.values.clone())
    }
}

impl<A: Arrays> std::fmt::Debug for OnDevice<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OnDevice").field(&self.values).finish()
    }
}

impl<A: Arrays> OnDevice<A> {
    pub(crate) fn new(values: Vec<DeviceValue>) -> Self {
        Self { values, of: PhantomData }
    }

    /// One for each component, in order.
    pub fn values(&self) -> &[DeviceValue] {
        &self.values
    }

    /// The arrays on the host: copied from the device the first time.
    ///
    /// # Errors
    /// As [`DeviceValue::to_host`].
    pub fn to_host(&self) -> Result<A::Host, Error> {
        let values = self.values.iter().map(DeviceValue::to_host).collect::<Result<Vec<Value>, _>>()?;
        packed::<A>(values).map_err(Error::Results)
    }
}

/// The host's arrays that these values are.
pub(crate) fn packed<A: Arrays>(values: Vec<Value>) -> Result<A::Host, ArrayError> {
    A::pack(&mut values.into_iter())
}

/// How many values the arrays of a handle are.
pub(crate) fn count<A: Arrays>() -> usize {
    let mut components = Vec::new();
    A::layout("", &mut components);
    components.len()
}

macro_rules! tuples {
    ($(($($t:ident $x:ident),*))*) => {$(
        impl<$($t: Arrays),*> OnDevice<($($t,)*)> {
            /// The parts, each to be an input of its own.
            pub fn into_parts(self) -> ($(OnDevice<$t>,)*) {
                let mut values = self.values.into_iter();
                $(let $x = OnDevice::<$t>::new(values.by_ref().take(count::<$t>()).collect());)*
                ($($x,)*)
            }
        }
    )*};
}

tuples! {
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
    (A a, B b, C c, D d, E e)
    (A a, B b, C c, D d, E e, F f)
    (A a, B b, C c, D d, E e, F f, G g)
    (A a, B b, C c, D d, E e, F f, G g, H h)
}
