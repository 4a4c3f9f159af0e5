//! Which accesses of a kernel are inside of their arrays for every size, as anybody can see; checks for the others.

use crate::{Action, DimBoundary, DimIndex, IndexMap, Kernel, KernelExtent, LocalId, ScalarOperand};

/// The same kernel, in which every load, store and scatter is checked whose index is not plainly inside of its array.
///
/// A kernel that a pass made leaves out checks that the program proves; a kernel that somebody wrote or edited proves nothing, and a
/// backend would access any memory. Plainly inside is an index of a level from 0 to the extent itself (or, under a boundary, anything in
/// an array that has elements where the statement runs). Results are the same where no index is outside.
pub fn with_checks(kernel: &Kernel) -> Kernel {
    let mut checked = kernel.clone();
    for (statement, from) in checked.statements.iter_mut().zip(&kernel.statements) {
        let depth = from.depth as usize;
        // A function stands for what is outside.
        if let Action::Load { outside: Some(_), .. } = statement.action {
            continue;
        }
        let Some((array, map)) = statement.action.map_mut() else { continue };
        let extents = kernel.arrays.get(array.index()).map_or(&[][..], |array| &array.extents);
        map.checked |= !inside(kernel, depth, map, extents);
    }
    checked
}

fn inside(kernel: &Kernel, depth: usize, map: &IndexMap, extents: &[KernelExtent]) -> bool {
    let dims = map.dims.iter().zip(extents);
    map.dims.len() == extents.len() && dims.into_iter().all(|(dim, &extent)| dim_inside(kernel, depth, dim, extent))
}

fn dim_inside(kernel: &Kernel, depth: usize, dim: &DimIndex, extent: KernelExtent) -> bool {
    let around = kernel.levels.get(..depth).unwrap_or_default();
    if dim.boundary != DimBoundary::None {
        // Only an array without elements has nothing to stand for what is outside.
        return matches!(extent, KernelExtent::Constant(1..)) || around.iter().any(|level| runs_over(level, extent));
    }
    match (dim.offset, dim.terms.as_slice()) {
        (0, [(1, local)]) => around.iter().any(|level| level.index.id == *local && runs_over(level, extent)),
        (at, []) => matches!(extent, KernelExtent::Constant(extent) if (0..extent).contains(&at)),
        _ => false,
    }
}

/// Whether the arrays of a kernel's append, if it has one, plainly have room: one element at most for each point of the levels around it,
/// which run over their extents.
pub fn has_room(kernel: &Kernel) -> bool {
    let appends = kernel.statements.iter().filter_map(|statement| match &statement.action {
        Action::Append { arrays, .. } => Some((statement.depth, arrays)),
        _ => None,
    });
    appends.into_iter().all(|(depth, arrays)| {
        let levels = kernel.levels.get(..depth as usize).filter(|levels| !levels.is_empty());
        levels.is_some_and(|levels| {
            arrays.iter().all(|array| {
                let extents = kernel.arrays.get(array.index()).map_or(&[][..], |array| &array.extents);
                extents.len() == levels.len()
                    && levels.iter().zip(extents).all(|(level, &extent)| runs_over(level, extent))
            })
        })
    })
}

/// Whether a level's steps are all those from 0 to an extent.
fn runs_over(level: &crate::Level, extent: KernelExtent) -> bool {
    let number = |operand: ScalarOperand| match operand {
        ScalarOperand::Constant(constant) => constant.as_i64(),
        ScalarOperand::Local(_) | ScalarOperand::Outer(_) => None,
    };
    let size = |operand: ScalarOperand, size: LocalId| operand == ScalarOperand::Local(size);
    number(level.from) == Some(0)
        && match extent {
            KernelExtent::Constant(extent) => number(level.to).is_some_and(|to| to <= extent),
            KernelExtent::Size(local) => size(level.to, local),
        }
}
