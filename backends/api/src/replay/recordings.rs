//! Which runs of a plan are recorded, and which are replayed.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use fusebox_ir::{ElementType, Extent, Plan, Step};

use super::Recording;
use crate::{Input, is_wanted, lock};

/// Extents of inputs that a plan remembers.
const REMEMBERED: usize = 4;

/// What a plan has for runs on inputs of extents that it had before.
#[derive(Debug, Default)]
pub struct Recordings {
    /// Whether steps are such that a run may depend on extents alone.
    may: bool,
    /// The latest last.
    seen: Mutex<Vec<Seen>>,
    /// Replays that did not come to their end.
    stopped: AtomicUsize,
}

/// Inputs that there were, and what a run on them asks of its machine.
#[derive(Debug)]
struct Seen {
    inputs: Vec<(ElementType, Vec<usize>)>,
    /// None before the second run, and where elements decide.
    recording: Option<Arc<Recording>>,
    /// Whether to record the next run that does not fail.
    record: bool,
}

/// How to run a plan.
#[derive(Debug)]
pub enum Course {
    /// As a recording says.
    Replay(Arc<Recording>),
    /// By its steps, and to be recorded.
    Record,
    /// By its steps.
    Steps,
}

impl Seen {
    fn is_of<I: Input>(&self, inputs: &[I]) -> bool {
        self.inputs.len() == inputs.len()
            && (self.inputs.iter().zip(inputs))
                .all(|((element, extents), input)| *element == input.element() && extents == input.extents())
    }
}

impl Recordings {
    /// For a plan.
    pub fn of(plan: &Plan) -> Self {
        let straight = |step: &Step| {
            !matches!(
                step,
                Step::If { .. }
                    | Step::While { .. }
                    | Step::Lanes { .. }
                    | Step::Sort { .. }
                    | Step::Truncate { .. }
                    | Step::Constant { .. }
            )
        };
        // An extent that an input gives as a number is told by no other extent.
        let by_extents = |extent: &Extent<_>| !matches!(extent, Extent::Value(id) if plan.inputs.contains(id));
        let extents = plan.values.iter().flat_map(|value| &value.ty.extents);
        Self { may: plan.steps.iter().all(straight) && extents.into_iter().all(by_extents), ..Self::default() }
    }

    /// Of how many extents of inputs there is a recording.
    pub fn recorded(&self) -> usize {
        lock(&self.seen).iter().filter(|seen| seen.recording.is_some()).count()
    }

    /// Counts a replay that did not come to its end: what it would have done is done by steps.
    pub fn count_stopped(&self) {
        self.stopped.fetch_add(1, Ordering::Relaxed);
    }

    /// How many replays did not come to their end, as what they did failed.
    pub fn stopped(&self) -> usize {
        self.stopped.load(Ordering::Relaxed)
    }

    /// How to run the plan on these inputs. Who asks what launches take is told by steps.
    pub fn course<I: Input>(&self, inputs: &[I]) -> Course {
        if !self.may || is_wanted() {
            return Course::Steps;
        }
        let mut seen = lock(&self.seen);
        let Some(position) = seen.iter().rposition(|seen| seen.is_of(inputs)) else {
            if seen.len() == REMEMBERED {
                seen.remove(0);
            }
            let inputs = inputs.iter().map(|input| (input.element(), input.extents().to_vec())).collect();
            seen.push(Seen { inputs, recording: None, record: true });
            return Course::Steps;
        };
        let own = &seen[position];
        match &own.recording {
            Some(recording) => Course::Replay(recording.clone()),
            None if own.record => Course::Record,
            None => Course::Steps,
        }
    }

    /// Keeps what was recorded of a run on these inputs; nothing: elements decide what it asks of its machine, and later ones are not recorded.
    pub fn keep<I: Input>(&self, inputs: &[I], recording: Option<Recording>) {
        if let Some(own) = lock(&self.seen).iter_mut().find(|seen| seen.is_of(inputs)) {
            own.record = false;
            own.recording = recording.map(Arc::new);
        }
    }
}
