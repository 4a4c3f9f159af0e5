//! Folds without seeds whose results nothing needs where their rows are empty: folds from the identity of their function.
//!
//! `map(|x| x - greatest, a)` runs for no element if `a` is empty, and needs no `greatest` then. Flat and compiled programs compute it all the
//! same, for all rows at once, and would fail for the empty ones.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Constant, Extent, Operand, Part, Program, Type,
    analysis::{algebra::identities, elements},
};

/// Gives seeds to folds whose results are needed only where their rows have elements.
pub(crate) fn with_identities(program: Program) -> Program {
    let may_be_one = |block: &Block| block.bindings.iter().any(|binding| identities_of(binding).is_some());
    if !program.body.blocks().any(may_be_one) {
        return program;
    }
    let mut needs = Needs::default();
    program.body.for_each_definition(&mut |var| _ = needs.types.insert(var.id, var.ty.clone()));
    needs.block(&program.body, &vec![Need::Always; program.body.results.len()]);
    let found = needs.never_empty;
    if found.is_empty() {
        return program;
    }
    program.rewrite(&mut |mut binding, _| {
        if binding.results.first().is_some_and(|var| found.contains(&var.id))
            && let Some(identities) = identities_of(&binding)
            && let ArrayOp::Fold { seeds, .. } = &mut binding.op
        {
            *seeds = identities.into_iter().map(Operand::Constant).collect();
        }
        vec![binding]
    })
}

/// The identities of a fold of rows that has no seeds.
fn identities_of(binding: &Binding) -> Option<Vec<Constant>> {
    match &binding.op {
        ArrayOp::Fold { combine, seeds, offsets: None, .. } if seeds.is_empty() => identities(combine),
        _ => None,
    }
}

/// When a value is needed.
#[derive(Clone)]
enum Need {
    Always,
    /// Only where all extents of one of these lists are positive.
    Where(Vec<Vec<Extent>>),
}

/// With more lists than this a value counts as always needed.
const MOST_LISTS: usize = 8;

impl Need {
    const NEVER: Self = Self::Where(Vec::new());

    fn or(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::Where(own), Self::Where(others)) => {
                for list in others {
                    if !own.contains(list) {
                        own.push(list.clone());
                    }
                }
                if own.len() > MOST_LISTS {
                    *self = Self::Always;
                }
            }
            _ => *self = Self::Always,
        }
    }

    /// Needed only where these extents are positive, too.
    fn and(&self, extents: &[Extent]) -> Self {
        let mut lists = match self {
            Self::Always => vec![Vec::new()],
            Self::Where(lists) => lists.clone(),
        };
        if extents.is_empty() {
            return self.clone();
        }
        for list in &mut lists {
            list.extend(extents.iter().filter(|extent| !list.contains(extent)).copied().collect::<Vec<_>>());
        }
        Self::Where(lists)
    }

    fn only_where_positive(&self, extent: Extent) -> bool {
        matches!(self, Self::Where(lists) if lists.iter().all(|list| list.contains(&extent)))
    }
}

/// What is needed of the values of a program, found from each block's last binding to its first.
#[derive(Default)]
struct Needs {
    types: HashMap<ArrayId, Type>,
    known: HashMap<ArrayId, Need>,
    /// The first results of folds without seeds that nothing needs where a row is empty.
    never_empty: HashSet<ArrayId>,
}

impl Needs {
    fn needed(&mut self, id: ArrayId, need: &Need) {
        self.known.entry(id).or_insert(Need::NEVER).or(need);
    }

    fn block(&mut self, block: &Block, results: &[Need]) {
        for (&id, need) in block.results.iter().zip(results) {
            self.needed(id, need);
        }
        for binding in block.bindings.iter().rev() {
            let each: Vec<Need> =
                binding.results.iter().map(|var| self.known.get(&var.id).cloned().unwrap_or(Need::NEVER)).collect();
            self.binding(binding, &each);
        }
    }

