//! The nest of a kernel: for each level its splits and its loops, from the outermost.

use std::collections::BTreeSet;

use fusebox_ir::{
    Action, Association, Kernel, ScatterOrder,
    analysis::kernels::{LongLevels, accumulators, in_ranges_apart_from, trip_count},
    association::{BLOCK, TILE},
};

use super::{
    Choice, Preferences, appends,
    at_once::AtOnce,
    builder::{Builder, Room, Trip},
    chains, copies,
    gang::{gang, gang_where_long, long_choices},
    partitions,
    rows::{Row, rows},
    runs,
    tile::Tile,
    together::Together,
};
use crate::{
    effects::effects,
    gangs::{gang_of_tiles, inside},
    nest::Gang,
    rows::may_be_by_elements,
    schedule::{Axis, By, Effects, Loop, Nest, Node, SplitBy},
    target::Cpu,
};

/// In what pieces a level may be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Any.
    Any,
    /// Multiples of so many steps.
    Steps(u32),
    /// The chunks of a scatter.
    Chunks,
}

/// Whether nodes say where the rest stands on every way; collects what is named.
fn has_rest(nodes: &[Node], named: &mut BTreeSet<u32>) -> bool {
    nodes.iter().fold(false, |before, node| {
        let here = match node {
            Node::Loop(each) => has_rest(&each.body, named),
            Node::Do(Effects::Rest) => true,
            Node::Do(Effects::Named(positions)) => {
                named.extend(positions);
                false
            }
            Node::Choose { then, otherwise, .. } => has_rest(then, named) & has_rest(otherwise, named),
        };
        before || here
    })
}

impl<'k> Builder<'k> {
    pub(super) fn on_cpu(
        (kernel, long_levels): (&'k Kernel, &'k LongLevels),
        cpu: &'k Cpu,
        preferences: Preferences,
        choices: &mut Vec<Choice>,
    ) -> Self {
        let gang = match preferences.gang {
            None => gang(kernel, cpu, choices),
            Some(None) => None,
            Some(Some((level, lanes))) => {
                Some(Gang { level, lanes, masked: gang_of_tiles(kernel) == Some((level, lanes)) })
            }
        };
        if gang.is_none() && preferences.gang.is_none() {
            choices.extend(long_choices((kernel, long_levels), cpu));
        }
        let at_once = gang.filter(|_| preferences.jam.is_none()).and_then(|gang| AtOnce::of(kernel, gang));
        let together = gang.filter(|_| at_once.is_none()).and_then(|gang| Together::of(kernel, cpu, gang, preferences));
        let tiled = |together: Together| {
            let gang = gang?;
            let mut long = rows(kernel, cpu, gang, preferences.rows).into_iter();
            let row = long.find(|row| together.fewer_than().is_none_or(|longer| row.fewer_than > longer))?;
            Tile::of(kernel, cpu, (gang, row), preferences)
        };
        let together = together.and_then(|own| if tiled(own).is_some() { own.beside_tiles() } else { Some(own) });
        choices.extend(together.map(|together| together.choice()));
        if let (Some(gang), None) = (gang, at_once) {
            // Shorter ones are folded together.
            let longer = together.and_then(|together| together.fewer_than()).unwrap_or(0);
            let rows = rows(kernel, cpu, gang, preferences.rows).into_iter().filter(|row| row.fewer_than > longer);
            choices.extend(rows.map(|row| row.choice(gang.level)));
        }
        Self {
            kernel,
            long_levels,
            machine: Room::Cores(cpu, gang),
            preferences,
            at_once,
            short: None,
            panels: None,
            count: None,
            long: None,
            interchanged: None,
            together,
            rows_together: false,
            longer_than: None,
            shorter_than: None,
            tile: None,
            gangs_of_columns: 1,
            least: 0,
            nest: Nest::default(),
        }
    }

    pub(super) fn build(mut self) -> Nest {
        if let Room::Cores(cpu, _) = self.machine
            && self.preferences.shared != Some(false)
            && self.preferences.interchanged != Some(true)
        {
            self.nest.forms.extend(partitions::form(self.kernel, cpu, self.preferences.partitioned));
        }
        self.nest.nodes = match self.short() {
            None => self.long_nest(),
            Some((gang, outer, fewer_than)) => {
                let least = self.together.map_or(fewer_than, |_| Together::least());
                let fewer_than = fewer_than.min(least);
                let level = gang.level as u32;
                self.short = Some((gang.level, fewer_than));
                self.machine.set_gang(outer);
                let mut then = self.packed();
                self.short = None;
                if let Some(outer) = outer.filter(|outer| self.may_be_short_too(gang, *outer)) {
                    then = self.both_short(gang, outer, then);
                }
                self.machine.set_gang(Some(gang));
                self.least = fewer_than;
                let otherwise = self.long_nest();
                vec![Node::Choose { level, fewer_than, then, otherwise }]
            }
        };
        let copies = copies::forms(self.kernel, &self.nest, self.preferences.copied);
        let runs = runs::forms(self.kernel, &self.nest, self.preferences.runs);
        let whole = appends::forms(self.kernel, &self.nest, self.preferences.whole);
        let chains = chains::forms(self.kernel, &self.nest, self.preferences.chains);
        let forms = copies.into_iter().chain(runs).chain(whole).chain(chains);
        self.nest.forms.extend(forms.filter(|_| matches!(self.machine, Room::Cores(..))));
        self.nest
    }

