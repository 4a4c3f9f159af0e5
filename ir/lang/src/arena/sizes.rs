//! Terms of sizes: the same operands give the same term, and numbers are added up, so that equal extents are recognised.

use fusebox_ir::{
    Binary, Constant, ElementType, ScalarOp, ScalarOperand,
    term::{Term, TermId},
};

use super::{Arena, At, constant, local, scalar, value_of, with};

/// Arithmetic on sizes, with constants folded; the same operands give the same term, so that equal extents are recognised.
pub(crate) fn size(function: Binary, a: TermId, b: TermId, at: At) -> TermId {
    let known = |id| value_of(id).and_then(Constant::as_i64);
    let folded = match (function, known(a), known(b)) {
        (Binary::Min | Binary::Max, _, _) if same_size(a, b) => return a,
        (Binary::Add | Binary::Sub, _, Some(0)) | (Binary::Mul | Binary::Div, _, Some(1)) => return a,
        (Binary::Add, Some(0), _) | (Binary::Mul, Some(1), _) => return b,
        (Binary::Add, Some(x), Some(y)) => x.checked_add(y),
        (Binary::Sub, Some(x), Some(y)) => x.checked_sub(y),
        (Binary::Mul, Some(x), Some(y)) => x.checked_mul(y),
        (Binary::Div, Some(x), Some(y)) => x.checked_div(y),
        (Binary::Min, Some(x), Some(y)) => Some(x.min(y)),
        (Binary::Max, Some(x), Some(y)) => Some(x.max(y)),
        _ => None,
    };
    if let Some(number) = folded {
        return constant(number, at);
    }
    // Sizes that are one and the same size and numbers: (n + 1) - 1 is n, min(n + 1, n) is n.
    let ((x, more), (y, further)) = (sum_of(a), sum_of(b));
    match (function, known(b)) {
        (Binary::Min, _) if x == y => return if more <= further { a } else { b },
        (Binary::Max, _) if x == y => return if more >= further { a } else { b },
        (Binary::Add, Some(number)) => return sum(x, more.checked_add(number), (function, a, b), at),
        (Binary::Sub, Some(number)) => return sum(x, more.checked_sub(number), (function, a, b), at),
        (Binary::Add, _) if known(a).is_some() => return size(Binary::Add, b, a, at),
        _ => {}
    }
    plain_size(function, a, b, at)
}

/// Whether two sizes are one term, or the same arithmetic on the same terms, as `xs.length() / 2` written twice.
pub(crate) fn same_size(a: TermId, b: TermId) -> bool {
    const MAX_OPERATIONS: usize = 32;
    let mut pairs = vec![(a, b)];
    let mut budget = MAX_OPERATIONS;
    with(|arena| {
        while let Some((a, b)) = pairs.pop() {
            if a == b {
                continue;
            }
            if budget == 0 {
                return false;
            }
            budget -= 1;
            let (Some(a), Some(b)) = (arena.nodes.get(a.index()), arena.nodes.get(b.index())) else { return false };
            let (Term::Scalar { op: a, .. }, Term::Scalar { op: b, .. }) = (&a.term, &b.term) else { return false };
            let operands: &[(ScalarOperand, ScalarOperand)] = match (a, b) {
                (ScalarOp::Binary { function: f, a, b }, ScalarOp::Binary { function: g, a: c, b: d }) if f == g => {
                    &[(*a, *c), (*b, *d)]
                }
                (ScalarOp::Unary { function: f, a }, ScalarOp::Unary { function: g, a: b }) if f == g => &[(*a, *b)],
                (ScalarOp::Convert { to: s, a }, ScalarOp::Convert { to: t, a: b }) if s == t => &[(*a, *b)],
                _ => return false,
            };
            for (a, b) in operands {
                // Skeletons hold terms alone.
                let (ScalarOperand::Local(a), ScalarOperand::Local(b)) = (a, b) else { return false };
                pairs.push((TermId::of_local(*a), TermId::of_local(*b)));
            }
        }
        true
    })
    .unwrap_or(false)
}

/// The greater of two extents that should be equal. What is the greatest of the same sizes is one term, whatever the order.
pub(crate) fn greater(a: TermId, b: TermId, at: At) -> TermId {
    let parts = |id: TermId| with(|arena| arena.greatest.get(&id).cloned()).flatten().unwrap_or_else(|| vec![id]);
    let mut all = parts(a);
    for part in parts(b) {
        if !all.iter().any(|&known| same_size(known, part)) {
            all.push(part);
        }
    }
    all.sort_unstable();
    for whole in [a, b] {
        if parts(whole).len() == all.len() {
            return whole;
        }
    }
    let known = |arena: &mut Arena| arena.greatest.iter().find(|(_, of)| **of == all).map(|(&id, _)| id);
    if let Some(id) = with(known).flatten() {
        return id;
    }
    let id = plain_size(Binary::Max, a, b, at);
    with(|arena| arena.greatest.insert(id, all));
    id
}

/// The size that another one exceeds by a number.
fn sum_of(id: TermId) -> (TermId, i64) {
    with(|arena| arena.sums.get(&id).copied()).flatten().unwrap_or((id, 0))
}

/// A size and a number; where that overflowed, `otherwise`.
fn sum(base: TermId, number: Option<i64>, otherwise: (Binary, TermId, TermId), at: At) -> TermId {
    let (function, amount) = match number {
        Some(0) => return base,
        Some(number) if number > 0 => (Binary::Add, number),
        Some(number) if number > i64::MIN => (Binary::Sub, -number),
        _ => return plain_size(otherwise.0, otherwise.1, otherwise.2, at),
    };
    let amount = constant(amount, at);
    let id = plain_size(function, base, amount, at);
    with(|arena| arena.sums.insert(id, (base, number.unwrap_or_default())));
    id
}

/// The term of an operation on sizes, one for the same operands.
fn plain_size(function: Binary, a: TermId, b: TermId, at: At) -> TermId {
    let commutes = matches!(function, Binary::Add | Binary::Mul | Binary::Min | Binary::Max);
    let key = if commutes && b < a { (function, b, a) } else { (function, a, b) };
    if let Some(id) = with(|arena| arena.sizes.get(&key).copied()).flatten() {
        return id;
    }
    let id = scalar(ScalarOp::Binary { function, a: local(a), b: local(b) }, ElementType::I64, at);
    with(|arena| arena.sizes.insert(key, id));
    id
}

/// Extents over which arrays of extents `a` and `b` both reach: per dimension the smaller one.
pub(crate) fn meet(a: &[TermId], b: &[TermId], at: At) -> Vec<TermId> {
    a.iter().zip(b).map(|(&a, &b)| if a == b { a } else { size(Binary::Min, a, b, at) }).collect()
}
