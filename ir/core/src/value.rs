//! Arrays as the host holds them: inputs and results of runs.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{Constant, ElementType, Memory, memory::SharedMemory};

/// A dense array in row-major order, aligned to [`crate::ALIGNMENT`] bytes with as much readable slack behind.
///
/// Clones share the elements until one of them is written to: handing an array on costs nothing.
pub struct Array {
    element: ElementType,
    extents: SmallVec<[usize; 4]>,
    memory: SharedMemory,
}

/// Why an array of the wanted extents cannot be made.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// The product of extents times the bytes of an element overflows or is beyond any memory.
    #[error("an array of extents {extents:?} of {element} does not fit in memory")]
    TooLarge {
        /// The extents asked for.
        extents: Vec<usize>,
        /// The element type.
        element: ElementType,
    },
    /// As many elements as the extents say were not given.
    #[error("{given} elements given for an array of extents {extents:?}")]
    Count {
        /// The extents asked for.
        extents: Vec<usize>,
        /// The number of elements.
        given: usize,
    },
}

crate::debug_is_message!(enum ArrayError { TooLarge { extents, element }, Count { extents, given } });

/// A Rust type that is stored as an element type; `bool` is not (a byte of another value is none): see [`Array::from_bools`].
pub trait Scalar: bytemuck::Pod + Into<Constant> {
    /// The element type.
    const TYPE: ElementType;
}
macro_rules! scalars {
    ($($rust:ty => $ty:ident),*) => {$(impl Scalar for $rust { const TYPE: ElementType = ElementType::$ty; })*};
}
scalars!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, half::f16 => F16, f32 => F32, f64 => F64);

impl Clone for Array {
    fn clone(&self) -> Self {
        // A copy of the extents as a whole: each one for itself takes as long as all else in a clone.
        Self { element: self.element, extents: SmallVec::from_slice(&self.extents), memory: self.memory.clone() }
    }
}

impl Array {
    /// An array of zeros (`false`).
    ///
    /// # Errors
    /// [`ArrayError::TooLarge`].
    pub fn zeros(element: ElementType, extents: &[usize]) -> Result<Self, ArrayError> {
        let too_large = || ArrayError::TooLarge { extents: extents.to_vec(), element };
        let memory = bytes_of(element, extents).and_then(Memory::zeros).ok_or_else(too_large)?;
        Ok(Self { element, extents: SmallVec::from_slice(extents), memory: SharedMemory::new(Arc::new(memory)) })
    }

    /// An array of any contents in memory that is there; the memory back if it is too small.
    ///
    /// # Errors
    /// The memory as it was.
    pub fn in_memory(memory: Arc<Memory>, element: ElementType, extents: &[usize]) -> Result<Self, Arc<Memory>> {
        match bytes_of(element, extents).and_then(Memory::capacity_for) {
            Some(wanted) if wanted <= memory.capacity() => {
                Ok(Self { element, extents: SmallVec::from_slice(extents), memory: SharedMemory::new(memory) })
            }
            _ => Err(memory),
        }
    }

    /// An array of these elements, in row-major order.
    ///
    /// # Errors
    /// [`ArrayError`].
    pub fn new<T: Scalar>(extents: &[usize], elements: &[T]) -> Result<Self, ArrayError> {
        let mut array = Self::zeros(T::TYPE, extents)?;
        if array.len() != elements.len() {
            return Err(ArrayError::Count { extents: extents.to_vec(), given: elements.len() });
        }
        array.bytes_mut().copy_from_slice(bytemuck::cast_slice(elements));
        Ok(array)
    }

    /// An array of truth values, in row-major order.
    ///
    /// # Errors
    /// [`ArrayError`].
    pub fn from_bools(extents: &[usize], elements: &[bool]) -> Result<Self, ArrayError> {
        let mut array = Self::new(extents, bytemuck::cast_slice::<bool, u8>(elements))?;
        array.element = ElementType::Bool;
        Ok(array)
    }

    /// The elements in row-major order, copied, if they are of Rust type `T`.
    pub fn to_vec<T: Scalar>(&self) -> Option<Vec<T>> {
        self.as_slice().map(<[T]>::to_vec)
    }

    /// The truth values in row-major order, if they are that.
    pub fn to_bools(&self) -> Option<Vec<bool>> {
        (self.element == ElementType::Bool).then(|| self.bytes().iter().map(|&byte| byte != 0).collect())
    }

    /// An array of constants of type `element`, in row-major order.
    ///
    /// # Errors
    /// [`ArrayError`].
    ///
    /// # Panics
    /// If a constant is of another type.
    pub fn from_constants(element: ElementType, extents: &[usize], elements: &[Constant]) -> Result<Self, ArrayError> {
        let mut array = Self::zeros(element, extents)?;
        if array.len() != elements.len() {
            return Err(ArrayError::Count { extents: extents.to_vec(), given: elements.len() });
        }
        let width = element.bytes();
        for (to, &constant) in array.bytes_mut().chunks_exact_mut(width).zip(elements) {
            assert_eq!(constant.ty(), element, "an element of an array has its type");
            to.copy_from_slice(&constant.bits().to_le_bytes()[..width]);
        }
        Ok(array)
    }

