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
    BackendError, Few, Given, Launch, LaunchArray, Machine, Statistics, Stored, Values,
    execute::{Extents, execute},
};

/// What a run asked of its machine, in order.
#[derive(Debug)]
pub struct Recording {
    acts: Vec<Act>,
    statistics: Statistics,
}

/// The number of a buffer of a run: inputs first, then what is made, in order.
type Number = usize;

/// One thing that a run asks of its machine.
#[derive(Debug)]
enum Act {
    /// Memory for an array, which gets the next number.
    Allocate { name: String, element: ElementType, extents: SmallVec<[usize; 4]> },
    /// Memory for a number of the plan, which gets the next number.
    Constant(Constant),
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

/// Memory of a replay, by number.
type Slots<B> = SmallVec<[Option<B>; 12]>;

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
        Ok((statistics, recorder.acts().map(|acts| Self { acts, statistics })))
    }

    /// Does the same again, with other elements of the same extents; nothing if it fails. What that failure is, a run of the plan says.
    pub fn replay<M: Machine>(
        &self,
        machine: &M,
        inputs: impl Iterator<Item = M::Buffer>,
        mut result: impl FnMut(Stored<Given<'_, M::Buffer>>, usize) -> Result<(), BackendError>,
    ) -> Option<Statistics> {
        let mut slots: Slots<M::Buffer> = inputs.map(Some).collect();
        let mut results = 0;
        let done = self.acts.iter().try_for_each(|act| {
            match act {
                Act::Allocate { name, element, extents } => {
                    slots.push(Some(machine.allocate(name, *element, extents).ok()??));
                }
                Act::Constant(constant) => slots.push(Some(machine.constant(*constant).ok()?)),
                Act::Copy { from, to, element, count, at } => {
                    let mut target = slots[*to].take()?;
                    let copied =
                        slots[*from].as_ref().map(|from| machine.copy((from, &mut target), *element, *count, *at));
                    slots[*to] = Some(target);
                    copied?.ok()?;
                }
                Act::Launch(launches) => match &launches[..] {
                    [launch] => machine.launch(launch.on(&mut slots)?).ok()?,
                    launches => at_once(machine, launches, &mut slots)?,
                },
                Act::Result { buffer, is_shared, element, extents } => {
                    let (element, extents) = (*element, extents.clone());
                    let buffer = if *is_shared {
                        Given::Shared(slots[*buffer].as_ref()?)
                    } else {
                        Given::Own(slots[*buffer].take()?)
                    };
                    result(Stored { buffer, element, extents, scalar: None }, results).ok()?;
                    results += 1;
                }
                Act::Release(buffer) => machine.release(slots[*buffer].take()?),
            }
            Some(())
        });
        slots.into_iter().flatten().for_each(|buffer| machine.release(buffer));
        done.map(|()| self.statistics)
    }
}

/// What a launch may borrow of each buffer, until it has it.
type Lent<'s, B> = SmallVec<[Option<&'s mut B>; 12]>;

impl LaunchAct {
    /// The launch, on buffers of a run.
    fn on<'s, B>(&'s self, slots: &'s mut Slots<B>) -> Option<Launch<'s, B>> {
        let mut lent: Lent<'s, B> = slots.iter_mut().map(Option::as_mut).collect();
        let mut arrays = Few::new();
        self.written(&mut lent, &mut arrays);
        let read: SmallVec<[Option<&'s B>; 12]> = lent.into_iter().map(|own| own.map(|own| &*own)).collect();
        self.read(&read, arrays)
    }

    /// The arrays that it writes, which nobody else has meanwhile.
    fn written<'s, B>(&self, lent: &mut Lent<'s, B>, arrays: &mut Few<Option<LaunchArray<'s, B>>>) {
        arrays.extend(self.arrays.iter().map(|array| match *array {
            ArrayAct::Write(number) => lent[number].take().map(LaunchArray::Write),
            ArrayAct::InPlace(position) => Some(LaunchArray::InPlace(position)),
            ArrayAct::Read(_) => None,
        }));
    }

    /// With what it reads.
    fn read<'s, B>(
        &'s self,
        lent: &[Option<&'s B>],
        written: Few<Option<LaunchArray<'s, B>>>,
    ) -> Option<Launch<'s, B>> {
        let mut arrays = Few::new();
        for (array, written) in self.arrays.iter().zip(written) {
            arrays.push(match (written, *array) {
                (Some(written), _) => written,
                (None, ArrayAct::Read(number)) => LaunchArray::Read(lent[number]?),
                (None, _) => return None,
            });
        }
        Some(Launch { kernel: self.kernel, sizes: &self.sizes, arrays })
    }
}

/// Launches that need nothing of each other.
fn at_once<M: Machine>(machine: &M, launches: &[LaunchAct], slots: &mut Slots<M::Buffer>) -> Option<()> {
    let mut lent: Lent<'_, M::Buffer> = slots.iter_mut().map(Option::as_mut).collect();
    let mut written = Few::new();
    for launch in launches {
        let mut arrays = Few::new();
        launch.written(&mut lent, &mut arrays);
        written.push(arrays);
    }
    let read: SmallVec<[Option<&M::Buffer>; 12]> = lent.into_iter().map(|own| own.map(|own| &*own)).collect();
    let launches = launches.iter().zip(written).map(|(launch, written)| launch.read(&read, written));
    let launches: Few<Launch<'_, M::Buffer>> = launches.collect::<Option<_>>()?;
    machine.launch_all(launches).ok()
}
