//! Golden programs as plans: run by the interpreter of kernels, they give what the interpreter of programs gives.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::strict::lower;
use fusebox_ir::{Array, ElementType, Program, Value, text};
use fusebox_kernels::{Config, Error};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden")
}

/// An array of a `.npy` file in row-major order of this machine's byte order.
fn npy(path: &Path) -> Array {
    let bytes = fs::read(path).unwrap();
    let (length, start) = match bytes[6] {
        1 => (usize::from(u16::from_le_bytes([bytes[8], bytes[9]])), 10),
        _ => (u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize, 12),
    };
    let header = std::str::from_utf8(&bytes[start..start + length]).unwrap();
    let field = |name: &str| header.split_once(&format!("'{name}': ")).unwrap().1;
    assert!(field("fortran_order").starts_with("False"), "{path:?}");
    let element = match &field("descr")[1..4] {
        "|b1" => ElementType::Bool,
        "|i1" => ElementType::I8,
        "<i2" => ElementType::I16,
        "<i4" => ElementType::I32,
        "<i8" => ElementType::I64,
        "|u1" => ElementType::U8,
        "<u2" => ElementType::U16,
        "<u4" => ElementType::U32,
        "<u8" => ElementType::U64,
        "<f2" => ElementType::F16,
        "<f4" => ElementType::F32,
        "<f8" => ElementType::F64,
        other => panic!("{path:?}: {other}"),
    };
    let shape = field("shape").strip_prefix('(').unwrap().split_once(')').unwrap().0;
    let extents: Vec<usize> = shape.split(',').filter_map(|extent| extent.trim().parse().ok()).collect();
    let mut array = Array::zeros(element, &extents).unwrap();
    array.bytes_mut().copy_from_slice(&bytes[start + length..]);
    array
}

fn array(value: &Value) -> &Array {
    let Value::Array(array) = value else { panic!("{value:?}") };
    array
}

/// Whether floats are near each other, and all else equal.
fn near(left: &Array, right: &Array, relative: f64, absolute: f64) -> bool {
    left.extents() == right.extents()
        && left.constants().zip(right.constants()).all(|(left, right)| match (left.as_f64(), right.as_f64()) {
            (Some(a), Some(b)) => {
                a.to_bits() == b.to_bits()
                    || a == b
                    || a.is_nan() && b.is_nan()
                    || (a - b).abs() <= absolute + relative * b.abs()
            }
            _ => left == right,
        })
}

#[test]
fn plans_of_golden_programs_give_what_the_programs_mean() {
    let list: serde_json::Value = serde_json::from_slice(&fs::read(golden().join("programs.json")).unwrap()).unwrap();
    let (mut ran, mut wrong) = (0, Vec::new());
    for case in list.as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        if std::env::var("ONLY").is_ok_and(|only| only != name) {
            continue;
        }
        let source = fs::read_to_string(golden().join(format!("programs/{name}.fbx"))).unwrap();
        let program: Program = text::parse_named(&source, &format!("{name}.fbx")).unwrap();
        // Nested programs are made flat first, which is tested with the passes.
        if fusebox_ir::validate(&program, &[fusebox_ir::Property::Flat]).is_err() {
            continue;
        }
        let (plan, _) = match lower(&program, &Config::default()) {
            Ok(lowered) => lowered,
            Err(Error::Unsupported { .. } | Error::UnsupportedType { .. }) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let data = |prefix: &str, key: &serde_json::Value| {
            npy(&golden().join(format!("data/{name}/{prefix}{}.npy", key.as_str().unwrap())))
        };
        let inputs: Vec<Value> =
            case["inputs"].as_array().unwrap().iter().map(|key| Value::Array(data("", key))).collect();
        let (relative, absolute) = (
            case["tolerance"]["relative"].as_f64().unwrap_or(0.0),
            case["tolerance"]["absolute"].as_f64().unwrap_or(0.0),
        );
        ran += 1;
        fusebox_ir::validate_plan(&plan).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        match fusebox_interp::run_plan(&plan, &inputs) {
            Ok((results, _)) => {
                for (key, result) in case["results"].as_array().unwrap().iter().zip(&results) {
                    if !near(array(result), &data("expected.", key), relative, absolute) {
                        wrong.push(format!("{name}: {key} differs"));
                    }
                }
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    eprintln!("{ran} programs ran as plans");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
