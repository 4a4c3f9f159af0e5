//! `#[derive(Elt)]`: records and enums as elements of arrays in fusebox programs.
//!
//! Of a record, the components are those of its fields, under their names; of an enum a `u8`, the tag, then those of the fields of
//! every alternative, absent ones zero. What is generated beside the implementation of `Elt`, for a record `Point { x, y }`:
//!
//! - `Point::exp(x, y)`, a point of a program, from what can stand for its fields;
//! - a trait `PointExp` on `Exp<Point>` with `.x()`, `.y()`, and `.fields()`, all of them as a tuple;
//!
//! and for an enum `Shape { Circle(f32), Rect { w: f32, h: f32 }, Empty }`:
//!
//! - `Shape::exp_circle(radius)`, `Shape::exp_rect(w, h)`, `Shape::exp_empty()`;
//! - a trait `ShapeExp` on `Exp<Shape>` with `.tag()`, `.is_circle()`, …, and `.cases(|radius| …, |w, h| …, || …)`, which computes the
//!   function of the alternative that there is.
//!
//! The crates `fusebox` and `fusebox-lang` re-export it, each in a form whose code names that crate. Where it goes by another name, or
//! is reached through a third crate, an attribute says how: `#[elt(crate = "array_programs")]`, as serde has it.

mod alternatives;
mod attributes;
mod names;
mod record;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Result, parse_macro_input};

use crate::attributes::path_of_crate;

/// Makes a record or an enum an element type; see the documentation of this crate.
#[proc_macro_derive(Elt, attributes(elt))]
pub fn derive_elt(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = path_of_crate(&input).and_then(|named| {
        let path = named.map_or_else(|| quote!(::fusebox_lang), |path| quote!(#path));
        derive(&input, &path)
    });
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// As `Elt`, for users of the crate `fusebox`, which re-exports it under that name: the language is its module `lang`.
#[doc(hidden)]
#[proc_macro_derive(EltOfFacade, attributes(elt))]
pub fn derive_elt_of_facade(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = path_of_crate(&input).and_then(|named| {
        let path = named.map_or_else(|| quote!(::fusebox::lang), |path| quote!(#path::lang));
        derive(&input, &path)
    });
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}

/// The code for a type; `krate` is the path of the module that holds the language.
fn derive(input: &DeriveInput, krate: &proc_macro2::TokenStream) -> Result<proc_macro2::TokenStream> {
    match &input.data {
        Data::Struct(data) => record::expand(input, data, krate),
        Data::Enum(data) => alternatives::expand(input, data, krate),
        Data::Union(_) => Err(Error::new_spanned(
            &input.ident,
            "a union cannot be an element: which of its fields it holds is not known",
        )),
    }
}
