//! The model of Robinson, Lippmeier and Keller, "Fusing Filters with Integer Linear Programming", FHPC 2014.

use std::collections::{BTreeMap, HashMap};

use fusebox_ir::analysis::UnionFind;

use crate::{Error, Model};

/// An operation; operands are positions of earlier ones, or inputs from [`INPUT`] on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Combinator {
    /// An array to a scalar.
    Fold {
        /// The array.
        source: usize,
    },
    /// Arrays of one size to one of that size.
    Map {
        /// The arrays.
        sources: Vec<usize>,
    },
    /// Elements that are kept, of a size of their own.
    Filter {
        /// The array.
        source: usize,
    },
    /// An array of a size of its own.
    Generate,
    /// `data[indices]`.
    Gather {
        /// What is read at any index.
        data: usize,
        /// What is traversed.
        indices: usize,
    },
    /// All pairs.
    Cross {
        /// What is traversed.
        first: usize,
        /// What is read again and again.
        second: usize,
    },
    /// Anything else.
    External {
        /// What it reads.
        sources: Vec<usize>,
    },
}

/// Operands from here on are arrays that exist before.
pub const INPUT: usize = 1 << 20;

/// A program: operations, and for each the scalars (folds, by position) that its function uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Operations in order.
    pub operations: Vec<(Combinator, Vec<usize>)>,
}

/// The model and what its variables stand for.
#[derive(Clone, Debug)]
pub struct Robinson {
    /// To be minimised.
    pub model: Model,
    /// The variable of a pair, the first before the second: 0 where it is fused.
    pub fused: BTreeMap<(usize, usize), usize>,
    /// The variable of each array that need not be stored: 0 where it is not.
    pub stored: BTreeMap<usize, usize>,
}

/// Edges from one operation to another, and whether they may be fused.
fn edges(program: &Program) -> Result<BTreeMap<(usize, usize), bool>, Error> {
    let mut edges: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    for (to, (op, scalars)) in program.operations.iter().enumerate() {
        let (open, closed): (Vec<usize>, Vec<usize>) = match op {
            Combinator::Fold { source } | Combinator::Filter { source } => (vec![*source], vec![]),
            Combinator::Map { sources } => (sources.clone(), vec![]),
            Combinator::Generate => (vec![], vec![]),
            Combinator::Gather { data, indices } => (vec![*indices], vec![*data]),
            Combinator::Cross { first, second } => (vec![*first], vec![*second]),
            Combinator::External { sources } => (vec![], sources.clone()),
        };
        let open = open.into_iter().map(|from| (from, true));
        let closed = closed.iter().chain(scalars).map(|&from| (from, false));
        for (from, fusible) in open.chain(closed).filter(|(from, _)| *from < INPUT) {
            if from >= to {
                return Err(Error::Graph { what: format!("operation {to} reads {from}, which is no earlier one") });
            }
            let made = &program.operations[from].0;
            let fusible = fusible && !matches!(made, Combinator::Fold { .. } | Combinator::External { .. });
            *edges.entry((from, to)).or_insert(true) &= fusible;
        }
    }
    Ok(edges)
}

/// What sizes are equal: of what each operation runs over, if it has one, and of what it makes.
struct Sizes {
    runs: Vec<Option<usize>>,
    made: Vec<usize>,
}

fn sizes(program: &Program) -> Sizes {
    let count = program.operations.len();
    let mut inputs: HashMap<usize, usize> = HashMap::new();
    // Sizes: of operation i what it makes is i, inputs and products follow.
    let mut all = count;
    let mut links: Vec<(usize, usize)> = Vec::new();
    let mut products: HashMap<(usize, usize), usize> = HashMap::new();
    let mut runs = Vec::with_capacity(count);
    for (position, (op, _)) in program.operations.iter().enumerate() {
        let mut size = |of: usize| {
            if of < INPUT {
                return of;
            }
            *inputs.entry(of).or_insert_with(|| {
                all += 1;
                all - 1
            })
        };
        runs.push(match op {
            Combinator::Fold { source } | Combinator::Filter { source } => Some(size(*source)),
            Combinator::Map { sources } => {
                links.extend(sources.iter().map(|&source| (size(source), position)));
                Some(position)
            }
            Combinator::Generate => Some(position),
            Combinator::Gather { indices, .. } => {
                links.push((size(*indices), position));
                Some(position)
            }
            Combinator::Cross { first, second } => {
                let key = (size(*first), size(*second));
                let same = *products.entry(key).or_insert(position);
                links.push((same, position));
                Some(position)
            }
            Combinator::External { .. } => None,
        });
    }
    let mut unite = UnionFind::new(all);
    links.iter().for_each(|&(a, b)| _ = unite.unite(a, b));
    let runs = runs.into_iter().map(|size| size.map(|size| unite.find(size))).collect();
    Sizes { runs, made: (0..count).map(|position| unite.find(position)).collect() }
}

