//! The rows. No arm for "all others": a new operation does not build until its row is here.

use super::{Alike, Given, How, Kind, Known, Made, Read, Role, RunsOver, Sequence, Shape, Signature, Sum, Term};
use crate::{ArrayId, ArrayOp, Binding, Direction, Operand, PermuteOrder, ScanForm, analysis::algebra};

impl ArrayOp {
    /// The sort of work that it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Compute { .. }
            | Self::Generate { .. }
            | Self::Map { .. }
            | Self::Backpermute { .. }
            | Self::Transform { .. }
            | Self::Replicate { .. }
            | Self::ReplicateSegments { .. }
            | Self::Slice { .. } => Kind::Elementwise,
            Self::Stencil { .. } => Kind::Stencil,
            Self::Fold { .. } | Self::Scan { .. } => Kind::Rows,
            Self::Expand { .. } | Self::Filter { .. } => Kind::Counted,
            Self::Permute { .. } | Self::PermutedExpand { .. } => Kind::Scattered,
            Self::Constant { .. } | Self::Reshape { .. } | Self::Concat { .. } | Self::Sort { .. } => Kind::Whole,
            Self::Unit { .. } => Kind::Scalars,
            Self::Nest { .. }
            | Self::Element { .. }
            | Self::Cond { .. }
            | Self::While { .. }
            | Self::Foreign { .. }
            | Self::Consume { .. }
            | Self::Cluster { .. } => Kind::Control,
        }
    }

    /// The order in which it takes elements: of a row where it reads rows, else of all.
    pub fn sequence(&self) -> Sequence {
        match self {
            Self::Scan { direction: Direction::Left, .. } => Sequence::Ascending,
            Self::Scan { direction: Direction::Right, .. } => Sequence::Descending,
            // Operands keep their order unless they are known to commute; it is the association that schedules may choose.
            Self::Fold { .. } | Self::Expand { .. } | Self::Filter { .. } => Sequence::Ascending,
            Self::Permute { combine, order, .. } | Self::PermutedExpand { combine, order, .. } => match order {
                PermuteOrder::Unique => Sequence::Any,
                PermuteOrder::Ordered => Sequence::Ascending,
                PermuteOrder::Source => {
                    let known = algebra(combine);
                    if known.commutes && !known.rounds { Sequence::Any } else { Sequence::Ascending }
                }
            },
            Self::Consume { .. } => Sequence::Ascending,
            Self::Constant { .. }
            | Self::Unit { .. }
            | Self::Compute { .. }
            | Self::Generate { .. }
            | Self::Map { .. }
            | Self::Backpermute { .. }
            | Self::Transform { .. }
            | Self::Replicate { .. }
            | Self::ReplicateSegments { .. }
            | Self::Slice { .. }
            | Self::Reshape { .. }
            | Self::Concat { .. }
            | Self::Sort { .. }
            | Self::Stencil { .. }
            | Self::Nest { .. }
            | Self::Element { .. }
            | Self::Cond { .. }
            | Self::While { .. }
            | Self::Foreign { .. }
            | Self::Cluster { .. } => Sequence::Any,
        }
    }
}

