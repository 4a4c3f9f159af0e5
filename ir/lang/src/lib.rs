#![doc = include_str!("../README.md")]

mod acc;
mod advice;
mod arena;
mod array;
mod columns;
mod complex;
mod control;
mod either;
mod elementwise;
mod elt;
mod error;
mod example;
mod exp;
mod interface;
mod methods;
mod named;
mod names;
mod nest;
mod number;
mod operators;
pub mod ops;
mod option;
mod ordering;
mod parts_of_floats;
mod prelude;
#[doc(hidden)]
pub mod private;
mod program;
mod random;
mod reach;
mod rows;
mod scalar;
mod sequence;
mod shape;
mod slice;
mod tuples;

pub use fusebox_ir::{Constant, PermuteOrder};
pub use fusebox_lang_derive::Elt;
pub use half::f16;

pub use crate::{
    acc::{Acc, the, unit},
    array::{Array, ArrayError, Iter, Matrix, Scalar, Vector},
    complex::{Complex, cis, complex, polar},
    control::{assert_, cond, iterate, while_loop},
    either::*,
    elementwise::Operand,
    elt::{Elt, Fields, ScalarElt},
    error::{BuildError, Mistake, Problem},
    exp::{Exp, IntoExp, constant, lift},
    interface::{Arrays, Component, Function, Interface, Item, Parameters, Results},
    nest::{Nested, NestedArray, nest},
    number::{Bits, Float, Integer, Num, Real},
    ops::{control::*, expand::*, fold::*, host::*, map::*, permute::*, scan::*, shape::*, stencil::*},
    option::{none, some, some_if},
    parts_of_floats::encode_float,
    prelude::*,
    program::{Built, Draft, build, program},
    random::{Random, philox, random},
    rows::{Lane, Rows, rows},
    scalar::{float, max_bound, min_bound, number},
    sequence::*,
    shape::{
        AsIndex, Dim, Dimensions, Fits, IndexOf, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, Ix7, Ix8, Ix9, Shape,
        from_position, intersect, shape_size, to_position, union,
    },
    slice::{All, Any, Bound, Indices, ReplicateDim, ReplicateSpec, SliceDim, SliceSpec, Stepped},
};
