//! What tests of lifting share.
#![allow(dead_code)] // each test file uses some of it

use fusebox_flattening::{Config, Error, flatten, has_streams, streams_in_memory};
use fusebox_interp::run;
use fusebox_ir::{
    Array, ArrayError, ArrayOp, Block, FlatInterface, Part, Program, Property, Value, json, text, validate,
};

/// What was found of one program.
pub struct Checked {
    /// Whether anything was lifted.
    pub lifted: bool,
    /// Whether it ran.
    pub ran: bool,
}

/// The inputs of the flat program.
pub fn flat_inputs(inputs: &[Value]) -> Vec<Value> {
    inputs
        .iter()
        .flat_map(|value| match value {
            Value::Nested(nested) => vec![nested.extents.clone().into(), nested.values.clone().into()],
            value => vec![value.clone()],
        })
        .collect()
}

fn arrays_of<T>(arrays: Result<T, ArrayError>) -> T {
    arrays.unwrap_or_else(|error| panic!("{error}"))
}

/// Whether results of the flat program are those of the nested one, to the bit; of no NaN more is asked than that it is one.
pub fn same(nested: &[Value], flat: &[Value]) -> bool {
    let nested = flat_inputs(nested);
    nested.len() == flat.len()
        && nested.iter().zip(flat).all(|(a, b)| match (a, b) {
            (Value::Array(a), Value::Array(b)) => same_array(a, b),
            (Value::Stream(a), Value::Stream(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_array(a, b))
            }
            _ => false,
        })
}

fn same_array(a: &Array, b: &Array) -> bool {
    a.element() == b.element()
        && a.extents() == b.extents()
        && (0..a.len()).all(|at| {
            let (x, y) = (a.get(at), b.get(at));
            let is_nan = |v: fusebox_ir::Constant| v.as_f64().is_some_and(f64::is_nan);
            x.bits() == y.bits() || (is_nan(x) && is_nan(y))
        })
}

/// Flattens a program and compares what both give.
pub fn check(program: &Program, inputs: &[Value], config: &Config) -> Result<Checked, String> {
    let flattened = std::panic::catch_unwind(|| flatten(program, config)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        format!("it panics: {}", text.or(panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default())
    })?;
    let (flat, report) = match flattened {
        Ok(done) => done,
        Err(Error::NamedInside(_) | Error::Taken { .. }) => return Ok(Checked { lifted: false, ran: false }),
        Err(error) => return Err(error.to_string()),
    };
    validate(&flat, &[Property::Flat]).map_err(|errors| format!("it is not valid and flat: {errors}\n{flat}"))?;
    let read = text::parse(&flat.to_string()).map_err(|error| format!("text: {error}\n{flat}"))?;
    let (again, _) = json::from_json(&json::to_json(&flat, &[])).map_err(|error| format!("JSON: {error}\n{flat}"))?;
    if read != flat || again != flat {
        return Err(format!("another program through text or JSON\n{flat}"));
    }
    let Ok(expected) = run(program, inputs) else { return Ok(Checked { lifted: report.lifted > 0, ran: false }) };
    let results = run(&flat, &flat_inputs(inputs)).map_err(|error| format!("it fails: {error}\n{flat}"))?;
    if !same(&expected, &results) {
        return Err(format!("other results: {results:?}, not {expected:?}\n{flat}"));
    }
    if has_streams(&flat) {
        let arrays = match streams_in_memory(&flat) {
            Ok(arrays) => arrays,
            Err(Error::Taken { .. }) => return Ok(Checked { lifted: report.lifted > 0, ran: true }),
            Err(error) => return Err(format!("in memory: {error}\n{flat}")),
        };
        validate(&arrays, &[Property::Flat]).map_err(|errors| format!("in memory not valid: {errors}\n{arrays}"))?;
        if is_traversed(&arrays.body) {
            return Err(format!("there are streams still\n{arrays}"));
        }
        let interface = FlatInterface::of(program);
        let given: Vec<Value> = arrays_of(interface.flat(inputs)).into_iter().map(Value::Array).collect();
        let results = run(&arrays, &given).map_err(|error| format!("in memory it fails: {error}\n{arrays}"))?;
        let flat: Vec<Array> = results
            .iter()
            .filter_map(|value| if let Value::Array(array) = value { Some(array.clone()) } else { None })
            .collect();
        let results = arrays_of(interface.values(flat));
        if !same(&expected, &flat_inputs(&results)) {
            return Err(format!("in memory other results: {results:?}, not {expected:?}\n{arrays}"));
        }
    }
    Ok(Checked { lifted: report.lifted > 0, ran: true })
}

/// Whether something traverses streams: lanes that run one at a time do not.
fn is_traversed(block: &Block) -> bool {
    block.bindings.iter().any(|binding| {
        let inside = |part: Part<'_>| matches!(part, Part::Body(body) if is_traversed(body));
        matches!(binding.op, ArrayOp::Consume { .. }) && !binding.op.is_lanes()
            || binding.op.parts().into_iter().any(inside)
    })
}

/// A program from text, flat: its text. Both are run on these inputs and compared.
pub fn flat(source: &str, inputs: &[Value]) -> String {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    if let Err(message) = check(&program, inputs, &Config::default()) {
        panic!("{message}");
    }
    let (flat, _) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    flat.to_string()
}

/// A value of numbers.
pub fn vector(values: &[i64]) -> Value {
    Array::new(&[values.len()], values).unwrap_or_else(|error| panic!("{error}")).into()
}
