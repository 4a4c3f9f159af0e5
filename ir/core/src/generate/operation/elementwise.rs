//! Operations that make each element by itself, or nearly.

use crate::{
    ArrayId, ArrayOp, Boundary, Constant, ElementType, Extent, Operand, Tap, TapBoundary, Type, Unary,
    generate::{
        code::{Atom, Param},
        scope::{Known, Scope, operands},
    },
};

impl<'c> Scope<'c> {
    /// How many results or sources, mostly one.
    pub(super) fn several(&mut self) -> usize {
        self.random.pick(&[1, 1, 1, 1, 2, 2, 3])
    }

    /// Random element types.
    pub(super) fn elements(&mut self, count: usize) -> Vec<ElementType> {
        (0..count).map(|_| self.random.element()).collect()
    }

    pub(super) fn constant(&mut self) -> Option<()> {
        let ty = self.random.element();
        let rank = self.random.pick(&[0, 1, 1, 1, 2, 2, 3, 4]);
        let extents: Vec<i64> = (0..rank).map(|_| self.random.pick(&[0, 1, 2, 2, 3])).collect();
        let size: i64 = extents.iter().product();
        let values = (0..size).map(|_| self.random.constant(ty)).collect();
        let of_type = Type::array(extents.iter().map(|&n| Extent::Constant(n)).collect(), ty);
        self.bind(ArrayOp::Constant { extents, values }, vec![of_type]);
        Some(())
    }

    pub(super) fn unit(&mut self) -> Option<()> {
        if self.random.chance(2, 3) {
            return self.new_size().map(|_| ());
        }
        let count = self.several();
        let types = self.elements(count);
        let f = self.lambda(&[], &types);
        self.bind(ArrayOp::Unit { f }, types.into_iter().map(Type::scalar).collect());
        Some(())
    }

    pub(super) fn compute(&mut self) -> Option<()> {
        let sources = self.sources(0)?;
        let types = sources.iter().map(|known| known.ty.clone()).collect();
        self.bind(ArrayOp::Compute { sources: ids(&sources) }, types);
        Some(())
    }

    /// One or several arrays of equal extents, of at least that rank.
    pub(super) fn sources(&mut self, rank: usize) -> Option<Vec<Known>> {
        let first = self.array(rank)?;
        let extents = first.ty.extents.clone();
        let mut sources = vec![first];
        for _ in 1..self.several() {
            let spelled = self.spelled(&extents);
            sources.push(self.produce(None, &spelled));
        }
        Some(sources)
    }

    pub(super) fn generate(&mut self) -> Option<()> {
        let rank = self.rank();
        let extents = self.extents(rank);
        let element = self.random.element();
        let count = self.several();
        let mut types = self.elements(count);
        types[0] = element;
        self.generate_of(&extents, &types);
        Some(())
    }

    pub(super) fn generate_of(&mut self, extents: &[Extent], types: &[ElementType]) -> Vec<Known> {
        let params = index_params(extents);
        let f = self.lambda(&params, types);
        let op = ArrayOp::Generate { extents: operands(extents), f };
        self.bind(op, types.iter().map(|&ty| Type::array(extents.to_vec(), ty)).collect())
    }

    /// A new array of these extents.
    pub fn generated(&mut self, element: ElementType, extents: &[Extent]) -> Known {
        self.generate_of(extents, &[element]).swap_remove(0)
    }

    /// A `generate` of one result with a function that `build` makes.
    pub(super) fn generated_by(
        &mut self,
        element: ElementType,
        extents: &[Extent],
        build: impl FnOnce(&mut crate::generate::code::Code<'_, 'c>, &[Atom]) -> Atom,
    ) -> Known {
        let f = self.lambda_of(&index_params(extents), 4, |code, index| vec![build(code, index)]);
        let op = ArrayOp::Generate { extents: operands(extents), f };
        self.bind(op, vec![Type::array(extents.to_vec(), element)]).swap_remove(0)
    }

    /// A `map` of one source with a function that `build` makes.
    pub(super) fn mapped_by(
        &mut self,
        element: ElementType,
        source: &Known,
        build: impl FnOnce(&mut crate::generate::code::Code<'_, 'c>, Atom) -> Atom,
    ) -> Known {
        let f = self.lambda_of(&[(source.element(), None)], 3, |code, p| vec![build(code, p[0])]);
        let op = ArrayOp::Map { f, sources: vec![source.id] };
        self.bind(op, vec![Type::array(source.ty.extents.clone(), element)]).swap_remove(0)
    }

