//! What the innermost loops over gangs look like: schedules to be read, and loads and stores that can be counted.

mod common;

use std::{collections::HashMap, fmt::Write as _};

use common::by_hand::{self, ByHand};
use fusebox_cranelift::{
    compile_kernel,
    emit::Part,
    vector::{Function, Op, Region, Value},
};

/// The first loop over gangs that has no loop in it.
fn gangs(region: &Region) -> Option<&Op> {
    region.0.iter().find_map(|inst| match &inst.op {
        Op::Loop { body, step, .. } => gangs(body).or((*step > 1 && is_innermost(body)).then_some(&inst.op)),
        Op::While { body, .. } => gangs(body),
        Op::If { then, otherwise, .. } => gangs(then).or_else(|| gangs(otherwise)),
        _ => None,
    })
}

fn is_innermost(region: &Region) -> bool {
    region.0.iter().all(|inst| match &inst.op {
        Op::Loop { .. } | Op::While { .. } => false,
        Op::If { then, otherwise, .. } => is_innermost(then) && is_innermost(otherwise),
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
            Op::Load { base, .. } | Op::LoadStrided { base, .. } => {
                *(if arrays.contains_key(base) { &mut counts.loads } else { &mut counts.scratch_loads }) += 1;
            }
            Op::Store { base, .. } => {
                *(if arrays.contains_key(base) { &mut counts.stores } else { &mut counts.scratch_stores }) += 1;
            }
            Op::Append { .. } => counts.stores += 1,
            Op::If { then, otherwise, .. } => {
                count(then, arrays, counts);
                count(otherwise, arrays, counts);
            }
            Op::Constant(_) => {}
            _ => counts.others += 1,
        }
    }
}

