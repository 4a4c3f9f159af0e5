//! Where things stand in a drawing, and where lines run: things in layers from above, lines in lanes of their own.
//!
//! Layers of things and channels between them take turns. A line leaves a thing below, runs level in a channel, and passes each layer on
//! its way in a lane, which takes room in the layer as a thing does. So no line comes near a thing that is not its end. Lines with one
//! source are one *net*: they share lanes until they part.
//!
//! Source: the steps are those of Sugiyama, Tagawa, Toda, "Methods for visual understanding of hierarchical system structures", 1981;
//! tracks are given to nets as in channel routing (Hashimoto, Stevens, 1971).

mod channel;
mod order;
mod place;
mod rank;
#[cfg(test)]
mod tests;

use channel::Channel;

/// Between things of one layer.
const GAP: f64 = 22.0;
/// Room for a net that passes through a layer, and between neighbouring pins of a thing.
const LANE: f64 = 9.0;
/// Between the neighbouring tracks of a channel.
const TRACK: f64 = 9.0;
/// Between a layer and the first or last track.
const MARGIN: f64 = 14.0;

/// A point.
pub(super) type Point = (f64, f64);

/// What is to be drawn.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    /// Width and height.
    pub size: Point,
    /// In which layers it may stand.
    pub layer: Layer,
}

/// In which layers a thing may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// Where lines let it.
    Any,
    /// In the first, among others of that kind in this order.
    First(usize),
    /// In the last, among others of that kind in this order.
    Last(usize),
}

/// Where a net touches a thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    /// The thing.
    pub thing: usize,
    /// How far from its left side; none where any place will do.
    pub at: Option<f64>,
}

/// Lines with one source.
#[derive(Clone, Debug)]
pub(super) struct Net {
    /// Where it begins, on the lower side.
    pub from: Pin,
    /// Where it ends, on upper sides: each thing once.
    pub to: Vec<Pin>,
}

/// A drawing.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The upper left corner of each thing.
    pub corners: Vec<Point>,
    /// For each net and each of its ends the corners of the line, both ends included. A line that would lead up has none.
    pub lines: Vec<Vec<Vec<Point>>>,
    /// How wide and how high all of it is; it begins at (0, 0).
    pub size: Point,
}

/// Something in a layer: a thing, or a net on its way.
#[derive(Clone, Debug)]
struct Slot {
    thing: Option<usize>,
    width: f64,
    /// The middle.
    x: f64,
    above: Vec<Joint>,
    below: Vec<Joint>,
}

/// How a slot is joined to one of a neighbouring layer.
#[derive(Clone, Copy, Debug)]
struct Joint {
    other: usize,
    /// Where the line touches this slot and the other one, from their middles.
    here: f64,
    there: f64,
    /// How much it is worth that the line is straight.
    weight: f64,
}

/// What is known of a net once it has lanes.
#[derive(Clone, Debug)]
struct Way {
    /// The layer of its source.
    rank: usize,
    /// Its slots in the layers after that one.
    lanes: Vec<usize>,
}

/// Slots in layers.
struct Layers {
    slots: Vec<Slot>,
    layers: Vec<Vec<usize>>,
    ways: Vec<Way>,
    ranks: Vec<usize>,
}

/// Lays things and nets out, such that lines go down. Lines that go round in a circle are left out.
pub(super) fn layered(things: &[Thing], nets: &[Net]) -> Layout {
    let mut all = slots(things, nets);
    order::order(&mut all.layers, &all.slots, things);
    place::place(&all.layers, &mut all.slots);
    let left = all.slots.iter().map(|slot| slot.x - slot.width / 2.0).fold(f64::INFINITY, f64::min);
    let left = if left.is_finite() { left } else { 0.0 };
    // Whole pixels: lines one pixel wide stay sharp.
    all.slots.iter_mut().for_each(|slot| slot.x = (slot.x - left - slot.width / 2.0).round() + slot.width / 2.0);
    let right = all.slots.iter().map(|slot| slot.x + slot.width / 2.0).fold(0.0, f64::max);

    let channels: Vec<Channel> =
        (1..all.layers.len()).map(|below| all.channel(below - 1, things, nets, right)).collect();
    let mut corners = vec![(0.0, 0.0); things.len()];
    let (mut tops, mut y) = (Vec::new(), 0.0);
    for (rank, layer) in all.layers.iter().enumerate() {
        let here = || layer.iter().filter_map(|&at| Some((at, all.slots[at].thing?)));
        let height = here().map(|(_, thing)| things[thing].size.1).fold(0.0, f64::max);
        for (at, thing) in here() {
            let (width, own) = things[thing].size;
            corners[thing] = (all.slots[at].x - width / 2.0, y + ((height - own) / 2.0).round());
        }
        y += height;
        tops.push(y); // of the channel below
        y += channels.get(rank).map_or(0.0, Channel::height);
    }
    let line = |net: usize, end: usize| all.line(net, end, nets, things, &corners, &channels, &tops);
    Layout {
        lines: (0..nets.len()).map(|net| (0..nets[net].to.len()).map(|end| line(net, end)).collect()).collect(),
        corners,
        size: (right, y),
    }
}

