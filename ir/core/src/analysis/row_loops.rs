//! Loops of a plan whose turns compute arrays row by row, each row out of nearby rows of the turn before (iterated stencils).
//!
//! Some turns of such a loop can be done over one strip of rows after another, while the rows of the strip are in a cache: a strip begins with
//! as many more rows as its turns reach beyond it (overlapped tiling; Krishnamoorthy et al., Effective Automatic Parallelization of
//! Stencil Computations, PLDI 2007).

use crate::{
    Extent, Operand, Plan, PlanOperand, Step, ValueId,
    analysis::kernels::{RowUse, by_row},
};

/// A loop whose arrays are computed row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLoop {
    /// What computes arrays in a turn, in order.
    pub launches: Vec<RowLaunch>,
    /// Positions in the body of all else: steps on scalars, which need none of the arrays.
    pub scalars: Vec<usize>,
    /// Positions in the state of the arrays, and the arrays that stand there after a turn.
    pub states: Vec<(usize, ValueId)>,
}

/// A launch in the body of a loop, or in a [`super::RowSequence`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLaunch {
    /// The position of its step in the body.
    pub step: usize,
    /// What it does with each array of the kernel; of those that no launch here writes [`RowUse::Anywhere`].
    pub uses: Vec<RowUse>,
    /// Which array of the kernel is in the memory of which: an array may have several names.
    pub arrays: Vec<ValueId>,
    /// Which size of the kernel is the number of rows, or `less` more.
    pub rows: usize,
    /// 1 where the size is that of the offsets of rows, else 0.
    pub less: i64,
}

/// How many rows above and below of an array launches need, one after the other, for one row of what is there after them: at most.
pub(super) fn reach(launches: &[RowLaunch]) -> (i64, i64) {
    let near = |uses: &RowLaunch| {
        uses.uses.iter().fold((0, 0), |(above, below), own| match *own {
            RowUse::Near { above: a, below: b } => (above.max(a), below.max(b)),
            RowUse::Written | RowUse::WritesSegment | RowUse::Segment | RowUse::Anywhere => (above, below),
        })
    };
    launches.iter().map(near).fold((0, 0), |(above, below), (a, b)| (above + a, below + b))
}

/// Why the turns of a loop are not done in strips.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotByRow {
    /// Nothing but scalars changes.
    #[error("no array is part of its state")]
    Scalars,
    /// The number of turns hangs on the arrays.
    #[error("whether there is another turn depends on `{0}`")]
    Condition(String),
    /// A launch combines rows, or reads rows that are not near.
    #[error("{0} needs more of `{1}` than nearby rows")]
    Launch(String, String),
    /// A launch combines rows or scatters.
    #[error("{0} does not compute each row by itself")]
    Kernel(String),
    /// A launch of rows reads a scalar that changes.
    #[error("{0} reads `{1}`, which is another one in each turn")]
    Changing(String, String),
    /// Something that is no launch has to do with the arrays.
    #[error("`{0}` is copied, sorted, renamed or computed in a branch")]
    Step(String),
}

impl RowLoop {
    /// Looks at a `while` of a plan. Other steps are no loops of rows.
    ///
    /// # Errors
    /// Why its turns cannot be done in strips.
    pub fn of(plan: &Plan, step: &Step) -> Result<Self, NotByRow> {
        let Step::While { state, condition_steps, condition: _, body, next } = step else {
            return Err(NotByRow::Scalars);
        };
        Looked { plan, state, condition_steps, body }.loop_of(next)
    }

    /// How many rows above and below of an array a turn needs for one row of what is there after it: at most.
    pub fn reach(&self) -> (i64, i64) {
        reach(&self.launches)
    }
}

struct Looked<'p> {
    plan: &'p Plan,
    state: &'p [ValueId],
    condition_steps: &'p [Step],
    body: &'p [Step],
}

