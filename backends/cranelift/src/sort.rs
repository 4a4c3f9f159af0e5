//! Stable sorting of rows by keys in the order of `min`: -0 before +0, NaN last and all equal.
//!
//! Keys become unsigned numbers of the same order, which are sorted by bytes from the lowest (least significant digit first), so that
//! equal ones keep their places; several keys are sorted by from the last to the first.

use std::sync::OnceLock;

use fusebox_backend::Sort;
use fusebox_ir::{Array, ElementType};

use crate::Shared;

/// Rows below this many elements are sorted by comparisons.
const SHORT: usize = 96;

/// One sort.
pub(crate) fn run(mut sort: Sort<'_, Array>, shared: &Shared) {
    let (rows, length) = (sort.rows, sort.length);
    if rows == 0 || length == 0 {
        return;
    }
    let orders: Vec<Vec<u32>> = {
        let keys = &sort.keys;
        let ordered = |row: usize| order(keys, row * length, length);
        if rows * length > 16_384 {
            let orders: Vec<OnceLock<Vec<u32>>> = vec![OnceLock::new(); rows];
            shared.threads.each(rows, |row| {
                orders[row].get_or_init(|| ordered(row));
            });
            orders.into_iter().map(|order| order.into_inner().unwrap_or_default()).collect()
        } else {
            (0..rows).map(ordered).collect()
        }
    };
    let sources: Vec<(ElementType, &Array)> = sort.keys.iter().chain(&sort.carry).copied().collect();
    for ((element, source), result) in sources.into_iter().zip(&mut sort.results) {
        let width = element.bytes();
        let from = &source.bytes()[..rows * length * width];
        let to = &mut result.bytes_mut()[..rows * length * width];
        match width {
            1 => gather::<1>(from, to, &orders, length),
            2 => gather::<2>(from, to, &orders, length),
            4 => gather::<4>(from, to, &orders, length),
            _ => gather::<8>(from, to, &orders, length),
        }
    }
}

/// Elements of `W` bytes, in the order found for each row.
fn gather<const W: usize>(from: &[u8], to: &mut [u8], orders: &[Vec<u32>], length: usize) {
    for (row, order) in orders.iter().enumerate() {
        let from = &from[row * length * W..][..length * W];
        let to = &mut to[row * length * W..][..length * W];
        for (to, &position) in to.chunks_exact_mut(W).zip(order) {
            to.copy_from_slice(&from[position as usize * W..][..W]);
        }
    }
}

/// The positions of a row's elements in sorted order.
fn order(keys: &[(ElementType, &Array)], start: usize, length: usize) -> Vec<u32> {
    let mapped: Vec<Vec<u64>> = keys.iter().map(|&(element, array)| mapped(element, array, start, length)).collect();
    let mut order: Vec<u32> = (0..length as u32).collect();
    if length < SHORT {
        order.sort_by(|&a, &b| {
            mapped
                .iter()
                .map(|key| key[a as usize].cmp(&key[b as usize]))
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        return order;
    }
    let mut other = vec![0u32; length];
    for (key, &(element, _)) in mapped.iter().zip(keys).rev() {
        for byte in 0..element.bytes() {
            let digit = |position: u32| (key[position as usize] >> (8 * byte) & 0xff) as usize;
            let mut starts = [0u32; 257];
            for position in 0..length as u32 {
                starts[digit(position) + 1] += 1;
            }
            if starts.contains(&(length as u32)) {
                continue;
            }
            for digit in 0..256 {
                starts[digit + 1] += starts[digit];
            }
            for &position in &order {
                let at = &mut starts[digit(position)];
                other[*at as usize] = position;
                *at += 1;
            }
            std::mem::swap(&mut order, &mut other);
        }
    }
    order
}

/// Keys as unsigned numbers of the same order.
fn mapped(element: ElementType, array: &Array, start: usize, length: usize) -> Vec<u64> {
    let width = element.bytes();
    let sign = 1u64 << (element.bits() - 1);
    let all = u64::MAX >> (64 - element.bits());
    let infinity = match element {
        ElementType::F16 => 0x7c00,
        ElementType::F32 => 0x7f80_0000,
        _ => 0x7ff0_0000_0000_0000,
    };
    let bytes = &array.bytes()[start * width..][..length * width];
    let each = bytes.chunks_exact(width).map(|bytes| {
        let mut bits = [0; 8];
        bits[..width].copy_from_slice(bytes);
        u64::from_le_bytes(bits)
    });
    if element.is_float() {
        each.map(|bits| match bits {
            _ if bits & !sign > infinity => all,
            _ if bits & sign != 0 => !bits & all,
            _ => bits | sign,
        })
        .collect()
    } else if element.is_signed() {
        each.map(|bits| bits ^ sign).collect()
    } else {
        each.collect()
    }
}