impl<'a> Signature<'a> {
    /// The row of a binding. `rank` says of arrays that it reads how many dimensions they have; where it does not know, nothing is said of
    /// the results' extents.
    pub fn of(binding: &'a Binding, rank: &dyn Fn(ArrayId) -> Option<usize>) -> Self {
        let row = Row { binding, rank };
        match &binding.op {
            ArrayOp::Constant { extents, .. } => {
                let extents = extents.iter().map(|&extent| Sum { terms: Vec::new(), constant: extent }).collect();
                row.start(Made::Together).gives(1, Shape::Exactly(extents), Known::AtEnd)
            }
            ArrayOp::Unit { f } => {
                row.start(Made::ByFunction(f)).gives(f.results.len(), Shape::Exactly(Vec::new()), Known::AtEnd)
            }
            ArrayOp::Compute { sources } => row
                .start(Made::BySource)
                .reads(Role::Source, How::Same, sources)
                .alike(sources)
                .gives(sources.len(), row.like(sources), Known::Elements)
                .over(RunsOver::Result),
            ArrayOp::Generate { extents, f } => row
                .start(Made::ByFunction(f))
                .extents(extents)
                .gives(f.results.len(), given(extents), Known::Elements)
                .over(RunsOver::Result),
            ArrayOp::Map { f, sources } => row
                .start(Made::ByFunction(f))
                .reads(Role::Source, How::Same, sources)
                .gives(f.results.len(), Shape::Within(sources.clone()), Known::Elements)
                .over(RunsOver::Result),
            ArrayOp::Backpermute { extents, sources, .. } => row
                .start(Made::BySource)
                .reads(Role::Source, How::Mapped, sources)
                .alike(sources)
                .extents(extents)
                .gives(sources.len(), given(extents), Known::Elements)
                .over(RunsOver::Result)
                .fails(true),
            ArrayOp::Transform { extents, f, sources, .. } => row
                .start(Made::ByFunction(f))
                .reads(Role::Source, How::Mapped, sources)
                .alike(sources)
                .extents(extents)
                .gives(f.results.len(), given(extents), Known::Elements)
                .over(RunsOver::Result)
                .fails(true),
            ArrayOp::Replicate { dims, sources } => {
                let kept = dims.iter().filter(|dim| dim.is_none()).count();
                let is_prefix = dims.iter().take(kept).all(Option::is_none);
                let new: Vec<Operand> = dims.iter().flatten().copied().collect();
                row.start(Made::BySource)
                    .reads(Role::Source, if is_prefix { How::Prefix } else { How::Mapped }, sources)
                    .alike(sources)
                    .extents(&new)
                    .gives(sources.len(), row.replicated(dims, sources), Known::Elements)
                    .over(RunsOver::Result)
            }
            // That there are as many elements as segments is not asked for: an element that a segment lacks is an index outside.
            ArrayOp::ReplicateSegments { extent, sources, offsets } => row
                .start(Made::BySource)
                .reads(Role::Source, How::Mapped, sources)
                .reads(Role::Offsets, How::Anywhere, std::slice::from_ref(offsets))
                .alike(sources)
                .extents(std::slice::from_ref(extent))
                .gives(sources.len(), given(std::slice::from_ref(extent)), Known::Elements)
                .over(RunsOver::Result)
                .fails(true),
            ArrayOp::Slice { dims, sources } => row
                .start(Made::BySource)
                .reads(Role::Source, How::Mapped, sources)
                .alike(sources)
                .gives(sources.len(), row.sliced(dims, sources), Known::Elements)
                .over(RunsOver::Result)
                .fails(dims.iter().any(Option::is_some)),
            ArrayOp::Reshape { extents, sources } => row
                .start(Made::BySource)
                .reads(Role::Source, How::Anywhere, sources)
                .alike(sources)
                .extents(extents)
                .gives(sources.len(), given(extents), Known::AtEnd)
                .fails(true),
            ArrayOp::Concat { sources, dim } => row
                .start(Made::Together)
                .reads(Role::Source, How::Anywhere, sources)
                .alike_but(sources, Some(*dim))
                .gives(1, row.concatenated(sources, *dim), Known::AtEnd)
                // The sum of extents may be too large.
                .fails(true),
            ArrayOp::Fold { combine, seeds, sources, offsets, .. } => row
                .start(Made::ByCombining(combine))
                .reads(Role::Source, How::Row, sources)
                .reads(Role::Offsets, How::Anywhere, offsets.as_slice())
                .alike(sources)
                .gives(sources.len(), row.outer(sources, *offsets), Known::AfterRow)
                .over_array(sources)
                .fails(seeds.is_empty() || offsets.is_some()),
            ArrayOp::Scan { form, combine, sources, offsets, .. } => {
                let body = if *form == ScanForm::Exclusive { row.longer(sources, *offsets) } else { row.like(sources) };
                let totals = if *form == ScanForm::Body { sources.len() } else { 0 };
                row.start(Made::ByCombining(combine))
                    .reads(Role::Source, How::Row, sources)
                    .reads(Role::Offsets, How::Anywhere, offsets.as_slice())
                    .alike(sources)
                    .gives(sources.len(), body, Known::Elements)
                    .gives(totals, row.outer(sources, *offsets), Known::AfterRow)
                    .over_array(sources)
                    .fails(offsets.is_some())
            }
            ArrayOp::Permute { combine, defaults, values, targets, keep, .. } => {
                let sources: Vec<ArrayId> = values.iter().chain(targets).chain(keep).copied().collect();
                row.start(Made::ByCombining(combine))
                    .reads(Role::Default, How::Anywhere, defaults)
                    .reads(Role::Value, How::Same, values)
                    .reads(Role::Target, How::Same, targets)
                    .reads(Role::Keep, How::Same, keep.as_slice())
                    .alike(defaults)
                    .alike(&sources)
                    .gives(defaults.len(), row.like(defaults), Known::AtEnd)
                    .over_array(&sources)
                    .fails(true)
            }
            ArrayOp::Expand { get, sources, .. } => row
                .start(Made::Together)
                .reads(Role::Source, How::Same, sources)
                .alike(sources)
                .counts(get.results.len())
                .over_array(sources)
                .fails(true),
            ArrayOp::PermutedExpand { combine, defaults, sources, .. } => row
                .start(Made::ByCombining(combine))
                .reads(Role::Default, How::Anywhere, defaults)
                .reads(Role::Source, How::Same, sources)
                .alike(defaults)
                .alike(sources)
                .gives(defaults.len(), row.like(defaults), Known::AtEnd)
                .over_array(sources)
                .fails(true),
            ArrayOp::Filter { sources, .. } => row
                .start(Made::Together)
                .reads(Role::Source, How::Same, sources)
                .alike(sources)
                .counts(sources.len())
                .over_array(sources),
            ArrayOp::Sort { keys, carry } => {
                let all = [&keys[..], carry].concat();
                row.start(Made::Together)
                    .reads(Role::Key, How::Anywhere, keys)
                    .reads(Role::Carried, How::Anywhere, carry)
                    .alike(&all)
                    .gives(all.len(), row.like(&all), Known::AtEnd)
            }
            ArrayOp::Stencil { f, taps, .. } => {
                let taps: Vec<ArrayId> = taps.iter().map(|tap| tap.array).collect();
                row.start(Made::ByFunction(f))
                    .reads(Role::Source, How::Around, &taps)
                    .gives(f.results.len(), Shape::Declared, Known::Elements)
                    .over(RunsOver::Result)
                    // Where an array without elements is tapped there is nothing to stand for what is outside.
                    .fails(true)
            }
            ArrayOp::Element { source, .. } => {
                row.start(Made::Together).reads(Role::Source, How::Anywhere, std::slice::from_ref(source)).fails(true)
            }
            ArrayOp::Nest { extents, .. } => row.start(Made::Together).extents(extents).fails(true),
            ArrayOp::Consume { streams, .. } => {
                row.start(Made::Together).reads(Role::Source, How::Anywhere, streams).fails(true)
            }
            ArrayOp::While { .. } => row.start(Made::Together).fails(true),
            ArrayOp::Cond { .. } | ArrayOp::Foreign { .. } | ArrayOp::Cluster { .. } => {
                row.start(Made::ByBlock).fails(true)
            }
        }
    }
}

