//! A kernel for certain lengths of its levels.

use crate::{Constant, Kernel, LocalId, MAX_EXTENT, ScalarOperand, traverse::StatementPartMut};

/// The kernel that does what another does wherever these levels have just so many steps: the size that each ends at is a number in it.
///
/// None if a level begins at no number or ends at no size, if it is named twice, or if no array could be as long.
pub fn of_lengths(kernel: &Kernel, lengths: &[(usize, i64)]) -> Option<Kernel> {
    let mut known: Vec<(LocalId, Constant)> = Vec::with_capacity(lengths.len());
    let mut seen = Vec::with_capacity(lengths.len());
    for &(level, steps) in lengths {
        let own = kernel.levels.get(level).filter(|_| (0..=MAX_EXTENT).contains(&steps) && !seen.contains(&level))?;
        seen.push(level);
        let (ScalarOperand::Constant(from), ScalarOperand::Local(to)) = (own.from, own.to) else { return None };
        kernel.sizes.iter().find(|size| size.id == to)?;
        let end = Constant::from(from.as_i64()?.checked_add(steps)?);
        match known.iter().find(|(id, _)| *id == to) {
            // Two levels end at one size.
            Some((_, other)) if *other != end => return None,
            Some(_) => {}
            None => known.push((to, end)),
        }
    }
    let mut own = kernel.clone();
    let number = |operand: &mut ScalarOperand| {
        if let ScalarOperand::Local(id) = *operand
            && let Some((_, constant)) = known.iter().find(|(own, _)| *own == id)
        {
            *operand = ScalarOperand::Constant(*constant);
        }
    };
    for level in &mut own.levels {
        number(&mut level.from);
        number(&mut level.to);
    }
    for part in own.statements.iter_mut().flat_map(|statement| statement.parts_mut()) {
        if let StatementPartMut::Operand(operand) = part {
            number(operand);
        }
    }
    Some(own)
}
