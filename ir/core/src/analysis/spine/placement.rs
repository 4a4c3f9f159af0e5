//! Where each operation stands: the levels that it runs over, and whether it stands before or after what is deeper.

use super::{
    Conflict, DimMap, Finder, IterationOrder, Made, Over, Placement, Spine, SpineLevel, Why,
    access::{Access, Use, fills, follows, is_count},
    chain::{chain, is_total},
    conflict,
    rows::row,
    table::Table,
};
use crate::{ArrayOp, Extent, LevelOrder, ScanForm, analysis::Answer};

/// A point of the nest: a depth, before or after what is deeper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ProgramPoint {
    pub(super) depth: u32,
    pub(super) after: bool,
}

/// A nest under construction.
pub(super) struct Nest {
    pub(super) levels: Vec<Over>,
    pub(super) orders: Vec<(LevelOrder, usize)>,
    /// For each operation the point where the elements of its sources are met.
    pub(super) points: Vec<ProgramPoint>,
    pub(super) iteration_orders: Vec<IterationOrder>,
    dims: Vec<Vec<(usize, Extent)>>,
    /// For each operation the depth at which results of folds and totals of scans are known.
    pub(super) to: Vec<u32>,
    pub(super) stored: Vec<bool>,
    pub(super) appended: Option<usize>,
}

impl Nest {
    /// The levels of the nest, and the depth of each operation.
    pub(super) fn of(
        finder: &Finder<'_>,
        uses: &[Vec<Use>],
        iteration_orders: &[IterationOrder],
    ) -> Result<Self, Conflict> {
        let mut iteration_orders = iteration_orders.to_vec();
        classes(finder, uses, &mut iteration_orders)?;
        let chain = chain(finder, uses, &iteration_orders)?;
        let mut table = Table::default();
        if let Some(chain) = &chain {
            for (at, link) in chain.links.iter().enumerate() {
                let level = chain.rank - 1 + at;
                if at == 0 {
                    table.put(level, Over::Segments(link.offsets), link.count.clone(), link.who)?;
                }
                table.put(level + 1, Over::Elements(link.offsets), link.elements.clone(), link.who)?;
            }
        }
        let mut nest = Self {
            levels: Vec::new(),
            orders: Vec::new(),
            points: vec![ProgramPoint::default(); finder.len()],
            iteration_orders,
            dims: vec![Vec::new(); finder.len()],
            to: vec![0; finder.len()],
            stored: vec![false; finder.len()],
            appended: None,
        };
        for position in 0..finder.len() {
            let binding = finder.binding(position);
            match nest.iteration_orders[position] {
                IterationOrder::Through(_) => continue,
                IterationOrder::Counted(of) => {
                    let inner = u32::from(matches!(finder.op(of), ArrayOp::Expand { .. }));
                    nest.points[position].depth = nest.points[of].depth + inner;
                }
                IterationOrder::Own => {
                    let extents = finder.traversed(position);
                    // The dimension that is cut into segments has as many levels as the chain has steps, so what is in its place or
                    // inside of it is that many levels further in.
                    let level = |dim: usize| match &chain {
                        Some(chain) if dim + 1 >= chain.rank => dim + chain.steps.get(&position).copied().unwrap_or(0),
                        _ => dim,
                    };
                    let dims: Vec<(usize, Extent)> =
                        extents.iter().enumerate().map(|(dim, &extent)| (level(dim), extent)).collect();
                    for &(level, extent) in &dims {
                        table.over(finder, level, extent, position)?;
                    }
                    nest.points[position].depth = dims.last().map_or(0, |&(level, _)| level as u32 + 1);
                    nest.dims[position] = dims;
                }
            }
            let depth = nest.points[position].depth;
            nest.to[position] = match &binding.op {
                ArrayOp::Fold { .. } if nest.iteration_orders[position] != IterationOrder::Own => 0,
                ArrayOp::Fold { offsets: None, .. } => {
                    // Along elements of segments it runs over all segments, and those around them.
                    nest.dims[position].last().map_or(0, |_| {
                        let outer = nest.dims[position].len() - 1;
                        outer.checked_sub(1).map_or(0, |last| nest.dims[position][last].0 as u32 + 1)
                    })
                }
                _ => depth.saturating_sub(1),
            };
            match &binding.op {
                ArrayOp::Expand { .. } | ArrayOp::PermutedExpand { .. } => {
                    table.put(depth as usize, Over::Inner(position), None, position)?;
                }
                ArrayOp::Scan { form: ScanForm::Exclusive, offsets: None, .. } => {
                    let result = binding.results.first().and_then(|var| var.ty.extents.last());
                    if let (Some(&(level, from)), Some(&to)) = (nest.dims[position].last(), result) {
                        table.note_longer(finder, level, from, to, position);
                        // Operations that use its results, all or some of them, do so in a level that has a step for each.
                        let of = |of: &Use| !of.extent && of.made.position == position;
                        if uses.iter().flatten().any(of) {
                            table.over(finder, level, to, position)?;
                        }
                    }
                }
                _ => {}
            }
            if let (ArrayOp::Scan { offsets: None, .. }, Some(chain)) = (&binding.op, &chain)
                && let Some(step) = chain.steps.get(&position).and_then(|step| step.checked_sub(1))
                && nest.dims[position].len() == chain.rank
            {
                return Err(conflict(chain.links[step].who, position, Why::Segments));
            }
        }
        nest.levels = table.finish(finder)?;
        nest.orders = vec![(LevelOrder::Parallel, 0); nest.levels.len()];
        Ok(nest)
    }

