//! The places of slots from left to right.

use super::{GAP, LANE, Slot};

/// How often all layers are gone through.
const SWEEPS: usize = 24;

/// Gives slots their places: each as near to the mean of those it is joined to as its neighbours let it.
pub(super) fn place(layers: &[Vec<usize>], slots: &mut [Slot]) {
    for layer in layers {
        let wanted = vec![(0.0, 1.0); layer.len()];
        settle(layer, &wanted, slots);
    }
    for sweep in 0..SWEEPS {
        let mut turn: Vec<&Vec<usize>> = layers.iter().collect();
        if sweep % 2 == 1 {
            turn.reverse();
        }
        for layer in turn {
            let wanted: Vec<(f64, f64)> = layer.iter().map(|&at| wanted(at, slots, sweep)).collect();
            settle(layer, &wanted, slots);
        }
    }
}

/// Where a slot would best be, and how much that is worth.
fn wanted(at: usize, slots: &[Slot], sweep: usize) -> (f64, f64) {
    let slot = &slots[at];
    let near = match sweep {
        // At the end what is above and below counts alike.
        sweep if sweep + 4 >= SWEEPS => slot.above.iter().chain(&slot.below).collect::<Vec<_>>(),
        sweep if sweep % 2 == 0 => slot.above.iter().collect(),
        _ => slot.below.iter().collect(),
    };
    let weight: f64 = near.iter().map(|joint| joint.weight).sum();
    if weight == 0.0 {
        return (slot.x, 0.1);
    }
    let sum: f64 = near.iter().map(|joint| joint.weight * (slots[joint.other].x + joint.there - joint.here)).sum();
    (sum / weight, weight)
}

/// The places nearest to those wanted, by the weighted sum of squares, that keep order and distance: neighbours that would meet are pooled.
fn settle(layer: &[usize], wanted: &[(f64, f64)], slots: &mut [Slot]) {
    let mut offsets = vec![0.0; layer.len()];
    for at in 1..layer.len() {
        let (left, right) = (&slots[layer[at - 1]], &slots[layer[at]]);
        let gap = match (left.width <= LANE, right.width <= LANE) {
            (true, true) => 0.0,
            (false, false) => GAP,
            _ => GAP / 2.0,
        };
        offsets[at] = offsets[at - 1] + (left.width + right.width) / 2.0 + gap;
    }
    for (slot, x) in
        layer.iter().zip(pooled(wanted.iter().zip(&offsets).map(|(&(x, weight), offset)| (x - offset, weight))))
    {
        slots[*slot].x = x;
    }
    for (slot, offset) in layer.iter().zip(&offsets) {
        slots[*slot].x += offset;
    }
}

/// The numbers in rising order that are nearest to these, by the weighted sum of squares.
pub(super) fn pooled(wanted: impl Iterator<Item = (f64, f64)>) -> Vec<f64> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new(); // weighted sum, weight, how many
    for (x, weight) in wanted {
        let mut pool = (x * weight, weight, 1);
        while let Some(&(sum, weight, count)) = pools.last()
            && sum / weight > pool.0 / pool.1
        {
            pools.pop();
            pool = (pool.0 + sum, pool.1 + weight, pool.2 + count);
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(sum, weight, count)| std::iter::repeat_n(sum / weight, count)).collect()
}
