//! Segments of segments: a chain of lists of segments, in which the elements of one list are the segments of the next.

use std::collections::HashMap;

use super::{
    Conflict, Finder, IterationOrder, Made, Why,
    access::{Access, Use},
    conflict,
    rows::{offsets_of, row},
};
use crate::{
    ArrayId, ArrayOp, Binding, Extent, ScanForm,
    analysis::{Answer, Size, UnionFind},
};

/// A list of segments.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// The array of offsets: where each segment begins, and where the last ends.
    pub(super) offsets: ArrayId,
    /// The first operation in these segments.
    pub(super) who: usize,
    /// The number of segments.
    pub(super) count: Option<Size>,
    /// The number of elements of all segments together.
    pub(super) elements: Option<Size>,
}

/// Lists of segments, from the outermost. What runs over the segments of the first list has step 0. What runs over the elements of the k-th
/// list, which are the segments of the next, has step k.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) links: Vec<Link>,
    /// The rank of the arrays whose last dimension is cut into segments.
    pub(super) rank: usize,
    /// The step of each operation whose rank is at least that.
    pub(super) steps: HashMap<usize, usize>,
}

/// The three nodes of an operation: what it traverses, its results, its totals.
fn node(position: usize, which: usize) -> usize {
    3 * position + which
}

/// The node of a result.
fn result_node(finder: &Finder<'_>, made: Made) -> usize {
    node(made.position, if is_total(finder.binding(made.position), made.index) { 2 } else { 1 })
}

/// Whether a result of a scan is a total.
pub(super) fn is_total(binding: &Binding, index: usize) -> bool {
    matches!(&binding.op, ArrayOp::Scan { form: ScanForm::Body, sources, .. } if index >= sources.len())
}

/// The chain of all segmented operations, if there are any, and what runs over what of it.
pub(super) fn chain(
    finder: &Finder<'_>,
    uses: &[Vec<Use>],
    iteration_orders: &[IterationOrder],
) -> Result<Option<Chain>, Conflict> {
    let Some(first) = (0..finder.len()).find(|&position| offsets_of(finder.binding(position)).is_some()) else {
        return Ok(None);
    };
    let rank = finder.traversed(first).len();
    if rank == 0 {
        return Err(conflict(first, first, Why::Kind));
    }
    let (links, of) = links(finder, first)?;
    // Two nodes for each list of segments: these, and their elements.
    let ends = |link: usize| (3 * finder.len() + 2 * link, 3 * finder.len() + 2 * link + 1);
    let mut same = UnionFind::new(3 * finder.len() + 2 * links.len());
    tie(finder, uses, iteration_orders, rank, &mut same)?;
    for (&position, &link) in &of {
        let (segments, elements) = ends(link);
        same.unite(node(position, 0), elements);
        match finder.op(position) {
            ArrayOp::Fold { .. } => _ = same.unite(node(position, 1), segments),
            ArrayOp::Scan { .. } => _ = same.unite(node(position, 2), segments),
            // Its results are elements, and what it reads at the segment stands below.
            _ => {}
        }
    }
    for (position, &iteration_order) in iteration_orders.iter().enumerate() {
        let Some(row) = row(finder, position).filter(|_| iteration_order == IterationOrder::Own) else { continue };
        let (segments, elements) = ends(of[&row.who]);
        same.unite(node(position, 0), elements);
        for of in uses[position].iter().filter(|of| of.access == Access::Row) {
            same.unite(result_node(finder, of.made), segments);
        }
    }
    let order = in_order(finder, &links, &mut same, &ends)?;
    let mut step_of: HashMap<usize, usize> = HashMap::new();
    for (step, &link) in order.iter().enumerate() {
        let (segments, elements) = ends(link);
        step_of.entry(same.find(segments)).or_insert(step);
        step_of.insert(same.find(elements), step + 1);
    }
    let links: Vec<Link> = order.iter().map(|&link| links[link].clone()).collect();
    let mut steps = HashMap::new();
    for (position, iteration_order) in iteration_orders.iter().enumerate() {
        let extents = finder.traversed(position);
        if *iteration_order != IterationOrder::Own || extents.len() < rank {
            continue;
        }
        let step = *step_of.entry(same.find(node(position, 0))).or_insert_with(|| {
            // Where no use ties an operation to the segments, its extents decide.
            let alike = |link: &Link| is_size(finder, extents[rank - 1], link.elements.as_ref());
            links.iter().rposition(alike).map_or(0, |at| at + 1)
        });
        if step < links.len() && extents.len() > rank {
            return Err(conflict(links[step].who, position, Why::Beside));
        }
        steps.insert(position, step);
    }
    Ok(Some(Chain { links, rank, steps }))
}

fn is_size(finder: &Finder<'_>, extent: Extent, size: Option<&Size>) -> bool {
    let sizes = finder.members.sizes;
    let own = sizes.extent(extent);
    own.as_ref().zip(size).is_some_and(|(a, b)| sizes.equal_sizes(a, b) == Answer::Proved)
}