    /// Decides for each operation whether it stands before or after what is deeper, and checks that all it uses is known there.
    pub(super) fn stand(&mut self, finder: &Finder<'_>, uses: &[Vec<Use>]) -> Result<(), Conflict> {
        for (position, own) in uses.iter().enumerate() {
            if let IterationOrder::Through(_) = self.iteration_orders[position] {
                continue;
            }
            let depth = self.points[position].depth;
            let mut late = None;
            for of in own.iter().filter(|of| !of.extent) {
                if let IterationOrder::Through(_) = self.iteration_orders[of.made.position] {
                    continue;
                }
                let known = self.known(finder, of.made);
                if known.after {
                    late = Some(of.made.position);
                    if known.depth < depth {
                        return Err(conflict(of.made.position, position, Why::After));
                    }
                }
            }
            self.points[position].after = late.is_some();
            if let (Some(late), ArrayOp::Expand { .. } | ArrayOp::PermutedExpand { .. }) = (late, finder.op(position)) {
                return Err(conflict(late, position, Why::After));
            }
        }
        for position in (0..finder.len()).rev() {
            if let IterationOrder::Through(by) = self.iteration_orders[position] {
                self.points[position] = self.points[by];
            }
        }
        self.counted(finder)
    }

    /// The point from which on a result is known.
    pub(super) fn known(&self, finder: &Finder<'_>, made: Made) -> ProgramPoint {
        let binding = finder.binding(made.position);
        let point = self.points[made.position];
        match &binding.op {
            ArrayOp::Fold { .. } => ProgramPoint { depth: self.to[made.position], after: true },
            ArrayOp::Scan { .. } if is_total(binding, made.index) => {
                ProgramPoint { depth: self.to[made.position], after: true }
            }
            ArrayOp::Expand { .. } => ProgramPoint { depth: point.depth + 1, after: false },
            _ => point,
        }
    }

    /// Decides which elements of expands and filters are stored.
    fn counted(&mut self, finder: &Finder<'_>) -> Result<(), Conflict> {
        for position in 0..finder.len() {
            let (ArrayOp::Expand { sources, .. } | ArrayOp::Filter { sources, .. }) = finder.op(position) else {
                continue;
            };
            let manifest = |at: usize, from: usize| {
                (from..finder.binding(at).results.len()).any(|index| finder.is_manifest(Made { position: at, index }))
            };
            let members =
                (0..finder.len()).filter(|&at| self.iteration_orders[at] == IterationOrder::Counted(position));
            let elementwise = members.filter(|&at| follows(finder.op(at)));
            let arrays = manifest(position, 1) || elementwise.clone().any(|at| manifest(at, 0));
            if let ArrayOp::Expand { .. } = finder.op(position) {
                if arrays || manifest(position, 0) {
                    if let Some(made) = sources.iter().find_map(|id| finder.own.get(id)) {
                        return Err(conflict(made.position, position, Why::Counted));
                    }
                    self.stored[position] = true;
                }
            } else if arrays {
                if let Some(other) = self.appended {
                    return Err(conflict(other, position, Why::Appends));
                }
                let mut iteration_order = self.iteration_orders[position];
                while let IterationOrder::Counted(of) = iteration_order {
                    if let ArrayOp::Expand { .. } = finder.op(of) {
                        return Err(conflict(of, position, Why::Appends));
                    }
                    iteration_order = self.iteration_orders[of];
                }
                self.appended = Some(position);
            }
        }
        Ok(())
    }