    /// All loops and statements, for any number of columns.
    pub(super) fn whole_nest(&mut self) -> Vec<Node> {
        let nodes = match self.unit() {
            _ if self.kernel.levels.is_empty() => Vec::new(),
            None => self.level(0, Axis(0), &Trip::default()),
            Some(unit) => self.shared(unit),
        };
        self.with_rest(nodes)
    }

    /// The outermost level, in pieces for threads; as a row where it has few steps, which are all in one piece.
    fn shared(&mut self, unit: Unit) -> Vec<Node> {
        let by = match unit {
            Unit::Any if self.preferences.by_elements != Some(false) && may_be_by_elements(self.kernel) => {
                SplitBy::Elements
            }
            Unit::Any => SplitBy::Shares(match self.gang().filter(|gang| gang.level == 0) {
                Some(gang) => gang.lanes * self.gangs_of_columns,
                None => self.steps_of_a_line(),
            }),
            Unit::Steps(steps) => SplitBy::Shares(steps),
            Unit::Chunks => SplitBy::Chunks,
        };
        let (pieces, steps) = self.split(Axis(0), by);
        let threads = |body: Vec<Node>| vec![Node::Loop(Loop::new(pieces, By::Threads, body))];
        let known = trip_count(&self.kernel.levels[0]);
        let row = self.row_of_outermost().filter(|row| known.is_none_or(|steps| steps < row.fewer_than.into()));
        let as_row = |row: Row| threads(vec![Node::Loop(row.along(steps, known.unwrap_or(0)))]);
        if let Some(row) = row.filter(|_| known.is_some()) {
            return as_row(row);
        }
        let otherwise = threads(self.level(0, steps, &Trip::default()));
        let Some(row) = row else { return otherwise };
        let then = as_row(row);
        let (then, otherwise) = (self.with_rest(then), self.with_rest(otherwise));
        vec![Node::Choose { level: 0, fewer_than: row.fewer_than, then, otherwise }]
    }

    /// Nodes, and behind them what has no place in them.
    pub(super) fn with_rest(&self, mut nodes: Vec<Node>) -> Vec<Node> {
        let mut named = BTreeSet::new();
        if !has_rest(&nodes, &mut named)
            && effects(self.kernel).any(|(position, _)| !named.contains(&(position as u32)))
        {
            nodes.push(Node::Do(Effects::Rest));
        }
        nodes
    }

    pub(super) fn gang(&self) -> Option<Gang> {
        match self.machine {
            Room::Cores(_, gang) => gang,
            Room::Thread => None,
        }
    }

    pub(super) fn split(&mut self, axis: Axis, by: SplitBy) -> (Axis, Axis) {
        self.nest.split(self.kernel.levels.len(), axis, by)
    }

    /// In what pieces the outermost level may be shared.
    fn unit(&self) -> Option<Unit> {
        let put_aside = self.nest.partitioned().map(|(statement, ..)| statement);
        in_ranges_apart_from(self.kernel, put_aside).ok().filter(|()| self.preferences.shared != Some(false))?;
        let statements = &self.kernel.statements;
        let order = |wanted: ScatterOrder| {
            statements.iter().any(|s| matches!(&s.action, Action::Scatter { order, .. } if *order == wanted))
        };
        if order(ScatterOrder::Chunks) {
            return Some(Unit::Chunks);
        }
        let direct = |tiles: bool| {
            statements.iter().any(|statement| match &statement.action {
                Action::Scan { .. } => tiles && statement.depth == 1,
                Action::Reduce { to, .. } => !tiles && *to == 0,
                _ => false,
            })
        };
        Some(if direct(true) {
            Unit::Steps(TILE as u32)
        } else if direct(false) {
            Unit::Steps(BLOCK as u32)
        } else {
            Unit::Any
        })
    }

