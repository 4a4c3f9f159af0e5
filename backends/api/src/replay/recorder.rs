//! A machine that writes down what it is asked.

use std::cell::RefCell;

use fusebox_ir::{Constant, ElementType, Step, ValueId, analysis::RowSequence};

use super::{Act, ArrayAct, LaunchAct, Number};
use crate::{BackendError, Few, Given, Launch, LaunchArray, Machine, RowShape, Sort, Stored};

/// A machine that has another do what it is asked, and writes it down.
pub(super) struct Recorder<'m, M> {
    machine: &'m M,
    log: RefCell<Log>,
}

#[derive(Default)]
struct Log {
    acts: Vec<Act>,
    /// Numbers of buffers that are gone.
    free: Vec<Number>,
    /// How many numbers there are.
    numbers: usize,
    /// Whether the run depends on elements, or does what is not written down.
    is_incomplete: bool,
}

/// A buffer, and its number.
#[derive(Debug)]
pub(super) struct Numbered<B> {
    number: Number,
    buffer: B,
}

impl<'m, M: Machine> Recorder<'m, M> {
    pub(super) fn new(machine: &'m M) -> Self {
        Self { machine, log: RefCell::default() }
    }

    /// What was written down, and how many numbers there are; nothing if not all was.
    pub(super) fn written(self) -> Option<(Vec<Act>, usize)> {
        let Log { acts, numbers, is_incomplete, .. } = self.log.into_inner();
        (!is_incomplete).then_some((acts, numbers))
    }

    pub(super) fn input(&self, stored: Stored<M::Buffer>) -> Stored<Numbered<M::Buffer>> {
        let Stored { buffer, element, extents, scalar } = stored;
        Stored { buffer: self.numbered(buffer), element, extents, scalar }
    }

    pub(super) fn result<'b>(&self, stored: Stored<Given<'b, Numbered<M::Buffer>>>) -> Stored<Given<'b, M::Buffer>> {
        let Stored { buffer, element, extents, scalar } = stored;
        let (number, is_shared, buffer) = match buffer {
            Given::Own(Numbered { number, buffer }) => {
                self.forget(number);
                (number, false, Given::Own(buffer))
            }
            Given::Shared(Numbered { number, buffer }) => (*number, true, Given::Shared(buffer)),
        };
        self.write(Act::Result { buffer: number, is_shared, element, extents: extents.clone() });
        Stored { buffer, element, extents, scalar }
    }

    fn numbered(&self, buffer: M::Buffer) -> Numbered<M::Buffer> {
        let mut log = self.log.borrow_mut();
        let number = log.free.pop().unwrap_or_else(|| {
            log.numbers += 1;
            log.numbers - 1
        });
        Numbered { number, buffer }
    }

    /// Nobody has the buffer of this number any more.
    fn forget(&self, number: Number) {
        self.log.borrow_mut().free.push(number);
    }

    fn write(&self, act: Act) {
        self.log.borrow_mut().acts.push(act);
    }

    /// What is asked now is not written down.
    fn leave_out(&self) {
        self.log.borrow_mut().is_incomplete = true;
    }
}

/// What to write down of a launch, and the launch of what has no numbers.
fn plain<'a, B>(launch: Launch<'a, Numbered<B>>) -> (LaunchAct, Launch<'a, B>) {
    let Launch { kernel, sizes, arrays } = launch;
    let (mut acts, mut plain) = (Few::new(), Few::new());
    for array in arrays {
        let (act, array) = match array {
            LaunchArray::Read(Numbered { number, buffer }) => (ArrayAct::Read(*number), LaunchArray::Read(buffer)),
            LaunchArray::Write(Numbered { number, buffer }) => (ArrayAct::Write(*number), LaunchArray::Write(buffer)),
            LaunchArray::InPlace(position) => (ArrayAct::InPlace(position), LaunchArray::InPlace(position)),
        };
        acts.push(act);
        plain.push(array);
    }
    (LaunchAct { kernel, sizes: sizes.into(), arrays: acts }, Launch { kernel, sizes, arrays: plain })
}

