//! The validator: whether a schedule gives the bits that its kernel fixes, and every point once, and fits the target.

mod appends;
mod bits;
mod chains;
mod choices;
mod copies;
mod cover;
mod few;
mod interchange;
mod jam;
mod named;
mod panels;
mod partitions;
mod registers;
mod rows;
mod runs;

use std::fmt;

use fusebox_ir::{
    Kernel,
    analysis::kernels::{scans_outermost, totals_only},
};

use crate::{
    form::Form,
    grid,
    schedule::{Nest, Schedule},
    target::{Machine, Target},
    unroll::trips,
    versions::{MOST_VERSIONS, guarded},
};

/// Why a schedule is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Fault {
    /// Which version, from 0; none: the schedule as a whole.
    pub version: Option<usize>,
    /// Whether it is in the nest of totals.
    pub totals: bool,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.version, self.totals) {
            (None, _) => write!(f, "the schedule: {}", self.message),
            (Some(version), false) => write!(f, "version {version}: {}", self.message),
            (Some(version), true) => write!(f, "version {version}, totals: {}", self.message),
        }
    }
}

/// Whether a schedule of a kernel may run on a target: it has the results of every other one that may.
///
/// # Errors
/// Every fault that was found.
pub fn check(kernel: &Kernel, schedule: &Schedule, target: &Target) -> Result<(), Vec<Fault>> {
    let mut faults = Vec::new();
    let mut whole = |message: String| faults.push(Fault { version: None, totals: false, message });
    if schedule.target != target.name {
        whole(format!("it is for {}, and the target is {}", schedule.target, target.name));
    }
    if schedule.versions.is_empty() {
        whole("it has no version".to_owned());
    }
    if schedule.versions.len() > MOST_VERSIONS {
        whole(format!("it has {} versions, and {MOST_VERSIONS} are the most", schedule.versions.len()));
    }
    for (number, version) in schedule.versions.iter().enumerate() {
        let mut found = Vec::new();
        match (version.when.is_empty(), number + 1 == schedule.versions.len()) {
            (true, false) => found.push((false, "it has no guard, so that none behind it ever runs".to_owned())),
            (false, true) => {
                found.push((false, "the last version has a guard, so that some launches have none".to_owned()))
            }
            _ => {}
        }
        if !version.when.is_empty() && target.cpu().is_none() {
            found.push((false, "guarded versions are those of a processor".to_owned()));
        }
        let of_lengths = guarded(kernel, &version.when);
        let kernel = match &of_lengths {
            Ok(own) => own,
            Err(why) => {
                found.push((false, why.clone()));
                kernel
            }
        };
        if version.narrow && target.cpu().is_some() {
            found.push((false, "narrow positions are those of a GPU".to_owned()));
        }
        let shared = version.nest.is_shared();
        // Tiles of a GPU find their totals as they find all else.
        let wants_totals = shared && scans_outermost(kernel) && target.cpu().is_some();
        match &version.totals {
            Some(totals) if wants_totals => {
                let sliced = totals_only(kernel);
                found.extend(nest(&sliced, totals, target).into_iter().map(|message| (true, message)));
            }
            Some(_) => found.push((false, "it has a nest for totals, and no tiles that threads share".to_owned())),
            None if wants_totals => {
                found.push((
                    false,
                    "threads share the tiles of a scan, and there is no nest for their totals".to_owned(),
                ));
            }
            None => {}
        }
        found.extend(nest(kernel, &version.nest, target).into_iter().map(|message| (false, message)));
        let fault = |(totals, message)| Fault { version: Some(number), totals, message };
        faults.extend(found.into_iter().map(fault));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults) }
}

/// What is wrong with a nest.
fn nest(kernel: &Kernel, nest: &Nest, target: &Target) -> Vec<String> {
    let leaves = match cover::leaves(kernel, nest) {
        Ok(leaves) => leaves,
        // Of a nest that names what there is not nothing else can be said.
        Err(faults) => return faults,
    };
    let mut faults = cover::faults(kernel, nest, &leaves);
    for form in &nest.forms {
        let Form::Unrolled { statement, turns } = *form else { continue };
        match trips(kernel, statement as usize) {
            Some(trips) if trips.turns == turns => {}
            Some(trips) => {
                faults.push(format!("the loop of statement {statement} makes {} turns and not {turns}", trips.turns))
            }
            None => faults.push(format!(
                "statement {statement} is no loop of a known number of turns, or of too many to stand in a row"
            )),
        }
    }
    match &target.machine {
        Machine::Cpu(cpu) => {
            leaves.iter().for_each(|leaf| faults.extend(bits::faults(kernel, nest, leaf, cpu)));
            faults.extend(partitions::faults(kernel, nest));
            faults.extend(copies::faults(kernel, nest));
            faults.extend(runs::faults(kernel, nest));
            faults.extend(appends::faults(kernel, nest));
            faults.extend(chains::faults(kernel, nest));
            let of_a_gpu =
                |form: &Form| matches!(form, Form::Private { .. } | Form::Staged { .. } | Form::Packed { .. });
            if nest.forms.iter().any(of_a_gpu) {
                faults.push("copies in shared memory, staged loads and packed pairs are those of a GPU".to_owned());
            }
        }
        Machine::Gpu(gpu) => match grid::read(kernel, nest) {
            _ if nest.partitioned().is_some() => {
                faults.push("elements of scatters are put aside on processors".to_owned());
            }
            _ if nest.copied().next().is_some() => {
                faults.push("threads have copies of the targets of scatters on processors".to_owned());
            }
            _ if nest.in_runs().next().is_some() => {
                faults.push("elements are packed and stored in runs on processors".to_owned());
            }
            _ if nest.whole().next().is_some() => {
                faults.push("appends store whole vectors on processors".to_owned());
            }
            _ if nest.chains().next().is_some() => {
                faults.push("reduces have one accumulator on processors".to_owned());
            }
            Err(fault) => faults.push(fault),
            Ok(grid) => {
                faults.extend(grid::faults(kernel, &grid, gpu));
                faults.extend(grid::faults_of_scatters(kernel, &grid, &nest.forms, gpu));
                faults.extend(grid::faults_of_tiles(kernel, &grid, &nest.forms));
                let shared = grid.shared_levels();
                let tiled = matches!(grid, grid::Grid::Tiled(_));
                for leaf in &leaves {
                    faults.extend(bits::faults_of_threads(kernel, nest, leaf, (shared, tiled)));
                }
            }
        },
    }
    faults.sort();
    faults.dedup();
    faults
}
