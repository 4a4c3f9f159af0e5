//! Small arrays for people.

use fusebox::Slot;
use fusebox_ir::{Array, Constant, Value};

/// Elements shown of an array at most.
const MOST: usize = 1000;

/// The type of a result, with the extents that it has; of streams and arrays of arrays, whose elements differ, as the program spells it.
pub(crate) fn ty(value: &Value, slot: &Slot) -> String {
    match value {
        Value::Array(array) if !array.extents().is_empty() => format!("{:?}{}", array.extents(), array.element()),
        _ => slot.spelled.clone(),
    }
}

/// A value as nested lists; of a large one the first elements.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Array(array) => self::array(array),
        Value::Nested(nested) => format!("extents {}, values {}", array(&nested.extents), array(&nested.values)),
        Value::Stream(elements) => {
            let shown = elements.iter().take(MOST).map(array).collect::<Vec<_>>().join("\n  ");
            let more = if elements.len() > MOST {
                format!("\n  … {} elements in all", elements.len())
            } else {
                String::new()
            };
            format!("stream\n  {shown}{more}")
        }
    }
}

fn array(array: &Array) -> String {
    if array.extents().is_empty() {
        return scalar(array.get(0));
    }
    let mut text = String::new();
    let mut left = MOST;
    rows(array, array.extents(), 0, &mut left, &mut text);
    if array.len() > MOST {
        text += &format!("  # {} elements in all", array.len());
    } else if array.is_empty() && array.extents().len() > 1 {
        text += &format!("  # extents {:?}", array.extents());
    }
    text
}

/// Ranks are at most 8, so this is not deep.
fn rows(array: &Array, extents: &[usize], from: usize, left: &mut usize, text: &mut String) {
    let Some((&count, inner)) = extents.split_first() else {
        *text += &scalar(array.get(from));
        *left = left.saturating_sub(1);
        return;
    };
    let step: usize = inner.iter().product();
    text.push('[');
    for at in 0..count {
        if at > 0 {
            *text += ", ";
        }
        if *left == 0 {
            text.push('…');
            break;
        }
        if step == 0 {
            *left -= 1; // empty rows take no elements, but room
        }
        rows(array, inner, from + at * step, left, text);
    }
    text.push(']');
}

/// Without its type, which the signature says.
fn scalar(constant: Constant) -> String {
    // Sign and payload of a NaN are no part of a result.
    if constant.as_f64().is_some_and(f64::is_nan) {
        return "nan".to_owned();
    }
    let text = constant.to_string();
    let ty = constant.ty().name();
    match text.strip_suffix(ty) {
        Some(bare) if !bare.is_empty() => bare.trim_end_matches('_').to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_show_as_lists() {
        let show = |array: Array| value(&array.into());
        assert_eq!(show(Array::new(&[2, 2], &[1, 2, 3, -4]).unwrap()), "[[1, 2], [3, -4]]");
        assert_eq!(show(Array::new(&[3], &[1.5f32, f32::INFINITY, -0.0]).unwrap()), "[1.5, inf, -0.0]");
        assert_eq!(show(Array::new(&[2], &[-f32::NAN, f32::from_bits(0x7fff_ffff)]).unwrap()), "[nan, nan]");
        assert_eq!(show(Array::from_bools(&[1], &[true]).unwrap()), "[true]");
        assert_eq!(show(Array::scalar(7u64)), "7");
        assert_eq!(show(Array::new::<i32>(&[0], &[]).unwrap()), "[]");
        assert_eq!(show(Array::new::<i32>(&[0, 3], &[]).unwrap()), "[]  # extents [0, 3]");
        assert_eq!(show(Array::new::<i32>(&[2, 0], &[]).unwrap()), "[[], []]  # extents [2, 0]");
    }

    #[test]
    fn large_arrays_show_their_start() {
        let text = value(&Array::new(&[100_000], &vec![7u8; 100_000]).unwrap().into());
        assert!(text.ends_with("7, …]  # 100000 elements in all"), "{text}");
        assert!(text.len() < 5000);
        let empty = value(&Array::new::<u8>(&[1 << 40, 0], &[]).unwrap().into());
        assert!(empty.len() < 5000);
    }
}
