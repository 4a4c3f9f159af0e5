//! What the innermost loops over gangs look like: schedules to be read, and loads and stores that can be counted.

use std::{collections::HashMap, fmt::Write as _};

use crate::common::{
    by_hand::{self, ByHand},
    plan,
};
use fusebox_cranelift::{
    compile_kernel,
    emit::Part,
    vector::{Function, If, Loop, Op, Region, Value},
};

/// The innermost loops over gangs, in order.
fn gangs(region: &Region) -> Vec<&Loop> {
    (region.0.iter())
        .flat_map(|inst| match &inst.op {
            Op::Loop(own) => match gangs(&own.body) {
                inner if inner.is_empty() && own.step > 1 && is_innermost(&own.body) => vec![&**own],
                inner => inner,
            },
            Op::While(own) => gangs(&own.body),
            Op::If(own) => [gangs(&own.then), gangs(&own.otherwise)].concat(),
            _ => Vec::new(),
        })
        .collect()
}

fn is_innermost(region: &Region) -> bool {
    region.0.iter().all(|inst| match &inst.op {
        Op::Loop(_) | Op::While(_) => false,
        Op::If(own) => is_innermost(&own.then) && is_innermost(&own.otherwise),
        _ => true,
    })
}

/// Loads and stores of the kernel's arrays and of scratch memory.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    loads: usize,
    stores: usize,
    scratch_loads: usize,
    scratch_stores: usize,
    others: usize,
}

fn count(region: &Region, arrays: &HashMap<Value, u32>, counts: &mut Counts) {
    for inst in &region.0 {
        match &inst.op {
            Op::Load { base, .. } | Op::LoadStrided { base, .. } | Op::LoadMasked { base, .. } => {
                *(if arrays.contains_key(base) { &mut counts.loads } else { &mut counts.scratch_loads }) += 1;
            }
            Op::Store { base, .. } => {
                *(if arrays.contains_key(base) { &mut counts.stores } else { &mut counts.scratch_stores }) += 1;
            }
            Op::Append(_) => counts.stores += 1,
            Op::If(own) => {
                let If { then, otherwise, .. } = &**own;
                count(then, arrays, counts);
                count(otherwise, arrays, counts);
            }
            Op::Constant(_) => {}
            _ => counts.others += 1,
        }
    }
}

/// One of the part's innermost loops over gangs as text, its values numbered anew, and what it counts.
fn innermost(kernel: ByHand, part: Part, which: usize) -> (String, Counts) {
    innermost_for(16, kernel, part, which)
}

/// The same, for vectors of so many bytes.
fn innermost_for(vector_bytes: usize, kernel: ByHand, part: Part, which: usize) -> (String, Counts) {
    let compiled = compile_kernel(&kernel.kernel(), Some(vector_bytes)).unwrap();
    let function: &Function = &compiled.parts.iter().find(|(own, _)| *own == part).expect("the part is there").1;
    let loops = gangs(&function.body);
    let Some(Loop { body, step, .. }) = loops.get(which) else { panic!("no loop {which} over gangs in\n{function}") };
    let arrays = (function.body.0.iter())
        .filter_map(|inst| if let Op::Argument(position) = inst.op { Some((inst.results[0], position)) } else { None })
        .collect();
    let mut counts = Counts::default();
    count(body, &arrays, &mut counts);
    // The text of the loop is that of a function with the same values that does nothing else.
    let alone = Function { body: body.clone(), ..function.clone() };
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut text = format!("gangs of {step}\n");
    for line in alone.to_string().lines() {
        let mut rest = line;
        while let Some(at) = rest.find('v') {
            let (before, from) = rest.split_at(at);
            let end = 1 + from[1..].find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len() - 1);
            text.push_str(before);
            if end > 1 {
                let known = numbers.len();
                let number = *numbers.entry(from[..end].to_owned()).or_insert(known);
                let _ = write!(text, "%{number}");
            } else {
                text.push_str(&from[..end]);
            }
            rest = &from[end..];
        }
        text.push_str(rest);
        text.push('\n');
    }
    (text, counts)
}

