//! Element by element: generate, map, zip_with, backpermute, transform; zip and unzip.

use fusebox_ir::{
    ArrayOp, ElementType, Lambda, Type,
    term::{FunctionTerm, Term, TermId},
};

use crate::{
    acc::{Acc, Parts, types_of},
    arena::{self, At, here},
    array::Array,
    elt::Elt,
    exp::{Exp, IntoExp, function, function1, parameters},
    shape::{AsIndex, Shape, extent_terms, index_terms},
};

/// Parameters for an index: `i`, `j`, …
pub(crate) fn index_parameters<Sh: Shape>(at: At) -> (Sh::Index, Vec<TermId>) {
    let names = ["i", "j", "k", "l", "m", "n", "o", "p"];
    let terms: Vec<TermId> = names
        .iter()
        .take(Sh::RANK)
        .map(|&name| arena::push(Term::Parameter { ty: ElementType::I64, name: name.to_owned() }, at))
        .collect();
    let parts: Vec<Exp<i64>> = terms.iter().map(|&term| Exp::from_terms(&[term])).collect();
    (Sh::index(&parts), terms)
}

/// A map over `extents`; the terms of its results.
pub(crate) fn map_terms(
    f: FunctionTerm,
    sources: Vec<fusebox_ir::ArrayId>,
    extents: &[TermId],
    types: Vec<ElementType>,
    at: At,
) -> Vec<TermId> {
    let extents = arena::extents(extents);
    let types = types.into_iter().map(|element| Type::array(extents.clone(), element)).collect();
    let op = ArrayOp::Map { f: Lambda::default(), sources };
    arena::array_op(op, vec![f], Vec::new(), |_| types, at)
}

/// The arrays, cut to `extents`, which are theirs or smaller.
pub(crate) fn cut<T: Elt>(parts: Parts, extents: &[TermId], at: At) -> Parts {
    if parts.extents == extents || T::COUNT == 0 {
        return parts;
    }
    let (x, params) = parameters::<T>("x", at);
    let arrays = map_terms(function(params, x, at), parts.sources(), extents, T::types(), at);
    Parts { extents: extents.to_vec(), arrays }
}

/// The array whose element at each index is `f` of the index.
///
/// Shape: `extents`, a number or a tuple of numbers; `()` makes a scalar.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let r = example::run(|| generate((2, 3), |(i, j)| 10 * i + j));
/// assert_eq!(r.to_vec(), [0, 1, 2, 10, 11, 12]);
/// ```
#[track_caller]
pub fn generate<I: AsIndex, B: Elt, R: IntoExp<B>>(
    extents: I,
    f: impl FnOnce(<I::Shape as Shape>::Index) -> R,
) -> Acc<Array<I::Shape, B>> {
    let at = here();
    let extents = extent_terms(extents, at);
    let (index, params) = index_parameters::<I::Shape>(at);
    let f = function::<B>(params, f(index).into_exp(), at);
    let op = ArrayOp::Generate { extents: arena::operands(&extents), f: Lambda::default() };
    let types = types_of::<B>(&extents);
    Acc::new(&extents, &arena::array_op(op, vec![f], Vec::new(), |_| types, at))
}

