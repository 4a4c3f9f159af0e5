//! Arrays that stay on a device between runs.

use std::{any::Any, fmt, sync::Arc};

use fusebox_ir::{Array, ElementType};

use crate::{BackendError, inputs::Input};

/// An array that stays where programs run: it is copied to the host only when it is asked for. A clone is the same array.
///
/// Its elements never change: a run that would write over it writes elsewhere.
#[derive(Clone)]
pub struct DeviceArray(Place);

#[derive(Clone)]
enum Place {
    /// In the memory of the host.
    Host(Array),
    /// On a device.
    Device(Arc<dyn OnDevice>),
}

/// An array in the memory of a device.
pub trait OnDevice: Any + Send + Sync {
    /// The element type.
    fn element(&self) -> ElementType;

    /// The extents, from the outermost dimension.
    fn extents(&self) -> &[usize];

    /// Its values: copied the first time.
    ///
    /// # Errors
    /// What the device says; if there is no memory for them.
    fn to_host(&self) -> Result<Array, BackendError>;
}

impl DeviceArray {
    /// An array of the host, where programs run in its memory.
    pub fn of_host(array: Array) -> Self {
        Self(Place::Host(array))
    }

    /// An array of a device.
    pub fn of_device(array: Arc<dyn OnDevice>) -> Self {
        Self(Place::Device(array))
    }

    /// The element type.
    pub fn element(&self) -> ElementType {
        match &self.0 {
            Place::Host(array) => array.element(),
            Place::Device(array) => array.element(),
        }
    }

    /// The extents, from the outermost dimension.
    pub fn extents(&self) -> &[usize] {
        match &self.0 {
            Place::Host(array) => array.extents(),
            Place::Device(array) => array.extents(),
        }
    }

    /// Its values on the host: copied from a device the first time, shared where they are in the host's memory.
    ///
    /// # Errors
    /// What the device says; if there is no memory for them.
    pub fn to_host(&self) -> Result<Array, BackendError> {
        match &self.0 {
            Place::Host(array) => Ok(array.clone()),
            Place::Device(array) => array.to_host(),
        }
    }

    /// The array as a device of this kind has it; none of another kind.
    pub fn on<T: OnDevice>(&self) -> Option<&T> {
        match &self.0 {
            Place::Host(_) => None,
            Place::Device(array) => (&**array as &dyn Any).downcast_ref(),
        }
    }
}

impl Input for DeviceArray {
    fn element(&self) -> ElementType {
        Self::element(self)
    }

    fn extents(&self) -> &[usize] {
        Self::extents(self)
    }

    fn number(&self) -> Result<Option<i64>, BackendError> {
        if self.element() == ElementType::I64 && self.extents().iter().product::<usize>() == 1 {
            return self.to_host()?.number();
        }
        Ok(None)
    }
}

impl fmt::Debug for DeviceArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceArray({:?}{})", self.extents(), self.element())
    }
}
