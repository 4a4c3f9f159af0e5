//! The arguments of an operation, taken one after the other.

use super::*;
use crate::{Constant, Operand, text::elsewhere};

pub(super) struct Arguments<'a, 's> {
    pub operation: &'a Operation<'s>,
    next: usize,
    used: Vec<bool>,
}

impl<'a, 's> Arguments<'a, 's> {
    pub fn new(operation: &'a Operation<'s>) -> Self {
        Self { operation, next: 0, used: vec![false; operation.labelled.len()] }
    }

    /// The next argument without a name.
    pub fn next(&mut self, what: &str) -> Parsed<&'a Argument<'s>> {
        let argument = self.operation.arguments.get(self.next).ok_or_else(|| {
            let span = Span { start: self.operation.span.end.saturating_sub(1), end: self.operation.span.end };
            fault(span, format!("`{}` needs {what} here", self.operation.name.text))
        })?;
        self.next += 1;
        Ok(argument)
    }

    pub fn peek(&self) -> Option<&'a Argument<'s>> {
        self.operation.arguments.get(self.next)
    }

    pub fn function(&mut self) -> Parsed<&'a Function<'s>> {
        let argument = self.next("a function")?;
        match &argument.kind {
            ArgumentKind::Function(function) => Ok(function),
            _ => Err(fault(argument.span, format!("`{}` takes a function here", self.operation.name.text))
                .help("it is written with bars: `|x| x + 1`, or `|a, b| max(a, b)` of two parameters")),
        }
    }

    pub fn list(&mut self) -> Parsed<&'a [Item]> {
        let argument = self.next("a list of extents")?;
        match &argument.kind {
            ArgumentKind::List(items) => Ok(items),
            _ => Err(fault(argument.span, format!("`{}` takes a list in brackets here", self.operation.name.text))
                .help("extents are written `[n, 3]`")),
        }
    }

    pub fn string(&mut self) -> Parsed<String> {
        let argument = self.next("a name in quotes")?;
        match &argument.kind {
            ArgumentKind::Str(text) => Ok(text.clone()),
            _ => Err(fault(argument.span, format!("`{}` takes a name in quotes here", self.operation.name.text))),
        }
    }

    /// What is left without a name: expressions.
    pub fn rest(&mut self) -> Parsed<Vec<ExprId>> {
        let arguments = &self.operation.arguments[self.next.min(self.operation.arguments.len())..];
        self.next = self.operation.arguments.len();
        arguments.iter().map(|argument| self.expr(argument)).collect()
    }

    pub fn expr(&self, argument: &Argument<'s>) -> Parsed<ExprId> {
        match &argument.kind {
            ArgumentKind::Expr(expr) => Ok(*expr),
            ArgumentKind::Group(items) if items.len() == 1 => Ok(items[0]),
            ArgumentKind::Function(_) => {
                let name = self.operation.name.text;
                let help = elsewhere::function_of(name);
                let help =
                    help.unwrap_or_else(|| "functions come after extents, and before seeds and arrays".to_owned());
                Err(fault(argument.span, format!("`{name}` takes no function here")).help(help))
            }
            _ => Err(fault(argument.span, format!("`{}` takes a name or a literal here", self.operation.name.text))),
        }
    }

    /// One, or several in parentheses.
    pub fn group(&self, argument: &'a Argument<'s>) -> Parsed<Vec<ExprId>> {
        match &argument.kind {
            ArgumentKind::Group(items) => Ok(items.clone()),
            _ => Ok(vec![self.expr(argument)?]),
        }
    }

    pub fn labelled(&mut self, label: &str) -> Option<&'a Argument<'s>> {
        let position = self.operation.labelled.iter().position(|(word, _)| word.text == label)?;
        self.used[position] = true;
        Some(&self.operation.labelled[position].1)
    }

    /// `label: true`
    pub fn flag(&mut self, label: &str, lower: &Lower<'_, 's>) -> Parsed<bool> {
        let Some(argument) = self.labelled(label) else { return Ok(false) };
        let constant = self.expr(argument).and_then(|expr| lower.literal(expr, Some(ElementType::Bool)));
        constant
            .ok()
            .and_then(Constant::as_bool)
            .ok_or_else(|| fault(argument.span, format!("`{label}` is `true` or `false`")))
    }

    /// Everything with a name that has not been asked for.
    pub fn take_labelled(&mut self) -> Vec<(Word<'s>, &'a Argument<'s>)> {
        let labelled = &self.operation.labelled;
        let open = self.used.iter_mut().zip(labelled).filter(|(used, _)| !**used);
        open.map(|(used, (word, argument))| {
            *used = true;
            (*word, argument)
        })
        .collect()
    }

    /// Nothing may be left. `known` are the names that the operation has arguments for.
    pub fn finish(&self, known: &[&str]) -> Parsed<()> {
        let name = self.operation.name.text;
        if let Some(extra) = self.operation.arguments.get(self.next) {
            return Err(fault(extra.span, format!("`{name}` takes no more arguments here")));
        }
        let open = self.used.iter().position(|used| !used);
        let Some((word, _)) = open.map(|position| &self.operation.labelled[position]) else { return Ok(()) };
        if self.operation.labelled.iter().filter(|(other, _)| other.text == word.text).count() > 1 {
            return Err(fault(word.span, format!("`{}` is given twice", shown(word.text))));
        }
        let fault = fault(word.span, format!("`{name}` has no argument called `{}`", shown(word.text)));
        Err(match closest(word.text, known.iter().copied()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None if let Some(help) = elsewhere::label(word.text) => fault.help(help),
            None if known.is_empty() => fault,
            None => fault.help(format!("those with names are {}", known.join(", "))),
        })
    }
}

