//! Branches of scalar code that read what may fail, as branches of blocks.
//!
//! Programs mean evaluation by need, in scalar code too: `if n > 0 { greatest } else { 0 }` needs the fold `greatest` where its condition holds.
//! Passes place operations by what blocks need, and a `cond` says that in their terms.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use crate::{
    ArrayId, ArrayOp, Binary, Binding, Block, Constant, Fresh, Instruction, Lambda, LambdaBuilder, MAX_NESTING,
    Operand, Program, ScalarOp, ScalarOperand, Type, Var,
    analysis::{
        Definitions, Sizes,
        demand::{Demand, Need, fallible_units},
        effects::binding_can_fail,
        need::{certainly_executed, certainly_read, is_branch},
        restrict::closure,
    },
};

/// The program with a `cond` for each branch of a `unit` that reads what may fail, where nothing else certainly needs that.
///
/// Results and errors are the same. Branches in functions that run for each element stay: they are not decided once.
pub fn with_branches(program: &Program) -> Cow<'_, Program> {
    let risks = Risks::of(program);
    if risks.made_of.is_empty() {
        return Cow::Borrowed(program);
    }
    let fallible = fallible_units(&program.body);
    let mut lazy = HashSet::new();
    for block in program.body.blocks() {
        lazy.extend(lazily_read(block, &risks, &fallible));
    }
    if lazy.is_empty() {
        return Cow::Borrowed(program);
    }
    let bindings: usize = program.body.blocks().map(|block| block.bindings.len()).sum();
    let mut splitting = Splitting { lazy, left: bindings + SMALL };
    let split = program.clone().rewrite(&mut |binding, fresh| {
        let mut out = Vec::new();
        splitting.split(binding, 0, fresh, &mut out);
        out
    });
    if nesting(&split.body) > DEEP { Cow::Borrowed(program) } else { Cow::Owned(split) }
}

/// Branches inside each other are no deeper afterwards, in one piece of code and in the program: else what they read is computed before, as what
/// functions read.
const DEEPEST: usize = 16;
const DEEP: usize = MAX_NESTING / 2;
/// So many branches are made, and as many as there are bindings: each has a copy of what stands before it.
const SMALL: usize = 64;

/// How many blocks are inside each other.
fn nesting(body: &Block) -> usize {
    let (mut deepest, mut waiting) = (0, vec![(body, 1)]);
    while let Some((block, depth)) = waiting.pop() {
        deepest = deepest.max(depth);
        waiting.extend(block.bindings.iter().flat_map(|binding| binding.op.bodies()).map(|body| (body, depth + 1)));
    }
    deepest
}

/// What operations give, but for scalar code that is made of nothing else: a branch can hold that itself.
#[derive(Default)]
struct Risks {
    /// Of operations that may fail.
    own: HashSet<ArrayId>,
    /// Of these, and of what is made of what they give.
    made_of: HashSet<ArrayId>,
}

impl Risks {
    fn of(program: &Program) -> Self {
        let mut risks = Self::default();
        let branches = |binding: &Binding| matches!(&binding.op, ArrayOp::Unit { f } if has_branches(f));
        if !program.body.blocks().flat_map(|block| &block.bindings).any(branches) {
            return risks;
        }
        let (definitions, sizes) = (Definitions::of(program), Sizes::of_program(program));
        // In order of definition: what a block uses from outside is defined before it.
        let mut lists: Vec<std::slice::Iter<'_, Binding>> = vec![program.body.bindings.iter()];
        while let Some(list) = lists.last_mut() {
            let Some(binding) = list.next() else {
                lists.pop();
                continue;
            };
            let ids = binding.results.iter().map(|var| var.id);
            let is_code = matches!(binding.op, ArrayOp::Unit { .. });
            let mut risky = false;
            if !is_code && binding_can_fail(binding, &sizes, &|id| definitions.ty(id)) {
                risks.own.extend(ids.clone());
                risky = true;
            }
            binding.for_each_use(&mut |id| risky |= risks.made_of.contains(&id));
            if risky {
                risks.made_of.extend(ids);
            }
            lists.extend(binding.op.bodies().map(|block| block.bindings.iter()));
        }
        risks
    }
}

