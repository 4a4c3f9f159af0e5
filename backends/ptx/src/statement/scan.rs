//! Scans along a level that one thread goes through, to the bit of [`Association::Tiles`].

use fusebox_ir::{Action, Association, Constant, ElementType, Lambda, association::TILE};

use fusebox_schedule::grid::is_exact;

use crate::{
    emit::{Emitter, Result},
    state::{Accumulator, Gangs, Had, Lanes, Maybe, Running, Together},
    text::{Reg, Use},
    value::Val,
};

/// Registers of 32 bits that lanes of a gang are kept in at most.
const MOST_REGISTERS: u32 = 64;

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
        let statement = &kernel.statements[position];
        let Action::Scan { association, combine, seeds, totals, .. } = &statement.action else {
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
                let had = self.lanes_before(position, &types, lanes, statement.when.is_some());
                // Short rows have fewer steps than so many.
                let fewer_than = |most: i64| self.short_rows.is_some_and(|least| i64::from(least) <= most);
                let (several, totals) = (!fewer_than(lanes.into()), !fewer_than(TILE) || !totals.is_empty());
                let total = match total_lanes {
                    0 => None,
                    _ if !totals => None,
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
                Some(Gangs { lanes, carry, bare, prefix, lane, count, had, total, several, totals })
            }
            _ => None,
        };
        self.scans.insert(position, Running { types, running, gangs });
        Ok(())
    }

    /// Where the lanes of a gang are kept for those that come after them.
    fn lanes_before(&mut self, position: usize, types: &[ElementType], lanes: u32, may_be_absent: bool) -> Had {
        let words: u32 = types.iter().map(|ty| (ty.bytes() as u32).div_ceil(4)).sum();
        if (lanes - 1) * (words + u32::from(may_be_absent)) > MOST_REGISTERS {
            let bytes = (8 * types.len() as u64 + 8) * u64::from(lanes) * u64::from(lanes.ilog2());
            return Had::Memory(self.c.memory_of((position, Use::Lanes, 0), bytes));
        }
        let one = |this: &mut Self| {
            let one = this.absent(types);
            Accumulator { present: one.present.filter(|_| may_be_absent), ..one }
        };
        let of = |doubling: u32| (0..1 << doubling).map(|_| one(self)).collect();
        Had::Registers((0..lanes.ilog2()).map(of).collect())
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
                Together::Take(values) => {
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
        let x = match gangs.had {
            Had::Registers(_) => x,
            Had::Memory(_) => Accumulator {
                present: Some(x.present.unwrap_or_else(|| self.c.variable(Constant::from(true).into()))),
                ..x
            },
        };
        let stride = scan.stride();
        for doubling in 0..gangs.lanes.ilog2() {
            let value = x.maybe(types());
            let step = 1i64 << doubling;
            // What is kept in memory is read where it is needed.
            let kept = match &gangs.had {
                Had::Registers(lines) => {
                    let line = &lines[doubling as usize];
                    let left = self.copied(&line[line.len() - 1].maybe(types()));
                    for at in (1..line.len()).rev() {
                        let before = line[at - 1].maybe(types());
                        self.set_maybe(&line[at], &before);
                    }
                    self.set_maybe(&line[0], &value);
                    Ok(left.maybe(types()))
                }
                Had::Memory(had) => {
                    let row = self.address(*had, i64::from(doubling * gangs.lanes).into(), stride);
                    let own = self.address(row, long(gangs.lane), stride);
                    self.write_maybe("local", own, &value);
                    Err(row)
                }
            };
            let reaches = self.c.compare("ge", long(gangs.lane), step.into());
            self.only_if(reaches, |this| {
                let left = match kept {
                    Ok(left) => left,
                    Err(row) => {
                        let lane = this.c.sub(long(gangs.lane), step.into());
                        let address = this.address(row, lane, stride);
                        this.read_maybe("local", address, &scan.types)
                    }
                };
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
        if !gangs.several {
            return Ok((before, with));
        }
        let full = self.c.compare("eq", long(gangs.lane), i64::from(gangs.lanes).into());
        self.only_if(full, |this| {
            this.set_maybe(&scan.running, &with);
            if gangs.totals {
                this.combine_into(combine, &gangs.bare, &with_in_gang, down)?;
            }
            this.start_gang(gangs);
            Ok(())
        })?;
        if !gangs.totals {
            return Ok((before, with));
        }
        self.c.op(format_args!("add.s64 {0}, {0}, 1", gangs.count));
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
