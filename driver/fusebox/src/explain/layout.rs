//! Where things stand in a drawing: in layers from above, with few crossings of lines, and nothing over anything else.

/// Between things of one layer.
const GAP: f64 = 22.0;
/// Between layers.
const STEP: f64 = 46.0;
/// Room for a line that passes through a layer.
const LANE: f64 = 10.0;
/// How often layers are gone through.
const SWEEPS: usize = 8;

/// A point.
pub(super) type Point = (f64, f64);

/// A drawing of things and of lines between them.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The middle of each thing.
    pub centres: Vec<Point>,
    /// For each line, points on its way from below its first thing to above its last, both left out.
    pub bends: Vec<Vec<Point>>,
    /// How wide and how high all of it is; it begins at (0, 0).
    pub size: Point,
}

/// Something in a layer: a thing, or a line on its way.
struct Slot {
    width: f64,
    thing: Option<usize>,
    above: Vec<usize>,
    below: Vec<usize>,
    x: f64,
}

/// Lays things of these widths and heights out in layers, such that lines go down. Lines that go round in a circle are left out of account.
pub(super) fn layered(sizes: &[Point], lines: &[(usize, usize)]) -> Layout {
    let ranks = ranks(sizes.len(), lines);
    let layers_needed = ranks.iter().max().map_or(0, |most| most + 1);
    let mut slots: Vec<Slot> = sizes.iter().enumerate().map(|(thing, size)| slot(size.0, Some(thing))).collect();
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); layers_needed];
    for (thing, &rank) in ranks.iter().enumerate() {
        layers[rank].push(thing);
    }
    // A line through layers has a slot in each.
    let mut ways: Vec<Vec<usize>> = Vec::new();
    for &(from, to) in lines {
        let mut way = Vec::new();
        let mut last = from;
        for layer in &mut layers[(ranks[from] + 1).min(ranks[to])..ranks[to]] {
            let lane = slots.len();
            slots.push(slot(LANE, None));
            layer.push(lane);
            way.push(lane);
            join(&mut slots, last, lane);
            last = lane;
        }
        if ranks[from] < ranks[to] {
            join(&mut slots, last, to);
        }
        ways.push(way);
    }
    order(&mut layers, &slots);
    place(&layers, &mut slots);
    let heights: Vec<f64> = layers
        .iter()
        .map(|layer| layer.iter().filter_map(|&at| slots[at].thing).map(|thing| sizes[thing].1).fold(0.0, f64::max))
        .collect();
    let mut middles = Vec::new();
    let mut y = 0.0;
    for height in &heights {
        middles.push(y + height / 2.0);
        y += height + STEP;
    }
    let left = slots.iter().map(|slot| slot.x - slot.width / 2.0).fold(f64::INFINITY, f64::min);
    let left = if left.is_finite() { left } else { 0.0 };
    let right = slots.iter().map(|slot| slot.x + slot.width / 2.0).fold(left, f64::max);
    let layer_of = |way: usize, from: usize| ranks[from] + 1 + way;
    Layout {
        centres: (0..sizes.len()).map(|thing| (slots[thing].x - left, middles[ranks[thing]])).collect(),
        bends: ways
            .iter()
            .zip(lines)
            .map(|(way, &(from, _))| {
                let through = |(position, &lane): (usize, &usize)| {
                    let layer = layer_of(position, from);
                    let (x, half) = (slots[lane].x - left, heights[layer] / 2.0);
                    // Straight through the layer.
                    [(x, middles[layer] - half), (x, middles[layer] + half)]
                };
                way.iter().enumerate().flat_map(through).collect()
            })
            .collect(),
        size: (right - left, (y - STEP).max(0.0)),
    }
}

fn slot(width: f64, thing: Option<usize>) -> Slot {
    Slot { width, thing, above: Vec::new(), below: Vec::new(), x: 0.0 }
}

fn join(slots: &mut [Slot], above: usize, below: usize) {
    slots[above].below.push(below);
    slots[below].above.push(above);
}

/// The layer of each thing: below everything that leads to it. Things that lead somewhere only stand right above.
fn ranks(count: usize, lines: &[(usize, usize)]) -> Vec<usize> {
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut above = vec![0; count];
    for &(from, to) in lines {
        below[from].push(to);
        above[to] += 1;
    }
    let first: Vec<usize> = (0..count).filter(|&thing| above[thing] == 0).collect();
    let mut ranks = vec![0; count];
    let mut ready = first.clone();
    let mut done = 0;
    while let Some(at) = ready.pop() {
        done += 1;
        for &to in &below[at] {
            ranks[to] = ranks[to].max(ranks[at] + 1);
            above[to] -= 1;
            if above[to] == 0 {
                ready.push(to);
            }
        }
    }
    if done < count {
        return (0..count).collect();
    }
    for at in first {
        if let Some(next) = below[at].iter().map(|&to| ranks[to]).min() {
            ranks[at] = next - 1;
        }
    }
    // Layers that are left empty by that go.
    let mut used: Vec<usize> = ranks.clone();
    used.sort_unstable();
    used.dedup();
    ranks.iter().map(|rank| used.partition_point(|other| other < rank)).collect()
}