/// `f` of each element.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1.0f32, 2.0]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<f32>>| map(|x| x * 2.0, xs), &xs).to_vec(), [2.0, 4.0]);
/// ```
#[track_caller]
pub fn map<Sh: Shape, A: Elt, B: Elt, R: IntoExp<B>>(
    f: impl FnOnce(Exp<A>) -> R,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<Sh, B>> {
    let at = here();
    let xs = xs.parts(at);
    let f = function1::<A, B, R>("x", at, f);
    Acc::new(&xs.extents, &map_terms(f, xs.sources(), &xs.extents, B::types(), at))
}

/// `f` of the index and each element.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[5i64, 6, 7]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<i64>>| imap(|i, x| i * x, xs), &xs).to_vec(), [0, 6, 14]);
/// ```
#[track_caller]
pub fn imap<Sh: Shape, A: Elt, B: Elt, R: IntoExp<B>>(
    f: impl FnOnce(Sh::Index, Exp<A>) -> R,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<Sh, B>> {
    let at = here();
    generate_terms::<Sh, B>(&xs.parts(at).extents, at, |index| f(index, xs.at(index)).into_exp())
}

/// A generate over extents that are terms.
pub(crate) fn generate_terms<Sh: Shape, B: Elt>(
    extents: &[TermId],
    at: At,
    f: impl FnOnce(Sh::Index) -> Exp<B>,
) -> Acc<Array<Sh, B>> {
    let (index, params) = index_parameters::<Sh>(at);
    let f = function::<B>(params, f(index), at);
    let op = ArrayOp::Generate { extents: arena::operands(extents), f: Lambda::default() };
    let types = types_of::<B>(extents);
    Acc::new(extents, &arena::array_op(op, vec![f], Vec::new(), |_| types, at))
}

/// Each element with its index before it.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[5.0f32, 6.0]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<f32>>| indexed(xs), &xs).to_vec(), [(0, 5.0), (1, 6.0)]);
/// ```
#[track_caller]
pub fn indexed<Sh: Shape, A: Elt>(xs: Acc<Array<Sh, A>>) -> Acc<Array<Sh, (Sh::Element, A)>> {
    let at = here();
    let parts = xs.parts(at);
    let indices = generate_terms::<Sh, Sh::Element>(&parts.extents, at, |index| index.into_exp());
    let arrays: Vec<TermId> = indices.parts(at).arrays.into_iter().chain(parts.arrays).collect();
    Acc::new(&parts.extents, &arrays)
}

macro_rules! zip_withs {
    ($($name:ident $iname:ident $zip:ident $unzip:ident: $first:literal $($x:ident $t:ident $hint:literal),*;)*) => {$(
        zip_withs!(@one $name $first $($x $t $hint),*);
        zip_withs!(@indexed $iname $($x $t),*);
        zip_withs!(@zip $zip $unzip $($x $t),*);
    )*};
    (@one $name:ident $first:literal $($x:ident $t:ident $hint:literal),*) => {
        #[doc = $first]
        ///
        /// Where extents are unequal it keeps to the lesser ones, and leaves out what is beyond. Shape: per dimension the smallest of
        /// theirs. Operators (`x + y`) want equal extents.
        ///
        /// ```
        /// # use fusebox_lang::*; example!();
        /// let xs = Vector::from_slice(&[1i64, 2, 3]).unwrap();
        #[doc = concat!("let r = example::run1(|xs: Acc<Vector<i64>>| ", stringify!($name), "(|", $($hint, ", ",)* "| ", $($hint, " + ",)* "0", $(", ", zip_withs!(@xs $x),)* "), &xs);")]
        #[doc = concat!("assert_eq!(r.to_vec()[2], 3 * ", zip_withs!(@count $($x)*), ");")]
        /// ```
        #[track_caller]
        #[allow(clippy::too_many_arguments)]
        pub fn $name<Sh: Shape, $($t: Elt,)* Z: Elt, R: IntoExp<Z>>(
            f: impl FnOnce($(Exp<$t>),*) -> R,
            $($x: Acc<Array<Sh, $t>>),*
        ) -> Acc<Array<Sh, Z>> {
            let at = here();
            $(let $x = $x.parts(at);)*
            let extents = [$(&$x.extents),*].into_iter().cloned().reduce(|a, b| arena::meet(&a, &b, at)).unwrap_or_default();
            let sources: Vec<_> = [$($x.sources()),*].concat();
            let mut params = Vec::new();
            $(let $x = {
                let (x, more) = parameters::<$t>($hint, at);
                params.extend(more);
                x
            };)*
            let f = function::<Z>(params, f($($x),*).into_exp(), at);
            Acc::new(&extents, &map_terms(f, sources, &extents, Z::types(), at))
        }
    };
    (@indexed $name:ident $($x:ident $t:ident),*) => {
        /// `f` of the index and of the elements there. Shape: per dimension the smallest of theirs.
        #[track_caller]
        #[allow(clippy::too_many_arguments)]
        pub fn $name<Sh: Shape, $($t: Elt,)* Z: Elt, R: IntoExp<Z>>(
            f: impl FnOnce(Sh::Index, $(Exp<$t>),*) -> R,
            $($x: Acc<Array<Sh, $t>>),*
        ) -> Acc<Array<Sh, Z>> {
            let at = here();
            let extents = [$($x.parts(at).extents),*].into_iter().reduce(|a, b| arena::meet(&a, &b, at)).unwrap_or_default();
            generate_terms::<Sh, Z>(&extents, at, |index| f(index, $($x.at(index)),*).into_exp())
        }
    };
    (@zip $name:ident $unzip:ident $($x:ident $t:ident),*) => {
        /// Arrays side by side as one array of tuples: nothing is computed where extents are equal. Shape: per dimension the
        /// smallest of theirs.
        #[track_caller]
        #[allow(clippy::too_many_arguments)]
        pub fn $name<Sh: Shape, $($t: Elt),*>($($x: Acc<Array<Sh, $t>>),*) -> Acc<Array<Sh, ($($t),*)>> {
            let at = here();
            $(let $x = $x.parts(at);)*
            let extents = [$(&$x.extents),*].into_iter().cloned().reduce(|a, b| arena::meet(&a, &b, at)).unwrap_or_default();
            let arrays: Vec<TermId> = [$(cut::<$t>($x, &extents, at).arrays),*].concat();
            Acc::new(&extents, &arrays)
        }

        /// An array of tuples as its parts: nothing is computed.
        #[track_caller]
        #[allow(unused_assignments)]
        pub fn $unzip<Sh: Shape, $($t: Elt),*>(xs: Acc<Array<Sh, ($($t),*)>>) -> ($(Acc<Array<Sh, $t>>),*) {
            let parts = xs.parts(here());
            let mut offset = 0;
            ($({
                let part = Acc::new(&parts.extents, &parts.arrays[offset..offset + $t::COUNT]);
                offset += $t::COUNT;
                part
            }),*)
        }
    };
    (@xs $x:ident) => { "xs" };
    (@count $a:ident $b:ident) => { "2" };
    (@count $a:ident $b:ident $c:ident) => { "3" };
    (@count $a:ident $b:ident $c:ident $d:ident) => { "4" };
    (@count $a:ident $b:ident $c:ident $d:ident $e:ident) => { "5" };
    (@count $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident) => { "6" };
    (@count $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident) => { "7" };
    (@count $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => { "8" };
    (@count $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident $i:ident) => { "9" };
}
zip_withs! {
    zip_with izip_with zip unzip: "`f` of the elements of two arrays at each index, as far as the shortest reaches." xs A "x", ys B "y";
    zip_with3 izip_with3 zip3 unzip3: "`f` of the elements of three arrays at each index, as far as the shortest reaches." xs A "x", ys B "y", zs C "z";
    zip_with4 izip_with4 zip4 unzip4: "`f` of the elements of four arrays at each index, as far as the shortest reaches." xs A "x", ys B "y", zs C "z", ws D "w";
    zip_with5 izip_with5 zip5 unzip5: "`f` of the elements of five arrays at each index, as far as the shortest reaches." xs A "x", ys B "y", zs C "z", ws D "w", vs E "v";
    zip_with6 izip_with6 zip6 unzip6: "`f` of the elements of six arrays at each index, as far as the shortest reaches." xs A "x", ys B "y", zs C "z", ws D "w", vs E "v", us F "u";
    zip_with7 izip_with7 zip7 unzip7: "`f` of the elements of seven arrays at each index, as far as the shortest reaches." xs A "x", ys B "y", zs C "z", ws D "w", vs E "v", us F "u", ts G "t";
    zip_with8 izip_with8 zip8 unzip8: "`f` of the elements of eight arrays at each index, as far as the shortest reaches." xs A "x", ys B "y", zs C "z", ws D "w", vs E "v", us F "u", ts G "t", ss H "s";
    zip_with9 izip_with9 zip9 unzip9: "`f` of the elements of nine arrays at each index, as far as the shortest reaches." xs A "x", ys B "y", zs C "z", ws D "w", vs E "v", us F "u", ts G "t", ss H "s", rs I "r";
}

/// The array whose element at `ix` is that of `xs` at `f(ix)`; outside of `xs` an error at run time.
///
/// Shape: `extents`, of any rank.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[5i64, 6, 7]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| backpermute(xs.length(), |i| xs.length() - 1 - i, xs), &xs);
/// assert_eq!(r.to_vec(), [7, 6, 5]);
/// ```
#[track_caller]
pub fn backpermute<I: AsIndex, Sh: Shape, A: Elt, R: AsIndex<Shape = Sh>>(
    extents: I,
    f: impl FnOnce(<I::Shape as Shape>::Index) -> R,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<I::Shape, A>> {
    let at = here();
    let extents = extent_terms(extents, at);
    backpermute_terms::<I::Shape, Sh, A, R>(&extents, at, f, xs)
}

/// A backpermute over extents that are terms.
pub(crate) fn backpermute_terms<To: Shape, Sh: Shape, A: Elt, R: AsIndex<Shape = Sh>>(
    extents: &[TermId],
    at: At,
    f: impl FnOnce(To::Index) -> R,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<To, A>> {
    let parts = xs.parts(at);
    let (index, params) = index_parameters::<To>(at);
    let f = FunctionTerm { params, results: index_terms(f(index), at) };
    let op = ArrayOp::Backpermute { extents: arena::operands(extents), f: Lambda::default(), sources: parts.sources() };
    let types = types_of::<A>(extents);
    Acc::new(extents, &arena::array_op(op, vec![f], Vec::new(), |_| types, at))
}

/// `f` of the elements of `xs` at `index(ix)`: a backpermute and a map in one.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[5i64, 6, 7, 8]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<i64>>| transform(2, |i| 2 * i, |x| -x, xs), &xs);
/// assert_eq!(r.to_vec(), [-5, -7]);
/// ```
#[track_caller]
pub fn transform<I: AsIndex, Sh: Shape, A: Elt, B: Elt, J: AsIndex<Shape = Sh>, R: IntoExp<B>>(
    extents: I,
    index: impl FnOnce(<I::Shape as Shape>::Index) -> J,
    f: impl FnOnce(Exp<A>) -> R,
    xs: Acc<Array<Sh, A>>,
) -> Acc<Array<I::Shape, B>> {
    let at = here();
    let extents = extent_terms(extents, at);
    let parts = xs.parts(at);
    let (ix, params) = index_parameters::<I::Shape>(at);
    let index = FunctionTerm { params, results: index_terms(index(ix), at) };
    let f = function1::<A, B, R>("x", at, f);
    let op = ArrayOp::Transform {
        extents: arena::operands(&extents),
        index: Lambda::default(),
        f: Lambda::default(),
        sources: parts.sources(),
    };
    let types = types_of::<B>(&extents);
    Acc::new(&extents, &arena::array_op(op, vec![index, f], Vec::new(), |_| types, at))
}

/// The array, stored: what makes it is not fused into what uses it. A matter of cost alone.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let xs = Vector::from_slice(&[1.0f32, 2.0]).unwrap();
/// assert_eq!(example::run1(|xs: Acc<Vector<f32>>| compute(map(|x| x + 1.0, xs)), &xs).to_vec(), [2.0, 3.0]);
/// ```
#[track_caller]
pub fn compute<Sh: Shape, A: Elt>(xs: Acc<Array<Sh, A>>) -> Acc<Array<Sh, A>> {
    let at = here();
    let parts = xs.parts(at);
    if A::COUNT == 0 {
        return xs;
    }
    let op = ArrayOp::Compute { sources: parts.sources() };
    let types = types_of::<A>(&parts.extents);
    Acc::new(&parts.extents, &arena::array_op(op, Vec::new(), Vec::new(), |_| types, at))
}
