//! Inputs that fit a program.

use std::collections::HashMap;

use super::{
    Config, LONG_ROW,
    random::Random,
    scope::{LARGE, LINEAR},
};
use crate::{
    Array, ArrayId, ArrayOp, Binary, Block, Constant, ElementType, Extent, Nested, Program, ScalarOp, ScalarOperand,
    Type, Value,
};

/// Inputs for a program of [`program`](super::program()): extents agree, offsets are valid; if runs may fail, mostly so.
pub fn inputs(program: &Program, seed: u64, config: &Config) -> Vec<Value> {
    let mut random = Random::new(seed ^ 0xa5a5);
    let body = &program.body;
    let large = config.large && program.name == LINEAR && is_linear(program) && random.chance(1, 2);
    let offsets = offsets_of(body);
    let mut sizes: HashMap<ArrayId, i64> = HashMap::new();
    let common = random.range(1, config.max_extent.max(1));
    let extents = body.params.iter().flat_map(|var| var.ty.all_extents());
    for extent in extents {
        let Extent::Value(id) = *extent else { continue };
        sizes.entry(id).or_insert_with(|| match random.below(8) {
            0 => 0,
            1 => 1,
            2 | 3 => common,
            4.. if large => random.pick(&[4095, 4096, 4097, 8192, 9001, LARGE, 1000, 64]),
            _ => random.range(0, config.max_extent),
        });
    }
    for id in decremented(body) {
        if let Some(size) = sizes.get_mut(&id) {
            *size = (*size).max(1);
        }
    }
    // Offsets are one more than there are segments; without segments there is nothing.
    for (&id, extent) in &offsets {
        let Some(param) = body.params.iter().find(|var| var.id == id) else { continue };
        if let [Extent::Value(count)] = param.ty.extents[..] {
            let n = extent_of(*extent, &sizes);
            let least = if n == 0 { 1 } else { 2 };
            let most = config.max_extent.max(1) + 1;
            sizes.insert(count, (random.range(1, most)).max(least));
        }
    }
    let mut values = Vec::new();
    for param in &body.params {
        if let Some(&size) = sizes.get(&param.id) {
            values.push(Value::Array(Array::scalar(size)));
            continue;
        }
        if let Some(&extent) = offsets.get(&param.id)
            && !(config.may_fail && random.chance(1, 24))
        {
            let count = extent_of(param.ty.extents[0], &sizes) as usize;
            values.push(Value::Array(offsets_array(&mut random, param.ty.element, count, extent_of(extent, &sizes))));
            continue;
        }
        values.push(value(&mut random, &param.ty, &sizes, config));
    }
    values
}

