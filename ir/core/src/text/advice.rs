//! What to write instead of a name of an operation or a function that does not exist.

use super::{
    elsewhere,
    reference::{OPERATIONS, scalar_functions},
    suggest::closest,
};

/// The name of an operation or a function that is nearest to a wrong one, or what is written instead of one known from elsewhere.
pub fn advice(name: &str) -> Option<String> {
    let functions = scalar_functions();
    let known = OPERATIONS.iter().map(|operation| operation.name).chain(functions.iter().map(|function| function.name));
    let near = || closest(name, known).map(|near| format!("did you mean `{near}`?"));
    elsewhere::call(name).or_else(near)
}
