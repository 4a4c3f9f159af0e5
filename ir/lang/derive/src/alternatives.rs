//! Enums: a tag, then the components of the fields of every alternative.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{DataEnum, DeriveInput, Error, Fields, Result, Type};

use crate::names::{Named, into_exp, named, snake, with_bounds};

struct Alternative<'a> {
    ident: &'a Ident,
    /// In programs.
    name: String,
    fields: Vec<Named<'a>>,
    unit: bool,
}

impl Alternative<'_> {
    fn types(&self) -> Vec<&Type> {
        self.fields.iter().map(|f| &f.field.ty).collect()
    }

    fn idents(&self) -> Vec<&Ident> {
        self.fields.iter().map(|f| &f.ident).collect()
    }

    /// A pattern that binds all fields, or an expression of variables of these names.
    fn pattern(&self) -> TokenStream {
        let ident = self.ident;
        let (members, idents): (Vec<_>, Vec<_>) = self.fields.iter().map(|f| (&f.member, &f.ident)).unzip();
        if self.unit { quote!(Self::#ident) } else { quote!(Self::#ident { #(#members: #idents),* }) }
    }
}

/// The implementation of `Elt` for an enum, its constructors and the choice between its alternatives.
pub fn expand(input: &DeriveInput, data: &DataEnum, krate: &TokenStream) -> Result<TokenStream> {
    let name = &input.ident;
    if data.variants.is_empty() {
        return Err(Error::new_spanned(name, "an enum without alternatives has no values, so no array holds any"));
    }
    if data.variants.len() > 256 {
        return Err(Error::new_spanned(name, "the tag is a u8: an enum has at most 256 alternatives"));
    }
    let alternatives: Vec<Alternative<'_>> = data
        .variants
        .iter()
        .map(|variant| Alternative {
            ident: &variant.ident,
            name: snake(&variant.ident),
            fields: named(&variant.fields),
            unit: matches!(variant.fields, Fields::Unit),
        })
        .collect();
    let element = element(input, &alternatives, krate);
    let constructors = constructors(input, &alternatives, krate);
    let cases = cases(input, &alternatives, krate);
    Ok(quote!(#element #constructors #cases))
}

fn element(input: &DeriveInput, alternatives: &[Alternative<'_>], krate: &TokenStream) -> TokenStream {
    let name = &input.ident;
    let generics = with_bounds(&input.generics, krate);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let all: Vec<&Type> = alternatives.iter().flat_map(Alternative::types).collect();
    let fields = alternatives.iter().map(|alternative| {
        let (types, label) = (alternative.types(), &alternative.name);
        // The only unnamed field of an alternative goes by the alternative's name.
        match alternative.fields.as_slice() {
            [] => quote!(),
            [only] if only.name == "_0" => quote!(fields.part(#label, #(<#types as #krate::Elt>::fields)*);),
            several => {
                let names = several.iter().map(|f| &f.name);
                quote!(fields.part(#label, |fields| { #(fields.part(#names, <#types as #krate::Elt>::fields);)* });)
            }
        }
    });
    let put = alternatives.iter().enumerate().map(|(tag, alternative)| {
        let (tag, pattern) = (tag as u8, alternative.pattern());
        let parts = alternatives.iter().map(|other| {
            let (types, idents) = (other.types(), other.idents());
            if std::ptr::eq(other, alternative) {
                quote!(#(<#types as #krate::Elt>::put(#idents, out);)*)
            } else {
                quote!(#(#krate::private::put_absent::<#types>(out);)*)
            }
        });
        quote!(#pattern => {
            <u8 as #krate::Elt>::put(&#tag, out);
            #(#parts)*
        })
    });
    let take = alternatives.iter().enumerate().map(|(tag, alternative)| {
        let (tag, pattern) = (tag as u8, alternative.pattern());
        let parts = alternatives.iter().map(|other| {
            let (types, idents) = (other.types(), other.idents());
            if std::ptr::eq(other, alternative) {
                quote!(#(let #idents = <#types as #krate::Elt>::take(from)?;)*)
            } else {
                quote!(#(#krate::private::skip_absent::<#types>(from)?;)*)
            }
        });
        quote!(#tag => {
            #(#parts)*
            ::std::option::Option::Some(#pattern)
        })
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Elt for #name #ty_generics #where_clause {
            const COUNT: usize = 1usize #(+ <#all as #krate::Elt>::COUNT)*;
            fn fields(fields: &mut #krate::Fields) {
                fields.part("tag", <u8 as #krate::Elt>::fields);
                #(#fields)*
            }
            #[allow(non_shorthand_field_patterns)]
            fn put(&self, out: &mut ::std::vec::Vec<#krate::Constant>) {
                match self {
                    #(#put)*
                }
            }
            #[allow(clippy::redundant_field_names)]
            fn take(
                from: &mut dyn ::std::iter::Iterator<Item = #krate::Constant>,
            ) -> ::std::option::Option<Self> {
                match <u8 as #krate::Elt>::take(from)? {
                    #(#take)*
                    _ => ::std::option::Option::None,
                }
            }
        }

        #[automatically_derived]
        impl #impl_generics #krate::IntoExp<Self> for #name #ty_generics #where_clause {
            #[track_caller]
            fn into_exp(self) -> #krate::Exp<Self> {
                #krate::constant(self)
            }
        }
    }
}

fn constructors(input: &DeriveInput, alternatives: &[Alternative<'_>], krate: &TokenStream) -> TokenStream {
    let (name, vis) = (&input.ident, &input.vis);
    let generics = with_bounds(&input.generics, krate);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let constructors = alternatives.iter().enumerate().map(|(tag, alternative)| {
        let (tag, constructor) = (tag as u8, format_ident!("exp_{}", alternative.name));
        let arguments = alternative.fields.iter().map(|f| into_exp(f.field, krate));
        let idents = alternative.idents();
        let parts = alternatives.iter().flat_map(|other| {
            let own = std::ptr::eq(other, alternative);
            other.fields.iter().map(move |f| {
                let (ident, ty) = (&f.ident, &f.field.ty);
                if own {
                    quote!(#krate::IntoExp::<#ty>::into_exp(#ident).components())
                } else {
                    quote!(#krate::private::absent::<#ty>())
                }
            })
        });
        let doc = format!("The alternative `{}` in a program.", alternative.ident);
        quote! {
            #[doc = #doc]
            #[track_caller]
            #vis fn #constructor(#(#idents: #arguments),*) -> #krate::Exp<Self> {
                #krate::Exp::of_components(&[#krate::constant(#tag).components(), #(#parts),*])
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #impl_generics #name #ty_generics #where_clause {
            #(#constructors)*
        }
    }
}

fn cases(input: &DeriveInput, alternatives: &[Alternative<'_>], krate: &TokenStream) -> TokenStream {
    let (name, vis) = (&input.ident, &input.vis);
    let generics = with_bounds(&input.generics, krate);
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let choice = format_ident!("{name}Exp");
    let choice_doc = format!("The alternatives of a [`{name}`] in a program.");
    let tests: Vec<_> = alternatives.iter().map(|a| format_ident!("is_{}", a.name)).collect();
    let test_docs: Vec<_> = alternatives.iter().map(|a| format!("Whether it is `{}`.", a.ident)).collect();
    let tags: Vec<_> = (0..alternatives.len()).map(|tag| tag as u8).collect();
    let functions: Vec<_> = alternatives.iter().map(|a| format_ident!("case_{}", a.name)).collect();
    let results: Vec<_> = (0..alternatives.len()).map(|i| format_ident!("CaseResult{i}")).collect();
    let closures: Vec<_> = alternatives
        .iter()
        .zip(&results)
        .map(|(alternative, result)| {
            let types = alternative.types();
            quote!(impl ::std::ops::FnOnce(#(#krate::Exp<#types>),*) -> #result)
        })
        .collect();
    let mut before: Vec<&Type> = Vec::new();
    let mut values = Vec::new();
    for (alternative, function) in alternatives.iter().zip(&functions) {
        let mut arguments = Vec::new();
        for field in &alternative.fields {
            let ty = &field.field.ty;
            arguments.push(quote!(self.component::<#ty>(1usize #(+ <#before as #krate::Elt>::COUNT)*)));
            before.push(ty);
        }
        values.push(quote!(#krate::IntoExp::<CaseResult>::into_exp(#function(#(#arguments),*))));
    }
    // The last alternative is what is left.
    let mut chain = values.pop().unwrap_or_default();
    for (tag, value) in tags.iter().zip(&values).rev() {
        chain = quote!(#krate::cond::<CaseResult>(self.component::<u8>(0).eq_(#tag), #value, #chain));
    }
    let signature = quote! {
        fn cases<CaseResult: #krate::Elt, #(#results: #krate::IntoExp<CaseResult>),*>(
            self,
            #(#functions: #closures),*
        ) -> #krate::Exp<CaseResult>
    };
    quote! {
        #[doc = #choice_doc]
        #vis trait #choice #impl_generics: Sized #where_clause {
            /// Which alternative it is, from 0 in order of declaration.
            fn tag(self) -> #krate::Exp<u8>;
            #(#[doc = #test_docs]
            #[track_caller]
            fn #tests(self) -> #krate::Exp<bool>;)*
            /// The function of the alternative that there is, in order of declaration; only that one is computed.
            #[track_caller]
            #signature;
        }

        #[automatically_derived]
        impl #impl_generics #choice #ty_generics for #krate::Exp<#name #ty_generics> #where_clause {
            fn tag(self) -> #krate::Exp<u8> {
                self.component::<u8>(0)
            }
            #(#[track_caller]
            fn #tests(self) -> #krate::Exp<bool> {
                self.component::<u8>(0).eq_(#tags)
            })*
            #[track_caller]
            #signature {
                #chain
            }
        }
    }
}
