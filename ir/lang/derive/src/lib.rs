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
//! The crate `fusebox-lang` re-exports it.

mod alternatives;
mod names;
mod record;

use proc_macro::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, parse_macro_input};

/// Makes a record or an enum an element type; see the documentation of this crate.
#[proc_macro_derive(Elt)]
pub fn derive_elt(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input as DeriveInput), &quote!(::fusebox_lang))
}

/// As `Elt`, for users of the crate `fusebox`, which re-exports it under that name.
#[doc(hidden)]
#[proc_macro_derive(EltOfFacade)]
pub fn derive_elt_of_facade(input: TokenStream) -> TokenStream {
    derive(parse_macro_input!(input as DeriveInput), &quote!(::fusebox::lang))
}

fn derive(input: DeriveInput, krate: &proc_macro2::TokenStream) -> TokenStream {
    let result = match &input.data {
        Data::Struct(data) => record::expand(&input, data, krate),
        Data::Enum(data) => alternatives::expand(&input, data, krate),
        Data::Union(_) => Err(syn::Error::new_spanned(
            &input.ident,
            "a union cannot be an element: which of its fields it holds is not known",
        )),
    };
    result.unwrap_or_else(|error| error.to_compile_error()).into()
}