impl Looked<'_> {
    fn loop_of(&self, next: &[PlanOperand]) -> Result<RowLoop, NotByRow> {
        if !self.state.iter().any(|&id| self.is_array(id)) {
            return Err(NotByRow::Scalars);
        }
        for step in self.condition_steps {
            self.no_rows(step).map_err(NotByRow::Condition)?;
        }
        let (mut launches, mut scalars) = (Vec::new(), Vec::new());
        for (position, step) in self.body.iter().enumerate() {
            match step {
                Step::Launch { kernel, sizes, arrays } if arrays.iter().any(|&id| self.changes(id)) => {
                    let name =
                        || self.plan.kernels.get(*kernel).map_or_else(String::new, |kernel| kernel.name.0.clone());
                    if let Some(size) = sizes.iter().find_map(|&size| self.made_here(size)) {
                        return Err(NotByRow::Changing(name(), self.name(size)));
                    }
                    launches.push(self.launch(position, *kernel, arrays)?);
                }
                Step::Allocate { value, .. } | Step::Free { value } if self.changes(*value) => {
                    let extents = self.plan.values.get(value.index()).map(|value| &value.ty.extents[..]);
                    if let Some(size) = extents.unwrap_or_default().iter().find_map(|&extent| self.made_here(extent)) {
                        return Err(NotByRow::Changing(self.name(*value), self.name(size)));
                    }
                }
                _ => {
                    self.no_rows(step).map_err(NotByRow::Step)?;
                    scalars.push(position);
                }
            }
        }
        let mut states: Vec<(usize, ValueId)> = Vec::new();
        for (position, (&id, next)) in self.state.iter().zip(next).enumerate() {
            if !self.is_array(id) {
                continue;
            }
            match *next {
                Operand::Value(value) if self.changes(value) && states.iter().all(|&(_, other)| other != value) => {
                    states.push((position, value));
                }
                _ => return Err(NotByRow::Step(self.name(id))),
            }
        }
        Ok(RowLoop { launches, scalars, states })
    }

    /// A launch that has to do with arrays that change.
    fn launch(&self, step: usize, kernel: usize, arrays: &[ValueId]) -> Result<RowLaunch, NotByRow> {
        let Some(declared) = self.plan.kernels.get(kernel) else { return Err(NotByRow::Kernel(String::new())) };
        let name = || declared.name.0.clone();
        // Loops over segments go on in order.
        let by_row = by_row(declared).filter(|own| own.less == 0 && own.offsets.is_none());
        let by_row = by_row.ok_or_else(|| NotByRow::Kernel(name()))?;
        let mut uses = Vec::with_capacity(arrays.len());
        for (&id, own) in arrays.iter().zip(by_row.uses) {
            uses.push(match (self.changes(id), own) {
                (true, RowUse::Anywhere) => return Err(NotByRow::Launch(name(), self.name(id))),
                (true, own) => {
                    if own == RowUse::Written && (self.state.contains(&id) || self.written_before(id, step)) {
                        return Err(NotByRow::Step(self.name(id)));
                    }
                    own
                }
                (false, RowUse::Written) => return Err(NotByRow::Kernel(name())),
                (false, _) if self.is_made(id) => return Err(NotByRow::Changing(name(), self.name(id))),
                (false, _) => RowUse::Anywhere,
            });
        }
        let rows = declared.sizes.iter().position(|size| size.id == by_row.rows);
        let rows = rows.ok_or_else(|| NotByRow::Kernel(name()))?;
        Ok(RowLaunch { step, uses, arrays: arrays.to_vec(), rows, less: 0 })
    }

    /// Whether another launch before a step of the body has the array.
    fn written_before(&self, id: ValueId, step: usize) -> bool {
        let launched = |step: &Step| matches!(step, Step::Launch { arrays, .. } if arrays.contains(&id));
        self.body[..step].iter().any(launched)
    }

    /// The name of an array that changes and that a step has to do with.
    fn no_rows(&self, step: &Step) -> Result<(), String> {
        let mut found = None;
        step.for_each_value(&mut |id| {
            if self.changes(id) {
                found.get_or_insert(id);
            }
        });
        // Arrays that steps inside of it make are made nowhere else.
        for inner in step.within() {
            found = found.or_else(|| inner.makes().iter().copied().find(|&id| self.is_array(id)));
        }
        found.map_or(Ok(()), |id| Err(self.name(id)))
    }

    fn is_array(&self, id: ValueId) -> bool {
        self.plan.values.get(id.index()).is_some_and(|value| !value.ty.extents.is_empty())
    }

    /// Whether it is an array of the state, or one that the body makes.
    fn changes(&self, id: ValueId) -> bool {
        self.is_array(id) && self.is_made(id)
    }

    fn is_made(&self, id: ValueId) -> bool {
        let mut steps = self.condition_steps.iter().chain(self.body).flat_map(Step::within);
        self.state.contains(&id) || steps.any(|step| step.makes().contains(&id))
    }

    fn made_here(&self, extent: Extent<ValueId>) -> Option<ValueId> {
        match extent {
            Extent::Value(id) if self.is_made(id) => Some(id),
            _ => None,
        }
    }

    fn name(&self, id: ValueId) -> String {
        self.plan.values.get(id.index()).map_or_else(|| id.to_string(), |value| value.name.clone())
    }
}
