//! The classes of a block's graph as numbers: of extents, of segments and of orders in which gathers read. What has the same number is
//! proved equal; segments of segments have one number too.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Extent, Lambda, Operand, ScanForm,
    analysis::{Size, UnionFind},
};

use crate::{
    build::{Build, Inner},
    graph::{Kind, Node},
};

impl Build<'_, '_> {
    /// The number of the order in which an operation reads, where several may read in the same.
    pub(crate) fn order_of(&mut self, op: &ArrayOp) -> Option<u32> {
        match op {
            ArrayOp::Backpermute { extents, f: index, .. } | ArrayOp::Transform { extents, index, .. } => {
                Some(self.gather(extents, index))
            }
            _ => None,
        }
    }

    /// What runs over segments, and which segments are the elements of others: these may be one nest.
    pub(crate) fn follow_segments(&mut self, binding: &Binding, node: &Node, traversed: &[ArrayId]) {
        let within = traversed.iter().find_map(|id| self.in_segments.get(id)).copied();
        let within = match (&binding.op, node.segments, node.kind) {
            (ArrayOp::ReplicateSegments { .. }, Some(class), _) => {
                // What it reads has an element for each segment.
                self.chained.extend(within.map(|around| (around, class)));
                self.in_segments.extend(binding.results.iter().map(|var| (var.id, class)));
                return;
            }
            (_, None, Kind::Elementwise) => within,
            _ => None,
        };
        if let Some(class) = within {
            self.in_segments.extend(binding.results.iter().map(|var| (var.id, class)));
        }
        let of = traversed.iter().find_map(|id| self.over_segments.get(id)).copied();
        let over = match (node.segments, node.kind) {
            (Some(class), kind) => {
                self.chained.extend(of.map(|of| (of, class)));
                if kind == Kind::FoldSegments { Some(class) } else { of }
            }
            (None, Kind::Elementwise | Kind::ScanLeft { longer: false } | Kind::ScanRight { longer: false }) => of,
            _ => None,
        };
        if let Some(over) = over {
            self.over_segments.extend(binding.results.iter().map(|var| (var.id, over)));
        }
    }

    /// Segments of segments are one class; whether they are one nest says the spine.
    pub(crate) fn unite_segments(&mut self) {
        let mut classes = UnionFind::new(self.segments.len());
        self.chained.iter().for_each(|&(a, b)| _ = classes.unite(a as usize, b as usize));
        for class in self.graph.nodes.iter_mut().filter_map(|node| node.segments.as_mut()) {
            *class = classes.find(*class as usize) as u32;
        }
    }

    /// What depends on the extents: classes inside, segments, scalars that folds leave.
    pub(crate) fn finish(&mut self, binding: &Binding, runs: &[Extent], node: &mut Node) {
        let offsets = match &binding.op {
            ArrayOp::Fold { offsets, .. } | ArrayOp::Scan { offsets, .. } => *offsets,
            ArrayOp::ReplicateSegments { offsets, .. } => Some(*offsets),
            _ => None,
        };
        node.segments = offsets.map(|offsets| {
            let next = self.segments.len() as u32;
            *self.segments.entry(self.context.sizes.first_equal(offsets)).or_insert(next)
        });
        let last = runs.last().copied().unwrap_or(Extent::Constant(1));
        let class = match offsets {
            Some(offsets) => Inner::Segments(self.context.sizes.first_equal(offsets)),
            None => Inner::Extent(self.size(last)),
        };
        let folds: std::ops::Range<usize> = match &binding.op {
            ArrayOp::Fold { .. } => 0..binding.results.len(),
            ArrayOp::Scan { form: ScanForm::Body, sources, .. } => {
                sources.len().min(binding.results.len())..binding.results.len()
            }
            _ => return,
        };
        let next = self.inner.len() as u32;
        let class = *self.inner.entry(class).or_insert(next);
        node.outputs[folds].iter_mut().for_each(|output| output.inner = Some(class));
    }

    /// The number of an order of reading: equal for equal functions over equal extents.
    fn gather(&mut self, extents: &[Operand], index: &Lambda) -> u32 {
        let index = index.clone().renumbered();
        let mut outer = Vec::new();
        index.outer_uses(&mut |id| outer.push(id));
        let same = self.gathers.entry((extents.to_vec(), outer)).or_default();
        match same.iter().find(|(other, _)| *other == index) {
            Some(&(_, number)) => number,
            None => {
                let number = self.orders;
                self.orders += 1;
                same.push((index, number));
                number
            }
        }
    }

    fn size(&self, extent: Extent) -> Result<Size, Extent> {
        self.context.sizes.extent(extent).ok_or(extent)
    }

    pub(crate) fn class(&mut self, extents: &[Extent]) -> u32 {
        let key: Vec<_> = extents.iter().map(|&extent| self.size(extent)).collect();
        let next = self.extents.len() as u32;
        if extents.contains(&Extent::Unknown) {
            // Nothing is known to be equal to it.
            self.extents.insert(vec![Err(Extent::Unknown), Ok(Size::constant(next.into()))], next);
            return next;
        }
        if let Some(&class) = self.extents.get(&key) {
            return class;
        }
        let name = |id: ArrayId| match self.context.definitions.get(id).map(|definition| &definition.var().name.0) {
            Some(name) if !name.is_empty() => name.clone(),
            _ => id.to_string(),
        };
        let shown = extents.iter().map(|&extent| match extent {
            Extent::Constant(value) => value.to_string(),
            Extent::Value(id) => name(id),
            Extent::Unknown => "?".to_owned(),
        });
        self.graph.classes.insert(next, format!("[{}]", shown.collect::<Vec<_>>().join(", ")));
        self.extents.insert(key, next);
        next
    }
}
