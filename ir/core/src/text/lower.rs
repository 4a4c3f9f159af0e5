//! The syntax tree to a program: names to ids, literals to types.
//!
//! Only what is needed to type scalar code and to resolve names is checked here; the rest is `validate`'s.

mod arguments;
mod block;
mod emit;
mod function;
mod infer;
mod names;
mod operation;
mod sequence;

use std::cell::Cell;

use self::{
    infer::{Reference, Variable},
    names::{Entry, Names},
};
use super::{
    elsewhere,
    error::{Fault, Faults, Lines, Parsed, Span, fault, follow_up, shown},
    suggest::closest,
    syntax::*,
};
use crate::{ArrayId, ElementType, Name, Output, Program, Type, Var};

/// What scalar code and operations need to know of a value.
#[derive(Clone, Copy, Debug)]
struct Shape {
    element: ElementType,
    rank: u8,
    /// Levels of arrays inside.
    inner: u8,
    stream: bool,
}

impl Shape {
    fn of(ty: &Type) -> Self {
        let small = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
        Self { element: ty.element, rank: small(ty.extents.len()), inner: small(ty.inner.len()), stream: ty.stream }
    }

    fn scalar(element: ElementType) -> Self {
        Self { element, rank: 0, inner: 0, stream: false }
    }

    fn is_scalar(self) -> bool {
        self.rank == 0 && self.inner == 0 && !self.stream
    }

    /// For messages: what it is instead of a scalar.
    fn describe(self) -> String {
        match self {
            Self { stream: true, .. } => "a stream".to_owned(),
            Self { inner: 1.., .. } => "an array of arrays".to_owned(),
            _ => format!("an array of rank {}", self.rank),
        }
    }
}

pub(super) struct Lower<'a, 's> {
    source: &'s str,
    exprs: &'a [Expr<'s>],
    lines: &'a Lines<'s>,
    names: Names<'s>,
    /// Keyed by [`ArrayId`].
    shapes: Vec<Shape>,
    /// Of expressions, from the leaves up; `None` where a literal waits for its type.
    types: Vec<Option<ElementType>>,
    /// What the name of an expression is.
    references: Vec<Reference>,
    /// Parameters and `let`s of the function that is read.
    variables: Vec<Variable>,
    next_local: u32,
    /// How many instructions that function will have, those inside of others included: counted with the types.
    operators: usize,
    /// Room for instructions of functions that are not whole yet.
    scratch: Vec<crate::Instruction>,
    /// Scalar code that stood as an argument of the operation that is read, to be bound before it; none where no binding may stand.
    before: Option<Vec<crate::Binding>>,
    /// Whether values are bound in another order than they were met.
    out_of_order: bool,
    /// Where reading goes on after an error, what was wrong.
    faults: Option<Faults>,
}

