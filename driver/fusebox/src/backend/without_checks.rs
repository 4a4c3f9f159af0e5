//! Plans without the checks that a program asked for.

use fusebox_ir::{Action, Plan};

/// A plan whose kernels check nothing at their points: no index, no offsets of segments, no rows of folds without a seed.
///
/// What is left: sizes, which are checked once before a kernel; divisions and assertions; what stands in branches and loops of functions.
pub(super) fn without_checks(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for kernel in &mut plan.kernels {
        kernel.statements.retain(|statement| !matches!(statement.action, Action::Check { .. }));
        for statement in &mut kernel.statements {
            if let Some((_, map)) = statement.action.map_mut() {
                map.checked = false;
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use fusebox_ir::{text, validate_plan};

    use super::without_checks;
    use crate::{Options, pipeline, run_passes};

    #[test]
    fn checks_of_points_go_and_nothing_else() {
        let checked = |source: &str| {
            let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
            let stages = run_passes(&program, &pipeline(&Options::default()), true).unwrap();
            let plan = stages.last().and_then(|stage| stage.plan()).unwrap().clone();
            let bare = without_checks(&plan);
            validate_plan(&bare).unwrap_or_else(|errors| panic!("{errors}\n{bare}"));
            (plan, bare)
        };
        let (plan, bare) = checked(
            "fn f(a: [n]f32, at: [m]i64) -> [m]f32 {
            let b: [m]f32 = map(|i| a[i] + 1.0, at) return b }",
        );
        assert_ne!(plan, bare, "an index is not checked any more");
        let (plan, bare) =
            checked("fn f(a: [n, m]f32) -> [n]f32 { let b: [n]f32 = fold1(|x, y| max(x, y), a) return b }");
        let statements =
            |plan: &fusebox_ir::Plan| plan.kernels.iter().map(|kernel| kernel.statements.len()).sum::<usize>();
        assert!(statements(&bare) < statements(&plan), "{plan}");
        assert_eq!(plan.steps, bare.steps);
        let (plan, bare) = checked("fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x + 1.0, a) return b }");
        assert_eq!(plan, bare, "what was proved to need no check");
    }
}
