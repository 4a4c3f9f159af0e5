//! Errors in text: a message, the place, and the source line with a marker under it.

use std::{fmt, sync::Arc};

use crate::Place;

/// A part of the source, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `last`.
    pub fn to(self, last: Self) -> Self {
        Self { start: self.start, end: last.end.max(self.start) }
    }

    pub fn text(self, source: &str) -> &str {
        &source[self.start as usize..self.end as usize]
    }
}

/// What is wrong and where, before lines and columns are counted.
#[derive(Debug)]
pub(super) struct Fault {
    pub span: Span,
    pub message: String,
    pub help: Option<String>,
    /// Whether it comes of another one, which has been told.
    pub follows: bool,
}

pub(super) type Parsed<T> = Result<T, Box<Fault>>;

pub(super) fn fault(span: Span, message: impl Into<String>) -> Box<Fault> {
    Box::new(Fault { span, message: message.into(), help: None, follows: false })
}

/// What cannot be read because of something that has been told.
pub(super) fn follow_up() -> Box<Fault> {
    Box::new(Fault {
        span: Span::default(),
        message: "this follows from another error".into(),
        help: None,
        follows: true,
    })
}

/// What is wrong with a text, where reading goes on after an error.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<Fault>,
    /// How many more there are.
    left_out: usize,
}

impl Faults {
    /// Those that are kept: a text of nonsense has as many as it has lines.
    const MOST: usize = 1000;

    pub fn add(&mut self, fault: Fault) {
        if fault.follows || self.list.last().is_some_and(|last| last.span.start == fault.span.start) {
            return;
        }
        if self.list.len() < Self::MOST {
            self.list.push(fault);
        } else {
            self.left_out += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Those of both in the order of their places, one for each place.
    pub fn and(mut self, other: Self) -> Self {
        self.list.extend(other.list);
        self.left_out += other.left_out;
        // Stable: of several at one place the first that was found.
        self.list.sort_by_key(|fault| fault.span.start);
        self.list.dedup_by_key(|fault| fault.span.start);
        self
    }

    pub fn errors(self, lines: &Lines<'_>) -> Errors {
        let more = self.left_out + self.list.len().saturating_sub(Errors::MOST);
        let errors = self.list.into_iter().take(Errors::MOST).map(|fault| lines.error(fault)).collect();
        Errors { errors, more }
    }
}

impl Fault {
    pub fn help(mut self: Box<Self>, help: impl Into<String>) -> Box<Self> {
        self.help = Some(help.into());
        self
    }

    pub fn help_if(self: Box<Self>, when: bool, help: &str) -> Box<Self> {
        if when { self.help(help) } else { self }
    }
}

/// A name or literal as messages show it: a long one is cut.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Lines and columns of a source, in constant time for each place whatever the lengths of lines.
pub(super) struct Lines<'s> {
    source: &'s str,
    file: Option<Arc<str>>,
    starts: Vec<u32>,
    /// Of sources that are not ASCII: how many bytes before each stretch of 64 continue a character.
    continued: Vec<u32>,
}

impl<'s> Lines<'s> {
    const STRETCH: usize = 64;

    pub fn new(source: &'s str, file: Option<&str>) -> Self {
        let bytes = source.as_bytes();
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at as u32 + 1);
        let mut continued = Vec::new();
        if !source.is_ascii() {
            let mut count = 0;
            for stretch in bytes.chunks(Self::STRETCH) {
                continued.push(count);
                count += continuing(stretch);
            }
        }
        Self { source, file: file.map(Arc::from), starts: std::iter::once(0).chain(ends).collect(), continued }
    }

    pub fn place(&self, at: u32) -> Place {
        let line = self.starts.partition_point(|start| *start <= at);
        let column = self.characters(at) - self.characters(self.starts[line - 1]) + 1;
        Place { file: self.file.clone(), line: line as u32, column }
    }

    /// Characters before a byte.
    fn characters(&self, at: u32) -> u32 {
        if self.continued.is_empty() {
            return at;
        }
        let stretch = (at as usize / Self::STRETCH).min(self.continued.len() - 1);
        at - self.continued[stretch] - continuing(&self.source.as_bytes()[stretch * Self::STRETCH..at as usize])
    }

