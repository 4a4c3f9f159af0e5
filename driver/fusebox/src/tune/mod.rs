//! Schedules for the machine at hand, found by trying those that the scheduler could have chosen.
//!
//! One kernel after the other: each alternative runs in turn with the best found so far, on the user's own inputs, and takes its place if it
//! wins clearly. Results are compared to the bit.

use std::{io::Write as _, path::Path, sync::Arc, time::Duration};

use fusebox_backend::{LaunchTime, profiled};
use fusebox_ir::{Kernel, Value, validate};
use fusebox_schedule::{
    Book, Guard, Preferences, Schedule, Sorts, Strips, Target, alternatives, guards, schedule, with_version,
};

use crate::{
    Backend, Error, Options, Signature,
    backend::{Executable, MadePlan},
    schedules::{has_rows, has_sorts},
    whole,
};

mod pairs;

use pairs::{Pair, is_same, median, pairs, sample};

/// How much is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TuneConfig {
    /// How often an alternative runs in turn with the best found so far. One that loses its first runs has fewer.
    pub rounds: usize,
    /// The most alternatives of each kernel: where there are more, they are taken evenly from all. Then one more is tried, with a version for
    /// the lengths that the kernel's short levels have.
    pub tries: usize,
}

impl Default for TuneConfig {
    fn default() -> Self {
        Self { rounds: 9, tries: 24 }
    }
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tuned {
    /// The schedules that are faster than the scheduler's, as JSON, for [`Options::schedules`]: of no kernel where none was.
    pub schedules: String,
    /// Each kernel of the plan, in order; of kernels that are the same the first.
    pub kernels: Vec<TunedKernel>,
    /// How loops and kernels that follow each other run over rows, where some do.
    pub strips: Option<TunedForm<Strips>>,
    /// How sorts run, where there are some.
    pub sorts: Option<TunedForm<Sorts>>,
    /// The median time of a run as programs are scheduled otherwise, and with what was chosen, in turn.
    pub times: (Duration, Duration),
    /// The median over rounds of the time with what was chosen as a part of the time without; 1 where nothing was. From 1 on it was not faster in the
    /// end, whatever seemed so, and nothing is chosen.
    pub ratio: f64,
}

impl Tuned {
    /// Nothing was chosen.
    fn forget(&mut self) {
        self.schedules = Book::default().to_json();
        self.kernels.iter_mut().for_each(|kernel| kernel.chosen = None);
        self.strips.iter_mut().for_each(|strips| strips.chosen = None);
        self.sorts.iter_mut().for_each(|sorts| sorts.chosen = None);
    }

    /// Writes the schedules to a file, for `run --schedule FILE`: whole, or not at all.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let schedules = |out: &mut whole::Draft| out.write_all(self.schedules.as_bytes());
        whole::write(path, schedules).map_err(|source| Error::Write { path: path.to_owned(), source })
    }
}

/// What was tried for a kernel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TunedKernel {
    /// Its name.
    pub name: String,
    /// How many alternatives were tried, of how many.
    pub tried: (usize, usize),
    /// The schedule that was faster, if one was, as text.
    pub chosen: Option<String>,
}

/// What was tried for all strips, or all sorts, of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TunedForm<T> {
    /// How many alternatives were tried, of how many.
    pub tried: (usize, usize),
    /// The one that was faster, if one was.
    pub chosen: Option<T>,
}

/// The least part of the time that an alternative must save.
const LEAST_GAIN: f64 = 0.02;
/// Levels of at most so many steps may have a version for just as many.
const SHORT: i64 = 64;
/// An alternative that loses so many rounds before it wins one is given up.
const LOST: usize = 3;