    pub(super) fn map(&mut self) -> Option<()> {
        if self.config.rounding == crate::generate::Rounding::Marked && self.random.chance(1, 8) {
            return self.marked_map();
        }
        let mut sources = self.sources(0)?;
        let mut extents = sources[0].ty.extents.clone();
        if self.random.chance(1, 4)
            && let rank = extents.len()
            && let Some(other) = self.pick(|_, known| known.is_array() && known.ty.rank() == rank)
        {
            // Of unequal extents: over the smaller ones.
            for (extent, &of_other) in extents.iter_mut().zip(&other.ty.extents) {
                *extent = self.smaller(*extent, of_other)?;
            }
            sources.push(other);
        } else if self.random.chance(1, 12) {
            for extent in &mut extents {
                let shorter = self.extent();
                *extent = self.smaller(*extent, shorter)?;
            }
        }
        let count = self.several();
        let types = self.elements(count);
        let params: Vec<Param> = sources.iter().map(|known| (known.element(), None)).collect();
        let f = self.lambda(&params, &types);
        let op = ArrayOp::Map { f, sources: ids(&sources) };
        self.bind(op, types.iter().map(|&ty| Type::array(extents.clone(), ty)).collect());
        Some(())
    }

    /// Elements one inexact function away from exact ones: a result of the program that nothing uses.
    fn marked_map(&mut self) -> Option<()> {
        if self.depth > 0 {
            return None;
        }
        let source = self.pick(|_, known| known.is_array() && known.element().is_float())?;
        let rounded = self.mapped_by(source.element(), &source, |code, x| code.rounded(x));
        self.mark("ulp", &[rounded]);
        Some(())
    }

    /// Makes values results of the program that nothing uses.
    pub(super) fn mark(&mut self, suffix: &str, values: &[Known]) {
        self.hide(values);
        for known in values {
            let name = format!("m{}.{suffix}", self.marked.len());
            self.marked.push((name, known.clone()));
        }
    }

    /// A function from an index of `to` to one of `from`; in range, unless that cannot be.
    fn index_map(&mut self, to: &[Extent], from: &[Extent]) -> crate::Lambda {
        let fuel = self.random.pick(&[0, 0, 1, 3, 6]);
        self.lambda_of(&index_params(to), fuel, |code, _| {
            let at: Vec<Option<Atom>> = from.iter().map(|&extent| code.index(extent)).collect();
            at.into_iter().map(|atom| atom.unwrap_or(code.number(ElementType::I64, 0))).collect()
        })
    }

    /// Extents that elements of an array of extents `from` can be taken for.
    fn target_extents(&mut self, from: &[Extent]) -> Vec<Extent> {
        if self.unsafely() || from.iter().all(|&extent| self.positive(extent)) && self.random.chance(1, 2) {
            let rank = self.rank();
            return self.extents(rank);
        }
        // All of the source's extents: where it is empty, so is the result.
        let mut extents = from.to_vec();
        for at in (1..extents.len()).rev() {
            let other = self.random.below(at + 1);
            extents.swap(at, other);
        }
        if self.random.chance(1, 4) && extents.len() < 4 {
            let more = self.extent();
            extents.push(more);
            if !self.fits(&extents) {
                extents.pop();
            }
        }
        extents
    }

    pub(super) fn backpermute(&mut self) -> Option<()> {
        let sources = self.sources(0)?;
        let to = self.target_extents(&sources[0].ty.extents);
        let f = self.index_map(&to, &sources[0].ty.extents);
        let types = sources.iter().map(|known| Type::array(to.clone(), known.element())).collect();
        self.bind(ArrayOp::Backpermute { extents: operands(&to), f, sources: ids(&sources) }, types);
        Some(())
    }

