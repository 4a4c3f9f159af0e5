//! The prebuilt library is linked, and solves.

use highs::{HighsModelStatus, RowProblem, Sense};

/// Maximise `3x + 2y` where `x + y <= 4`, `x + 3y <= 6`, `0 <= x <= 3`, `0 <= y`: the corner (3, 1), worth 11.
#[test]
fn a_linear_program_of_two_variables() {
    let mut problem = RowProblem::default();
    let x = problem.add_column(3.0, 0.0..=3.0);
    let y = problem.add_column(2.0, 0.0..);
    problem.add_row(..=4.0, [(x, 1.0), (y, 1.0)]);
    problem.add_row(..=6.0, [(x, 1.0), (y, 3.0)]);

    let solved = problem.try_optimise(Sense::Maximise).expect("the problem is well formed").try_solve().expect("solve");

    assert_eq!(solved.status(), HighsModelStatus::Optimal);
    let solution = solved.get_solution();
    assert!((solution[x] - 3.0).abs() < 1e-9, "x = {}", solution[x]);
    assert!((solution[y] - 1.0).abs() < 1e-9, "y = {}", solution[y]);
}

/// Whole-number variables go through the branch-and-bound code, which is most of the library.
///
/// Maximise `5a + 4b` where `6a + 5b <= 28`, whole and not negative. Relaxed, `a = 28/6`; whole, `a = 3, b = 2`
/// fills the row exactly and is worth 23, and no other pair reaches 24.
#[test]
fn a_problem_in_whole_numbers() {
    let mut problem = RowProblem::default();
    let a = problem.add_integer_column(5.0, 0.0..=10.0);
    let b = problem.add_integer_column(4.0, 0.0..=10.0);
    problem.add_row(..=28.0, [(a, 6.0), (b, 5.0)]);

    let solved = problem.try_optimise(Sense::Maximise).expect("the problem is well formed").try_solve().expect("solve");

    assert_eq!(solved.status(), HighsModelStatus::Optimal);
    let solution = solved.get_solution();
    let worth = 5.0 * solution[a] + 4.0 * solution[b];
    assert!((worth - 23.0).abs() < 1e-6, "worth {worth} with a = {}, b = {}", solution[a], solution[b]);
}