/// Puts things into layers, and gives nets lanes through those that they pass.
fn slots(things: &[Thing], nets: &[Net]) -> Layers {
    let ranks = rank::ranks(things, nets);
    let count = ranks.iter().max().map_or(0, |most| most + 1);
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); count];
    let mut slots: Vec<Slot> = Vec::new();
    for (thing, &rank) in ranks.iter().enumerate() {
        slots.push(slot(Some(thing), things[thing].size.0));
        layers[rank].push(thing);
    }
    let mut ways = Vec::new();
    for net in nets {
        let rank = ranks[net.from.thing];
        let last = net.to.iter().map(|pin| ranks[pin.thing]).max().unwrap_or(rank);
        let mut way = Way { rank, lanes: Vec::new() };
        for layer in layers.iter_mut().take(last).skip(rank + 1) {
            let lane = slots.len();
            slots.push(slot(None, LANE));
            layer.push(lane);
            match way.lanes.last() {
                None => join(&mut slots, (net.from.thing, offset(net.from, things)), (lane, 0.0), 2.0),
                Some(&above) => join(&mut slots, (above, 0.0), (lane, 0.0), 8.0),
            }
            way.lanes.push(lane);
        }
        for pin in net.to.iter().filter(|pin| ranks[pin.thing] > rank) {
            let above = match (ranks[pin.thing] - rank).checked_sub(2) {
                None => (net.from.thing, offset(net.from, things)),
                Some(lane) => (way.lanes[lane], 0.0),
            };
            join(&mut slots, above, (pin.thing, offset(*pin, things)), 1.0);
        }
        ways.push(way);
    }
    Layers { slots, layers, ways, ranks }
}

fn slot(thing: Option<usize>, width: f64) -> Slot {
    Slot { thing, width, x: 0.0, above: Vec::new(), below: Vec::new() }
}

/// How far a pin is from the middle of its thing, as far as that is known.
fn offset(pin: Pin, things: &[Thing]) -> f64 {
    pin.at.map_or(0.0, |at| at - things[pin.thing].size.0 / 2.0)
}

fn join(slots: &mut [Slot], (above, from): (usize, f64), (below, to): (usize, f64), weight: f64) {
    slots[above].below.push(Joint { other: below, here: from, there: to, weight });
    slots[below].above.push(Joint { other: above, here: to, there: from, weight });
}

impl Layers {
    /// The channel below a layer.
    fn channel(&self, layer: usize, things: &[Thing], nets: &[Net], right: f64) -> Channel {
        let upper = |net: usize| {
            let way = &self.ways[net];
            match layer.checked_sub(way.rank) {
                Some(0) => Some(channel::Upper::Thing(nets[net].from)),
                Some(past) => Some(channel::Upper::Lane(self.slots[*way.lanes.get(past - 1)?].x)),
                None => None,
            }
        };
        let mut routes = Vec::new();
        for (net, way) in self.ways.iter().enumerate() {
            let Some(upper) = upper(net) else { continue };
            let ends = nets[net].to.iter().enumerate().filter(|(_, pin)| self.ranks[pin.thing] == layer + 1);
            let ends: Vec<_> = ends.filter(|_| layer >= way.rank).map(|(end, pin)| (end, *pin)).collect();
            let lane = way.lanes.get(layer - way.rank).map(|&lane| self.slots[lane].x);
            if lane.is_some() || !ends.is_empty() {
                routes.push(channel::Route { net, upper, ends, lane });
            }
        }
        let left = |thing: usize| self.slots[thing].x - things[thing].size.0 / 2.0;
        channel::Channel::new(&routes, things, &left, right)
    }

    /// The corners of one line of a net.
    #[allow(clippy::too_many_arguments)]
    fn line(
        &self,
        net: usize,
        end: usize,
        nets: &[Net],
        things: &[Thing],
        corners: &[Point],
        channels: &[Channel],
        tops: &[f64],
    ) -> Vec<Point> {
        let (from, to) = (nets[net].from.thing, nets[net].to[end].thing);
        let (first, last) = (self.ranks[from], self.ranks[to]);
        let mut points = Vec::new();
        for layer in first..last {
            let Some(path) = channels[layer].path(net, if layer + 1 == last { Some(end) } else { None }) else {
                return Vec::new();
            };
            points.extend(path.into_iter().map(|(x, y)| (x, y + tops[layer])));
        }
        if let (Some(begin), Some(end)) = (points.first().copied(), points.last().copied()) {
            points.insert(0, (begin.0, corners[from].1 + things[from].size.1));
            points.push((end.0, corners[to].1));
        }
        straightened(points)
    }
}

/// Without points on the way of a straight line.
pub(super) fn straightened(points: Vec<Point>) -> Vec<Point> {
    let mut kept: Vec<Point> = Vec::new();
    for point in points {
        if kept.last() == Some(&point) {
            continue;
        }
        if let [.., a, b] = kept[..]
            && ((a.0 == b.0 && b.0 == point.0) || (a.1 == b.1 && b.1 == point.1))
        {
            kept.pop();
        }
        kept.push(point);
    }
    kept
}
