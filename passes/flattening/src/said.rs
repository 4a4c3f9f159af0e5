//! Errors of flat programs in the words of nested ones.

use fusebox_ir::{ArrayId, Block, Fault, Part, Program, RunError, Var};

use crate::views::view_read_at;

/// An error of a flat program in the words of the nested program that it was made of: of an index into the arrays of all lanes, the lane's
/// part stands apart, and what checks of lanes found is the fault that it is. Of a row of an array it says the row, and not the array.
pub fn in_words_of_lanes(program: &Program, error: RunError) -> RunError {
    let RunError { operation, place, fault } = error;
    let fault = match fault {
        Fault::Index { array, index, extents } => match view_read_at(program, &place, &array) {
            Some((name, lanes)) if lanes < index.len() && index.len() == extents.len() => {
                let fault =
                    Fault::Index { array: name, index: index[lanes..].to_vec(), extents: extents[lanes..].to_vec() };
                fault.in_lane(index[..lanes].to_vec())
            }
            _ => of_index(program, array, index, extents),
        },
        Fault::Assertion { message } => of_message(message),
        other => other,
    };
    RunError { operation, place, fault }
}

/// An array of lanes has their dimensions in front of its own.
fn of_index(program: &Program, array: String, index: Vec<i64>, extents: Vec<i64>) -> Fault {
    let own = ranks(&program.body, &array);
    let (Some(&rank), true) = (own.first(), index.len() == extents.len()) else {
        return Fault::Index { array, index, extents };
    };
    if own.iter().any(|other| *other != rank) || rank >= index.len() {
        return Fault::Index { array, index, extents };
    }
    let more = index.len() - rank;
    let fault = Fault::Index { array, index: index[more..].to_vec(), extents: extents[more..].to_vec() };
    fault.in_lane(index[..more].to_vec())
}

/// How many dimensions the values of a name have, with those of arrays inside.
fn ranks(block: &Block, name: &str) -> Vec<usize> {
    let (mut found, mut blocks) = (Vec::new(), vec![block]);
    while let Some(block) = blocks.pop() {
        let results = block.bindings.iter().flat_map(|binding| &binding.results);
        let named = |var: &&Var| is_named(var, name);
        found.extend(
            block.params.iter().chain(results).filter(named).map(|var| var.ty.rank() + var.ty.inner.concat().len()),
        );
        let parts = block.bindings.iter().flat_map(|binding| binding.op.parts());
        blocks.extend(parts.filter_map(|part| if let Part::Body(body) = part { Some(body) } else { None }));
    }
    found
}

fn is_named(var: &Var, name: &str) -> bool {
    if var.name.is_empty() { ArrayId::to_string(&var.id) == name } else { var.name.0 == name }
}

/// What the check of a lane says (`lift/lane.rs`) as the fault that it is.
fn of_message(message: String) -> Fault {
    let Some((said, lane)) = message.rsplit_once(", in lane ") else { return Fault::Assertion { message } };
    let numbers = |text: &str| -> Option<Vec<i64>> {
        text.trim_matches(['[', ']']).split(", ").map(|number| number.parse().ok()).collect()
    };
    let Some(lane) = numbers(lane) else { return Fault::Assertion { message } };
    let index = || {
        let (index, rest) = said.strip_prefix("index ")?.split_once(" is outside of `")?;
        let (array, extents) = rest.split_once("`, whose extents are ")?;
        Some(Fault::Index { array: array.to_owned(), index: numbers(index)?, extents: numbers(extents)? })
    };
    let fault = match said {
        "division by zero" => Fault::DivisionByZero,
        said => index().unwrap_or_else(|| Fault::Assertion { message: said.to_owned() }),
    };
    fault.in_lane(lane)
}