/// Rows of so many elements go past the caches only if they are whole gangs and lines, or so long that their ends do not matter.
#[test]
fn rows_past_the_caches_are_whole_lines() {
    for (steps, streams) in [(10, false), (32, true), (40, false), (48, true), (4_100, true)] {
        let plan = plan(&format!(
            "fn f(y: [n]f32) -> [n, {steps}]f32 {{
             let r: [n, {steps}]f32 = generate([n, {steps}], |i, j| y[i] + f32(j)) return r }}"
        ));
        let compiled = compile_kernel(&plan.kernels[0], Some(16)).unwrap();
        let text: String = compiled.parts.iter().map(|(_, function)| function.to_string()).collect();
        assert_eq!(text.contains(" streaming"), streams, "{steps}\n{text}");
    }
}

#[test]
fn a_map_loads_once_and_stores_once() {
    let (text, counts) = innermost(by_hand::map(), Part::Body, 1);
    assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (1, 1, 0, 0), "{text}");
    // The loop before is for more memory than caches hold.
    let (far, counts) = innermost(by_hand::map(), Part::Body, 0);
    assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (1, 1, 0, 0), "{far}");
    assert!(far.contains(" streaming") && !text.contains(" streaming"));
    insta::assert_snapshot!(text, @"
    gangs of 8
    block map body {
      %0: i64 = %1 min %2
      %3: i64 = %0 - %4
      %5: i64 = 1i64
      %6: i64 = 0i64
      %7: i64 = 1i64
      %8: i64 = 1i64
      %9: i64 = 0i64
      %10: f32x8 = load %11[%0] input
      %12: f32 = 2.0f32
      %13: f32x8 = 2.0f32
      %14: f32x8 = %10 * %13
      %15: f32 = 1.0f32
      %16: f32x8 = 1.0f32
      %17: f32x8 = %14 + %16
      %18: i64 = 0i64
      %19: i64 = 1i64
      %20: i64 = 1i64
      %21: i64 = 0i64
      store %22[%0] = %17
    }
    ");
}

#[test]
fn a_dot_product_keeps_its_accumulators() {
    // Four gangs of two operands.
    let (text, counts) = innermost(by_hand::dot(), Part::Body, 0);
    assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (8, 0, 0, 0), "{text}");
    insta::assert_snapshot!(text, @r"
    gangs of 64
    block dot body {
      %0: i64 = argument 5
      %1: i64 = 0i64
      %2: bool = %0 != %1
      if %2 {
        %3: i64 = 0i64
        %4: i64 = 1i64
        %5: i64 = 0i64
        prefetch %6[%7: f32] + 4096 bytes
        prefetch %6[%7: f32] + 4160 bytes
        %8: i64 = 0i64
        %9: i64 = 1i64
        %10: i64 = 0i64
        prefetch %11[%7: f32] + 4096 bytes
        prefetch %11[%7: f32] + 4160 bytes
        give ()
      } else {
        give ()
      }
      %12: i64 = 0i64
      %13: i64 = 1i64
      %14: i64 = 0i64
      %15: i64 = 1i64
      %16: i64 = 1i64
      %17: i64 = 0i64
      %18: f32x8 = load %6[%7] input
      %19: i64 = 0i64
      %20: i64 = 1i64
      %21: i64 = 1i64
      %22: i64 = 0i64
      %23: f32x8 = load %11[%7] input
      %24: f32x8 = %18 * %23
      %25: f32x8 = %26 + %24
      %27: i64 = 8i64
      %28: i64 = %7 + %27
      %29: i64 = 1i64
      %30: i64 = 0i64
      %31: i64 = 1i64
      %32: i64 = 1i64
      %33: i64 = 0i64
      %34: f32x8 = load %6[%28] input
      %35: i64 = 0i64
      %36: i64 = 1i64
      %37: i64 = 1i64
      %38: i64 = 0i64
      %39: f32x8 = load %11[%28] input
      %40: f32x8 = %34 * %39
      %41: f32x8 = %42 + %40
      %43: i64 = 16i64
      %44: i64 = %7 + %43
      %45: i64 = 1i64
      %46: i64 = 0i64
      %47: i64 = 1i64
      %48: i64 = 1i64
      %49: i64 = 0i64
      %50: f32x8 = load %6[%44] input
      %51: i64 = 0i64
      %52: i64 = 1i64
      %53: i64 = 1i64
      %54: i64 = 0i64
      %55: f32x8 = load %11[%44] input
      %56: f32x8 = %50 * %55
      %57: f32x8 = %58 + %56
      %59: i64 = 24i64
      %60: i64 = %7 + %59
      %61: i64 = 1i64
      %62: i64 = 0i64
      %63: i64 = 1i64
      %64: i64 = 1i64
      %65: i64 = 0i64
      %66: f32x8 = load %6[%60] input
      %67: i64 = 0i64
      %68: i64 = 1i64
      %69: i64 = 1i64
      %70: i64 = 0i64
      %71: f32x8 = load %11[%60] input
      %72: f32x8 = %66 * %71
      %73: f32x8 = %74 + %72
    }
    ");
}

