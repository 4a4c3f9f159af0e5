//! Inputs and results that become several arrays.

use fusebox_ir::{Binding, Place, Program, Type};

use crate::Error;

/// Whether inputs and results have a form as arrays: their inner arrays hold scalars, and no name is that of a part of an array of arrays or a
/// stream.
pub(crate) fn has_flat_interface(program: &Program) -> Result<(), Error> {
    let nowhere = Place::default();
    let inputs = program.body.params.iter().map(|var| (var.name.0.as_str(), &var.ty, &nowhere));
    names_are_free(inputs)?;
    let made = |id| {
        let is = |binding: &&Binding| binding.results.iter().any(|var| var.id == id);
        program.body.bindings.iter().find(is).map_or(&nowhere, |binding| &binding.place)
    };
    let results = program.outputs.iter().zip(&program.body.results);
    let results: Vec<_> = results.map(|(output, &id)| (output.name.as_str(), &output.ty, made(id))).collect();
    names_are_free(results.into_iter())
}

fn names_are_free<'a>(list: impl Iterator<Item = (&'a str, &'a Type, &'a Place)> + Clone) -> Result<(), Error> {
    if let Some((name, _, place)) = list.clone().find(|(_, ty, _)| ty.inner.len() > 1) {
        return Err(Error::Deep { name: name.to_owned(), place: place.clone() });
    }
    for (name, _, place) in list.clone().filter(|(_, ty, _)| !ty.inner.is_empty() || (ty.stream && ty.rank() > 0)) {
        for part in ["extents", "values"] {
            let taken = format!("{name}.{part}");
            if list.clone().any(|(other, ..)| other == taken) {
                return Err(Error::Taken { name: name.to_owned(), taken, place: place.clone() });
            }
        }
    }
    Ok(())
}
