#![doc = include_str!("../README.md")]

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
