//! Names of inputs and results that become several.

use fusebox_ir::Type;

use crate::Error;

/// Whether no name is that of a part of an array of arrays or a stream.
pub(crate) fn names_are_free<'a>(list: impl Iterator<Item = (&'a str, &'a Type)> + Clone) -> Result<(), Error> {
    for (name, _) in list.clone().filter(|(_, ty)| !ty.inner.is_empty() || (ty.stream && ty.rank() > 0)) {
        for part in ["extents", "values"] {
            let taken = format!("{name}.{part}");
            if list.clone().any(|(other, _)| other == taken) {
                return Err(Error::Taken { name: name.to_owned(), taken });
            }
        }
    }
    Ok(())
}
