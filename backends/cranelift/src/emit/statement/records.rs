//! Records: elements of a scatter that are put aside, and combined later, part after part of the targets.

use fusebox_ir::{
    Action, ElementType,
    analysis::kernels::{Record, in_partitions},
};

use crate::{
    emit::{Emitter, HiddenArgument, Result},
    vector::{Memory, Value},
};

impl Emitter<'_> {
    fn record(&self, position: usize) -> Result<Record> {
        in_partitions(self.kernel, position).map_err(|why| self.broken(&format!("records of a scatter: {why}")))
    }

    /// Where something of a record is, counted in elements of so many bytes from the first record.
    fn in_record(&mut self, record: Value, of: &Record, (offset, bytes): (usize, usize)) -> Value {
        let records = self.b.int((of.bytes / bytes) as i64);
        let place = self.b.mul(record, records);
        self.b.add_int(place, (offset / bytes) as i64)
    }

    /// Puts an element and its target, the last of `values`, behind those put aside before. Where it takes no part the next one takes its place.
    pub(super) fn put_aside(&mut self, position: usize, values: &[Value], mask: Option<Value>) -> Result {
        let record = self.record(position)?;
        let Some(at) = self.appended else { return Err(self.broken("nothing counts what is put aside")) };
        let base = self.hidden_argument(HiddenArgument::Records(position));
        let count = self.states[at];
        if let Some((&target, values)) = values.split_last() {
            let target = self.b.convert(ElementType::U32, target);
            let targets = std::iter::once((target, 0));
            for (value, offset) in targets.chain(values.iter().copied().zip(record.offsets.iter().copied())) {
                let place = self.in_record(count, &record, (offset, self.b.ty(value).element.bytes()));
                self.b.store(base, place, value, None);
            }
        }
        let next = self.b.add_int(count, 1);
        self.states[at] = match mask {
            None => next,
            Some(mask) => self.b.select(mask, next, count),
        };
        Ok(())
    }

    /// Combines records `from..to` of one scatter into its arrays.
    pub(in crate::emit) fn records(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        self.operation = kernel.operation(&kernel.statements[position]);
        let Action::Scatter { arrays, .. } = &kernel.statements[position].action else { self.misplaced(position) };
        let record = self.record(position)?;
        let base = self.hidden_argument(HiddenArgument::Records(position));
        let (from, to) = self.range;
        let open = self.b.begin_loop(from, to, 1, &[]);
        let at = open.index;
        let mut values = Vec::with_capacity(arrays.len() + 1);
        for (array, &offset) in arrays.iter().zip(&record.offsets) {
            let element = kernel.arrays[array.index()].element;
            let place = self.in_record(at, &record, (offset, element.bytes()));
            values.push(self.b.load(element, 1, base, place, Memory::Shared));
        }
        let place = self.in_record(at, &record, (0, ElementType::U32.bytes()));
        let target = self.b.load(ElementType::U32, 1, base, place, Memory::Shared);
        values.push(self.b.convert(ElementType::I64, target));
        self.scatter_one(position, &values, 0)?;
        self.b.end_loop(open, Vec::new());
        Ok(())
    }
}
