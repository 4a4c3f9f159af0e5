//! Accumulators of one thread in its local memory: lanes of a block, blocks of blocks, and so on.
//!
//! A block has 4,096 elements. Of a level of the table one block is under way at a time; when it is full it is folded, and what it gives is
//! an element of the level above. An accumulator starts with its first element, so nothing is filled in before.

use fusebox_ir::{Constant, ElementType, Lambda, association::BLOCK};

use crate::{
    emit::{Emitter, Result},
    state::{Lanes, Level, Maybe, Run, Staged, Table},
    text::{Reg, Use},
    value::Val,
};

impl Emitter<'_> {
    fn zero(&mut self) -> Reg {
        self.c.variable(0i64.into())
    }

    fn long(reg: Reg) -> Val {
        Val::new(ElementType::I64, reg)
    }

    /// A table for at most so many elements; how many come, if that is known (runs need it).
    pub(crate) fn table(
        &mut self,
        (position, of): (usize, Use),
        combine: &Lambda,
        lanes: Lanes,
        most: Option<i64>,
        count: Option<Val>,
    ) -> Result<Table> {
        let types: Vec<ElementType> = combine.params.iter().take(combine.results.len()).map(|param| param.ty).collect();
        let stride = (8 * types.len() as u64) + 8;
        let height = match most {
            Some(most) if most <= BLOCK => 1,
            Some(most) if most <= BLOCK * BLOCK => 2,
            _ => 3,
        };
        let lanes = match lanes {
            // One run is all elements of a block in order, as one lane is.
            Lanes::Runs(1) => Lanes::Interleaved(1),
            Lanes::Runs(width) if count.is_none() => Lanes::Kept(width),
            lanes => lanes,
        };
        let (width, room) = match lanes {
            Lanes::Interleaved(width) | Lanes::Runs(width) => (width, width.into()),
            Lanes::Kept(width) => (width, BLOCK as u64),
        };
        let mut levels = Vec::new();
        let mut elements = count;
        for level in 0..height {
            let base = self.c.memory_of((position, of, level), stride * room);
            let count = self.zero();
            let run = match (lanes, elements) {
                (Lanes::Runs(_), Some(number)) => {
                    let run = Run {
                        length: self.zero(),
                        lane: self.zero(),
                        within: self.zero(),
                        rest: self.c.variable(number),
                    };
                    self.start_runs(&run, width);
                    elements = Some(self.pieces(number, BLOCK));
                    Some(run)
                }
                _ => None,
            };
            levels.push(Level { base, count, run });
        }
        Ok(Table { lanes, types, stride, levels })
    }

    /// `⌈number / size⌉` of what is not negative.
    pub(crate) fn pieces(&mut self, number: Val, size: i64) -> Val {
        let more = self.c.add(number, (size - 1).into());
        if let Some(more) = more.as_i64() {
            return (more / size).into();
        }
        let more = self.c.text(more);
        if size & (size - 1) == 0 {
            return self.c.make(ElementType::I64, "shr.u64", &[&more, &size.ilog2().to_string()]);
        }
        self.c.make(ElementType::I64, "div.u64", &[&more, &size.to_string()])
    }

    /// A block in runs starts.
    fn start_runs(&mut self, run: &Run, width: u32) {
        let rest = self.c.text(Self::long(run.rest));
        let block = self.c.make(ElementType::I64, "min.s64", &[&rest, &BLOCK.to_string()]);
        let length = self.pieces(block, width.into());
        self.c.assign(run.length, length);
        self.c.op(format_args!("sub.s64 {}, {}, {BLOCK}", run.rest, run.rest));
        self.c.assign(run.lane, 0i64.into());
        self.c.assign(run.within, 0i64.into());
    }

    /// One element.
    pub(crate) fn push(&mut self, table: &mut Table, combine: &Lambda, element: &Maybe, down: bool) -> Result {
        self.push_to(table, 0, combine, element, down)
    }

    fn push_to(&mut self, table: &Table, at: usize, combine: &Lambda, element: &Maybe, down: bool) -> Result {
        let level = table.levels[at].clone();
        let count = Self::long(level.count);
        let (lane, first) = match (table.lanes, &level.run) {
            (Lanes::Interleaved(lanes), _) => {
                let text = self.c.text(count);
                let lane = self.c.make(ElementType::I64, "and.b64", &[&text, &(lanes - 1).to_string()]);
                (lane, self.c.compare("lt", count, i64::from(lanes).into()))
            }
            (Lanes::Runs(_), Some(run)) => {
                (Self::long(run.lane), self.c.compare("eq", Self::long(run.within), 0i64.into()))
            }
            (Lanes::Kept(_), _) => (count, self.c.compare("ge", count, 0i64.into())),
            (Lanes::Runs(_), None) => return Err(self.broken("runs of no length")),
        };
        let address = self.address(level.base, lane, table.stride);
        let (other, behind) = (self.c.label(), self.c.label());
        self.c.op(format_args!("@!{first} bra {other}"));
        self.write(address, element);
        self.c.op(format_args!("bra {behind}"));
        self.c.place(other);
        let before = self.read(table, address);
        let combined = self.combine_maybe(combine, &before, element, down)?;
        self.write(address, &combined);
        self.c.place(behind);
        self.c.op(format_args!("add.s64 {0}, {0}, 1", level.count));
        if let Some(run) = &level.run {
            self.c.op(format_args!("add.s64 {0}, {0}, 1", run.within));
            let full = self.c.compare("eq", Self::long(run.within), Self::long(run.length));
            self.only_if(full, |this| {
                this.c.op(format_args!("add.s64 {0}, {0}, 1", run.lane));
                this.c.assign(run.within, 0i64.into());
                Ok(())
            })?;
        }
        if at + 1 < table.levels.len() {
            let full = self.c.compare("eq", count, BLOCK.into());
            self.only_if(full, |this| this.close(table, at, combine, down))?;
        }
        Ok(())
    }

    /// The block of a level is folded, and its result goes up.
    fn close(&mut self, table: &Table, at: usize, combine: &Lambda, down: bool) -> Result {
        let result = self.folded(table, at, combine, down)?;
        self.push_to(table, at + 1, combine, &result, down)
    }

    /// What the block of a level gives; it is empty then. It has an element.
    fn folded(&mut self, table: &Table, at: usize, combine: &Lambda, down: bool) -> Result<Maybe> {
        let level = table.levels[at].clone();
        let pair = |this: &mut Self, low: Val, high: Val| {
            let (low, high) =
                (this.address(level.base, low, table.stride), this.address(level.base, high, table.stride));
            let (left, right) = (this.read(table, low), this.read(table, high));
            let combined = this.combine_maybe(combine, &left, &right, down)?;
            this.write(low, &combined);
            Ok(())
        };
        match (table.lanes, &level.run) {
            (Lanes::Interleaved(lanes), _) => {
                let count = self.c.text(Self::long(level.count));
                let used = self.c.make(ElementType::I64, "min.s64", &[&count, &lanes.to_string()]);
                let used = self.c.variable(used);
                let half = self.c.variable(i64::from(lanes / 2).into());
                let (again, behind) = (self.c.label(), self.c.label());
                self.c.place(again);
                let over = self.c.compare("eq", Self::long(half), 0i64.into());
                self.c.op(format_args!("@{over} bra {behind}"));
                let upper = self.c.sub(Self::long(used), Self::long(half));
                self.count_up(upper, |this, lane| {
                    let high = this.c.add(lane, Self::long(half));
                    pair(this, lane, high)
                })?;
                self.c.op(format_args!("min.s64 {used}, {used}, {half}"));
                self.c.op(format_args!("shr.u64 {half}, {half}, 1"));
                self.c.op(format_args!("bra {again}"));
                self.c.place(behind);
            }
            (Lanes::Runs(width), Some(run)) => {
                // A run under way counts as one.
                let begun = self.c.compare("gt", Self::long(run.within), 0i64.into());
                let more = self.c.select(begun, 1i64.into(), 0i64.into());
                let used = self.c.add(Self::long(run.lane), more);
                self.neighbours(used, 1i64.into(), &mut |this, low, high| pair(this, low, high))?;
                let run = run.clone();
                self.start_runs(&run, width);
            }
            (Lanes::Kept(width), _) => {
                let count = Self::long(level.count);
                let length = self.pieces(count, width.into());
                let used = self.quotient_up(count, length);
                // Each run into its first element, then neighbours.
                self.count_up(used, |this, run| {
                    let start = this.c.mul(run, length);
                    let next = this.c.add(start, 1i64.into());
                    let end = this.c.add(start, length);
                    let (x, y) = (this.c.text(end), this.c.text(count));
                    let end = this.c.make(ElementType::I64, "min.s64", &[&x, &y]);
                    this.stride_up(next, end, 1i64.into(), |this, at| pair(this, start, at))
                })?;
                self.neighbours(used, length, &mut |this, low, high| pair(this, low, high))?;
            }
            (Lanes::Runs(_), None) => return Err(self.broken("runs of no length")),
        }
        self.c.assign(level.count, 0i64.into());
        Ok(self.read(table, level.base))
    }

    /// Neighbours (0, 1), (2, 3), … of `used` runs are combined until one is left; run l is at l times `length`.
    fn neighbours(&mut self, used: Val, length: Val, pair: &mut dyn FnMut(&mut Self, Val, Val) -> Result) -> Result {
        let step = self.c.variable(1i64.into());
        let (again, behind) = (self.c.label(), self.c.label());
        self.c.place(again);
        let over = self.c.compare("ge", Self::long(step), used);
        self.c.op(format_args!("@{over} bra {behind}"));
        let end = self.c.sub(used, Self::long(step));
        let twice = self.c.add(Self::long(step), Self::long(step));
        self.stride_up(0i64.into(), end, twice, |this, lane| {
            let other = this.c.add(lane, Self::long(step));
            let (low, high) = (this.c.mul(lane, length), this.c.mul(other, length));
            pair(this, low, high)
        })?;
        self.c.assign(step, twice);
        self.c.op(format_args!("bra {again}"));
        self.c.place(behind);
        Ok(())
    }

    /// `⌈number / by⌉`, of what is above 0.
    fn quotient_up(&mut self, number: Val, by: Val) -> Val {
        let more = self.c.add(number, by);
        let more = self.c.add(more, (-1i64).into());
        let (x, y) = (self.c.text(more), self.c.text(by));
        self.c.make(ElementType::I64, "div.u64", &[&x, &y])
    }

    /// What all elements give, in registers; absent where none came.
    pub(crate) fn table_result(&mut self, table: &mut Table, combine: &Lambda, down: bool) -> Result<Maybe> {
        let top = table.levels.len() - 1;
        for at in 0..top {
            let some = self.c.compare("gt", Self::long(table.levels[at].count), 0i64.into());
            self.only_if(some, |this| this.close(table, at, combine, down))?;
        }
        let values: Vec<Reg> = table.types.iter().map(|&ty| self.c.variable(Constant::zero(ty).into())).collect();
        let present = self.c.variable(Constant::from(false).into());
        let some = self.c.compare("gt", Self::long(table.levels[top].count), 0i64.into());
        self.only_if(some, |this| {
            let result = this.folded(table, top, combine, down)?;
            this.assign_all(&values, &result.values);
            if let Some(there) = result.present {
                this.c.assign(present, Val::new(ElementType::Bool, there));
            }
            Ok(())
        })?;
        let values = values.into_iter().zip(&table.types).map(|(reg, &ty)| Val::new(ty, reg)).collect();
        Ok(Maybe { values, present: Some(present) })
    }

    fn write(&mut self, address: Reg, element: &Maybe) {
        self.write_maybe("local", address, element);
    }

    fn read(&mut self, table: &Table, address: Reg) -> Maybe {
        self.read_maybe("local", address, &table.types)
    }

    /// Writes values of eight bytes each, then a byte that says whether they are there.
    pub(crate) fn write_maybe(&mut self, space: &str, address: Reg, element: &Maybe) {
        for (component, &value) in element.values.iter().enumerate() {
            self.store_to(space, address, 8 * component as u64, value);
        }
        let there = match element.present {
            Some(present) => Val::new(ElementType::Bool, present),
            None => Constant::from(true).into(),
        };
        self.store_to(space, address, 8 * element.values.len() as u64, there);
    }

    /// Reads what [`Self::write_maybe`] writes.
    pub(crate) fn read_maybe(&mut self, space: &str, address: Reg, types: &[ElementType]) -> Maybe {
        let values =
            types.iter().enumerate().map(|(at, &ty)| self.load_from(space, ty, address, 8 * at as u64)).collect();
        let present = self.load_from(space, ElementType::Bool, address, 8 * types.len() as u64);
        Maybe { values, present: present.register() }
    }
}

impl Emitter<'_> {
    /// Puts an element to its place in shared memory.
    pub(crate) fn put(&mut self, staged: &Staged, element: &Maybe) {
        self.write_element(staged.place, element, staged.always);
    }

    /// Puts an element to an address in shared memory, and whether there is one unless there always is.
    pub(crate) fn write_element(&mut self, address: Reg, element: &Maybe, always: bool) {
        if !always {
            return self.write_maybe("shared", address, element);
        }
        for (at, &value) in element.values.iter().enumerate() {
            self.store_to("shared", address, 8 * at as u64, value);
        }
    }

    /// Reads what [`Self::write_element`] has put.
    pub(crate) fn read_element(&mut self, address: Reg, types: &[ElementType], always: bool) -> Maybe {
        if !always {
            return self.read_maybe("shared", address, types);
        }
        let values = types.iter().enumerate().map(|(at, &ty)| self.load_from("shared", ty, address, 8 * at as u64));
        Maybe { values: values.collect(), present: None }
    }
}