    /// A binding whose results are needed like this.
    fn binding(&mut self, binding: &Binding, each: &[Need]) {
        let mut any = Need::NEVER;
        each.iter().for_each(|need| any.or(need));
        if let (Some(first), Some(_), Some(row)) = (binding.results.first(), identities_of(binding), self.row(binding))
            && any.only_where_positive(row)
        {
            self.never_empty.insert(first.id);
        }
        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| self.needed(id, &Need::Always)));
        let extents = match &binding.op {
            ArrayOp::Nest { .. } => binding.results.first().map(|var| var.ty.extents.clone()),
            _ => elements::extents(binding, &|id| self.types.get(&id)),
        };
        let extents = extents.unwrap_or_default();
        let of_elements = any.and(&extents);
        for part in binding.op.parts() {
            match part {
                Part::Function(f) => f.outer_uses(&mut |id| self.needed(id, &of_elements)),
                Part::Array(id) => self.needed(*id, &any),
                Part::Inner(id) => self.needed(*id, &Need::Always),
                Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => {
                    self.needed(*id, &Need::Always);
                }
                Part::Value(Operand::Constant(_)) | Part::Argument(Operand::Constant(_)) => {}
                Part::Body(body) => {
                    let results = match &binding.op {
                        ArrayOp::Cond { .. } => each.to_vec(),
                        ArrayOp::Nest { .. } => each.iter().map(|need| need.and(&extents)).collect(),
                        _ => vec![Need::Always; body.results.len()],
                    };
                    self.block(body, &results);
                }
            }
        }
    }

    /// The extent of the rows of a fold, if it is not a constant.
    fn row(&self, binding: &Binding) -> Option<Extent> {
        let ArrayOp::Fold { sources, .. } = &binding.op else { return None };
        let extent = *self.types.get(sources.first()?)?.extents.last()?;
        matches!(extent, Extent::Value(_)).then_some(extent)
    }
}

#[cfg(test)]
mod tests {
    use fusebox_ir::text::parse;

    use super::with_identities;

    /// Whether the fold of this program gets a seed.
    fn is_seeded(source: &str) -> bool {
        let program = parse(source).unwrap_or_else(|error| panic!("{error}"));
        let text = with_identities(program).to_string();
        assert!(text.contains("fold"), "{text}");
        !text.contains("fold1(")
    }

    #[test]
    fn needed_by_functions_of_the_same_elements() {
        assert!(is_seeded(
            "fn f(x: [n]f64) -> [n]f64 {
             let m: f64 = fold1(|a, b| max(a, b), x)
             let y: [n]f64 = map(|v| v - m, x)
             return y }"
        ));
        // By way of scalar code, and of an array that is needed there only.
        assert!(is_seeded(
            "fn f(x: [n]f64, k: i64) -> [n]f64 {
             let m: f64 = fold1(|a, b| max(a, b), x)
             let half = m / 2.0
             let all: [k]f64 = generate([k], |i| half)
             let y: [n]f64 = map(|v| v - all[0], x)
             return y }"
        ));
    }

    #[test]
    fn rows() {
        let rows = |result: &str, uses: &str| {
            format!(
                "fn f(x: [n, m]f64) -> {result} {{
                 let g: [n]f64 = fold1(|a, b| max(a, b), x)
                 {uses}
                 return y }}"
            )
        };
        assert!(is_seeded(&rows("[n, m]f64", "let y: [n, m]f64 = generate([n, m], |i, j| x[i, j] - g[i])")));
        // Rows without elements have a result here.
        assert!(!is_seeded(&rows("[n]f64", "let y: [n]f64 = generate([n], |i| g[i])")));
        assert!(!is_seeded(&rows("[n]f64", "let y: [n]f64 = map(|v| -v, g)")));
    }

    #[test]
    fn in_lanes() {
        assert!(is_seeded(
            "fn f(o: [r]i64, x: [n]f64) -> [r][?]f64 {
             let y: [r][?]f64 = nest([r], |i| {
               let a = o[i]
               let row: [a]f64 = generate([a], |j| x[j])
               let m: f64 = fold1(|p, q| max(p, q), row)
               let z: [a]f64 = map(|v| v - m, row)
               return z })
             return y }"
        ));
    }

    #[test]
    fn not_where_something_else_needs_it() {
        let with = |fold: &str, uses: &str, result: &str| {
            format!(
                "fn f(x: [n]f64, w: [k]f64) -> {result} {{
                 let m: f64 = fold1({fold}, x)
                 let y: [n]f64 = map(|v| v - m, x)
                 {uses} }}"
            )
        };
        let max = "|a, b| max(a, b)";
        assert!(is_seeded(&with(max, "return y", "[n]f64")));
        assert!(!is_seeded(&with(max, "return m", "f64")));
        assert!(!is_seeded(&with(max, "let z: [k]f64 = map(|v| v - m, w) return y, z", "[n]f64, [k]f64")));
        assert!(!is_seeded(&with(max, "let s: f64 = fold(|a, b| a + b, m, w) return y, s", "[n]f64, f64")));
        // Without an identity.
        assert!(!is_seeded(&with("|a, b| a * b + 1.0", "return y", "[n]f64")));
    }
}
