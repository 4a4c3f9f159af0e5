//! Records: the components of their fields.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DataStruct, DeriveInput, Result};

use crate::names::{into_exp, named, with_bounds};

/// The implementation of `Elt` for a record, its constructor and accessors.
pub fn expand(input: &DeriveInput, data: &DataStruct, krate: &TokenStream) -> Result<TokenStream> {
    let (name, vis) = (&input.ident, &input.vis);
    let fields = named(&data.fields);
    let generics = with_bounds(&input.generics, krate);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let types: Vec<_> = fields.iter().map(|f| &f.field.ty).collect();
    let idents: Vec<_> = fields.iter().map(|f| &f.ident).collect();
    let members: Vec<_> = fields.iter().map(|f| &f.member).collect();
    let names: Vec<_> = fields.iter().map(|f| &f.name).collect();
    let arguments: Vec<_> = fields.iter().map(|f| into_exp(f.field, krate)).collect();
    let offsets: Vec<_> = (0..types.len())
        .map(|count| {
            let before = &types[..count];
            quote!(0usize #(+ <#before as #krate::Elt>::COUNT)*)
        })
        .collect();
    let accessors = format_ident!("{name}Exp");
    let accessors_doc = format!("The fields of a [`{name}`] in a program.");
    let field_docs: Vec<_> = names.iter().map(|name| format!("The field `{name}`.")).collect();
    // Field by field, so that columns are copied as a whole; a record without fields has none.
    let locals: Vec<_> = (0..types.len()).map(|i| format_ident!("field_{i}")).collect();
    let bulk = (!types.is_empty()).then(|| {
        quote! {
            fn store(
                values: &[Self],
                extents: &[usize],
                out: &mut ::std::vec::Vec<#krate::private::Column>,
            ) -> ::std::result::Result<(), #krate::private::ColumnError> {
                #(#krate::private::store_part(values, |value| &value.#members, extents, out)?;)*
                ::std::result::Result::Ok(())
            }
            fn load(
                columns: &[#krate::private::Column],
                count: usize,
            ) -> ::std::option::Option<::std::vec::Vec<Self>> {
                let mut columns = columns;
                #(let mut #locals = #krate::private::load_part::<#types>(&mut columns, count)?;)*
                ::std::option::Option::Some(::std::iter::Iterator::collect(::std::iter::from_fn(|| {
                    ::std::option::Option::Some(Self { #(#members: ::std::iter::Iterator::next(&mut #locals)?),* })
                })))
            }
        }
    });
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Elt for #name #ty_generics #where_clause {
            const COUNT: usize = 0usize #(+ <#types as #krate::Elt>::COUNT)*;
            fn fields(fields: &mut #krate::Fields) {
                #(fields.part(#names, <#types as #krate::Elt>::fields);)*
            }
            fn put(&self, out: &mut ::std::vec::Vec<#krate::Constant>) {
                #(<#types as #krate::Elt>::put(&self.#members, out);)*
            }
            fn take(
                from: &mut dyn ::std::iter::Iterator<Item = #krate::Constant>,
            ) -> ::std::option::Option<Self> {
                ::std::option::Option::Some(Self { #(#members: <#types as #krate::Elt>::take(from)?),* })
            }
            #bulk
        }

        #[automatically_derived]
        impl #impl_generics #krate::IntoExp<Self> for #name #ty_generics #where_clause {
            #[track_caller]
            fn into_exp(self) -> #krate::Exp<Self> {
                #krate::constant(self)
            }
        }

        #[automatically_derived]
        impl #impl_generics #name #ty_generics #where_clause {
            /// A record of a program, from what can stand for its fields.
            #[track_caller]
            #vis fn exp(#(#idents: #arguments),*) -> #krate::Exp<Self> {
                #krate::Exp::of_components(&[#(#krate::IntoExp::<#types>::into_exp(#idents).components()),*])
            }
        }

        #[doc = #accessors_doc]
        #vis trait #accessors #impl_generics: Sized #where_clause {
            #(#[doc = #field_docs]
            fn #idents(self) -> #krate::Exp<#types>;)*
            /// All fields.
            fn fields(self) -> (#(#krate::Exp<#types>,)*);
        }

        #[automatically_derived]
        impl #impl_generics #accessors #ty_generics for #krate::Exp<#name #ty_generics> #where_clause {
            #(fn #idents(self) -> #krate::Exp<#types> {
                self.component::<#types>(#offsets)
            })*
            fn fields(self) -> (#(#krate::Exp<#types>,)*) {
                (#(self.component::<#types>(#offsets),)*)
            }
        }
    })
}
