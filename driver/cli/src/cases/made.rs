//! Values that are made by a rule: `iota [1000]`, `full [3, 4] 1.5`, `random [1000] from -1 to 1 seed 7`.

use fusebox_ir::{Array, Constant, ElementType, SplitMix64, Type, Value, primitive, text};

/// The most elements that are made.
const MOST: usize = 1 << 28;

/// What a rule makes, if the text begins with one.
pub(super) fn value(source: &str, ty: &Type) -> Option<Result<Value, String>> {
    let (word, rest) = source.split_once(char::is_whitespace)?;
    let rule: fn(&[&str], ElementType, usize) -> Result<Vec<Constant>, String> = match word {
        "iota" => iota,
        "full" => full,
        "random" => random,
        _ => return None,
    };
    Some(made(word, rest, ty, rule))
}

fn made(
    word: &str,
    rest: &str,
    ty: &Type,
    rule: fn(&[&str], ElementType, usize) -> Result<Vec<Constant>, String>,
) -> Result<Value, String> {
    if ty.stream || !ty.inner.is_empty() {
        return Err(format!("`{word}` makes arrays of scalars"));
    }
    let form = || format!("expected extents behind `{word}`, as in `{word} [10, 20]`");
    let (extents, words) =
        rest.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or_else(form)?;
    let extents = extents.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let extents: Vec<usize> = extents.map(|extent| extent.parse().map_err(|_| form())).collect::<Result<_, _>>()?;
    if extents.len() != ty.rank() {
        return Err(format!("{} extents for rank {}", extents.len(), ty.rank()));
    }
    let count =
        extents.iter().try_fold(1usize, |count, &extent| count.checked_mul(extent)).filter(|&count| count <= MOST);
    let count = count.ok_or_else(|| format!("an array that is made has at most {MOST} elements"))?;
    let words: Vec<_> = words.split_whitespace().collect();
    let elements = rule(&words, ty.element, count)?;
    Array::from_constants(ty.element, &extents, &elements).map(Value::Array).map_err(|error| error.to_string())
}

/// 0, 1, 2 in row-major order, as the type has them.
fn iota(words: &[&str], element: ElementType, count: usize) -> Result<Vec<Constant>, String> {
    if let [word, ..] = words {
        return Err(format!("`{word}` stands behind the extents of `iota`"));
    }
    if element == ElementType::Bool {
        return Err("`iota` makes numbers".into());
    }
    Ok((0..count).map(|at| Constant::from_i64(element, at as i64)).collect())
}

/// One value everywhere.
fn full(words: &[&str], element: ElementType, count: usize) -> Result<Vec<Constant>, String> {
    let [value] = words else { return Err("expected `full EXTENTS VALUE`".into()) };
    Ok(vec![text::scalar(value, element)?; count])
}

/// Evenly spread: floats from 0 to below 1, integers from 0 to 99, or as the words say; the same for the same seed.
fn random(words: &[&str], element: ElementType, count: usize) -> Result<Vec<Constant>, String> {
    let (mut low, mut high, mut seed) = (0.0, if element.is_float() { 1.0 } else { 99.0 }, 0u64);
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        let value = words.next().ok_or_else(|| format!("expected a number behind `{word}`"))?;
        let number = || match text::scalar(value, element) {
            Ok(constant) => {
                Ok(constant.as_f64().or(constant.as_i64().map(|integer| integer as f64)).unwrap_or_default())
            }
            Err(message) => Err(message),
        };
        match word {
            "from" => low = number()?,
            "to" => high = number()?,
            "seed" => seed = value.parse().map_err(|_| format!("`{value}` is no seed, which is a whole number"))?,
            _ => return Err(format!("expected `from`, `to` or `seed`, found `{word}`")),
        }
    }
    if !(low <= high && low.is_finite() && high.is_finite()) {
        return Err(format!("`random` goes from the lower to the higher number, not from {low} to {high}"));
    }
    let mut random = SplitMix64::new(seed);
    Ok((0..count)
        .map(|_| match element {
            ElementType::Bool => (random.bits() & 1 == 1).into(),
            _ if element.is_float() => number(element, low + (high - low) * random.unit()),
            // Both ends are among them.
            _ => number(element, low + ((high - low + 1.0) * random.unit()).floor()),
        })
        .collect())
}

/// A number as a type has it; what it does not have becomes the nearest that it has.
fn number(element: ElementType, value: f64) -> Constant {
    match element {
        _ if element.is_float() => primitive::float(element, value),
        ElementType::U64 => (value as u64).into(),
        _ => Constant::from_i64(element, value as i64),
    }
}
