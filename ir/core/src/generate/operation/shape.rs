//! Operations that arrange elements.

use super::elementwise::ids;
use crate::{
    ArrayOp, Extent, Operand, Type,
    generate::scope::{Scope, operand, operands},
};

impl Scope<'_> {
    fn replicate_segments(&mut self) -> Option<()> {
        let extent = self.extent();
        let (offsets, segments) = self.offsets(extent, false)?;
        let count = self.random.pick(&[1, 1, 2]);
        let sources: Vec<_> = (0..count).map(|_| self.produce(None, &[segments])).collect();
        let types = sources.iter().map(|known| Type::array(vec![extent], known.element())).collect();
        let op = ArrayOp::ReplicateSegments { extent: operand(extent), sources: ids(&sources), offsets };
        self.bind(op, types);
        Some(())
    }

    pub(super) fn replicate(&mut self) -> Option<()> {
        if self.config.segments && self.random.chance(1, 4) {
            return self.replicate_segments();
        }
        let sources = self.sources(0)?;
        let kept = sources[0].ty.extents.clone();
        let mut dims: Vec<Option<Operand>> = vec![None; kept.len()];
        let mut extents = kept.clone();
        for _ in 0..self.random.pick(&[1, 1, 1, 2, 0]) {
            let (at, extent) = (self.random.below(dims.len() + 1), self.extent());
            extents.insert(at, extent);
            if self.fits(&extents) {
                dims.insert(at, Some(operand(extent)));
            } else {
                extents.remove(at);
            }
        }
        let types = sources.iter().map(|known| Type::array(extents.clone(), known.element())).collect();
        self.bind(ArrayOp::Replicate { dims, sources: ids(&sources) }, types);
        Some(())
    }

    pub(super) fn slice(&mut self) -> Option<()> {
        let sources = self.sources(1)?;
        let (mut dims, mut extents) = (Vec::new(), Vec::new());
        for &extent in &sources[0].ty.extents {
            let safe = self.positive(extent);
            if !self.random.chance(1, 2) || !(safe || self.unsafely()) {
                dims.push(None);
                extents.push(extent);
                continue;
            }
            let (low, _) = self.bounds_of(extent);
            dims.push(Some(match self.random.below(3) {
                0 if !self.in_cluster => self.index_operand(extent),
                _ => Operand::Constant(self.random.range(0, low.clamp(1, 5) - 1).into()),
            }));
        }
        let types = sources.iter().map(|known| Type::array(extents.clone(), known.element())).collect();
        self.bind(ArrayOp::Slice { dims, sources: ids(&sources) }, types);
        Some(())
    }

    /// An index of an extent that is not 0, computed by a `unit`.
    pub(super) fn index_operand(&mut self, extent: Extent) -> Operand {
        let f = self.lambda_of(&[], 3, |code, _| {
            let index = code.index(extent);
            vec![index.unwrap_or(code.number(crate::ElementType::I64, 0))]
        });
        let index = self.bind(ArrayOp::Unit { f }, vec![Type::scalar(crate::ElementType::I64)]);
        Operand::Value(index[0].id)
    }

    pub(super) fn reshape(&mut self) -> Option<()> {
        let sources = self.sources(0)?;
        let from = sources[0].ty.extents.clone();
        let mut to = from.clone();
        match self.random.below(4) {
            // Two dimensions as one, ones put in and taken out, other orders.
            0 if to.len() > 1 => {
                let at = self.random.below(to.len() - 1);
                to[at] = self.product(to[at], to[at + 1])?;
                to.remove(at + 1);
            }
            1 => to.reverse(),
            2 => to.retain(|&extent| extent != Extent::Constant(1)),
            _ if to.len() < 4 => {
                let at = self.random.below(to.len() + 1);
                to.insert(at, Extent::Constant(1));
            }
            _ => {}
        }
        if self.unsafely() {
            let rank = self.rank();
            to = self.extents(rank);
            // Of sizes of inputs alone, or they might be refuted to be equal.
            let plain =
                |extents: &[Extent]| !extents.is_empty() && extents.iter().all(|&extent| self.is_input_size(extent));
            if !plain(&to) || !plain(&from) {
                return None;
            }
        }
        let types = sources.iter().map(|known| Type::array(to.clone(), known.element())).collect();
        self.bind(ArrayOp::Reshape { extents: operands(&to), sources: ids(&sources) }, types);
        Some(())
    }

    pub(super) fn concat(&mut self) -> Option<()> {
        let first = self.array(1)?;
        let mut extents = first.ty.extents.clone();
        let dim = self.random.below(extents.len());
        let mut sources = vec![first.clone()];
        for _ in 0..self.random.pick(&[1, 1, 2, 3]) {
            let mut of_this = self.spelled(&first.ty.extents);
            if self.random.chance(1, 2) {
                of_this[dim] = self.extent();
            }
            let fits = |scope: &Self, known: &crate::generate::scope::Known| {
                known.is_array()
                    && known.element() == first.element()
                    && known.ty.rank() == of_this.len()
                    && (0..of_this.len()).all(|d| d == dim || known.ty.extents[d] == of_this[d])
                    && scope.fits(&known.ty.extents)
            };
            let more = match self.pick(fits) {
                Some(known) if self.random.chance(2, 3) => known,
                _ => self.produce(Some(first.element()), &of_this),
            };
            extents[dim] = self.sum(extents[dim], more.ty.extents[dim])?;
            sources.push(more);
        }
        if !self.fits(&extents) {
            return None;
        }
        self.bind(ArrayOp::Concat { sources: ids(&sources), dim }, vec![Type::array(extents, first.element())]);
        Some(())
    }

    pub(super) fn sort(&mut self) -> Option<()> {
        let mut keys = self.sources(1)?;
        let carry = keys.split_off(self.random.range(1, keys.len() as i64) as usize);
        let types = keys.iter().chain(&carry).map(|known| known.ty.clone()).collect();
        self.bind(ArrayOp::Sort { keys: ids(&keys), carry: ids(&carry) }, types);
        Some(())
    }
}
