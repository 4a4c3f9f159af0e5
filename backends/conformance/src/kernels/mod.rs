//! Random kernels, each in a plan that launches it once: levels of any extents and bounds, statements of all kinds in any mix.

mod access;
mod collective;
mod combine;
mod levels;
mod plan;
mod scalars;

use ElementType::{Bool, F16, F32, F64, I16, I32, I64, U8, U64};
use fusebox_ir::{
    Access, Action, Array, ElementType, KernelArray, KernelArrayId, Level, Local, LocalId, Plan, ScalarOperand,
    Statement,
};

use crate::Random;

/// What kernels are like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// About the most points of the innermost depth.
    pub points: i64,
    /// Whether the outermost level has them all, and carries scans.
    pub long: bool,
    /// Whether checked indices, assertions and divisions may fail.
    pub may_fail: bool,
}

/// A plan and what to run it on.
pub struct Generated {
    /// One launch.
    pub plan: Plan,
    /// In the order of the plan.
    pub inputs: Vec<Array>,
}

/// A local that may be used here.
#[derive(Clone, Copy, Debug)]
struct Seen {
    id: LocalId,
    ty: ElementType,
    depth: usize,
    /// Of `i64`: least and greatest value, where known and small.
    range: Option<(i64, i64)>,
}

struct Bounds {
    index: Seen,
    /// Steps, where they are known when the kernel is made; else the most there may be.
    steps: i64,
    known: bool,
}

struct Draw {
    random: Random,
    shape: Shape,
    next: u32,
    sizes: Vec<i64>,
    arrays: Vec<KernelArray>,
    /// Elements of arrays that are read or updated.
    data: Vec<Option<Array>>,
    levels: Vec<Level>,
    bounds: Vec<Bounds>,
    statements: Vec<Statement>,
    seen: Vec<Seen>,
    /// Results of reduces and totals, by the depth they are for.
    later: Vec<Vec<Seen>>,
    append: Option<(KernelArrayId, Vec<KernelArrayId>)>,
}

/// The kernel of a seed.
pub fn generate(seed: u64, shape: Shape) -> Generated {
    let mut draw = Draw {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 77),
        shape,
        next: 0,
        sizes: Vec::new(),
        arrays: Vec::new(),
        data: Vec::new(),
        levels: Vec::new(),
        bounds: Vec::new(),
        statements: Vec::new(),
        seen: Vec::new(),
        later: Vec::new(),
        append: None,
    };
    draw.kernel();
    draw.plan()
}

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        (self.random.next() % n.max(1) as u64) as usize
    }

    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as usize + 1) as i64
    }

    fn chance(&mut self, times: usize, of: usize) -> bool {
        self.below(of) < times
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn element(&mut self) -> ElementType {
        self.pick(&[F32, F32, F32, F32, F32, F64, F64, I32, I32, I64, I64, U8, U8, I16, U64, Bool, F16])
    }

    fn fresh(&mut self, ty: ElementType) -> Local {
        self.next += 1;
        Local { id: LocalId(self.next - 1), ty, name: "".into() }
    }

    fn depth(&self) -> usize {
        // The depth that statements are made at just now is kept as the number of scopes of `later` that are open.
        self.later.len() - 1
    }

    fn see(&mut self, local: &Local, range: Option<(i64, i64)>) {
        let depth = self.depth();
        self.seen.push(Seen { id: local.id, ty: local.ty, depth, range });
    }

    fn push(&mut self, when: Option<ScalarOperand>, action: Action) {
        let depth = self.depth() as u32;
        self.statements.push(Statement { depth, when, operation: "".into(), action });
    }

    fn kernel(&mut self) {
        for _ in 0..3 {
            let size = self.pick(&[0, 1, 2, 3, 5, 8, 17, 31, 64, 100]);
            self.fresh(I64);
            self.sizes.push(size);
        }
        let depth = if self.shape.long { self.pick(&[1, 1, 1, 2]) } else { self.pick(&[0, 1, 1, 1, 2, 2, 2, 3]) };
        let first = self.next;
        // Indices come behind sizes, before what statements make.
        let indices: Vec<Local> = (0..depth).map(|_| self.fresh(I64)).collect();
        assert_eq!(self.next, first + depth as u32);
        self.later.push(Vec::new());
        for (position, size) in self.sizes.clone().into_iter().enumerate() {
            self.seen.push(Seen { id: LocalId(position as u32), ty: I64, depth: 0, range: Some((size, size)) });
        }
        let mut points = 1;
        for (position, index) in indices.into_iter().enumerate() {
            let here = self.below(3);
            self.some_statements(here, false);
            points = self.level(index, position, depth, points);
            self.later.push(Vec::new());
        }
        let here = 2 + self.below(5);
        self.some_statements(here, true);
        while self.later.len() > 1 {
            let left = self.depth();
            self.later.pop();
            self.seen.retain(|seen| seen.depth < left);
            let after = std::mem::take(&mut self.later[left - 1]);
            // What loops made is used at once, now and then only partly.
            for seen in after {
                self.seen.push(seen);
                if self.chance(3, 4) {
                    self.store(Some(seen));
                }
            }
            let here = self.below(3);
            self.some_statements(here, true);
        }
        if !self.arrays.iter().any(|array| array.access != Access::Read) {
            let value = self.any_value();
            self.store(Some(value));
        }
    }

    fn some_statements(&mut self, count: usize, effects: bool) {
        for _ in 0..count {
            match self.below(if effects { 16 } else { 8 }) {
                0..=2 => self.load(),
                3 | 4 => self.scalar_code(),
                5 | 6 => self.scan(),
                7 => self.store(None),
                8..=11 => self.reduce(),
                12 => self.scan(),
                13 => self.append(),
                14 => self.scatter(),
                _ => self.store(None),
            }
        }
        if effects && self.depth() > 0 && self.chance(2, 3) {
            self.reduce();
        }
    }
}