fn has_branches(f: &Lambda) -> bool {
    f.instructions.iter().any(|instruction| is_branch(&instruction.op))
}

/// What may fail, and the results of the block need only where a branch of scalar code is taken.
fn lazily_read(block: &Block, risks: &Risks, fallible: &HashSet<ArrayId>) -> HashSet<ArrayId> {
    let mut lazy = HashSet::new();
    let mut demand = Demand::new(fallible, &[]);
    block.results.iter().for_each(|&id| demand.add(id, Need::Now));
    for binding in block.bindings.iter().rev() {
        let Some(need) = binding.results.iter().filter_map(|var| demand.of(var.id)).max() else { continue };
        let wanted = demand.wanted(binding);
        match &binding.op {
            ArrayOp::Unit { f } if has_branches(f) => {
                let certain = certainly_read(f);
                let of = if need == Need::Perhaps { Need::Perhaps } else { Need::Now };
                f.outer_uses(&mut |id| match risks.made_of.contains(&id) && !certain.contains(&id) {
                    true => _ = lazy.insert(id),
                    false => demand.add(id, of),
                });
            }
            ArrayOp::Unit { f } if need == Need::Inlined => demand.function(f),
            _ if wanted.contains(&true) => demand.computed(binding, &closure(binding, &wanted)),
            _ => demand.perhaps(binding),
        }
    }
    if !lazy.is_empty() {
        let made_by: HashMap<ArrayId, &Binding> = block
            .bindings
            .iter()
            .flat_map(|binding| binding.results.iter().map(move |var| (var.id, binding)))
            .collect();
        lazy.retain(|&id| may_fail_alone(id, &made_by, &demand, risks));
    }
    lazy
}

/// Whether something that a value is made of may fail, and is not certainly needed.
fn may_fail_alone(id: ArrayId, made_by: &HashMap<ArrayId, &Binding>, demand: &Demand<'_>, risks: &Risks) -> bool {
    let (mut seen, mut waiting) = (HashSet::new(), vec![id]);
    while let Some(id) = waiting.pop() {
        if demand.of(id) == Some(Need::Now) || !risks.made_of.contains(&id) || !seen.insert(id) {
            continue;
        }
        match made_by.get(&id) {
            Some(binding) if !risks.own.contains(&id) => binding.for_each_use(&mut |id| waiting.push(id)),
            _ => return true,
        }
    }
    false
}

/// Scalar code is being cut at its branches.
struct Splitting {
    lazy: HashSet<ArrayId>,
    /// How many branches may be made yet.
    left: usize,
}

