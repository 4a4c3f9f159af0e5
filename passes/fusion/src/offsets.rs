//! What each element looks up by its row is repeated by the offsets of the rows.
//!
//! What belongs to a ragged row reaches its elements through an array that says of each element in which row it stands. Where the offsets of these
//! rows are known to be right, they say the same: `replicate_seg` names them, so it stands in the nest of its rows and reads once a row. Where
//! nothing else reads the array of rows, it is made no more, and then this pays; else it is there anyway, and all stays as it is.
//!
//! Offsets are right where they are computed with: a `fold_seg` over as many elements fails unless they rise from 0 to that number. So what is
//! looked up must be made of such a fold. Then the lookup fails wherever `replicate_seg` does, and of the same: no error is made.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Extent, Operand, Type, Var,
    analysis::{Answer, Sizes, Uses, live, possible_params, rows::reads_at_index},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::report::Choice;

/// The name of the law in reports.
const LAW: &str = "rows-by-offsets";

/// Rewrites the lookups of a block that go by rows; `fresh` gives a new value like an old one, of another type.
pub(crate) fn by_offsets(block: &mut Block, sizes: &Sizes, fresh: &mut dyn FnMut(&Var, Type) -> Var) -> Vec<Choice> {
    if !block.bindings.iter().any(|binding| matches!(binding.op, ArrayOp::Expand { .. })) {
        return Vec::new();
    }
    let found = Lookups { block, sizes, made: made(block), uses: Uses::of(block) }.all();
    let mut choices = Vec::new();
    for (position, mut binding) in std::mem::take(&mut block.bindings).into_iter().enumerate() {
        if let Some(ways) = found.get(&position) {
            let named = |way: &Way| block.bindings.iter().flat_map(|of| &of.results).find(|var| var.id == way.rows);
            let absorbed = ways.iter().filter_map(named).map(|var| var.name.0.clone()).collect();
            let before = binding.op.name();
            rewrite(&mut binding, ways, fresh, &mut block.bindings);
            choices.push(Choice {
                name: binding.results.first().map_or_else(String::new, |var| var.name.0.clone()),
                place: binding.place.clone(),
                before,
                after: binding.op.name(),
                laws: vec![LAW],
                absorbed,
            });
        }
        block.bindings.push(binding);
    }
    if !choices.is_empty() {
        let mut live = live(block).into_iter();
        block.bindings.retain(|_| live.next().unwrap_or(true));
    }
    choices
}

/// The operation that makes each value of a block: its position, and which of its results that is.
fn made(block: &Block) -> FxHashMap<ArrayId, (usize, usize)> {
    let results = |(position, binding): (usize, &Binding)| {
        let vars = binding.results.iter().enumerate();
        vars.map(|(at, var)| (var.id, (position, at))).collect::<Vec<_>>()
    };
    block.bindings.iter().enumerate().flat_map(results).collect()
}

/// From elements to the rows that they stand in.
#[derive(Clone, Copy)]
struct Way {
    /// The row of each element.
    rows: ArrayId,
    /// Where rows begin.
    offsets: ArrayId,
    /// How many elements all rows have.
    extent: Extent,
}

struct Lookups<'b> {
    block: &'b Block,
    sizes: &'b Sizes,
    made: FxHashMap<ArrayId, (usize, usize)>,
    uses: Uses,
}

