//! Operations that make each element by itself.

use fusebox_ir::ArrayOp;

use super::fuse::Fusing;
use crate::strict::ScalarCode;

impl Fusing<'_, '_> {
    pub(super) fn elementwise(&mut self, position: usize) {
        let binding = self.binding(position);
        let (point, when, index) = (self.point(position), self.when(position), self.index(position));
        let mut code = ScalarCode::default();
        let values = match &binding.op {
            ArrayOp::Generate { f, .. } => self.nest.call(f, &index, &mut code),
            ArrayOp::Map { f, sources } => {
                let elements = self.sources(position, sources, &index, &mut code);
                self.nest.call(f, &elements, &mut code)
            }
            ArrayOp::Backpermute { sources, .. }
            | ArrayOp::Replicate { sources, .. }
            | ArrayOp::Slice { sources, .. } => {
                let at = self.read_at(position, &mut code);
                self.sources(position, sources, &at, &mut code)
            }
            ArrayOp::Transform { index: to, f, sources, .. } => {
                let at = self.nest.call(to, &index, &mut code);
                let elements = self.sources(position, sources, &at, &mut code);
                self.nest.call(f, &elements, &mut code)
            }
            ArrayOp::Compute { sources } => self.sources(position, sources, &index, &mut code),
            ArrayOp::Stencil { f, taps, boundaries } => {
                let elements = self.taps(position, f, taps, boundaries, &mut code);
                self.nest.call(f, &elements, &mut code)
            }
            _ => Vec::new(),
        };
        let values = self.nest.run_when(code, &values, point, when);
        for (var, &value) in binding.results.iter().zip(&values) {
            self.give(position, var, value);
        }
    }
}
