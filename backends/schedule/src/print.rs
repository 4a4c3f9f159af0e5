//! Schedules as text, for people.

use std::fmt::Write;

use fusebox_ir::{Kernel, KernelArrayId};

use crate::{
    form::Form,
    labels::Labels,
    schedule::{By, Effects, Guard, Loop, Nest, Node, OutOfCache, Remainder, Schedule, SplitBy},
};

impl Schedule {
    /// The schedule of a kernel as text, which [`Schedule::parse`] reads again. The names are those of the kernel's text.
    pub fn to_text(&self, kernel: &Kernel) -> String {
        let mut text = Text { out: String::new(), indent: 0, labels: Labels::of(kernel), levels: kernel.levels.len() };
        text.open(&format!("schedule {:?} for {}", kernel.name.0, self.target));
        for version in &self.versions {
            let guards: Vec<String> = version.when.iter().map(|guard| text.guard(guard)).collect();
            let when = if guards.is_empty() { String::new() } else { format!(" when {}", guards.join(" and ")) };
            let narrow = if version.narrow { " narrow" } else { "" };
            text.open(&format!("version{when}{narrow}"));
            text.nest(&version.nest);
            if let Some(totals) = &version.totals {
                text.open("totals");
                text.nest(totals);
                text.close();
            }
            text.close();
        }
        text.close();
        text.out
    }
}

struct Text {
    out: String,
    indent: usize,
    labels: Labels,
    levels: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn open(&mut self, line: &str) {
        self.line(&format!("{line} {{"));
        self.indent += 1;
    }

    fn close(&mut self) {
        self.indent -= 1;
        self.line("}");
    }

    fn guard(&self, guard: &Guard) -> String {
        format!("{} == {}", self.labels.axis(crate::schedule::Axis(guard.level)), guard.steps)
    }

    fn nest(&mut self, nest: &Nest) {
        // Names of axes are those of this nest.
        self.labels.axes.truncate(self.levels);
        for split in &nest.splits {
            let level = nest.level_of(self.levels, split.axis).unwrap_or(usize::MAX);
            let from: Vec<String> = (0..=split.more.min(self.levels as u32))
                .map(|more| self.labels.axis(crate::schedule::Axis(split.axis.0.saturating_add(more))))
                .collect();
            let from = from.join(", ");
            let (pieces, steps) = self.labels.name_split(level, split.by);
            let by = match split.by {
                SplitBy::Steps(steps) => steps.to_string(),
                SplitBy::Shares(unit) => format!("shares of {unit}"),
                SplitBy::Elements => "elements".to_owned(),
                SplitBy::Chunks => "chunks".to_owned(),
            };
            self.line(&format!("split {from} by {by} -> {pieces}, {steps}"));
        }
        for form in &nest.forms {
            match form {
                Form::Unrolled { statement, turns } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("unroll {name} {turns}"));
                }
                Form::Partitioned { statement, targets, from } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("partition {name} by {targets} from {from}"));
                }
                Form::Copied { statement, targets } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("copy {name} {targets}"));
                }
                Form::Runs { statement } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("runs {name}"));
                }
                Form::Whole { statement } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("whole {name}"));
                }
                Form::Chain { statement } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("chain {name}"));
                }
                Form::Private { statement, cells } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("private {name} {cells}"));
                }
                Form::Staged { statement } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("staged {name}"));
                }
                Form::Packed { statement } => {
                    let name = self.labels.statement(*statement);
                    self.line(&format!("packed {name}"));
                }
            }
        }
        self.nodes(&nest.nodes);
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Loop(each) => {
                    let head = self.head(each);
                    self.open(&head);
                    self.nodes(&each.body);
                    self.close();
                }
                Node::Do(Effects::Rest) => self.line("do *"),
                Node::Do(Effects::Named(positions)) => {
                    let names: Vec<String> =
                        positions.iter().map(|&position| self.labels.statement(position)).collect();
                    self.line(&format!("do {}", names.join(", ")));
                }
                Node::Choose { level, fewer_than, then, otherwise } => {
                    let level = self.labels.axis(crate::schedule::Axis(*level));
                    self.open(&format!("choose when {level} < {fewer_than}"));
                    self.nodes(then);
                    self.indent -= 1;
                    self.open("} else");
                    self.nodes(otherwise);
                    self.close();
                }
            }
        }
    }

    fn head(&self, each: &Loop) -> String {
        let mut head = format!("loop {}", self.labels.axis(each.axis));
        match each.by {
            By::Serial => {}
            By::Abreast(points) => _ = write!(head, " abreast({points})"),
            By::Threads => head.push_str(" threads"),
            By::Lanes(lanes) => _ = write!(head, " lanes({lanes})"),
            By::Blocks => head.push_str(" blocks"),
            By::BlockThreads(threads) => _ = write!(head, " block_threads({threads})"),
            By::GridThreads(threads) => _ = write!(head, " grid_threads({threads})"),
            By::Warps(warps) => _ = write!(head, " warps({warps})"),
            By::WarpThreads => head.push_str(" warp_threads"),
        }
        if each.unroll > 1 {
            _ = write!(head, " unroll {}", each.unroll);
        }
        if let Some(most) = each.up_to {
            _ = write!(head, " up to {most}");
        }
        if each.points > 1 {
            _ = write!(head, " points {}", each.points);
        }
        if each.first_whole {
            head.push_str(", first whole");
        }
        match each.remainder {
            Remainder::Scalar => {}
            Remainder::Masked => head.push_str(", remainder masked"),
            Remainder::Overlapped => head.push_str(", remainder overlapped"),
        }
        if each.border {
            head.push_str(", border apart");
        }
        if !each.pack.is_empty() {
            let names: Vec<String> = each.pack.iter().map(|&position| self.labels.statement(position)).collect();
            _ = write!(head, ", pack {}", names.join(" and "));
        }
        if let Some(out) = &each.out_of_cache {
            let list = |arrays: &[KernelArrayId]| {
                arrays.iter().map(|&array| self.labels.array(array)).collect::<Vec<_>>().join(", ")
            };
            head.push_str(", out of cache");
            if !out.prefetch.is_empty() {
                _ = write!(head, " prefetch {}", list(&out.prefetch));
            }
            if out.ahead != OutOfCache::AHEAD {
                _ = write!(head, " ahead {}", out.ahead);
            }
            if !out.past_caches.is_empty() {
                _ = write!(head, " stream {}", list(&out.past_caches));
            }
        }
        head
    }
}