impl Lookups<'_> {
    /// The lookups that are rewritten, by position: the ways from the elements outwards.
    fn all(&self) -> FxHashMap<usize, Vec<Way>> {
        let count = self.block.bindings.len();
        let mut found: FxHashMap<usize, Vec<Way>> =
            (0..count).filter_map(|position| Some((position, self.ways(position)?))).collect();
        loop {
            let needed = |way: &Way| {
                self.uses.is_result(way.rows) || self.uses.users(way.rows).iter().any(|user| !found.contains_key(user))
            };
            let stay: Vec<usize> =
                found.iter().filter(|(_, ways)| ways.iter().any(needed)).map(|(&position, _)| position).collect();
            if stay.is_empty() {
                return found;
            }
            stay.iter().for_each(|position| _ = found.remove(position));
        }
    }

    /// The ways by which an operation can go, if rows are all that its index looks at, and nothing else of it does.
    fn ways(&self, position: usize) -> Option<Vec<Way>> {
        let binding = &self.block.bindings[position];
        let (ArrayOp::Backpermute { extents, f: index, .. } | ArrayOp::Transform { extents, index, .. }) = &binding.op
        else {
            return None;
        };
        let rows = reads_at_index(index)?;
        let mut uses = 0;
        binding.for_each_use(&mut |id| uses += usize::from(rows.contains(&id)));
        if uses != rows.len() || extents.len() != 1 {
            return None;
        }
        let mut extent = Some(*binding.results.first()?.ty.extents.first()?);
        let mut ways = Vec::new();
        for rows in rows {
            let mut way = None;
            // Each result by itself: those that nobody needs are not computed.
            for result in 0..binding.results.len() {
                let needed = computed_for(&binding.op, result);
                way = Some(needed.into_iter().find_map(|id| self.checked(id, rows, extent))?);
            }
            ways.push(way?);
            // The number of rows is that of elements around them, which offsets say.
            extent = None;
        }
        Some(ways)
    }

    /// The way to these rows, of so many elements, without whose offsets `array` is not computed.
    fn checked(&self, array: ArrayId, rows: ArrayId, of: Option<Extent>) -> Option<Way> {
        let mut seen: FxHashSet<ArrayId> = [array].into_iter().collect();
        let mut open = vec![array];
        while let Some(id) = open.pop() {
            let Some(&(position, result)) = self.made.get(&id) else { continue };
            let op = &self.block.bindings[position].op;
            if let ArrayOp::Fold { sources, offsets: Some(offsets), .. } = op
                && self.sizes.are_rows_of(rows, *offsets)
                && let Some(extent) = sources.first().and_then(|source| self.vector(*source))
                && of.is_none_or(|of| self.same(of, extent))
            {
                return Some(Way { rows, offsets: *offsets, extent: of.unwrap_or(extent) });
            }
            open.extend(computed_for(op, result).into_iter().filter(|&id| seen.insert(id)));
        }
        None
    }

    /// The extent of a vector that the block makes or takes.
    fn vector(&self, id: ArrayId) -> Option<Extent> {
        let own = self.made.get(&id).map(|&(position, result)| &self.block.bindings[position].results[result]);
        match own.or_else(|| self.block.params.iter().find(|var| var.id == id))?.ty.extents[..] {
            [Extent::Unknown] => None,
            [extent] => Some(extent),
            _ => None,
        }
    }

    fn same(&self, a: Extent, b: Extent) -> bool {
        a == b && a != Extent::Unknown || self.sizes.equal(a, b) == Answer::Proved
    }
}

/// Arrays that are computed whenever a result is, however many elements it has.
fn computed_for(op: &ArrayOp, result: usize) -> Vec<ArrayId> {
    match op {
        ArrayOp::Map { f, sources } | ArrayOp::Transform { f, sources, .. } => {
            let needed = possible_params(f, result);
            sources.iter().zip(needed).filter_map(|(&source, needed)| needed.then_some(source)).collect()
        }
        ArrayOp::Compute { sources }
        | ArrayOp::Backpermute { sources, .. }
        | ArrayOp::Replicate { sources, .. }
        | ArrayOp::ReplicateSegments { sources, .. }
        | ArrayOp::Slice { sources, .. }
        | ArrayOp::Reshape { sources, .. } => sources.get(result).copied().into_iter().collect(),
        ArrayOp::Fold { sources, .. } | ArrayOp::Scan { sources, .. } if sources.len() == 1 => sources.clone(),
        _ => Vec::new(),
    }
}

/// Makes a lookup go by offsets, from the outermost rows to the elements. What is done with the elements comes after, as a map.
fn rewrite(binding: &mut Binding, ways: &[Way], fresh: &mut dyn FnMut(&Var, Type) -> Var, before: &mut Vec<Binding>) {
    let (mut sources, f) = match &mut binding.op {
        ArrayOp::Backpermute { sources, .. } => (std::mem::take(sources), None),
        ArrayOp::Transform { f, sources, .. } => (std::mem::take(sources), Some(std::mem::take(f))),
        _ => return,
    };
    let elements: Vec<ElementType> = match &f {
        Some(f) => f.params.iter().map(|param| param.ty).collect(),
        None => binding.results.iter().map(|var| var.ty.element).collect(),
    };
    for (at, way) in ways.iter().enumerate().rev() {
        let op = ArrayOp::ReplicateSegments {
            extent: match way.extent {
                Extent::Value(id) => Operand::Value(id),
                Extent::Constant(count) => Operand::Constant(count.into()),
                Extent::Unknown => unreachable!("extents of vectors in a block are known"),
            },
            sources,
            offsets: way.offsets,
        };
        if at == 0 && f.is_none() {
            binding.op = op;
            return;
        }
        let like = &binding.results[0];
        let repeated = elements.iter().map(|&element| fresh(like, Type::array(vec![way.extent], element)));
        let results: Vec<Var> = repeated.collect();
        sources = results.iter().map(|var| var.id).collect();
        before.push(Binding { results, op, place: binding.place.clone() });
    }
    if let Some(f) = f {
        binding.op = ArrayOp::Map { f, sources };
    }
}
