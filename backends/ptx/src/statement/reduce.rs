//! Reduces that one thread feeds, to the bit of [`fusebox_ir::Association`].

use fusebox_ir::{Action, Association, Constant, ElementType, Lambda, analysis::algebra::identities};
use fusebox_schedule::grid::is_exact;

use crate::{
    emit::{Emitter, Result},
    state::{Accumulator, Lanes, Maybe, Reduction, Together},
    text::{Class, Reg, Use},
    value::Val,
};

impl Emitter<'_> {
    /// Registers that start as some values, or as the identity, or with nothing.
    pub(crate) fn accumulator(&mut self, combine: &Lambda, seeds: &[Val]) -> Accumulator {
        if !seeds.is_empty() {
            return Accumulator { values: seeds.iter().map(|&seed| self.c.variable(seed)).collect(), present: None };
        }
        if let Some(identity) = identities(combine) {
            let values = identity.into_iter().map(|constant| self.c.variable(constant.into())).collect();
            return Accumulator { values, present: None };
        }
        let types = combine.params.iter().take(combine.results.len()).map(|param| param.ty);
        let values = types.map(|ty| self.c.variable(Constant::zero(ty).into())).collect();
        Accumulator { values, present: Some(self.c.variable(Constant::from(false).into())) }
    }

    /// Combines an element, if it is there, into registers, on the right.
    pub(crate) fn combine_into(&mut self, combine: &Lambda, into: &Accumulator, element: &Maybe, down: bool) -> Result {
        let behind = self.c.label();
        if let Some(there) = element.present {
            self.c.op(format_args!("@!{there} bra {behind}"));
        }
        if let Some(present) = into.present {
            let both = self.c.label();
            self.c.op(format_args!("@{present} bra {both}"));
            self.assign_all(&into.values, &element.values);
            self.c.op(format_args!("mov.pred {present}, -1"));
            self.c.op(format_args!("bra {behind}"));
            self.c.place(both);
        }
        let types = element.values.iter().map(|value| value.ty);
        let left: Vec<Val> = into.values.iter().zip(types).map(|(&reg, ty)| Val::new(ty, reg)).collect();
        let results = self.combine(combine, &left, &element.values, down)?;
        self.assign_all(&into.values, &results);
        if element.present.is_some() || into.present.is_some() {
            self.c.place(behind);
        }
        Ok(())
    }

    /// `left ⊕ right` of what may be absent, in new registers: where one is, the other.
    pub(crate) fn combine_maybe(&mut self, combine: &Lambda, left: &Maybe, right: &Maybe, down: bool) -> Result<Maybe> {
        let values: Vec<Reg> = left.values.iter().map(|&value| self.c.variable(value)).collect();
        let present = left.present.map(|present| self.c.variable(Val::new(ElementType::Bool, present)));
        let into = Accumulator { values, present };
        self.combine_into(combine, &into, right, down)?;
        Ok(into.maybe(left.values.iter().map(|value| value.ty)))
    }

    /// A reduce starts: `count` elements come, if that is known.
    pub(crate) fn begin_reduce(&mut self, position: usize, count: Option<Val>) -> Result {
        let kernel = self.kernel;
        let Action::Reduce { association, combine, seeds, to, .. } = &kernel.statements[position].action else {
            return Err(self.broken("a reduce that is none"));
        };
        let seeds = self.operands(seeds)?;
        let association = match *association {
            Association::Ragged { .. } if self.short_rows.is_some() => Association::InOrder,
            _ if is_exact(combine) => Association::InOrder,
            association => association,
        };
        let levels = kernel.statements[position].depth - *to;
        let most =
            if levels == 1 { fusebox_ir::analysis::kernels::trip_count(&kernel.levels[*to as usize]) } else { None };
        let reduction = match association {
            Association::InOrder | Association::Tiles { .. } => Reduction::InOrder(self.accumulator(combine, &seeds)),
            Association::Interleaved { lanes } => Reduction::Table(self.table(
                (position, Use::Accumulators),
                combine,
                Lanes::Interleaved(lanes),
                most,
                count,
            )?),
            Association::Runs { lanes } => {
                Reduction::Table(self.table((position, Use::Accumulators), combine, Lanes::Runs(lanes), most, count)?)
            }
            Association::Ragged { lanes, least } => {
                let counter = self.c.reg(Class::Double);
                self.c.op(format_args!("mov.b64 {counter}, 0"));
                let short = self.accumulator(combine, &seeds);
                let long =
                    self.table((position, Use::Accumulators), combine, Lanes::Interleaved(lanes), most, count)?;
                Reduction::Ragged { least, count: counter, short, long }
            }
        };
        self.reduces.insert(position, reduction);
        Ok(())
    }

    /// One element of a reduce.
    pub(crate) fn reduce(&mut self, position: usize, when: Option<Reg>) -> Result {
        let kernel = self.kernel;
        let Action::Reduce { combine, values, to, .. } = &kernel.statements[position].action else {
            return Err(self.broken("a reduce that is none"));
        };
        let down = self.is_down(*to as usize);
        let element = Maybe { values: self.operands(values)?, present: when };
        if let Some(together) = self.together.get(&position).cloned() {
            return match together {
                Together::Own { accumulators, present } => {
                    self.combine_into(combine, &Accumulator { values: accumulators, present }, &element, down)
                }
                Together::Put(staged) => {
                    self.put(&staged, &element);
                    Ok(())
                }
                Together::Take(_) => Ok(()),
            };
        }
        let Some(mut reduction) = self.reduces.remove(&position) else {
            return Err(self.broken("a reduce that has not begun"));
        };
        match &mut reduction {
            Reduction::InOrder(accumulator) => self.combine_into(combine, accumulator, &element, down)?,
            Reduction::Table(table) => self.push(table, combine, &element, down)?,
            Reduction::Ragged { least, count, short, long } => {
                let number = Val::new(ElementType::I64, *count);
                let few = self.c.compare("lt", number, i64::from(*least).into());
                self.only_if(few, |this| this.combine_into(combine, short, &element, down))?;
                self.push(long, combine, &element, down)?;
                self.c.op(format_args!("add.s64 {count}, {count}, 1"));
            }
        }
        self.reduces.insert(position, reduction);
        Ok(())
    }

    /// The results of a reduce.
    pub(crate) fn end_reduce(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let Action::Reduce { results, combine, seeds, to, .. } = &kernel.statements[position].action else {
            return Err(self.broken("a reduce that is none"));
        };
        let down = self.is_down(*to as usize);
        let seeds = self.operands(seeds)?;
        let Some(reduction) = self.reduces.remove(&position) else {
            return Err(self.broken("a reduce that has not begun"));
        };
        let values = match reduction {
            Reduction::InOrder(accumulator) => accumulator.values,
            Reduction::Table(mut table) => {
                let combined = self.table_result(&mut table, combine, down)?;
                self.seeded(combine, &seeds, &combined, down)?
            }
            Reduction::Ragged { least, count, short, mut long } => {
                let number = Val::new(ElementType::I64, count);
                let many = self.c.compare("ge", number, i64::from(least).into());
                self.only_if(many, |this| {
                    let combined = this.table_result(&mut long, combine, down)?;
                    let values = this.seeded(combine, &seeds, &combined, down)?;
                    let values: Vec<Val> =
                        values.into_iter().zip(results).map(|(reg, local)| Val::new(local.ty, reg)).collect();
                    this.assign_all(&short.values, &values);
                    Ok(())
                })?;
                short.values
            }
        };
        for (local, reg) in results.iter().zip(values) {
            self.locals.insert(local.id, Val::new(local.ty, reg));
        }
        Ok(())
    }

    /// Seeds, with what was combined of the elements on their right.
    pub(crate) fn seeded(&mut self, combine: &Lambda, seeds: &[Val], combined: &Maybe, down: bool) -> Result<Vec<Reg>> {
        if seeds.is_empty() {
            return Ok(combined.values.iter().map(|&value| self.c.in_reg(value)).collect());
        }
        let into = self.accumulator(combine, seeds);
        self.combine_into(combine, &into, combined, down)?;
        Ok(into.values)
    }
}
