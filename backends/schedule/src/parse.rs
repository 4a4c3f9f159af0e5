//! Schedules from text.

use fusebox_ir::{Kernel, KernelArrayId};

use crate::{
    form::Form,
    labels::Labels,
    schedule::{Axis, By, Effects, Guard, Loop, Nest, Node, OutOfCache, Remainder, Schedule, Split, SplitBy, Version},
    sorts::Sorts,
    strips::Strips,
    tokens::{ParseError, Token, Tokens},
};

/// Loops and branches inside of each other, at most.
const MOST_NESTED: usize = 64;

impl Schedule {
    /// Reads the schedule of a kernel: the form that [`Schedule::to_text`] gives. Axes that splits make may have any names.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place. Whether the schedule is legal, [`crate::check`] says.
    pub fn parse(text: &str, kernel: &Kernel) -> Result<Self, ParseError> {
        let mut tokens = Tokens::new(text);
        let (_, target) = head(&mut tokens)?;
        let schedule = versions(&mut tokens, kernel, target)?;
        tokens.end()?;
        Ok(schedule)
    }

    /// Reads several, one behind the other; `find` has the kernel of a name (in quotes) and a target. Strips and sorts may stand among
    /// them, once each.
    pub(crate) fn parse_all<'k>(
        text: &str,
        mut find: impl FnMut(&str, &str) -> Option<&'k Kernel>,
        (strips, sorts): (&mut Option<Strips>, &mut Option<Sorts>),
    ) -> Result<Vec<(&'k Kernel, Self)>, ParseError> {
        let mut tokens = Tokens::new(text);
        let mut found = Vec::new();
        while tokens.end().is_err() {
            if tokens.takes_word("strips") {
                if strips.is_some() {
                    return Err(tokens.before("strips stand here a second time".to_owned()));
                }
                *strips = Some(Strips::parse(&mut tokens)?);
                continue;
            }
            if tokens.takes_word("sorts") {
                if sorts.is_some() {
                    return Err(tokens.before("sorts stand here a second time".to_owned()));
                }
                *sorts = Some(Sorts::parse(&mut tokens)?);
                continue;
            }
            let (name, target) = head(&mut tokens)?;
            let Some(kernel) = find(&name, &target) else {
                return Err(tokens.before(format!("the plan has no (other) kernel {name} to schedule for {target}")));
            };
            found.push((kernel, versions(&mut tokens, kernel, target)?));
        }
        Ok(found)
    }
}

/// The kernel's name in quotes, and the target's.
fn head(tokens: &mut Tokens<'_>) -> Parsed<(String, String)> {
    tokens.word("schedule")?;
    let name = tokens.string()?;
    tokens.word("for")?;
    Ok((name, tokens.name("the name of a target")?))
}

fn versions(tokens: &mut Tokens<'_>, kernel: &Kernel, target: String) -> Parsed<Schedule> {
    tokens.sign('{')?;
    let mut parser = Parser { tokens, labels: Labels::of(kernel), levels: kernel.levels.len() };
    let mut versions = Vec::new();
    while !parser.tokens.takes_sign('}') {
        versions.push(parser.version()?);
    }
    Ok(Schedule { target, versions })
}

struct Parser<'t, 's> {
    tokens: &'t mut Tokens<'s>,
    labels: Labels,
    levels: usize,
}

type Parsed<T> = Result<T, ParseError>;

impl Parser<'_, '_> {
    fn version(&mut self) -> Parsed<Version> {
        self.tokens.word("version")?;
        let mut when = Vec::new();
        if self.tokens.takes_word("when") {
            loop {
                when.push(self.guard()?);
                if !self.tokens.takes_word("and") {
                    break;
                }
            }
        }
        let narrow = self.tokens.takes_word("narrow");
        self.tokens.sign('{')?;
        let nest = self.nest()?;
        let mut totals = None;
        if self.tokens.takes_word("totals") {
            self.tokens.sign('{')?;
            totals = Some(self.nest()?);
            self.tokens.sign('}')?;
        }
        self.tokens.sign('}')?;
        Ok(Version { when, narrow, nest, totals })
    }

    fn guard(&mut self) -> Parsed<Guard> {
        let level = self.level()?;
        self.tokens.sign('=')?;
        self.tokens.sign('=')?;
        Ok(Guard { level, steps: self.tokens.number()? })
    }