/// The different lists of segments, and that of each segmented operation.
fn links(finder: &Finder<'_>, first: usize) -> Result<(Vec<Link>, HashMap<usize, usize>), Conflict> {
    let sizes = finder.members.sizes;
    let same = |(&a, &b): (&Extent, &Extent)| a == b && a != Extent::Unknown || sizes.equal(a, b) == Answer::Proved;
    let of_first = finder.traversed(first);
    let (mut links, mut of): (Vec<Link>, HashMap<usize, usize>) = (Vec::new(), HashMap::new());
    for position in 0..finder.len() {
        let Some(offsets) = offsets_of(finder.binding(position)) else { continue };
        let extents = finder.traversed(position);
        // All segmented operations have the same dimensions around their segments.
        let around = extents.len() == of_first.len()
            && extents.iter().zip(of_first).take(extents.len().saturating_sub(1)).all(same);
        if !around {
            return Err(conflict(first, position, Why::Segments));
        }
        let known = links.iter().position(|link| sizes.same_array(link.offsets, offsets));
        if let Some(link) = known {
            let last = finder.traversed(links[link].who).last().zip(extents.last());
            if !last.is_some_and(same) {
                return Err(conflict(links[link].who, position, Why::Segments));
            }
        } else {
            let count = finder.extents(offsets).first().and_then(|&count| sizes.extent(count));
            let elements = extents.last().and_then(|&extent| sizes.extent(extent));
            links.push(Link { offsets, who: position, count: count.map(|count| count.offset(-1)), elements });
        }
        of.insert(position, known.unwrap_or(links.len() - 1));
    }
    Ok((links, of))
}

/// Puts lists of segments in order: each comes after the list whose elements are its segments.
fn in_order(
    finder: &Finder<'_>,
    links: &[Link],
    same: &mut UnionFind,
    ends: &dyn Fn(usize) -> (usize, usize),
) -> Result<Vec<usize>, Conflict> {
    let sizes = finder.members.sizes;
    let follows = |same: &mut UnionFind, link: usize, other: usize| same.find(ends(link).1) == same.find(ends(other).0);
    // Where no use ties two lists, their extents decide.
    for link in 0..links.len() {
        for other in 0..links.len() {
            let tied = (0..links.len()).any(|any| follows(same, link, any) || follows(same, any, other));
            let alike = links[link].elements.as_ref().zip(links[other].count.as_ref());
            if link != other && !tied && alike.is_some_and(|(a, b)| sizes.equal_sizes(a, b) == Answer::Proved) {
                same.unite(ends(link).1, ends(other).0);
            }
        }
    }
    let outermost = (0..links.len()).find(|&link| !(0..links.len()).any(|any| follows(same, any, link)));
    let mut order = Vec::new();
    let mut next = outermost;
    while let Some(link) = next {
        order.push(link);
        let mut behind = (0..links.len()).filter(|&other| follows(same, link, other));
        next = behind.next();
        if let (Some(one), Some(other)) = (next, behind.next()) {
            return Err(conflict(links[one].who, links[other].who, Why::Segments));
        }
    }
    match (0..links.len()).find(|link| !order.contains(link)) {
        Some(other) => Err(conflict(links[order.first().copied().unwrap_or(0)].who, links[other].who, Why::Segments)),
        None => Ok(order),
    }
}

/// Unites the nodes of operations and results that run over the same steps, among those of at least the rank that is cut.
fn tie(
    finder: &Finder<'_>,
    uses: &[Vec<Use>],
    iteration_orders: &[IterationOrder],
    rank: usize,
    same: &mut UnionFind,
) -> Result<(), Conflict> {
    let result_rank = |made: Made| finder.binding(made.position).results[made.index].ty.rank();
    for position in 0..finder.len() {
        if iteration_orders[position] != IterationOrder::Own {
            continue;
        }
        let binding = finder.binding(position);
        let (traversed, first) = (finder.traversed(position).len(), binding.results.first());
        let results = first.map_or(0, |var| var.ty.rank());
        match &binding.op {
            // No operation of the nest uses the results of these.
            ArrayOp::Permute { .. }
            | ArrayOp::PermutedExpand { .. }
            | ArrayOp::Expand { .. }
            | ArrayOp::Filter { .. } => {}
            ArrayOp::Fold { offsets: Some(_), .. } => {}
            ArrayOp::Scan { form, offsets, .. } => {
                if offsets.is_none() || *form != ScanForm::Exclusive {
                    same.unite(node(position, 0), node(position, 1));
                }
                if offsets.is_none() && *form == ScanForm::Body && traversed > rank {
                    same.unite(node(position, 0), node(position, 2));
                }
            }
            _ if results >= rank && traversed >= rank => _ = same.unite(node(position, 0), node(position, 1)),
            _ => {}
        }
        for of in uses[position].iter().filter(|of| !of.extent) {
            if let ArrayOp::Scan { form: ScanForm::Exclusive, offsets: Some(_), .. } = finder.op(of.made.position) {
                return Err(conflict(of.made.position, position, Why::Segments));
            }
            let through = matches!(iteration_orders[of.made.position], IterationOrder::Through(_));
            if !through && of.access != Access::Row && result_rank(of.made) >= rank && traversed >= rank {
                same.unite(result_node(finder, of.made), node(position, 0));
            }
        }
    }
    Ok(())
}
