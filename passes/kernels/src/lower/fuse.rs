//! Operations that share a nest of loops, lowered to one kernel: where each stands says the spine.
//!
//! An operation alone is such a group too, so there is one lowering of each. Elements of operations of the group are values in the nest;
//! those that are used outside are stored too. What runs over fewer steps than its levels have does nothing at the others: its statements
//! have a condition, loads give 0 there, and code that may fail stands in a branch.

use std::collections::HashMap;

use fusebox_ir::{
    Access, Action, ArrayId, ArrayOp, Binary, Binding, PlanExtent, ScalarOperand, Step, ValueId, Var,
    analysis::{
        Spine,
        spine::{DimMap, IterationOrder, Members, Over, Placement, follows, spine},
    },
    bug,
};

use super::{
    Lower, Origin,
    arrays::MadeArrays,
    cluster::Group,
    name,
    segments::{Segments, element_level, segment_level},
    unit::put_units,
};
use crate::{
    error::Error,
    nest::{KernelBuilder, Launch, Learned, ProgramPoint},
};

impl<'p> Lower<'p> {
    /// Makes a kernel of a group. `units` are scalar code over what is known at the end: they are part of it. What is `manifest`, of the group
    /// by its own names, is stored.
    pub(super) fn fuse(
        &mut self,
        group: &Group<'p>,
        units: &[&Binding],
        manifest: &dyn Fn(ArrayId) -> bool,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let list = group.list;
        let bindings: Vec<&Binding> = list.iter().collect();
        let vars = &self.vars;
        let members = Members {
            bindings: &bindings,
            manifest,
            type_of: &|id| vars.get(&id).map(|var| &var.ty),
            sizes: &self.sizes,
        };
        let spine = spine(&members).map_err(|conflict| {
            let of = |position: usize| bindings[position].results.first().map(name).unwrap_or_default();
            let (first, second, why) = (of(conflict.first), of(conflict.second), conflict.why);
            Error::Conflict { first, second, why, place: bindings[conflict.second].place.clone() }
        })?;
        self.bind_counted(list);
        let mut made = MadeArrays::default();
        for (position, binding) in list.iter().enumerate() {
            let origin = self.origin(binding);
            self.check_sizes(binding, &origin, steps)?;
            self.allocate_stored(list, position, &spine, manifest, &mut made, &origin, steps)?;
        }
        let is_stored =
            |id| made.stored.contains_key(&id) || made.appended.iter().any(|(appended, _)| appended.id == id);
        self.check_extents(list, &is_stored, steps);
        // Of an expand whose total alone is stored nothing is left to do.
        let counted = |binding: &Binding| {
            matches!(binding.op, ArrayOp::Expand { .. }) && !binding.results[1..].iter().any(|var| manifest(var.id))
        };
        let results = self.unit_results(units, manifest, steps)?;
        if list.len() == 1 && units.is_empty() && counted(&list[0]) {
            return Ok(());
        }
        {
            let (launch, learned) = Fusing::new(self, group, &spine, &made).all(units, &results);
            self.launch(launch, steps);
            self.learn(learned);
        }
        self.truncate_appended(list, &spine, made, steps)
    }
}

/// A nest that operations are put into, in program order.
pub(super) struct Fusing<'l, 'p> {
    pub(super) lower: &'l Lower<'p>,
    pub(super) nest: KernelBuilder<'l>,
    pub(super) spine: &'l Spine,
    group: &'l Group<'p>,
    pub(super) list: &'l [Binding],
    pub(super) made: &'l MadeArrays,
    /// Elements of what stands in the nest, by their names in the program.
    pub(super) elements: HashMap<ArrayId, ScalarOperand>,
    /// The index at which each operation makes its elements; none of those that are counted.
    pub(super) index: Vec<Vec<ScalarOperand>>,
    /// For each of its dimensions whether the index is within, where the level has more steps.
    within: Vec<Vec<Option<ScalarOperand>>>,
    /// Levels, extents, and whether the level's index is within.
    limits: Vec<(usize, PlanExtent, ScalarOperand)>,
    /// Where it makes elements at all.
    pub(super) whens: Vec<Option<ScalarOperand>>,
    /// The index at which an operation reads what is made in its order.
    pub(super) through: Vec<Option<Vec<ScalarOperand>>>,
    /// Of filters what they keep, of expands where the elements go that are stored.
    pub(super) kept: Vec<Option<ScalarOperand>>,
    pub(super) targets: Vec<Option<ScalarOperand>>,
    /// By their offsets.
    segments: Vec<(ArrayId, Segments)>,
    appends: Vec<(ValueId, ScalarOperand)>,
}

