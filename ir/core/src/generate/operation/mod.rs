//! The operations, one after the other.

mod cluster;
mod control;
mod elementwise;
mod nested;
mod permute;
mod reduce;
mod sequence;
mod shape;

use super::{Kind, scope::Scope};

impl Scope<'_> {
    /// So many operations, about.
    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            // What finds nothing to work on makes way for another.
            for _ in 0..4 {
                if self.step() {
                    break;
                }
            }
        }
    }

    fn step(&mut self) -> bool {
        let weights: Vec<u32> =
            self.config.operations.iter().map(|&(kind, weight)| if self.allows(kind) { weight } else { 0 }).collect();
        let Some(at) = self.random.weighted(&weights) else { return false };
        let done = match self.config.operations[at].0 {
            Kind::Constant => self.constant(),
            Kind::Unit => self.unit(),
            Kind::Compute => self.compute(),
            Kind::Generate => self.generate(),
            Kind::Map => self.map(),
            Kind::Backpermute => self.backpermute(),
            Kind::Transform => self.transform(),
            Kind::Replicate => self.replicate(),
            Kind::Slice => self.slice(),
            Kind::Reshape => self.reshape(),
            Kind::Concat => self.concat(),
            Kind::Fold => self.fold(),
            Kind::Scan => self.scan(),
            Kind::Permute => self.permute(),
            Kind::Expand => self.expand(),
            Kind::PermutedExpand => self.permuted_expand(),
            Kind::Filter => self.filter(),
            Kind::Sort => self.sort(),
            Kind::Stencil => self.stencil(),
            Kind::Cond => self.cond(),
            Kind::While => self.repeat(),
            Kind::Foreign => self.foreign(),
            Kind::Nest => self.nest(),
            Kind::Consume => self.consume(),
            Kind::Cluster => self.cluster(),
        };
        done.is_some()
    }

    fn allows(&self, kind: Kind) -> bool {
        match kind {
            Kind::Constant | Kind::Unit | Kind::Reshape | Kind::Concat | Kind::Sort => !self.in_cluster,
            Kind::Cond | Kind::While | Kind::Foreign => !self.in_cluster && self.depth < self.config.max_depth,
            Kind::Nest | Kind::Consume => {
                self.config.nested && !self.in_cluster && !self.linear && self.depth < self.config.max_depth
            }
            Kind::Cluster => self.config.clusters && !self.in_cluster,
            Kind::Compute
            | Kind::Generate
            | Kind::Map
            | Kind::Backpermute
            | Kind::Transform
            | Kind::Replicate
            | Kind::Slice
            | Kind::Fold
            | Kind::Scan
            | Kind::Permute
            | Kind::Expand
            | Kind::PermutedExpand
            | Kind::Filter
            | Kind::Stencil => true,
        }
    }
}
