//! Tuples as elements.

use fusebox_ir::{Array, ArrayError, Constant};

use crate::{
    columns::{load_part, store_part},
    elt::{Elt, Fields},
};

macro_rules! tuple_elements {
    ($(($($t:ident $i:tt $name:literal),*))*) => {$(
        /// Components are called `_0`, `_1`, and so on.
        impl<$($t: Elt),*> Elt for ($($t,)*) {
            const COUNT: usize = 0 $(+ $t::COUNT)*;
            #[allow(unused_variables)]
            fn fields(fields: &mut Fields) {
                $(fields.part($name, $t::fields);)*
            }
            #[allow(unused_variables)]
            fn put(&self, out: &mut Vec<Constant>) {
                $(self.$i.put(out);)*
            }
            #[allow(unused_variables)]
            fn take(from: &mut dyn Iterator<Item = Constant>) -> Option<Self> {
                Some(($($t::take(from)?,)*))
            }
            #[allow(unused_variables)]
            fn store(values: &[Self], extents: &[usize], out: &mut Vec<Array>) -> Result<(), ArrayError> {
                $(store_part(values, |value| &value.$i, extents, out)?;)*
                Ok(())
            }
            tuple_elements!(@load $($t $i),*);
        }
    )*};
    (@load) => {};
    (@load $($t:ident $i:tt),*) => {
        fn load(columns: &[Array], count: usize) -> Option<Vec<Self>> {
            let mut columns = columns;
            let mut parts = ($(load_part::<$t>(&mut columns, count)?,)*);
            Some(std::iter::from_fn(|| Some(($(parts.$i.next()?,)*))).collect())
        }
    };
}
tuple_elements! {
    ()
    (A 0 "_0")
    (A 0 "_0", B 1 "_1")
    (A 0 "_0", B 1 "_1", C 2 "_2")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4", F 5 "_5")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4", F 5 "_5", G 6 "_6")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4", F 5 "_5", G 6 "_6", H 7 "_7")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4", F 5 "_5", G 6 "_6", H 7 "_7", I 8 "_8")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4", F 5 "_5", G 6 "_6", H 7 "_7", I 8 "_8", J 9 "_9")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4", F 5 "_5", G 6 "_6", H 7 "_7", I 8 "_8", J 9 "_9", K 10 "_10")
    (A 0 "_0", B 1 "_1", C 2 "_2", D 3 "_3", E 4 "_4", F 5 "_5", G 6 "_6", H 7 "_7", I 8 "_8", J 9 "_9", K 10 "_10", L 11 "_11")
}