    /// The loops of a level, over a part of it.
    pub(super) fn level(&mut self, level: usize, axis: Axis, trip: &Trip) -> Vec<Node> {
        if let Some(steps) = self.window(level) {
            let (pieces, steps) = self.split(Axis(level as u32 + 1), SplitBy::Steps(steps));
            self.interchanged = Some((level + 1, steps));
            let nodes = self.level(level, axis, trip);
            self.interchanged = None;
            return vec![Node::Loop(Loop::new(pieces, By::Serial, nodes))];
        }
        let direct = |statement: &fusebox_ir::Statement| statement.depth as usize == level + 1;
        let undecided = inside(self.kernel, level).find_map(|(_, statement)| match statement.action {
            Action::Reduce { to, association: Association::Ragged { least, .. }, .. }
                if to as usize == level && direct(statement) && !trip.decided.contains(&least) =>
            {
                Some(least)
            }
            _ => None,
        });
        if let Some(least) = undecided {
            let mut short = trip.clone();
            short.decided.insert(least);
            let long = short.clone();
            short.below = Some(short.below.unwrap_or(i64::MAX).min(least.into()));
            let then = self.level(level, axis, &short);
            let then = self.with_rest(then);
            let otherwise = self.long_level(level, axis, &Trip { least, ..long });
            return vec![Node::Choose { level: level as u32, fewer_than: least, then, otherwise }];
        }
        if let Some(rows) = self.rows_of_points(level) {
            return rows;
        }
        if !self.is_in_window(level)
            && let Some(row) = self.row(level, axis, trip).or_else(|| self.few(level, axis, trip))
        {
            return row;
        }
        let tiled = inside(self.kernel, level).any(|(_, statement)| {
            direct(statement) && matches!(statement.action, Action::Scan { association: Association::Tiles { .. }, .. })
        });
        let blocked = inside(self.kernel, level).any(|(position, statement)| match &statement.action {
            Action::Reduce { to, association, .. } => {
                *to as usize == level && direct(statement) && *association != Association::InOrder
            }
            Action::Scan { .. } => direct(statement) && accumulators(self.kernel, position).is_some(),
            _ => false,
        });
        let short = self.short.filter(|(own, _)| *own == level).map(|(_, than)| i64::from(than));
        let packed =
            self.panels.as_ref().filter(|panels| panels.level == level).map(|panels| i64::from(panels.fewer_than));
        let most =
            trip_count(&self.kernel.levels[level]).into_iter().chain(trip.below).chain(short).chain(packed).min();
        let longer = |than: i64| most.is_none_or(|steps| steps > than);
        let mut around = Vec::new();
        let mut steps = axis;
        for (wanted, by) in [(tiled, TILE), (blocked, BLOCK)] {
            if wanted && longer(by) {
                let (pieces, piece) = self.split(steps, SplitBy::Steps(by as u32));
                around.push(pieces);
                steps = piece;
            }
        }
        let blocks = self.tile.filter(|tile| blocked && steps != axis && tile.level + 2 == level);
        let mut nodes = match blocks {
            Some(tile) => vec![Node::Loop(tile.row.along(steps, 0))],
            None => self.steps(level, steps, trip),
        };
        for pieces in around.into_iter().rev() {
            nodes = vec![Node::Loop(Loop::new(pieces, By::Serial, nodes))];
        }
        if let Some(Node::Loop(outermost)) = nodes.first_mut() {
            outermost.pack = self.packed_before(level);
        }
        nodes
    }

    /// The loops of a level where it has as many steps as its ragged reduces ask for: these are interleaved there, and steps may be lanes.
    fn long_level(&mut self, level: usize, axis: Axis, trip: &Trip) -> Vec<Node> {
        let usual = (self.kernel, self.long_levels);
        let long = match self.machine {
            Room::Cores(cpu, None) if self.preferences.gang.is_none() => {
                gang_where_long((self.kernel, self.long_levels, cpu), level, trip.least)
            }
            _ => None,
        };
        if let Some((kernel, beside, gang)) = long {
            (self.kernel, self.long_levels) = (kernel, beside);
            self.machine.set_gang(Some(gang));
        }
        let nodes = self.level(level, axis, trip);
        let nodes = self.with_rest(nodes);
        if long.is_some() {
            (self.kernel, self.long_levels) = usual;
            self.machine.set_gang(None);
        }
        nodes
    }

    /// What is inside of a step of a level.
    pub(super) fn body(&mut self, level: usize) -> Vec<Node> {
        if inside(self.kernel, level).any(|(_, statement)| statement.depth as usize > level + 1) {
            let nodes = self.level(level + 1, self.axis_of(level + 1), &Trip::default());
            self.with_rest(nodes)
        } else {
            vec![Node::Do(Effects::Rest)]
        }
    }
}
