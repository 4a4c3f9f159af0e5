//! Schedules of the kernels and loops of a plan: how each runs on a described machine.

use std::collections::BTreeSet;

use fusebox_ir::{
    Plan, Step,
    analysis::{IndependentLaunches, NotByRow, RowLoop, RowSequence, RowSequences},
};
use fusebox_schedule::{Book, Choice, Preferences, Scheduled, Sorts, Strips, Target, schedule};

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

/// The strips that loops and kernels of a plan take on a target, where some go row by row.
///
/// # Errors
/// [`Error::UnknownTarget`].
pub fn strips(plan: &Plan, target: &str) -> Result<Option<Strips>, Error> {
    let target = Target::named(target).ok_or_else(|| Error::UnknownTarget { name: target.to_owned() })?;
    Ok(target.cpu().filter(|_| has_rows(plan)).map(Strips::usual))
}

/// How the sorts of a plan run on a target, where there are some.
///
/// # Errors
/// [`Error::UnknownTarget`].
pub fn sorts(plan: &Plan, target: &str) -> Result<Option<Sorts>, Error> {
    let target = Target::named(target).ok_or_else(|| Error::UnknownTarget { name: target.to_owned() })?;
    Ok((target.cpu().is_some() && has_sorts(plan)).then_some(Sorts::USUAL))
}

/// Whether a plan sorts.
pub(crate) fn has_sorts(plan: &Plan) -> bool {
    plan.steps.iter().flat_map(Step::within).any(|step| matches!(step, Step::Sort { .. }))
}

/// Whether loops of a plan, or kernels that follow each other, go row by row.
pub(crate) fn has_rows(plan: &Plan) -> bool {
    let mut steps = plan.steps.iter().flat_map(Step::within);
    steps.any(|step| RowLoop::of(plan, step).is_ok()) || !RowSequences::of(plan, |_| true).is_empty()
}

/// How the steps of a plan run on a target, with the reasons: the turns of each loop, but for loops over scalars, launches
/// of rows in strips, and launches that run at once.
/// Nothing on GPUs, where one launch follows the other.
///
/// # Errors
/// [`Error::UnknownTarget`].
pub fn steps(plan: &Plan, target: &str) -> Result<Vec<Choice>, Error> {
    let target = Target::named(target).ok_or_else(|| Error::UnknownTarget { name: target.to_owned() })?;
    if target.cpu().is_none() {
        return Ok(Vec::new());
    }
    Ok(loops(plan).into_iter().chain(sequences(plan)).chain(launches_at_once(plan)).collect())
}

fn loops(plan: &Plan) -> Vec<Choice> {
    let choice = |step: &Step| {
        let Step::While { state, .. } = step else { return None };
        let name = state.first().and_then(|id| plan.values.get(id.index())).map(|value| &value.name)?;
        let about = format!("loop of `{name}`");
        let in_order = || "one turn after the other".to_owned();
        match RowLoop::of(plan, step) {
            Ok(row_loop) => {
                let (above, below) = row_loop.reach();
                Some(Choice {
                    about,
                    chosen: "where its arrays are larger than the caches, several turns over one strip of rows after another".into(),
                    because: format!("a turn reaches rows up to {above} above and {below} below"),
                    instead_of: Vec::new(),
                })
            }
            Err(NotByRow::Scalars) => None,
            Err(why) => Some(Choice { about, chosen: in_order(), because: why.to_string(), instead_of: Vec::new() }),
        }
    };
    plan.steps.iter().flat_map(Step::within).filter_map(choice).collect()
}

/// The names of the kernels that steps launch.
fn launched<'p>(plan: &'p Plan, steps: impl IntoIterator<Item = &'p Step>) -> String {
    let kernel = |step: &Step| match step {
        Step::Launch { kernel, .. } => plan.kernels.get(*kernel).map(|kernel| kernel.name.0.as_str()),
        _ => None,
    };
    steps.into_iter().filter_map(kernel).collect::<Vec<_>>().join(", ")
}

fn sequences(plan: &Plan) -> Vec<Choice> {
    let choice = |(sequence, steps): (&RowSequence, &[Step])| {
        let (above, below) = sequence.reach();
        let launches = sequence.launches.iter().map(|launch| &steps[launch.step]);
        let because = match (above, below) {
            (0, 0) => "each row needs the same row of what is made before".to_owned(),
            _ => format!("a row needs rows of what is made before, up to {above} above and {below} below"),
        };
        Choice {
            about: format!("launches of {}", launched(plan, launches)),
            chosen: "where their arrays are larger than the caches, all of them over one strip of rows after another"
                .into(),
            because,
            instead_of: Vec::new(),
        }
    };
    RowSequences::of(plan, |_| true).all(plan).into_iter().map(choice).collect()
}

fn launches_at_once(plan: &Plan) -> Vec<Choice> {
    let choice = |steps: &[Step]| Choice {
        about: format!("launches of {}", launched(plan, steps)),
        chosen: "at once, where none is long enough for threads to share it".into(),
        because: "none needs what another makes".into(),
        instead_of: Vec::new(),
    };
    IndependentLaunches::of(plan).groups(plan).into_iter().map(choice).collect()
}
