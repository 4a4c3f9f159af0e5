//! Stable sorting of rows by keys in the order of `min`: -0 before +0, NaN last and all equal.
//!
//! Keys become unsigned numbers of the same order, which are sorted by bytes from the lowest (least significant digit first), so that
//! equal ones keep their places; several keys are sorted by from the last to the first.

use std::sync::OnceLock;

use fusebox_backend::{BackendError, Sort};
use fusebox_ir::{Array, ElementType, Fault, Place, RunError};

use crate::Shared;

/// Rows below this many elements are sorted by comparisons.
const SHORT: usize = 96;

/// One sort.
///
/// # Errors
/// [`Fault::TooLarge`] if there is no memory to work in, or a row has more elements than positions are counted in.
pub(crate) fn run(mut sort: Sort<'_, Array>, shared: &Shared) -> Result<(), BackendError> {
    let (rows, length) = (sort.rows, sort.length);
    if rows == 0 || length == 0 {
        return Ok(());
    }
    let Some(orders) = orders(&sort, shared) else {
        let extents = [rows, length].iter().filter_map(|&extent| i64::try_from(extent).ok()).collect();
        let fault = Fault::TooLarge { array: sort.name.to_owned(), extents };
        return Err(RunError { operation: format!("sort `{}`", sort.name), place: Place::default(), fault }.into());
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
    Ok(())
}

/// For each row the positions of its elements in sorted order; `None` if there is no memory for them.
fn orders(sort: &Sort<'_, Array>, shared: &Shared) -> Option<Vec<Vec<u32>>> {
    let (rows, length, keys) = (sort.rows, sort.length, &sort.keys);
    u32::try_from(length).ok()?;
    let ordered = |row: usize| order(keys, row * length, length);
    let mut orders = Vec::new();
    orders.try_reserve_exact(rows).ok()?;
    if rows * length > 16_384 {
        let mut found: Vec<OnceLock<Option<Vec<u32>>>> = Vec::new();
        found.try_reserve_exact(rows).ok()?;
        found.resize_with(rows, OnceLock::new);
        shared.threads.each(rows, |row| {
            found[row].get_or_init(|| ordered(row));
        });
        for order in found {
            orders.push(order.into_inner().flatten()?);
        }
    } else {
        for row in 0..rows {
            orders.push(ordered(row)?);
        }
    }
    Some(orders)
}

/// So many elements, if there is memory for them.
fn collected<T>(count: usize, elements: impl Iterator<Item = T>) -> Option<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).ok()?;
    list.extend(elements.take(count));
    Some(list)
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

/// The positions of a row's elements in sorted order; `None` if there is no memory for them.
fn order(keys: &[(ElementType, &Array)], start: usize, length: usize) -> Option<Vec<u32>> {
    let mapped: Option<Vec<Vec<u64>>> =
        keys.iter().map(|&(element, array)| mapped(element, array, start, length)).collect();
    let mapped = mapped?;
    let mut order: Vec<u32> = collected(length, 0..length as u32)?;
    if length < SHORT {
        order.sort_by(|&a, &b| {
            mapped
                .iter()
                .map(|key| key[a as usize].cmp(&key[b as usize]))
                .find(|order| order.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        return Some(order);
    }
    let mut other = collected(length, std::iter::repeat(0u32))?;
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
    Some(order)
}

/// Keys as unsigned numbers of the same order; `None` if there is no memory for them.
fn mapped(element: ElementType, array: &Array, start: usize, length: usize) -> Option<Vec<u64>> {
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
        let mapped = each.map(|bits| match bits {
            _ if bits & !sign > infinity => all,
            _ if bits & sign != 0 => !bits & all,
            _ => bits | sign,
        });
        collected(length, mapped)
    } else if element.is_signed() {
        collected(length, each.map(|bits| bits ^ sign))
    } else {
        collected(length, each)
    }
}
