//! Scans along a level that one thread goes through, to the bit of [`Association::Tiles`].

use fusebox_ir::{Action, Association, Constant, ElementType, Lambda, association::TILE};

use fusebox_schedule::grid::is_exact;

use crate::{
    emit::{Emitter, Result},
    state::{Accumulator, Gangs, Lanes, Maybe, Running, Together},
    text::{Reg, Use},
    value::Val,
};

impl Emitter<'_> {
    /// Registers without a value.
    pub(crate) fn absent(&mut self, types: &[ElementType]) -> Accumulator {
        let values = types.iter().map(|&ty| self.c.variable(Constant::zero(ty).into())).collect();
        Accumulator { values, present: Some(self.c.variable(Constant::from(false).into())) }
    }

    /// Puts what may be absent into registers.
    pub(crate) fn set_maybe(&mut self, to: &Accumulator, from: &Maybe) {
        self.assign_all(&to.values, &from.values);
        if let Some(present) = to.present {
            let there = from.present.map_or(Constant::from(true).into(), |there| Val::new(ElementType::Bool, there));
            self.c.assign(present, there);
        }
    }

    /// Registers of their own with the same values.
    pub(crate) fn copied(&mut self, of: &Maybe) -> Accumulator {
        let values = of.values.iter().map(|&value| self.c.variable(value)).collect();
        let present = of.present.map(|present| self.c.variable(Val::new(ElementType::Bool, present)));
        Accumulator { values, present }
    }

    /// A scan starts.
    pub(crate) fn begin_scan(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let Action::Scan { association, combine, seeds, .. } = &kernel.statements[position].action else {
            return Err(self.broken("a scan that is none"));
        };
        let types: Vec<ElementType> = combine.params.iter().take(combine.results.len()).map(|param| param.ty).collect();
        let seeds = self.operands(seeds)?;
        let mut running = self.absent(&types);
        if !seeds.is_empty() {
            self.assign_all(&running.values, &seeds);
            running.present = None;
        }
        let gangs = match *association {
            Association::Tiles { lanes, total_lanes } if !is_exact(combine) => {
                let before = running.maybe(types.iter().copied());
                let carry = self.copied(&before);
                let doublings = u64::from(lanes.ilog2()) + 1;
                let bytes = (8 * types.len() as u64 + 8) * u64::from(lanes) * doublings;
                let had = self.c.memory_of((position, Use::Lanes, 0), bytes);
                let total = match total_lanes {
                    0 => None,
                    _ => Some(self.table(
                        (position, Use::Total),
                        combine,
                        Lanes::Interleaved(total_lanes),
                        Some(TILE),
                        None,
                    )?),
                };
                let (bare, prefix) = (self.absent(&types), self.absent(&types));
                let (lane, count) = (self.c.variable(0i64.into()), self.c.variable(0i64.into()));
                Some(Gangs { lanes, carry, bare, prefix, lane, count, had, total })
            }
            _ => None,
        };
        self.scans.insert(position, Running { types, running, gangs });
        Ok(())
    }

    /// One element of a scan: its results.
    pub(crate) fn scan(&mut self, position: usize, when: Option<Reg>) -> Result {
        let kernel = self.kernel;
        let statement = &kernel.statements[position];
        let Action::Scan { results, exclusive, combine, values, .. } = &statement.action else {
            return Err(self.broken("a scan that is none"));
        };
        let down = self.is_down(statement.depth as usize - 1);
        let element = Maybe { values: self.operands(values)?, present: when };
        if let Some(together) = self.together.get(&position).cloned() {
            match together {
                Together::Put(staged) => self.put(&staged, &element),
                Together::Take(staged) => {
                    let types: Vec<ElementType> = results.iter().map(|result| result.ty).collect();
                    let values = self.taken(&staged, &types);
                    for (local, value) in results.iter().zip(values) {
                        self.locals.insert(local.id, value);
                    }
                }
                Together::Own { accumulators, present } => {
                    // Of totals: nothing reads its results.
                    self.combine_into(combine, &Accumulator { values: accumulators, present }, &element, down)?;
                }
            }
            return Ok(());
        }
        let Some(scan) = self.scans.get(&position).cloned() else {
            return Err(self.broken("a scan that has not begun"));
        };
        let (before, with) = match &scan.gangs {
            None => {
                let running = scan.running.maybe(scan.types.iter().copied());
                let before = self.copied(&running).maybe(scan.types.iter().copied());
                self.combine_into(combine, &scan.running, &element, down)?;
                let with = self.copied(&running).maybe(scan.types.iter().copied());
                (before, with)
            }
            Some(gangs) => self.next_in_gang(&scan, gangs, combine, &element, down)?,
        };
        let chosen = if *exclusive { before } else { with };
        for (local, value) in results.iter().zip(chosen.values) {
            self.locals.insert(local.id, value);
        }
        Ok(())
    }

    fn next_in_gang(
        &mut self,
        scan: &Running,
        gangs: &Gangs,
        combine: &Lambda,
        element: &Maybe,
        down: bool,
    ) -> Result<(Maybe, Maybe)> {
        let types = || scan.types.iter().copied();
        let long = |reg: Reg| Val::new(ElementType::I64, reg);
        if let Some(total) = &gangs.total {
            self.push(&mut total.clone(), combine, element, down)?;
        }
        // One more lane: it takes lane l-1, then l-2, l-4, …, each as it was after as many doublings.
        let x = self.copied(element);
        let x = Accumulator {
            present: Some(x.present.unwrap_or_else(|| self.c.variable(Constant::from(true).into()))),
            ..x
        };
        let stride = scan.stride();
        for doubling in 0..=gangs.lanes.ilog2() {
            let row = self.address(gangs.had, i64::from(doubling * gangs.lanes).into(), stride);
            let own = self.address(row, long(gangs.lane), stride);
            let value = x.maybe(types());
            self.write_maybe("local", own, &value);
            if doubling == gangs.lanes.ilog2() {
                break;
            }
            let step = 1i64 << doubling;
            let reaches = self.c.compare("ge", long(gangs.lane), step.into());
            self.only_if(reaches, |this| {
                let lane = this.c.sub(long(gangs.lane), step.into());
                let address = this.address(row, lane, stride);
                let left = this.read_maybe("local", address, &scan.types);
                let combined = this.combine_maybe(combine, &left, &value, down)?;
                this.set_maybe(&x, &combined);
                Ok(())
            })?;
        }
        let with_in_gang = x.maybe(types());
        let running = scan.running.maybe(types());
        let before = self.combine_maybe(combine, &running, &gangs.prefix.maybe(types()), down)?;
        let with = self.combine_maybe(combine, &running, &with_in_gang, down)?;
        self.set_maybe(&gangs.prefix, &with_in_gang);
        self.c.op(format_args!("add.s64 {0}, {0}, 1", gangs.lane));
        self.c.op(format_args!("add.s64 {0}, {0}, 1", gangs.count));
        let full = self.c.compare("eq", long(gangs.lane), i64::from(gangs.lanes).into());
        self.only_if(full, |this| {
            this.set_maybe(&scan.running, &with);
            this.combine_into(combine, &gangs.bare, &with_in_gang, down)?;
            this.start_gang(gangs);
            Ok(())
        })?;
        let over = self.c.compare("eq", long(gangs.count), TILE.into());
        self.only_if(over, |this| this.end_tile(scan, gangs, combine, down))?;
        Ok((before, with))
    }

    fn start_gang(&mut self, gangs: &Gangs) {
        self.c.assign(gangs.lane, 0i64.into());
        if let Some(present) = gangs.prefix.present {
            self.c.assign(present, Constant::from(false).into());
        }
    }

    /// The carry takes the total of the tile.
    fn end_tile(&mut self, scan: &Running, gangs: &Gangs, combine: &Lambda, down: bool) -> Result {
        let types = || scan.types.iter().copied();
        let total = match &gangs.total {
            Some(total) => self.table_result(&mut total.clone(), combine, down)?,
            None => self.combine_maybe(combine, &gangs.bare.maybe(types()), &gangs.prefix.maybe(types()), down)?,
        };
        self.combine_into(combine, &gangs.carry, &total, down)?;
        let carry = gangs.carry.maybe(types());
        self.set_maybe(&scan.running, &carry);
        self.start_gang(gangs);
        self.c.assign(gangs.count, 0i64.into());
        if let Some(present) = gangs.bare.present {
            self.c.assign(present, Constant::from(false).into());
        }
        Ok(())
    }

    /// The totals of a scan.
    pub(crate) fn end_scan(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let statement = &kernel.statements[position];
        let Action::Scan { totals, combine, .. } = &statement.action else {
            return Err(self.broken("a scan that is none"));
        };
        let Some(scan) = self.scans.remove(&position) else {
            return Err(self.broken("a scan that has not begun"));
        };
        if totals.is_empty() {
            return Ok(());
        }
        if let Some(gangs) = &scan.gangs {
            let down = self.is_down(statement.depth as usize - 1);
            self.end_tile(&scan, gangs, combine, down)?;
        }
        for (local, &reg) in totals.iter().zip(&scan.running.values) {
            self.locals.insert(local.id, Val::new(local.ty, reg));
        }
        Ok(())
    }
}