    pub(super) fn transform(&mut self) -> Option<()> {
        let sources = self.sources(0)?;
        let to = self.target_extents(&sources[0].ty.extents);
        let index = self.index_map(&to, &sources[0].ty.extents);
        let count = self.several();
        let types = self.elements(count);
        let params: Vec<Param> = sources.iter().map(|known| (known.element(), None)).collect();
        let f = self.lambda(&params, &types);
        let op = ArrayOp::Transform { extents: operands(&to), index, f, sources: ids(&sources) };
        self.bind(op, types.iter().map(|&ty| Type::array(to.clone(), ty)).collect());
        Some(())
    }

    pub(super) fn stencil(&mut self) -> Option<()> {
        let rank = self.random.pick(&[1, 1, 1, 2, 2, 3, 0]);
        let first = self.pick(|_, known| known.is_array() && known.ty.rank() == rank)?;
        let extents = if self.random.chance(2, 3) { first.ty.extents.clone() } else { self.extents(rank) };
        let mut arrays = vec![first];
        for _ in 1..self.several() {
            let more = if self.random.chance(1, 2) {
                self.produce(None, &extents)
            } else {
                self.pick(|_, known| known.is_array() && known.ty.rank() == rank)?
            };
            if arrays.iter().all(|known| known.id != more.id) {
                arrays.push(more);
            }
        }
        let reach = self.random.pick(&[1, 1, 1, 2, 5, 40]);
        let mut taps = Vec::new();
        for known in &arrays {
            for _ in 0..self.random.pick(&[1, 2, 3, 5]) {
                let offsets = (0..rank).map(|_| self.random.range(-reach, reach)).collect();
                taps.push((Tap { array: known.id, offsets }, known.element()));
            }
        }
        let mut boundaries = Vec::new();
        for known in &arrays {
            let filled = known.ty.extents == extents || known.ty.extents.iter().all(|&extent| self.positive(extent));
            let kinds = if filled || self.unsafely() { 6 } else { 2 };
            let boundary = match self.random.below(kinds) {
                0 => Boundary::Constant(self.operand_of(known.element())),
                1 => Boundary::Function(self.lambda(&vec![(ElementType::I64, None); rank], &[known.element()])),
                2 | 3 => Boundary::Clamp,
                4 => Boundary::Mirror,
                _ => Boundary::Wrap,
            };
            boundaries.push(TapBoundary { array: known.id, boundary });
        }
        let params: Vec<Param> = taps.iter().map(|tap| (tap.1, None)).collect();
        let count = self.several();
        let types = self.elements(count);
        let f = self.lambda(&params, &types);
        let taps = taps.into_iter().map(|tap| tap.0).collect();
        let op = ArrayOp::Stencil { f, taps, boundaries };
        self.bind(op, types.iter().map(|&ty| Type::array(extents.clone(), ty)).collect());
        Some(())
    }

    /// A scalar operand: bound before, or a constant.
    pub(super) fn operand_of(&mut self, element: ElementType) -> Operand {
        if self.random.chance(1, 2)
            && let Some(known) = self.pick(|_, known| known.ty.is_scalar() && known.element() == element)
        {
            return Operand::Value(known.id);
        }
        Operand::Constant(self.random.constant(element))
    }

    /// An array whose elements are whole numbers of at most 16, made from one of any numbers.
    pub(super) fn small(&mut self, source: &Known) -> Known {
        if source.small || source.element() == ElementType::Bool {
            return source.clone();
        }
        let ty = source.element();
        let known = self.mapped_by(ty, source, |code, x| {
            let number = |value: i64| Atom::new(Constant::from_i64(ty, value), ty);
            if ty.is_integer() {
                return code.binary(crate::Binary::And, x, number(15));
            }
            let size = code.unary(Unary::Abs, x);
            let fits = code.binary(crate::Binary::Lt, size, number(16));
            let whole = code.unary(Unary::Round, x);
            code.branch(fits, &[ty], |_| vec![whole], |_| vec![number(1)])[0]
        });
        if let Some(latest) = self.values.iter_mut().find(|latest| latest.id == known.id) {
            latest.small = true;
        }
        Known { small: true, ..known }
    }
}

/// Parameters of a function of an index.
pub(super) fn index_params(extents: &[Extent]) -> Vec<Param> {
    extents.iter().map(|&extent| (ElementType::I64, Some(extent))).collect()
}

pub(super) fn ids(values: &[Known]) -> Vec<ArrayId> {
    values.iter().map(|known| known.id).collect()
}