#[test]
fn the_kernel_of_normalise2_loads_once_and_stores_once() {
    let (text, counts) = innermost(by_hand::normalise2(), Part::Body, 2);
    assert_eq!((counts.loads, counts.stores), (1, 1), "{text}");
    // The first sum is computed before, two gangs at a time; the total of the tile is made of its blocks.
    let (first, counts) = innermost(by_hand::normalise2(), Part::Body, 0);
    assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (2, 0, 0, 0), "{first}");
    insta::assert_snapshot!(text, @r"
    gangs of 16
    block normalise2 body {
      %0: i64 = %1 - %2
      %3: i64 = 1i64
      %4: i64 = 0i64
      %5: i64 = 1i64
      %6: i64 = 1i64
      %7: i64 = 0i64
      %8: f32x16 = load %9[%1] input
      %10: f32 = -0.0f32
      %11: f32x16 = -0.0f32
      %12: f32x16 = shift %8 by 1, %11
      %13: f32x16 = %12 + %8
      %14: f32x16 = shift %13 by 2, %11
      %15: f32x16 = %14 + %13
      %16: f32x16 = shift %15 by 4, %11
      %17: f32x16 = %16 + %15
      %18: f32x16 = shift %17 by 8, %11
      %19: f32x16 = %18 + %17
      %20: bool = true
      %21: boolx16 = true
      %22: f32x16 = %23 + %19
      %24: f32 = extract %22, 15
      %25: f32x16 = splat %24
      %26: i64 = 0i64
      %27: i64 = 4095i64
      %28: i64 = 0i64
      %29: i64 = 64i64
      %30: bool = %0 < %29
      %31: i64 = 63i64
      %32: i64 = %0 & %31
      %33: i64 = 64i64
      %34: i64 = 0i64
      %35: i64 = 1i64
      %36: i64 = 1088i64
      %37: i64 = %38 + %36
      %39: f32x16 = load %37[%32] shared
      %40: f32x16 = %39 + %22
      %41: i64 = 1088i64
      %42: i64 = %38 + %41
      store %42[%32] = %40
      %43: i64 = 0i64
      %44: i64 = 1i64
      %45: i64 = 1i64
      %46: i64 = 0i64
      store %47[%1] = %22
    }
    ");
    let (text, counts) = innermost(by_hand::normalise2(), Part::Totals, 0);
    assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (2, 0, 0, 0), "{text}");
}

/// With 32 registers of 64 bytes, each element is loaded once, all accumulators stay where they are, and nothing is said twice.
#[test]
fn the_kernel_of_normalise2_in_turns() {
    for which in [0, 1] {
        let (text, counts) = innermost_for(64, by_hand::normalise2(), Part::Body, which);
        assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (4, 4, 0, 0), "{text}");
        // For each of four gangs: both sums, four steps of the prefix, the carry; the total of the tile is made of blocks of the first sum.
        assert_eq!(text.matches(" + %").count() - text.matches(": i64 = %").count(), 4 * 7, "{text}");
    }
}

