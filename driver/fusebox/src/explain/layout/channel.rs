//! Lines between two neighbouring layers: straight down to a track, level along it, straight down again.

use std::collections::BTreeMap;

use super::{LANE, MARGIN, Pin, Point, TRACK, Thing, place::pooled};

/// Lines that are nearer than this might be taken for one.
const NEAR: f64 = 5.0;

/// A net in a channel.
pub(super) struct Route {
    pub net: usize,
    pub upper: Upper,
    /// Ends in the layer below, by their number in the net.
    pub ends: Vec<(usize, Pin)>,
    /// Its lane in the layer below.
    pub lane: Option<f64>,
}

/// Where a net comes from.
pub(super) enum Upper {
    Thing(Pin),
    Lane(f64),
}

/// The lines between two layers; y counts from the lower side of the upper one.
pub(super) struct Channel {
    wires: Vec<Wire>,
    /// How many tracks nets have as their own; below them are those of nets that go around others.
    levels: usize,
    tracks: usize,
}

/// A net in a channel with its places.
struct Wire {
    net: usize,
    top: f64,
    /// Where it goes: an end by its number, or its lane in the next layer.
    bottoms: Vec<Bottom>,
    track: usize,
}

struct Bottom {
    end: Option<usize>,
    x: f64,
    /// Where another net would be in its way below the track: the column beside that it takes, and its second track there.
    beside: Option<(f64, usize)>,
}

impl Wire {
    fn straight(&self) -> bool {
        self.bottoms.iter().all(|bottom| bottom.x == self.top)
    }

    /// From where to where it runs level.
    fn span(&self) -> (f64, f64) {
        let xs = || self.bottoms.iter().map(|bottom| bottom.beside.map_or(bottom.x, |(x, _)| x)).chain([self.top]);
        (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max))
    }

    /// Whether its track may not be above that of `other`: it ends where the other begins.
    fn blocked(&self, other: &Self) -> bool {
        self.bottoms.iter().any(|bottom| bottom.beside.is_none() && bottom.x != self.top && near(bottom.x, other.top))
    }

    /// How bad it is if its track is above that of `other`: lines cross, or run over one another.
    fn above(&self, other: &Self) -> usize {
        let (mine, its) = (self.span(), other.span());
        let inside = |x: f64, (low, high): (f64, f64)| low < x && x < high;
        let cross = usize::from(inside(other.top, mine));
        let crosses = self.bottoms.iter().filter(|bottom| inside(bottom.x, its)).count();
        cross + crosses + if self.blocked(other) { 1000 } else { 0 }
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < NEAR
}

impl Channel {
    pub(super) fn new(routes: &[Route], things: &[Thing], left: &dyn Fn(usize) -> f64, right: f64) -> Self {
        let tops = tops(routes, things, left);
        let bottoms = bottoms(routes, &tops, things, left);
        let wire = |(at, route): (usize, &Route)| Wire {
            net: route.net,
            top: tops[at],
            bottoms: (route.ends.iter().map(|(end, _)| (Some(*end), bottoms[&(at, *end)])))
                .chain(route.lane.map(|x| (None, x)))
                .map(|(end, x)| Bottom { end, x, beside: None })
                .collect(),
            track: 0,
        };
        let mut wires: Vec<Wire> = routes.iter().enumerate().map(wire).collect();
        sort(&mut wires);
        let second = go_beside(&mut wires, right);
        let levels = give(&mut wires);
        Self { wires, levels, tracks: levels + second }
    }

    pub(super) fn height(&self) -> f64 {
        2.0 * MARGIN + TRACK * self.tracks.saturating_sub(1) as f64 + if self.tracks == 0 { 4.0 } else { 0.0 }
    }

    /// The corners of a net's line to one of its ends, or to its lane.
    pub(super) fn path(&self, net: usize, end: Option<usize>) -> Option<Vec<Point>> {
        let wire = self.wires.iter().find(|wire| wire.net == net)?;
        let bottom = wire.bottoms.iter().find(|bottom| bottom.end == end)?;
        let y = |track: usize| MARGIN + TRACK * track as f64;
        let mut points = vec![(wire.top, 0.0)];
        match bottom.beside {
            None if bottom.x == wire.top => {}
            None => points.extend([(wire.top, y(wire.track)), (bottom.x, y(wire.track))]),
            Some((x, track)) => points.extend([
                (wire.top, y(wire.track)),
                (x, y(wire.track)),
                (x, y(self.levels + track)),
                (bottom.x, y(self.levels + track)),
            ]),
        }
        points.push((bottom.x, self.height()));
        Some(points)
    }
}

/// Where nets leave the layer above: those of a thing beside each other, straight above where they go if that is below the thing.
fn tops(routes: &[Route], things: &[Thing], left: &dyn Fn(usize) -> f64) -> Vec<f64> {
    let mut of_thing: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut tops = vec![0.0; routes.len()];
    for (at, route) in routes.iter().enumerate() {
        match route.upper {
            Upper::Lane(x) => tops[at] = x,
            Upper::Thing(Pin { thing, at: Some(x) }) => tops[at] = left(thing) + x,
            Upper::Thing(Pin { thing, at: None }) => of_thing.entry(thing).or_default().push(at),
        }
    }
    for (thing, nets) in of_thing {
        let (width, left_side) = (things[thing].size.0, left(thing));
        let (low, high) = (left_side + LANE, left_side + width - LANE);
        let middle = left_side + (width / 2.0).round();
        let mut goals: Vec<(f64, usize)> = Vec::new();
        for at in nets {
            let pin = |pin: &Pin| left(pin.thing) + pin.at.unwrap_or((things[pin.thing].size.0 / 2.0).round());
            let mut below: Vec<f64> = routes[at].ends.iter().map(|(_, end)| pin(end)).chain(routes[at].lane).collect();
            below.retain(|x| low <= *x && *x <= high);
            // Of several the nearest to the middle.
            let goal = below.into_iter().min_by(|a, b| (a - middle).abs().total_cmp(&(b - middle).abs()));
            goals.push((goal.unwrap_or(middle), at));
        }
        goals.sort_by(|a, b| a.0.total_cmp(&b.0));
        let step = (2.0 * LANE).min((high - low) / goals.len() as f64);
        let rising = pooled(goals.iter().enumerate().map(|(position, goal)| (goal.0 - step * position as f64, 1.0)));
        let most = (high - step * (goals.len() as f64 - 1.0)).max(low);
        for (position, ((_, at), x)) in goals.iter().zip(rising).enumerate() {
            tops[*at] = x.clamp(low, most) + step * position as f64;
        }
    }
    tops
}