    /// Splits, then nodes, up to `totals` or a closing brace.
    fn nest(&mut self) -> Parsed<Nest> {
        self.labels.axes.truncate(self.levels);
        let mut nest = Nest::default();
        while self.tokens.takes_word("split") {
            let axis = self.axis()?;
            let mut more = 0;
            while self.tokens.takes_sign(',') {
                more += 1;
                if self.axis()? != Axis(axis.0 + more) {
                    return Err(self.tokens.before("levels are split together in their order".to_owned()));
                }
            }
            self.tokens.word("by")?;
            let by = if self.tokens.takes_word("shares") {
                self.tokens.word("of")?;
                SplitBy::Shares(self.tokens.small()?)
            } else if self.tokens.takes_word("elements") {
                SplitBy::Elements
            } else if self.tokens.takes_word("chunks") {
                SplitBy::Chunks
            } else {
                SplitBy::Steps(self.tokens.small()?)
            };
            self.tokens.sign('-')?;
            self.tokens.sign('>')?;
            for separator in [Some(','), None] {
                let name = self.tokens.name("a name for an axis")?;
                if self.labels.axes.contains(&name) {
                    return Err(self.tokens.before(format!("there is an axis `{name}` already")));
                }
                self.labels.axes.push(name);
                if let Some(separator) = separator {
                    self.tokens.sign(separator)?;
                }
            }
            nest.splits.push(Split { axis, more, by });
        }
        loop {
            nest.forms.push(if self.tokens.takes_word("unroll") {
                Form::Unrolled { statement: self.statement()?, turns: self.tokens.small()? }
            } else if self.tokens.takes_word("partition") {
                let statement = self.statement()?;
                self.tokens.word("by")?;
                let targets = self.tokens.small()?;
                self.tokens.word("from")?;
                Form::Partitioned { statement, targets, from: self.tokens.bytes()? }
            } else if self.tokens.takes_word("copy") {
                Form::Copied { statement: self.statement()?, targets: self.tokens.small()? }
            } else if self.tokens.takes_word("runs") {
                Form::Runs { statement: self.statement()? }
            } else if self.tokens.takes_word("whole") {
                Form::Whole { statement: self.statement()? }
            } else if self.tokens.takes_word("chain") {
                Form::Chain { statement: self.statement()? }
            } else if self.tokens.takes_word("private") {
                Form::Private { statement: self.statement()?, cells: self.tokens.small()? }
            } else if self.tokens.takes_word("packed") {
                Form::Packed { statement: self.statement()? }
            } else if self.tokens.takes_word("staged") {
                Form::Staged { statement: self.statement()? }
            } else {
                break;
            });
        }
        nest.nodes = self.nodes(0)?;
        Ok(nest)
    }

    fn nodes(&mut self, depth: usize) -> Parsed<Vec<Node>> {
        if depth > MOST_NESTED {
            return Err(self.tokens.here(format!("loops are nested deeper than {MOST_NESTED}")));
        }
        let mut nodes = Vec::new();
        loop {
            if self.tokens.takes_word("loop") {
                nodes.push(Node::Loop(self.each(depth)?));
            } else if self.tokens.takes_word("do") {
                nodes.push(Node::Do(self.effects()?));
            } else if self.tokens.takes_word("choose") {
                self.tokens.word("when")?;
                let level = self.level()?;
                self.tokens.sign('<')?;
                let fewer_than = self.tokens.small()?;
                let then = self.block(depth)?;
                self.tokens.word("else")?;
                let otherwise = self.block(depth)?;
                nodes.push(Node::Choose { level, fewer_than, then, otherwise });
            } else {
                return Ok(nodes);
            }
        }
    }

    fn block(&mut self, depth: usize) -> Parsed<Vec<Node>> {
        self.tokens.sign('{')?;
        let nodes = self.nodes(depth + 1)?;
        self.tokens.sign('}')?;
        Ok(nodes)
    }

    fn statement(&mut self) -> Parsed<u32> {
        let name = self.tokens.name("a statement")?;
        match self.labels.statements.iter().position(|label| *label == name) {
            Some(position) => Ok(position as u32),
            None => {
                let known = self.labels.statements.join(", ");
                Err(self.tokens.before(format!("no statement `{name}`: there are {known}")))
            }
        }
    }

    fn effects(&mut self) -> Parsed<Effects> {
        if self.tokens.takes_sign('*') {
            return Ok(Effects::Rest);
        }
        let mut positions = Vec::new();
        loop {
            positions.push(self.statement()?);
            if !self.tokens.takes_sign(',') {
                return Ok(Effects::Named(positions));
            }
        }
    }

