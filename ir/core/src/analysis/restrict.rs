//! Operations without the results that nobody needs: what only these use cannot fail then.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use crate::{
    ArrayId, ArrayOp, Binding, ElementType, Extent, Lambda, Local, LocalId, Name, Operand, Part, Type,
    analysis::{
        Answer, Sizes,
        components::{dependencies, groups, live, restricted, which_live},
        effects::instruction_can_fail,
        need::{for_each_use, local},
    },
    operations::{Made, Signature},
};

/// Results that are made when those wanted are: sizes in their types, and what cannot be made apart.
pub fn closure(binding: &Binding, wanted: &[bool]) -> Vec<bool> {
    let mut wanted = wanted.to_vec();
    match &binding.op {
        ArrayOp::Expand { get, .. } => {
            wanted[0] = true;
            // It has to make some elements: those that cannot fail.
            if !wanted[1..].contains(&true) {
                let fails =
                    |at: &usize| live(&get.instructions, &get.results[*at..=*at]).iter().any(instruction_can_fail);
                if let Some(at) = (0..get.results.len()).find(|at| !fails(at)) {
                    wanted[1 + at] = true;
                }
            }
        }
        ArrayOp::Filter { keep, .. } => {
            // A source that only `keep` looks at stays, and so does its result.
            let used = used_locals(keep);
            wanted[0] = true;
            for (param, wanted) in keep.params.iter().zip(&mut wanted[1..]) {
                *wanted |= used.contains(&param.id);
            }
            // Some source says how many elements there are.
            wanted[1] |= !wanted[1..].contains(&true);
        }
        ArrayOp::Sort { keys, .. } => wanted[..keys.len()].fill(true),
        op if op.is_lanes() => wanted.chunks_exact_mut(2).for_each(|pair| pair.fill(pair.contains(&true))),
        _ => match Signature::of(binding, &|_| None).made {
            Made::ByFunction(_) | Made::BySource | Made::ByBlock => {}
            Made::ByCombining(combine) => {
                let forms = wanted.len() / combine.results.len().max(1);
                closed(combine, &mut wanted, forms);
            }
            Made::Together => wanted.fill(true),
        },
    }
    with_sizes(binding, &wanted)
}

/// Results with the sizes in their types that the same binding gives.
pub fn with_sizes(binding: &Binding, wanted: &[bool]) -> Vec<bool> {
    let mut wanted = wanted.to_vec();
    // Sizes stand before the arrays whose types name them.
    for at in (0..wanted.len()).rev() {
        if wanted[at] {
            for extent in &binding.results[at].ty.extents {
                let size = binding.results.iter().position(|var| *extent == Extent::Value(var.id));
                if let Some(size) = size {
                    wanted[size] = true;
                }
            }
        }
    }
    wanted
}

/// A component is wanted in all its forms, and with those it depends on.
fn closed(combine: &Lambda, wanted: &mut [bool], forms: usize) {
    let k = combine.results.len();
    let dependencies = dependencies(combine);
    loop {
        let before = wanted.iter().filter(|&&w| w).count();
        for component in 0..k {
            if (0..forms).any(|form| wanted[form * k + component]) {
                for &other in &dependencies[component] {
                    (0..forms).for_each(|form| wanted[form * k + other] = true);
                }
            }
        }
        if wanted.iter().filter(|&&w| w).count() == before {
            break;
        }
    }
}

fn chosen<T: Clone>(list: &[T], wanted: &[bool]) -> Vec<T> {
    list.iter().zip(wanted).filter(|(_, wanted)| **wanted).map(|(item, _)| item.clone()).collect()
}

/// Keeps the chosen results and what they depend on; says which parameters are still used.
fn narrowed(f: &mut Lambda, wanted: &[bool]) -> Vec<bool> {
    f.results = chosen(&f.results, wanted);
    let (live, used) = which_live(&f.instructions, &f.results);
    f.instructions = chosen(&f.instructions, &live);
    f.params.iter().map(|param| used.contains(&param.id)).collect()
}

fn used_locals(f: &Lambda) -> FxHashSet<LocalId> {
    let mut used: FxHashSet<LocalId> = f.results.iter().filter_map(local).collect();
    f.instructions.iter().for_each(|instruction| for_each_use(instruction, &mut |id| _ = used.insert(id)));
    used
}

/// Keeps the components that are wanted; `wanted` may go on with other forms of them.
fn narrow_components(combine: &mut Lambda, wanted: &[bool]) {
    let components: Vec<usize> = (0..combine.results.len()).filter(|&c| wanted[c]).collect();
    *combine = restricted(combine, &components);
}

/// Keeps the sources that one of the functions of an expand uses; the first if none does, as some source says how many there are.
fn narrow_sources(size: &mut Lambda, get: &mut Lambda, sources: &mut Vec<ArrayId>) {
    // Locals are numbered in each function by itself.
    let (by_size, by_get) = (used_locals(size), used_locals(get));
    let used = |(s, g): (&Local, &Local)| by_size.contains(&s.id) || by_get.contains(&g.id);
    let mut used: Vec<bool> = size.params.iter().zip(&get.params).map(used).collect();
    if let (false, Some(first)) = (used.contains(&true), used.first_mut()) {
        *first = true;
    }
    *sources = chosen(sources, &used);
    size.params = chosen(&size.params, &used);
    let position = get.params.last().cloned();
    get.params = chosen(&get.params, &used);
    get.params.extend(position);
}

