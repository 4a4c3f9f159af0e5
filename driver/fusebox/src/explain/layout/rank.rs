//! Which layer each thing stands in.

use super::{Layer, Net, Thing};

/// The layer of each thing: below everything that leads to it. Things that lead somewhere only stand right above.
pub(super) fn ranks(things: &[Thing], nets: &[Net]) -> Vec<usize> {
    let count = things.len();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut above = vec![0; count];
    for (from, to) in nets.iter().flat_map(|net| net.to.iter().map(|to| (net.from.thing, to.thing))) {
        below[from].push(to);
        above[to] += 1;
    }
    let first: Vec<usize> = (0..count).filter(|&thing| above[thing] == 0).collect();
    // Below ports, whether these lead there or not.
    let ports = things.iter().any(|thing| matches!(thing.layer, Layer::First(_)));
    let least = |thing: usize| usize::from(ports && !matches!(things[thing].layer, Layer::First(_)));
    let mut ranks: Vec<usize> = (0..count).map(least).collect();
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
    for at in first.into_iter().filter(|&at| things[at].layer == Layer::Any) {
        if let Some(next) = below[at].iter().map(|&to| ranks[to]).min() {
            ranks[at] = next - 1;
        }
    }
    let last = |thing: &Thing| matches!(thing.layer, Layer::Last(_));
    let deepest = ranks.iter().zip(things).filter(|(_, thing)| !last(thing)).map(|(rank, _)| *rank).max();
    for (rank, thing) in ranks.iter_mut().zip(things) {
        if last(thing) {
            *rank = deepest.map_or(0, |deepest| deepest + 1);
        }
    }
    // Layers that are left empty by that go.
    let mut used: Vec<usize> = ranks.clone();
    used.sort_unstable();
    used.dedup();
    ranks.iter().map(|rank| used.partition_point(|other| other < rank)).collect()
}
