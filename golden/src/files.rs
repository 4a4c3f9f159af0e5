//! Golden data: `.npy` files of the project, which are what `generate.py` wrote.

use std::{fs::File, io::BufReader, path::Path};

use fusebox_ir::{Array, ElementType, Nested, Type, Value};

/// The value of a name, as its type says: an array, an array of arrays in two files, or a stream.
pub(crate) fn value(folder: &Path, name: &str, ty: &Type) -> Value {
    if ty.inner.is_empty() && !ty.stream {
        return Value::Array(array(&folder.join(format!("{name}.npy"))));
    }
    if !ty.inner.is_empty() {
        let part = |part: &str| array(&folder.join(format!("{name}.{part}.npy")));
        return Value::Nested(Nested { extents: part("extents"), values: part("values") });
    }
    let whole = folder.join(format!("{name}.npy"));
    if whole.exists() {
        let array = array(&whole);
        let parts = array.extents()[0];
        return Value::Stream((0..parts).map(|i| part(&array, i)).collect());
    }
    let element = |i: usize| folder.join(name).join(format!("{i}.npy"));
    Value::Stream((0..).map(element).take_while(|path| path.exists()).map(|path| self::array(&path)).collect())
}

fn part(array: &Array, i: usize) -> Array {
    let extents = &array.extents()[1..];
    let size: usize = extents.iter().product();
    let elements: Vec<_> = (i * size..(i + 1) * size).map(|at| array.get(at)).collect();
    Array::from_constants(array.element(), extents, &elements).unwrap_or_else(|error| panic!("{error}"))
}

fn array(path: &Path) -> Array {
    read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Result<Array, Box<dyn std::error::Error>> {
    let file = npyz::NpyFile::new(BufReader::new(File::open(path)?))?;
    if file.order() != npyz::Order::C {
        return Err("is not in C order".into());
    }
    let extents: Vec<usize> = file.shape().iter().map(|&n| n as usize).collect();
    let npyz::DType::Plain(ty) = file.dtype() else { return Err("is of a structured type".into()) };
    let name = ty.to_string();
    macro_rules! numbers {
        ($rust:ty) => {
            Array::new(&extents, &file.into_vec::<$rust>()?)?
        };
    }
    Ok(match name.trim_start_matches(['<', '|', '\'']).trim_end_matches('\'') {
        "b1" => Array::from_bools(&extents, &file.into_vec::<bool>()?)?,
        "i1" => numbers!(i8),
        "i2" => numbers!(i16),
        "i4" => numbers!(i32),
        "i8" => numbers!(i64),
        "u1" => numbers!(u8),
        "u2" => numbers!(u16),
        "u4" => numbers!(u32),
        "u8" => numbers!(u64),
        "f2" => numbers!(half::f16),
        "f4" => numbers!(f32),
        "f8" => numbers!(f64),
        other => return Err(format!("is of type {other}; golden data are {:?}", ElementType::ALL).into()),
    })
}
