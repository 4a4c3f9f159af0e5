//! Launches of a plan, one after the other, that compute arrays row by row, each row out of nearby rows of the arrays before.
//!
//! Such launches can be done over one strip of rows after another, while the rows of the strip are in a cache: then what one of them makes for
//! the next is never in memory as a whole. A softmax over rows needs three loops, one after the other, over each row; in strips they are one
//! pass over memory.

use std::collections::{BTreeMap, BTreeSet};

use super::row_loops::{RowLaunch, reach};
use crate::{
    Access, Extent, Kernel, Operand, Plan, PlanExtent, Step, ValueId,
    analysis::kernels::{RowUse, by_row},
};

/// So many launches at most are one sequence: more of them do not fit into a cache, and plans may have thousands.
const MOST_LAUNCHES: usize = 64;

/// Launches that compute arrays row by row, and what is between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSequence {
    /// How many steps there are: from the allocation of the first array that is made to the last launch, and what is freed behind it.
    pub steps: usize,
    /// In order.
    pub launches: Vec<RowLaunch>,
    /// Positions of steps that need none of the arrays: scalars and checks of sizes. They may come before all launches.
    pub before: Vec<usize>,
    /// The arrays that launches write, by the names that they are allocated by.
    pub arrays: Vec<ValueId>,
    /// Those of them that are there behind the last step.
    pub kept: Vec<ValueId>,
    /// Arrays from outside that launches read row by row.
    pub read: Vec<ValueId>,
    /// Where segments begin and end, if arrays are of segments.
    pub offsets: Option<ValueId>,
}

impl RowSequence {
    /// How many rows above and below of an array its launches need for one row of what is there after them: at most.
    pub fn reach(&self) -> (i64, i64) {
        reach(&self.launches)
    }
}

/// All sequences of a plan, in bodies of branches and loops too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSequences {
    /// By the value that their first step allocates, which no other step does.
    sequences: BTreeMap<ValueId, RowSequence>,
}

impl RowSequences {
    /// Finds the sequences whose kernels, by position, are ones of which a machine can run some rows alone.
    pub fn of(plan: &Plan, has_rows: impl Fn(usize) -> bool) -> Self {
        let mut sequences = BTreeMap::new();
        let mut allocated = BTreeMap::<ValueId, usize>::new();
        for steps in plan.lists() {
            let mut position = 0;
            while let Some(step) = steps.get(position) {
                let found = match step {
                    Step::Allocate { value, .. } => {
                        *allocated.entry(*value).or_default() += 1;
                        let found = sequence(plan, &steps[position..], &has_rows);
                        found.map(|found| (*value, found))
                    }
                    _ => None,
                };
                position += 1;
                if let Some((first, found)) = found {
                    for step in &steps[position..position - 1 + found.steps] {
                        if let Step::Allocate { value, .. } = step {
                            *allocated.entry(*value).or_default() += 1;
                        }
                    }
                    position += found.steps - 1;
                    sequences.insert(first, found);
                }
            }
        }
        sequences.retain(|id, _| allocated.get(id) == Some(&1));
        Self { sequences }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// The sequence that begins with a step.
    pub fn at(&self, step: &Step) -> Option<&RowSequence> {
        match step {
            Step::Allocate { value, .. } if !self.sequences.is_empty() => self.sequences.get(value),
            _ => None,
        }
    }

    /// The steps of each sequence.
    pub fn all<'p>(&self, plan: &'p Plan) -> Vec<(&RowSequence, &'p [Step])> {
        let of = |steps: &'p [Step]| {
            let found = move |(first, step): (usize, &'p Step)| Some((first, self.at(step)?));
            let found = steps.iter().enumerate().filter_map(found);
            found.map(|(first, sequence)| (sequence, &steps[first..][..sequence.steps])).collect::<Vec<_>>()
        };
        plan.lists().into_iter().flat_map(of).collect()
    }
}