/// Finds schedules for a program on this machine, with inputs that it usually has. They change no bit of its results.
///
/// `tell` hears what is being tried. Programs that share this machine with others are tuned for that.
///
/// ```
/// use fusebox::{Options, TuneConfig, compile_program, ir, tune};
/// let program = ir::text::parse("fn sum(a: [n]i32) -> i32 { let s: i32 = fold(|x, y| x + y, 0, a) return s }")?;
/// let a = ir::Array::new(&[3], &[1, 2, 3])?.into();
/// let mut config = TuneConfig::default();
/// config.tries = 1;
/// let tuned = tune(&program, &[a], &Options::default(), &config, &mut |_| {})?;
/// let options = Options { schedules: Some(tuned.schedules.into()), ..Options::default() };
/// compile_program(&program, &options)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As of [`crate::compile_program`] and of runs; [`Error::Schedules`] of a backend that has none.
///
/// # Panics
/// If a schedule changes a result: a mistake of the scheduler. The message shows it.
pub fn tune(
    program: &fusebox_ir::Program,
    inputs: &[Value],
    options: &Options,
    config: &TuneConfig,
    tell: &mut dyn FnMut(&str),
) -> Result<Tuned, Error> {
    validate(program, &[]).map_err(Error::Invalid)?;
    if options.backend != Backend::Cpu {
        let message = format!("backend `{}` has no schedules to choose from", options.backend);
        return Err(Error::Schedules { message });
    }
    Signature::of(program).check(inputs)?;
    let made = MadePlan::of(program, options)?;
    let plain = Options { schedules: None, ..options.clone() };
    let usual = made.load(&plain)?.executable;
    let (expected, launches) = profiled(|| usual.run(inputs));
    let expected = expected?.0;
    let best = Book::default();
    let mut tuner = Tuner { made: &made, plain, inputs, expected, launches, config, best, running: None, usual };
    let mut kernels = Vec::new();
    let mut seen: Vec<&Kernel> = Vec::new();
    for kernel in &made.plan().kernels {
        if !seen.contains(&kernel) {
            seen.push(kernel);
            kernels.push(tuner.kernel(kernel, tell)?);
        }
    }
    let strips = if has_rows(made.plan()) { tuner.strips(tell)? } else { None };
    let sorts = if has_sorts(made.plan()) {
        let set = |book: &mut Book, sorts| book.set_sorts(Some(sorts));
        Some(tuner.form("sorts", &Sorts::alternatives(), (set, Sorts::to_text), tell)?)
    } else {
        None
    };
    tell("comparing");
    let rounds = 2 * config.rounds.max(1) + 1;
    let (times, ratio) = match &tuner.running {
        Some(best) => {
            let pairs = pairs(&*tuner.usual, &**best, inputs, rounds, |_| true)?;
            let of = |pick: &dyn Fn(&Pair) -> f64| median(pairs.iter().map(pick).collect());
            let seconds = |seconds: f64| Duration::from_secs_f64(seconds.max(0.0));
            ((seconds(of(&|pair| pair.old)), seconds(of(&|pair| pair.new))), of(&|pair| pair.new / pair.old))
        }
        None => {
            let time = sample(&*tuner.usual, inputs, 1)?;
            ((time, time), 1.0)
        }
    };
    let mut tuned = Tuned { schedules: tuner.best.to_json(), kernels, strips, sorts, times, ratio };
    if ratio >= 1.0 {
        tuned.forget();
    }
    Ok(tuned)
}

struct Tuner<'a> {
    made: &'a MadePlan,
    plain: Options,
    inputs: &'a [Value],
    expected: Vec<Value>,
    /// Those of one run.
    launches: Vec<LaunchTime>,
    config: &'a TuneConfig,
    best: Book,
    /// The program with the best schedules; none while those are the usual ones.
    running: Option<Box<dyn Executable>>,
    usual: Box<dyn Executable>,
}

