//! Shape descriptors: what is known of the extents of a value, such that equal descriptors are equal extents.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, Extent, Type,
    analysis::{Answer, Size, Sizes},
};

/// What is known of one extent.
///
/// Numbers are in elements. The index of a nest is one number for all nests of equal extents in the same place, so that what two of them
/// compute of it is compared as a function of the lane.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// One number.
    Size(Size),
    /// The number that each lane of the nest that made the array of arrays has computed.
    Lanes(Size),
    /// Extent `1` (counted over all levels, outermost first) of array of arrays `0`, of which no more is known.
    Of(ArrayId, usize),
}

/// The shapes of all values of a program.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    pub(super) sizes: Sizes,
    /// Descriptors of every value that is no scalar.
    pub(super) dims: HashMap<ArrayId, Vec<Dim>>,
    /// How many extents the levels of its type have.
    pub(super) levels: HashMap<ArrayId, Vec<usize>>,
}

impl Shapes {
    /// The descriptors of all extents of a value, outer levels first.
    pub fn dims(&self, id: ArrayId) -> &[Dim] {
        self.dims.get(&id).map_or(&[], Vec::as_slice)
    }

    /// The number that an `i64` of rank 0 is known to be.
    pub fn size(&self, id: ArrayId) -> Option<Size> {
        self.sizes.value(id)
    }

    /// Whether two values have the same extents at all levels, whatever the inputs. `false` where that is not known.
    ///
    /// Values of one lane are compared; values outside of nests are in the only lane there is.
    pub fn equal(&self, a: ArrayId, b: ArrayId) -> bool {
        let (x, y) = (self.dims(a), self.dims(b));
        self.levels.get(&a) == self.levels.get(&b)
            && x.len() == y.len()
            && x.iter().zip(y).all(|(x, y)| self.equal_dims(x, y))
    }

    /// Whether two extents are equal, whatever the inputs.
    pub fn equal_dims(&self, a: &Dim, b: &Dim) -> bool {
        match (a, b) {
            (Dim::Size(a), Dim::Size(b)) | (Dim::Lanes(a), Dim::Lanes(b)) => {
                self.sizes.equal_sizes(a, b) == Answer::Proved
            }
            (a, b) => a == b,
        }
    }

    /// In words, for reports and tests.
    pub fn show(&self, id: ArrayId, name: &dyn Fn(ArrayId) -> String) -> String {
        let dims: Vec<String> = self.dims(id).iter().map(|dim| self.show_dim(dim, name)).collect();
        format!("[{}]", dims.join(", "))
    }

    /// In words, for reports and tests.
    pub fn show_dim(&self, dim: &Dim, name: &dyn Fn(ArrayId) -> String) -> String {
        match dim {
            Dim::Size(size) => self.sizes.show(size, name),
            Dim::Lanes(size) => format!("by lane {}", self.sizes.show(size, name)),
            Dim::Of(id, dim) => format!("{}.{dim}", name(*id)),
        }
    }

    pub(super) fn extent(&self, id: ArrayId, position: usize, extent: Extent) -> Dim {
        self.sizes.extent(extent).map_or(Dim::Of(id, position), Dim::Size)
    }

    /// Notes the type of a value; extents that it does not say are labels of their own.
    pub(super) fn note(&mut self, id: ArrayId, ty: &Type) {
        let dims = ty.all_extents().enumerate().map(|(position, &extent)| self.extent(id, position, extent)).collect();
        self.dims.insert(id, dims);
        let levels = [ty.extents.len()].into_iter().chain(ty.inner.iter().map(Vec::len)).collect();
        self.levels.insert(id, levels);
    }
}