    pub fn error(&self, fault: Fault) -> Error {
        let Span { start, end } = fault.span;
        let place = self.place(start);
        let line_start = self.starts[place.line as usize - 1] as usize;
        let line_end = self.starts.get(place.line as usize).map_or(self.source.len(), |end| *end as usize);
        let (start, end) = (start as usize, (end as usize).clamp(start as usize, line_end));
        let before = last_characters(&self.source[line_start..start], 90);
        let cut = before.len() < start - line_start;
        let shown = |text: &str| -> String { text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect() };
        let mut line = if cut { "…".to_owned() } else { String::new() };
        line.push_str(&shown(before));
        let marker_at = line.chars().count();
        let after: String = self.source[start..line_end].chars().take(80).collect();
        line.push_str(&shown(after.trim_end()));
        if after.len() < line_end - start && !self.source[start + after.len()..line_end].trim_end().is_empty() {
            line.push('…');
        }
        let marker_length = self.source[start..end].trim_end().chars().take(80).count().max(1);
        Error { message: fault.message, place, line, marker_at, marker_length, help: fault.help }
    }
}

/// The line of a place with a marker under it, as text errors show it, in two lines; none where the text has no such place.
pub fn marked(source: &str, place: &Place) -> Option<String> {
    let line = source.lines().nth(place.line.checked_sub(1)? as usize)?;
    let (column, _) = line.char_indices().nth(place.column.checked_sub(1)? as usize)?;
    let start = line.as_ptr() as usize - source.as_ptr() as usize + column;
    let length = line[column..].find(|c| !super::characters::continues_name(c)).unwrap_or(line.len() - column);
    let span = Span { start: start as u32, end: (start + length) as u32 };
    Some(Lines::new(source, None).error(*fault(span, "")).marked())
}

fn continuing(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|byte| **byte & 0xc0 == 0x80).count() as u32
}

fn last_characters(text: &str, count: usize) -> &str {
    text.char_indices().rev().nth(count.saturating_sub(1)).map_or(text, |(at, _)| &text[at..])
}

/// Why a text is no program.
///
/// `Display` gives the place, what is wrong, the line with a marker under the place, and where known what to do.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    message: String,
    place: Place,
    line: String,
    marker_at: usize,
    marker_length: usize,
    help: Option<String>,
}

impl Eq for Place {}

impl Error {
    /// What is wrong, in one line.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The line with a marker under the place, as two lines.
    fn marked(&self) -> String {
        let number = self.place.line.to_string();
        let (gutter, before) = (" ".repeat(number.len()), " ".repeat(self.marker_at));
        format!("  {number} | {}\n  {gutter} | {before}{}", self.line, "^".repeat(self.marker_length))
    }

    /// What to do about it, where that is known.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
}

impl std::error::Error for Error {}

crate::debug_is_message!(struct Error { message, place, line, marker_at, marker_length, help });

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n{}", self.place, self.message, self.marked())?;
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// Everything that is wrong with a text, in the order of places: at least one error.
///
/// What follows from another error is left out: a name that a broken statement would have bound is not unknown after it.
#[derive(Clone, PartialEq, Eq)]
pub struct Errors {
    errors: Vec<Error>,
    more: usize,
}

impl Errors {
    /// The most that are told in full.
    pub const MOST: usize = 20;

    /// The errors, at most [`Errors::MOST`].
    pub fn errors(&self) -> &[Error] {
        &self.errors
    }

    /// How many more there are.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self { errors: vec![error], more: 0 }
    }
}

impl std::error::Error for Errors {}

crate::debug_is_message!(struct Errors { errors, more });

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.errors.iter().enumerate() {
            if position > 0 {
                writeln!(f)?;
            }
            write!(f, "{error}")?;
        }
        match self.more {
            0 => Ok(()),
            1 => write!(f, "\nand 1 more error"),
            more => write!(f, "\nand {more} more errors"),
        }
    }
}