/// The part's innermost loop over gangs as text, its values numbered anew, and what it counts.
fn innermost(kernel: ByHand, part: Part) -> (String, Counts) {
    let compiled = compile_kernel(&kernel.kernel(), true).unwrap();
    let function: &Function = &compiled.parts.iter().find(|(own, _)| *own == part).expect("the part is there").1;
    let Some(Op::Loop { body, step, .. }) = gangs(&function.body) else { panic!("no loop over gangs in\n{function}") };
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

#[test]
fn a_map_loads_once_and_stores_once() {
    let (text, counts) = innermost(by_hand::map(), Part::Body);
    assert_eq!((counts.loads, counts.stores, counts.scratch_loads, counts.scratch_stores), (1, 1, 0, 0), "{text}");
    insta::assert_snapshot!(text, @"
    gangs of 8
    block map body {
      %0: i64 = %1 - %2
      %3: i64 = 1i64
      %4: i64 = 0i64
      %5: i64 = 1i64
      %6: i64 = 1i64
      %7: i64 = 0i64
      %8: f32x8 = load %9[%1] input
      %10: f32 = 2.0f32
      %11: f32x8 = 2.0f32
      %12: f32x8 = %8 * %11
      %13: f32 = 1.0f32
      %14: f32x8 = 1.0f32
      %15: f32x8 = %12 + %14
      %16: i64 = 0i64
      %17: i64 = 1i64
      %18: i64 = 1i64
      %19: i64 = 0i64
      store %20[%1] = %15
    }
    ");
}

#[test]
fn a_dot_product_stores_nothing_but_accumulators() {
    let (text, counts) = innermost(by_hand::dot(), Part::Body);
    assert_eq!((counts.loads, counts.stores), (2, 0), "{text}");
    assert!(counts.scratch_loads <= 1 && counts.scratch_stores <= 1, "{text}");
    insta::assert_snapshot!(text, @"
    gangs of 8
    block dot body {
      %0: i64 = %1 - %2
      %3: i64 = 1i64
      %4: i64 = 0i64
      %5: i64 = 1i64
      %6: i64 = 1i64
      %7: i64 = 0i64
      %8: f32x8 = load %9[%1] input
      %10: i64 = 0i64
      %11: i64 = 1i64
      %12: i64 = 1i64
      %13: i64 = 0i64
      %14: f32x8 = load %15[%1] input
      %16: f32x8 = %8 * %14
      %17: i64 = 0i64
      %18: i64 = 4095i64
      %19: i64 = 0i64
      %20: i64 = 64i64
      %21: bool = %0 < %20
      %22: i64 = 63i64
      %23: i64 = %0 & %22
      %24: i64 = 64i64
      %25: i64 = 0i64
      %26: i64 = 1i64
      %27: i64 = 128i64
      %28: i64 = %29 + %27
      %30: f32x8 = load %28[%23] shared
      %31: f32x8 = %30 + %16
      %32: i64 = 128i64
      %33: i64 = %29 + %32
      store %33[%23] = %31
    }
    ");
}

#[test]
fn the_kernel_of_normalise2_loads_once_and_stores_once() {
    let (text, counts) = innermost(by_hand::normalise2(), Part::Body);
    assert_eq!((counts.loads, counts.stores), (1, 1), "{text}");
    insta::assert_snapshot!(text, @"
    gangs of 16
    block normalise2 body {
      %0: i64 = %1 - %2
      %3: i64 = 1i64
      %4: i64 = 0i64
      %5: i64 = 1i64
      %6: i64 = 1i64
      %7: i64 = 0i64
      %8: f32x16 = load %9[%1] input
      %10: i64 = 0i64
      %11: i64 = 4095i64
      %12: i64 = 0i64
      %13: i64 = 64i64
      %14: bool = %0 < %13
      %15: i64 = 63i64
      %16: i64 = %0 & %15
      %17: i64 = 64i64
      %18: i64 = 0i64
      %19: i64 = 1i64
      %20: i64 = 128i64
      %21: i64 = %22 + %20
      %23: f32x16 = load %21[%16] shared
      %24: f32x16 = %23 + %8
      %25: i64 = 128i64
      %26: i64 = %22 + %25
      store %26[%16] = %24
      if %27 {
        %28: i64 = 0i64
        %29: i64 = 4095i64
        %30: i64 = 0i64
        %31: i64 = 64i64
        %32: bool = %0 < %31
        %33: i64 = 63i64
        %34: i64 = %0 & %33
        %35: i64 = 64i64
        %36: i64 = 0i64
        %37: i64 = 1i64
        %38: i64 = 2048i64
        %39: i64 = %22 + %38
        %40: f32x16 = load %39[%34] shared
        %41: f32x16 = %40 + %8
        %42: i64 = 2048i64
        %43: i64 = %22 + %42
        store %43[%34] = %41
        give ()
      } else {
        give ()
      }
      %44: f32 = -0.0f32
      %45: f32x16 = -0.0f32
      %46: f32x16 = shift %8 by 1, %45
      %47: f32x16 = %46 + %8
      %48: f32x16 = shift %47 by 2, %45
      %49: f32x16 = %48 + %47
      %50: f32x16 = shift %49 by 4, %45
      %51: f32x16 = %50 + %49
      %52: f32x16 = shift %51 by 8, %45
      %53: f32x16 = %52 + %51
      %54: f32x16 = splat %55
      %56: bool = true
      %57: boolx16 = true
      %58: f32x16 = %54 + %53
      %59: f32 = extract %58, 15
      %60: i64 = 0i64
      %61: i64 = 4095i64
      %62: i64 = 0i64
      %63: i64 = 64i64
      %64: bool = %0 < %63
      %65: i64 = 63i64
      %66: i64 = %0 & %65
      %67: i64 = 64i64
      %68: i64 = 0i64
      %69: i64 = 1i64
      %70: i64 = 1088i64
      %71: i64 = %22 + %70
      %72: f32x16 = load %71[%66] shared
      %73: f32x16 = %72 + %58
      %74: i64 = 1088i64
      %75: i64 = %22 + %74
      store %75[%66] = %73
      %76: i64 = 0i64
      %77: i64 = 1i64
      %78: i64 = 1i64
      %79: i64 = 0i64
      store %80[%1] = %58
    }
    ");
    // Of the totals of tiles the loop loads the element, and puts it into an accumulator.
    let (text, counts) = innermost(by_hand::normalise2(), Part::Totals);
    assert_eq!((counts.loads, counts.stores), (1, 0), "{text}");
}

#[test]
fn a_scan_loads_once_and_stores_once() {
    let (text, counts) = innermost(by_hand::scan(), Part::Body);
    assert_eq!((counts.loads, counts.stores), (1, 1), "{text}");
    insta::assert_snapshot!(text, @"
    gangs of 16
    block scan body {
      %0: i64 = %1 - %2
      %3: i64 = 1i64
      %4: i64 = 0i64
      %5: i64 = 1i64
      %6: i64 = 1i64
      %7: i64 = 0i64
      %8: f32x16 = load %9[%1] input
      if %10 {
        %11: i64 = 0i64
        %12: i64 = 4095i64
        %13: i64 = 0i64
        %14: i64 = 64i64
        %15: bool = %0 < %14
        %16: i64 = 63i64
        %17: i64 = %0 & %16
        %18: i64 = 64i64
        %19: i64 = 0i64
        %20: i64 = 1i64
        %21: i64 = 128i64
        %22: i64 = %23 + %21
        %24: f32x16 = load %22[%17] shared
        %25: f32x16 = %24 + %8
        %26: i64 = 128i64
        %27: i64 = %23 + %26
        store %27[%17] = %25
        give ()
      } else {
        give ()
      }
      %28: f32 = -0.0f32
      %29: f32x16 = -0.0f32
      %30: f32x16 = shift %8 by 1, %29
      %31: f32x16 = %30 + %8
      %32: f32x16 = shift %31 by 2, %29
      %33: f32x16 = %32 + %31
      %34: f32x16 = shift %33 by 4, %29
      %35: f32x16 = %34 + %33
      %36: f32x16 = shift %35 by 8, %29
      %37: f32x16 = %36 + %35
      %38: f32x16 = splat %39
      %40: bool = true
      %41: boolx16 = true
      %42: f32x16 = %38 + %37
      %43: f32 = extract %42, 15
      %44: i64 = 0i64
      %45: i64 = 1i64
      %46: i64 = 1i64
      %47: i64 = 0i64
      store %48[%1] = %42
    }
    ");
}

#[test]
fn a_filter_loads_once_and_appends_once() {
    let (text, counts) = innermost(by_hand::filter(), Part::Body);
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
        let compiled = compile_kernel(&kernel().kernel(), true).unwrap();
        let parts: Vec<String> = compiled.parts.iter().map(|(part, _)| format!("{part:?}")).collect();
        let lanes = compiled.schedule.map_or(1, |schedule| schedule.lanes);
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
