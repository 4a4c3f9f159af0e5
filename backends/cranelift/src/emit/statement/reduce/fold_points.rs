//! Accumulators of several points that are folded together: each instruction combines accumulators of several of them.

use fusebox_ir::ElementType;
use fusebox_schedule::rows::fold_together;

use super::{Maybe, Reduce};
use crate::emit::{Emitter, Result};

/// Points from which on that is fewer instructions than to fold each by itself.
const LEAST_TOGETHER: usize = 4;

impl Emitter<'_> {
    /// A gang of accumulators of each of several points, combined until there is one value of each. Those of many points are folded together: each
    /// instruction then combines accumulators of several of them.
    pub(in crate::emit) fn fold_each(&mut self, reduce: &Reduce, gangs: Vec<Maybe>) -> Result<Vec<Maybe>> {
        let lanes = gangs.first().map_or(1, |(values, _)| self.b.lanes(values[0]));
        let plain = |(_, has): &Maybe| has.is_none();
        let whole = |&ty: &ElementType| fold_together(ty, lanes);
        if gangs.len() < LEAST_TOGETHER || !gangs.iter().all(plain) || !reduce.types.iter().all(whole) {
            return gangs.into_iter().map(|gang| self.fold_registers(reduce, vec![gang], lanes)).collect();
        }
        let around = std::mem::replace(&mut self.lanes, lanes);
        let mut totals = Vec::new();
        for points in gangs.chunks(lanes as usize) {
            let mut all = self.fold_points(reduce, points.to_vec(), 1)?;
            // A gang has the points of so many gangs now, and each of them so many times.
            let mut held = points.len().next_power_of_two() as u32;
            while held < lanes {
                all = self.fold_points(reduce, vec![all.clone(), all], held)?;
                held *= 2;
            }
            totals.extend(
                (0..points.len() as u32).map(|point| -> Maybe {
                    (all.0.iter().map(|&values| self.b.extract(values, point)).collect(), None)
                }),
            );
        }
        self.lanes = around;
        Ok(totals)
    }

    /// Gangs of accumulators, each of so many points, combined two by two until they are one: what its points have is one behind the other. One that is
    /// left over is combined as if it stood twice.
    pub(in crate::emit) fn fold_points(
        &mut self,
        reduce: &Reduce,
        mut gangs: Vec<Maybe>,
        points: u32,
    ) -> Result<Maybe> {
        let mut run = self.lanes / points;
        while gangs.len() > 1 {
            run /= 2;
            let mut folded = Vec::new();
            for pair in gangs.chunks(2) {
                let (low, high) = (&pair[0].0, &pair[pair.len() - 1].0);
                let mut halves = |odd: bool| -> Maybe {
                    let pairs = low.iter().zip(high);
                    (pairs.map(|(&low, &high)| self.b.unzip(low, high, run, odd)).collect(), None)
                };
                let (left, right) = (halves(false), halves(true));
                folded.push(self.combine_maybe(&reduce.combine, &left, &right, reduce.swap)?);
            }
            gangs = folded;
        }
        gangs.pop().ok_or_else(|| self.broken("accumulators of no points"))
    }
}
