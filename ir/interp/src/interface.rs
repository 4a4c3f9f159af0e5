//! Inputs and results: from and to what the host holds, checked against declared types.

use fusebox_ir::{Array, Nested, Program, Type, Value};

use crate::{Error, val::Val};

/// The inputs as the evaluator holds them.
pub(crate) fn inputs(program: &Program, inputs: &[Value]) -> Result<Vec<Val>, Error> {
    let params = &program.body.params;
    if params.len() != inputs.len() {
        return Err(Error::Count { expected: params.len(), given: inputs.len() });
    }
    params.iter().zip(inputs).map(|(param, value)| input_of(&param.name.0, &param.ty, value)).collect()
}

/// One input, of rank and element type as declared.
pub(crate) fn input_of<V>(name: &str, ty: &Type<V>, value: &Value) -> Result<Val, Error> {
    let name = || name.to_owned();
    let wrong = |given: String| Error::Input { name: name(), expected: describe(ty), given };
    let fits = |array: &Array, rank: usize| array.element() == ty.element && array.extents().len() == rank;
    match value {
        Value::Array(array) if !ty.stream && ty.inner.is_empty() && fits(array, ty.rank()) => Ok(value.into()),
        Value::Stream(elements) if ty.stream => match elements.iter().find(|array| !fits(array, ty.rank())) {
            None => Ok(value.into()),
            Some(array) => Err(wrong(format!("an element of extents {:?} of {}", array.extents(), array.element()))),
        },
        Value::Nested(nested) if ty.inner.len() == 1 => {
            self::nested(ty, nested).map_err(|why| Error::Input { name: name(), expected: describe(ty), given: why })
        }
        Value::Array(array) => Err(wrong(format!("an array of extents {:?} of {}", array.extents(), array.element()))),
        Value::Nested(_) => Err(wrong("an array of arrays".into())),
        Value::Stream(_) => Err(wrong("a stream".into())),
    }
}

/// Arrays inside, cut out of the values by their extents.
fn nested<V>(ty: &Type<V>, value: &Nested) -> Result<Val, String> {
    let inner_rank = ty.inner[0].len();
    let mut outer: Vec<i64> = value.extents.extents().iter().map(|&n| n as i64).collect();
    let Some(all) = value.extents.as_slice::<i64>() else {
        return Err(format!("extents of {}", value.extents.element()));
    };
    if inner_rank != 1 && outer.pop() != Some(inner_rank as i64) || outer.len() != ty.rank() {
        return Err(format!("extents of extents {:?}", value.extents.extents()));
    }
    if value.values.element() != ty.element || value.values.extents().len() != 1 {
        return Err(format!("values of extents {:?} of {}", value.values.extents(), value.values.element()));
    }
    let scalars: Vec<_> = value.values.constants().collect();
    let mut at = 0usize;
    let mut arrays = Vec::new();
    for position in 0..crate::val::count(&outer) {
        let extents = all[position * inner_rank..][..inner_rank].to_vec();
        let size = extents.iter().try_fold(1usize, |size, &n| size.checked_mul(usize::try_from(n).ok()?));
        let end = size.and_then(|size| at.checked_add(size)).filter(|&end| end <= scalars.len());
        let Some(end) = end else { return Err(format!("extents {extents:?} beyond the {} values", scalars.len())) };
        arrays.push(Val::new(ty.element, extents, scalars[at..end].to_vec()));
        at = end;
    }
    if at != scalars.len() {
        return Err(format!("{} values for extents that need {at}", scalars.len()));
    }
    Ok(Val::nested(ty.element, outer, arrays))
}

fn describe<V>(ty: &Type<V>) -> String {
    let list = |extents: &[fusebox_ir::Extent<V>]| {
        let dims: Vec<String> = extents
            .iter()
            .map(|extent| match extent {
                fusebox_ir::Extent::Constant(n) => n.to_string(),
                _ => "_".into(),
            })
            .collect();
        if dims.is_empty() { String::new() } else { format!("[{}]", dims.join(", ")) }
    };
    let stream = if ty.stream { "stream " } else { "" };
    let inner: String = ty.inner.iter().map(|level| list(level)).collect();
    format!("{stream}{}{inner}{}", list(&ty.extents), ty.element)
}