impl<'l, 'p> Fusing<'l, 'p> {
    fn new(lower: &'l Lower<'p>, group: &'l Group<'p>, spine: &'l Spine, made: &'l MadeArrays) -> Self {
        let list = group.list;
        let whole = match list {
            [binding] => lower.origin(binding).operation,
            _ => {
                let stored = |var: &&Var| {
                    made.stored.contains_key(&var.id) || made.appended.iter().any(|(other, _)| other.id == var.id)
                };
                let vars = list.iter().flat_map(|binding| &binding.results);
                let named = vars.clone().find(stored).or(vars.last());
                format!("cluster `{}`", named.map(name).unwrap_or_default())
            }
        };
        let count = list.len();
        Self {
            lower,
            nest: KernelBuilder::new(&lower.values, &lower.bindings, &lower.sizes, whole),
            spine,
            group,
            list,
            made,
            elements: HashMap::new(),
            index: vec![Vec::new(); count],
            within: vec![Vec::new(); count],
            limits: Vec::new(),
            whens: vec![None; count],
            through: vec![None; count],
            kept: vec![None; count],
            targets: vec![None; count],
            segments: Vec::new(),
            appends: Vec::new(),
        }
    }

    fn all(mut self, units: &[&Binding], results: &HashMap<ArrayId, ValueId>) -> (Launch, Learned) {
        self.open();
        for position in 0..self.list.len() {
            self.own_index(position);
        }
        for position in (0..self.list.len()).rev() {
            self.enter(position);
            self.read_through(position);
        }
        for position in 0..self.list.len() {
            self.enter(position);
            self.put(position);
        }
        self.append();
        for &(inner, outer) in &self.group.given {
            if let Some(&element) = self.elements.get(&inner)
                && self.nest.is_outside(element)
            {
                self.nest.name(outer, element);
            }
        }
        let learned = put_units(&mut self.nest, self.lower, units, results, ProgramPoint::after(0));
        (self.nest.finish(), learned)
    }

    /// Statements from here on are of this operation.
    fn enter(&mut self, position: usize) {
        if self.list.len() > 1 {
            self.nest.operation = self.origin(position).operation.into();
        }
    }

