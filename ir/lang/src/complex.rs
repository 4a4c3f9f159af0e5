//! Complex numbers: two components, `re` and `im`.

use fusebox_ir::{Array, ArrayError, Constant};

use crate::{
    columns,
    elt::{Elt, Fields},
    exp::{Exp, IntoExp, constant},
    number::{Float, Num, Real},
};

/// A complex number; an array of them is an array of real and one of imaginary parts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

impl<T: Elt> Elt for Complex<T> {
    const COUNT: usize = 2 * T::COUNT;
    fn fields(fields: &mut Fields) {
        fields.part("re", T::fields);
        fields.part("im", T::fields);
    }
    fn put(&self, out: &mut Vec<Constant>) {
        self.re.put(out);
        self.im.put(out);
    }
    fn take(from: &mut dyn Iterator<Item = Constant>) -> Option<Self> {
        Some(Self { re: T::take(from)?, im: T::take(from)? })
    }
    fn store(values: &[Self], extents: &[usize], out: &mut Vec<Array>) -> Result<(), ArrayError> {
        columns::store_part(values, |value| &value.re, extents, out)?;
        columns::store_part(values, |value| &value.im, extents, out)
    }
    fn load(mut columns: &[Array], count: usize) -> Option<Vec<Self>> {
        let (re, im) = (columns::load_part::<T>(&mut columns, count)?, columns::load_part::<T>(&mut columns, count)?);
        Some(re.zip(im).map(|(re, im)| Self { re, im }).collect())
    }
}

impl<T: Elt> IntoExp<Complex<T>> for Complex<T> {
    #[track_caller]
    fn into_exp(self) -> Exp<Complex<T>> {
        constant(self)
    }
}

/// A complex number of its parts.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run1(|x: Exp<f32>| complex(x, 1.0) * complex(0.0, 1.0), &3.0);
/// assert_eq!(r, Complex { re: -1.0, im: 3.0 });
/// ```
#[track_caller]
pub fn complex<T: Real>(re: impl IntoExp<T>, im: impl IntoExp<T>) -> Exp<Complex<T>> {
    Exp::of_components(&[re.into_exp().components(), im.into_exp().components()])
}

/// A complex number of magnitude and phase.
#[track_caller]
pub fn polar<T: Float>(magnitude: impl IntoExp<T>, phase: impl IntoExp<T>) -> Exp<Complex<T>> {
    let (magnitude, phase) = (magnitude.into_exp(), phase.into_exp());
    complex(magnitude * phase.cos(), magnitude * phase.sin())
}

/// The complex number of magnitude 1 and this phase.
#[track_caller]
pub fn cis<T: Float>(phase: impl IntoExp<T>) -> Exp<Complex<T>> {
    let phase = phase.into_exp();
    complex(phase.cos(), phase.sin())
}

impl<T: Real> Exp<Complex<T>> {
    /// The real part.
    pub fn re(self) -> Exp<T> {
        self.component(0)
    }

    /// The imaginary part.
    pub fn im(self) -> Exp<T> {
        self.component(T::COUNT)
    }

    /// The same real part, the imaginary part negated.
    #[track_caller]
    pub fn conjugate(self) -> Self {
        complex(self.re(), -self.im())
    }

    /// The square of the magnitude.
    #[track_caller]
    pub fn norm_sqr(self) -> Exp<T> {
        self.re() * self.re() + self.im() * self.im()
    }
}

impl<T: Float> Exp<Complex<T>> {
    /// The distance from 0, without overflow.
    #[track_caller]
    pub fn magnitude(self) -> Exp<T> {
        self.re().hypot(self.im())
    }

    /// The angle, in radians from -π to π.
    #[track_caller]
    pub fn phase(self) -> Exp<T> {
        self.im().atan2(self.re())
    }
}

impl<T: Real> Num for Complex<T> {
    fn number(value: i64) -> Self {
        Self { re: T::number(value), im: T::number(0) }
    }
    #[track_caller]
    fn add(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() + b.re(), a.im() + b.im())
    }
    #[track_caller]
    fn sub(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() - b.re(), a.im() - b.im())
    }
    #[track_caller]
    fn mul(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        complex(a.re() * b.re() - a.im() * b.im(), a.re() * b.im() + a.im() * b.re())
    }
    #[track_caller]
    fn div(a: Exp<Self>, b: Exp<Self>) -> Exp<Self> {
        let norm = b.norm_sqr();
        let product = Self::mul(a, b.conjugate());
        complex(product.re() / norm, product.im() / norm)
    }
    #[track_caller]
    fn neg(a: Exp<Self>) -> Exp<Self> {
        complex(-a.re(), -a.im())
    }
}
