//! Names for what handles stand for: hints, by which dumps and errors call them.

use fusebox_ir::term::TermId;

use crate::{
    Acc, Array, Elt, Exp, Shape,
    arena::{self, here},
};

fn name(terms: &[TermId], name: &str) {
    arena::with(|arena| {
        for (component, id) in terms.iter().enumerate() {
            let suffix = if terms.len() == 1 { String::new() } else { component.to_string() };
            if let Some(node) = arena.nodes.get_mut(id.index()) {
                node.name = format!("{name}{suffix}");
            }
        }
    });
}

impl<T: Elt> Exp<T> {
    /// The same value, called so in dumps and errors; its components get numbers behind the name.
    ///
    /// ```
    /// # use fusebox_lang::*; example!();
    /// let r = example::run1(|x: Acc<Vector<f32>>| x.map(|x| { let y = (x * x).named("y"); y + y }), &Vector::from_slice(&[3.0]).unwrap());
    /// assert_eq!(r.to_vec(), [18.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn named(self, name: &str) -> Self {
        self::name(&self.terms(here()), name);
        self
    }
}

impl<Sh: Shape, T: Elt> Acc<Array<Sh, T>> {
    /// The same arrays, called so in dumps and errors; its components get numbers behind the name.
    #[must_use]
    #[track_caller]
    pub fn named(self, name: &str) -> Self {
        self::name(&self.parts(here()).arrays, name);
        self
    }
}