/// An array that is read twice is another thing than one that is summed twice: the totals of these tiles have no other sum to be made of.
#[test]
fn a_total_of_its_own() {
    let (text, counts) = innermost_for(64, by_hand::scan(), Part::Body, 0);
    assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (4, 4, 0, 0), "{text}");
    assert_eq!(text.matches(" + %").count() - text.matches(": i64 = %").count(), 4 * 6, "{text}");
}

#[test]
fn a_scan_loads_once_and_stores_once() {
    let (text, counts) = innermost(by_hand::scan(), Part::Body, 2);
    assert_eq!((counts.loads, counts.stores), (1, 1), "{text}");
    insta::assert_snapshot!(text, @r"
    gangs of 16
    block scan body {
      %0: i64 = %1 - %2
      %3: i64 = 1i64
      %4: i64 = 0i64
      %5: i64 = 1i64
      %6: i64 = 1i64
      %7: i64 = 0i64
      %8: f32x16 = load %9[%1] input
      %10: f32 = -0.0f32
      %11: f32x16 = -0.0f32
      %12: f32x16 = shift %8 by 1, %11
      %13: f32x16 = %12 + %8
      %14: f32x16 = shift %13 by 2, %11
      %15: f32x16 = %14 + %13
      %16: f32x16 = shift %15 by 4, %11
      %17: f32x16 = %16 + %15
      %18: f32x16 = shift %17 by 8, %11
      %19: f32x16 = %18 + %17
      %20: bool = true
      %21: boolx16 = true
      %22: f32x16 = %23 + %19
      %24: f32 = extract %22, 15
      %25: f32x16 = splat %24
      %26: i64 = 0i64
      %27: i64 = 1i64
      %28: i64 = 1i64
      %29: i64 = 0i64
      store %30[%1] = %22
    }
    ");
}

#[test]
fn a_filter_loads_once_and_appends_once() {
    let (text, counts) = innermost(by_hand::filter(), Part::Body, 1);
    assert_eq!((counts.loads, counts.stores), (1, 1), "{text}");
    insta::assert_snapshot!(text, @"
    gangs of 8
    block filter body {
      %0: i64 = %1 - %2
      %3: i64 = 1i64
      %4: i64 = 0i64
      %5: i64 = 1i64
      %6: i64 = 1i64
      %7: i64 = 0i64
      %8: f32x8 = load %9[%1] input
      %10: f32 = 0.5f32
      %11: f32x8 = 0.5f32
      %12: boolx8 = %8 > %11
      %13: bool = true
      %14: i64 = 64i64
      %15: i64 = %16 + %14
      %17: i64 = append [%18] at %19 = %8 if %12
    }
    ");
}

/// Parts and schedules of each.
#[test]
fn the_parts_of_kernels() {
    let mut text = String::new();
    let kernels: [(&str, fn() -> ByHand); 5] = [
        ("map", by_hand::map),
        ("dot", by_hand::dot),
        ("normalise2", by_hand::normalise2),
        ("scan", by_hand::scan),
        ("filter", by_hand::filter),
    ];
    for (name, kernel) in kernels {
        let compiled = compile_kernel(&kernel().kernel(), Some(16)).unwrap();
        let parts: Vec<String> = compiled.parts.iter().map(|(part, _)| format!("{part:?}")).collect();
        let lanes = compiled.gang.map_or(1, |gang| gang.lanes);
        let _ = writeln!(text, "{name}: gangs of {lanes}: {}", parts.join(", "));
    }
    insta::assert_snapshot!(text, @"
    map: gangs of 8: Body
    dot: gangs of 8: Body, Finish
    normalise2: gangs of 16: Body, Totals, Carry, Finish
    scan: gangs of 16: Body, Totals, Carry
    filter: gangs of 8: Body
    ");
}