/// Where nets enter the layer below: straight below where they come from, as far as there is room. By route and end.
fn bottoms(
    routes: &[Route],
    tops: &[f64],
    things: &[Thing],
    left: &dyn Fn(usize) -> f64,
) -> BTreeMap<(usize, usize), f64> {
    let mut places = BTreeMap::new();
    let mut of_thing: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, route) in routes.iter().enumerate() {
        for &(end, pin) in &route.ends {
            match pin.at {
                Some(x) => drop(places.insert((at, end), left(pin.thing) + x)),
                None => of_thing.entry(pin.thing).or_default().push((at, end)),
            }
        }
    }
    for (thing, mut pins) in of_thing {
        let (width, left) = (things[thing].size.0, left(thing));
        let (low, high) = (left + LANE, left + width - LANE);
        pins.sort_by(|a, b| tops[a.0].total_cmp(&tops[b.0]));
        let step = LANE.min((high - low) / pins.len() as f64);
        // Rising by at least a step, and inside.
        let wanted = pins.iter().enumerate().map(|(position, pin)| (tops[pin.0] - step * position as f64, 1.0));
        let (least, most) = (low, high - step * (pins.len() as f64 - 1.0));
        let rising = pooled(wanted);
        for (position, (pin, x)) in pins.iter().zip(rising).enumerate() {
            let x = x.clamp(least, most.max(least)) + step * position as f64;
            let exact = if near(x, tops[pin.0]) && (x - tops[pin.0]).abs() < 0.5 { tops[pin.0] } else { x.round() };
            places.insert(*pin, exact);
        }
        // Not where another net begins, if there is room beside.
        for position in 0..pins.len() {
            let (pin, x) = (pins[position], places[&pins[position]]);
            let taken = |x: f64| {
                let begins = tops.iter().enumerate().any(|(at, top)| at != pin.0 && near(*top, x));
                let ends = pins.iter().any(|other| *other != pin && (places[other] - x).abs() < step - 0.5);
                begins || ends || x < low || x > high
            };
            if x != tops[pin.0] && taken(x) {
                let beside = [6.0, -6.0, 12.0, -12.0, 18.0, -18.0].map(|by| x + by);
                if let Some(free) = beside.into_iter().find(|x| !taken(*x)) {
                    places.insert(pin, free);
                }
            }
        }
    }
    places
}

/// Puts nets into an order from above in which few lines cross: neighbours change places as long as that is better.
fn sort(wires: &mut [Wire]) {
    wires.sort_by(|a, b| a.top.total_cmp(&b.top));
    for _ in 0..wires.len() {
        let mut better = false;
        for at in 1..wires.len() {
            if wires[at].above(&wires[at - 1]) < wires[at - 1].above(&wires[at]) {
                wires.swap(at - 1, at);
                better = true;
            }
        }
        if !better {
            break;
        }
    }
}

/// Gives each net a track below those before it that it would meet; how many there are.
fn give(wires: &mut [Wire]) -> usize {
    let mut count = 0;
    for at in 0..wires.len() {
        if wires[at].straight() {
            continue;
        }
        let (before, rest) = wires.split_at_mut(at);
        let wire = &mut rest[0];
        let (low, high) = wire.span();
        let meets = |other: &&Wire| {
            let span = other.span();
            !other.straight() && ((span.0 < high + NEAR && low < span.1 + NEAR) || wire.blocked(other))
        };
        wire.track = before.iter().filter(meets).map(|other| other.track + 1).max().unwrap_or(0);
        count = count.max(wire.track + 1);
    }
    count
}

/// Leads nets that end where another begins that comes after them, and so may be lower, around it; how many tracks that takes.
fn go_beside(wires: &mut [Wire], right: f64) -> usize {
    let mut columns: Vec<f64> =
        wires.iter().flat_map(|wire| wire.bottoms.iter().map(|bottom| bottom.x).chain([wire.top])).collect();
    let mut second = 0;
    for at in 0..wires.len() {
        for end in 0..wires[at].bottoms.len() {
            let x = wires[at].bottoms[end].x;
            if x == wires[at].top || !wires[at + 1..].iter().any(|other| near(other.top, x)) {
                continue;
            }
            // As near as may be, and inside of the drawing.
            let steps = (1..=(right / 2.0) as usize + 100).flat_map(|by| [x - 2.0 * by as f64, x + 2.0 * by as f64]);
            let free = |column: &f64| columns.iter().all(|other| !near(*other, *column));
            let inside = |column: &f64| (0.0..=right).contains(column);
            if let Some(column) = steps.into_iter().find(|column| free(column) && inside(column)) {
                wires[at].bottoms[end].beside = Some((column, second));
                columns.push(column);
                second += 1;
            }
        }
    }
    second
}