impl<'a, 's> Lower<'a, 's> {
    pub fn new(source: &'s str, exprs: &'a [Expr<'s>], lines: &'a Lines<'s>) -> Self {
        Self {
            source,
            exprs,
            lines,
            names: Names::default(),
            shapes: Vec::new(),
            types: vec![None; exprs.len()],
            references: vec![Reference::None; exprs.len()],
            variables: Vec::new(),
            next_local: 0,
            operators: 0,
            scratch: Vec::new(),
            before: None,
            out_of_order: false,
            faults: None,
        }
    }

    /// Everything that is wrong.
    pub fn faults(mut self, syntax: &'a ProgramSyntax<'s>) -> Faults {
        self.faults = Some(Faults::default());
        self.names.open();
        if let Err(fault) = self.params(&syntax.inputs, true) {
            self.tell(*fault);
            self.hide(1, syntax.inputs.iter().map(|pattern| pattern.name));
        }
        self.hide(1, syntax.broken.iter().copied());
        let mut types = Vec::new();
        for ty in syntax.results.iter().flatten() {
            types.push(self.result_type(ty).unwrap_or_else(|fault| {
                self.tell(*fault);
                Type::array(vec![crate::Extent::Unknown], ty.element)
            }));
        }
        let mut bindings = Vec::new();
        if let Err(fault) = self.statements(&syntax.body.statements, block::Flavour::Block, &mut bindings) {
            self.tell(*fault);
        }
        let results = self.result_items(syntax).and_then(|items| self.result_names(items, &types, &mut Vec::new()));
        if let Err(fault) = results {
            self.tell(*fault);
        }
        self.faults.unwrap_or_default()
    }

    /// Notes what is wrong with a program that is read to the end for that.
    fn tell(&mut self, fault: Fault) {
        if let Some(faults) = &mut self.faults {
            faults.add(fault);
        }
    }

    /// Closes scopes beyond so many, and notes that these names mean something that cannot be known.
    fn hide(&mut self, depth: usize, names: impl Iterator<Item = Word<'s>>) {
        while self.names.depth() > depth {
            self.names.close();
        }
        for word in names {
            if self.names.get(word.text).is_none() {
                self.names.bind(word.text, Entry::Broken);
            }
        }
    }

    /// Reads a part of an operation of which other parts are read whatever is wrong with it.
    fn part<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let depth = self.names.depth();
        let part = read(self);
        match part {
            Err(fault) if self.faults.is_some() => {
                self.leave(fault, depth, &[])?;
                Err(follow_up())
            }
            part => part,
        }
    }

    /// Goes on after an error in a statement, where reading goes on.
    fn leave(&mut self, fault: Box<Fault>, depth: usize, pattern: &[Pattern<'s>]) -> Parsed<()> {
        if self.faults.is_none() {
            return Err(fault);
        }
        self.tell(*fault);
        self.hide(depth, pattern.iter().map(|pattern| pattern.name));
        Ok(())
    }

    /// What the end of a body gives; where a statement before it is broken, no more than that.
    fn ended<T>(&mut self, broken: bool, end: Parsed<T>) -> Parsed<T> {
        if !broken {
            return end;
        }
        if let Err(fault) = end {
            self.tell(*fault);
        }
        Err(follow_up())
    }

    pub fn program(mut self, syntax: &'a ProgramSyntax<'s>) -> Parsed<Program> {
        self.names.open();
        let (sizes, params) = self.params(&syntax.inputs, true)?;
        let types = syntax.results.iter().flatten().map(|ty| self.result_type(ty)).collect::<Parsed<Vec<_>>>()?;
        let items = self.result_items(syntax)?;
        let mut bindings = Vec::new();
        self.statements(&syntax.body.statements, block::Flavour::Block, &mut bindings)?;
        let (results, names) = self.result_names(items, &types, &mut bindings)?;
        let outputs = names.into_iter().zip(types).map(|(name, ty)| Output { name: name.to_owned(), ty }).collect();
        self.names.close();
        let body = crate::Block { sizes, params, bindings, results };
        let program = Program { name: syntax.name.text.to_owned(), body, outputs };
        Ok(if self.out_of_order { program.renumbered() } else { program })
    }

    /// The type of a result, which names sizes of inputs alone.
    fn result_type(&self, ty: &TypeSyntax<'s>) -> Parsed<Type> {
        self.resolve(ty).map_err(|fault| {
            if fault.help.is_none() && fault.message.starts_with("unknown name") {
                return fault.help("an extent that the program computes is written `?` here");
            }
            fault
        })
    }

    /// What `return` says, as many as the types.
    fn result_items(&self, syntax: &'a ProgramSyntax<'s>) -> Parsed<&'a [ResultSyntax<'s>]> {
        let items = match &syntax.body.end {
            End::Return(items) => items,
            End::Broken => return Err(follow_up()),
            End::Expr(_) | End::Yield(_) => return Err(fault(syntax.body.span, "a program ends with `return`")),
        };
        let Some(types) = &syntax.results else { return Ok(items) };
        if items.len() != types.len() {
            let (given, wanted) = (items.len(), types.len());
            let odd = items.get(wanted).or(items.last()).map_or(syntax.body.span, |(_, expr)| self.span(*expr));
            return Err(fault(odd, format!("`return` gives {given} values, and the types say {wanted}")));
        }
        Ok(items)
    }

