//! Runs programs written as text, on inputs written as text, and gives results as text.
//!
//! An array is written `[1, 2]` or `[[1, 2], [3, 4]]`, and one without elements of rank 2 or more `empty [0, 3]`. An array of arrays is
//! written like an array of rank 2 whose rows may differ; a stream as the list of its elements. Types come from the program. Several
//! results stand one after the other with `; ` between them. Every NaN is written `nan`.

use fusebox_interp::Error;
use fusebox_ir::{Array, Constant, ElementType, Fault, Nested, Program, Type, Value, text, validate};

/// The results of a program.
#[track_caller]
pub fn run(program: &str, inputs: &[&str]) -> String {
    outcome(program, inputs).unwrap_or_else(|error| panic!("{error}\n{program}"))
}

/// The message of the error that a program ends with.
#[track_caller]
pub fn fails(program: &str, inputs: &[&str]) -> String {
    match outcome(program, inputs) {
        Ok(results) => panic!("no error, but {results}\n{program}"),
        Err(error) => error.to_string(),
    }
}

/// The fault that a program ends with.
#[track_caller]
pub fn fault(program: &str, inputs: &[&str]) -> Fault {
    match outcome(program, inputs) {
        Err(Error::Run(error)) => error.fault,
        other => panic!("no run-time error, but {other:?}\n{program}"),
    }
}

/// The value of a scalar expression of this type.
#[track_caller]
pub fn eval(ty: &str, expression: &str) -> String {
    run(&expression_program(ty, expression), &[])
}

/// The program that [`eval`] runs.
pub fn expression_program(ty: &str, expression: &str) -> String {
    format!("fn f() -> {ty} {{ let r: {ty} = {expression} return r }}")
}

/// A valid program.
#[track_caller]
pub fn parse(program: &str) -> Program {
    let parsed = text::parse(program).unwrap_or_else(|error| panic!("{error}\n{program}"));
    validate(&parsed, &[]).unwrap_or_else(|errors| panic!("{errors}\n{program}"));
    parsed
}

#[track_caller]
fn outcome(program: &str, inputs: &[&str]) -> Result<String, Error> {
    let program = parse(program);
    let params = &program.body.params;
    assert_eq!(params.len(), inputs.len(), "an input for each parameter");
    let inputs: Vec<Value> = params.iter().zip(inputs).map(|(param, input)| value(&param.ty, input)).collect();
    let results = fusebox_interp::run(&program, &inputs)?;
    assert!(results.iter().zip(&program.outputs).all(|(result, output)| fits(result, &output.ty)));
    Ok(results.iter().map(shown).collect::<Vec<_>>().join("; "))
}

/// Whether a result has the rank and the element type that the program declares.
fn fits(value: &Value, ty: &Type) -> bool {
    let is = |array: &Array, rank: usize| array.element() == ty.element && array.extents().len() == rank;
    match value {
        Value::Array(array) => !ty.stream && ty.inner.is_empty() && is(array, ty.extents.len()),
        Value::Nested(nested) => ty.inner.len() == 1 && is(&nested.values, 1),
        Value::Stream(elements) => ty.stream && elements.iter().all(|array| is(array, ty.extents.len())),
    }
}

