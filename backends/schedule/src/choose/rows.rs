//! Which levels run as rows where they are short, and in what gangs.

use fusebox_ir::{Action, Association, Kernel, analysis::kernels::trip_count, association::BLOCK};

use super::Choice;
use crate::{
    gangs::{inside, is_counted_before},
    rows::may_be_row,
    schedule::Gang,
    target::Cpu,
};

/// Lanes of the only gang of a row that is very short.
const FEW: u32 = 8;

/// A level of fewer steps than so many gangs has single steps, where it cannot be a row.
const FEW_GANGS: u32 = 4;

/// A way to run a level that has few steps: so many gangs in an iteration, of so many lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// It has fewer steps.
    pub(super) fewer_than: u32,
    /// Lanes of a gang; 1: single steps.
    pub(super) lanes: u32,
    /// Gangs of an iteration.
    pub(super) unroll: u32,
}

impl Row {
    /// Why there is this way.
    pub(super) fn choice(self, level: usize) -> Choice {
        let Self { fewer_than, lanes, unroll } = self;
        let about = format!("level {level} of fewer than {fewer_than} steps");
        if lanes == 1 {
            return Choice {
                about,
                chosen: "single steps".to_owned(),
                because: "what gangs need before they begin costs more than few steps".to_owned(),
                instead_of: vec!["gangs: most steps would be their remainder".to_owned()],
            };
        }
        Choice {
            about,
            chosen: format!("{unroll} masked gangs of {lanes}, with all accumulators in registers"),
            because: "how many steps it has is known at each point alone, and they may be few".to_owned(),
            instead_of: vec![
                "accumulators in scratch memory: to clear and to fold them costs more than few steps".to_owned(),
            ],
        }
    }
}

/// The ways to run the level across lanes as a row, from the shortest; none where its length is known before all levels, unless it is `wanted`.
pub(super) fn rows(kernel: &Kernel, cpu: &Cpu, gang: Gang, wanted: Option<bool>) -> Vec<Row> {
    let Gang { level, masked, .. } = gang;
    let known = trip_count(&kernel.levels[level]).is_some() || is_counted_before(kernel, level);
    if masked || wanted == Some(false) || known && wanted.is_none() {
        return Vec::new();
    }
    let mut rows = Vec::new();
    let mut add = |fewer_than: i64, lanes: u32, unroll: u32| {
        if fits(kernel, cpu, level, (lanes, unroll))
            && may_be_row(kernel, level, (lanes, unroll), Some(fewer_than - 1)).is_ok()
        {
            rows.push(Row { fewer_than: fewer_than as u32, lanes, unroll });
        }
    };
    add(i64::from(FEW) + 1, FEW, 1);
    if let Some(width) = width(kernel, level) {
        // Of the widest gangs that one vector fills.
        let lanes = (0..=gang.lanes.ilog2()).rev().map(|bits| 1 << bits);
        let lanes = lanes.filter(|&lanes| may_be_row(kernel, level, (lanes, width / lanes), Some(BLOCK)).is_ok());
        if let Some(lanes) = lanes.filter(|&lanes| lanes >= 2 && lanes <= width).max() {
            add(BLOCK + 1, lanes, width / lanes);
        }
    }
    let combines = inside(kernel, level)
        .any(|(_, statement)| matches!(statement.action, Action::Reduce { .. } | Action::Scan { .. }));
    if rows.is_empty() && !combines {
        rows.push(Row { fewer_than: FEW_GANGS * gang.lanes, lanes: 1, unroll: 1 });
    }
    rows
}

/// How many accumulators each reduce of a level has, if all have as many.
fn width(kernel: &Kernel, level: usize) -> Option<u32> {
    let mut widths = inside(kernel, level).filter_map(|(_, statement)| match statement.action {
        Action::Reduce { association: Association::Interleaved { lanes }, .. } => Some(lanes),
        _ => None,
    });
    let first = widths.next()?;
    widths.all(|other| other == first).then_some(first)
}

/// Whether all accumulators of an iteration fit the registers that there are for them.
fn fits(kernel: &Kernel, cpu: &Cpu, level: usize, (lanes, unroll): (u32, u32)) -> bool {
    let registers = inside(kernel, level).map(|(_, statement)| match &statement.action {
        Action::Reduce { combine, values, .. } => {
            let types = combine.params.iter().take(values.len());
            types.map(|param| cpu.registers_of(lanes, param.ty.bytes()) * unroll).sum()
        }
        _ => 0,
    });
    registers.sum::<u32>() <= cpu.accumulator_registers()
}