/// The sequence that begins with the first of these steps, if launches of it read what others of it write.
fn sequence(plan: &Plan, steps: &[Step], has_rows: &impl Fn(usize) -> bool) -> Option<RowSequence> {
    let mut looked = Looked::new(plan);
    let first = steps.first()?.makes().first()?;
    if looked.extents(*first).is_empty() {
        return None;
    }
    let mut end = 0;
    for (position, step) in steps.iter().enumerate() {
        if looked.add(position, step, has_rows).is_none() {
            break;
        }
        // Only what is freed behind a launch says whether an array is there afterwards.
        let is_launch = looked.launches.last().is_some_and(|launch| launch.step == position);
        if is_launch || (end == position && matches!(step, Step::Free { .. })) {
            end = position + 1;
        }
    }
    if looked.launches.len() < 2 {
        return None;
    }
    let mut looked = Looked::new(plan);
    for (position, step) in steps[..end].iter().enumerate() {
        looked.add(position, step, has_rows)?;
    }
    if looked.read.is_empty() {
        return None;
    }
    let mut kept: Vec<ValueId> = looked.names.into_values().collect();
    kept.sort_unstable();
    kept.dedup();
    // What nobody needs is not made in strips, and then does not fail there.
    if looked.written.iter().any(|id| !looked.read.contains(id) && !kept.contains(id)) {
        return None;
    }
    Some(RowSequence {
        steps: end,
        launches: looked.launches,
        before: looked.before,
        arrays: looked.written.into_iter().collect(),
        kept,
        read: looked.from_outside.into_iter().collect(),
        offsets: looked.offsets,
    })
}

/// What is known of the steps so far.
struct Looked<'p> {
    plan: &'p Plan,
    launches: Vec<RowLaunch>,
    before: Vec<usize>,
    /// Names that arrays have which steps allocate, and the names that they are allocated by.
    names: BTreeMap<ValueId, ValueId>,
    /// Of these, the arrays that are written.
    written: BTreeSet<ValueId>,
    /// And those that another launch reads.
    read: BTreeSet<ValueId>,
    /// Arrays from outside that launches read row by row.
    from_outside: BTreeSet<ValueId>,
    /// Scalars and other values that steps before all launches make.
    scalars: BTreeSet<ValueId>,
    /// The number of rows.
    rows: Option<PlanExtent>,
    offsets: Option<ValueId>,
    /// Whether an array from outside is freed: what is allocated after that might have its memory, and does not in strips.
    freed: bool,
}

impl<'p> Looked<'p> {
    fn new(plan: &'p Plan) -> Self {
        Self {
            plan,
            launches: Vec::new(),
            before: Vec::new(),
            names: BTreeMap::new(),
            written: BTreeSet::new(),
            read: BTreeSet::new(),
            from_outside: BTreeSet::new(),
            scalars: BTreeSet::new(),
            rows: None,
            offsets: None,
            freed: false,
        }
    }

    /// Goes on with a step, if it may be part of the sequence.
    fn add(&mut self, position: usize, step: &Step, has_rows: &impl Fn(usize) -> bool) -> Option<()> {
        match step {
            Step::Allocate { value, in_place_of, .. } => {
                let extents = self.extents(*value);
                if extents.iter().any(|&extent| self.is_made(extent)) {
                    return None;
                }
                if extents.is_empty() {
                    self.ahead(position, step);
                } else {
                    let own = in_place_of.is_none_or(|source| self.names.contains_key(&source));
                    (own && !self.freed).then_some(())?;
                    self.names.insert(*value, *value);
                }
            }
            Step::Launch { kernel, sizes, arrays } => {
                let declared = self.plan.kernels.get(*kernel)?;
                let of_arrays = arrays.iter().any(|id| self.names.contains_key(id));
                if of_arrays {
                    let launch = self.launch(position, (*kernel, declared), sizes, arrays, has_rows)?;
                    self.launches.push(launch);
                    (self.launches.len() <= MOST_LAUNCHES).then_some(())?;
                } else {
                    // Whatever else it writes is a scalar of these steps.
                    let written = arrays.iter().zip(&declared.arrays).filter(|(_, own)| own.access != Access::Read);
                    let scalars = written.map(|(id, _)| id).all(|id| self.scalars.contains(id));
                    (scalars && declared.levels.is_empty()).then_some(())?;
                    self.ahead(position, step);
                }
            }
            Step::Alias { value, source, .. } => match source {
                Operand::Value(source) if self.names.contains_key(source) => {
                    let rows = self.extents(*value).first().copied();
                    (rows.is_some() && rows == self.extents(*source).first().copied()).then_some(())?;
                    self.names.insert(*value, self.names[source]);
                }
                _ => self.ahead(position, step),
            },
            Step::Free { value } => {
                let own = self.names.remove(value).is_some() || self.scalars.contains(value);
                self.freed |= !own && !self.extents(*value).is_empty();
            }
            Step::Constant { .. }
            | Step::CheckEqual { .. }
            | Step::CheckAtMost { .. }
            | Step::CheckNotNegative { .. } => self.ahead(position, step),
            Step::Truncate { .. }
            | Step::Copy { .. }
            | Step::Sort { .. }
            | Step::If { .. }
            | Step::While { .. }
            | Step::Lanes { .. } => return None,
        }
        Some(())
    }