impl Splitting {
    /// Scalar code around a branch that reads lazily: what decides, the branch, and what is computed with what it gives.
    fn split(&mut self, binding: Binding, depth: usize, fresh: &mut Fresh, out: &mut Vec<Binding>) {
        let Binding { results, op: ArrayOp::Unit { f }, place } = binding else { return out.push(binding) };
        if depth > DEEPEST || self.left == 0 {
            return out.push(Binding { results, op: ArrayOp::Unit { f }, place });
        }
        let certain = certainly_read(&f);
        let reads = |code: &Lambda| {
            let mut reads = false;
            code.outer_uses(&mut |id| reads |= self.lazy.contains(&id) && !certain.contains(&id));
            reads
        };
        let branches = reads(&f).then(|| first_branch(&f, &reads)).flatten();
        let Some(Branch { at, condition, ways }) = branches else {
            return out.push(Binding { results, op: ArrayOp::Unit { f }, place });
        };
        self.left -= 1;
        let of = |op: ArrayOp, results: Vec<Var>| Binding { results, op, place: place.clone() };
        let condition = match condition {
            ScalarOperand::Constant(constant) => Operand::Constant(constant),
            ScalarOperand::Outer(id) => Operand::Value(id),
            local @ ScalarOperand::Local(_) => {
                let decides = code(&[], &f.instructions[..at], &[local], &[]);
                let var = Var { id: fresh.id(), ty: Type::scalar(crate::ElementType::Bool), name: "holds".into() };
                let id = var.id;
                self.split(of(ArrayOp::Unit { f: decides }, vec![var]), depth, fresh, out);
                Operand::Value(id)
            }
        };
        let given = &f.instructions[at].results;
        let mut vars = || -> Vec<Var> {
            given
                .iter()
                .map(|local| Var { id: fresh.id(), ty: Type::scalar(local.ty), name: local.name.clone() })
                .collect()
        };
        let own = [vars(), vars()];
        // What the branch gives may be all that the code does.
        let is_all = f.results.iter().copied().eq(given.iter().map(|local| ScalarOperand::Local(local.id)));
        let all = if is_all { results.clone() } else { vars() };
        let arguments: Vec<ScalarOperand> = all.iter().map(|var| ScalarOperand::Outer(var.id)).collect();
        let [then, otherwise] = std::array::from_fn(|side| {
            let results = own[side].iter().map(|var| var.id).collect();
            let mut bindings = Vec::new();
            self.split(of(ArrayOp::Unit { f: ways[side].clone() }, own[side].clone()), depth + 1, fresh, &mut bindings);
            Block { bindings, results, ..Block::default() }
        });
        out.push(of(ArrayOp::Cond { condition, then, otherwise }, all));
        if !is_all {
            let others: Vec<Instruction> = [&f.instructions[..at], &f.instructions[at + 1..]].concat();
            let rest = code(given, &others, &f.results, &arguments);
            self.split(of(ArrayOp::Unit { f: rest }, results), depth, fresh, out);
        }
    }
}

/// An instruction that takes one of two ways.
struct Branch {
    at: usize,
    condition: ScalarOperand,
    /// The code of each, with what it needs of the instructions before.
    ways: [Lambda; 2],
}

/// The first that is certainly executed and takes a way that reads.
fn first_branch(f: &Lambda, reads: &dyn Fn(&Lambda) -> bool) -> Option<Branch> {
    let certain = certainly_executed(f);
    let is_certain = |at: &(usize, &Instruction)| certain.iter().any(|&other| std::ptr::eq(other, at.1));
    f.instructions.iter().enumerate().filter(is_certain).find_map(|(at, instruction)| {
        let before = &f.instructions[..at];
        let constant = |value: bool| Lambda { results: vec![Constant::from(value).into()], ..Lambda::default() };
        let (condition, ways) = match &instruction.op {
            ScalarOp::If { condition, then, otherwise } => {
                let way = |body: &Lambda| code(&[], &[before, &body.instructions].concat(), &body.results, &[]);
                (*condition, [way(then), way(otherwise)])
            }
            ScalarOp::Binary { function: Binary::LogicalAnd, a, b } => {
                (*a, [code(&[], before, &[*b], &[]), constant(false)])
            }
            ScalarOp::Binary { function: Binary::LogicalOr, a, b } => {
                (*a, [constant(true), code(&[], before, &[*b], &[])])
            }
            _ => return None,
        };
        ways.iter().any(reads).then_some(Branch { at, condition, ways })
    })
}

/// Code of these instructions for these results, as far as they need them; arguments stand for locals.
fn code(
    params: &[crate::Local],
    instructions: &[Instruction],
    results: &[ScalarOperand],
    arguments: &[ScalarOperand],
) -> Lambda {
    let f = Lambda { params: params.to_vec(), instructions: instructions.to_vec(), results: results.to_vec() };
    let mut code = LambdaBuilder::new();
    let results = code.call(&f, arguments);
    code.finish_needed(&results)
}

