//! Why loops are as they are: what threads take, what is done with steps that fill no gang, with borders, and in launches out of cache. Each part of the
//! scheduler says this by the loops that it makes, so that it is read from them.

use fusebox_ir::{
    Kernel,
    association::{BLOCK, TILE},
};

use super::Choice;
use crate::{
    labels::Labels,
    schedule::{By, Loop, Nest, Node, OutOfCache, Remainder, SplitBy},
};

/// What was chosen for the loops of a nest on a processor, for people: what several loops have alike is said once.
pub(super) fn choices(nest: &Nest, kernel: &Kernel) -> Vec<Choice> {
    let labels = Labels::of(kernel);
    let mut details = Details { nest, kernel, labels, found: Vec::new() };
    details.threads();
    details.nodes(&nest.nodes);
    details.found
}

struct Details<'a> {
    nest: &'a Nest,
    kernel: &'a Kernel,
    labels: Labels,
    found: Vec<Choice>,
}

impl Details<'_> {
    fn say(&mut self, about: String, chosen: impl Into<String>, because: &str, instead_of: &str) {
        let (chosen, because, instead_of) = (chosen.into(), because.to_owned(), vec![instead_of.to_owned()]);
        let choice = Choice { about, chosen, because, instead_of };
        if !self.found.contains(&choice) {
            self.found.push(choice);
        }
    }

    /// In what pieces threads take the outermost level.
    fn threads(&mut self) {
        for split in &self.nest.splits {
            let about = "threads".to_owned();
            match split.by {
                SplitBy::Elements => self.say(
                    about,
                    "as many elements each",
                    "rows have different lengths, and an array says where they begin",
                    "as many rows each: who has the long ones is waited for",
                ),
                SplitBy::Chunks => self.say(
                    about,
                    "chunks of the scatter",
                    "the kernel says which elements are combined with which, and chunks are combined by themselves",
                    "other pieces: they would be combined in another order",
                ),
                SplitBy::Shares(steps) if i64::from(steps) == BLOCK || i64::from(steps) == TILE => self.say(
                    about,
                    format!("whole pieces of {steps} steps"),
                    "the kernel says which elements are combined with which, and these are combined by themselves",
                    "other pieces: they would be combined in another order",
                ),
                SplitBy::Shares(steps) if steps > 1 && self.nest.goes_over_lines_again(self.kernel.levels.len()) => {
                    self.say(
                        about,
                        format!("shares of {steps} steps and multiples, or as many for each thread"),
                        "so many load from one line of the caches",
                        "shares of any length: lines are loaded for several of them",
                    );
                }
                SplitBy::Shares(steps) if steps > 1 => self.say(
                    about,
                    format!("shares of whole gangs of {steps}"),
                    "what is left of a share would be less than a gang",
                    "shares of any length",
                ),
                SplitBy::Shares(_) | SplitBy::Steps(_) => {}
            }
        }
    }

    fn nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::Loop(each) => {
                    self.one(each);
                    self.nodes(&each.body);
                }
                Node::Do(_) => {}
                Node::Choose { level, fewer_than, then, otherwise } => {
                    self.other_gang((*level, *fewer_than), then, otherwise);
                    self.nodes(then);
                    self.nodes(otherwise);
                }
            }
        }
    }

    /// Another level across lanes where one has few steps.
    fn other_gang(&mut self, (level, fewer_than): (u32, u32), then: &[Node], otherwise: &[Node]) {
        let levels = self.kernel.levels.len();
        let gang = |nodes: &[Node]| self.nest.gang_of(levels, nodes);
        let (Some(few), Some(many)) = (gang(then), gang(otherwise)) else { return };
        if few.level != many.level {
            self.say(
                format!("level {level} of fewer than {fewer_than} steps"),
                format!("lanes along level {}", few.level),
                "gangs along it would be mostly empty",
                "the gangs of longer ones",
            );
        }
    }

    fn one(&mut self, each: &Loop) {
        let Some(level) = self.nest.level_of(self.kernel.levels.len(), each.axis) else { return };
        if let By::Abreast(points) = each.by {
            self.say(
                format!("steps of level {level}"),
                format!("{points} abreast where their rows are short"),
                "each combines one element after the other, and the others go on while one waits for that",
                "one after the other",
            );
        }
        if !matches!(each.by, By::Lanes(_)) {
            return;
        }
        let about = format!("the rest of level {level}");
        match each.remainder {
            Remainder::Overlapped => self.say(
                about,
                "overlapped, a gang that begins earlier",
                "its steps may run twice, and take less time as a gang than one by one",
                "single steps",
            ),
            Remainder::Masked => self.say(
                about,
                "masked, a gang of which some lanes do nothing",
                "what it combines, or where it appends, is decided for whole gangs, or there are few of them",
                "single steps: each takes about as long as a gang",
            ),
            Remainder::Scalar => {}
        }
        if each.unroll > 1 {
            self.say(
                format!("gangs of level {level}"),
                format!("{} in an iteration", each.unroll),
                "their accumulators are in registers, and none waits for another",
                "one: each would wait for the one before it",
            );
        }
        if each.border {
            self.say(
                format!("the border of level {level}"),
                "apart, before and behind the gangs",
                "gangs inside of it need not ask whether an index is outside",
                "in gangs that ask: all of them would",
            );
        }
        if let Some(out) = &each.out_of_cache {
            self.out_of_cache(level, out);
        }
    }

    fn out_of_cache(&mut self, level: usize, out: &OutOfCache) {
        let names = |arrays: &[fusebox_ir::KernelArrayId]| {
            arrays.iter().map(|&array| self.labels.array(array)).collect::<Vec<_>>().join(", ")
        };
        let mut chosen = Vec::new();
        if !out.prefetch.is_empty() {
            chosen.push(format!("prefetch {}", names(&out.prefetch)));
        }
        if !out.past_caches.is_empty() {
            chosen.push(format!("stream {}", names(&out.past_caches)));
        }
        self.say(
            format!("level {level} out of cache"),
            chosen.join(", and "),
            "its steps go through memory and do little else, and what is stored past the caches need not be loaded before",
            "loads and stores as in the caches",
        );
    }
}
