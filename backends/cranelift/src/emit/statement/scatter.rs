//! Scatters: elements combined into targets, in order; copies for chunks.

use fusebox_ir::{Action, Binary, Constant, ElementType, ScatterOrder, analysis::algebra::built_ins};

use crate::{
    emit::{Emitter, HiddenArgument, Part, Result, Val, identities},
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// Whether each target of a copy needs a byte that says if it has elements: in chunks, and no identity to start from.
    pub fn needs_flags(action: &Action) -> bool {
        matches!(action, Action::Scatter { combine, order: ScatterOrder::Chunks, .. } if identities(combine).is_none())
    }

    /// The element of a point, or of a gang, lane after lane.
    pub(in crate::emit) fn scatter(&mut self, position: usize, when: Option<Value>) -> Result {
        let kernel = self.kernel;
        let Action::Scatter { arrays, map, values, place, .. } = &kernel.statements[position].action else {
            return Ok(());
        };
        if self.is_in_runs(position) {
            return self.scatter_in_runs(position, when);
        }
        let index = map.dims.iter().map(|dim| self.dim_index(dim)).collect::<Result<Vec<_>>>()?;
        let values = values.iter().map(|&value| self.operand(value)).collect::<Result<Vec<_>>>()?;
        let mask = self.b.both(when, self.mask);
        let outer = std::mem::replace(&mut self.mask, mask);
        if map.checked {
            self.check_index(arrays[0], &index, &map.dims, place)?;
        }
        let target = self.position(arrays[0], &index)?;
        self.mask = None;
        if let Some(first) = self.side_by_side(position, target, mask) {
            let mut all = Vec::new();
            for value in values {
                all.push(self.gang(value));
            }
            all.push(first);
            self.scatter_one(position, &all, 0)?;
            self.mask = outer;
            return Ok(());
        }
        let target = self.gang(target);
        let mut all: Vec<Value> = values.into_iter().map(|value| self.gang(value)).collect();
        all.push(target);
        // Of a gang along the outermost level each lane is a step of its own.
        let along = self.lanes > 1 && self.gang.is_some_and(|gang| gang.level == 0);
        self.lane_by_lane(&all, mask, |this, lane, values, mask| match mask {
            _ if this.part == Part::Partition(position) => this.put_aside(position, values, mask),
            None => this.scatter_one(position, values, if along { lane } else { 0 }),
            Some(mask) => {
                this.b.open();
                this.scatter_one(position, values, if along { lane } else { 0 })?;
                let then = this.b.close();
                this.b.open();
                let otherwise = this.b.close();
                this.b.end_if(mask, (then, Vec::new()), (otherwise, Vec::new()));
                Ok(())
            }
        })?;
        self.mask = outer;
        Ok(())
    }

    /// The first target of a gang whose targets lie side by side, each lane's own: elements are combined into all of them at once.
    fn side_by_side(&self, position: usize, target: Val, mask: Option<Value>) -> Option<Value> {
        let Val::Linear(first, stride) = target else { return None };
        let action = &self.kernel.statements[position].action;
        let Action::Scatter { arrays, .. } = action else { return None };
        let near = self.b.constant_of(stride).and_then(Constant::as_i64) == Some(1);
        // Steps of the outermost level may be of several chunks.
        let inside = self.gang.is_some_and(|gang| gang.level > 0);
        let are_numbers = arrays.iter().all(|array| self.kernel.arrays[array.index()].element != ElementType::Bool);
        let own = self.part != Part::Partition(position) && !Self::needs_flags(action);
        (near && inside && are_numbers && own && mask.is_none()).then_some(first)
    }

    /// Elements into the target of one, or into those of a gang that lie side by side from the last value on.
    pub(super) fn scatter_one(&mut self, position: usize, values: &[Value], lane: u32) -> Result {
        let kernel = self.kernel;
        let action = &kernel.statements[position].action;
        let Action::Scatter { arrays, combine, order, .. } = action else { self.misplaced(position) };
        let (values, target) = (&values[..values.len() - 1], values[values.len() - 1]);
        // Outside of all levels there is one element: it goes into the array itself.
        let chunked = *order == ScatterOrder::Chunks && kernel.statements[position].depth > 0;
        let chunk = (chunked && self.part == Part::Whole).then(|| self.chunk(position, lane));
        let mut bases = Vec::new();
        for (component, array) in arrays.iter().enumerate() {
            let mut base = self.arrays[array.index()];
            if let Some(Some(chunk)) = chunk {
                // Chunk 0 works on the array, the others on copies one after the other.
                let copies = self.hidden_argument(HiddenArgument::Copies(position, component));
                let bytes = kernel.arrays[array.index()].element.bytes() as i64;
                let mut size = self.b.int(bytes);
                for &extent in &kernel.arrays[array.index()].extents {
                    let extent = self.extent(extent)?;
                    size = self.b.mul(size, extent);
                }
                let ahead = self.b.add_int(chunk, -1);
                let ahead = self.b.mul(ahead, size);
                let copy = self.b.add(copies, ahead);
                let zero = self.b.int(0);
                let first = self.b.binary(Binary::Eq, chunk, zero);
                base = self.b.select(first, base, copy);
            }
            bases.push(base);
        }
        let old: Vec<Value> = (bases.iter().zip(arrays))
            .map(|(&base, array)| {
                let element = kernel.arrays[array.index()].element;
                self.b.load(element, self.lanes, base, target, Memory::Shared)
            })
            .collect();
        let new = if Self::needs_flags(action) && !matches!(self.part, Part::Combine(_)) {
            let mut flags = self.hidden_argument(HiddenArgument::CopyFlags(position));
            if let Some(Some(chunk)) = chunk {
                let mut size = self.b.int(1);
                for &extent in &kernel.arrays[arrays[0].index()].extents {
                    let extent = self.extent(extent)?;
                    size = self.b.mul(size, extent);
                }
                let ahead = self.b.mul(chunk, size);
                flags = self.b.add(flags, ahead);
            }
            let has = self.b.load(ElementType::Bool, 1, flags, target, Memory::Shared);
            let some = self.b.constant(Constant::from(true));
            let (new, _) = self.combine_present(combine, (values, some), (&old, has), false)?;
            self.b.store(flags, target, some, None);
            new
        } else {
            self.combine(combine, values, &old, false)?
        };
        for (&base, value) in bases.iter().zip(new) {
            self.b.store(base, target, value, None);
        }
        Ok(())
    }

    /// The chunk of the step of the outermost level, so many lanes on.
    fn chunk(&mut self, position: usize, lane: u32) -> Option<Value> {
        let step = self.outer_step?;
        let step = self.b.add_int(step, lane.into());
        let steps = self.hidden_argument(HiddenArgument::ChunkSteps(position));
        Some(self.b.binary(Binary::Div, step, steps))
    }

    /// Combines copied targets `from..to` of one scatter into its arrays. The first flags are those of the copy.
    pub(in crate::emit) fn merge(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        self.operation = kernel.operation(&kernel.statements[position]);
        let (mut from, to) = self.range;
        let lanes = self.lanes_of_merge(position);
        if lanes > 1 {
            let targets = self.b.sub(to, from);
            let whole = self.b.int(-i64::from(lanes));
            let targets = self.b.binary(Binary::And, targets, whole);
            let end = self.b.add(from, targets);
            self.merged(position, (from, end), lanes)?;
            from = end;
        }
        self.merged(position, (from, to), 1)
    }

    /// How many targets are combined at once: a register of them, where each component has a function of its own that registers have.
    fn lanes_of_merge(&self, position: usize) -> u32 {
        let action = &self.kernel.statements[position].action;
        let Action::Scatter { arrays, combine, .. } = action else { self.misplaced(position) };
        let in_registers =
            |function: &Binary| matches!(function, Binary::Add | Binary::Min | Binary::Max | Binary::And | Binary::Or);
        let elements = arrays.iter().map(|array| self.kernel.arrays[array.index()].element);
        let are_numbers = elements.clone().all(|own| !matches!(own, ElementType::Bool | ElementType::F16));
        let plain = built_ins(combine).is_some_and(|functions| functions.iter().all(in_registers));
        let bytes = elements.map(ElementType::bytes).min().unwrap_or(8);
        if are_numbers && plain && !Self::needs_flags(action) { (self.vector_bytes / bytes).max(1) as u32 } else { 1 }
    }

    /// Targets `from..to`, so many at once.
    fn merged(&mut self, position: usize, (from, to): (Value, Value), lanes: u32) -> Result {
        let kernel = self.kernel;
        let action = &kernel.statements[position].action;
        let Action::Scatter { arrays, combine, .. } = action else { self.misplaced(position) };
        let open = self.b.begin_loop(from, to, lanes.into(), &[]);
        let at = open.index;
        let load = |this: &mut Self, base: Value, ty: ElementType| this.b.load(ty, lanes, base, at, Memory::Shared);
        let types: Vec<ElementType> = arrays.iter().map(|array| kernel.arrays[array.index()].element).collect();
        let mut copies = Vec::new();
        let mut old = Vec::new();
        for (component, &ty) in types.iter().enumerate() {
            let base = self.hidden_argument(HiddenArgument::Copies(position, component));
            copies.push(load(self, base, ty));
            let base = self.arrays[arrays[component].index()];
            old.push(load(self, base, ty));
        }
        let new = if Self::needs_flags(action) {
            let flags = self.hidden_argument(HiddenArgument::CopyFlags(position));
            let has = load(self, flags, ElementType::Bool);
            let some = self.b.constant(Constant::from(true));
            self.combine_present(combine, (&copies, has), (&old, some), false)?.0
        } else {
            let outer = std::mem::replace(&mut self.lanes, lanes);
            let new = self.combine(combine, &copies, &old, false)?;
            self.lanes = outer;
            new
        };
        for (array, value) in arrays.iter().zip(new) {
            self.b.store(self.arrays[array.index()], at, value, None);
        }
        self.b.end_loop(open, Vec::new());
        Ok(())
    }
}