    /// The results of a program, and their names. Scalar code is bound at the end.
    fn result_names(
        &mut self,
        items: &'a [ResultSyntax<'s>],
        types: &[Type],
        bindings: &mut Vec<crate::Binding>,
    ) -> Parsed<(Vec<ArrayId>, Vec<&'s str>)> {
        let (mut results, mut names) = (Vec::with_capacity(items.len()), Vec::with_capacity(items.len()));
        let mut seen = std::collections::HashSet::new();
        for (position, (label, expr)) in items.iter().enumerate() {
            if label.is_none() && !matches!(self.expr(*expr).kind, ExprKind::Name(_)) {
                let text = shown(self.text(*expr));
                return Err(fault(self.span(*expr), "this result has no name")
                    .help(format!("give it one: `return result: {text}`")));
            }
            let ty = types.get(position).filter(|ty| ty.is_scalar()).map(|ty| ty.element);
            results.push(self.result(*expr, ty, bindings)?);
            let name = label.map_or(self.text(*expr), |word| word.text);
            if !seen.insert(name) {
                let span = label.map_or(self.span(*expr), |word| word.span);
                return Err(fault(span, format!("two results are called `{}`", shown(name)))
                    .help(format!("give one of them another name: `return other: {}`", shown(self.text(*expr)))));
            }
            names.push(name);
        }
        Ok((results, names))
    }

    fn expr(&self, id: ExprId) -> &'a Expr<'s> {
        &self.exprs[id.0 as usize]
    }

    fn span(&self, id: ExprId) -> Span {
        self.exprs[id.0 as usize].span
    }

    fn text(&self, id: ExprId) -> &'s str {
        self.span(id).text(self.source)
    }

    fn value(&mut self, shape: Shape) -> ArrayId {
        self.shapes.push(shape);
        ArrayId(self.shapes.len() as u32 - 1)
    }

    fn shape(&self, id: ArrayId) -> Shape {
        self.shapes[id.index()]
    }

    fn elements(&self, ids: &[ArrayId]) -> Vec<ElementType> {
        ids.iter().map(|id| self.shape(*id).element).collect()
    }

    /// Binds a name in the innermost scope.
    fn bind(&mut self, word: Word<'s>, entry: Entry) -> Parsed<()> {
        if self.names.bind(word.text, entry) {
            return Ok(());
        }
        Err(fault(word.span, format!("`{}` is bound already in this block", shown(word.text)))
            .help("a block binds a name once; a size that a type names counts too"))
    }

    fn lookup(&self, word: Word<'s>) -> Parsed<Entry> {
        if let Some(Entry::Broken) = self.names.get(word.text) {
            return Err(follow_up());
        }
        self.names.get(word.text).ok_or_else(|| {
            let fault = fault(word.span, format!("unknown name `{}`", shown(word.text)));
            match (elsewhere::value(word.text), closest(word.text, self.names.visible())) {
                (Some(help), _) => fault.help(help),
                (None, Some(name)) => fault.help(format!("did you mean `{name}`?")),
                (None, None) => match elsewhere::property(word.text) {
                    Some(help) => fault.help(help),
                    None => fault,
                },
            }
        })
    }

    /// A value of a block, by name.
    fn array(&self, word: Word<'s>) -> Parsed<ArrayId> {
        match self.lookup(word)? {
            Entry::Array(id) => Ok(id),
            Entry::Broken => Err(follow_up()),
            Entry::Variable(_) => {
                Err(fault(word.span, format!("`{}` is a scalar of this function, no array", shown(word.text))))
            }
        }
    }

    /// The value that an expression names, and nothing else.
    fn value_named(&self, expr: ExprId) -> Parsed<ArrayId> {
        match self.expr(expr).kind {
            ExprKind::Name(text) => self.array(Word { text, span: self.span(expr) }),
            _ => Err(fault(self.span(expr), "expected the name of a value").help("give it a name before: `let x = …`")),
        }
    }

    /// A type whose extents are all known.
    fn resolve(&self, ty: &TypeSyntax<'s>) -> Parsed<Type> {
        let level = |extents: &[ExtentSyntax<'s>]| {
            extents.iter().map(|extent| self.extent(*extent)).collect::<Parsed<Vec<_>>>()
        };
        let inner = ty.inner.iter().map(|extents| level(extents)).collect::<Parsed<Vec<_>>>()?;
        Ok(Type { stream: ty.stream, extents: level(&ty.extents)?, inner, element: ty.element })
    }

    fn extent(&self, extent: ExtentSyntax<'s>) -> Parsed<crate::Extent> {
        Ok(match extent {
            ExtentSyntax::Constant(value) => crate::Extent::Constant(value),
            ExtentSyntax::Unknown => crate::Extent::Unknown,
            ExtentSyntax::Name(word) => {
                let id = self.array(word)?;
                self.scalar_of(id, ElementType::I64, word.span, "extents are `i64`")?;
                crate::Extent::Value(id)
            }
        })
    }

    /// Checks that a value is a scalar of a type.
    fn scalar_of(&self, id: ArrayId, element: ElementType, span: Span, why: &str) -> Parsed<()> {
        let shape = self.shape(id);
        if shape.is_scalar() && shape.element == element {
            return Ok(());
        }
        let what = if shape.is_scalar() { format!("a scalar of `{}`", shape.element) } else { shape.describe() };
        Err(fault(span, format!("{why}, and `{}` is {what}", shown(span.text(self.source)))))
    }

    /// Sizes and parameters. With `binds`, extents that are not visible are bound.
    fn params(&mut self, patterns: &'a [Pattern<'s>], binds: bool) -> Parsed<(Vec<Var>, Vec<Var>)> {
        let mut sizes = Vec::new();
        if binds {
            for word in self.new_sizes(patterns, None) {
                sizes.push(self.var(word, Type::scalar(ElementType::I64))?);
            }
        }
        let mut params = Vec::with_capacity(patterns.len());
        for pattern in patterns {
            let Some(ty) = &pattern.ty else {
                return Err(fault(pattern.name.span, format!("`{}` needs a type here", shown(pattern.name.text)))
                    .help("parameters of loops, fallbacks, streams and sinks carry types: `x: [n]f32`"));
            };
            params.push(self.var(pattern.name, self.resolve(ty)?)?);
        }
        Ok((sizes, params))
    }

    /// Extents in the types of parameters that are neither visible nor parameters before them.
    fn new_sizes(&self, patterns: &'a [Pattern<'s>], before: Option<&Pattern<'s>>) -> Vec<Word<'s>> {
        let mut met: std::collections::HashSet<_> = before.iter().map(|pattern| pattern.name.text).collect();
        let mut new = Vec::new();
        for pattern in patterns {
            let extents = pattern.ty.iter().flat_map(|ty| ty.extents.iter().chain(ty.inner.iter().flatten()));
            for extent in extents {
                if let ExtentSyntax::Name(word) = extent
                    && self.names.get(word.text).is_none()
                    && met.insert(word.text)
                {
                    new.push(*word);
                }
            }
            met.insert(pattern.name.text);
        }
        new
    }

    /// A new value with a name.
    fn var(&mut self, word: Word<'s>, ty: Type) -> Parsed<Var> {
        let id = self.value(Shape::of(&ty));
        self.bind(word, Entry::Array(id))?;
        Ok(Var { id, ty, name: Name::from(word.text) })
    }

    fn misplaced(&self, operation: &Operation<'s>) -> Box<Fault> {
        let name = operation.name.text;
        fault(operation.name.span, format!("`{name}` is an array operation, and this is scalar code"))
            .help("only `map`, `generate`, `nest` and blocks hold array operations")
    }

    fn remember(cell: &Cell<u32>, variables: &[Variable]) {
        cell.set(variables.len() as u32);
    }
}
