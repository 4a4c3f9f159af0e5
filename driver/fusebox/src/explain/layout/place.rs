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
    draw_together(layers, slots);
}

/// Moves parts that are joined to nothing else to the left, up to their neighbours: nothing else pulls at them.
fn draw_together(layers: &[Vec<usize>], slots: &mut [Slot]) {
    let parts = parts(slots);
    let count = parts.iter().max().map_or(0, |most| most + 1);
    let left_of = |slots: &[Slot], part: usize| {
        let own = (0..slots.len()).filter(|&at| parts[at] == part).map(|at| slots[at].x - slots[at].width / 2.0);
        own.fold(f64::INFINITY, f64::min)
    };
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| left_of(slots, a).total_cmp(&left_of(slots, b)));
    let Some(&first) = order.first() else { return };
    let border = left_of(slots, first);
    for part in order.into_iter().skip(1) {
        let mut room = left_of(slots, part) - border;
        for layer in layers {
            for pair in layer.windows(2).filter(|pair| parts[pair[1]] == part && parts[pair[0]] != part) {
                let (left, right) = (&slots[pair[0]], &slots[pair[1]]);
                room = room.min(right.x - left.x - (left.width + right.width) / 2.0 - gap(left, right));
            }
        }
        (0..slots.len()).filter(|&at| parts[at] == part).for_each(|at| slots[at].x -= room.max(0.0));
    }
}

/// The part of the graph that each slot is in.
fn parts(slots: &[Slot]) -> Vec<usize> {
    let mut parts = vec![usize::MAX; slots.len()];
    let mut count = 0;
    for first in 0..slots.len() {
        if parts[first] != usize::MAX {
            continue;
        }
        let mut rest = vec![first];
        while let Some(at) = rest.pop() {
            if parts[at] == usize::MAX {
                parts[at] = count;
                rest.extend(slots[at].above.iter().chain(&slots[at].below).map(|joint| joint.other));
            }
        }
        count += 1;
    }
    parts
}

/// The least room between two slots of a layer.
fn gap(left: &Slot, right: &Slot) -> f64 {
    match (left.width <= LANE, right.width <= LANE) {
        (true, true) => 0.0,
        (false, false) => GAP,
        _ => GAP / 2.0,
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
        offsets[at] = offsets[at - 1] + (left.width + right.width) / 2.0 + gap(left, right);
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
