//! What the text of a schedule calls axes and statements.

use std::collections::HashMap;

use fusebox_ir::{
    Action, Kernel, KernelArrayId, Local, Statement,
    association::{BLOCK, TILE},
    text::{KernelNames, kernel_names},
};

use crate::schedule::{Axis, SplitBy};

/// The names of one kernel and its axes; names of axes come to it as splits are met.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) axes: Vec<String>,
    /// By position.
    pub(crate) statements: Vec<String>,
    pub(crate) arrays: Vec<String>,
}

impl Labels {
    pub(crate) fn of(kernel: &Kernel) -> Self {
        let names = kernel_names(kernel);
        let axes = kernel.levels.iter().map(|level| name_of(&names, &level.index)).collect();
        let mut taken = HashMap::new();
        let statements =
            (kernel.statements.iter()).map(|statement| unique(&mut taken, &base(&names, statement))).collect();
        Self { axes, statements, arrays: names.arrays }
    }

    pub(crate) fn axis(&self, axis: Axis) -> String {
        self.axes.get(axis.0 as usize).cloned().unwrap_or_else(|| format!("axis{}", axis.0))
    }

    pub(crate) fn statement(&self, position: u32) -> String {
        self.statements.get(position as usize).cloned().unwrap_or_else(|| format!("statement{position}"))
    }

    pub(crate) fn array(&self, array: KernelArrayId) -> String {
        self.arrays.get(array.index()).cloned().unwrap_or_else(|| array.to_string())
    }

    /// Names the two axes that a split of a part of a level makes.
    pub(crate) fn name_split(&mut self, level: usize, by: SplitBy) -> (String, String) {
        let level = self.axes.get(level).cloned().unwrap_or_else(|| "axis".to_owned());
        let piece = match by {
            SplitBy::Shares(_) | SplitBy::Elements => format!("{level}_share"),
            SplitBy::Chunks => format!("{level}_chunk"),
            SplitBy::Steps(steps) if i64::from(steps) == BLOCK => format!("{level}_block"),
            SplitBy::Steps(steps) if i64::from(steps) == TILE => format!("{level}_tile"),
            SplitBy::Steps(steps) => format!("{level}_{steps}"),
        };
        let free = |name: &str| !self.axes.iter().any(|own| own == name);
        let mut own = piece.clone();
        let mut number = 1;
        while !free(&own) || !free(&format!("{own}s")) {
            number += 1;
            own = format!("{piece}.{number}");
        }
        self.axes.extend([format!("{own}s"), own.clone()]);
        (format!("{own}s"), own)
    }
}

fn name_of(names: &KernelNames, local: &Local) -> String {
    names.locals.get(&local.id).cloned().unwrap_or_else(|| local.id.to_string())
}

/// What a statement would be called if nothing else was called so.
fn base(names: &KernelNames, statement: &Statement) -> String {
    let array = |id: KernelArrayId| names.arrays.get(id.index()).cloned().unwrap_or_else(|| id.to_string());
    match &statement.action {
        Action::Check { .. } => "check".to_owned(),
        Action::Store { array: id, .. } => array(*id),
        Action::Append { count, arrays, .. } => array(arrays.first().copied().unwrap_or(*count)),
        Action::Scatter { arrays, .. } => arrays.first().map_or_else(|| "scatter".to_owned(), |&id| array(id)),
        _ => statement.results().first().map_or_else(|| "statement".to_owned(), |local| name_of(names, local)),
    }
}

fn unique(taken: &mut HashMap<String, u32>, base: &str) -> String {
    let number = taken.entry(base.to_owned()).or_insert(0);
    *number += 1;
    if *number == 1 { base.to_owned() } else { format!("{base}.{number}") }
}