/// An element, or a list in brackets.
enum Node<'t> {
    Leaf(&'t str),
    List(Vec<Node<'t>>),
}

impl<'t> Node<'t> {
    fn read(text: &mut &'t str) -> Self {
        *text = text.trim_start();
        let Some(mut rest) = text.strip_prefix('[') else {
            let end = text.find([',', ']']).unwrap_or(text.len());
            let (leaf, rest) = text.split_at(end);
            *text = rest;
            return Self::Leaf(leaf.trim());
        };
        let mut items = Vec::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix(']') {
                *text = after;
                return Self::List(items);
            }
            items.push(Self::read(&mut rest));
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
    }

    fn items(&self) -> &[Self] {
        match self {
            Self::Leaf(text) => panic!("`{text}` where a list is wanted"),
            Self::List(items) => items,
        }
    }
}

fn value(ty: &Type, text: &str) -> Value {
    if let Some(extents) = text.strip_prefix("empty ") {
        let extents: Vec<usize> = Node::read(&mut &*extents).items().iter().map(number).collect();
        return Value::Array(Array::zeros(ty.element, &extents).expect("no elements"));
    }
    let node = Node::read(&mut &*text);
    if ty.stream {
        return Value::Stream(node.items().iter().map(|item| array(ty.element, ty.rank(), item)).collect());
    }
    let Some(inner) = ty.inner.first() else { return Value::Array(array(ty.element, ty.rank(), &node)) };
    assert_eq!(ty.rank(), 1, "arrays of arrays of one outer dimension are enough here");
    let rows: Vec<Array> = node.items().iter().map(|row| array(ty.element, inner.len(), row)).collect();
    let extents: Vec<Constant> = rows.iter().flat_map(Array::extents).map(|&n| Constant::from(n as i64)).collect();
    let values: Vec<Constant> = rows.iter().flat_map(Array::constants).collect();
    let shape = if inner.len() == 1 { vec![rows.len()] } else { vec![rows.len(), inner.len()] };
    Value::Nested(Nested {
        extents: Array::from_constants(ElementType::I64, &shape, &extents).expect("extents"),
        values: Array::from_constants(ty.element, &[values.len()], &values).expect("values"),
    })
}

fn number(node: &Node<'_>) -> usize {
    match node {
        Node::Leaf(text) => text.parse().expect("an extent"),
        Node::List(_) => panic!("a list where an extent is wanted"),
    }
}

fn array(element: ElementType, rank: usize, node: &Node<'_>) -> Array {
    let mut extents = Vec::new();
    let mut first = Some(node);
    for _ in 0..rank {
        let items = first.map(Node::items).unwrap_or_default();
        extents.push(items.len());
        first = items.first();
    }
    let mut constants = Vec::new();
    collect(element, node, &mut constants);
    Array::from_constants(element, &extents, &constants).expect("rows of equal extents")
}

fn collect(element: ElementType, node: &Node<'_>, constants: &mut Vec<Constant>) {
    match node {
        Node::List(items) => items.iter().for_each(|item| collect(element, item, constants)),
        Node::Leaf(text) => {
            let text = match *text {
                "nan" | "inf" | "-inf" => format!("{text}_{element}"),
                "true" | "false" => (*text).to_owned(),
                _ => format!("{text}{element}"),
            };
            constants.push(text.parse().unwrap_or_else(|error| panic!("{error}")));
        }
    }
}

fn shown(value: &Value) -> String {
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    match value {
        Value::Array(array) => shown_array(array.extents(), &array.constants().collect::<Vec<_>>()),
        Value::Stream(elements) => {
            let each = |array: &Array| shown_array(array.extents(), &array.constants().collect::<Vec<_>>());
            list(elements.iter().map(each).collect())
        }
        Value::Nested(nested) => {
            let values: Vec<Constant> = nested.values.constants().collect();
            let all: Vec<usize> = nested.extents.constants().map(|c| c.as_i64().expect("an i64") as usize).collect();
            let rank = nested.extents.extents().get(1).copied().unwrap_or(1);
            let mut rest = &values[..];
            let rows = all.chunks(rank).map(|extents| {
                let (row, after) = rest.split_at(extents.iter().product());
                rest = after;
                shown_array(extents, row)
            });
            list(rows.collect())
        }
    }
}

fn shown_array(extents: &[usize], elements: &[Constant]) -> String {
    let Some((&outer, inner)) = extents.split_first() else { return shown_element(elements[0]) };
    if elements.is_empty() && !inner.is_empty() {
        return format!("empty {extents:?}");
    }
    let size = inner.iter().product::<usize>();
    let rows = (0..outer).map(|i| shown_array(inner, &elements[i * size..][..size]));
    format!("[{}]", rows.collect::<Vec<_>>().join(", "))
}

fn shown_element(element: Constant) -> String {
    if element.as_f64().is_some_and(f64::is_nan) {
        return "nan".to_owned();
    }
    let text = element.to_string();
    let ty = element.ty().name();
    let bare = text.strip_suffix(ty).unwrap_or(&text);
    bare.strip_suffix('_').unwrap_or(bare).to_owned()
}
