//! What checks of flat programs find, as messages. A check is an `assert`, and of an assertion that fails a message is all that is left.
//!
//! A message of the program itself is never taken for one of these: it is written with a backslash before each part that could be.

use fusebox_ir::{Block, Fault, Lambda, PartMut, ScalarOp, ScalarPartMut};

/// What stands before the lane.
const LANE: &str = ", in lane ";
/// A division, or remainder, by zero.
pub(crate) const DIVISION: &str = "division by zero";
const INDEX: &str = "index [";
const EXTENT: &str = "extent ";
/// How faults begin that are no assertions.
const BEGINS: [&str; 3] = [DIVISION, INDEX, EXTENT];

/// An index, outside of a dimension of an array: both are shown.
pub(crate) fn index_outside(name: &str) -> String {
    format!("{INDEX}{{}}] is outside of `{name}`, whose extents are [{{}}]")
}

/// An extent below zero, which is shown.
pub(crate) fn negative_extent(name: &str) -> String {
    format!("{EXTENT}{{}} of `{name}` is negative")
}

/// Extents, which are shown, of which the first is not the second.
pub(crate) fn unequal_extents(left: &str, right: &str) -> String {
    format!("{EXTENT}{{}} of `{left}` and extent {{}} of `{right}` should be equal")
}

/// A message with the lane in which it is true, of so many numbers that are shown.
pub(crate) fn in_lane(message: &str, rank: usize) -> String {
    match rank {
        0 => message.to_owned(),
        1 => format!("{message}{LANE}{{}}"),
        _ => format!("{message}{LANE}[{}]", vec!["{}"; rank].join(", ")),
    }
}

/// Writes the messages of a program such that none is taken for anything else.
pub(crate) fn as_own_messages(block: &mut Block) {
    for part in block.bindings.iter_mut().flat_map(|binding| binding.op.parts_mut()) {
        match part {
            PartMut::Function(f) => of_function(f),
            PartMut::Body(body) => as_own_messages(body),
            _ => {}
        }
    }
}

fn of_function(f: &mut Lambda) {
    for instruction in &mut f.instructions {
        if let ScalarOp::Assert { message, .. } = &mut instruction.op {
            *message = own(message);
        }
        for part in instruction.op.parts_mut() {
            if let ScalarPartMut::Body(body) = part {
                of_function(body);
            }
        }
    }
}

fn own(message: &str) -> String {
    let own = message.replace('\\', "\\\\").replace(LANE, ",\\ in lane ");
    if BEGINS.iter().any(|begin| own.starts_with(begin)) { format!("\\{own}") } else { own }
}

/// A message as it was written: a backslash stands before what is no backslash of ours.
fn as_written(own: &str) -> String {
    let (mut written, mut letters) = (String::with_capacity(own.len()), own.chars());
    while let Some(letter) = letters.next() {
        written.extend(if letter == '\\' { letters.next() } else { Some(letter) });
    }
    written
}

/// The fault that a message of a flat program stands for.
pub(crate) fn of_message(message: &str) -> Fault {
    let in_lane = message.rsplit_once(LANE).and_then(|(said, lane)| Some((said, numbers(lane)?)));
    let (said, lane) = in_lane.unwrap_or((message, Vec::new()));
    let fault = match said {
        DIVISION => Fault::DivisionByZero,
        said => index(said).or_else(|| extent(said)).unwrap_or_else(|| Fault::Assertion { message: as_written(said) }),
    };
    fault.in_lane(lane)
}

fn index(said: &str) -> Option<Fault> {
    let (index, rest) = said.strip_prefix(INDEX)?.split_once("] is outside of `")?;
    let (array, extents) = rest.split_once("`, whose extents are ")?;
    Some(Fault::Index { array: array.to_owned(), index: numbers(index)?, extents: numbers(extents)? })
}

fn extent(said: &str) -> Option<Fault> {
    let (extent, rest) = said.strip_prefix(EXTENT)?.split_once(" of `")?;
    let extent = extent.parse().ok()?;
    if let Some(array) = rest.strip_suffix("` is negative") {
        return Some(Fault::NegativeExtent { array: array.to_owned(), extent });
    }
    let (left, rest) = rest.split_once("` and extent ")?;
    let (right_extent, right) = rest.strip_suffix("` should be equal")?.split_once(" of `")?;
    let (left, right, right_extent) = (left.to_owned(), right.to_owned(), right_extent.parse().ok()?);
    Some(Fault::Sizes { left, left_extent: extent, right, right_extent })
}

fn numbers(text: &str) -> Option<Vec<i64>> {
    text.trim_matches(['[', ']']).split(", ").map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{DIVISION, Fault, in_lane, index_outside, negative_extent, of_message, own, unequal_extents};

    fn assertion(message: &str) -> Fault {
        Fault::Assertion { message: message.to_owned() }
    }

    #[test]
    fn checks_are_the_faults_that_they_look_for() {
        let said = |message: &str, numbers: &[i64]| match Fault::assertion(message, numbers) {
            Fault::Assertion { message } => of_message(&message),
            other => panic!("{other:?}"),
        };
        assert_eq!(said(&in_lane(DIVISION, 1), &[3]), Fault::DivisionByZero.in_lane(vec![3]));
        assert_eq!(said(DIVISION, &[]), Fault::DivisionByZero);
        let index = Fault::Index { array: "a".into(), index: vec![7], extents: vec![4] };
        assert_eq!(said(&in_lane(&index_outside("a"), 2), &[7, 4, 1, 2]), index.in_lane(vec![1, 2]));
        let negative = Fault::NegativeExtent { array: "a".into(), extent: -2 };
        assert_eq!(said(&in_lane(&negative_extent("a"), 1), &[-2, 5]), negative.in_lane(vec![5]));
        let unequal = Fault::Sizes { left: "a".into(), left_extent: 3, right: "b, c".into(), right_extent: 4 };
        assert_eq!(said(&in_lane(&unequal_extents("a", "b, c"), 1), &[3, 4, 0]), unequal.in_lane(vec![0]));
    }

    #[test]
    fn messages_of_a_program_are_its_own() {
        for message in [
            "boom",
            "division by zero",
            "division by zero, in lane 3",
            "boom, in lane 3",
            "index [1] is outside of `a`, whose extents are [1]",
            "extent -1 of `a` is negative",
            "\\",
            "a\\, in lane 3",
            "\\division by zero, in lane 3\\",
            ", in lane ",
            "",
        ] {
            assert_eq!(of_message(&own(message)), assertion(message), "{message}");
            let lane = own(message) + ", in lane 2";
            assert_eq!(of_message(&lane), assertion(message).in_lane(vec![2]), "{message}");
            let lanes = own(message) + ", in lane [2, 0]";
            assert_eq!(of_message(&lanes), assertion(message).in_lane(vec![2, 0]), "{message}");
        }
        assert_eq!(own("boom"), "boom");
    }
}