impl Tuner<'_> {
    fn kernel(&mut self, kernel: &Kernel, tell: &mut dyn FnMut(&str)) -> Result<TunedKernel, Error> {
        let all: Vec<Schedule> = fusebox_cranelift::targets()
            .into_iter()
            .filter_map(Target::named)
            .flat_map(|target| alternatives(kernel, &target))
            .skip(1) // what the kernel has without
            .collect();
        let mut tried = TunedKernel { name: kernel.name.0.clone(), tried: (0, all.len()), chosen: None };
        let tries = self.config.tries.min(all.len());
        for position in 0..tries {
            let schedule = &all[position * all.len() / tries];
            tell(&format!("kernel `{}`, {} of {tries}", tried.name, position + 1));
            tried.tried.0 += 1;
            if self.is_better(kernel, schedule)? {
                tried.chosen = Some(schedule.to_text(kernel));
            }
        }
        if let Some(schedule) = self.for_lengths(kernel) {
            tell(&format!("kernel `{}`, for its lengths", tried.name));
            tried.tried.0 += 1;
            tried.tried.1 += 1;
            if self.is_better(kernel, &schedule)? {
                tried.chosen = Some(schedule.to_text(kernel));
            }
        }
        Ok(tried)
    }

    /// Tries other strips, by the kernels as they are then.
    fn strips(&mut self, tell: &mut dyn FnMut(&str)) -> Result<Option<TunedForm<Strips>>, Error> {
        let target = fusebox_cranelift::targets().into_iter().find_map(Target::named);
        let Some(cpu) = target.as_ref().and_then(Target::cpu) else { return Ok(None) };
        let set = |book: &mut Book, strips| book.set_strips(Some(strips));
        self.form("strips of rows", &Strips::alternatives(cpu), (set, Strips::to_text), tell).map(Some)
    }

    /// Tries what holds for a plan as a whole, by the schedules that its kernels have then.
    fn form<T: Copy>(
        &mut self,
        name: &str,
        all: &[T],
        (set, text): (impl Fn(&mut Book, T), impl Fn(T) -> String),
        tell: &mut dyn FnMut(&str),
    ) -> Result<TunedForm<T>, Error> {
        let tries = self.config.tries.min(all.len());
        let mut tried = TunedForm { tried: (tries, all.len()), chosen: None };
        for (position, &form) in all[..tries].iter().enumerate() {
            tell(&format!("{name}, {} of {tries}", position + 1));
            let mut book = self.best.clone();
            set(&mut book, form);
            if self.wins(book, || text(form))? {
                tried.chosen = Some(form);
            }
        }
        Ok(tried)
    }

    /// The best schedule so far with a version more, for the lengths that short levels of the kernel have in most launches.
    fn for_lengths(&self, kernel: &Kernel) -> Option<Schedule> {
        let mut seen: Vec<(usize, Vec<Guard>)> = Vec::new();
        let own = |launch: &&LaunchTime| self.made.plan().kernels.get(launch.kernel) == Some(kernel);
        for launch in self.launches.iter().filter(own) {
            let when = guards(kernel, &launch.sizes, SHORT);
            match seen.iter_mut().find(|(_, own)| *own == when) {
                Some((times, _)) => *times += 1,
                None => seen.push((1, when)),
            }
        }
        let (_, when) = seen.into_iter().filter(|(_, when)| !when.is_empty()).max_by_key(|(times, _)| *times)?;
        let target = fusebox_cranelift::targets().into_iter().find_map(Target::named)?;
        let usual = self.best.get(kernel, &target.name).cloned();
        let usual = usual.unwrap_or_else(|| schedule(kernel, &target, Preferences::default()).schedule);
        with_version(kernel, &usual, &when, &target)
    }

    /// Tries a schedule, and keeps it if it is better.
    fn is_better(&mut self, kernel: &Kernel, schedule: &Schedule) -> Result<bool, Error> {
        let mut book = self.best.clone();
        // Of several targets the widest counts: the kernel has one schedule.
        book.remove(kernel);
        book.insert(kernel, schedule.clone());
        self.wins(book, || format!("of kernel\n{kernel}\n{}", schedule.to_text(kernel)))
    }

    /// Tries schedules, and keeps them if they are better; `tried` says what is new.
    fn wins(&mut self, book: Book, tried: impl Fn() -> String) -> Result<bool, Error> {
        let options = Options { schedules: Some(Arc::from(book.to_json())), ..self.plain.clone() };
        let candidate = self.made.load(&options)?.executable;
        let results = candidate.run(self.inputs)?.0;
        assert!(
            results.iter().zip(&self.expected).all(|(new, old)| is_same(new, old)),
            "a schedule changes a result, {}",
            tried()
        );
        let best = self.running.as_deref().unwrap_or(&*self.usual);
        let rounds = self.config.rounds.max(1);
        let hopeful = |pairs: &[Pair]| pairs.len() < LOST || pairs.iter().any(Pair::is_won);
        let pairs = pairs(best, &*candidate, self.inputs, rounds, hopeful)?;
        let won = pairs.iter().filter(|pair| pair.is_won()).count();
        let ratio = median(pairs.iter().map(|pair| pair.new / pair.old).collect());
        let better = pairs.len() == rounds && 5 * won >= 4 * rounds && ratio <= 1.0 - LEAST_GAIN;
        if better {
            self.best = book;
            self.running = Some(candidate);
        }
        Ok(better)
    }
}

#[cfg(test)]
mod tests;