/// Builds the model of a program.
///
/// # Errors
/// [`Error::Graph`] if an operation reads what is no earlier one.
pub fn robinson(program: &Program) -> Result<Robinson, Error> {
    let edges = edges(program)?;
    let count = program.operations.len();
    let sizes = sizes(program);
    // Whether a way leads from one to the other, and whether one through an edge that is not fusible.
    let (mut ways, mut closed) = (vec![vec![false; count]; count], vec![vec![false; count]; count]);
    for from in (0..count).rev() {
        for (&(_, to), &fusible) in edges.range((from, 0)..(from + 1, 0)) {
            ways[from][to] = true;
            closed[from][to] |= !fusible;
            for end in 0..count {
                let (way, shut) = (ways[to][end], closed[to][end]);
                ways[from][end] |= way;
                closed[from][end] |= shut || (way && !fusible);
            }
        }
    }
    let read = |position: usize| -> Vec<usize> {
        match &program.operations[position].0 {
            Combinator::Fold { source } | Combinator::Filter { source } => vec![*source],
            Combinator::Map { sources } | Combinator::External { sources } => sources.clone(),
            Combinator::Generate => vec![],
            Combinator::Gather { data, indices } => vec![*data, *indices],
            Combinator::Cross { first, second } => vec![*first, *second],
        }
    };
    // The filter whose elements an operation runs over.
    let transducer = |position: usize| {
        let runs = sizes.runs[position]?;
        (0..count).find(|&other| {
            matches!(program.operations[other].0, Combinator::Filter { .. }) && sizes.made[other] == runs
        })
    };
    let parents = |a: usize, b: usize| {
        let (mut found, mut open, mut steps) = (None, vec![(a, b)], 0);
        while let Some((a, b)) = open.pop()
            && steps < 2 * count * count
        {
            steps += 1;
            if sizes.runs[a].is_some() && sizes.runs[a] == sizes.runs[b] {
                found = Some((a, b));
                break;
            }
            open.extend(transducer(a).filter(|&other| other != a).map(|other| (other, b)));
            open.extend(transducer(b).filter(|&other| other != b).map(|other| (a, other)));
        }
        found
    };
    let n = count.max(1) as f64;
    let (none, any) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut model = Model::default();
    let cluster: Vec<usize> =
        (0..count).map(|position| model.variable(format!("pi_{position}"), (0.0, n), false, 0.0)).collect();
    let mut fused = BTreeMap::new();
    for (a, closed) in closed.iter().enumerate() {
        for b in (a + 1..count).filter(|&b| !closed[b]) {
            let near = edges.contains_key(&(a, b)) || read(a).iter().any(|of| read(b).contains(of));
            let weight = if near { n * n } else { 1.0 };
            fused.insert((a, b), model.variable(format!("x_{a}_{b}"), (0.0, 1.0), true, weight));
        }
    }
    let mut stored = BTreeMap::new();
    for (position, (op, _)) in program.operations.iter().enumerate() {
        if !matches!(op, Combinator::Fold { .. }) {
            stored.insert(position, model.variable(format!("c_{position}"), (0.0, 1.0), true, n));
        }
    }
    for (&(a, b), &fusible) in &edges {
        if let Some(&c) = stored.get(&a) {
            match fused.get(&(a, b)) {
                Some(&x) if fusible => model.row(format!("c_{a}_{b}"), &[(c, 1.0), (x, -1.0)], 0.0, any),
                _ => model.row(format!("c_{a}_{b}"), &[(c, 1.0)], 1.0, 1.0),
            }
        }
        if !fusible {
            model.row(format!("before_{a}_{b}"), &[(cluster[b], 1.0), (cluster[a], -1.0)], 1.0, any);
        } else if !fused.contains_key(&(a, b)) {
            model.row(format!("after_{a}_{b}"), &[(cluster[b], 1.0), (cluster[a], -1.0)], 0.0, any);
        }
    }
    for (&(a, b), &x) in &fused {
        let least = if edges.contains_key(&(a, b)) { -1.0 } else { n };
        model.row(format!("least_{a}_{b}"), &[(cluster[b], 1.0), (cluster[a], -1.0), (x, least)], 0.0, any);
        model.row(format!("most_{a}_{b}"), &[(cluster[b], 1.0), (cluster[a], -1.0), (x, -n)], none, 0.0);
        if sizes.runs[a].is_some() && sizes.runs[a] == sizes.runs[b] {
            continue;
        }
        let Some((pa, pb)) = parents(a, b).filter(|_| sizes.runs[a].is_some() && sizes.runs[b].is_some()) else {
            model.row(format!("never_{a}_{b}"), &[(x, 1.0)], 1.0, 1.0);
            continue;
        };
        for (i, j) in [(pa, a), (pb, b), (pa, pb)] {
            let pair = (i.min(j), i.max(j));
            if i != j && pair != (a, b) {
                match fused.get(&pair) {
                    Some(&other) => {
                        model.row(format!("with_{a}_{b}_{i}_{j}"), &[(x, 1.0), (other, -1.0)], 0.0, any);
                    }
                    None => model.row(format!("with_{a}_{b}_{i}_{j}"), &[(x, 1.0)], 1.0, 1.0),
                }
            }
        }
    }
    Ok(Robinson { model, fused, stored })
}