    /// An array of rank 0.
    pub fn scalar(value: impl Into<Constant>) -> Self {
        let constant: Constant = value.into();
        let Some(mut memory) = Memory::zeros(8) else {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<u64>())
        };
        memory.bytes_mut()[..8].copy_from_slice(&constant.bits().to_le_bytes());
        Self { element: constant.ty(), extents: SmallVec::new(), memory: SharedMemory::new(Arc::new(memory)) }
    }

    /// The element type.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// The extents, from the outermost dimension.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same elements in other extents.
    ///
    /// # Errors
    /// [`ArrayError::Count`] if the numbers of elements differ.
    pub fn reshaped(mut self, extents: &[usize]) -> Result<Self, ArrayError> {
        let size = extents.iter().try_fold(1usize, |size, &extent| size.checked_mul(extent));
        if size != Some(self.len()) {
            return Err(ArrayError::Count { extents: extents.to_vec(), given: self.len() });
        }
        self.extents = SmallVec::from_slice(extents);
        Ok(self)
    }

    /// The same memory as another array, of any contents, if it is large enough (and not several times too large), and nobody else
    /// has it; else itself back.
    ///
    /// # Errors
    /// The array as it was.
    pub fn recycled(mut self, element: ElementType, extents: &[usize]) -> Result<Self, Self> {
        match bytes_of(element, extents).and_then(Memory::capacity_for) {
            Some(wanted) if wanted <= self.capacity() && self.capacity() / 4 <= wanted && !self.is_shared() => {
                self.element = element;
                self.extents = SmallVec::from_slice(extents);
                Ok(self)
            }
            _ => Err(self),
        }
    }

    /// Bytes of memory held, slack included.
    pub fn capacity(&self) -> usize {
        self.memory.get().capacity()
    }

    /// Whether another array has the same memory: then writing to this one copies its elements.
    pub fn is_shared(&self) -> bool {
        self.memory.is_shared()
    }

    /// Whether both are in the same memory.
    pub fn shares_memory_with(&self, other: &Self) -> bool {
        self.memory.is(&other.memory)
    }

    /// Keeps the first `count` indices of the outermost dimension, without copying; at rank 0 nothing happens.
    pub fn truncate(&mut self, count: usize) {
        if let Some(outer) = self.extents.first_mut() {
            *outer = count.min(*outer);
        }
    }

    /// The elements in row-major order, if they are of Rust type `T`.
    pub fn as_slice<T: Scalar>(&self) -> Option<&[T]> {
        (T::TYPE == self.element).then(|| bytemuck::cast_slice(self.bytes()))
    }

    /// The elements in row-major order, to change.
    pub fn as_mut_slice<T: Scalar>(&mut self) -> Option<&mut [T]> {
        (T::TYPE == self.element).then(|| bytemuck::cast_slice_mut(self.bytes_mut()))
    }

    /// The bytes of the elements; a `bool` is a byte of 0 or 1.
    pub fn bytes(&self) -> &[u8] {
        let bytes = self.len() * self.element.bytes();
        &self.memory.get().bytes()[..bytes]
    }

    /// The bytes of the elements; whoever writes `bool` elements writes 0 or 1.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.len() * self.element.bytes();
        &mut self.memory.make_mut().bytes_mut()[..bytes]
    }

    /// The element at a row-major position.
    ///
    /// # Panics
    /// If `position` is not below [`Self::len`].
    pub fn get(&self, position: usize) -> Constant {
        let width = self.element.bytes();
        let mut bits = [0; 8];
        bits[..width].copy_from_slice(&self.bytes()[position * width..][..width]);
        Constant::from_bits(self.element, u64::from_le_bytes(bits))
    }

    /// Sets the element at a row-major position.
    ///
    /// # Panics
    /// If `position` is not below [`Self::len`], or the constant is of another type.
    pub fn set(&mut self, position: usize, value: Constant) {
        assert_eq!(value.ty(), self.element, "an element of an array has its type");
        let width = self.element.bytes();
        self.bytes_mut()[position * width..][..width].copy_from_slice(&value.bits().to_le_bytes()[..width]);
    }

    /// All elements, in row-major order.
    pub fn constants(&self) -> impl Iterator<Item = Constant> + '_ {
        (0..self.len()).map(|position| self.get(position))
    }
}

fn bytes_of(element: ElementType, extents: &[usize]) -> Option<usize> {
    extents.iter().try_fold(element.bytes(), |size, &extent| size.checked_mul(extent))
}

/// Equal types, extents and bits of elements.
impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        self.element == other.element && self.extents == other.extents && self.bytes() == other.bytes()
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}{} ", self.extents(), self.element)?;
        f.debug_list().entries(self.constants().take(64)).finish()
    }
}

/// A value at the interface of a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An array, or a scalar as an array of rank 0.
    Array(Array),
    /// An array of arrays of two levels.
    Nested(Nested),
    /// The elements of a stream, each of the same type.
    Stream(Vec<Array>),
}

/// An array of arrays of two levels, as the interface has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Nested {
    /// `i64`: the outer extents, then r where the inner rank r is above 1. For each outer index the extents of the inner array.
    pub extents: Array,
    /// All elements, in order.
    pub values: Array,
}

impl From<Array> for Value {
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}
