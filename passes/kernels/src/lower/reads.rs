//! What the operations of a nest read: the index at which each reads, checked where the source only stands in the nest, and the elements
//! there, which are values of the nest or are loaded.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Constant, FailureKind, LambdaBuilder, Place, ScalarOperand,
    analysis::spine::IterationOrder,
};

use super::{fuse::Fusing, name};
use crate::locals::scalar_code;

impl Fusing<'_, '_> {
    /// The index at which an operation reads what is made in its order, checked.
    pub(super) fn read_through(&mut self, position: usize) {
        if let IterationOrder::Through(by) = self.station(position).iteration_order {
            self.index[position] =
                self.through[by].clone().expect("who reads through an index stands behind what it reads");
            self.whens[position] = self.whens[by];
        }
        if !self.spine.placements.iter().any(|station| station.iteration_order == IterationOrder::Through(position)) {
            return;
        }
        let (binding, point, when) = (self.binding(position), self.point(position), self.when(position));
        let mut code = scalar_code();
        let at = self.read_at(position, &mut code);
        let at = self.nest.run_when(code, &at, point, when);
        let sources: &[ArrayId] = match &binding.op {
            ArrayOp::Backpermute { sources, .. } | ArrayOp::Slice { sources, .. } => sources,
            _ => &[],
        };
        let stands = |id: &&ArrayId| self.list.iter().any(|other| other.results.iter().any(|var| var.id == **id));
        if let Some(&source) = sources.iter().find(stands) {
            self.check_inside(position, source, &at);
        }
        self.through[position] = Some(at);
    }

    /// Fails where an index into something that only stands in the nest is outside of it.
    fn check_inside(&mut self, position: usize, source: ArrayId, at: &[ScalarOperand]) {
        let (point, when, origin) = (self.point(position), self.when(position), self.origin(position));
        let extents: Vec<ScalarOperand> =
            self.lower.extents(source).into_iter().map(|extent| self.nest.extent(extent)).collect();
        let zero = ScalarOperand::from(Constant::from(0i64));
        let mut inside = None;
        for (&index, &extent) in at.iter().zip(&extents) {
            if !self.nest.is_below(zero, index, point.depth, true) {
                let above = self.nest.binary(Binary::Le, zero, index, point);
                inside = self.nest.both(inside, Some(above), point);
            }
            if !self.nest.is_below(index, extent, point.depth, false) {
                let below = self.nest.binary(Binary::Lt, index, extent, point);
                inside = self.nest.both(inside, Some(below), point);
            }
        }
        let Some(inside) = inside else { return };
        let array = self.source_name(source);
        let fault = FailureKind::Index { array, index: at.to_vec(), extents: extents.clone() };
        self.nest.check(inside, &origin.operation, &origin.place, fault, point, when);
        if when.is_none() {
            for (&index, &extent) in at.iter().zip(&extents) {
                self.nest.at_most(point.depth, zero, index);
                self.nest.below(point.depth, index, extent);
            }
        }
    }

    /// What an array is called, in the nest or the plan.
    pub(super) fn source_name(&self, id: ArrayId) -> String {
        let own = self.list.iter().flat_map(|binding| &binding.results).find(|var| var.id == id);
        own.map_or_else(|| self.lower.values.name(self.lower.array(id)).to_owned(), name)
    }

    /// The index that an operation computes of its own, at which it reads.
    pub(super) fn read_at(&mut self, position: usize, code: &mut LambdaBuilder) -> Vec<ScalarOperand> {
        if let Some(at) = &self.through[position] {
            return at.clone();
        }
        if let Some(segments) = self.segments_of(self.station(position).row) {
            return vec![segments.segment];
        }
        let index = self.index(position);
        match &self.binding(position).op {
            ArrayOp::Backpermute { f, .. } => self.nest.call(f, &index, code),
            ArrayOp::Replicate { dims, .. } => {
                dims.iter().zip(&index).filter_map(|(dim, &index)| dim.is_none().then_some(index)).collect()
            }
            ArrayOp::Slice { dims, .. } => {
                let mut rest = index.iter().copied();
                dims.iter()
                    .map(|dim| match dim {
                        Some(operand) => self.nest.operand(self.lower.operand(*operand)),
                        None => rest.next().expect("an index for each dimension that is kept"),
                    })
                    .collect()
            }
            _ => index,
        }
    }

    /// The elements of sources at an index: values of the nest, or reads.
    pub(super) fn sources(
        &mut self,
        position: usize,
        sources: &[ArrayId],
        at: &[ScalarOperand],
        code: &mut LambdaBuilder,
    ) -> Vec<ScalarOperand> {
        sources.iter().map(|&source| self.source(position, source, at, code)).collect()
    }

    fn source(
        &mut self,
        position: usize,
        source: ArrayId,
        at: &[ScalarOperand],
        code: &mut LambdaBuilder,
    ) -> ScalarOperand {
        if let Some(&element) = self.elements.get(&source) {
            return element;
        }
        let place: &Place = &self.binding(position).place;
        let array = self.lower.array(source);
        let own = self.station(position).iteration_order == IterationOrder::Own && self.index[position].starts_with(at);
        if own && self.when(position).is_some() {
            // Where it is outside nothing uses it.
            return self.nest.load_within(array, at, self.point(position), place);
        }
        self.nest.read(code, array, at.to_vec(), place)
    }
}
