//! Random programs in random clusters: kernels of several operations mean what the operations mean.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_QUICK=1` a tenth of them, `FUSEBOX_PROGRAMS=N` as many as it says for each test.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem::{Discriminant, discriminant},
    panic::{AssertUnwindSafe, catch_unwind},
};

use fusebox_interp::{Error, run, run_plan};
use fusebox_ir::{
    Array, ArrayId, ArrayOp, Binding, Block, ClusterMark, Constant, Fault, Fresh, Mark, Operand, Order, PartMut,
    Program, Property, Type, Value, Var,
    analysis::{
        Definitions, Sizes, live, makes_elements,
        spine::{Members, spine},
    },
    generate::{Config, inputs, minimize, program},
    validate, validate_plan,
};

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Everything that a binding names.
fn uses(binding: &Binding) -> HashSet<ArrayId> {
    let mut used = HashSet::new();
    binding.op.for_each_use(&mut |id| _ = used.insert(id));
    binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| _ = used.insert(id)));
    used
}

/// Operations in random clusters that share a nest, in every block.
fn clustered(program: &Program, seed: u64) -> (Program, usize) {
    let mut program = program.clone();
    let facts = program.clone();
    let mut together = Together {
        definitions: Definitions::of(&facts),
        sizes: Sizes::of_program(&facts),
        fresh: Fresh::new(&program),
        dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        fused: 0,
    };
    let mut body = std::mem::take(&mut program.body);
    together.block(&mut body);
    program.body = body;
    let fused = together.fused;
    (program.renumbered(), fused)
}

struct Together<'p> {
    definitions: Definitions<'p>,
    sizes: Sizes,
    fresh: Fresh,
    dice: Dice,
    fused: usize,
}

impl Together<'_> {
    fn block(&mut self, block: &mut Block) {
        let needed = live(block);
        let bindings: Vec<Binding> = std::mem::take(&mut block.bindings)
            .into_iter()
            .zip(needed)
            .filter(|(_, live)| *live)
            .map(|(b, _)| b)
            .collect();
        let groups = self.groups(&bindings, &block.results);
        let group_of: HashMap<ArrayId, usize> = groups
            .iter()
            .enumerate()
            .flat_map(|(group, members)| members.iter().map(move |&at| (group, at)))
            .flat_map(|(group, at)| bindings[at].results.iter().map(move |var| (var.id, group)))
            .collect();
        let mut outside: HashSet<ArrayId> = block.results.iter().copied().collect();
        for (group, members) in groups.iter().enumerate() {
            for id in members.iter().flat_map(|&at| uses(&bindings[at])) {
                if group_of.get(&id).is_some_and(|&of| of != group) {
                    outside.insert(id);
                }
            }
        }
        let mut names: HashMap<ArrayId, ArrayId> = HashMap::new();
        for members in &groups {
            let mut list: Vec<Binding> = members.iter().map(|&at| bindings[at].clone()).collect();
            let own: HashSet<ArrayId> = list.iter().flat_map(|binding| &binding.results).map(|var| var.id).collect();
            for binding in &mut list {
                for part in binding.op.parts_mut() {
                    if let PartMut::Body(inner) = part {
                        self.block(inner);
                    }
                }
                binding.substitute(&mut |id| Operand::Value(names.get(&id).copied().unwrap_or(id)));
            }
            if !makes_elements(&list[0].op) {
                block.bindings.extend(list);
                continue;
            }
            self.fused += usize::from(list.len() > 1);
            let chosen = results(&list, &outside);
            let mut vars = Vec::new();
            for var in list.iter().flat_map(|binding| &binding.results).filter(|var| chosen.contains(&var.id)) {
                let id = self.fresh.id();
                let mut ty: Type = var.ty.clone();
                ty.substitute(&mut |id| Operand::Value(names.get(&id).copied().unwrap_or(id)));
                names.insert(var.id, id);
                vars.push((var.id, Var { id, ty, name: var.name.clone() }));
            }
            let _ = own;
            let marks = marks(&list, &chosen);
            let place = list[0].place.clone();
            let body = Block { bindings: list, results: vars.iter().map(|(id, _)| *id).collect(), ..Block::default() };
            let op = ArrayOp::Cluster { body, marks, order: Order::Ascending };
            block.bindings.push(Binding { results: vars.into_iter().map(|(_, var)| var).collect(), op, place });
        }
        block.results.iter_mut().for_each(|id| *id = names.get(id).copied().unwrap_or(*id));
    }

    /// Positions of bindings that are together, in an order in which each is behind what it uses.
    fn groups(&mut self, bindings: &[Binding], given: &[ArrayId]) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut by: HashMap<ArrayId, Vec<usize>> = HashMap::new();
        for (at, binding) in bindings.iter().enumerate() {
            uses(binding).into_iter().for_each(|id| by.entry(id).or_default().push(at));
        }
        for (at, binding) in bindings.iter().enumerate() {
            let used = uses(binding);
            // Behind the last group that it uses; into any from there on.
            let least = groups
                .iter()
                .rposition(|group| {
                    group.iter().any(|&of| bindings[of].results.iter().any(|var| used.contains(&var.id)))
                })
                .unwrap_or(0);
            let mut joined = false;
            if makes_elements(&binding.op) && self.dice.below(8) > 0 {
                let mut candidates: Vec<usize> = (least..groups.len()).collect();
                while !candidates.is_empty() && !joined {
                    let candidate = candidates.swap_remove(self.dice.below(candidates.len()));
                    let mut members = groups[candidate].clone();
                    members.push(at);
                    if self.fits(bindings, &members, &by, given) {
                        groups[candidate] = members;
                        joined = true;
                    }
                }
            }
            if !joined {
                groups.push(vec![at]);
            }
        }
        groups
    }

    fn fits(
        &self,
        bindings: &[Binding],
        members: &[usize],
        by: &HashMap<ArrayId, Vec<usize>>,
        given: &[ArrayId],
    ) -> bool {
        let list: Vec<&Binding> = members.iter().map(|&at| &bindings[at]).collect();
        if !list.iter().all(|binding| makes_elements(&binding.op)) {
            return false;
        }
        let used = |id: ArrayId| {
            given.contains(&id) || by.get(&id).is_some_and(|users| users.iter().any(|user| !members.contains(user)))
        };
        let outside: HashSet<ArrayId> =
            list.iter().flat_map(|binding| &binding.results).map(|var| var.id).filter(|&id| used(id)).collect();
        let owned: Vec<Binding> = list.iter().map(|&binding| binding.clone()).collect();
        let chosen = results(&owned, &outside);
        let members = Members {
            bindings: &list,
            manifest: &|id| chosen.contains(&id),
            type_of: &|id| self.definitions.ty(id),
            sizes: &self.sizes,
        };
        spine(&members).is_ok()
    }
}

