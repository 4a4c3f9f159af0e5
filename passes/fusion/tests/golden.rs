//! Golden programs, on their inputs: fused, they give the same, bit for bit.

use std::{fs, path::Path};

use fusebox_fusion::{Config, fuse};
use fusebox_interp::run;
use fusebox_ir::{Array, Constant, ElementType, Program, Value, text, validate};

/// The array in an `.npy` file of little-endian values in row-major order; none of other files.
fn npy(path: &Path) -> Option<Array> {
    let bytes = fs::read(path).ok()?;
    let length = usize::from(u16::from_le_bytes(bytes.get(8..10)?.try_into().ok()?));
    let header = std::str::from_utf8(bytes.get(10..10 + length)?).ok()?;
    let after = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ', '\'']));
    let descr: String = after("'descr'")?.chars().take_while(|&c| c != '\'').collect();
    let element = match descr.trim_start_matches(['<', '|']) {
        "b1" => ElementType::Bool,
        "i1" => ElementType::I8,
        "i2" => ElementType::I16,
        "i4" => ElementType::I32,
        "i8" => ElementType::I64,
        "u1" => ElementType::U8,
        "u2" => ElementType::U16,
        "u4" => ElementType::U32,
        "u8" => ElementType::U64,
        "f2" => ElementType::F16,
        "f4" => ElementType::F32,
        "f8" => ElementType::F64,
        _ => return None,
    };
    let shape: String = after("'shape'")?.trim_start_matches('(').chars().take_while(|&c| c != ')').collect();
    let extents: Vec<usize> = shape.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    if after("'fortran_order'")?.starts_with("True") && extents.len() > 1 {
        return None;
    }
    let constants: Vec<Constant> = bytes[10 + length..]
        .chunks_exact(element.bytes())
        .map(|chunk| {
            let mut bits = [0; 8];
            bits[..chunk.len()].copy_from_slice(chunk);
            Constant::from_bits(element, u64::from_le_bytes(bits))
        })
        .collect();
    Array::from_constants(element, &extents, &constants).ok()
}

fn inputs(program: &Program, folder: &Path) -> Option<Vec<Value>> {
    let input = |name: &str| npy(&folder.join(format!("{name}.npy"))).map(Value::Array);
    let plain = program.body.params.iter().all(|var| !var.ty.stream && var.ty.inner.is_empty());
    program.body.params.iter().map(|var| input(&var.name.0)).collect::<Option<_>>().filter(|_| plain)
}

#[test]
fn golden_programs_mean_the_same() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden");
    let mut files: Vec<_> = fs::read_dir(golden.join("programs"))
        .unwrap_or_else(|error| panic!("{error}"))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "fbx"))
        .collect();
    files.sort();
    let mut ran = 0;
    for file in files {
        let source = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{error}"));
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (fused, _) = fuse(&program, &Config::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        validate(&fused, &[]).unwrap_or_else(|errors| panic!("{name}: {errors}\n{fused}"));
        let Some(inputs) = inputs(&program, &golden.join("data").join(&name)) else { continue };
        let before = run(&program, &inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        let after = run(&fused, &inputs).unwrap_or_else(|error| panic!("{name}: {error}\n{fused}"));
        assert_eq!(before, after, "{name}\n{fused}");
        ran += 1;
    }
    assert!(ran > 50, "{ran} programs had inputs");
}
