//! How threads of a GPU combine into targets that others combine into: in copies of their block, in words that hold a pair.

use fusebox_ir::{
    Action, Kernel, KernelArray, KernelArrayId, KernelExtent, Lambda, ScatterOrder,
    analysis::algebra::{built_ins, identities},
};

use super::{Grid, cannot_fail, is_exact, limits::MOST_SHARED};
use crate::{choose::Choice, form::Form, target::Gpu};

/// Bytes of copies of targets in shared memory that are chosen at most: so many leave room for several blocks on a multiprocessor.
const MOST_CHOSEN: u64 = 16 << 10;
/// Targets of a copy at most: each block combines all of them into the others' at its end.
const MOST_CELLS: u64 = 2048;

/// A scatter that several threads carry out at once.
struct Scatter<'k> {
    kernel: &'k Kernel,
    position: usize,
    arrays: &'k [KernelArrayId],
    combine: &'k Lambda,
}

impl<'k> Scatter<'k> {
    /// The statement, if it is one, in a grid whose threads know nothing of each other.
    fn of(kernel: &'k Kernel, grid: &Grid, position: usize) -> Result<Self, &'static str> {
        let Some(statement) = kernel.statements.get(position) else { return Err("there is no such statement") };
        let Action::Scatter { arrays, combine, order, .. } = &statement.action else {
            return Err("it is no scatter");
        };
        if !matches!(grid, Grid::Points { .. } | Grid::ShortOrLong { .. }) || statement.depth == 0 {
            return Err("its elements do not come from points that threads take");
        }
        let shares = |other: usize| match &kernel.statements[other].action {
            Action::Scatter { arrays: others, .. } => arrays.iter().any(|array| others.contains(array)),
            _ => false,
        };
        if (0..kernel.statements.len()).any(|other| other != position && shares(other)) {
            return Err("another scatter has the same targets");
        }
        if *order != ScatterOrder::Any || !is_exact(combine) {
            return Err("its order is fixed, or nobody shares its targets");
        }
        Ok(Self { kernel, position, arrays, combine })
    }

    fn target(&self, array: KernelArrayId) -> &'k KernelArray {
        &self.kernel.arrays[array.index()]
    }

    /// Bytes of a target in a copy.
    fn bytes(&self) -> u64 {
        self.arrays.iter().map(|&array| self.target(array).element.bytes() as u64).sum()
    }

    /// How many targets there are, if that is known.
    fn targets(&self) -> Option<u64> {
        let first = self.target(*self.arrays.first()?);
        let mut extents = first.extents.iter().map(|extent| match extent {
            KernelExtent::Constant(extent) => u64::try_from(*extent).ok(),
            KernelExtent::Size(_) => None,
        });
        extents.try_fold(1u64, |product, extent| product.checked_mul(extent?))
    }

    /// Bytes of shared memory of a copy of so many targets, an array behind the other.
    fn room(&self, cells: u64) -> u64 {
        let bytes = |&array: &KernelArrayId| (cells * self.target(array).element.bytes() as u64).next_multiple_of(8);
        self.arrays.iter().map(bytes).sum()
    }

    /// Whether a block may have a copy of its targets.
    fn may_be_private(&self) -> Result<(), &'static str> {
        match identities(self.combine) {
            Some(_) => Ok(()),
            None => Err("what a copy begins with is not known: the function has no known identity"),
        }
    }

    /// Whether its two values may be one word.
    fn may_be_packed(&self) -> Result<(), &'static str> {
        if built_ins(self.combine).is_some() {
            return Err("each component is combined by itself");
        }
        let whole = |&array: &KernelArrayId| {
            let element = self.target(array).element;
            element.bits() == 32
        };
        if self.arrays.len() != 2 || !self.arrays.iter().all(whole) {
            return Err("its values are no two of 32 bits");
        }
        if cannot_fail(self.combine) { Ok(()) } else { Err("combining may fail") }
    }
}

/// What is wrong with the forms of scatters.
pub fn faults_of_scatters(kernel: &Kernel, grid: &Grid, forms: &[Form], gpu: &Gpu) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    let mut room = 0;
    for form in forms {
        let (statement, what) = match *form {
            Form::Private { statement, .. } => (statement, "has copies in shared memory"),
            Form::Packed { statement } => (statement, "packs pairs"),
            _ => continue,
        };
        if seen.contains(&statement) {
            faults.push(format!("statement {statement} has two forms"));
        }
        seen.push(statement);
        let checked = Scatter::of(kernel, grid, statement as usize).and_then(|scatter| match *form {
            Form::Private { cells, .. } => {
                room += scatter.room(cells.into());
                if cells % 8 == 0 { scatter.may_be_private() } else { Err("its copies are no whole words") }
            }
            _ => scatter.may_be_packed(),
        });
        if let Err(why) = checked {
            faults.push(format!("statement {statement} {what}: {why}"));
        }
    }
    let most = MOST_SHARED.min(gpu.shared_bytes.into());
    if room > most {
        faults.push(format!("copies of targets take {room} bytes of shared memory, and there are {most}"));
    }
    faults
}

/// How scatters are carried out best in a grid, with the reasons.
pub fn scatter_forms(kernel: &Kernel, grid: &Grid, choices: &mut Vec<Choice>) -> Vec<Form> {
    let mut forms = Vec::new();
    let mut left = MOST_CHOSEN;
    for position in 0..kernel.statements.len() {
        let Ok(scatter) = Scatter::of(kernel, grid, position) else { continue };
        let statement = scatter.position as u32;
        let mut say = |chosen: String, because: &str, instead: String| {
            let about = format!("the scatter of statement {position}");
            choices.push(Choice { about, chosen, because: because.to_owned(), instead_of: vec![instead] });
        };
        if scatter.may_be_packed().is_ok() {
            say(
                "its pairs are words of 64 bits".to_owned(),
                "one instruction swaps both values, and nobody waits for a lock",
                "locks".to_owned(),
            );
            forms.push(Form::Packed { statement });
            continue;
        }
        if scatter.may_be_private().is_err() {
            continue;
        }
        let copies = "a copy of its targets in the shared memory of each block".to_owned();
        let most = (left / scatter.bytes().max(1)).min(MOST_CELLS);
        let most = most / 8 * 8;
        let cells = scatter.targets().map_or(most.max(1), |targets| targets.next_multiple_of(8));
        if cells > most {
            say("into the targets themselves".to_owned(), &format!("a copy has at most {most} targets"), copies);
            continue;
        }
        left = left.saturating_sub(scatter.room(cells));
        say(
            format!("{copies}, in launches in which there are at most {cells}"),
            "threads of other blocks are not waited for, and a block combines each of its targets once at its end",
            "into the targets themselves: all threads meet there".to_owned(),
        );
        forms.push(Form::Private { statement, cells: cells as u32 });
    }
    forms
}