/// What of a group is used outside, with the sizes of that.
fn results(list: &[Binding], outside: &HashSet<ArrayId>) -> HashSet<ArrayId> {
    let mut chosen: HashSet<ArrayId> =
        list.iter().flat_map(|binding| &binding.results).map(|var| var.id).filter(|id| outside.contains(id)).collect();
    let own: HashSet<ArrayId> = list.iter().flat_map(|binding| &binding.results).map(|var| var.id).collect();
    for var in list.iter().flat_map(|binding| &binding.results) {
        if chosen.contains(&var.id) {
            var.ty.for_each_use(&mut |id| {
                if own.contains(&id) {
                    chosen.insert(id);
                }
            });
        }
    }
    chosen
}

fn marks(list: &[Binding], chosen: &HashSet<ArrayId>) -> Vec<ClusterMark> {
    let mut used = HashSet::new();
    let mut marks = Vec::new();
    for (position, binding) in list.iter().enumerate().rev() {
        let is_result = binding.results.iter().any(|var| chosen.contains(&var.id));
        let is_used = binding.results.iter().any(|var| used.contains(&var.id));
        let mark = match (is_used, is_result) {
            _ if position + 1 == list.len() => Mark::Last,
            (true, false) => Mark::Vertical,
            (true, true) => Mark::Diagonal,
            (false, _) => Mark::Horizontal,
        };
        marks.push(ClusterMark { mark, order: None });
        used.extend(uses(binding));
    }
    marks.reverse();
    marks
}

/// To the bit, but for sign and payload of NaN.
fn is_same(a: Constant, b: Constant) -> bool {
    a == b || matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if a.is_nan() && b.is_nan())
}

fn same(left: &Value, right: &Value) -> bool {
    let all = |left: &Array, right: &Array| {
        left.element() == right.element()
            && left.extents() == right.extents()
            && left.constants().zip(right.constants()).all(|(a, b)| is_same(a, b))
    };
    matches!((left, right), (Value::Array(left), Value::Array(right)) if all(left, right))
}

/// What kind of fault an error is, if it is one of programs.
fn kind_of(error: &Error) -> Option<Discriminant<Fault>> {
    if let Error::Run(error) = error { Some(discriminant(&error.fault)) } else { None }
}

/// The kind of fault with which the plan of each operation by itself fails, if it does.
fn fails_apart(program: &Program, given: &[Value]) -> Option<Option<Discriminant<Fault>>> {
    let (plan, _) = crate::strict::lower(program, &fusebox_kernels::Config::default()).ok()?;
    run_plan(&plan, given).err().map(|error| kind_of(&error))
}