/// The binding with the wanted results alone (closed as by [`closure`]), for operations that hold no block, and for lanes that run one at a time.
pub fn restrict<'a>(binding: &'a Binding, wanted: &[bool]) -> Cow<'a, Binding> {
    if !wanted.contains(&false) && is_needed_whole(&binding.op) {
        return Cow::Borrowed(binding);
    }
    let mut binding = binding.clone();
    let rank = binding.results.first().map_or(0, |var| var.ty.rank());
    binding.results = chosen(&binding.results, wanted);
    match &mut binding.op {
        ArrayOp::Unit { f } | ArrayOp::Generate { f, .. } => {
            narrowed(f, wanted);
        }
        ArrayOp::Map { f, sources } | ArrayOp::Transform { f, sources, .. } => {
            let used = narrowed(f, wanted);
            *sources = chosen(sources, &used);
            f.params = chosen(&f.params, &used);
        }
        ArrayOp::Stencil { f, taps, boundaries } => {
            let used = narrowed(f, wanted);
            *taps = chosen(taps, &used);
            f.params = chosen(&f.params, &used);
            boundaries.retain(|boundary| taps.iter().any(|tap| tap.array == boundary.array));
        }
        ArrayOp::Compute { sources }
        | ArrayOp::Backpermute { sources, .. }
        | ArrayOp::Replicate { sources, .. }
        | ArrayOp::ReplicateSegments { sources, .. }
        | ArrayOp::Slice { sources, .. }
        | ArrayOp::Reshape { sources, .. } => *sources = chosen(sources, wanted),
        ArrayOp::Fold { combine, seeds, sources, .. } | ArrayOp::Scan { combine, seeds, sources, .. } => {
            narrow_components(combine, wanted);
            *seeds = chosen(seeds, wanted);
            *sources = chosen(sources, wanted);
        }
        ArrayOp::Expand { size, get, sources } => {
            narrowed(get, &wanted[1..]);
            narrow_sources(size, get, sources);
        }
        ArrayOp::Permute { combine, defaults, values, .. } => {
            narrow_components(combine, wanted);
            *defaults = chosen(defaults, wanted);
            *values = chosen(values, wanted);
        }
        ArrayOp::PermutedExpand { size, get, combine, defaults, sources, .. } => {
            narrow_components(combine, wanted);
            *defaults = chosen(defaults, wanted);
            // Targets stand before the values, whether the element is kept behind them.
            let mut given = vec![true; rank];
            given.extend(wanted);
            given.resize(get.results.len(), true);
            narrowed(get, &given);
            narrow_sources(size, get, sources);
        }
        ArrayOp::Filter { keep, sources } => {
            *sources = chosen(sources, &wanted[1..]);
            keep.params = chosen(&keep.params, &wanted[1..]);
        }
        ArrayOp::Sort { keys, carry } => *carry = chosen(carry, &wanted[keys.len()..]),
        ArrayOp::Consume { body, sinks, .. } if sinks.len() * 2 == wanted.len() => {
            let wanted: Vec<bool> = wanted.chunks_exact(2).map(|pair| pair[0]).collect();
            *sinks = chosen(sinks, &wanted);
            body.results = chosen(&body.results, &wanted);
        }
        ArrayOp::Constant { .. }
        | ArrayOp::Concat { .. }
        | ArrayOp::Nest { .. }
        | ArrayOp::Element { .. }
        | ArrayOp::Cond { .. }
        | ArrayOp::While { .. }
        | ArrayOp::Foreign { .. }
        | ArrayOp::Consume { .. }
        | ArrayOp::Cluster { .. } => {}
    }
    Cow::Owned(without_sources(binding))
}

/// Whether all results together need everything that the operation holds: `false` where that takes as long to find out as to cut it.
fn is_needed_whole(op: &ArrayOp) -> bool {
    let needed = |f: &Lambda, params: bool| {
        let (live, used) = which_live(&f.instructions, &f.results);
        !live.contains(&false) && (!params || f.params.iter().all(|param| used.contains(&param.id)))
    };
    match op {
        ArrayOp::Unit { f } | ArrayOp::Generate { f, .. } => needed(f, false),
        ArrayOp::Map { f, sources } | ArrayOp::Transform { f, sources, .. } => !sources.is_empty() && needed(f, true),
        ArrayOp::Stencil { f, taps, .. } => !taps.is_empty() && needed(f, true),
        ArrayOp::Fold { combine, .. } | ArrayOp::Scan { combine, .. } | ArrayOp::Permute { combine, .. } => {
            needed(combine, false)
        }
        ArrayOp::Expand { .. } | ArrayOp::PermutedExpand { .. } | ArrayOp::Filter { .. } => false,
        _ => true,
    }
}

