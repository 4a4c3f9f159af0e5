//! Append: what is put goes behind what was put before; the count is carried.

use fusebox_ir::{Action, Binary, Constant, Place, analysis::has_room};

use crate::{
    emit::{Emitter, HiddenArgument, Part, Result, Val},
    vector::{Append, Op, Value},
};

/// Where a gang has so many bytes to put, it is asked first whether there are any: of a seldom match, all of them are skipped.
const ASKED_BYTES: usize = 256;

impl Emitter<'_> {
    fn append_statement(&self) -> Option<usize> {
        self.kernel.statements.iter().position(|statement| matches!(statement.action, Action::Append { .. }))
    }

    /// The count starts with what ranges before this one have put; that of elements put aside with none.
    pub(in crate::emit) fn append_begin(&mut self) {
        if let Part::Partition(_) = self.part {
            let none = self.b.int(0);
            self.appended = Some(self.states.len());
            self.states.push(none);
        }
        if self.append_statement().is_some() && matches!(self.part, Part::Whole | Part::Body) {
            let start = self.hidden_argument(HiddenArgument::Appended);
            self.appended = Some(self.states.len());
            self.states.push(start);
        }
    }

    /// The count is left in the scratch memory's first word, where the caller finds it.
    pub(in crate::emit) fn append_end(&mut self) {
        if let Some(at) = self.appended {
            let zero = self.b.int(0);
            let count = self.states[at];
            let place = self.scratch;
            self.b.store(place, zero, count, None);
        }
    }

    /// Puts the values of a point, or of those points of a gang of which `when` holds.
    pub(in crate::emit) fn append(&mut self, position: usize, when: Option<Value>) -> Result {
        let kernel = self.kernel;
        let Action::Append { arrays, values, .. } = &kernel.statements[position].action else {
            self.misplaced(position)
        };
        let values = values.iter().map(|&value| self.operand(value)).collect::<Result<Vec<_>>>()?;
        let Some(at) = self.appended else { return Err(self.broken("an append where none is possible")) };
        let count = self.states[at];
        let bases: Vec<Value> = arrays.iter().map(|array| self.arrays[array.index()]).collect();
        let mask = self.b.both(when, self.mask);
        if self.lanes == 1 {
            if !has_room(kernel) {
                let outer = std::mem::replace(&mut self.mask, mask);
                for &array in arrays {
                    let extents = self.extents(array)?;
                    let room = extents.into_iter().reduce(|all, extent| self.b.mul(all, extent));
                    let declared = &kernel.arrays[array.index()].extents;
                    let at = [Val::Uniform(count)];
                    self.check_inside(array, &at, room.as_slice(), declared, &Place::default())?;
                }
                self.mask = outer;
            }
            for (&base, &value) in bases.iter().zip(&values) {
                self.store_at(base, Val::Uniform(count), value, mask);
            }
            let (zero, one) = (self.b.int(0), self.b.int(1));
            let step = match mask {
                None => one,
                Some(mask) => self.b.select(mask, one, zero),
            };
            self.states[at] = self.b.binary(Binary::Add, count, step);
            return Ok(());
        }
        // There is room for all lanes of a gang that has all of its points.
        let whole = self.mask.is_none() && self.nest.whole().any(|own| own == position);
        let bytes: usize = arrays.iter().map(|array| kernel.arrays[array.index()].element.bytes()).sum();
        let asked = mask.filter(|_| bytes * self.lanes as usize >= ASKED_BYTES);
        let some = self.b.constant(Constant::from(true));
        let mask = self.b.splat(mask.unwrap_or(some), self.lanes);
        let spare = self.scratch_at(self.spare);
        if asked.is_some() {
            let any = self.b.any(mask);
            self.b.open();
            let next = self.append_gang((bases, spare), (count, mask, whole), values);
            let then = (self.b.close(), vec![next]);
            self.b.open();
            let otherwise = (self.b.close(), vec![count]);
            self.states[at] = self.b.end_if(any, then, otherwise)[0];
        } else {
            self.states[at] = self.append_gang((bases, spare), (count, mask, whole), values);
        }
        Ok(())
    }

    /// Puts those lanes of a gang of which the mask holds; gives the new count.
    fn append_gang(
        &mut self,
        (bases, spare): (Vec<Value>, Value),
        (count, mask, whole): (Value, Value, bool),
        values: Vec<Val>,
    ) -> Value {
        let values: Vec<Value> = values.into_iter().map(|value| self.gang(value)).collect();
        let next = self.b.fresh(fusebox_ir::ElementType::I64, 1);
        self.b.push(&[next], Op::Append(Box::new(Append { bases, count, values, mask: Some(mask), spare, whole })));
        next
    }
}
