//! Inputs and results as plans have them, in which there are no arrays of arrays.

use fusebox_ir::{Array, Nested, Output, Program, Value};

/// Inputs as plans take them: of an array of arrays its extents and its values.
pub fn apart(inputs: &[Value]) -> Vec<Array> {
    let parts = |value: &Value| match value {
        Value::Array(array) => vec![array.clone()],
        Value::Nested(nested) => vec![nested.extents.clone(), nested.values.clone()],
        Value::Stream(arrays) => arrays.clone(),
    };
    inputs.iter().flat_map(parts).collect()
}

/// Results of a plan as the program has them; those that are missing are left out.
pub fn together(program: &Program, results: &[Array]) -> Vec<Value> {
    let mut flat = results.iter().cloned();
    let value = |output: &Output| {
        let first = flat.next()?;
        if output.ty.inner.is_empty() {
            return Some(Value::Array(first));
        }
        flat.next().map(|values| Value::Nested(Nested { extents: first, values }))
    };
    program.outputs.iter().filter_map(value).collect()
}
