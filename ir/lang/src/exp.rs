//! Handles of scalar computations.

use std::marker::PhantomData;

use fusebox_ir::{
    Constant,
    term::{FunctionTerm, Term, TermId},
};

use crate::{
    arena::{self, At, Run, here},
    elt::{Elt, Fields, ScalarElt},
};

/// A scalar computation of a value of type `T`: a handle, freely copied.
///
/// It stands for a term of the program being built. Using it several times computes it once: sharing is recovered.
pub struct Exp<T: Elt> {
    run: Run,
    of: PhantomData<fn() -> T>,
}

impl<T: Elt> Clone for Exp<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Elt> Copy for Exp<T> {}

impl<T: Elt> std::fmt::Debug for Exp<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Exp<{}>({:?})", std::any::type_name::<T>(), self.run)
    }
}

impl<T: Elt> Exp<T> {
    pub(crate) fn from_terms(terms: &[TermId]) -> Self {
        debug_assert_eq!(terms.len(), T::COUNT, "a handle has a term for each component");
        Self::from_run(arena::run(terms))
    }

    pub(crate) fn from_run(run: Run) -> Self {
        Self { run, of: PhantomData }
    }

    /// A term for each component. Where the handle is of another program: zeros, and the mistake is noted.
    pub(crate) fn terms(self, at: At) -> Vec<TermId> {
        arena::terms(self.run, T::COUNT, at).unwrap_or_else(|| zeros::<T>(at))
    }

    /// A value whose components are all zero: what stands for absent ones.
    #[track_caller]
    pub(crate) fn zero() -> Self {
        Self::from_terms(&zeros::<T>(here()))
    }

    /// The component at `offset`, of another type: how records are taken apart.
    #[doc(hidden)]
    pub fn component<U: Elt>(self, offset: usize) -> Exp<U> {
        Exp::from_run(self.run.skip(offset))
    }

    /// A value whose components are those of `parts`, one after the other: how records are made.
    #[doc(hidden)]
    #[track_caller]
    pub fn of_components(parts: &[Components]) -> Self {
        let terms: Vec<TermId> = parts.iter().flat_map(|part| part.0.iter().copied()).collect();
        Self::from_terms(&terms)
    }

    /// The components, for [`Self::of_components`].
    #[doc(hidden)]
    #[track_caller]
    pub fn components(self) -> Components {
        Components(self.terms(here()))
    }
}

fn zeros<T: Elt>(at: At) -> Vec<TermId> {
    T::types().into_iter().map(|ty| arena::constant(Constant::zero(ty), at)).collect()
}

impl<T: ScalarElt> Exp<T> {
    /// The term of a scalar.
    pub(crate) fn term(self, at: At) -> TermId {
        self.terms(at).first().copied().unwrap_or(TermId(0))
    }
}

/// The terms of a value's components.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Components(pub(crate) Vec<TermId>);

/// A value known when the program is built.
///
/// ```
/// # use fusebox_lang::*;
/// let built = build("shift", |x: Exp<f32>| x + constant(1.5f32)).unwrap();
/// assert_eq!(built.interface.results[0].name, "r");
/// ```
#[track_caller]
pub fn constant<T: Elt>(value: T) -> Exp<T> {
    constant_at(&value, here())
}

pub(crate) fn constant_at<T: Elt>(value: &T, at: At) -> Exp<T> {
    let mut constants = Vec::with_capacity(T::COUNT);
    value.put(&mut constants);
    let terms: Vec<TermId> = constants.into_iter().map(|c| arena::constant(c, at)).collect();
    Exp::from_terms(&terms)
}

/// What can stand where a scalar of type `T` is wanted: [`Exp<T>`], a literal, an array of rank 0, tuples of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a scalar computation of type `{T}`",
    label = "expected `Exp<{T}>`, or what stands for one",
    note = "literals stand for scalars of their own type; convert with `.cast::<{T}>()`"
)]
pub trait IntoExp<T: Elt> {
    /// The handle.
    fn into_exp(self) -> Exp<T>;
}

impl<T: Elt> IntoExp<T> for Exp<T> {
    fn into_exp(self) -> Exp<T> {
        self
    }
}

macro_rules! literals {
    ($($rust:ty)*) => {$(
        impl IntoExp<$rust> for $rust {
            #[track_caller]
            fn into_exp(self) -> Exp<$rust> {
                constant(self)
            }
        }
        impl From<$rust> for Exp<$rust> {
            #[track_caller]
            fn from(value: $rust) -> Self {
                constant(value)
            }
        }
    )*};
}
literals! { bool i8 i16 i32 i64 u8 u16 u32 u64 half::f16 f32 f64 }

