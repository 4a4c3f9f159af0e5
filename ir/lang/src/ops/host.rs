//! Arrays of the host in programs.

use fusebox_ir::{
    ArrayOp, Type,
    term::{Term, TermId},
};

use crate::{
    acc::{Acc, types_of},
    arena::{self, here},
    array::Array,
    elt::{Elt, Fields},
    exp::constant_at,
    interface::joined,
    shape::Shape,
};

/// An array of the host, as a further input of the program, which remembers its value: [`crate::Built::captured`].
///
/// ```
/// # use fusebox_lang::*; example!();
/// let weights = Vector::from_slice(&[1.0f32, 2.0]).unwrap();
/// let xs = Vector::from_slice(&[3.0f32, 4.0]).unwrap();
/// let r = example::run1(|xs: Acc<Vector<f32>>| zip_with(|x, w| x * w, xs, use_array(&weights)), &xs);
/// assert_eq!(r.to_vec(), [3.0, 8.0]);
/// ```
#[track_caller]
pub fn use_array<Sh: Shape, T: Elt>(array: &Array<Sh, T>) -> Acc<Array<Sh, T>> {
    let at = here();
    let extents: Vec<TermId> = array.extents().iter().map(|&n| arena::constant(n as i64, at)).collect();
    let number = arena::with(|arena| arena.captures()).unwrap_or(0);
    let name = format!("used{number}");
    let fields = Fields::of::<T>().into_iter().map(|(field, _)| joined(&name, &field));
    let types = types_of::<T>(&extents);
    let terms: Vec<TermId> = fields
        .zip(types)
        .zip(array.columns())
        .map(|((name, ty), column)| {
            let id = arena::push(Term::Input { name: name.clone(), ty }, at);
            arena::with(|arena| arena.capture(id, name, column.clone()));
            id
        })
        .collect();
    Acc::new(&extents, &terms)
}

/// A small array written out in the program.
///
/// ```
/// # use fusebox_lang::*; example!();
/// let small = Vector::from_slice(&[3i64, 4]).unwrap();
/// assert_eq!(example::run(|| constant_array(&small)), small);
/// ```
#[track_caller]
pub fn constant_array<Sh: Shape, T: Elt>(array: &Array<Sh, T>) -> Acc<Array<Sh, T>> {
    let at = here();
    if Sh::RANK == 0
        && let Some(value) = array.get(0)
    {
        return Acc::new(&[], &constant_at(&value, at).terms(at));
    }
    let extents: Vec<i64> = array.extents().iter().map(|&n| n as i64).collect();
    let sizes: Vec<TermId> = extents.iter().map(|&n| arena::constant(n, at)).collect();
    let terms: Vec<TermId> = array
        .columns()
        .iter()
        .map(|column| {
            let op = ArrayOp::Constant { extents: extents.clone(), values: column.constants().collect() };
            let ty = Type::array(arena::extents(&sizes), column.element());
            arena::array_op(op, Vec::new(), Vec::new(), |_| vec![ty], at)[0]
        })
        .collect();
    Acc::new(&sizes, &terms)
}