fn unnumbered<B>(arrays: Vec<(ElementType, &Numbered<B>)>) -> Vec<(ElementType, &B)> {
    arrays.into_iter().map(|(element, own)| (element, &own.buffer)).collect()
}

impl<M: Machine> Machine for Recorder<'_, M> {
    type Buffer = Numbered<M::Buffer>;

    fn allocate(
        &self,
        name: &str,
        element: ElementType,
        extents: &[usize],
    ) -> Result<Option<Self::Buffer>, BackendError> {
        let Some(buffer) = self.machine.allocate(name, element, extents)? else { return Ok(None) };
        let own = self.numbered(buffer);
        let (buffer, name, extents) = (own.number, name.to_owned(), extents.into());
        self.write(Act::Allocate { buffer, name, element, extents });
        Ok(Some(own))
    }

    fn instructions_on_host(&self) -> usize {
        self.machine.instructions_on_host()
    }

    fn bytes(&self, buffer: &Self::Buffer) -> usize {
        self.machine.bytes(&buffer.buffer)
    }

    fn constant(&self, constant: Constant) -> Result<Self::Buffer, BackendError> {
        let own = self.numbered(self.machine.constant(constant)?);
        self.write(Act::Constant { buffer: own.number, constant });
        Ok(own)
    }

    fn written_out(
        &self,
        value: ValueId,
        element: ElementType,
        extents: &[i64],
        data: &[Constant],
    ) -> Result<Self::Buffer, BackendError> {
        self.leave_out();
        self.machine.written_out(value, element, extents, data).map(|buffer| self.numbered(buffer))
    }

    /// What the host knows of an element may decide anything.
    fn scalar(&self, buffer: &Self::Buffer, element: ElementType) -> Result<Constant, BackendError> {
        self.leave_out();
        self.machine.scalar(&buffer.buffer, element)
    }

    fn copy(
        &self,
        (from, to): (&Self::Buffer, &mut Self::Buffer),
        element: ElementType,
        count: usize,
        at: usize,
    ) -> Result<(), BackendError> {
        self.write(Act::Copy { from: from.number, to: to.number, element, count, at });
        self.machine.copy((&from.buffer, &mut to.buffer), element, count, at)
    }

    fn launch(&self, launch: Launch<'_, Self::Buffer>) -> Result<(), BackendError> {
        let (act, launch) = plain(launch);
        self.write(Act::Launch([act].into()));
        self.machine.launch(launch)
    }

    fn independent(&self, launch: &Step) -> Option<usize> {
        self.machine.independent(launch)
    }

    fn gains_at_once(&self, launches: &[(usize, Few<i64>)]) -> bool {
        self.machine.gains_at_once(launches)
    }

    fn launch_all(&self, launches: Few<Launch<'_, Self::Buffer>>) -> Result<(), BackendError> {
        let (acts, launches) = launches.into_iter().map(plain).unzip::<_, _, Vec<_>, Few<_>>();
        self.write(Act::Launch(acts.into()));
        self.machine.launch_all(launches)
    }

    fn sort(&self, sort: Sort<'_, Self::Buffer>) -> Result<(), BackendError> {
        self.leave_out();
        let Sort { name, keys, carry, results, rows, length } = sort;
        let results = results.into_iter().map(|own| &mut own.buffer).collect();
        self.machine.sort(Sort { name, keys: unnumbered(keys), carry: unnumbered(carry), results, rows, length })
    }

    fn row_sequence(&self, step: &Step) -> Option<&RowSequence> {
        self.machine.row_sequence(step)
    }

    /// Launches in strips are not written down: this run does them one after the other, and those to come by steps.
    fn gains_in_strips(&self, shape: RowShape) -> bool {
        if self.machine.gains_in_strips(shape) {
            self.leave_out();
        }
        false
    }

    fn release(&self, buffer: Self::Buffer) {
        self.write(Act::Release(buffer.number));
        self.forget(buffer.number);
        self.machine.release(buffer.buffer);
    }
}
