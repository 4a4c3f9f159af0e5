//! Levels of a kernel: bounds that are numbers, sizes, or loaded from arrays.

use fusebox_ir::ElementType::I64;
use fusebox_ir::{Access, Array, DimBoundary, DimIndex, KernelExtent, Level, LevelOrder, Local, LocalId};

use super::{Bounds, Draw, Seen, scalars::constant};

impl Draw {
    /// Opens a level: its bounds may be loaded.
    pub(super) fn level(&mut self, index: Local, position: usize, depth: usize, points: i64) -> i64 {
        let most = (self.shape.points / points).max(1);
        let order =
            self.pick(&[LevelOrder::Parallel, LevelOrder::Parallel, LevelOrder::Up, LevelOrder::Up, LevelOrder::Down]);
        let mut level = Level { index, from: constant(0i64), to: constant(0i64), order };
        let (mut low, mut known) = (0, true);
        let high;
        let kind = if self.shape.long && position == 0 { 0 } else { self.below(6) };
        match kind {
            0..=2 => {
                let steps = if self.shape.long && position == 0 {
                    if level.order == LevelOrder::Parallel && self.chance(4, 5) {
                        level.order = LevelOrder::Up;
                    }
                    self.range(most / 8, most)
                } else if position + 1 == depth && self.chance(1, 3) {
                    self.range(0, most)
                } else {
                    self.pick(&[0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 65, 130]).min(most)
                };
                low = if self.chance(1, 6) { self.range(-2, 3) } else { 0 };
                high = low + steps;
                (level.from, level.to) = (constant(low), constant(high));
            }
            3 => {
                let size = self.below(self.sizes.len());
                level.to = LocalId(size as u32).into();
                high = self.sizes[size];
                if self.chance(1, 5) {
                    low = self.range(0, 3);
                    level.from = constant(low);
                }
            }
            _ => {
                known = false;
                let cap = if self.chance(1, 6) { most.min(300) } else { most.min(12) };
                let source = self.seen.iter().rev().find(|seen| seen.depth == self.depth() && seen.range.is_some());
                let terms: Vec<(i64, LocalId)> = match source {
                    Some(seen) if self.levels.last().is_some_and(|level| level.index.id == seen.id) => {
                        vec![(1, seen.id)]
                    }
                    _ => self.levels.last().map(|level| (1, level.index.id)).into_iter().collect(),
                };
                let (least, greatest) = self.bounds.last().and_then(|bounds| bounds.index.range).unwrap_or((0, 0));
                let count = (greatest - least + 3) as usize;
                if kind == 4 {
                    // Offsets that never fall, from 0 on.
                    let mut offsets = vec![0i64];
                    for _ in 1..count {
                        let step = if self.chance(1, 4) { 0 } else { self.range(0, cap) };
                        offsets.push(offsets[offsets.len() - 1] + step);
                    }
                    high = offsets[offsets.len() - 1];
                    let elements = Array::new(&[count], &offsets).unwrap();
                    let array =
                        self.array(I64, vec![KernelExtent::Constant(count as i64)], Access::Read, Some(elements));
                    for (offset, bound) in [(0, 0), (1, 1)] {
                        let dims = vec![DimIndex {
                            offset: offset - least,
                            terms: terms.clone(),
                            boundary: DimBoundary::None,
                        }];
                        let local = self.load_of(array, dims, false, None, Some((0, high)));
                        *(if bound == 0 { &mut level.from } else { &mut level.to }) = local.into();
                    }
                } else {
                    let extents = vec![KernelExtent::Constant(count as i64)];
                    let elements = self.random.ints(I64, &[count], -2, cap + 1);
                    let array = self.array(I64, extents, Access::Read, Some(elements));
                    let dims = vec![DimIndex { offset: -least, terms, boundary: DimBoundary::None }];
                    level.to = self.load_of(array, dims, false, None, Some((-2, cap))).into();
                    high = cap;
                }
                let steps = cap.max(0);
                let range = Some((low, (high - 1).max(low)));
                return self.opened(level, steps, known, range, points);
            }
        }
        let steps = (high - low).max(0);
        self.opened(level, steps, known, Some((low, (high - 1).max(low))), points)
    }

    fn opened(&mut self, level: Level, steps: i64, known: bool, range: Option<(i64, i64)>, points: i64) -> i64 {
        let depth = self.levels.len() + 1;
        let index = Seen { id: level.index.id, ty: I64, depth, range };
        self.levels.push(level);
        self.seen.push(index);
        self.bounds.push(Bounds { index, steps, known });
        points * steps.max(1)
    }
}
