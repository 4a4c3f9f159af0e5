//! How much work the statements of a kernel are estimated to be, by what its code does of them at once.

use fusebox_ir::{
    Action, Association, Kernel, Statement,
    analysis::{
        kernels::{AcrossLanes, Lanes},
        work, work_of_statement,
    },
};
use fusebox_schedule::{Gang, Schedule, Target};

/// Parts of a nanosecond in which estimates are. A unit of work ([`fusebox_ir::analysis::work_of_statement`]) on a whole vector takes 64 of them, and
/// one lane of a byte, of 64 in a vector, takes one.
pub(crate) const PARTS_OF_NS: u64 = 128;

/// Parts that a unit of work takes on a whole vector.
const VECTOR: u64 = 64;

/// Parts that it takes on a single value, and on a lane that is apart from others in memory.
const SINGLE: u64 = VECTOR / 2;
const APART: u64 = VECTOR / 4;

/// The depth of each statement, and the estimated time of one point of it, in parts of a nanosecond: two instructions a nanosecond, on
/// vectors inside of the level across lanes, and on single values elsewhere, and where lanes are apart in memory.
pub(crate) fn statements(kernel: &Kernel, gang: Option<Gang>, schedule: Option<&Schedule>) -> Vec<(u32, u64)> {
    let target = schedule.and_then(|schedule| Target::named(&schedule.target));
    let vector = target.and_then(|target| Some(target.cpu()?.vector_bytes)).unwrap_or(16);
    let lanes = gang.map(|gang| (gang.level, Lanes::of(kernel, gang.level)));
    let one = |statement: &Statement| {
        let in_gangs = lanes.as_ref().filter(|(level, _)| statement.depth as usize > *level);
        let share = in_gangs.map_or(SINGLE, |(_, lanes)| {
            let position = statement.action.map().map(|(_, map)| lanes.position(map));
            match position {
                None | Some(AcrossLanes::Uniform | AcrossLanes::Linear(Some(1))) => {
                    VECTOR * bytes(kernel, statement) / u64::from(vector)
                }
                Some(_) => APART,
            }
        });
        (statement.depth, (work_of_statement(statement) + more_of_scan(statement)) * share.clamp(1, VECTOR))
    };
    kernel.statements.iter().map(one).collect()
}

/// What a gang of a scan does beside combining once: it combines lanes that are 1, 2, 4, ... apart, and then what ran up before the gang.
fn more_of_scan(statement: &Statement) -> u64 {
    match &statement.action {
        Action::Scan { association: Association::Tiles { lanes, .. }, combine, .. } => {
            work(combine) * u64::from(lanes.max(&1).ilog2())
        }
        _ => 0,
    }
}

/// Bytes of what a statement makes or stores, of the widest component.
fn bytes(kernel: &Kernel, statement: &Statement) -> u64 {
    let arrays: &[_] = match &statement.action {
        Action::Store { array, .. } => std::slice::from_ref(array),
        Action::Scatter { arrays, .. } | Action::Append { arrays, .. } => arrays,
        _ => &[],
    };
    let stored = arrays.iter().map(|array| kernel.arrays[array.index()].element.bytes());
    stored.chain(statement.results().into_iter().map(|result| result.ty.bytes())).max().unwrap_or(1) as u64
}