    /// A step that may come before all launches.
    fn ahead(&mut self, position: usize, step: &Step) {
        self.before.push(position);
        self.scalars.extend(step.makes());
    }

    /// A launch that has to do with the arrays.
    fn launch(
        &mut self,
        step: usize,
        (kernel, declared): (usize, &Kernel),
        sizes: &[PlanExtent],
        arrays: &[ValueId],
        has_rows: &impl Fn(usize) -> bool,
    ) -> Option<RowLaunch> {
        let own = by_row(declared).filter(|_| has_rows(kernel))?;
        let rows = declared.sizes.iter().position(|size| size.id == own.rows)?;
        if sizes.iter().any(|&size| self.is_made(size)) {
            return None;
        }
        let mut count = (own.less == 0).then(|| sizes.get(rows).copied()).flatten();
        let (mut bases, mut uses) = (Vec::with_capacity(arrays.len()), Vec::with_capacity(arrays.len()));
        let mut writes = Vec::new();
        for (&id, own) in arrays.iter().zip(own.uses) {
            let base = self.names.get(&id).copied();
            let own = match (base, own) {
                (Some(base), own) if own.is_written() => {
                    // An array that another launch has read or written holds what that left there.
                    (id == base && !self.is_launched(base)).then_some(())?;
                    writes.push(base);
                    own
                }
                (Some(base), RowUse::Near { .. } | RowUse::Segment) => {
                    self.written.contains(&base).then_some(())?;
                    self.read.insert(base);
                    own
                }
                (Some(_), _) => return None,
                (None, own) if own.is_written() => return None,
                (None, own) => {
                    if own != RowUse::Anywhere {
                        self.from_outside.insert(id);
                    }
                    RowUse::Anywhere
                }
            };
            if matches!(own, RowUse::Written | RowUse::Near { .. }) {
                count = count.or_else(|| self.extents(id).first().copied());
            }
            bases.push(base.unwrap_or(id));
            uses.push(own);
        }
        if let Some(count) = count {
            (*self.rows.get_or_insert(count) == count).then_some(())?;
        }
        if uses.iter().any(|own| own.is_of_segments()) {
            let offsets = *arrays.get(own.offsets?.index())?;
            (*self.offsets.get_or_insert(offsets) == offsets).then_some(())?;
        }
        self.written.extend(writes);
        Some(RowLaunch { step, uses, arrays: bases, rows, less: own.less })
    }

    fn is_launched(&self, base: ValueId) -> bool {
        self.launches.iter().any(|launch| launch.arrays.contains(&base))
    }

    fn extents(&self, id: ValueId) -> &'p [PlanExtent] {
        self.plan.values.get(id.index()).map(|value| &value.ty.extents[..]).unwrap_or_default()
    }

    /// Whether the steps make what an extent is: then it is not known when the sequence begins.
    fn is_made(&self, extent: PlanExtent) -> bool {
        matches!(extent, Extent::Value(id) if self.scalars.contains(&id))
    }
}