    pub(super) fn finish(self, finder: &Finder<'_>) -> Result<Spine, Conflict> {
        let short = |&(level, extent): &(usize, Extent)| {
            let short = match self.levels[level] {
                Over::Extent(of) => of != extent && finder.members.sizes.equal(of, extent) != Answer::Proved,
                Over::Segments(_) | Over::Elements(_) | Over::Inner(_) => false,
            };
            DimMap { level, extent, short }
        };
        let placement = |position: usize| {
            let dims: Vec<DimMap> = self.dims[position].iter().map(short).collect();
            let exclusive =
                matches!(finder.op(position), ArrayOp::Scan { form: ScanForm::Exclusive, offsets: None, .. });
            Placement {
                depth: self.points[position].depth,
                after: self.points[position].after,
                iteration_order: self.iteration_orders[position],
                longer: exclusive && dims.last().is_some_and(|dim| dim.short),
                dims,
                to: self.to[position],
                row: row(finder, position)
                    .filter(|_| self.iteration_orders[position] == IterationOrder::Own)
                    .map(|row| row.offsets),
                stored: self.stored[position],
            }
        };
        let placements: Vec<Placement> = (0..finder.len()).map(placement).collect();
        for (position, placement) in placements.iter().enumerate() {
            // A stencil computes boundaries at each step of its level, and would do so at a step that it does not have.
            if matches!(finder.op(position), ArrayOp::Stencil { .. })
                && let Some(own) = placement.dims.iter().find(|dim| dim.short)
            {
                let longest = placements
                    .iter()
                    .position(|other| other.dims.iter().any(|dim| dim.level == own.level && !dim.short));
                return Err(conflict(longest.unwrap_or(position), position, Why::Extents));
            }
        }
        let levels = self
            .levels
            .iter()
            .zip(&self.orders)
            .map(|(over, &(order, _))| SpineLevel { over: over.clone(), order })
            .collect();
        Ok(Spine { levels, placements, appended: self.appended })
    }
}

/// Finds what runs over the elements of expands and filters.
fn classes(finder: &Finder<'_>, uses: &[Vec<Use>], iteration_orders: &mut [IterationOrder]) -> Result<(), Conflict> {
    for position in 0..finder.len() {
        if let Some(of) = filled(finder, uses, position).filter(|_| iteration_orders[position] == IterationOrder::Own) {
            iteration_orders[position] = IterationOrder::Counted(of);
        }
        let class = |made: Made| match (finder.op(made.position), iteration_orders[made.position]) {
            (ArrayOp::Expand { .. } | ArrayOp::Filter { .. }, _) => Some(made.position),
            (op, IterationOrder::Counted(of)) if follows(op) => Some(of),
            _ => None,
        };
        let sources: Vec<(Option<usize>, &Use)> =
            uses[position].iter().filter(|of| !of.extent).map(|of| (class(of.made), of)).collect();
        let found = sources.iter().find_map(|&(class, _)| class);
        if let Some(of) = found {
            let same = sources.iter().all(|&(class, of_use)| class == found && of_use.access == Access::Same);
            let op = finder.op(position);
            let arrays = match op {
                ArrayOp::Map { sources, .. }
                | ArrayOp::Compute { sources }
                | ArrayOp::Filter { sources, .. }
                | ArrayOp::Expand { sources, .. } => sources.len(),
                ArrayOp::Fold { sources, offsets: None, .. } => sources.len(),
                ArrayOp::Permute { values, targets, keep, .. } => {
                    values.len() + targets.len() + usize::from(keep.is_some())
                }
                _ => usize::MAX,
            };
            // All its sources are of these elements, none comes from outside.
            if !same || arrays != sources.len() || iteration_orders[position] != IterationOrder::Own {
                return Err(conflict(of, position, Why::Positions));
            }
            iteration_orders[position] = IterationOrder::Counted(of);
        }
        let of = match (finder.op(position), iteration_orders[position]) {
            (ArrayOp::Expand { .. } | ArrayOp::Filter { .. }, _) => Some(position),
            (op, IterationOrder::Counted(of)) if follows(op) => Some(of),
            _ => None,
        };
        for extent in uses[position].iter().filter(|of| of.extent) {
            if Some(extent.made.position) != of || extent.made.index != 0 {
                return Err(conflict(extent.made.position, position, Why::Positions));
            }
        }
        if let (Some(of), true) = (of, of != Some(position)) {
            let count = Extent::Value(finder.binding(of).results[0].id);
            let alike =
                |extent: &Extent| *extent == count || finder.members.sizes.equal(*extent, count) == Answer::Proved;
            if !finder.traversed(position).iter().all(alike) {
                return Err(conflict(of, position, Why::Extents));
            }
        }
    }
    Ok(())
}

/// The expand or filter whose number of elements is the extent of something filled without sources.
fn filled(finder: &Finder<'_>, uses: &[Vec<Use>], position: usize) -> Option<usize> {
    let own = &uses[position];
    if !fills(finder.op(position)) || own.iter().any(|of| !of.extent) {
        return None;
    }
    own.iter().find(|of| is_count(finder, of.made)).map(|of| of.made.position)
}
