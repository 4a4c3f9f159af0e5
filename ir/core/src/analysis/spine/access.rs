//! How operations use what others of the same cluster make.

use super::{
    Conflict, Finder, IterationOrder, Made, Why, conflict,
    rows::{offsets_of, row},
};
use crate::{
    ArrayId, ArrayOp, Extent, LocalId, Operand, Part,
    analysis::need::{free_uses, local},
    operations::{How, Kind, Known},
};

/// How an operation reads an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// At the index that it runs over.
    Same,
    /// At the first indices that it runs over.
    Prefix,
    /// At the segment that it runs in.
    Row,
    /// At an index that it computes.
    Through,
    /// In any way. All of the array has to be there before.
    Whole,
}

/// One operation's use of a result of another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) made: Made,
    pub(super) access: Access,
    /// Whether it is the extent of a result, and nothing else.
    pub(super) extent: bool,
}

impl From<How> for Access {
    fn from(how: How) -> Self {
        match how {
            How::Same | How::Row => Self::Same,
            How::Prefix => Self::Prefix,
            How::Mapped => Self::Through,
            How::Around | How::Anywhere => Self::Whole,
        }
    }
}

/// For each operation what it uses of the others. An operation that needs the whole of something is a conflict.
pub(super) fn uses(finder: &Finder<'_>) -> Result<Vec<Vec<Use>>, Conflict> {
    let mut all = Vec::new();
    for position in 0..finder.len() {
        let binding = finder.binding(position);
        let mut list = Vec::new();
        let mut whole: Vec<ArrayId> = Vec::new();
        let fills = fills(&binding.op);
        let at_row = row(finder, position).is_some();
        for read in &finder.signatures[position].reads {
            let id = read.array;
            let access = if at_row && read.how == How::Mapped { Access::Row } else { Access::from(read.how) };
            match finder.own.get(&id) {
                Some(made) if access == Access::Whole || is_whole(finder, *made) => whole.push(id),
                Some(&made) => list.push(Use { made, access, extent: false }),
                None => {}
            }
        }
        for part in binding.op.parts() {
            match part {
                Part::Function(f) => f.outer_uses(&mut |id| whole.push(id)),
                // What is filled along with counted elements needs no number of them.
                Part::Value(Operand::Value(id))
                    if fills && finder.own.get(id).is_some_and(|&made| is_count(finder, made)) => {}
                Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => whole.push(*id),
                // No operation of a cluster holds a block.
                Part::Value(_) | Part::Argument(_) | Part::Array(_) | Part::Inner(_) | Part::Body(_) => {}
            }
        }
        if let Some(made) = whole.iter().find_map(|id| finder.own.get(id)) {
            return Err(conflict(made.position, position, Why::Whole));
        }
        for extent in binding.results.iter().flat_map(|var| var.ty.all_extents()) {
            if let Extent::Value(id) = extent
                && let Some(&made) = finder.own.get(id)
            {
                list.push(Use { made, access: Access::Same, extent: true });
            }
        }
        all.push(list);
    }
    Ok(all)
}

/// Whether no part of a result is known before all of it is, as of targets of permutes and of numbers of elements.
fn is_whole(finder: &Finder<'_>, made: Made) -> bool {
    let results = &finder.signatures[made.position].results;
    results.get(made.index).is_some_and(|given| given.known == Known::AtEnd)
}

/// Whether a result is the number of elements that an expand or filter makes.
pub(super) fn is_count(finder: &Finder<'_>, made: Made) -> bool {
    made.index == 0 && finder.op(made.position).kind() == Kind::Counted
}

/// Whether an operation fills a vector without an array or an index, so that its elements can be made wherever those of another are met.
pub fn fills(op: &ArrayOp) -> bool {
    match op {
        ArrayOp::Generate { extents, f } => {
            let own = |id: LocalId| f.params.iter().any(|param| param.id == id);
            let uses = f.instructions.iter().any(|instruction| free_uses(instruction).into_iter().any(own));
            extents.len() == 1 && !uses && !f.results.iter().filter_map(local).any(own)
        }
        ArrayOp::Replicate { dims, .. } => matches!(dims[..], [Some(_)]),
        _ => false,
    }
}

/// Whether what an operation makes of elements that are counted is counted with them.
pub fn follows(op: &ArrayOp) -> bool {
    matches!(op, ArrayOp::Map { .. } | ArrayOp::Compute { .. } | ArrayOp::Generate { .. } | ArrayOp::Replicate { .. })
}

/// The order in which each operation makes its elements, which is the order in which they are used.
pub(super) fn iteration_orders(finder: &Finder<'_>, uses: &[Vec<Use>]) -> Result<Vec<IterationOrder>, Conflict> {
    let mut wanted: Vec<Option<(IterationOrder, usize)>> = vec![None; finder.len()];
    let mut iteration_orders = vec![IterationOrder::Own; finder.len()];
    for user in (0..finder.len()).rev() {
        // All operations that use this one come after it, so its own order is known here.
        if let Some((iteration_order, by)) = wanted[user] {
            if let IterationOrder::Through(_) = iteration_order {
                // Only an elementwise operation can make its elements in another order, and none that goes by segments.
                if finder.op(user).kind() != Kind::Elementwise || offsets_of(finder.binding(user)).is_some() {
                    return Err(conflict(user, by, Why::NotElementwise));
                }
                let results = finder.binding(user).results.len();
                if (0..results).any(|index| finder.is_manifest(Made { position: user, index })) {
                    return Err(conflict(user, by, Why::StoredInOrder));
                }
            }
            iteration_orders[user] = iteration_order;
        }
        for of in uses[user].iter().filter(|of| !of.extent) {
            let iteration_order = match (of.access, iteration_orders[user]) {
                (Access::Same, iteration_order) => iteration_order,
                (Access::Prefix | Access::Row, IterationOrder::Own) => IterationOrder::Own,
                (Access::Prefix | Access::Row | Access::Through | Access::Whole, _) => {
                    // What is read by need inside of a function may be outside of the array where it is not needed.
                    if let ArrayOp::Transform { .. } = finder.op(user) {
                        return Err(conflict(of.made.position, user, Why::ByNeed));
                    }
                    IterationOrder::Through(user)
                }
            };
            match wanted[of.made.position] {
                Some((other, _)) if other != iteration_order => {
                    return Err(conflict(of.made.position, user, Why::TwoOrders));
                }
                Some(_) => {}
                None => wanted[of.made.position] = Some((iteration_order, user)),
            }
        }
    }
    Ok(iteration_orders)
}
