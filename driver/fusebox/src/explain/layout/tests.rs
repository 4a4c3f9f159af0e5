//! No line runs through a thing, and no two nets over each other.

use super::*;

fn thing(width: f64, height: f64) -> Thing {
    Thing { size: (width, height), layer: Layer::Any }
}

fn net(from: usize, to: &[usize]) -> Net {
    let pin = |thing| Pin { thing, at: None };
    Net { from: pin(from), to: to.iter().map(|&to| pin(to)).collect() }
}

fn areas(layout: &Layout, things: &[Thing]) -> Vec<[f64; 4]> {
    let area = |((x, y), thing): (&Point, &Thing)| [*x, *y, x + thing.size.0, y + thing.size.1];
    layout.corners.iter().zip(things).map(area).collect()
}

/// Segments with the net that they are of.
fn segments(layout: &Layout) -> Vec<(usize, Point, Point)> {
    let lines = layout.lines.iter().enumerate().flat_map(|(net, lines)| lines.iter().map(move |line| (net, line)));
    lines.flat_map(|(net, line)| line.windows(2).map(move |pair| (net, pair[0], pair[1]))).collect()
}

fn check(things: &[Thing], nets: &[Net]) -> Layout {
    let layout = layered(things, nets);
    let areas = areas(&layout, things);
    for (i, a) in areas.iter().enumerate() {
        assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= layout.size.0 && a[3] <= layout.size.1, "{a:?}");
        for b in &areas[i + 1..] {
            assert!(a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1], "{a:?} {b:?}");
        }
    }
    for (net, lines) in nets.iter().zip(&layout.lines) {
        for (pin, line) in net.to.iter().zip(lines) {
            let (from, to) = (areas[net.from.thing], areas[pin.thing]);
            let (first, last) = (line[0], line[line.len() - 1]);
            assert!(from[0] <= first.0 && first.0 <= from[2] && first.1 == from[3], "{line:?} leaves {from:?}");
            assert!(to[0] <= last.0 && last.0 <= to[2] && last.1 == to[1], "{line:?} enters {to:?}");
        }
    }
    let all = segments(&layout);
    for (net, a, b) in &all {
        assert!(a.0 == b.0 || a.1 == b.1, "level or straight down");
        let (low, high) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
        for area in &areas {
            let through = low.0 < area[2] && area[0] < high.0 && low.1 < area[3] && area[1] < high.1;
            let along = (low.0 > area[0] && low.0 < area[2] && low.1 < area[3] && area[1] < high.1)
                || (low.1 > area[1] && low.1 < area[3] && low.0 < area[2] && area[0] < high.0);
            assert!(!through && !along, "{a:?} {b:?} of net {net} is in {area:?}");
        }
        for (other, c, d) in all.iter().filter(|(other, ..)| other != net) {
            let upright = a.0 == b.0 && c.0 == d.0 && (a.0 - c.0).abs() < 2.0;
            let level = a.1 == b.1 && c.1 == d.1 && (a.1 - c.1).abs() < 2.0;
            let shared_x = a.0.min(b.0) < c.0.max(d.0) && c.0.min(d.0) < a.0.max(b.0);
            let shared_y = a.1.min(b.1) < c.1.max(d.1) && c.1.min(d.1) < a.1.max(b.1);
            assert!(!(upright && shared_y || level && shared_x), "nets {net} and {other} share {a:?} {b:?}");
        }
    }
    layout
}

#[test]
fn lines_stay_clear_of_things_and_of_each_other() {
    // A wide and a narrow way, and lines past several layers.
    let things: Vec<Thing> = (0..12).map(|i| thing(70.0 + 17.0 * f64::from(i % 5), 30.0 + f64::from(i))).collect();
    let nets = [net(0, &[1, 2, 3, 6, 10]), net(1, &[4]), net(2, &[4]), net(3, &[5]), net(4, &[6]), net(5, &[6])];
    let more = [net(7, &[6]), net(8, &[9]), net(10, &[11])];
    let layout = check(&things, &[&nets[..], &more[..]].concat());
    assert!(layout.corners[0].1 < layout.corners[6].1, "lines go down");
}

#[test]
fn many_nets_between_the_same_things() {
    // All of one layer to all of the next, twice: as tight as it gets.
    let things: Vec<Thing> = (0..15).map(|_| thing(120.0, 40.0)).collect();
    let all = |from: std::ops::Range<usize>, to: std::ops::Range<usize>| {
        from.map(move |at| net(at, &to.clone().collect::<Vec<_>>())).collect::<Vec<_>>()
    };
    check(&things, &[all(0..5, 5..10), all(5..10, 10..15), vec![net(0, &[12]), net(1, &[11, 13])]].concat());
}

#[test]
fn two_nets_that_change_sides_do_not_share_a_column() {
    // The pins of both things stand above each other, crosswise.
    let pin = |thing, at| Pin { thing, at: Some(at) };
    let things = [thing(60.0, 20.0), thing(60.0, 20.0)];
    let nets = [Net { from: pin(0, 20.0), to: vec![pin(1, 40.0)] }, Net { from: pin(0, 40.0), to: vec![pin(1, 20.0)] }];
    check(&things, &nets);
}

#[test]
fn generated_graphs() {
    let mut state = 7_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..200 {
        let count = 2 + random(24);
        let mut things: Vec<Thing> =
            (0..count).map(|_| thing(40.0 + random(120) as f64, 20.0 + random(40) as f64)).collect();
        let mut nets = Vec::new();
        for from in 0..count - 1 {
            let mut to: Vec<usize> = (0..random(4)).map(|_| from + 1 + random(count - from - 1)).collect();
            to.sort_unstable();
            to.dedup();
            if !to.is_empty() {
                nets.push(net(from, &to));
            }
        }
        for (at, thing) in things.iter_mut().enumerate() {
            let pins = nets.iter().flat_map(|net| &net.to).filter(|pin| pin.thing == at).count();
            thing.size.0 = thing.size.0.max(9.0 * (pins + 3) as f64);
        }
        check(&things, &nets);
    }
}

#[test]
fn ports_stand_in_the_first_and_last_layer_in_their_order() {
    let mut things = vec![thing(60.0, 20.0); 6];
    (things[2].layer, things[3].layer) = (Layer::First(1), Layer::First(0));
    (things[4].layer, things[5].layer) = (Layer::Last(0), Layer::Last(1));
    let layout = check(&things, &[net(2, &[0]), net(3, &[1]), net(0, &[1, 5]), net(1, &[4])]);
    assert!(layout.corners[3].0 < layout.corners[2].0 && layout.corners[4].0 < layout.corners[5].0);
    assert_eq!((layout.corners[2].1, layout.corners[3].1), (0.0, 0.0));
    assert_eq!(layout.corners[4].1 + 20.0, layout.size.1);
}

#[test]
fn one_thing_is_where_all_of_it_is_and_circles_end() {
    let one = layered(&[thing(10.0, 20.0)], &[]);
    assert_eq!((one.corners[0], one.size), ((0.0, 0.0), (10.0, 20.0)));
    assert_eq!(layered(&[], &[]).size, (0.0, 0.0));
    assert_eq!(layered(&vec![thing(1.0, 1.0); 2], &[net(0, &[1]), net(1, &[0])]).corners.len(), 2);
}
