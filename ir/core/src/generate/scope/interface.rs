//! Inputs of a program, and its results.

use super::{Known, LARGE, LINEAR, Scope};
use crate::{Binary, ElementType, Extent, Output, Program, Type, Var, generate::LONG_ROW};

impl<'c> Scope<'c> {
    pub fn inputs(&mut self) {
        let count = if self.linear { self.random.range(1, 3) } else { self.random.range(1, 6) };
        let mut taken = Vec::new();
        let most = if self.linear { LARGE } else { self.config.max_extent };
        let mut sizes: Vec<Extent> = Vec::new();
        for _ in 0..count {
            let rank = if self.linear { self.random.pick(&[1, 1, 1, 0, 2]) } else { self.rank() };
            let mut extents: Vec<Extent> = Vec::new();
            for _ in 0..rank {
                let shared = if sizes.is_empty() { None } else { Some(self.random.pick(&sizes)) };
                let extent = match (self.random.below(8), shared) {
                    (0..4, Some(size)) => size,
                    (0..7, _) if sizes.len() < 4 && self.room(&extents, most) => {
                        let size = self.input_size(most, &mut taken);
                        sizes.push(size);
                        size
                    }
                    _ => Extent::Constant(self.random.pick(&[0, 1, 1, 2, 3, 4])),
                };
                extents.push(extent);
                if !self.fits(&extents) {
                    // A size that was just made had room, so this is one met before.
                    extents.pop();
                }
            }
            let element = self.random.element();
            let known = self.input(element, extents, &mut taken);
            if self.config.nested && !self.linear && self.random.chance(1, 4) {
                self.other_input(&known);
            }
        }
        self.offsets_inputs(&sizes, &mut taken);
    }

    /// Whether one more dimension of that extent fits.
    fn room(&self, extents: &[Extent], most: i64) -> bool {
        let product: i64 = extents.iter().map(|&extent| self.bounds_of(extent).1.max(1)).product();
        product.saturating_mul(most) <= self.max_elements()
            && (!self.linear || extents.iter().all(|e| matches!(e, Extent::Constant(_))))
    }

    /// A size that the next input has first.
    fn input_size(&mut self, most: i64, taken: &mut Vec<String>) -> Extent {
        let id = self.fresh();
        self.bounds.insert(id, (0, most));
        if self.random.chance(1, 6) {
            // An input that says an extent.
            let name = self.random.name(taken);
            taken.push(name.clone());
            let var = Var { id, ty: Type::scalar(ElementType::I64), name: name.into() };
            self.block().params.push(var);
        } else {
            let var = self.var(id, Type::scalar(ElementType::I64));
            self.block().sizes.push(var);
        }
        self.know(id, Type::scalar(ElementType::I64));
        Extent::Value(id)
    }

    fn input(&mut self, element: ElementType, extents: Vec<Extent>, taken: &mut Vec<String>) -> Known {
        let (id, name) = (self.fresh(), self.random.name(taken));
        taken.push(name.clone());
        let ty = Type::array(extents, element);
        self.block().params.push(Var { id, ty: ty.clone(), name: name.into() });
        self.know(id, ty)
    }

    /// Makes the latest input an array of arrays, or a stream.
    fn other_input(&mut self, known: &Known) {
        let first = |scope: &Self, at: usize| match known.ty.extents[at] {
            Extent::Value(id) => {
                !scope.blocks[0].params.iter().rev().skip(1).any(|var| var.ty.extents.contains(&Extent::Value(id)))
            }
            _ => false,
        };
        let mut ty = known.ty.clone();
        if self.random.chance(1, 2) && known.ty.rank() > 1 {
            // The inner extents are known, or any; sizes are met first where no array is missing.
            let at = self.random.range(1, known.ty.rank() as i64 - 1) as usize;
            if (at..known.ty.rank()).any(|at| first(self, at)) {
                return;
            }
            let mut inner = ty.extents.split_off(at);
            for extent in &mut inner {
                if self.random.chance(1, 2) {
                    *extent = Extent::Unknown;
                }
            }
            ty.inner = vec![inner];
            let most = if self.config.long_rows { LONG_ROW } else { self.config.max_extent };
            self.nested_most.insert(known.id, most);
        } else {
            if (0..known.ty.rank()).any(|at| first(self, at)) {
                return;
            }
            for extent in &mut ty.extents {
                if self.random.chance(1, 2) {
                    *extent = Extent::Unknown;
                }
            }
            ty.stream = true;
        }
        if let Some(var) = self.block().params.last_mut() {
            var.ty = ty.clone();
        }
        if let Some(latest) = self.values.iter_mut().find(|latest| latest.id == known.id) {
            latest.ty = ty;
        }
    }

    /// Inputs that are offsets of segments of one size.
    fn offsets_inputs(&mut self, sizes: &[Extent], taken: &mut Vec<String>) {
        for &extent in sizes {
            if !self.random.chance(1, 4) {
                continue;
            }
            let id = self.fresh();
            self.bounds.insert(id, (1, self.config.max_extent.max(1) + 1));
            let var = self.var(id, Type::scalar(ElementType::I64));
            self.block().sizes.push(var);
            self.know(id, Type::scalar(ElementType::I64));
            let wide = self.linear;
            let types: Vec<ElementType> =
                ElementType::ALL.into_iter().filter(|ty| ty.is_integer() && (!wide || ty.bytes() > 1)).collect();
            let element = self.random.pick(&types);
            let offsets = self.input(element, vec![Extent::Value(id)], taken);
            let segments = (0, self.config.max_extent);
            let Some(segments) = self.size_unit(Binary::Sub, Extent::Value(id), Extent::Constant(1), segments) else {
                continue;
            };
            if let Some(known) = self.values.iter_mut().find(|known| known.id == offsets.id) {
                known.segments = Some((extent, segments));
            }
        }
    }

    pub fn finish(mut self) -> Program {
        let mut used = std::collections::HashSet::new();
        for binding in &self.blocks[0].bindings {
            binding.op.for_each_use(&mut |id| _ = used.insert(id));
        }
        let (mut outputs, mut results, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        for (name, known) in std::mem::take(&mut self.marked) {
            taken.push(name.clone());
            outputs.push(Output { name, ty: self.output_type(&known.ty) });
            results.push(known.id);
        }
        for known in self.values.clone().into_iter().rev() {
            let unused = !used.contains(&known.id);
            if !known.ty.stream && results.len() < 12 && self.random.chance(if unused { 4 } else { 1 }, 6) {
                let name = self.random.name(&taken);
                taken.push(name.clone());
                outputs.push(Output { name, ty: self.output_type(&known.ty) });
                results.push(known.id);
            }
        }
        let name = if self.linear { LINEAR.to_owned() } else { self.random.name(&[]) };
        let mut body = self.blocks.swap_remove(0);
        body.results = results;
        Program { name, body, outputs }.renumbered()
    }

    fn output_type(&mut self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        for extent in ty.all_extents_mut() {
            let body = &self.blocks[0];
            let visible = match extent {
                Extent::Value(id) => body.sizes.iter().chain(&body.params).any(|var| var.id == *id),
                _ => true,
            };
            if !visible || self.random.chance(1, 6) {
                *extent = Extent::Unknown;
            }
        }
        ty
    }
}
