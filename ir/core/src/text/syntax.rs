//! The syntax tree: what a text says, before names and types are looked at.
//!
//! Expressions lie in one vector and name each other by position, so that making and dropping them never recurses.

use std::cell::Cell;

use super::{error::Span, literal::Literal};
use crate::{Binary, Constant, ElementType, Mark, Unary};

#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'s> {
    pub text: &'s str,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExprId(pub u32);

#[derive(Debug)]
pub(super) struct Expr<'s> {
    pub kind: ExprKind<'s>,
    pub span: Span,
}

#[derive(Debug)]
pub(super) enum ExprKind<'s> {
    Number(Literal<'s>),
    /// A literal that says its type.
    Constant(Constant),
    Name(&'s str),
    Read {
        array: Word<'s>,
        index: Vec<ExprId>,
    },
    ReadFlat {
        array: Word<'s>,
        position: ExprId,
    },
    /// An operator or a function of one operand.
    Unary(Unary, ExprId),
    /// Operators of one precedence, from left to right.
    Chain {
        first: ExprId,
        rest: Vec<(Binary, Span, ExprId)>,
    },
    /// A function of two operands.
    Binary(Binary, ExprId, ExprId),
    Fma([ExprId; 3]),
    Convert(ElementType, ExprId),
    Bits(ElementType, ExprId),
    Assert {
        condition: ExprId,
        message: String,
        value: ExprId,
        shown: Vec<ExprId>,
    },
    If(Box<(ExprId, Body<'s>, Body<'s>)>),
    While(Box<Loop<'s>>),
}

#[derive(Debug)]
pub(super) struct Loop<'s> {
    pub condition: Function<'s>,
    pub step: Function<'s>,
    pub starts: Vec<ExprId>,
}

impl Loop<'_> {
    /// Whether it can only be the operation.
    pub fn holds_operation(&self) -> bool {
        let array = |f: &Function<'_>| f.params.iter().any(|p| p.ty.as_ref().is_some_and(|ty| !ty.is_scalar()));
        self.condition.holds_operation || self.step.holds_operation || array(&self.condition)
    }
}

/// `|x, y: f32| …`
#[derive(Debug)]
pub(super) struct Function<'s> {
    pub params: Vec<Pattern<'s>>,
    pub body: Body<'s>,
    /// Whether there is an array operation anywhere inside.
    pub holds_operation: bool,
    pub span: Span,
    /// The first of its parameters among the variables of the function that is read.
    pub first_variable: Cell<u32>,
}

#[derive(Debug)]
pub(super) struct Body<'s> {
    pub statements: Vec<Statement<'s>>,
    pub end: End<'s>,
    pub span: Span,
}

#[derive(Debug)]
pub(super) enum End<'s> {
    /// An expression for a body: as many results as it has.
    Expr(ExprId),
    /// `return x, y` or `return y, z: b`.
    Return(Vec<ResultSyntax<'s>>),
    /// `yield sinks`.
    Yield(Vec<Operation<'s>>),
    /// Something that could not be read, and has been told.
    Broken,
}

/// A value that is returned, with the name that it is given.
pub(super) type ResultSyntax<'s> = (Option<Word<'s>>, ExprId);

#[derive(Debug)]
pub(super) struct Statement<'s> {
    /// The word that stands for `let` in a cluster.
    pub mark: Option<Mark>,
    pub pattern: Vec<Pattern<'s>>,
    pub value: Value<'s>,
    pub span: Span,
    pub first_variable: Cell<u32>,
}

#[derive(Debug)]
pub(super) enum Value<'s> {
    /// Scalar code; whether it is a loop without parentheses.
    Scalar {
        expr: ExprId,
        bare_loop: bool,
    },
    Operation(Operation<'s>),
    /// Something that could not be read, and has been told. The pattern has the names that it may have bound.
    Broken,
}

#[derive(Debug)]
pub(super) struct Pattern<'s> {
    pub name: Word<'s>,
    pub ty: Option<TypeSyntax<'s>>,
}

#[derive(Debug)]
pub(super) struct TypeSyntax<'s> {
    pub stream: bool,
    pub extents: Vec<ExtentSyntax<'s>>,
    pub inner: Vec<Vec<ExtentSyntax<'s>>>,
    pub element: ElementType,
    pub span: Span,
}

impl TypeSyntax<'_> {
    pub fn is_scalar(&self) -> bool {
        !self.stream && self.extents.is_empty() && self.inner.is_empty()
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ExtentSyntax<'s> {
    Constant(i64),
    Name(Word<'s>),
    Unknown,
}

/// `name(arguments, label: argument)`
#[derive(Debug)]
pub(super) struct Operation<'s> {
    pub name: Word<'s>,
    pub arguments: Vec<Argument<'s>>,
    pub labelled: Vec<(Word<'s>, Argument<'s>)>,
    pub span: Span,
}

#[derive(Debug)]
pub(super) struct Argument<'s> {
    pub kind: ArgumentKind<'s>,
    pub span: Span,
}

#[derive(Debug)]
pub(super) enum ArgumentKind<'s> {
    Function(Box<Function<'s>>),
    /// `[n, _, 3]`; items of constants may be lists.
    List(Vec<Item>),
    /// `(a, b)`
    Group(Vec<ExprId>),
    Expr(ExprId),
    Str(String),
    /// `function(…)` or `constant(…)`, boundaries of stencils.
    Call(Word<'s>, Box<Argument<'s>>),
}

#[derive(Debug)]
pub(super) enum Item {
    Keep(Span),
    Expr(ExprId),
    List(Vec<Item>, Span),
}

#[derive(Debug)]
pub(super) struct ProgramSyntax<'s> {
    pub name: Word<'s>,
    pub inputs: Vec<Pattern<'s>>,
    /// None where they could not be read.
    pub results: Option<Vec<TypeSyntax<'s>>>,
    pub body: Body<'s>,
    /// What inputs that could not be read may have bound.
    pub broken: Vec<Word<'s>>,
}