    fn each(&mut self, depth: usize) -> Parsed<Loop> {
        let mut each = Loop::new(self.axis()?, By::Serial, Vec::new());
        if self.tokens.takes_word("threads") {
            each.by = By::Threads;
        } else if self.tokens.takes_word("abreast") {
            each.by = By::Abreast(self.in_parentheses()?);
        } else if self.tokens.takes_word("blocks") {
            each.by = By::Blocks;
        } else if self.tokens.takes_word("lanes") {
            each.by = By::Lanes(self.in_parentheses()?);
        } else if self.tokens.takes_word("block_threads") {
            each.by = By::BlockThreads(self.in_parentheses()?);
        } else if self.tokens.takes_word("grid_threads") {
            each.by = By::GridThreads(self.in_parentheses()?);
        } else if self.tokens.takes_word("warps") {
            each.by = By::Warps(self.in_parentheses()?);
        } else if self.tokens.takes_word("warp_threads") {
            each.by = By::WarpThreads;
        }
        if self.tokens.takes_word("unroll") {
            each.unroll = self.tokens.small()?;
            if self.tokens.takes_word("up") {
                self.tokens.word("to")?;
                each.up_to = Some(self.tokens.small()?);
            }
        }
        if self.tokens.takes_word("points") {
            each.points = self.tokens.small()?;
        }
        while self.tokens.takes_sign(',') {
            match self.tokens.one_of(&["remainder", "first", "border", "pack", "out"])? {
                "remainder" => {
                    each.remainder = match self.tokens.one_of(&["masked", "overlapped", "scalar"])? {
                        "masked" => Remainder::Masked,
                        "overlapped" => Remainder::Overlapped,
                        _ => Remainder::Scalar,
                    };
                }
                "first" => {
                    self.tokens.word("whole")?;
                    each.first_whole = true;
                }
                "border" => {
                    self.tokens.word("apart")?;
                    each.border = true;
                }
                "pack" => {
                    each.pack.push(self.statement()?);
                    while self.tokens.takes_word("and") {
                        each.pack.push(self.statement()?);
                    }
                }
                _ => {
                    self.tokens.word("of")?;
                    self.tokens.word("cache")?;
                    each.out_of_cache = Some(self.out_of_cache()?);
                }
            }
        }
        each.body = self.block(depth)?;
        Ok(each)
    }

    fn in_parentheses(&mut self) -> Parsed<u32> {
        self.tokens.sign('(')?;
        let number = self.tokens.small()?;
        self.tokens.sign(')')?;
        Ok(number)
    }

    fn out_of_cache(&mut self) -> Parsed<OutOfCache> {
        let mut out = OutOfCache::default();
        if self.tokens.takes_word("prefetch") {
            out.prefetch = self.arrays()?;
        }
        if self.tokens.takes_word("ahead") {
            out.ahead = self.tokens.small()?;
        }
        if self.tokens.takes_word("stream") {
            out.past_caches = self.arrays()?;
        }
        Ok(out)
    }

    fn arrays(&mut self) -> Parsed<Vec<KernelArrayId>> {
        let mut arrays = Vec::new();
        loop {
            let name = self.tokens.name("an array")?;
            let array = self.labels.arrays.iter().position(|own| *own == name);
            let Some(array) = array else {
                let known = self.labels.arrays.join(", ");
                return Err(self.tokens.before(format!("the kernel has no array `{name}`: there are {known}")));
            };
            arrays.push(KernelArrayId::at(array));
            // The comma may be that of the loop's next property.
            let more = matches!(self.tokens.second(), Some(Token::Name(name)) if self.labels.arrays.iter().any(|own| own == name));
            if !(more && self.tokens.takes_sign(',')) {
                return Ok(arrays);
            }
        }
    }

    fn axis(&mut self) -> Parsed<Axis> {
        let name = self.tokens.name("an axis")?;
        match self.labels.axes.iter().position(|own| *own == name) {
            Some(axis) => Ok(Axis(axis as u32)),
            None => {
                let known = self.labels.axes.join(", ");
                Err(self.tokens.before(format!("no axis `{name}`: there are {known}")))
            }
        }
    }

    fn level(&mut self) -> Parsed<u32> {
        let axis = self.axis()?;
        if (axis.0 as usize) < self.levels {
            Ok(axis.0)
        } else {
            Err(self.tokens.before("a level of the kernel stands here".to_owned()))
        }
    }
}
