//! Elements: what arrays hold and scalar code computes with.

use fusebox_ir::{Array, ArrayError, Constant, ElementType};
use half::f16;

/// Names and types of the components of an element, in order of declaration.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    prefix: Vec<String>,
    list: Vec<(String, ElementType)>,
}

impl Fields {
    /// The components of an element type: of a scalar one without a name, of a record `re`, `im`, `inner.x`.
    pub fn of<T: Elt>() -> Vec<(String, ElementType)> {
        let mut fields = Self::default();
        T::fields(&mut fields);
        fields.list
    }

    /// Adds what `part` adds, under a name.
    pub fn part(&mut self, name: &str, part: impl FnOnce(&mut Self)) {
        self.prefix.push(name.to_owned());
        part(self);
        self.prefix.pop();
    }

    /// Adds a component.
    pub fn leaf(&mut self, ty: ElementType) {
        self.list.push((self.prefix.join("."), ty));
    }
}

/// A type of elements: scalars, tuples, [`Option`], [`Complex`](crate::Complex), and what derives it.
///
/// An array of `COUNT` components is as many arrays of one extent.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of an array",
    label = "no element type",
    note = "elements are bool, i8 to i64, u8 to u64, f16, f32, f64, tuples of them, Option, Complex, and types with `#[derive(Elt)]`",
    note = "sizes and indices are `i64`"
)]
pub trait Elt: Sized + Clone + 'static {
    /// The number of components.
    const COUNT: usize;

    /// Adds names and types of the components.
    fn fields(fields: &mut Fields);

    /// Adds the components of a value.
    fn put(&self, out: &mut Vec<Constant>);

    /// The value of the next components; `None` if they are of another type, or no value has them.
    fn take(from: &mut dyn Iterator<Item = Constant>) -> Option<Self>;

    /// Adds the columns of many values to `out`: for each component an array of these extents, whose product is the number of values.
    ///
    /// # Errors
    /// Where no memory holds them.
    #[doc(hidden)]
    fn store(values: &[Self], extents: &[usize], out: &mut Vec<Array>) -> Result<(), ArrayError> {
        store_each(values, extents, out)
    }

    /// The `count` values that these columns are, one for each component; `None` where some of them are no value.
    #[doc(hidden)]
    fn load(columns: &[Array], count: usize) -> Option<Vec<Self>> {
        load_each(columns, count)
    }

    /// The types of the components.
    fn types() -> Vec<ElementType> {
        Fields::of::<Self>().into_iter().map(|(_, ty)| ty).collect()
    }
}

/// Elements of one component: `bool` and numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no scalar",
    note = "scalars are bool, i8 to i64, u8 to u64, f16, f32, f64"
)]
pub trait ScalarElt: Elt + Copy + Into<Constant> {
    /// The element type.
    const TYPE: ElementType;
}

macro_rules! scalar_elements {
    ($($rust:ty => $ty:ident, |$c:ident| $get:expr, $store:ident $load:ident;)*) => {$(
        impl Elt for $rust {
            const COUNT: usize = 1;
            fn fields(fields: &mut Fields) {
                fields.leaf(ElementType::$ty);
            }
            fn put(&self, out: &mut Vec<Constant>) {
                out.push((*self).into());
            }
            fn take(from: &mut dyn Iterator<Item = Constant>) -> Option<Self> {
                let $c = from.next().filter(|c| c.ty() == ElementType::$ty)?;
                $get
            }
            fn store(values: &[Self], extents: &[usize], out: &mut Vec<Array>) -> Result<(), ArrayError> {
                out.push(Array::$store(extents, values)?);
                Ok(())
            }
            fn load(columns: &[Array], _: usize) -> Option<Vec<Self>> {
                columns.first()?.$load()
            }
        }
        impl ScalarElt for $rust {
            const TYPE: ElementType = ElementType::$ty;
        }
    )*};
}
scalar_elements! {
    bool => Bool, |c| c.as_bool(), from_bools to_bools;
    i8 => I8, |c| Some(c.bits() as i8), new to_vec;
    i16 => I16, |c| Some(c.bits() as i16), new to_vec;
    i32 => I32, |c| Some(c.bits() as i32), new to_vec;
    i64 => I64, |c| Some(c.bits() as i64), new to_vec;
    u8 => U8, |c| Some(c.bits() as u8), new to_vec;
    u16 => U16, |c| Some(c.bits() as u16), new to_vec;
    u32 => U32, |c| Some(c.bits() as u32), new to_vec;
    u64 => U64, |c| Some(c.bits()), new to_vec;
    f16 => F16, |c| Some(f16::from_bits(c.bits() as u16)), new to_vec;
    f32 => F32, |c| Some(f32::from_bits(c.bits() as u32)), new to_vec;
    f64 => F64, |c| Some(f64::from_bits(c.bits())), new to_vec;
}

/// A `bool` called `some`, then the value, called `value`; of `None` the value is zero.
impl<T: Elt> Elt for Option<T> {
    const COUNT: usize = 1 + T::COUNT;
    fn fields(fields: &mut Fields) {
        fields.part("some", bool::fields);
        fields.part("value", T::fields);
    }
    fn put(&self, out: &mut Vec<Constant>) {
        out.push(self.is_some().into());
        match self {
            Some(value) => value.put(out),
            None => out.extend(T::types().into_iter().map(Constant::zero)),
        }
    }
    fn take(from: &mut dyn Iterator<Item = Constant>) -> Option<Self> {
        if bool::take(from)? {
            return T::take(from).map(Some);
        }
        for _ in 0..T::COUNT {
            from.next()?;
        }
        Some(None)
    }
}

/// Adds columns, value by value.
fn store_each<T: Elt>(values: &[T], extents: &[usize], out: &mut Vec<Array>) -> Result<(), ArrayError> {
    let mut columns = T::types().into_iter().map(|ty| Array::zeros(ty, extents)).collect::<Result<Vec<Array>, _>>()?;
    let mut row = Vec::with_capacity(T::COUNT);
    let mut bytes: Vec<_> = columns.iter_mut().map(|column| (column.element().bytes(), column.bytes_mut())).collect();
    for (position, value) in values.iter().enumerate() {
        row.clear();
        value.put(&mut row);
        for ((width, bytes), constant) in bytes.iter_mut().zip(&row) {
            bytes[position * *width..][..*width].copy_from_slice(&constant.bits().to_le_bytes()[..*width]);
        }
    }
    out.append(&mut columns);
    Ok(())
}

/// The values of columns, one by one.
fn load_each<T: Elt>(columns: &[Array], count: usize) -> Option<Vec<T>> {
    (0..count).map(|position| T::take(&mut columns.iter().map(|column| column.get(position)))).collect()
}
