//! Kernels of which each step has rows of its own: threads share their launches sooner.

use fusebox_ir::{Action, Kernel, ScalarPart};

/// Whether all that a kernel loads and stores is of rows (or elements) that go by with its outermost steps: threads that share launches find in their caches what
/// they had the time before, and nothing that others made.
pub(crate) fn of_own_steps(kernel: &Kernel) -> bool {
    let Some(outermost) = kernel.levels.first() else { return false };
    kernel.statements.iter().filter(|statement| statement.depth > 0).all(|statement| match &statement.action {
        Action::Load { map, .. } | Action::Store { map, .. } => {
            map.dims.first().is_some_and(|dim| dim.terms.contains(&(1, outermost.index.id)))
        }
        Action::Scalar(instruction) => instruction.op.parts().iter().all(|part| match part {
            ScalarPart::Array(_) => false,
            ScalarPart::Body(body) => body.arrays_read().is_empty(),
            ScalarPart::Operand(_) => true,
        }),
        Action::Reduce { .. } | Action::Check { .. } => true,
        Action::Scan { .. } | Action::Append { .. } | Action::Scatter { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::of_own_steps;

    #[test]
    fn what_moves_with_the_outermost_steps() {
        for (own, source) in [
            (true, "fn f(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| x * y, a, b) return c }"),
            (true, "fn f(a: [n, m]f32) -> [n]f32 { let c: [n]f32 = fold(|x, y| x + y, 0.0, a) return c }"),
            // Of other steps, of none, wherever an index is, and what waits for steps before.
            (
                false,
                "fn f(a: [n, m]f32) -> [m, n]f32 { let c: [m, n]f32 = backpermute([m, n], |i, j| { return j, i }, a) return c }",
            ),
            (
                false,
                "fn f(a: [n, m]f32, v: [m]f32) -> [n, m]f32 { let c: [n, m]f32 = generate([n, m], |i, j| a[i, j] * v[j]) return c }",
            ),
            (false, "fn f(a: [n]f32, at: [n]i64) -> [n]f32 { let c: [n]f32 = generate([n], |i| a[at[i]]) return c }"),
            (false, "fn f(a: [n]f32) -> [n]f32 { let c: [n]f32 = scanl1(|x, y| x + y, a) return c }"),
        ] {
            let kernel = fusebox_conformance::plan(source).kernels.pop().expect("a kernel");
            assert_eq!(of_own_steps(&kernel), own, "{source}\n{kernel}");
        }
    }
}
