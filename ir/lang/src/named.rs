//! Names for what handles stand for: hints, by which dumps, reports and errors call them.

use fusebox_ir::term::TermId;

use crate::{
    Acc, Array, Elt, Exp, Shape,
    arena::{self, here},
    elt::Fields,
    exp::component_name,
};

/// Names the terms of the components of a `T`.
fn name<T: Elt>(terms: &[TermId], name: &str) {
    arena::with(|arena| {
        for (id, (field, _)) in terms.iter().zip(Fields::of::<T>()) {
            if let Some(node) = arena.nodes.get_mut(id.index()) {
                node.name = component_name(name, &field);
            }
        }
    });
}

impl<T: Elt> Exp<T> {
    /// The same value, called so in dumps, reports and errors; its components get their names behind it: `z_re`, `z_im`.
    ///
    /// As [`Acc::named`](Acc::named()), of a scalar.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run1(|x: Acc<Vector<f32>>| x.map(|x| { let y = (x * x).named("y"); y + y }), &Vector::from_slice(&[3.0]).unwrap());
    /// assert_eq!(r.to_vec(), [18.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn named(self, name: &str) -> Self {
        self::name::<T>(&self.terms(here()), name);
        self
    }
}

impl<Sh: Shape, T: Elt> Acc<Array<Sh, T>> {
    /// The same array, called so in dumps, reports and errors; its components get their names behind it: `points_x`, `points_y`.
    ///
    /// Names change no result. One that several arrays have gets numbers, and what text cannot spell becomes `_`, so that dumps can be
    /// read again. Inputs keep their names; where an array is named twice, the later name counts; without a name it is called by its
    /// operation and line, `map_12`.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let built = build("spread", |xs: Acc<Vector<f32>>| {
    ///     let squares = xs.map(|x| x * x).named("squares");
    ///     (maximum(squares), minimum(squares))
    /// })?;
    /// let program = fusebox_sharing::program(&built.terms, &fusebox_sharing::Config::default())?;
    /// assert!(program.to_string().contains("let squares: [n]f32 = map("));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn named(self, name: &str) -> Self {
        self::name::<T>(&self.parts(here()).arrays, name);
        self
    }
}
