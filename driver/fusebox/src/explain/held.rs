//! How flattening holds what is in the lanes of nests.

use fusebox_flattening::analysis::{Line, Representation};
use serde::Serialize;

/// How a value of a nested program is held once the program is flat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Held {
    /// The value's name.
    pub name: String,
    /// The operation that makes it.
    pub operation: &'static str,
    /// Where that stands in the source; empty where unknown.
    pub place: String,
    /// How many nests are around it.
    pub depth: usize,
    /// `avoided`, `regular`, `irregular` or `alone`.
    pub representation: &'static str,
    /// Why, in words.
    pub why: String,
}

/// Representations, and what they mean, in the order of a legend.
pub(super) const LEGEND: [(&str, &str); 4] = [
    ("avoided", "the same in all lanes: computed once"),
    ("regular", "the same extents in all lanes: a plain array with dimensions for the lanes"),
    ("irregular", "extents that differ from lane to lane: all elements one after the other, with offsets"),
    ("alone", "of a nest whose lanes run one at a time, each as a program of its own"),
];

/// What flattening says of each value in the nests of a program, in order.
pub(super) fn held(lines: &[Line]) -> Vec<Held> {
    let lines = lines.iter();
    lines
        .map(|line| Held {
            name: line.name.clone(),
            operation: line.operation,
            place: line.place.to_string(),
            depth: line.depth,
            representation: match line.representation {
                Representation::Avoided => "avoided",
                Representation::Regular => "regular",
                Representation::Irregular => "irregular",
                Representation::Alone => "alone",
            },
            why: line.why.clone(),
        })
        .collect()
}
