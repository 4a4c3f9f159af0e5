//! Names of fields, and generics with the bounds that elements need.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Field, Fields, GenericParam, Generics, parse_quote};

/// A field: what it is called in Rust and in programs, and its type.
pub struct Named<'a> {
    /// A variable or method for it: `x`, or `_0`.
    pub ident: Ident,
    /// How a value's field is reached: `x` or `0`.
    pub member: syn::Member,
    /// The name of the component.
    pub name: String,
    /// The declaration.
    pub field: &'a Field,
}

/// The fields, in order.
pub fn named(fields: &Fields) -> Vec<Named<'_>> {
    let name = |(index, field)| {
        let field: &Field = field;
        let ident = field.ident.clone().unwrap_or_else(|| format_ident!("_{index}"));
        let member = field.ident.clone().map_or_else(|| syn::Member::from(index), syn::Member::Named);
        Named { name: component(&ident), ident, member, field }
    };
    fields.iter().enumerate().map(name).collect()
}

/// The name of a component; text keeps the part `flat` for itself.
pub fn component(ident: &Ident) -> String {
    let name = ident.to_string();
    let name = name.trim_start_matches("r#");
    if name == "flat" { "flat_".to_owned() } else { name.to_owned() }
}

/// `Circle` or `HalfPlane` as a name in programs: `circle`, `half_plane`.
pub fn snake(ident: &Ident) -> String {
    let mut name = String::new();
    for (position, letter) in ident.to_string().trim_start_matches("r#").char_indices() {
        if letter.is_uppercase() && position > 0 {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    if name == "flat" { "flat_".to_owned() } else { name }
}

/// The generics, each type an element.
pub fn with_bounds(generics: &Generics, krate: &TokenStream) -> Generics {
    let mut generics = generics.clone();
    for param in &mut generics.params {
        if let GenericParam::Type(param) = param {
            param.bounds.push(parse_quote!(#krate::Elt));
        }
    }
    generics
}

/// `impl IntoExp<T>` of a field's type.
pub fn into_exp(field: &Field, krate: &TokenStream) -> TokenStream {
    let ty = &field.ty;
    quote!(impl #krate::IntoExp<#ty>)
}
