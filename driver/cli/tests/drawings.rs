//! The drawings of all golden programs: no line runs behind a box, and lines that have nothing to do with each other share no lane.

use std::{fs, path::Path};

use fusebox::{Link, Options};

type Point = (f64, f64);

struct Line {
    from: String,
    to: String,
    link: String,
    points: Vec<Point>,
}

/// The value of an attribute.
fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    tag.split_once(&format!(" {name}=\""))?.1.split('"').next()
}

fn number(tag: &str, name: &str) -> f64 {
    attribute(tag, name).unwrap_or_else(|| panic!("{name} of {tag}")).parse().unwrap()
}

fn area(tag: &str) -> [f64; 4] {
    let (x, y) = (number(tag, "x"), number(tag, "y"));
    [x, y, x + number(tag, "width"), y + number(tag, "height")]
}

/// The corners of a path; that of a rounded one is the middle point of its curve.
fn corners(path: &str) -> Vec<Point> {
    let numbers = |text: &str| -> Vec<f64> { text.split([' ', ',']).map(|number| number.parse().unwrap()).collect() };
    let mut points: Vec<Point> = Vec::new();
    for (at, letter) in path.match_indices(|c: char| c.is_ascii_alphabetic()) {
        let rest = &path[at + 1..];
        let values = numbers(&rest[..rest.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest.len())]);
        assert!(matches!(letter, "M" | "L" | "Q"), "{path}");
        points.extend(values.chunks(2).map(|pair| (pair[0], pair[1])));
    }
    points
}

fn lines(svg: &str) -> Vec<Line> {
    let tags = svg.split("<path ").skip(1).filter(|tag| tag.starts_with("class=\"edge"));
    tags.map(|tag| {
        let tag = format!(" {tag}");
        let get = |name: &str| attribute(&tag, name).unwrap_or_else(|| panic!("{name} of {tag}")).to_owned();
        Line { from: get("data-from"), to: get("data-to"), link: get("class"), points: corners(&get("d")) }
    })
    .collect()
}

/// Nodes by their names, and clusters.
fn boxes(svg: &str) -> (Vec<(String, [f64; 4])>, Vec<[f64; 4]>) {
    let nodes = svg.split("<g id=\"").skip(1).map(|group| {
        let rect = group.split("<rect ").nth(1).unwrap();
        (group.split('"').next().unwrap().to_owned(), area(&format!(" {rect}")))
    });
    let clusters = svg.split("<rect class=\"cluster\"").skip(1).map(area);
    (nodes.collect(), clusters.collect())
}

/// Whether a segment runs through the inside of a box, or along it.
fn through(a: Point, b: Point, area: [f64; 4]) -> bool {
    let (low, high) = ((a.0.min(b.0), a.1.min(b.1)), (a.0.max(b.0), a.1.max(b.1)));
    let slack = 0.3; // numbers are printed with one digit behind the point
    low.0 < area[2] - slack
        && area[0] + slack < high.0.max(low.0 + slack)
        && low.1 < area[3] - slack
        && area[1] + slack < high.1
}

/// Whether two segments run over each other for a way.
fn share((a, b): (Point, Point), (c, d): (Point, Point)) -> bool {
    let overlap = |a: f64, b: f64, c: f64, d: f64| a.max(b).min(c.max(d)) - a.min(b).max(c.min(d)) > 1.0;
    let upright = (a.0 - b.0).abs() < 0.3 && (c.0 - d.0).abs() < 0.3 && (a.0 - c.0).abs() < 2.0;
    let level = (a.1 - b.1).abs() < 0.3 && (c.1 - d.1).abs() < 0.3 && (a.1 - c.1).abs() < 2.0;
    (upright && overlap(a.1, b.1, c.1, d.1)) || (level && overlap(a.0, b.0, c.0, d.0))
}