/// What is wrong with a program in clusters; how many hold several operations.
fn fault(program: &Program, seed: u64, config: &Config) -> (Option<String>, usize) {
    let mut fused = 0;
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let given = inputs(program, seed, config);
        let expected = run(program, &given);
        if let (Err(error), false) = (&expected, config.may_fail) {
            return Some(format!("the program fails: {error}"));
        }
        let strict = match fusebox_strictness::make_strict(program, &fusebox_strictness::Config::default()) {
            Ok((strict, _)) => strict,
            Err(error) => return Some(format!("not strict: {error}")),
        };
        let (clusters, count) = clustered(&strict, seed);
        fused = count;
        if let Err(errors) = validate(&clusters, &[Property::Flat, Property::Strict, Property::Clustered]) {
            return Some(format!("not valid: {errors}\n{clusters}"));
        }
        let plan = match fusebox_kernels::lower(&clusters, &fusebox_kernels::Config::default()) {
            Ok((plan, _)) => plan,
            Err(error) => return Some(format!("not lowered: {error}\n{clusters}")),
        };
        if let Err(errors) = validate_plan(&plan) {
            return Some(format!("the plan is not valid: {errors}\n{clusters}\n{plan}"));
        }
        match (expected, run_plan(&plan, &given)) {
            (Ok(expected), Ok((found, _))) => {
                expected.iter().zip(&found).zip(&program.outputs).find_map(|((e, f), output)| {
                    (!same(e, f)).then(|| {
                        format!("other results: `{}` is\n  {f:?}, should be\n  {e:?}\n{clusters}\n{plan}", output.name)
                    })
                })
            }
            // Where the plan without clusters fails too (an array that only a function reads is computed before it), they are not the reason.
            (Ok(_), Err(error)) => {
                fails_apart(program, &given).is_none().then(|| format!("it alone fails: {error}\n{clusters}\n{plan}"))
            }
            (Err(expected), Err(error @ fusebox_interp::Error::BadPlan { .. })) => {
                Some(format!("it fails otherwise: {error}, should be {expected}\n{clusters}\n{plan}"))
            }
            // Clusters change no meaning: where each operation by itself fails, so do they, and in the same way.
            (Err(_), found) => {
                let found = found.map(|_| ()).map_err(|error| kind_of(&error));
                let apart = fails_apart(program, &given);
                let same = match (&found, apart) {
                    (_, None) => true,
                    (Ok(()), Some(_)) => false,
                    (Err(found), Some(apart)) => *found == apart,
                };
                (!same).then(|| format!("another error: {found:?} instead of {apart:?}\n{clusters}\n{plan}"))
            }
        }
    }));
    let fault = checked.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        Some(format!(
            "panic {}",
            message.or(panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
        ))
    });
    (fault, fused)
}

fn seeds(count: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    match (number("FUSEBOX_SEED"), number("FUSEBOX_PROGRAMS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, Some(programs)) => 0..programs,
        (None, None) if std::env::var_os("FUSEBOX_QUICK").is_some() => 0..count / 10,
        (None, None) => 0..count,
    }
}

fn check(count: u64, config: &Config) {
    let kind = |fault: &str| fault.chars().take_while(|&c| c != ':').take(60).collect::<String>();
    let mut faults: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let mut clusters = 0;
    for seed in seeds(count) {
        let (fault, fused) = fault(&program(seed, config), seed, config);
        clusters += fused;
        if let Some(fault) = fault {
            let known = faults.entry(kind(&fault)).or_insert((0, seed));
            known.0 += 1;
            if known.0 == 1 {
                eprintln!("seed {seed}, before it is made smaller: {fault}");
            }
        }
    }
    eprintln!("{clusters} clusters of several operations");
    let mut report = String::new();
    for (which, (times, seed)) in faults {
        let small = minimize(&program(seed, config), &mut |smaller| {
            self::fault(smaller, seed, config).0.is_some_and(|fault| kind(&fault) == which)
        });
        let given: Vec<String> = inputs(&small, seed, config).iter().map(|value| format!("{value:?}")).collect();
        let fault = self::fault(&small, seed, config).0.unwrap_or_default();
        report +=
            &format!("\n{times} times, first seed {seed} (FUSEBOX_SEED={seed}):\n{fault}\n{}\n", given.join("\n"));
    }
    assert!(report.is_empty(), "{report}");
}

#[test]
fn clusters_mean_what_their_operations_mean() {
    check(1_000, &Config { max_bindings: 20, ..Config::default() });
}

#[test]
fn clusters_fail_only_where_their_operations_do() {
    check(500, &Config { max_bindings: 20, may_fail: true, ..Config::default() });
}
