//! Inputs and results that become several arrays.

use fusebox_ir::Type;

use crate::Error;

/// Whether all have a form as arrays: their inner arrays hold scalars, and no name is that of a part of an array of arrays or a stream.
pub(crate) fn names_are_free<'a>(list: impl Iterator<Item = (&'a str, &'a Type)> + Clone) -> Result<(), Error> {
    if let Some((name, _)) = list.clone().find(|(_, ty)| ty.inner.len() > 1) {
        return Err(Error::Deep { name: name.to_owned() });
    }
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