/// What is wrong with a drawing.
fn faults(svg: &str) -> Vec<String> {
    let (nodes, clusters) = boxes(svg);
    let of = |name: &str| nodes.iter().find(|node| node.0 == name).unwrap().1;
    let lines = lines(svg);
    let mut faults = Vec::new();
    for line in &lines {
        let mine = |cluster: &[f64; 4]| {
            [of(&line.from), of(&line.to)].iter().any(|node| {
                node[0] >= cluster[0] && node[2] <= cluster[2] && node[1] >= cluster[1] && node[3] <= cluster[3]
            })
        };
        for pair in line.points.windows(2) {
            let ends = |name: &str| (name == line.from || name == line.to) && pair.len() == 2;
            for (name, area) in &nodes {
                if through(pair[0], pair[1], *area) && !(ends(name) && touches(line, *area)) {
                    faults.push(format!("{} to {} runs behind {name}", line.from, line.to));
                }
            }
            for cluster in clusters.iter().filter(|cluster| !mine(cluster)) {
                if through(pair[0], pair[1], *cluster) {
                    faults.push(format!("{} to {} runs behind a cluster", line.from, line.to));
                }
            }
        }
    }
    for (at, line) in lines.iter().enumerate() {
        for other in lines[at + 1..].iter().filter(|other| other.from != line.from || other.link != line.link) {
            let pairs = || line.points.windows(2).flat_map(|a| other.points.windows(2).map(move |b| (a, b)));
            if pairs().any(|(a, b)| share((a[0], a[1]), (b[0], b[1]))) {
                faults.push(format!("{} to {} and {} to {} share a lane", line.from, line.to, other.from, other.to));
            }
        }
    }
    faults
}

/// Whether a line only begins or ends at the box: no end of a segment is inside of it.
fn touches(line: &Line, area: [f64; 4]) -> bool {
    line.points
        .iter()
        .all(|p| !(area[0] + 0.3 < p.0 && p.0 < area[2] - 0.3 && area[1] + 0.3 < p.1 && p.1 < area[3] - 0.3))
}

#[test]
fn faults_are_found() {
    let node = |name: &str, x: u32, y: u32| {
        format!(
            "<g id=\"{name}\" class=\"node\"><rect x=\"{x}.0\" y=\"{y}.0\" width=\"40.0\" height=\"20.0\" rx=\"5\"/></g>\n"
        )
    };
    let edge = |from: &str, to: &str, d: &str| {
        format!("<path class=\"edge given\" data-from=\"{from}\" data-to=\"{to}\" d=\"{d}\"/>\n")
    };
    let nodes = node("a", 0, 0) + &node("b", 0, 100) + &node("c", 0, 50);
    // Straight down it is behind `c`; around it is not.
    assert_eq!(faults(&(nodes.clone() + &edge("a", "b", "M20.0 20.0L20.0 100.0"))), ["a to b runs behind c"]);
    let around = edge(
        "a",
        "b",
        "M30.0 20.0L30.0 31.0Q30.0 35.0 34.0 35.0L46.0 35.0Q50.0 35.0 50.0 39.0L50.0 90.0L30.0 90.0L30.0 100.0",
    );
    assert_eq!(faults(&(nodes.clone() + &around)), Vec::<String>::new());
    // Of two sources in one lane; of one source.
    let beside = |from: &str| edge(from, "c", "M30.0 20.0L30.0 30.0L10.0 30.0L10.0 50.0");
    assert_eq!(faults(&(nodes.clone() + &around + &beside("b"))).len(), 1);
    assert_eq!(faults(&(nodes + &around + &beside("a"))), Vec::<String>::new());
}

#[test]
fn no_line_of_a_golden_program_runs_behind_a_box() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/programs");
    let mut programs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.sort();
    let (mut all, mut drawn) = (Vec::new(), 0);
    for path in &programs {
        let name = path.file_stem().unwrap().to_string_lossy();
        let program = fusebox::ir::text::parse(&fs::read_to_string(path).unwrap()).unwrap();
        let explanation = fusebox::explain(&program, &Options::default()).unwrap();
        let page = explanation.to_html();
        for (graph, svg) in explanation.graphs.iter().zip(page.split("<div class=\"scroll graph\"").skip(1)) {
            let svg = svg.split("</svg>").next().unwrap();
            all.extend(faults(svg).into_iter().map(|fault| format!("{name}: {fault}")));
            // No line is left out.
            let lines = lines(svg);
            for edge in graph.edges.iter().filter(|edge| edge.link != Link::Horizontal) {
                let end = |line: &str, node: usize| line.ends_with(&format!("n{node}"));
                let found = lines.iter().any(|line| end(&line.from, edge.from) && end(&line.to, edge.to));
                assert!(found, "{name}: no line from {} to {}", edge.from, edge.to);
            }
            drawn += lines.len();
        }
    }
    assert!(all.is_empty(), "{} faults\n{}", all.len(), all.join("\n"));
    assert!(drawn > 1000, "{drawn} lines");
}
