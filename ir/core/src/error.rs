//! Run-time errors: what may go wrong inside a valid program, the same on every backend.

use crate::{Failure, FailureKind, Place, ScalarOperand};

/// A run-time error: which operation, where, and what happened.
#[derive(Clone, PartialEq, thiserror::Error)]
#[error("{}{operation}: {fault}", at(.place))]
pub struct RunError {
    /// The operation, and the name of its first result in the source: `fold \`s\``.
    pub operation: String,
    /// Where it stands in the source.
    pub place: Place,
    /// What happened.
    pub fault: Fault,
}

crate::debug_is_message!(struct RunError { operation, place, fault });

fn at(place: &Place) -> String {
    if place.is_unknown() { String::new() } else { format!("{place}: ") }
}

/// What happened.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// An index outside of an array.
    #[error("index {index:?} is outside of `{array}`, whose extents are {extents:?}")]
    Index {
        /// The array's name.
        array: String,
        /// As written: one a dimension, or one row-major position.
        index: Vec<i64>,
        /// As many as the array has dimensions.
        extents: Vec<i64>,
    },
    /// An extent below zero.
    #[error("extent {extent} of `{array}` is negative")]
    NegativeExtent {
        /// The array's name.
        array: String,
        /// The extent.
        extent: i64,
    },
    /// Extents that should agree.
    #[error("{}", sizes_text(left, *left_extent, right, *right_extent))]
    Sizes {
        /// An array's name.
        left: String,
        /// Its extent (of a reshape: its size).
        left_extent: i64,
        /// The other's name; of a number that is declared, the number.
        right: String,
        /// Its extent.
        right_extent: i64,
    },
    /// An operation that runs over more than an array has.
    #[error("extent {extent} of `{result}` is more than the {available} of `{array}`")]
    TooFew {
        /// What should be made.
        result: String,
        /// Its extent.
        extent: i64,
        /// What is read.
        array: String,
        /// Its extent.
        available: i64,
    },
    /// Integer division or remainder by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// `fold1` of an empty row or segment.
    #[error("row {row} of `{array}` is empty, and there is no seed")]
    EmptyFold {
        /// The array's name.
        array: String,
        /// The row-major position of the row, or the segment.
        row: i64,
    },
    /// Offsets of segments that do not start at 0, fall, or do not end at the extent.
    #[error("offset {position} of `{offsets}` is {value}: offsets rise from 0 to the extent, {extent}")]
    Offsets {
        /// The name of the array of offsets.
        offsets: String,
        /// Which of them.
        position: i64,
        /// Its value.
        value: i64,
        /// The extent of what is cut into segments.
        extent: i64,
    },
    /// No offsets at all.
    #[error("`{offsets}` is empty: there is one offset more than segments")]
    NoOffsets {
        /// The name of the array of offsets.
        offsets: String,
    },
    /// Two elements with one target where targets were promised to be distinct.
    #[error("target {index:?} is met twice, although `unique` is promised")]
    NotUnique {
        /// The target.
        index: Vec<i64>,
    },
    /// A failed `assert`.
    #[error("assertion failed: {message}")]
    Assertion {
        /// Its message.
        message: String,
    },
    /// Any of these, in a lane of nests.
    #[error("{fault}, in lane {}", lane_text(lane))]
    InLane {
        /// What happened.
        fault: Box<Fault>,
        /// The indices of the nests around, the outermost first.
        lane: Vec<i64>,
    },
    /// Extents whose product overflows, or that no memory holds.
    #[error("`{array}` of extents {extents:?} does not fit in memory")]
    TooLarge {
        /// The array's name.
        array: String,
        /// Its extents.
        extents: Vec<i64>,
    },
}

fn sizes_text(left: &str, left_extent: i64, right: &str, right_extent: i64) -> String {
    if right == right_extent.to_string() {
        return format!("extent {left_extent} of `{left}` should be {right_extent}");
    }
    format!("extent {left_extent} of `{left}` and extent {right_extent} of `{right}` should be equal")
}

fn lane_text(lane: &[i64]) -> String {
    match lane {
        [one] => one.to_string(),
        lane => format!("{lane:?}"),
    }
}

impl Fault {
    /// The fault, as one in a lane of nests; outside of nests, where there are no indices, as it is.
    pub fn in_lane(self, lane: Vec<i64>) -> Self {
        if lane.is_empty() { self } else { Self::InLane { fault: Box::new(self), lane } }
    }

    /// A failed `assert` whose message says numbers, each in the place of a `{}`.
    pub fn assertion(message: &str, shown: &[i64]) -> Self {
        let (mut said, mut rest) = (String::new(), message);
        for number in shown {
            let Some((before, after)) = rest.split_once("{}") else { break };
            said.push_str(before);
            said.push_str(&number.to_string());
            rest = after;
        }
        said.push_str(rest);
        Self::Assertion { message: said }
    }
}

impl Failure {
    /// The error that a failed check is, by the numbers of its operands, which are asked for in the order of [`FailureKind::operands`].
    pub fn error(&self, mut number: impl FnMut(&ScalarOperand) -> i64) -> RunError {
        let mut all = |operands: &[ScalarOperand]| operands.iter().map(&mut number).collect::<Vec<i64>>();
        let fault = match &self.fault {
            FailureKind::Index { array, index, extents } => {
                Fault::Index { array: array.clone(), index: all(index), extents: all(extents) }
            }
            FailureKind::NegativeExtent { array, extent } => {
                Fault::NegativeExtent { array: array.clone(), extent: number(extent) }
            }
            FailureKind::DivisionByZero => Fault::DivisionByZero,
            FailureKind::EmptyFold { array, row } => Fault::EmptyFold { array: array.clone(), row: number(row) },
            FailureKind::Offsets { offsets, position, value, extent } => Fault::Offsets {
                offsets: offsets.clone(),
                position: number(position),
                value: number(value),
                extent: number(extent),
            },
            FailureKind::NoOffsets { offsets } => Fault::NoOffsets { offsets: offsets.clone() },
            FailureKind::Assertion { message, shown } => Fault::assertion(message, &all(shown)),
            FailureKind::TooLarge { array, extents } => Fault::TooLarge { array: array.clone(), extents: all(extents) },
        };
        RunError { operation: self.operation.clone(), place: self.place.clone(), fault }
    }
}
