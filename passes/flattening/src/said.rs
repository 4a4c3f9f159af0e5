//! Errors of flat programs in the words of nested ones.

use fusebox_ir::{ArrayId, Fault, Place, Program, RunError, Var};

use crate::{
    faults,
    views::{is_at, view_read_at},
};

/// An error of a flat program in the words of the nested program that it was made of: of an index into the arrays of all lanes, the lane's
/// part stands apart, and what checks of lanes found is the fault that it is. Of a row of an array it says the row, and not the array.
pub fn in_words_of_lanes(program: &Program, error: RunError) -> RunError {
    let RunError { operation, place, fault } = error;
    let fault = match fault {
        // A lane that ran by itself: nests inside of it are told apart in its program.
        Fault::InLane { fault, lane } => match of_row(program, &place, &fault) {
            Some(of_row) => of_row,
            None => match of_lanes(program, &place, *fault) {
                Fault::InLane { fault, lane: inside } => fault.in_lane([lane, inside].concat()),
                fault => fault.in_lane(lane),
            },
        },
        fault => of_row(program, &place, &fault).unwrap_or_else(|| of_lanes(program, &place, fault)),
    };
    let operation = as_in_source(program, &place, &operation).unwrap_or(operation);
    RunError { operation, place, fault }
}

/// The operation that another was made of: the only one at a place, or the one there with the same result. A host may make several at one.
fn as_in_source(program: &Program, place: &Place, made: &str) -> Option<String> {
    let bindings = program.body.blocks().flat_map(|block| &block.bindings);
    let there = bindings.filter(|binding| is_at(&binding.place, place));
    let said = there.filter_map(|binding| Some((binding.op.name(), name(binding.results.first()?))));
    let said: Vec<(&str, String)> = said.collect();
    let of_result = said.iter().find(|(_, result)| made.ends_with(&format!(" `{result}`")));
    let (operation, result) = of_result.or(if let [only] = &said[..] { Some(only) } else { None })?;
    Some(format!("{operation} `{result}`"))
}

/// Of an index into an array outside that is one into a row of it in the nested program, the row and the lane.
fn of_row(program: &Program, place: &Place, fault: &Fault) -> Option<Fault> {
    let Fault::Index { array, index, extents } = fault else { return None };
    let (array, lanes) = view_read_at(program, place, array)?;
    (lanes < index.len() && index.len() == extents.len()).then(|| {
        let (lane, index) = index.split_at(lanes);
        let fault = Fault::Index { array, index: index.to_vec(), extents: extents[lanes..].to_vec() };
        fault.in_lane(lane.to_vec())
    })
}

fn of_lanes(program: &Program, place: &Place, fault: Fault) -> Fault {
    match fault {
        Fault::Index { array, index, extents } => of_index(program, array, index, extents),
        Fault::Assertion { message } => match faults::of_message(&message) {
            Fault::InLane { fault, lane } => with_array(program, place, *fault).in_lane(lane),
            fault => with_array(program, place, fault),
        },
        other => other,
    }
}

/// A negative extent was found of a number; it is one of the array that is made at its place.
fn with_array(program: &Program, place: &Place, fault: Fault) -> Fault {
    let Fault::NegativeExtent { array, extent } = fault else { return fault };
    let mut bindings = program.body.blocks().flat_map(|block| &block.bindings);
    let made = bindings.find(|binding| is_at(&binding.place, place)).and_then(|binding| binding.results.first());
    Fault::NegativeExtent { array: made.map_or(array, name), extent }
}

/// An array of lanes has their dimensions in front of its own.
fn of_index(program: &Program, array: String, index: Vec<i64>, extents: Vec<i64>) -> Fault {
    let own = ranks(program, &array);
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
fn ranks(program: &Program, array: &str) -> Vec<usize> {
    let mut found = Vec::new();
    program.body.for_each_definition(&mut |var| {
        if name(var) == array {
            found.push(var.ty.all_extents().count());
        }
    });
    found
}

fn name(var: &Var) -> String {
    if var.name.is_empty() { ArrayId::to_string(&var.id) } else { var.name.0.clone() }
}