/// Puts each slot near the middle of those it is joined to, layer by layer, down and up.
fn order(layers: &mut [Vec<usize>], slots: &[Slot]) {
    let mut position = vec![0.0; slots.len()];
    let number = |layers: &[Vec<usize>], position: &mut [f64]| {
        for layer in layers {
            layer.iter().enumerate().for_each(|(at, &slot)| position[slot] = at as f64 - layer.len() as f64 / 2.0);
        }
    };
    number(layers, &mut position);
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
                near.iter().map(|&other| position[other]).sum::<f64>() / near.len() as f64
            };
            let mut keyed: Vec<(f64, usize)> = layers[at].iter().map(|&slot| (middle(slot), slot)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0)); // stable: what is equal keeps its order
            layers[at] = keyed.into_iter().map(|(_, slot)| slot).collect();
            number(&layers[at..=at], &mut position);
        }
    }
}

/// Gives slots their places from left to right: each as near to the mean of those it is joined to as its neighbours let it.
fn place(layers: &[Vec<usize>], slots: &mut [Slot]) {
    for layer in layers {
        let wanted = vec![0.0; layer.len()];
        settle(layer, &wanted, slots);
    }
    for sweep in 0..2 * SWEEPS {
        let down = sweep % 2 == 0;
        let mut turn: Vec<&Vec<usize>> = layers.iter().collect();
        if !down {
            turn.reverse();
        }
        for layer in turn {
            let wanted: Vec<f64> = layer
                .iter()
                .map(|&at| {
                    let near = if down { &slots[at].above } else { &slots[at].below };
                    match near.len() {
                        0 => slots[at].x,
                        n => near.iter().map(|&other| slots[other].x).sum::<f64>() / n as f64,
                    }
                })
                .collect();
            settle(layer, &wanted, slots);
        }
    }
}

/// The places nearest to those wanted, by the sum of squares, that keep order and distance: neighbours that would meet are pooled.
fn settle(layer: &[usize], wanted: &[f64], slots: &mut [Slot]) {
    let mut offsets = vec![0.0; layer.len()];
    for at in 1..layer.len() {
        let (left, right) = (&slots[layer[at - 1]], &slots[layer[at]]);
        let gap = if left.thing.is_none() && right.thing.is_none() { LANE } else { GAP };
        offsets[at] = offsets[at - 1] + (left.width + right.width) / 2.0 + gap;
    }
    let mut pools: Vec<(f64, usize)> = Vec::new(); // sum of what is wanted, how many
    for (want, offset) in wanted.iter().zip(&offsets) {
        let mut pool = (want - offset, 1);
        while let Some(&(sum, count)) = pools.last()
            && sum / count as f64 > pool.0 / pool.1 as f64
        {
            pools.pop();
            pool = (pool.0 + sum, pool.1 + count);
        }
        pools.push(pool);
    }
    let mut at = 0;
    for (sum, count) in pools {
        for _ in 0..count {
            slots[layer[at]].x = sum / count as f64 + offsets[at];
            at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(layout: &Layout, sizes: &[Point]) -> Vec<[f64; 4]> {
        layout
            .centres
            .iter()
            .zip(sizes)
            .map(|((x, y), (w, h))| [x - w / 2.0, y - h / 2.0, x + w / 2.0, y + h / 2.0])
            .collect()
    }

    #[test]
    fn nothing_stands_over_anything_else_and_all_is_inside() {
        // A wide and a narrow way, and a line past several layers.
        let sizes: Vec<Point> = (0..12).map(|i| (40.0 + 17.0 * f64::from(i % 5), 30.0 + f64::from(i))).collect();
        let lines =
            [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 5), (4, 6), (5, 6), (0, 6), (7, 6), (8, 9), (0, 10), (10, 11)];
        let layout = layered(&sizes, &lines);
        let boxes = boxes(&layout, &sizes);
        for (i, a) in boxes.iter().enumerate() {
            assert!(a[0] >= -1e-6 && a[1] >= -1e-6, "{a:?}");
            assert!(a[2] <= layout.size.0 + 1e-6 && a[3] <= layout.size.1 + 1e-6, "{a:?} in {:?}", layout.size);
            for b in &boxes[i + 1..] {
                let apart = a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
                assert!(apart, "{a:?} {b:?}");
            }
        }
        for ((from, to), bends) in lines.iter().zip(&layout.bends) {
            assert!(layout.centres[*from].1 < layout.centres[*to].1, "lines go down");
            for (x, y) in bends {
                let inside = boxes.iter().any(|b| b[0] < *x && *x < b[2] && b[1] < *y && *y < b[3]);
                assert!(!inside, "a line passes beside things");
            }
        }
    }

    #[test]
    fn one_thing_is_where_all_of_it_is_and_circles_end() {
        let layout = layered(&[(10.0, 20.0)], &[]);
        assert_eq!((layout.centres[0], layout.size), ((5.0, 10.0), (10.0, 20.0)));
        assert_eq!(layered(&[], &[]).size, (0.0, 0.0));
        assert_eq!(layered(&[(1.0, 1.0); 2], &[(0, 1), (1, 0)]).centres.len(), 2);
    }
}
