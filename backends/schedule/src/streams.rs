//! What a level reads and writes from the beginning of an array to its end, as its steps go.

use std::collections::{BTreeMap, HashSet};

use fusebox_ir::{
    Action, DimBoundary, IndexMap, Kernel, KernelArrayId, LevelOrder, LocalId, analysis::work_of_statement,
};

use crate::{
    gangs::{inside, is_counted_before},
    schedule::Node,
};

/// Statements of more work for a step are not limited by memory.
const MOST_WORK: u64 = 48;
/// What a store past the caches writes at a time has to be a multiple of so many bytes.
const WHOLE: usize = 16;

/// The loads and stores (statements, by array) of a level that go through memory with it, where that is most of what is done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    /// Of several loads of an array, the one that is ahead of the others.
    pub loads: BTreeMap<KernelArrayId, usize>,
    /// Stores that may go past the caches: unconditional, of whole vectors, the only one of their array, not in place of an input.
    pub stores: BTreeMap<KernelArrayId, usize>,
}

impl Streams {
    /// Those of a level in gangs of `lanes`, among the statements that `of` says.
    pub fn of(kernel: &Kernel, level: usize, lanes: u32, of: impl Fn(usize) -> bool) -> Self {
        let (mut loads, mut stores) = (BTreeMap::new(), BTreeMap::new());
        let mut not = HashSet::new();
        let mut work = 0;
        if kernel.levels[level].order == LevelOrder::Down {
            return Self::default();
        }
        for (position, statement) in inside(kernel, level).filter(|&(position, _)| of(position)) {
            if statement.depth as usize != level + 1 {
                // What is done at each of these steps is not known.
                return Self::default();
            }
            work += work_of_statement(statement);
            match &statement.action {
                Action::Load { array, map, outside: None, .. } if is_along(kernel, level, map) => {
                    let offsets = |position: usize| match &kernel.statements[position].action {
                        Action::Load { map, .. } => map.dims.iter().map(|dim| dim.offset).collect(),
                        _ => Vec::new(),
                    };
                    if loads.get(array).is_none_or(|&other| offsets(other) < offsets(position)) {
                        loads.insert(*array, position);
                    }
                }
                Action::Store { array, map, .. } => {
                    let declared = &kernel.arrays[array.index()];
                    let whole = (declared.element.bytes() * lanes as usize).is_multiple_of(WHOLE);
                    // What is in place of an input is in the caches when it is stored.
                    let streams = whole
                        && declared.in_place_of.is_none()
                        && statement.when.is_none()
                        && is_along(kernel, level, map);
                    if !streams || stores.insert(*array, position).is_some() {
                        not.insert(*array);
                    }
                }
                _ => {}
            }
        }
        stores.retain(|array, _| !not.contains(array));
        // What all steps of the levels around load is in the caches, if something else goes by.
        let goes_by = |position: usize| match &kernel.statements[position].action {
            Action::Load { map, .. } => is_of_its_row(kernel, level, map),
            _ => false,
        };
        if loads.values().any(|&position| goes_by(position)) {
            loads.retain(|_, position| goes_by(*position));
        }
        if work > MOST_WORK { Self::default() } else { Self { loads, stores } }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.loads.is_empty() && self.stores.is_empty()
    }
}

/// Whether steps of the level are neighbours in memory, at a place that is known before the level begins.
fn is_along(kernel: &Kernel, level: usize, map: &IndexMap) -> bool {
    let own = kernel.levels[level].index.id;
    let outer = |id: LocalId| kernel.levels[..level].iter().any(|level| level.index.id == id);
    let Some((last, others)) = map.dims.split_last() else { return false };
    let along = last.terms.iter().filter(|&&(_, id)| id == own).map(|term| term.0).eq([1]);
    let known = |terms: &[(i64, LocalId)]| terms.iter().all(|&(_, id)| outer(id));
    along
        && last.boundary == DimBoundary::None
        && last.terms.iter().all(|&(_, id)| id == own || outer(id))
        && others.iter().all(|dim| known(&dim.terms))
}

/// Whether other steps of the levels around load something else.
fn is_of_its_row(kernel: &Kernel, level: usize, map: &IndexMap) -> bool {
    let mut terms = map.dims.iter().flat_map(|dim| &dim.terms);
    // Rows of segments begin elsewhere each.
    level == 0
        || !is_counted_before(kernel, level)
        || terms.any(|&(_, id)| kernel.levels[..level].iter().any(|outer| outer.index.id == id))
}

impl Node {
    /// Whether a loop among these, or inside of them, streams past the caches.
    pub fn stream(nodes: &[Self]) -> bool {
        nodes.iter().any(|node| match node {
            Self::Loop(each) => each.out_of_cache.is_some() || Self::stream(&each.body),
            Self::Do(_) => false,
            Self::Choose { then, otherwise, .. } => Self::stream(then) || Self::stream(otherwise),
        })
    }
}
