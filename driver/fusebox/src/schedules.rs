//! Schedules of the kernels of a plan: how each runs on a described machine.

use std::collections::BTreeSet;

use fusebox_ir::Plan;
use fusebox_schedule::{Book, Preferences, Scheduled, Target, schedule};

use crate::{Backend, Error, Options};

/// The schedules that the kernels of a plan get on a target (one of [`Target::NAMES`]), in order, each with the reasons.
///
/// # Errors
/// [`Error::UnknownTarget`].
pub fn schedules(plan: &Plan, target: &str) -> Result<Vec<Scheduled>, Error> {
    let target = Target::named(target).ok_or_else(|| Error::UnknownTarget { name: target.to_owned() })?;
    Ok(plan.kernels.iter().map(|kernel| schedule(kernel, &target, Preferences::default())).collect())
}

/// Reads schedules for the kernels of a plan: text as `dump --stage schedule` prints it, or JSON.
///
/// # Errors
/// [`Error::Schedules`] with the place, [`Error::UnknownTarget`].
pub(crate) fn read(text: &str, plan: &Plan) -> Result<Book, Error> {
    let wrong = |message: String| Error::Schedules { message };
    let book = if text.trim_start().starts_with('{') {
        Book::from_json(text).map_err(|error| wrong(error.to_string()))?
    } else {
        Book::parse(text, &plan.kernels).map_err(|error| wrong(error.to_string()))?
    };
    let unknown = book.targets().find(|name| Target::named(name).is_none()).map(str::to_owned);
    unknown.map_or(Ok(book), |name| Err(Error::UnknownTarget { name }))
}

/// The targets of the schedules that options give for a plan, where the plan runs by none of them.
pub(crate) fn passed_over(plan: &Plan, options: &Options) -> Result<Vec<String>, Error> {
    let Some(text) = &options.schedules else { return Ok(Vec::new()) };
    let own = |name: &str| match options.backend {
        Backend::Cuda | Backend::Sim => name.starts_with("sm_"),
        Backend::Cpu | Backend::Interp | Backend::Auto => match options.vector_bits {
            None => fusebox_cranelift::targets().contains(&name),
            Some(512) => ["avx512", "sse"].contains(&name),
            Some(256) => ["avx2", "sse"].contains(&name),
            Some(_) => name == "sse",
        },
    };
    let book = read(text, plan)?;
    if book.targets().any(own) {
        return Ok(Vec::new());
    }
    Ok(book.targets().collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect())
}