/// Sizes of which one less is an extent: of offsets, whether they are used or not.
fn decremented(body: &Block) -> Vec<ArrayId> {
    let one = ScalarOperand::Constant(1i64.into());
    let unit = |op: &ArrayOp| match op {
        ArrayOp::Unit { f } => match f.instructions.as_slice() {
            [only] => match only.op {
                ScalarOp::Binary { function: Binary::Sub, a: ScalarOperand::Outer(id), b } if b == one => Some(id),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    body.bindings.iter().filter_map(|binding| unit(&binding.op)).collect()
}

fn extent_of(extent: Extent, sizes: &HashMap<ArrayId, i64>) -> i64 {
    match extent {
        Extent::Constant(value) => value,
        Extent::Value(id) => sizes.get(&id).copied().unwrap_or(1),
        Extent::Unknown => 2,
    }
}

/// Inputs that are offsets of segments, with the extent that they divide.
fn offsets_of(body: &Block) -> HashMap<ArrayId, Extent> {
    let types: HashMap<ArrayId, &Type> = {
        let mut types = HashMap::new();
        for block in body.blocks() {
            let results = block.bindings.iter().flat_map(|binding| &binding.results);
            types.extend(block.params.iter().chain(results).map(|var| (var.id, &var.ty)));
        }
        types
    };
    let mut found = HashMap::new();
    for block in body.blocks() {
        for binding in &block.bindings {
            let cut = match &binding.op {
                ArrayOp::Fold { sources, offsets: Some(id), .. } | ArrayOp::Scan { sources, offsets: Some(id), .. } => {
                    Some((*id, sources.first()))
                }
                ArrayOp::ReplicateSegments { offsets, .. } => {
                    Some((*offsets, binding.results.first().map(|var| &var.id)))
                }
                _ => None,
            };
            if let Some((id, of)) = cut
                && let Some(ty) = of.and_then(|of| types.get(of))
                && let Some(&extent) = ty.extents.last()
                && body.params.iter().any(|var| var.id == id)
            {
                found.entry(id).or_insert(extent);
            }
        }
    }
    found
}

/// Whether sizes grow by sums alone, so that large inputs make no huge arrays; what is made smaller may have lost that.
fn is_linear(program: &Program) -> bool {
    for block in program.body.blocks() {
        let results = block.bindings.iter().flat_map(|binding| &binding.results);
        for var in block.params.iter().chain(results) {
            let sizes = var.ty.all_extents().filter(|extent| !matches!(extent, Extent::Constant(_))).count();
            let product: i64 = var
                .ty
                .all_extents()
                .map(|extent| if let Extent::Constant(n) = extent { (*n).max(1) } else { 1 })
                .product();
            if sizes > 1 || product > 8 || !var.ty.inner.is_empty() || var.ty.stream {
                return false;
            }
        }
        for binding in &block.bindings {
            if let ArrayOp::Unit { f } = &binding.op {
                let grows = |op: &ScalarOp| match op {
                    ScalarOp::Binary { function: Binary::Mul, a, b } => {
                        !matches!(a, ScalarOperand::Constant(_)) && !matches!(b, ScalarOperand::Constant(_))
                    }
                    _ => false,
                };
                if f.instructions.len() == 1 && grows(&f.instructions[0].op) {
                    return false;
                }
            }
        }
    }
    true
}

/// From 0 to the extent, never falling.
fn offsets_array(random: &mut Random, element: ElementType, count: usize, extent: i64) -> Array {
    let mut offsets: Vec<i64> = (0..count).map(|_| random.range(0, extent)).collect();
    offsets.sort_unstable();
    if let Some(first) = offsets.first_mut() {
        *first = 0;
    }
    if let Some(last) = offsets.last_mut() {
        *last = extent;
    }
    let constants: Vec<Constant> = offsets.into_iter().map(|offset| Constant::from_i64(element, offset)).collect();
    array(element, &[count], &constants)
}

fn array(element: ElementType, extents: &[usize], constants: &[Constant]) -> Array {
    Array::from_constants(element, extents, constants).unwrap_or_else(|error| panic!("inputs are small: {error}"))
}

fn some_array(random: &mut Random, element: ElementType, extents: &[usize]) -> Array {
    let plain = random.chance(1, 2);
    let constants: Vec<Constant> = (0..extents.iter().product::<usize>())
        .map(|_| if plain { Constant::from_i64(element, random.range(-20, 40)) } else { random.constant(element) })
        .collect();
    array(element, extents, &constants)
}

fn value(random: &mut Random, ty: &Type, sizes: &HashMap<ArrayId, i64>, config: &Config) -> Value {
    let most = config.max_extent;
    let extents = |random: &mut Random, list: &[Extent]| -> Vec<usize> {
        list.iter()
            .map(|&extent| {
                if extent == Extent::Unknown {
                    random.range(0, most) as usize
                } else {
                    extent_of(extent, sizes) as usize
                }
            })
            .collect()
    };
    if ty.stream {
        let count = random.below(5);
        return Value::Stream(
            (0..count)
                .map(|_| {
                    let extents = extents(random, &ty.extents);
                    some_array(random, ty.element, &extents)
                })
                .collect(),
        );
    }
    let outer = extents(random, &ty.extents);
    let Some(inner) = ty.inner.first() else { return Value::Array(some_array(random, ty.element, &outer)) };
    let (mut of_arrays, mut total) = (Vec::new(), 0);
    let count: usize = outer.iter().product();
    let long = inner.iter().position(|extent| *extent == Extent::Unknown).filter(|_| config.long_rows && count > 0);
    let long = long.map(|dim| (random.below(count), dim));
    for at in 0..count {
        let mut extents = extents(random, inner);
        if let Some((_, dim)) = long.filter(|(row, _)| *row == at) {
            extents[dim] = LONG_ROW as usize;
        }
        total += extents.iter().product::<usize>();
        of_arrays.extend(extents.into_iter().map(|n| Constant::from(n as i64)));
    }
    let mut shape = outer;
    if inner.len() > 1 {
        shape.push(inner.len());
    }
    Value::Nested(Nested {
        extents: array(ElementType::I64, &shape, &of_arrays),
        values: some_array(random, ty.element, &[total]),
    })
}
