//! The order of slots in their layers: such that few lines cross.

use super::{Layer, Slot, Thing};

/// How often all layers are gone through.
const SWEEPS: usize = 12;

/// Puts each slot near the middle of those it is joined to, layer by layer, down and up; the best order met is kept.
pub(super) fn order(layers: &mut Vec<Vec<usize>>, slots: &[Slot], things: &[Thing]) {
    let mut position = vec![0.0; slots.len()];
    for layer in layers.iter_mut() {
        fixed(layer, slots, things);
        number(layer, &mut position);
    }
    let mut best = (crossings(layers, slots, &position), layers.clone());
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        let mut turn: Vec<usize> = (0..layers.len()).collect();
        if !down {
            turn.reverse();
        }
        for at in turn {
            let middle = |slot: usize| {
                let near = if down { &slots[slot].above } else { &slots[slot].below };
                if near.is_empty() {
                    return position[slot];
                }
                // Where on a thing a line ends counts for less than which thing it is.
                let sum: f64 = near.iter().map(|joint| position[joint.other] + joint.there / 1e3).sum();
                sum / near.len() as f64
            };
            let mut keyed: Vec<(f64, usize)> = layers[at].iter().map(|&slot| (middle(slot), slot)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0)); // stable: what is equal keeps its order
            layers[at] = keyed.into_iter().map(|(_, slot)| slot).collect();
            fixed(&mut layers[at], slots, things);
            number(&layers[at], &mut position);
        }
        let now = crossings(layers, slots, &position);
        if now < best.0 {
            best = (now, layers.clone());
        }
    }
    *layers = best.1;
}

fn number(layer: &[usize], position: &mut [f64]) {
    layer.iter().enumerate().for_each(|(at, &slot)| position[slot] = at as f64 - (layer.len() as f64 - 1.0) / 2.0);
}

/// Puts ports in the order that they have among themselves.
fn fixed(layer: &mut [usize], slots: &[Slot], things: &[Thing]) {
    let rank = |slot: usize| match slots[slot].thing.map(|thing| things[thing].layer) {
        Some(Layer::First(order) | Layer::Last(order)) => Some(order),
        _ => None,
    };
    let places: Vec<usize> = (0..layer.len()).filter(|&at| rank(layer[at]).is_some()).collect();
    let mut ports: Vec<usize> = places.iter().map(|&at| layer[at]).collect();
    ports.sort_by_key(|&slot| rank(slot));
    for (at, port) in places.into_iter().zip(ports) {
        layer[at] = port;
    }
}

/// How many pairs of lines cross between neighbouring layers.
fn crossings(layers: &[Vec<usize>], slots: &[Slot], position: &[f64]) -> usize {
    let mut count = 0;
    for layer in layers {
        let mut lines: Vec<(f64, f64)> = Vec::new();
        for &slot in layer {
            for joint in &slots[slot].below {
                lines.push((position[slot] + joint.here / 1e3, position[joint.other] + joint.there / 1e3));
            }
        }
        for (at, a) in lines.iter().enumerate() {
            count += lines[at + 1..].iter().filter(|b| (a.0 - b.0) * (a.1 - b.1) < 0.0).count();
        }
    }
    count
}
