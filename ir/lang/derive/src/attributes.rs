//! Attributes of types that derive `Elt`.

use syn::{DeriveInput, LitStr, Path, Result};

/// The path in `#[elt(crate = "path")]`, if the type has that attribute.
pub fn path_of_crate(input: &DeriveInput) -> Result<Option<Path>> {
    let mut path = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("elt")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the only attribute is `crate = \"path\"`, where fusebox has another name"));
            }
            let text: LitStr = meta.value()?.parse()?;
            path = Some(text.parse()?);
            Ok(())
        })?;
    }
    Ok(path)
}
