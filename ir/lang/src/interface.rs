//! What programs take and give: handles on one side, arrays of the host on the other, components with names between.

use fusebox_ir::{ElementType, Type, Value, term::TermId};

use crate::{
    acc::Acc,
    arena::At,
    array::{Array, ArrayError},
    elt::{Elt, Fields},
    exp::Exp,
    shape::Shape,
};

/// What a program takes and gives: handles of arrays and scalars, and tuples of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an array nor a scalar of a program",
    note = "programs take and give `Acc<...>`, `Exp<...>`, and tuples of them"
)]
pub trait Arrays: Copy + 'static {
    /// What the host holds: `Array<Sh, T>` of `Acc<Array<Sh, T>>`, `T` of `Exp<T>`, tuples of tuples.
    type Host;

    /// Components, with their names behind that of the whole.
    #[doc(hidden)]
    fn layout(prefix: &str, out: &mut Vec<Component>);

    /// Handles of new terms: one run of extents and arrays for each array. `make` gives a term for a type.
    #[doc(hidden)]
    fn make(maker: &mut Maker<'_>) -> Self;

    /// The terms, as runs of extents and arrays.
    #[doc(hidden)]
    fn take(self, at: Place, out: &mut Vec<Taken>);

    /// The arrays of a value of the host, in the order of components.
    #[doc(hidden)]
    fn unpack(host: &Self::Host, out: &mut Vec<Value>);

    /// The value of the host that has these arrays.
    #[doc(hidden)]
    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError>;
}

/// Where something was built.
#[doc(hidden)]
pub type Place = At;

/// A component of an input or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name: that of the whole, then the fields, joined by `.`.
    pub name: String,
    /// Its element type.
    pub element: ElementType,
    /// The number of dimensions.
    pub rank: usize,
    /// The number of dimensions of the arrays inside; 0 where there are none.
    pub inner: usize,
}

/// Makes terms for handles. The implementation decides how a type is represented.
#[doc(hidden)]
pub struct Maker<'a> {
    /// Extents of the next array: given its rank, and whether they are those of arrays inside of one.
    pub(crate) extents: &'a mut dyn FnMut(usize, bool) -> Vec<TermId>,
    /// The term of the next component: given its type.
    pub(crate) array: &'a mut dyn FnMut(Type) -> TermId,
}

/// The terms of one array or scalar.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Taken {
    pub(crate) extents: Vec<TermId>,
    pub(crate) arrays: Vec<TermId>,
    pub(crate) elements: Vec<ElementType>,
    /// The extents of the arrays inside, where it is an array of arrays.
    pub(crate) inner: Vec<TermId>,
    /// Whether it is a stream, which is read once and by `consume` alone.
    pub(crate) stream: bool,
}

/// The next `count` values that are arrays.
fn columns(values: &mut dyn Iterator<Item = Value>, count: usize) -> Vec<fusebox_ir::Array> {
    let array = |value| match value {
        Value::Array(array) => Some(array),
        Value::Nested(_) | Value::Stream(_) => None,
    };
    values.take(count).filter_map(array).collect()
}

pub(crate) fn joined(prefix: &str, field: &str) -> String {
    match (prefix.is_empty(), field.is_empty()) {
        (_, true) => prefix.to_owned(),
        (true, _) => field.to_owned(),
        _ => format!("{prefix}.{field}"),
    }
}

fn components<T: Elt>(prefix: &str, rank: usize, out: &mut Vec<Component>) {
    let fields = Fields::of::<T>();
    out.extend(fields.into_iter().map(|(field, element)| Component {
        name: joined(prefix, &field),
        element,
        rank,
        inner: 0,
    }));
}

impl<Sh: Shape, T: Elt> Arrays for Acc<Array<Sh, T>> {
    type Host = Array<Sh, T>;

    fn layout(prefix: &str, out: &mut Vec<Component>) {
        components::<T>(prefix, Sh::RANK, out);
    }

    fn make(maker: &mut Maker<'_>) -> Self {
        let extents = (maker.extents)(Sh::RANK, false);
        let types = crate::acc::types_of::<T>(&extents);
        let arrays: Vec<TermId> = types.into_iter().map(|ty| (maker.array)(ty)).collect();
        Self::new(&extents, &arrays)
    }

    fn take(self, at: Place, out: &mut Vec<Taken>) {
        let parts = self.parts(at);
        out.push(Taken {
            extents: parts.extents,
            arrays: parts.arrays,
            elements: T::types(),
            inner: Vec::new(),
            stream: false,
        });
    }

    fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
        out.extend(host.columns().iter().cloned().map(Value::Array));
    }

    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
        Array::from_columns(columns(arrays, T::COUNT))
    }
}

impl<T: Elt> Arrays for Exp<T> {
    type Host = T;

    fn layout(prefix: &str, out: &mut Vec<Component>) {
        components::<T>(prefix, 0, out);
    }

    fn make(maker: &mut Maker<'_>) -> Self {
        let terms: Vec<TermId> = T::types().into_iter().map(|ty| (maker.array)(Type::scalar(ty))).collect();
        Self::from_terms(&terms)
    }