/// An operation whose function looks at no source is a `generate`.
fn without_sources(mut binding: Binding) -> Binding {
    let f = match &mut binding.op {
        ArrayOp::Map { f, sources } | ArrayOp::Transform { f, sources, .. } if sources.is_empty() => f,
        ArrayOp::Stencil { f, taps, .. } if taps.is_empty() => f,
        _ => return binding,
    };
    let mut f = std::mem::take(f);
    let extents = binding.results.first().map_or(&[][..], |var| &var.ty.extents);
    let next = f.next_local().0;
    let index = |dim: usize| Local { id: LocalId(next + dim as u32), ty: ElementType::I64, name: Name::default() };
    f.params = (0..extents.len()).map(index).collect();
    let operand = |extent: &Extent| match *extent {
        Extent::Value(id) => Operand::Value(id),
        Extent::Constant(number) => Operand::Constant(number.into()),
        Extent::Unknown => unreachable!("extents of results of operations are known"),
    };
    let extents = extents.iter().map(operand).collect();
    binding.op = ArrayOp::Generate { extents, f };
    binding
}

/// The operation cut into some that share nothing but, of combining operations, targets and sources.
pub fn independent(binding: &Binding) -> Vec<Cow<'_, Binding>> {
    let count = binding.results.len();
    match &binding.op {
        ArrayOp::Fold { combine, .. }
        | ArrayOp::Scan { combine, .. }
        | ArrayOp::Permute { combine, .. }
        | ArrayOp::PermutedExpand { combine, .. } => {
            let k = combine.results.len().max(1);
            let of = |group: &Vec<usize>| (0..count).map(|result| group.contains(&(result % k))).collect::<Vec<bool>>();
            groups(combine).iter().map(|group| restrict(binding, &of(group))).collect()
        }
        ArrayOp::Compute { .. }
        | ArrayOp::Map { .. }
        | ArrayOp::Transform { .. }
        | ArrayOp::Backpermute { .. }
        | ArrayOp::Replicate { .. }
        | ArrayOp::ReplicateSegments { .. }
        | ArrayOp::Slice { .. }
        | ArrayOp::Reshape { .. } => {
            // Results of the same sources and extents stay together.
            let mut apart: Vec<(Cow<'_, Binding>, Vec<bool>)> = Vec::new();
            for result in 0..count {
                let own: Vec<bool> = (0..count).map(|other| other == result).collect();
                let alone = restrict(binding, &own);
                let same = apart.iter_mut().find(|(other, _)| {
                    sources(&other.op) == sources(&alone.op)
                        && other.results[0].ty.extents == alone.results[0].ty.extents
                });
                match same {
                    Some((_, together)) => together[result] = true,
                    None => apart.push((alone, own)),
                }
            }
            apart.iter().map(|(_, together)| restrict(binding, together)).collect()
        }
        _ => vec![Cow::Borrowed(binding)],
    }
}

/// The operation in parts of which each checks nothing but what its own results need: one, where all that the parts take, and all
/// that they give, is known to be of equal extents.
///
/// Sizes have to agree among what a result needs, and results beside it are none of that.
pub fn apart<'b, 'a>(
    binding: &'b Binding,
    sizes: &Sizes,
    type_of: &dyn Fn(ArrayId) -> Option<&'a Type>,
) -> Vec<Cow<'b, Binding>> {
    if binding.results.len() < 2 {
        return vec![Cow::Borrowed(binding)];
    }
    let equal = |left: &[Extent], right: &[Extent]| {
        left.len() == right.len() && left.iter().zip(right).all(|(&a, &b)| sizes.equal(a, b) == Answer::Proved)
    };
    let alike = |arrays: &[ArrayId]| {
        let mut types = arrays.iter().map(|&id| type_of(id).map(|ty| &ty.extents[..]));
        let Some(first) = types.next() else { return true };
        types.all(|other| matches!((first, other), (Some(first), Some(other)) if equal(first, other)))
    };
    let taken = match &binding.op {
        ArrayOp::Permute { defaults, .. } => alike(defaults),
        ArrayOp::PermutedExpand { defaults, sources, .. } => alike(defaults) && alike(sources),
        ArrayOp::Fold { sources, .. } | ArrayOp::Scan { sources, .. } => alike(sources),
        op => alike(&sources(op)),
    };
    let given = &binding.results[0].ty.extents;
    if taken && binding.results.iter().all(|var| equal(given, &var.ty.extents)) {
        return vec![Cow::Borrowed(binding)];
    }
    let parts = independent(binding);
    let extents = |part: &Binding| part.results.first().map(|var| var.ty.extents.clone()).unwrap_or_default();
    let given = parts.iter().all(|part| equal(&extents(&parts[0]), &extents(part)));
    if taken && given { vec![Cow::Borrowed(binding)] } else { parts }
}

fn sources(op: &ArrayOp) -> Vec<ArrayId> {
    op.parts().into_iter().filter_map(|part| if let Part::Array(id) = part { Some(*id) } else { None }).collect()
}
