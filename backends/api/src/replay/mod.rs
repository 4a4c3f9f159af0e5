//! Runs whose course depends on the extents of their inputs alone: recorded once, and replayed from then on.
//!
//! Most plans are steps without loops and branches, in which no element decides an extent. Two runs of such a plan on inputs of the same extents
//! ask the same of their machine: the same memory, the same launches, in the same order. A recording is that list. Replaying it leaves out what a
//! run finds out on the way (extents, checks of them, what may be written in place, what is used no more), which takes longer than a small kernel.

mod recorder;
mod recordings;

use fusebox_ir::{Constant, ElementType, Output, Plan, ValueId};
use smallvec::SmallVec;

pub use self::recordings::{Course, Recordings};

use self::recorder::{Numbered, Recorder};
use crate::{
    BackendError, Extents, Few, Given, Launch, LaunchArray, Machine, Statistics, Stored, Values, execute::execute,
};

/// What a run asked of its machine, in order.
#[derive(Debug)]
pub struct Recording {
    acts: Vec<Act>,
    /// How many buffers there are at one time, at most.
    buffers: usize,
    statistics: Statistics,
}

/// The number of a buffer of a run. Numbers of buffers that are gone are given again.
type Number = usize;

/// One thing that a run asks of its machine.
#[derive(Debug)]
enum Act {
    /// Memory for an array.
    Allocate { buffer: Number, name: String, element: ElementType, extents: SmallVec<[usize; 4]> },
    /// Memory for a number of the plan.
    Constant { buffer: Number, constant: Constant },
    /// The first `count` elements of one to another, behind the first `at`.
    Copy { from: Number, to: Number, element: ElementType, count: usize, at: usize },
    /// Launches that may run at once; mostly one.
    Launch(SmallVec<[LaunchAct; 1]>),
    /// A result, whose memory may be that of another result too.
    Result { buffer: Number, is_shared: bool, element: ElementType, extents: Extents },
    /// Nobody uses it any more.
    Release(Number),
}

/// A launch.
#[derive(Debug)]
struct LaunchAct {
    kernel: usize,
    sizes: Few<i64>,
    arrays: Few<ArrayAct>,
}

/// An array of a launch, as in [`LaunchArray`].
#[derive(Clone, Copy, Debug)]
enum ArrayAct {
    Read(Number),
    Write(Number),
    InPlace(usize),
}

impl Recording {
    /// Runs a plan as [`crate::execute()`] does, and records the run; no recording if something in it depended on elements.
    ///
    /// # Errors
    /// As `execute`.
    pub fn record<M: Machine>(
        machine: &M,
        plan: &Plan,
        sizes: &[(ValueId, i64)],
        inputs: impl Iterator<Item = Stored<M::Buffer>>,
        mut result: impl FnMut(Stored<Given<'_, M::Buffer>>, &Output<ValueId>) -> Result<(), BackendError>,
    ) -> Result<(Statistics, Option<Self>), BackendError> {
        let recorder = Recorder::new(machine);
        let inputs = inputs.map(|stored| Ok(recorder.input(stored)));
        let mut result = |stored: Stored<Given<'_, Numbered<M::Buffer>>>, output: &Output<ValueId>| {
            result(recorder.result(stored), output)
        };
        let statistics = execute(&recorder, plan, &mut Values::default(), sizes, inputs, &mut result)?;
        Ok((statistics, recorder.written().map(|(acts, buffers)| Self { acts, buffers, statistics })))
    }

    /// Does the same again for the same plan, with other elements of the same extents; nothing if it fails. What that failure is, a run of the plan says.
    pub fn replay<M: Machine>(
        &self,
        machine: &M,
        plan: &Plan,
        values: &mut Values<M::Buffer>,
        inputs: impl Iterator<Item = M::Buffer>,
        result: impl FnMut(Stored<Given<'_, M::Buffer>>, &Output<ValueId>) -> Result<(), BackendError>,
    ) -> Option<Statistics> {
        let buffers = &mut values.by_number;
        buffers.extend(inputs.map(Some));
        buffers.resize_with(self.buffers, || None);
        let done = self.acts(machine, &plan.outputs, buffers, result);
        buffers.drain(..).flatten().for_each(|buffer| machine.release(buffer));
        done.map(|()| self.statistics)
    }

    fn acts<M: Machine>(
        &self,
        machine: &M,
        outputs: &[Output<ValueId>],
        buffers: &mut [Option<M::Buffer>],
        mut result: impl FnMut(Stored<Given<'_, M::Buffer>>, &Output<ValueId>) -> Result<(), BackendError>,
    ) -> Option<()> {
        let mut outputs = outputs.iter();
        for act in &self.acts {
            match act {
                Act::Allocate { buffer, name, element, extents } => {
                    buffers[*buffer] = Some(machine.allocate(name, *element, extents).ok()??);
                }
                Act::Constant { buffer, constant } => buffers[*buffer] = Some(machine.constant(*constant).ok()?),
                Act::Copy { from, to, element, count, at } => {
                    let mut target = buffers[*to].take()?;
                    let copied = machine.copy((buffers[*from].as_ref()?, &mut target), *element, *count, *at);
                    buffers[*to] = Some(target);
                    copied.ok()?;
                }
                Act::Launch(launches) => launch(machine, launches, buffers)?,
                Act::Result { buffer, is_shared, element, extents } => {
                    let (element, extents) = (*element, extents.clone());
                    let buffer = match is_shared {
                        true => Given::Shared(buffers[*buffer].as_ref()?),
                        false => Given::Own(buffers[*buffer].take()?),
                    };
                    result(Stored { buffer, element, extents, scalar: None }, outputs.next()?).ok()?;
                }
                Act::Release(buffer) => machine.release(buffers[*buffer].take()?),
            }
        }
        Some(())
    }
}

/// Launches that may run at once. What they write is taken out of the buffers meanwhile.
fn launch<M: Machine>(machine: &M, launches: &[LaunchAct], buffers: &mut [Option<M::Buffer>]) -> Option<()> {
    let arrays = || launches.iter().flat_map(|launch| &launch.arrays);
    let mut written: Few<Option<M::Buffer>> = Few::new();
    written
        .extend(arrays().map(|array| if let ArrayAct::Write(number) = array { buffers[*number].take() } else { None }));
    let mut own = written.iter_mut();
    let all: Option<Few<Launch<'_, M::Buffer>>> = launches.iter().map(|launch| launch.on(buffers, &mut own)).collect();
    let launched = all.and_then(|mut all| {
        let launched = match all.len() {
            1 => machine.launch(all.pop()?),
            _ => machine.launch_all(all),
        };
        launched.ok()
    });
    for (array, buffer) in arrays().zip(written) {
        if let ArrayAct::Write(number) = array {
            buffers[*number] = buffer;
        }
    }
    launched
}

impl LaunchAct {
    /// The launch: on buffers, and on what it writes, which is next for each of its arrays.
    fn on<'b, B: 'b>(
        &'b self,
        buffers: &'b [Option<B>],
        written: &mut impl Iterator<Item = &'b mut Option<B>>,
    ) -> Option<Launch<'b, B>> {
        let mut arrays = Few::new();
        for (array, own) in self.arrays.iter().zip(written) {
            arrays.push(match *array {
                ArrayAct::Read(number) => LaunchArray::Read(buffers[number].as_ref()?),
                ArrayAct::Write(_) => LaunchArray::Write(own.as_mut()?),
                ArrayAct::InPlace(position) => LaunchArray::InPlace(position),
            });
        }
        Some(Launch { kernel: self.kernel, sizes: &self.sizes, arrays })
    }
}
