//! Statements that combine the values of several points: reduces, scans, appends, scatters.

use fusebox_ir::ElementType::I64;
use fusebox_ir::{
    Access, Action, Association, Binary, IndexMap, KernelArrayId, KernelExtent, LevelOrder, Local, Place, ScalarOp,
    ScalarOperand, ScatterOrder,
};

use super::{Draw, Seen, scalars::constant};

impl Draw {
    /// Whether at least one point of this depth is met in every one of depth `to`.
    fn is_never_empty(&self, to: usize) -> bool {
        self.bounds[to..self.depth()].iter().all(|bounds| bounds.known && bounds.steps > 0)
    }

    pub(super) fn reduce(&mut self) {
        let depth = self.depth();
        if depth == 0 {
            return;
        }
        let to = if self.chance(1, 2) { depth - 1 } else { self.below(depth) };
        let lanes = self.pick(&[1, 2, 4, 8, 16, 32, 64]);
        let least = self.pick(&[2, 5, 64]);
        let association = match self.below(8) {
            0 | 1 => Association::InOrder,
            2 => Association::Ragged { lanes, least },
            3 => Association::Runs { lanes },
            _ => Association::Interleaved { lanes },
        };
        // Where ids go: what values need, then the function, then results.
        let (types, when, values, seeds, combine) = self.combination(to);
        let bare = when.is_none() && self.is_never_empty(to) && self.chance(1, 2);
        let seeds = if bare { Vec::new() } else { seeds };
        let results: Vec<Local> = types.iter().map(|&ty| self.fresh(ty)).collect();
        for result in &results {
            self.later[to].push(Seen { id: result.id, ty: result.ty, depth: to, range: None });
        }
        let to = to as u32;
        self.push(when, Action::Reduce { results, to, association, combine, seeds, values });
    }

    pub(super) fn scan(&mut self) {
        let depth = self.depth();
        if depth == 0 || self.levels[depth - 1].order == LevelOrder::Parallel {
            return;
        }
        let lanes = self.pick(&[2, 4, 8, 16]);
        let total_lanes = self.pick(&[0, 1, 8, 64]);
        let association =
            if self.chance(1, 4) { Association::InOrder } else { Association::Tiles { lanes, total_lanes } };
        let (types, when, values, seeds, combine) = self.combination(depth - 1);
        let bare = when.is_none() && self.chance(1, 3);
        let exclusive = !bare && self.chance(1, 2);
        let with_totals = self.chance(1, 2) && (!bare || self.is_never_empty(depth - 1));
        let seeds = if bare { Vec::new() } else { seeds };
        let results: Vec<Local> = types.iter().map(|&ty| self.fresh(ty)).collect();
        let totals: Vec<Local> =
            if with_totals { types.iter().map(|&ty| self.fresh(ty)).collect() } else { Vec::new() };
        for total in &totals {
            self.later[depth - 1].push(Seen { id: total.id, ty: total.ty, depth: depth - 1, range: None });
        }
        results.iter().for_each(|result| self.see(result, None));
        let stored = self.seen[self.seen.len() - 1];
        self.push(when, Action::Scan { results, exclusive, totals, association, combine, seeds, values });
        if self.chance(2, 3) {
            self.store(Some(stored));
        }
    }

    pub(super) fn append(&mut self) {
        let depth = self.depth();
        let room = self.bounds[..depth].iter().fold(1i64, |room, bounds| room.saturating_mul(bounds.steps));
        if self.append.is_some() || room > 100_000 {
            return;
        }
        let count = self.range(1, 2) as usize;
        let when = self.when();
        let values: Vec<Seen> = (0..count).map(|_| self.any_value()).collect();
        let arrays: Vec<KernelArrayId> = (values.iter())
            .map(|value| self.array(value.ty, vec![KernelExtent::Constant(room)], Access::Write, None))
            .collect();
        let total = self.array(I64, Vec::new(), Access::Write, None);
        self.append = Some((total, arrays.clone()));
        let values = values.into_iter().map(|value| value.id.into()).collect();
        self.push(when, Action::Append { arrays, count: total, values });
    }

    pub(super) fn scatter(&mut self) {
        let before = self.random.0;
        let next = self.next;
        let (_, types, commutes, rounds) = self.function();
        (self.random.0, self.next) = (before, next);
        let rank = self.pick(&[0, 1, 1, 1, 2]);
        let mut dims = Vec::new();
        let mut extents = Vec::new();
        let checked = self.chance(1, 3);
        for _ in 0..rank {
            let (mut dim, (low, high)) = self.affine();
            if high - low > 300 {
                // Few targets, met often.
                let start: ScalarOperand = dim.terms[0].1.into();
                let id = self.scalar(I64, ScalarOp::Binary { function: Binary::And, a: start, b: constant(15i64) });
                dim.terms = vec![(1, id)];
                dim.offset = 0;
                extents.push(KernelExtent::Constant(16));
                dims.push(dim);
                continue;
            }
            dim.offset = -low;
            let fails = checked && self.shape.may_fail && self.chance(1, 4);
            extents.push(self.extent(high - low + 1 - i64::from(fails)));
            dims.push(dim);
        }
        let when = self.when();
        let values = self.values(&types);
        let order = match self.below(4) {
            0 => ScatterOrder::InOrder,
            1 | 2 if commutes && !rounds => ScatterOrder::Any,
            _ => ScatterOrder::Chunks,
        };
        let after = std::mem::replace(&mut self.random.0, before);
        let (combine, ..) = self.function();
        self.random.0 = after;
        let numbers: Vec<usize> = extents.iter().map(|&extent| self.number(extent).max(0) as usize).collect();
        let arrays: Vec<KernelArrayId> = (types.iter())
            .map(|&ty| {
                let data = self.random.array(ty, &numbers);
                self.array(ty, extents.clone(), Access::Update, Some(data))
            })
            .collect();
        let map = IndexMap { dims, checked };
        self.push(when, Action::Scatter { arrays, map, combine, values, order, place: Place::default() });
    }
}