    fn take(self, at: Place, out: &mut Vec<Taken>) {
        out.push(Taken {
            extents: Vec::new(),
            arrays: self.terms(at),
            elements: T::types(),
            inner: Vec::new(),
            stream: false,
        });
    }

    fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
        out.extend(crate::Scalar::of(host).into_columns().into_iter().map(Value::Array));
    }

    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
        let columns = columns(arrays, T::COUNT);
        let given = columns.iter().map(fusebox_ir::Array::element).collect();
        let extents = columns.iter().map(|c| c.extents().to_vec()).collect();
        let scalar = crate::Scalar::<T>::from_columns(columns)?;
        scalar.value().ok_or(ArrayError::Columns { given, extents, rank: 0, wanted: T::types() })
    }
}

/// The inputs of a program: a tuple of arrays and scalars.
pub trait Parameters: Arrays {
    /// How many.
    const COUNT: usize;

    /// What each is, under these names.
    #[doc(hidden)]
    fn describe(names: &[String]) -> Vec<Item>;
}

/// The results of a program: an array, a scalar, or a tuple of them, which is several results.
#[diagnostic::on_unimplemented(
    message = "a program cannot give `{Self}`",
    note = "programs give `Acc<...>`, `Exp<...>`, and tuples of them; `lift` makes an `Exp` of a tuple of scalars"
)]
pub trait Results: Arrays {
    /// How many.
    const COUNT: usize;

    /// What each is, under these names.
    #[doc(hidden)]
    fn describe(names: &[String]) -> Vec<Item>;
}

/// A Rust function on handles whose parameters are `P`, a tuple.
#[diagnostic::on_unimplemented(
    message = "this is no function from the inputs of a program to its results",
    note = "write the types of the parameters, `Acc<...>` of arrays and `Exp<...>` of scalars: `|xs: Acc<Vector<f32>>, a: Exp<f32>| ...`; up to eight",
    note = "what it gives is a handle too, or a tuple of handles: `lift` makes an `Exp` of literals and tuples of scalars"
)]
pub trait Function<P: Parameters> {
    /// What it gives.
    type Output: Results;

    /// Calls it.
    #[doc(hidden)]
    fn call(self, parameters: P) -> Self::Output;
}

/// An input or a result: its name, and the arrays and scalars that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The name.
    pub name: String,
    /// One for each component, in order.
    pub components: Vec<Component>,
}

impl Item {
    pub(crate) fn of<A: Arrays>(name: &str) -> Self {
        let mut components = Vec::new();
        A::layout(name, &mut components);
        Self { name: name.to_owned(), components }
    }
}

impl<Sh: Shape, T: Elt> Results for Acc<Array<Sh, T>> {
    const COUNT: usize = 1;
    fn describe(names: &[String]) -> Vec<Item> {
        names.iter().map(|name| Item::of::<Self>(name)).collect()
    }
}

impl<T: Elt> Results for Exp<T> {
    const COUNT: usize = 1;
    fn describe(names: &[String]) -> Vec<Item> {
        names.iter().map(|name| Item::of::<Self>(name)).collect()
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt $name:literal $x:ident),*))*) => {$(
        #[allow(unused_variables)]
        impl<$($t: Arrays),*> Arrays for ($($t,)*) {
            type Host = ($($t::Host,)*);
            fn layout(prefix: &str, out: &mut Vec<Component>) {
                $($t::layout(&joined(prefix, $name), out);)*
            }
            #[allow(clippy::unused_unit)]
            fn make(maker: &mut Maker<'_>) -> Self {
                ($($t::make(maker),)*)
            }
            fn take(self, at: Place, out: &mut Vec<Taken>) {
                $(self.$i.take(at, out);)*
            }
            fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
                $($t::unpack(&host.$i, out);)*
            }
            fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
                Ok(($($t::pack(arrays)?,)*))
            }
        }
        #[allow(unused_mut, unused_variables)]
        impl<$($t: Arrays),*> Parameters for ($($t,)*) {
            const COUNT: usize = 0 $(+ { let _ = $i; 1 })*;
            fn describe(names: &[String]) -> Vec<Item> {
                let mut names = names.iter();
                let items: Vec<Option<Item>> = vec![$(names.next().map(|name| Item::of::<$t>(name))),*];
                items.into_iter().flatten().collect()
            }
        }
        impl<$($t: Arrays),*> Results for ($($t,)*) {
            const COUNT: usize = <Self as Parameters>::COUNT;
            fn describe(names: &[String]) -> Vec<Item> {
                <Self as Parameters>::describe(names)
            }
        }
        impl<Fun: FnOnce($($t),*) -> R, R: Results, $($t: Arrays),*> Function<($($t,)*)> for Fun {
            type Output = R;
            fn call(self, ($($x,)*): ($($t,)*)) -> R {
                self($($x),*)
            }
        }
    )*};
}

tuples! {
    ()
    (A 0 "_0" a)
    (A 0 "_0" a, B 1 "_1" b)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e, F 5 "_5" f)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e, F 5 "_5" f, G 6 "_6" g)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e, F 5 "_5" f, G 6 "_6" g, H 7 "_7" h)
}

/// What a program takes and gives, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// One for each parameter of the Rust function.
    pub inputs: Vec<Item>,
    /// One for each result.
    pub results: Vec<Item>,
}
