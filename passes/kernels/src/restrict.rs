//! Operations without the results that nobody needs: what only these use cannot fail then (design §3).

use std::collections::HashSet;

use fusebox_ir::{ArrayOp, Binding, Extent, Lambda, LocalId, ScanForm};

use crate::{
    components::{dependencies, live, restricted},
    strict::{free_uses, local},
};

/// Results that are made when those wanted are: sizes in their types, and what cannot be made apart.
pub(crate) fn closure(binding: &Binding, wanted: &[bool]) -> Vec<bool> {
    let mut wanted = wanted.to_vec();
    let all = match &binding.op {
        ArrayOp::While { .. }
        | ArrayOp::Permute { .. }
        | ArrayOp::PermutedExpand { .. }
        | ArrayOp::Foreign { .. }
        | ArrayOp::Consume { .. }
        | ArrayOp::Cluster { .. }
        | ArrayOp::Nest { .. }
        | ArrayOp::Element { .. } => true,
        ArrayOp::Expand { .. } => {
            wanted[0] = true;
            false
        }
        ArrayOp::Filter { keep, .. } => {
            // A source that only `keep` looks at stays, and so does its result.
            let used = used_locals(&[keep]);
            wanted[0] = true;
            for (param, wanted) in keep.params.iter().zip(&mut wanted[1..]) {
                *wanted |= used.contains(&param.id);
            }
            false
        }
        ArrayOp::Sort { keys, .. } => {
            wanted[..keys.len()].fill(true);
            false
        }
        ArrayOp::Fold { combine, .. } => {
            closed(combine, &mut wanted, 1);
            false
        }
        ArrayOp::Scan { combine, form, .. } => {
            closed(combine, &mut wanted, if *form == ScanForm::Body { 2 } else { 1 });
            false
        }
        _ => false,
    };
    if all {
        wanted.fill(true);
    }
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
    f.instructions = live(&f.instructions, &f.results);
    let used = used_locals(&[f]);
    f.params.iter().map(|param| used.contains(&param.id)).collect()
}

fn used_locals(functions: &[&Lambda]) -> HashSet<LocalId> {
    let of = |f: &&Lambda| {
        f.instructions.iter().flat_map(free_uses).chain(f.results.iter().filter_map(local)).collect::<Vec<_>>()
    };
    functions.iter().flat_map(of).collect()
}

/// The binding with the wanted results alone (closed as by [`closure`]), for operations that hold no block.
pub(crate) fn restrict(binding: &Binding, wanted: &[bool]) -> Binding {
    let mut binding = binding.clone();
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
        | ArrayOp::Slice { sources, .. }
        | ArrayOp::Reshape { sources, .. } => *sources = chosen(sources, wanted),
        ArrayOp::Fold { combine, seeds, sources, .. } | ArrayOp::Scan { combine, seeds, sources, .. } => {
            let components: Vec<usize> = (0..sources.len()).filter(|&c| wanted[c]).collect();
            *combine = restricted(combine, &components);
            *seeds = chosen(seeds, wanted);
            *sources = chosen(sources, wanted);
        }
        ArrayOp::Expand { size, get, sources } => {
            narrowed(get, &wanted[1..]);
            // Locals are numbered in each function by itself.
            let (by_size, by_get) = (used_locals(&[size]), used_locals(&[get]));
            let both: Vec<bool> = size
                .params
                .iter()
                .zip(&get.params)
                .map(|(s, g)| by_size.contains(&s.id) || by_get.contains(&g.id))
                .collect();
            *sources = chosen(sources, &both);
            size.params = chosen(&size.params, &both);
            let position = get.params.last().cloned();
            get.params = chosen(&get.params, &both);
            get.params.extend(position);
        }
        ArrayOp::Filter { keep, sources } => {
            *sources = chosen(sources, &wanted[1..]);
            keep.params = chosen(&keep.params, &wanted[1..]);
        }
        ArrayOp::Sort { keys, carry } => *carry = chosen(carry, &wanted[keys.len()..]),
        ArrayOp::Constant { .. }
        | ArrayOp::Concat { .. }
        | ArrayOp::Permute { .. }
        | ArrayOp::PermutedExpand { .. }
        | ArrayOp::Nest { .. }
        | ArrayOp::Element { .. }
        | ArrayOp::Cond { .. }
        | ArrayOp::While { .. }
        | ArrayOp::Foreign { .. }
        | ArrayOp::Consume { .. }
        | ArrayOp::Cluster { .. } => {}
    }
    binding
}
