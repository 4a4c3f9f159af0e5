//! Schedules of the kernels of a plan: how each runs on a described machine.

use fusebox_ir::Plan;
use fusebox_schedule::{Book, Preferences, Scheduled, Target, schedule};

use crate::Error;

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
