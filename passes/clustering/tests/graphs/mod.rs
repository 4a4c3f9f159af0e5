//! Random graphs.

use std::collections::BTreeSet;

use fusebox_clustering::{Complete, Edge, Graph, Kind, Node, Output, Source};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// A graph of up to `most` operations. Extents: 0 is n, 1 is n + 1, 2 are rows, 3 is what an expand makes, 4 is a scalar.
pub fn graph(seed: u64, most: usize) -> Graph {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut graph = Graph { externals: vec!["x".into(), "y".into()], ..Graph::default() };
    let mut arrays: Vec<(Source, u32)> = vec![(Source::External(0), 0), (Source::External(1), 0)];
    let (mut special, mut expands) = (0, 10);
    let count = 3 + random.below(most - 2);
    for position in 0..count {
        let mut kind = match random.below(22) {
            0..=7 => Kind::Elementwise,
            8 => Kind::Source,
            9 | 10 => Kind::Gather { order: (random.below(3) == 0).then_some(0) },
            11 => Kind::Fold,
            12 | 13 => Kind::FoldAll,
            14 => Kind::ScanLeft { longer: random.below(2) == 0 },
            15 => Kind::ScanRight { longer: random.below(2) == 0 },
            16 => Kind::Permute { any_order: random.below(2) == 0 },
            17..=19 => Kind::Expand,
            20 => Kind::PermutedExpand,
            _ => Kind::FoldSegments,
        };
        if matches!(kind, Kind::Gather { .. } | Kind::Expand) {
            special += 1;
            if special > 3 {
                kind = Kind::Elementwise;
            }
        }
        let (_, extents) = arrays[random.below(arrays.len())];
        let readable: Vec<Source> = arrays.iter().filter(|(_, of)| *of == extents).map(|(from, _)| *from).collect();
        let mut from = BTreeSet::new();
        if kind != Kind::Source {
            from.insert(readable[random.below(readable.len())]);
            if matches!(kind, Kind::Elementwise | Kind::Permute { .. }) && random.below(2) == 0 {
                from.insert(readable[random.below(readable.len())]);
            }
        }
        let longer = matches!(kind, Kind::ScanLeft { longer: true } | Kind::ScanRight { longer: true });
        let (made, inner) = match kind {
            Kind::Fold => (2, Some(random.below(2) as u32)),
            Kind::FoldSegments => (2, Some(7)),
            Kind::FoldAll => (4, None),
            Kind::Expand => {
                expands += 1;
                (expands, None)
            }
            _ if longer => (extents + 100, None),
            Kind::Source => (if random.below(4) == 0 { 1 } else { 0 }, None),
            _ => (extents, None),
        };
        let result = random.below(4) == 0;
        for &from in &from {
            let complete = (random.below(12) == 0).then_some(Complete::Indexed);
            graph.edges.push(Edge { from, to: position, complete });
        }
        if random.below(3) == 0 {
            let (from, _) = arrays[random.below(arrays.len())];
            if let Source::Output(..) = from {
                graph.edges.push(Edge { from, to: position, complete: Some(Complete::Scalar) });
            }
        }
        graph.nodes.push(Node {
            name: format!("v{position}"),
            place: String::new(),
            kind,
            extents,
            inner: None,
            outputs: vec![Output { extents: made, result, inner }],
            need: u32::from(random.below(12) == 0),
            segments: (kind == Kind::FoldSegments).then(|| random.below(2) as u32),
            expensive: seed % 4 == 3 && position % 2 == 0,
        });
        arrays.push((Source::Output(position, 0), made));
        if longer {
            // What runs over n elements may read it too.
            arrays.push((Source::Output(position, 0), extents));
        }
    }
    graph
}
