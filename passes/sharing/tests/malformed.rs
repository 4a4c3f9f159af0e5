//! Terms that are no program: each is an error with its place, and no program that means something else.

use fusebox_ir::{
    ArrayOp, Constant, ElementType, Extent, Lambda, Operand, Place, ScalarOp, Type, Unary,
    term::{FunctionTerm, Term, TermId, TermNode, Terms},
};
use fusebox_sharing::{Config, Error, program};

/// Terms at lines 1, 2, …; the last is the result.
fn built(terms: Vec<Term>) -> Terms {
    let node = |(at, term): (usize, Term)| TermNode {
        term,
        place: Place { file: None, line: at as u32 + 1, column: 1 },
        name: String::new(),
    };
    let nodes: Vec<TermNode> = terms.into_iter().enumerate().map(node).collect();
    let outputs = vec![("r".to_owned(), TermId(nodes.len() as u32 - 1))];
    Terms { name: "f".to_owned(), nodes, inputs: Vec::new(), outputs }
}

fn line(error: &Error) -> u32 {
    match error {
        Error::Escapes { place } | Error::Extent { place } => place.line,
        other => panic!("{other}"),
    }
}

/// `generate([extent], |i| value)`, as three terms behind those before: the parameter, the operation, its result.
fn generate(before: Vec<Term>, extent: TermId, value: TermId) -> Terms {
    let mut terms = before;
    let i = TermId(terms.len() as u32);
    terms.push(Term::Parameter { ty: ElementType::I64, name: "i".to_owned() });
    let op = ArrayOp::Generate { extents: vec![Operand::Value(extent.as_array())], f: Lambda::default() };
    let ty = Type::array(vec![Extent::Value(extent.as_array())], ElementType::F32);
    let functions = vec![FunctionTerm { params: vec![i], results: vec![value] }];
    terms.push(Term::Array { op: Box::new(op), functions, blocks: Vec::new(), results: vec![ty] });
    terms.push(Term::Result { of: TermId(i.0 + 1), index: 0 });
    built(terms)
}

fn constant(value: impl Into<Constant>) -> Term {
    Term::Constant(value.into())
}

#[test]
fn an_extent_that_is_a_number_of_elements() {
    let terms = generate(vec![constant(3i64), constant(1.5f32)], TermId(0), TermId(1));
    let made = program(&terms, &Config::default()).unwrap();
    fusebox_ir::validate(&made, &[]).unwrap();
}

#[test]
fn an_extent_that_is_no_number_of_elements() {
    let terms = generate(vec![constant(2.5f32), constant(1.5f32)], TermId(0), TermId(1));
    let error = program(&terms, &Config::default()).unwrap_err();
    assert!(matches!(error, Error::Extent { .. }), "{error}");
    assert_eq!(line(&error), 1);
}

#[test]
fn a_parameter_of_no_function() {
    let parameter = Term::Parameter { ty: ElementType::F32, name: "x".to_owned() };
    let op = ScalarOp::Unary { function: Unary::Neg, a: fusebox_ir::ScalarOperand::Local(TermId(1).as_local()) };
    let negated = Term::Scalar { op, functions: Vec::new(), results: vec![ElementType::F32] };
    let terms = generate(vec![constant(3i64), parameter, negated], TermId(0), TermId(2));
    let error = program(&terms, &Config::default()).unwrap_err();
    assert!(matches!(error, Error::Escapes { .. }), "{error}");
    assert_eq!(line(&error), 2);
}

#[test]
fn a_result_that_the_operation_does_not_have() {
    let mut terms = generate(vec![constant(3i64), constant(1.5f32)], TermId(0), TermId(1));
    let last = terms.nodes.len() - 1;
    terms.nodes[last].term = Term::Result { of: TermId(3), index: 1 };
    let error = program(&terms, &Config::default()).unwrap_err();
    assert!(matches!(error, Error::Escapes { .. }), "{error}");
    assert_eq!(line(&error), last as u32 + 1);
}