impl<'a, 's> Lower<'a, 's> {
    /// Names of arrays.
    pub(super) fn arrays(&self, exprs: &[ExprId]) -> Parsed<Vec<ArrayId>> {
        exprs.iter().map(|expr| self.value_named(*expr)).collect()
    }

    /// What is left, as arrays: at least one.
    pub(super) fn sources(&self, arguments: &mut Arguments<'a, 's>) -> Parsed<Vec<ArrayId>> {
        if arguments.peek().is_none() {
            arguments.next("an array")?;
        }
        self.arrays(&arguments.rest()?)
    }

    pub(super) fn labelled_array(&self, arguments: &mut Arguments<'a, 's>, label: &str) -> Parsed<Option<ArrayId>> {
        let Some(argument) = arguments.labelled(label) else { return Ok(None) };
        self.value_named(arguments.expr(argument)?).map(Some)
    }

    pub(super) fn labelled_arrays(
        &self,
        arguments: &mut Arguments<'a, 's>,
        label: &str,
    ) -> Parsed<Option<Vec<ArrayId>>> {
        let Some(argument) = arguments.labelled(label) else { return Ok(None) };
        self.arrays(&arguments.group(argument)?).map(Some)
    }

    /// `[n, 3]`
    pub(super) fn extents(&mut self, items: &[Item]) -> Parsed<Vec<Operand>> {
        items
            .iter()
            .map(|item| match item {
                Item::Expr(expr) => self.operand(*expr, ElementType::I64),
                Item::Keep(span) => Err(fault(*span, "`_` keeps a dimension of `replicate` and `slice` only")),
                Item::List(_, span) => Err(fault(*span, "extents are one list")),
            })
            .collect()
    }

    /// `[_, 3]`
    pub(super) fn dims(&mut self, items: &[Item]) -> Parsed<Vec<Option<Operand>>> {
        items
            .iter()
            .map(|item| match item {
                Item::Expr(expr) => self.operand(*expr, ElementType::I64).map(Some),
                Item::Keep(_) => Ok(None),
                Item::List(_, span) => Err(fault(*span, "dimensions are one list")),
            })
            .collect()
    }

    /// A whole number written out.
    pub(super) fn integer(&self, expr: ExprId, what: &str) -> Parsed<i64> {
        let constant = match self.expr(expr).kind {
            ExprKind::Number(_) => self.literal(expr, Some(ElementType::I64))?.as_i64(),
            _ => None,
        };
        constant.ok_or_else(|| fault(self.span(expr), format!("{what} is a whole number, written out")))
    }
}
