//! The elements of scans: one after the other, in gangs, and in gangs gone through lane by lane.

use fusebox_ir::{Binary, Constant, ElementType};

use super::Scan;
use crate::{
    emit::{Emitter, Result},
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// One element after the other (of each lane, where the level is inside the one across lanes).
    pub(super) fn scan_one(
        &mut self,
        scan: &Scan,
        values: &[Value],
        mask: Option<Value>,
        exclusive: bool,
    ) -> Result<Vec<Value>> {
        let (at, k) = (scan.at, scan.k());
        let before: Vec<Value> = self.states[at..at + k].to_vec();
        let has = self.states[at + k];
        let some = self.b.constant(Constant::from(true));
        let here = self.b.splat(mask.unwrap_or(some), scan.lanes);
        let always = self.b.constant_of(has).and_then(Constant::as_bool) == Some(true);
        let known = always || scan.identity.is_some();
        let (after, has) = if known && mask.is_none() {
            (self.combine(&scan.combine, &before, values, scan.swap)?, has)
        } else {
            self.combine_present(&scan.combine, (&before, has), (values, here), scan.swap)?
        };
        for (state, &value) in after.iter().enumerate() {
            self.states[at + state] = self.b.splat(value, scan.lanes);
        }
        self.states[at + k] = has;
        Ok(if exclusive { before } else { after })
    }

    /// The last lane of a gang, which the last gang of a level may have before its end.
    fn last_lane(&mut self, gang: Value, place: i64) -> Value {
        let ty = self.b.ty(gang);
        let Some(left) = self.remainder else { return self.b.extract(gang, ty.lanes - 1) };
        let base = self.scratch_at(place);
        let zero = self.b.int(0);
        self.b.store(base, zero, gang, None);
        let last = self.b.add_int(left, -1);
        self.b.load(ty.element, 1, base, last, Memory::Shared)
    }

    /// One lane of a gang of `gang`, in scalar code: the same combinations as [`Self::scan_gang`], one lane after the other.
    pub(super) fn scan_lane(
        &mut self,
        scan: &Scan,
        gang: u32,
        values: &[Value],
        mask: Option<Value>,
        exclusive: bool,
    ) -> Result<Vec<Value>> {
        let (at, k) = (scan.at, scan.k());
        let (Some(step), Some(end)) = (scan.step, scan.end) else {
            return Err(self.broken("a scan in tiles outside of its tile"));
        };
        if let (false, Some(total)) = (scan.exact, &scan.total) {
            if total.is_in_registers() {
                self.put(total, values, mask)?;
            } else {
                self.where_needed(scan, |this| this.put(total, values, mask))?;
            }
        }
        let zero = self.b.int(0);
        let last = self.b.int(i64::from(gang) - 1);
        let lane = self.b.binary(Binary::And, step, last);
        let mut x = values.to_vec();
        let some = self.b.constant(Constant::from(true));
        let mut present = mask.unwrap_or(some);
        let identity: Option<Vec<Value>> =
            scan.identity.as_ref().map(|identity| identity.iter().map(|&one| self.b.constant(one)).collect());
        if let (Some(identity), Some(mask)) = (&identity, mask) {
            // What stands for nothing is there.
            present = some;
            x = x.iter().zip(identity).map(|(&x, &identity)| self.b.select(mask, x, identity)).collect();
        }
        for (doubling, (places, flags)) in scan.history.iter().enumerate() {
            let by = 1i64 << doubling;
            for (&place, &x) in places.iter().zip(&x) {
                let base = self.scratch_at(place);
                self.b.store(base, lane, x, None);
            }
            let flags = self.scratch_at(*flags);
            self.b.store(flags, lane, present, None);
            let least = self.b.int(by - 1);
            let behind = self.b.binary(Binary::Gt, lane, least);
            let from = self.b.add_int(lane, -by);
            let from = self.b.binary(Binary::Max, from, zero);
            let left: Vec<Value> = (places.iter().zip(&scan.types))
                .map(|(&place, &ty)| {
                    let base = self.scratch_at(place);
                    self.b.load(ty, 1, base, from, Memory::Shared)
                })
                .collect();
            if let Some(identity) = &identity {
                let left: Vec<Value> =
                    left.iter().zip(identity).map(|(&l, &identity)| self.b.select(behind, l, identity)).collect();
                x = self.combine(&scan.combine, &left, &x, scan.swap)?;
            } else {
                let there = self.b.load(ElementType::Bool, 1, flags, from, Memory::Shared);
                let there = self.b.binary(Binary::And, there, behind);
                (x, present) = self.combine_present(&scan.combine, (&left, there), (&x, present), scan.swap)?;
            }
        }
        let running: Vec<Value> = self.states[at..at + k].to_vec();
        let has_running = self.states[at + k];
        let mut at_last = self.b.binary(Binary::Eq, lane, last);
        if scan.exact {
            // The tile ends with what has run up to its end.
            let next = self.b.add_int(step, 1);
            let at_end = self.b.binary(Binary::Eq, next, end);
            at_last = self.b.binary(Binary::Or, at_last, at_end);
        }
        let out = if scan.identity.is_some() {
            self.combine(&scan.combine, &running, &x, scan.swap)?
        } else {
            let (out, has) = self.combine_present(&scan.combine, (&running, has_running), (&x, present), scan.swap)?;
            self.states[at + k] = self.b.select(at_last, has, has_running);
            out
        };
        if scan.total.is_none() && !scan.exact {
            let from = at + 2 * k + 2;
            let next = self.b.add_int(step, 1);
            let at_end = self.b.binary(Binary::Eq, next, end);
            let at_end = self.b.binary(Binary::Or, at_end, at_last);
            let has_last = self.b.binary(Binary::And, present, at_end);
            let plain: Vec<Value> = self.states[from..from + k].to_vec();
            let had = self.states[from + k];
            let (plain, has) = self.combine_present(&scan.combine, (&plain, had), (&x, has_last), scan.swap)?;
            self.states.splice(from..=from + k, plain.into_iter().chain([has]));
        }
        for (state, (&value, &before)) in out.iter().zip(&running).enumerate() {
            self.states[at + state] = self.b.select(at_last, value, before);
        }
        if !exclusive {
            return Ok(out);
        }
        let first = self.b.binary(Binary::Eq, lane, zero);
        Ok((scan.earlier.iter().zip(&scan.types).zip(out.iter().zip(&running)))
            .map(|((&place, &ty), (&out, &before))| {
                let base = self.scratch_at(place);
                let earlier = self.b.load(ty, 1, base, zero, Memory::Shared);
                self.b.store(base, zero, out, None);
                self.b.select(first, before, earlier)
            })
            .collect())
    }

    /// What runs through a tile, and whether there is any, as its gangs need it: in every lane.
    pub(super) fn spread(&mut self, scan: &Scan, states: &[Value]) -> Vec<Value> {
        let lanes = match scan.tiles {
            Some(gang) if !scan.by_lane && !scan.counts => gang,
            _ => scan.lanes,
        };
        // With an identity nobody asks whether there is any.
        let used = if scan.identity.is_some() { scan.k() } else { states.len() };
        let (values, rest) = states.split_at(used);
        values.iter().map(|&value| self.b.splat(value, lanes)).chain(rest.iter().copied()).collect()
    }

    /// The last lane, in all lanes.
    fn last_of(&mut self, gang: Value) -> Value {
        let last = self.b.extract(gang, self.lanes - 1);
        self.b.splat(last, self.lanes)
    }

    /// A gang: Kogge and Stone's prefix inside, then what ran up to it.
    pub(in crate::emit::statement) fn scan_gang(
        &mut self,
        scan: &Scan,
        values: &[Value],
        mask: Option<Value>,
        exclusive: bool,
    ) -> Result<Vec<Value>> {
        let (at, k, lanes) = (scan.at, scan.k(), self.lanes);
        let mask = mask.map(|mask| self.b.splat(mask, lanes));
        if let (false, Some(total)) = (scan.total_is_done, &scan.total) {
            if total.is_in_registers() {
                self.put(total, values, mask)?;
            } else {
                self.where_needed(scan, |this| this.put(total, values, mask))?;
            }
        }
        let mut x = values.to_vec();
        let mut present = mask;
        if let Some(identity) = &scan.identity {
            let identity: Vec<Value> = identity
                .iter()
                .map(|&identity| {
                    let identity = self.b.constant(identity);
                    self.b.splat(identity, lanes)
                })
                .collect();
            if let Some(mask) = mask {
                x = x.iter().zip(&identity).map(|(&x, &identity)| self.b.select(mask, x, identity)).collect();
            }
            present = None;
            let mut by = 1;
            while by < lanes {
                let left: Vec<Value> =
                    x.iter().zip(&identity).map(|(&x, &identity)| self.b.shift(x, by, identity)).collect();
                x = self.combine(&scan.combine, &left, &x, scan.swap)?;
                by *= 2;
            }
        } else {
            let iota = self.b.iota(ElementType::I64, lanes);
            let mut by = 1;
            while by < lanes {
                let left: Vec<Value> = x.iter().map(|&x| self.b.shift(x, by, x)).collect();
                let least = self.b.int(i64::from(by) - 1);
                let behind = self.b.binary(Binary::Gt, iota, least);
                if let Some(here) = present {
                    let there = self.b.shift(here, by, here);
                    let there = self.b.binary(Binary::And, there, behind);
                    let (new, has) = self.combine_present(&scan.combine, (&left, there), (&x, here), scan.swap)?;
                    x = new;
                    present = Some(has);
                } else {
                    let combined = self.combine_masked(&scan.combine, &left, &x, scan.swap, Some(behind))?;
                    x = combined.iter().zip(&x).map(|(&new, &old)| self.b.select(behind, new, old)).collect();
                }
                by *= 2;
            }
        }
        let spread: Vec<Value> = self.states[at..at + k].to_vec();
        let had = self.states[at + k];
        let some = self.b.constant(Constant::from(true));
        let all = self.b.splat(some, lanes);
        let out = if scan.identity.is_some() {
            self.combine(&scan.combine, &spread, &x, scan.swap)?
        } else {
            let (out, has) =
                self.combine_present(&scan.combine, (&spread, had), (&x, present.unwrap_or(all)), scan.swap)?;
            self.states[at + k] = self.last_of(has);
            out
        };
        if scan.total.is_none() && !scan.exact {
            // The running total of the tile alone.
            let from = at + 2 * k + 2;
            let last: Vec<Value> = x.iter().zip(&scan.lasts).map(|(&x, &place)| self.last_lane(x, place)).collect();
            let has_last = self.last_lane(present.unwrap_or(all), scan.last_flag);
            let plain: Vec<Value> = self.states[from..from + k].to_vec();
            let had = self.states[from + k];
            let (plain, has) = self.combine_present(&scan.combine, (&plain, had), (&last, has_last), scan.swap)?;
            self.states.splice(from..=from + k, plain.into_iter().chain([has]));
        }
        for (state, &value) in out.iter().enumerate() {
            self.states[at + state] = self.last_of(value);
        }
        Ok(if exclusive {
            out.iter().zip(&spread).map(|(&out, &before)| self.b.shift(out, 1, before)).collect()
        } else {
            out
        })
    }
}