    pub(super) fn binding(&self, position: usize) -> &'l Binding {
        &self.list[position]
    }

    pub(super) fn origin(&self, position: usize) -> Origin {
        self.lower.origin(&self.list[position])
    }

    pub(super) fn station(&self, position: usize) -> &'l Placement {
        &self.spine.placements[position]
    }

    pub(super) fn point(&self, position: usize) -> ProgramPoint {
        let station = self.station(position);
        ProgramPoint { depth: station.depth, after: station.after }
    }

    /// The array that a result of the group is stored to.
    pub(super) fn stored(&self, id: ArrayId) -> ValueId {
        let stored = self.made.stored.get(&id);
        *stored.unwrap_or_else(|| bug!(self.lower.program(), "{id} is not stored by its kernel"))
    }

    pub(super) fn when(&self, position: usize) -> Option<ScalarOperand> {
        self.whens[position]
    }

    pub(super) fn index(&self, position: usize) -> Vec<ScalarOperand> {
        self.index[position].clone()
    }

    /// The index without the innermost dimension, and where that makes elements at all.
    pub(super) fn outer(&mut self, position: usize) -> (Vec<ScalarOperand>, Option<ScalarOperand>) {
        let mut index = self.index(position);
        index.pop();
        let mut within = self.within[position].clone();
        within.pop();
        let depth = self.station(position).depth.saturating_sub(1);
        let when = within.into_iter().fold(None, |when, own| self.nest.both(when, own, ProgramPoint::before(depth)));
        (index, when)
    }

    /// Opens the levels, but for one that an operation opens when it knows its steps.
    fn open(&mut self) {
        let mut count = None;
        for level in &self.spine.levels {
            match &level.over {
                Over::Extent(extent) => {
                    let extent = self.lower.extent(*extent);
                    self.nest.level_over(extent, level.order);
                }
                Over::Segments(offsets) => {
                    let (position, _) = self.cut_by(*offsets);
                    self.enter(position);
                    let (offsets, origin) = (self.lower.array(*offsets), self.origin(position));
                    count = Some(segment_level(&mut self.nest, offsets, level.order, &origin));
                }
                Over::Elements(list) => {
                    let (position, cut) = self.cut_by(*list);
                    let extent = *self.lower.extents(cut).last().expect("what is cut into segments has a dimension");
                    self.enter(position);
                    let (offsets, origin) = (self.lower.array(*list), self.origin(position));
                    let segments = element_level(&mut self.nest, offsets, (count.take(), extent), level.order, &origin);
                    self.segments.push((*list, segments));
                }
                Over::Inner(_) => break,
            }
        }
    }

    /// The first operation that runs in these segments, and what it cuts.
    fn cut_by(&self, offsets: ArrayId) -> (usize, ArrayId) {
        let cut = |(position, binding): (usize, &Binding)| match &binding.op {
            ArrayOp::Fold { offsets: Some(own), sources, .. } | ArrayOp::Scan { offsets: Some(own), sources, .. } => {
                (*own == offsets).then_some((position, *sources.first()?))
            }
            ArrayOp::ReplicateSegments { offsets: own, .. } => {
                (*own == offsets).then_some((position, binding.results.first()?.id))
            }
            _ => None,
        };
        let found = self.list.iter().enumerate().find_map(cut);
        found.unwrap_or_else(|| {
            bug!(self.lower.program(), "a level runs over segments of {offsets}, and no operation does")
        })
    }

    /// The segments that an operation runs in.
    pub(super) fn segments_of(&self, offsets: Option<ArrayId>) -> Option<&Segments> {
        let own = offsets?;
        match self.segments.iter().find(|(of, _)| self.lower.sizes.same_array(*of, own)) {
            Some((_, segments)) => Some(segments),
            None => bug!(self.lower.program(), "no level runs over the segments of {own}"),
        }
    }

    /// Where an operation in the order of the levels makes its elements.
    fn own_index(&mut self, position: usize) {
        let station = self.station(position);
        for along in &station.dims {
            let index: ScalarOperand = self.nest.levels[along.level].index.id.into();
            let within = along.short.then(|| self.is_within(along));
            self.index[position].push(index);
            self.within[position].push(within);
        }
        let all = self.within[position].clone();
        let at = ProgramPoint::before(station.depth);
        self.whens[position] = all.into_iter().fold(None, |when, own| self.nest.both(when, own, at));
    }

    /// Whether an index is within an extent; asked once for each level and extent.
    fn is_within(&mut self, along: &DimMap) -> ScalarOperand {
        let extent = self.lower.extent(along.extent);
        if let Some((.., known)) = self.limits.iter().find(|(level, of, _)| (*level, *of) == (along.level, extent)) {
            return *known;
        }
        let (index, to) = (self.nest.levels[along.level].index.id.into(), self.nest.extent(extent));
        let within = self.nest.binary(Binary::Lt, index, to, ProgramPoint::before(along.level as u32 + 1));
        self.limits.push((along.level, extent, within));
        within
    }

    /// Names an element, and stores it where it is used outside.
    pub(super) fn give(&mut self, position: usize, var: &Var, value: ScalarOperand) {
        let index = self.index(position);
        self.give_at(position, var, value, &index, self.point(position), self.when(position));
    }

    /// The same at an index of its own.
    pub(super) fn give_at(
        &mut self,
        position: usize,
        var: &Var,
        value: ScalarOperand,
        index: &[ScalarOperand],
        at: ProgramPoint,
        when: Option<ScalarOperand>,
    ) {
        self.elements.insert(var.id, value);
        let counted = match self.station(position).iteration_order {
            IterationOrder::Counted(of) if follows(&self.binding(position).op) => Some(of),
            _ if matches!(self.binding(position).op, ArrayOp::Filter { .. }) => Some(position),
            _ => None,
        };
        if let Some((_, whole)) = self.made.appended.iter().find(|(other, _)| other.id == var.id) {
            self.appends.push((*whole, value));
        } else if let Some(&result) = self.made.stored.get(&var.id) {
            match counted.and_then(|of| self.targets[of]) {
                Some(target) => self.nest.store(result, Access::Write, &[target], value, at, when),
                None => self.nest.store(result, Access::Write, index, value, at, when),
            }
        }
    }

    fn put(&mut self, position: usize) {
        if let IterationOrder::Counted(of) = self.station(position).iteration_order {
            self.whens[position] = self.kept[of];
        }
        match &self.binding(position).op {
            ArrayOp::Fold { .. } => self.fold(position),
            ArrayOp::Scan { .. } => self.scan(position),
            ArrayOp::Permute { .. } => self.permute(position),
            ArrayOp::PermutedExpand { .. } => self.permuted_expand(position),
            ArrayOp::Expand { .. } => self.expand(position),
            ArrayOp::Filter { .. } => self.filter(position),
            _ => self.elementwise(position),
        }
    }

    /// Elements that are kept are put behind those before.
    fn append(&mut self) {
        let Some(filter) = self.spine.appended else { return };
        let count = self.stored(self.binding(filter).results[0].id);
        self.enter(filter);
        let (arrays, values): (Vec<ValueId>, Vec<ScalarOperand>) =
            std::mem::take(&mut self.appends).into_iter().unzip();
        let arrays = arrays.into_iter().map(|array| self.nest.array(array, Access::Write)).collect();
        let count = self.nest.array(count, Access::Write);
        self.nest.act(self.point(filter), self.kept[filter], Action::Append { arrays, count, values });
    }
}
