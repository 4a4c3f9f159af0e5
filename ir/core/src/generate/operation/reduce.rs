//! Folds and scans, segmented ones too.

use super::elementwise::ids;
use crate::{
    ArrayId, ArrayOp, Binary, Constant, Direction, ElementType, Extent, Lambda, Operand, ScanForm, Type, Unary,
    generate::{
        Rounding,
        scope::{Known, Scope},
    },
};

/// A float type whose sums of small numbers are exact.
const EXACT: i64 = 120;

impl Scope<'_> {
    /// Sources of a fold or scan; floats often made small, so that sums of them are exact.
    fn rows(&mut self) -> Option<Vec<Known>> {
        let mut sources = self.sources(1)?;
        if self.random.chance(1, 16) {
            let ty = self.random.pick(&[ElementType::I32, ElementType::U8, ElementType::I64]);
            let extents = sources[0].ty.extents.clone();
            sources = (0..4).map(|_| self.produce(Some(ty), &extents)).collect();
        }
        if self.config.rounding == Rounding::Free {
            return Some(sources);
        }
        for place in &mut sources {
            let known = place.clone();
            let most: i64 = known.ty.extents.iter().map(|&extent| self.bounds_of(extent).1).product();
            let exact = known.element() != ElementType::F16 || most <= EXACT;
            if known.element().is_float() && exact && self.random.chance(2, 3) {
                *place = self.small(&known);
            }
        }
        Some(sources)
    }

    fn seeds(&mut self, components: &[(ElementType, bool)]) -> Vec<Operand> {
        components
            .iter()
            .map(|&(ty, small)| {
                if small && ty.is_float() {
                    Operand::Constant(Constant::from_i64(ty, self.random.range(-8, 8)))
                } else {
                    self.operand_of(ty)
                }
            })
            .collect()
    }

    /// Offsets of segments of an extent, and how many segments; `filled` asks for segments that are not empty.
    pub(super) fn offsets(&mut self, extent: Extent, filled: bool) -> Option<(ArrayId, Extent)> {
        let narrow = self.bounds_of(extent).1 <= 127;
        let types: Vec<ElementType> =
            ElementType::ALL.into_iter().filter(|ty| ty.is_integer() && (narrow || ty.bytes() > 2)).collect();
        let element = self.random.pick(&types);
        if self.unsafely() {
            let known =
                self.pick(|_, known| known.is_array() && known.ty.rank() == 1 && known.element().is_integer())?;
            let Extent::Constant(n @ 1..) = known.ty.extents[0] else { return None };
            return Some((known.id, Extent::Constant(n - 1)));
        }
        if filled {
            // Each element by itself.
            let more = self.sum(extent, Extent::Constant(1))?;
            let known = self.generated_by(element, &[more], |code, i| code.convert(element, i[0]));
            return Some((known.id, extent));
        }
        let there = self.pick(|_, known| known.segments.is_some_and(|(of, _)| of == extent));
        if let Some((Known { id, .. }, (_, segments))) = there.and_then(|known| Some((known.clone(), known.segments?)))
            && self.random.chance(2, 3)
        {
            return Some((id, segments));
        }
        let segments = self.random.pick(&[1, 1, 2, 3, 5]);
        let known = self.generated_by(element, &[Extent::Constant(segments + 1)], |code, i| {
            let (n, of) = (code.size(extent), code.number(ElementType::I64, segments));
            let product = code.binary(Binary::Mul, i[0], n);
            let offset = code.binary(Binary::Div, product, of);
            code.convert(element, offset)
        });
        let segments = Extent::Constant(segments);
        if let Some(latest) = self.values.iter_mut().find(|latest| latest.id == known.id) {
            latest.segments = Some((extent, segments));
        }
        Some((known.id, segments))
    }

    fn components(sources: &[Known]) -> Vec<(ElementType, bool)> {
        sources.iter().map(|known| (known.element(), known.small)).collect()
    }

    pub(super) fn fold(&mut self) -> Option<()> {
        if self.config.rounding == Rounding::Marked && self.random.chance(1, 4) {
            return self.marked_fold();
        }
        let sources = self.rows()?;
        let components = Self::components(&sources);
        let mut extents = sources[0].ty.extents.clone();
        let n = extents.pop()?;
        let mut seeded = self.random.chance(2, 3);
        let segmented = self.random.chance(1, 3);
        if !seeded && !segmented && !self.positive(n) && !self.unsafely() {
            seeded = true;
        }
        let offsets = if segmented {
            let (offsets, segments) = self.offsets(n, !seeded)?;
            extents.push(segments);
            if !self.fits(&extents) {
                return None;
            }
            Some(offsets)
        } else {
            None
        };
        let (combine, commutes) = self.combining(&components);
        let seeds = if seeded { self.seeds(&components) } else { Vec::new() };
        let commutes = commutes && self.random.chance(1, 4);
        let types = components.iter().map(|&(ty, _)| Type::array(extents.clone(), ty)).collect();
        self.bind(ArrayOp::Fold { combine, seeds, sources: ids(&sources), offsets, commutes }, types);
        Some(())
    }

    pub(super) fn scan(&mut self) -> Option<()> {
        if self.config.rounding == Rounding::Marked && self.random.chance(1, 6) {
            return self.marked_scan();
        }
        let sources = self.rows()?;
        let components = Self::components(&sources);
        let extents = sources[0].ty.extents.clone();
        let (&n, rows) = extents.split_last()?;
        let segments = if self.random.chance(1, 3) { Some(self.offsets(n, false)?) } else { None };
        let form = self.random.pick(&[ScanForm::Exclusive, ScanForm::Inclusive, ScanForm::Body]);
        let mut of_body = extents.clone();
        if form == ScanForm::Exclusive {
            let more = segments.map_or(Extent::Constant(1), |segments| segments.1);
            *of_body.last_mut()? = self.sum(n, more)?;
        }
        let mut types: Vec<Type> = components.iter().map(|&(ty, _)| Type::array(of_body.clone(), ty)).collect();
        if form == ScanForm::Body {
            let totals: Vec<Extent> = rows.iter().copied().chain(segments.map(|segments| segments.1)).collect();
            if !self.fits(&totals) {
                return None;
            }
            types.extend(components.iter().map(|&(ty, _)| Type::array(totals.clone(), ty)));
        }
        if !self.fits(&of_body) {
            return None;
        }
        let (combine, commutes) = self.combining(&components);
        let seeds = if form == ScanForm::Inclusive { Vec::new() } else { self.seeds(&components) };
        let op = ArrayOp::Scan {
            direction: self.random.pick(&[Direction::Left, Direction::Right]),
            form,
            combine,
            seeds,
            sources: ids(&sources),
            offsets: segments.map(|segments| segments.0),
            commutes: commutes && self.random.chance(1, 4),
        };
        self.bind(op, types);
        Some(())
    }

    /// Any floats, and their absolute values as `f64`.
    fn sizes_of_floats(&mut self) -> Option<(Known, Known)> {
        if self.depth > 0 || self.in_cluster {
            return None;
        }
        let source = self.pick(|_, known| known.is_array() && known.ty.rank() > 0 && known.element().is_float())?;
        let sizes = self.mapped_by(ElementType::F64, &source, |code, x| {
            let size = code.unary(Unary::Abs, x);
            code.convert(ElementType::F64, size)
        });
        Some((source, sizes))
    }

    /// Sums of any floats, and the sums of their absolute values: results of the program that nothing uses.
    fn marked_fold(&mut self) -> Option<()> {
        let (source, sizes) = self.sizes_of_floats()?;
        let mut extents = source.ty.extents.clone();
        extents.pop();
        let mut sums = Vec::new();
        for known in [&source, &sizes] {
            let ty = known.element();
            let op = ArrayOp::Fold {
                combine: Lambda::componentwise(&[(Binary::Add, ty)]),
                seeds: vec![Constant::zero(ty).into()],
                sources: vec![known.id],
                offsets: None,
                commutes: false,
            };
            sums.extend(self.bind(op, vec![Type::array(extents.clone(), ty)]));
        }
        self.mark_sums(&sums);
        Some(())
    }

    fn mark_sums(&mut self, sums: &[Known]) {
        self.hide(sums);
        let name = format!("m{}", self.marked.len());
        self.marked.push((format!("{name}.sum"), sums[0].clone()));
        self.marked.push((format!("{name}.bound"), sums[1].clone()));
    }

    fn marked_scan(&mut self) -> Option<()> {
        let (source, sizes) = self.sizes_of_floats()?;
        let direction = self.random.pick(&[Direction::Left, Direction::Right]);
        let mut sums = Vec::new();
        for known in [&source, &sizes] {
            let op = ArrayOp::Scan {
                direction,
                form: ScanForm::Inclusive,
                combine: Lambda::componentwise(&[(Binary::Add, known.element())]),
                seeds: Vec::new(),
                sources: vec![known.id],
                offsets: None,
                commutes: false,
            };
            sums.extend(self.bind(op, vec![known.ty.clone()]));
        }
        self.mark_sums(&sums);
        Some(())
    }
}
