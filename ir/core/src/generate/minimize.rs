//! Making failing programs small.

use std::collections::HashSet;

use crate::{ArrayId, ArrayOp, Block, Extent, Lambda, Operand, PartMut, Program, ScalarOperand, Type, Var, validate};

/// The smallest program found, by dropping and replacing, of which `fails` still holds; `program` itself if nothing smaller is.
///
/// Every program that is tried is valid. Steps: results go, bindings become inputs, bindings that nothing uses go, instructions become
/// constants. Inputs stay in place and order, those made from bindings come last; so a test makes inputs for each program anew.
pub fn minimize(program: &Program, fails: &mut dyn FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    let mut tries = 3_000u32;
    loop {
        let limit = size(&best);
        let smaller = candidates(&best).map(|candidate| without_dead(candidate).renumbered()).find(|candidate| {
            let tried = tries > 0 && size(candidate) < limit && validate(candidate, &[]).is_ok();
            tries -= u32::from(tried);
            tried && fails(candidate)
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// What is to become smaller: instructions and bindings count, inputs little.
fn size(program: &Program) -> usize {
    let mut size = program.outputs.len() + program.body.params.len();
    for_each_block(&program.body, &mut |block| {
        for binding in &block.bindings {
            size += 20 + 3 * binding.results.len();
            for part in binding.op.parts() {
                if let crate::Part::Function(f) = part {
                    size += 2 * instructions(f) + f.results.len();
                }
            }
        }
    });
    size
}

fn instructions(f: &Lambda) -> usize {
    let (mut count, mut bodies) = (0, vec![f]);
    while let Some(body) = bodies.pop() {
        count += body.instructions.len();
        for instruction in &body.instructions {
            bodies.extend(instruction.op.parts().into_iter().filter_map(|part| match part {
                crate::ScalarPart::Body(inner) => Some(inner),
                _ => None,
            }));
        }
    }
    count
}

fn for_each_block(block: &Block, visit: &mut dyn FnMut(&Block)) {
    let mut blocks = vec![block];
    while let Some(block) = blocks.pop() {
        visit(block);
        for binding in &block.bindings {
            blocks.extend(binding.op.parts().into_iter().filter_map(|part| match part {
                crate::Part::Body(body) => Some(body),
                _ => None,
            }));
        }
    }
}

fn candidates(program: &Program) -> impl Iterator<Item = Program> + '_ {
    let results = (0..program.outputs.len()).map(|at| without_output(program, at));
    let only = (0..program.outputs.len()).filter(|_| program.outputs.len() > 2).map(|at| with_output(program, at));
    let bindings = (0..program.body.bindings.len()).rev().map(|at| input_for(program, at));
    let inlined = (0..program.body.bindings.len()).filter_map(|at| inlined(program, at));
    let functions = (0..functions(program)).flat_map(move |at| simpler_functions(program, at));
    let params = (0..program.body.params.len()).map(|at| without_param(program, at));
    only.chain(results).chain(bindings).chain(inlined).chain(functions).chain(params)
}

fn without_output(program: &Program, at: usize) -> Program {
    let mut program = program.clone();
    program.outputs.remove(at);
    program.body.results.remove(at);
    program
}

fn with_output(program: &Program, at: usize) -> Program {
    let mut program = program.clone();
    program.outputs = vec![program.outputs[at].clone()];
    program.body.results = vec![program.body.results[at]];
    program
}

fn without_param(program: &Program, at: usize) -> Program {
    let mut program = program.clone();
    let mut used = HashSet::new();
    uses(&program.body, &mut used);
    let param = program.body.params[at].clone();
    if !used.contains(&param.id) {
        program.body.params.remove(at);
        // Sizes that only this input has are gone with it.
        let met: HashSet<Extent> = program.body.params.iter().flat_map(|var| var.ty.all_extents().copied()).collect();
        program.body.sizes.retain(|var| met.contains(&Extent::Value(var.id)));
    }
    program
}

/// The binding goes, and its results are inputs.
fn input_for(program: &Program, at: usize) -> Program {
    let mut program = program.clone();
    let binding = program.body.bindings.remove(at);
    let mut sizes: Vec<(ArrayId, ArrayId)> = Vec::new();
    for mut var in binding.results {
        if !program.body.sizes.iter().any(|size| size.id == var.id) {
            var.name = format!("in{}", var.id.0).into();
            // Extents that are bound by bindings are sizes of the input.
            for extent in var.ty.all_extents_mut() {
                if let Extent::Value(id) = extent
                    && !program.body.sizes.iter().chain(&program.body.params).any(|known| known.id == *id)
                {
                    let new = match sizes.iter().find(|(old, _)| old == id) {
                        Some(&(_, new)) => new,
                        None => {
                            let new = ArrayId(program.fresh().0 + 1000 + sizes.len() as u32);
                            program.body.sizes.push(Var {
                                id: new,
                                ty: Type::scalar(crate::ElementType::I64),
                                name: "".into(),
                            });
                            sizes.push((*id, new));
                            new
                        }
                    };
                    *extent = Extent::Value(new);
                }
            }
            program.body.params.push(var);
        }
    }
    program
}

/// A block inside takes the place of the operation that holds it: a branch, a cluster's body.
fn inlined(program: &Program, at: usize) -> Option<Program> {
    let mut program = program.clone();
    let binding = program.body.bindings[at].clone();
    let body = match binding.op {
        ArrayOp::Cond { then, .. } => then,
        ArrayOp::Cluster { body, .. } => body,
        _ => return None,
    };
    let map = |id: ArrayId| {
        let position = binding.results.iter().position(|var| var.id == id);
        Operand::Value(position.map_or(id, |position| body.results[position]))
    };
    program.body.substitute(&mut { map });
    program.body.bindings.splice(at..=at, body.bindings);
    Some(program)
}

fn functions(program: &Program) -> usize {
    let mut count = 0;
    for_each_function(&mut program.body.clone(), &mut |_| count += 1);
    count
}

fn for_each_function(block: &mut Block, visit: &mut dyn FnMut(&mut Lambda)) {
    for binding in &mut block.bindings {
        for part in binding.op.parts_mut() {
            match part {
                PartMut::Function(f) => visit(f),
                PartMut::Body(body) => for_each_function(body, visit),
                _ => {}
            }
        }
    }
}

/// Function number `at` with one of its instructions replaced by a constant or an operand.
fn simpler_functions(program: &Program, at: usize) -> Vec<Program> {
    let mut variants = Vec::new();
    let mut number = 0;
    for_each_function(&mut program.body.clone(), &mut |f| {
        if number == at {
            variants = simpler(f);
        }
        number += 1;
    });
    variants
        .into_iter()
        .map(|variant| {
            let mut program = program.clone();
            let mut number = 0;
            for_each_function(&mut program.body, &mut |f| {
                if number == at {
                    *f = variant.clone();
                }
                number += 1;
            });
            program
        })
        .collect()
}

/// The function without one instruction: zeros, or operands of the same type, stand for its results.
fn simpler(f: &Lambda) -> Vec<Lambda> {
    let mut variants = Vec::new();
    for at in (0..f.instructions.len()).rev() {
        let instruction = &f.instructions[at];
        let mut shorter = f.clone();
        shorter.instructions.remove(at);
        let mut replacements: Vec<Vec<ScalarOperand>> =
            vec![instruction.results.iter().map(|local| crate::Constant::zero(local.ty).into()).collect()];
        if let [result] = &instruction.results[..] {
            for part in instruction.op.parts() {
                if let crate::ScalarPart::Operand(operand) = part
                    && operand_type(f, operand) == Some(result.ty)
                {
                    replacements.push(vec![*operand]);
                }
            }
        }
        for replacement in replacements {
            let mut variant = shorter.clone();
            let map: Vec<_> = instruction.results.iter().map(|local| local.id).zip(replacement).collect();
            replace(&mut variant, &map);
            variants.push(variant);
        }
    }
    // Inside of branches and loops.
    for at in 0..f.instructions.len() {
        let bodies = f.instructions[at]
            .op
            .clone()
            .parts_mut()
            .into_iter()
            .filter(|part| matches!(part, crate::ScalarPartMut::Body(_)))
            .count();
        for which in 0..bodies {
            let mut inner = Vec::new();
            for (number, body) in f.instructions[at].op.parts().into_iter().filter_map(body_of).enumerate() {
                if number == which {
                    inner = simpler(body);
                }
            }
            for body in inner {
                let mut variant = f.clone();
                let mut number = 0;
                for part in variant.instructions[at].op.parts_mut() {
                    if let crate::ScalarPartMut::Body(old) = part {
                        if number == which {
                            *old = body.clone();
                        }
                        number += 1;
                    }
                }
                variants.push(variant);
            }
        }
    }
    variants
}

fn body_of(part: crate::ScalarPart<'_>) -> Option<&Lambda> {
    match part {
        crate::ScalarPart::Body(body) => Some(body),
        _ => None,
    }
}

fn operand_type(f: &Lambda, operand: &ScalarOperand) -> Option<crate::ElementType> {
    match operand {
        ScalarOperand::Constant(constant) => Some(constant.ty()),
        ScalarOperand::Local(id) => {
            let results = f.instructions.iter().flat_map(|instruction| &instruction.results);
            f.params.iter().chain(results).find(|local| local.id == *id).map(|local| local.ty)
        }
        ScalarOperand::Outer(_) => None,
    }
}

fn replace(f: &mut Lambda, map: &[(crate::LocalId, ScalarOperand)]) {
    let new = |operand: &mut ScalarOperand| {
        if let ScalarOperand::Local(id) = operand
            && let Some((_, with)) = map.iter().find(|(old, _)| old == id)
        {
            *operand = *with;
        }
    };
    f.results.iter_mut().for_each(new);
    for instruction in &mut f.instructions {
        for part in instruction.op.parts_mut() {
            match part {
                crate::ScalarPartMut::Operand(operand) => new(operand),
                crate::ScalarPartMut::Array(_) => {}
                crate::ScalarPartMut::Body(body) => replace(body, map),
            }
        }
    }
}

fn uses(block: &Block, used: &mut HashSet<ArrayId>) {
    for var in &block.params {
        var.ty.for_each_use(&mut |id| _ = used.insert(id));
    }
    for binding in &block.bindings {
        binding.op.for_each_use(&mut |id| _ = used.insert(id));
        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| _ = used.insert(id)));
    }
    used.extend(block.results.iter().copied());
}

/// Without bindings of which nothing is used, in the outermost block.
fn without_dead(mut program: Program) -> Program {
    let mut used: HashSet<ArrayId> = program.body.results.iter().copied().collect();
    let mut kept = Vec::new();
    for binding in std::mem::take(&mut program.body.bindings).into_iter().rev() {
        if binding.results.iter().any(|var| used.contains(&var.id)) {
            binding.op.for_each_use(&mut |id| _ = used.insert(id));
            binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| _ = used.insert(id)));
            kept.push(binding);
        }
    }
    kept.reverse();
    program.body.bindings = kept;
    for output in &mut program.outputs {
        for extent in output.ty.all_extents_mut() {
            if let Extent::Value(id) = extent
                && !program.body.sizes.iter().chain(&program.body.params).any(|var| var.id == *id)
            {
                *extent = Extent::Unknown;
            }
        }
    }
    program
}
