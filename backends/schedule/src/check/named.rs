//! Statements that a nest names for a form of theirs, each once.

/// What is wrong with them: what `fault` says of each, and what is named twice as `form`.
pub(super) fn faults(
    positions: impl IntoIterator<Item = usize>,
    form: &str,
    fault: impl Fn(usize) -> Option<String>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = Vec::new();
    for position in positions {
        faults.extend(fault(position));
        if seen.contains(&position) {
            faults.push(format!("statement {position} is named twice as {form}"));
        }
        seen.push(position);
    }
    faults
}