macro_rules! tuples {
    ($(($($x:ident $t:ident $i:tt),*))*) => {$(
        impl<$($t: Elt,)* $($x: IntoExp<$t>),*> IntoExp<($($t,)*)> for ($($x,)*) {
            #[track_caller]
            fn into_exp(self) -> Exp<($($t,)*)> {
                Exp::of_components(&[$(self.$i.into_exp().components()),*])
            }
        }

        impl<$($t: Elt),*> Exp<($($t,)*)> {
            /// Takes a tuple apart.
            #[allow(unused_assignments, unused_mut)]
            pub fn parts(self) -> ($(Exp<$t>,)*) {
                let mut offset = 0;
                ($({
                    let part = self.component::<$t>(offset);
                    offset += $t::COUNT;
                    part
                },)*)
            }
        }
    )*};
}
tuples! {
    (X0 A 0)
    (X0 A 0, X1 B 1)
    (X0 A 0, X1 B 1, X2 C 2)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4, X5 F 5)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4, X5 F 5, X6 G 6)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4, X5 F 5, X6 G 6, X7 H 7)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4, X5 F 5, X6 G 6, X7 H 7, X8 I 8)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4, X5 F 5, X6 G 6, X7 H 7, X8 I 8, X9 J 9)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4, X5 F 5, X6 G 6, X7 H 7, X8 I 8, X9 J 9, X10 K 10)
    (X0 A 0, X1 B 1, X2 C 2, X3 D 3, X4 E 4, X5 F 5, X6 G 6, X7 H 7, X8 I 8, X9 J 9, X10 K 10, X11 L 11)
}

impl IntoExp<()> for () {
    fn into_exp(self) -> Exp<()> {
        Exp::from_terms(&[])
    }
}

impl<A: Elt, B: Elt> Exp<(A, B)> {
    /// The first of a pair.
    pub fn fst(self) -> Exp<A> {
        self.component(0)
    }

    /// The second of a pair.
    pub fn snd(self) -> Exp<B> {
        self.component(A::COUNT)
    }
}

/// A tuple, from what can stand for its parts.
///
/// ```
/// # use fusebox_lang::*;
/// let built = build("pair", |x: Exp<f32>| lift::<(f32, i64)>((x, 1))).unwrap();
/// assert_eq!(built.terms.outputs.len(), 2); // r._0, r._1
/// ```
#[track_caller]
pub fn lift<T: Elt>(value: impl IntoExp<T>) -> Exp<T> {
    value.into_exp()
}

/// New parameters of a function, one for each component, named after `name`.
pub(crate) fn parameters<T: Elt>(name: &str, at: At) -> (Exp<T>, Vec<TermId>) {
    let terms: Vec<TermId> = Fields::of::<T>()
        .into_iter()
        .map(|(field, ty)| arena::push(Term::Parameter { ty, name: component_name(name, &field) }, at))
        .collect();
    (Exp::from_terms(&terms), terms)
}

/// `x` of component `re`: `x_re`.
pub(crate) fn component_name(name: &str, field: &str) -> String {
    if field.is_empty() {
        name.to_owned()
    } else {
        format!("{name}_{}", field.trim_start_matches('_').replace('.', "_"))
    }
}

/// A function without parameters: a branch.
pub(crate) fn branch<T: Elt>(result: Exp<T>, at: At) -> FunctionTerm {
    FunctionTerm { params: Vec::new(), results: result.terms(at) }
}

/// A function of one element.
pub(crate) fn function1<A: Elt, B: Elt, R: IntoExp<B>>(
    name: &str,
    at: At,
    f: impl FnOnce(Exp<A>) -> R,
) -> FunctionTerm {
    let (x, params) = parameters::<A>(name, at);
    let results = f(x).into_exp().terms(at);
    FunctionTerm { params, results }
}

/// A function of two elements.
pub(crate) fn function2<A: Elt, B: Elt, C: Elt, R: IntoExp<C>>(
    names: [&str; 2],
    at: At,
    f: impl FnOnce(Exp<A>, Exp<B>) -> R,
) -> FunctionTerm {
    let (x, mut params) = parameters::<A>(names[0], at);
    let (y, more) = parameters::<B>(names[1], at);
    params.extend(more);
    let results = f(x, y).into_exp().terms(at);
    FunctionTerm { params, results }
}

/// A function whose parameters are made outside.
pub(crate) fn function<B: Elt>(params: Vec<TermId>, result: Exp<B>, at: At) -> FunctionTerm {
    FunctionTerm { params, results: result.terms(at) }
}