#[cfg(test)]
mod tests {
    use super::with_branches;
    use crate::text;

    fn made(source: &str) -> String {
        let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
        let made = with_branches(&program).into_owned();
        crate::validate(&made, &[]).unwrap_or_else(|errors| panic!("{errors}\n{made}"));
        made.to_string()
    }

    fn unchanged(source: &str) {
        assert_eq!(made(source), text::parse(source).expect("parsed before").to_string());
    }

    #[test]
    fn what_may_fail_moves_under_what_decides() {
        insta::assert_snapshot!(made("fn f(x: [n]i64, k: i64) -> i64 {
            let m: i64 = fold1(|a, b| max(a, b), x)
            let y = if k * 2 > n { m + k } else { k }
            return y: y + 1 }"), @"
        fn f(x: [n]i64, k: i64) -> i64 {
          let m: i64 = fold1(|a, b| max(a, b), x)
          let holds = k * 2 > n
          let y1: i64 = cond(holds, || {
            let a5 = m + k
            return a5 }, || {
            let a6 = k
            return a6 })
          let y = y1 + 1
          return y }
        ");
        insta::assert_snapshot!(made("fn f(x: [n]i64) -> bool {
            let m: i64 = fold1(|a, b| max(a, b), x)
            let y = n > 0 && (n > 5 || m > 3)
            return y }"), @"
        fn f(x: [n]i64) -> bool {
          let m: i64 = fold1(|a, b| max(a, b), x)
          let holds = n > 0
          let y: bool = cond(holds, || {
            let holds1 = n > 5
            let a7: bool = cond(holds1, || {
              let a5 = true
              return a5 }, || {
              let a6 = m > 3
              return a6 })
            return a7 }, || {
            let a8 = false
            return a8 })
          return y }
        ");
    }

    #[test]
    fn what_is_needed_anyway_and_what_cannot_fail_stays() {
        unchanged(
            "fn f(x: [n]i64) -> i64, i64 {
            let m: i64 = fold1(|a, b| max(a, b), x)
            let y = if n > 0 { m } else { 0 }
            return y, z: m + 1 }",
        );
        unchanged(
            "fn f(x: [n]i64) -> i64 {
            let m: i64 = fold(|a, b| max(a, b), 0, x)
            let y = if n > 0 { m } else { 0 }
            return y }",
        );
        // A branch holds scalar code that may fail.
        unchanged(
            "fn f(x: [n]i64) -> i64 {
            let q = 100 / n
            let y = if n > 0 { q + x[0] } else { 0 }
            return y }",
        );
        // More of them than pays: what a branch reads in two ways is in both.
        let chain: String = (1..40)
            .map(|i| format!("let x{i} = if n > {i} {{ if n % 2 == 0 {{ x{0} }} else {{ 0 }} }} else {{ if n % 3 == 0 {{ x{0} }} else {{ 1 }} }}\n", i - 1))
            .collect();
        let long = format!(
            "fn f(x: [n]i64) -> i64 {{
            let x0: i64 = fold1(|a, b| max(a, b), x)
            {chain} return x39 }}"
        );
        assert!(made(&long).lines().count() < 2_000);
        let inside: String = (1..40).map(|i| format!("if n > {i} {{ m + {i} }} else ")).collect();
        made(&format!(
            "fn f(x: [n]i64) -> i64 {{
            let m: i64 = fold1(|a, b| max(a, b), x)
            let y = {inside} {{ 0 }}
            return y }}"
        ));
        // What it is made of is needed.
        unchanged(
            "fn f(x: [n]i64) -> i64, [n]i64 {
            let q: [n]i64 = map(|v| 100 / v, x)
            let m: i64 = fold(|a, b| a + b, 0, q)
            let y = if n > 3 { m } else { 0 }
            return y, q }",
        );
    }
}