/// Extents as operands say them.
fn given(extents: &[Operand]) -> Shape {
    Shape::Exactly(extents.iter().map(|&extent| value(extent)).collect())
}

fn value(operand: Operand) -> Sum {
    match operand {
        Operand::Constant(constant) => Sum { terms: Vec::new(), constant: constant.as_i64().unwrap_or_default() },
        operand => Term::Value(operand).into(),
    }
}

fn extent(array: ArrayId, dim: usize) -> Sum {
    Term::Extent { array, dim }.into()
}

/// What rows are made from.
#[derive(Clone, Copy)]
struct Row<'a, 'r> {
    binding: &'a Binding,
    rank: &'r dyn Fn(ArrayId) -> Option<usize>,
}

impl<'a> Row<'a, '_> {
    /// A row of which only that much is known.
    fn start(self, made: Made<'a>) -> Signature<'a> {
        Signature {
            kind: self.binding.op.kind(),
            reads: Vec::new(),
            runs_over: RunsOver::Nothing,
            alike: Vec::new(),
            extents: Vec::new(),
            results: Vec::new(),
            made,
            fails: false,
        }
    }

    fn rank_of(&self, arrays: &[ArrayId]) -> Option<usize> {
        (self.rank)(*arrays.first()?)
    }

    /// The extents of the first of some arrays.
    fn dims(&self, arrays: &[ArrayId]) -> Option<Vec<Sum>> {
        let (&first, rank) = (arrays.first()?, self.rank_of(arrays)?);
        Some((0..rank).map(|dim| extent(first, dim)).collect())
    }

    fn like(&self, arrays: &[ArrayId]) -> Shape {
        self.dims(arrays).map_or(Shape::Unknown, Shape::Exactly)
    }

    /// Without the innermost dimension, but with one for segments where there are offsets.
    fn outer(&self, sources: &[ArrayId], offsets: Option<ArrayId>) -> Shape {
        let Some(mut dims) = self.dims(sources) else { return Shape::Unknown };
        dims.pop();
        dims.extend(offsets.map(segments));
        Shape::Exactly(dims)
    }

    /// The innermost dimension has one element more: with segments one in each.
    fn longer(&self, sources: &[ArrayId], offsets: Option<ArrayId>) -> Shape {
        let Some(mut dims) = self.dims(sources) else { return Shape::Unknown };
        if let Some(last) = dims.last_mut() {
            let more = offsets.map_or(Sum { terms: Vec::new(), constant: 1 }, segments);
            last.terms.extend(more.terms);
            last.constant += more.constant;
        }
        Shape::Exactly(dims)
    }

    fn replicated(&self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Shape {
        let Some(kept) = self.dims(sources) else { return Shape::Unknown };
        let mut kept = kept.into_iter();
        let all: Option<Vec<Sum>> = dims.iter().map(|dim| dim.map(value).or_else(|| kept.next())).collect();
        all.map_or(Shape::Unknown, Shape::Exactly)
    }

    fn sliced(&self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Shape {
        let Some(all) = self.dims(sources) else { return Shape::Unknown };
        Shape::Exactly(all.into_iter().zip(dims).filter_map(|(of, dim)| dim.is_none().then_some(of)).collect())
    }

    /// The sources one after the other along a dimension.
    fn concatenated(&self, sources: &[ArrayId], dim: usize) -> Shape {
        let Some(mut dims) = self.dims(sources).filter(|dims| dim < dims.len()) else { return Shape::Unknown };
        dims[dim].terms = sources.iter().map(|&array| Term::Extent { array, dim }).collect();
        Shape::Exactly(dims)
    }
}

/// One less than there are offsets.
fn segments(offsets: ArrayId) -> Sum {
    Sum { constant: -1, ..extent(offsets, 0) }
}

impl<'a> Signature<'a> {
    fn reads(mut self, role: Role, how: How, arrays: &[ArrayId]) -> Self {
        self.reads.extend(arrays.iter().map(|&array| Read { array, role, how }));
        self
    }

    fn alike(self, arrays: &[ArrayId]) -> Self {
        self.alike_but(arrays, None)
    }

    fn alike_but(mut self, arrays: &[ArrayId], but: Option<usize>) -> Self {
        if arrays.len() > 1 {
            self.alike.push(Alike { arrays: arrays.to_vec(), but });
        }
        self
    }

    fn extents(mut self, extents: &[Operand]) -> Self {
        self.extents.extend(extents);
        self
    }

    fn gives(mut self, count: usize, shape: Shape, known: Known) -> Self {
        self.results.extend((0..count).map(|_| Given { shape: shape.clone(), known }));
        self
    }

    /// A number, which is known at the end, and as many vectors of that extent.
    fn counts(self, vectors: usize) -> Self {
        let counted = self.gives(1, Shape::Exactly(Vec::new()), Known::AtEnd);
        counted.gives(vectors, Shape::Counted, Known::Elements)
    }

    fn over(mut self, runs_over: RunsOver) -> Self {
        self.runs_over = runs_over;
        self
    }

    fn over_array(self, arrays: &[ArrayId]) -> Self {
        match arrays.first() {
            Some(&first) => self.over(RunsOver::Array(first)),
            None => self,
        }
    }

    fn fails(mut self, fails: bool) -> Self {
        self.fails = fails;
        self
    }
}
