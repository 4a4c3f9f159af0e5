//! Sorts of rows, on the host: stable, by keys in the order of `min`, NaN last.

use fusebox_backend::{BackendError, Sort};
use fusebox_ir::{Constant, ElementType};

use crate::{
    device::Device,
    machine::{Buffer, Gpu},
};

/// A number whose order is that of the element.
fn rank(ty: ElementType, bits: u64) -> u64 {
    let constant = Constant::from_bits(ty, bits);
    let sign = 1u64 << (ty.bits() - 1);
    if ty.is_signed() {
        bits ^ sign
    } else if ty.is_float() {
        if constant.as_f64().is_some_and(f64::is_nan) {
            u64::MAX
        } else if bits & sign != 0 {
            !bits & (sign | (sign - 1))
        } else {
            bits | sign
        }
    } else {
        bits
    }
}

fn element(bytes: &[u8], width: usize, at: usize) -> u64 {
    let mut bits = [0; 8];
    bits[..width].copy_from_slice(&bytes[at * width..][..width]);
    u64::from_le_bytes(bits)
}

/// Sorts rows.
pub(crate) fn run<D: Device>(gpu: &Gpu<'_, D>, sort: Sort<'_, Buffer<D>>) -> Result<(), BackendError> {
    let count = sort.rows * sort.length;
    let mut sources = Vec::new();
    for (ty, buffer) in sort.keys.iter().chain(&sort.carry) {
        sources.push((ty.bytes(), gpu.bytes_of(buffer, count * ty.bytes())?));
    }
    let ranks: Vec<Vec<u64>> = (sort.keys.iter().zip(&sources))
        .map(|((ty, _), (width, bytes))| (0..count).map(|at| rank(*ty, element(bytes, *width, at))).collect())
        .collect();
    let mut order: Vec<usize> = (0..count).collect();
    if sort.length > 0 {
        for row in order.chunks_mut(sort.length) {
            row.sort_by(|&a, &b| {
                ranks
                    .iter()
                    .map(|ranks| ranks[a].cmp(&ranks[b]))
                    .find(|order| order.is_ne())
                    .unwrap_or(std::cmp::Ordering::Equal)
            });
        }
    }
    for ((width, bytes), result) in sources.iter().zip(sort.results) {
        let sorted: Vec<u8> = order.iter().flat_map(|&at| bytes[at * width..][..*width].iter().copied()).collect();
        gpu.overwrite(result, &sorted)?;
    }
    Ok(())
}
