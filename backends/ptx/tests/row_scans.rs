//! Scans of rows by the threads of warps: to the bit, with what is read of memory.

use crate::common::{Random, carried_out, check, form, plan, simulator};
use fusebox_ir::{Array, ElementType};

fn scan(ty: ElementType, scan: &str) -> String {
    format!("fn f(a: [n, m]{ty}) -> [n, m]{ty} {{ let s: [n, m]{ty} = {scan} return s }}")
}

/// Functions that round, that do not commute, and for which every order is right; from either end.
#[test]
fn scans_of_rows_have_the_bits_of_the_interpreter() {
    let mut random = Random(61);
    for (ty, of) in [
        (ElementType::F32, "scanl1(|x, y| x + y, a)"),
        (ElementType::F64, "scanr1(|x, y| x + y, a)"),
        (ElementType::F32, "scanl1(|x, y| x * 0.5 + y, a)"),
        (ElementType::F16, "scanl1(|x, y| x + y, a)"),
        (ElementType::I32, "scanl1(|x, y| x + y, a)"),
        (ElementType::U8, "scanr1(|x, y| max(x, y), a)"),
    ] {
        let source = scan(ty, of);
        let form = form(&plan(&source));
        assert!(form.contains("a warp for each other"), "{of}: {form}");
        let inputs = [(0, 5), (4, 0), (3, 1), (40, 15), (5, 16), (33, 17), (2, 31), (3, 64), (2, 4097)]
            .map(|(n, m)| vec![random.array(ty, &[n, m])]);
        check(&source, &inputs);
    }
}

/// Several scans of the same rows, of which some have totals of tiles, some those of their gangs, and some none.
#[test]
fn scans_of_different_kinds_have_the_bits_of_the_interpreter() {
    let source = "fn f(a: [n, m]f32, b: [n, m]i32) -> [n, m]f32, [n, m]f32, [n, m]i32, [n]f32 {
        let s: [n, m]f32, t: [n, m]f32, u: [n, m]i32, v: [n]f32 = cluster(|| {
          horizontal s: [n, m]f32, v: [n]f32 = scanl'(|x, y| x + y, 0.5, a)
          horizontal t: [n, m]f32 = scanl1(|x, y| x * 0.5 + y, a)
          last u: [n, m]i32 = scanl1(|x, y| x + y, b)
          return s, t, u, v
        })
        return s, t, u, v }";
    assert!(form(&plan(source)).contains("a warp for each other"), "{}", form(&plan(source)));
    let mut random = Random(65);
    let inputs = [(3, 0), (5, 20), (2, 33_000)]
        .map(|(n, m)| vec![random.array(ElementType::F32, &[n, m]), random.array(ElementType::I32, &[n, m])]);
    check(source, &inputs);
}

/// Rows of several tiles, with what is carried from tile to tile, and totals.
#[test]
fn long_rows_have_the_bits_of_the_interpreter() {
    let mut random = Random(62);
    for (ty, function, seed) in [
        (ElementType::F32, "x + y", "0.25"),
        (ElementType::F64, "x * 0.5 + y", "1.0f64"),
        (ElementType::I64, "x + y", "3"),
    ] {
        let source = format!(
            "fn f(a: [n, m]{ty}) -> [n, m]{ty}, [n]{ty} {{
             let s: [n, m]{ty}, t: [n]{ty} = scanl'(|x, y| {function}, {seed}, a) return s, t }}"
        );
        let form = form(&plan(&source));
        assert!(form.contains("a warp for each other"), "{form}");
        let inputs = [(1, 0), (3, 2), (2, 32_768), (1, 2 * 32_768 + 77), (2, 40_000)]
            .map(|(n, m)| vec![random.array(ty, &[n, m])]);
        check(&source, &inputs);
    }
}

/// Segments of different lengths, and a row that fails.
#[test]
fn segments_have_the_bits_of_the_interpreter() {
    let mut random = Random(63);
    let source = "fn f(a: [n]f32, o: [k]i64) -> [n]f32, [n]f32 {
        let s: [n]f32 = scanl1_seg(|x, y| x + y, a, offsets: o)
        let t: [n]f32 = scanr1_seg(|x, y| max(x, y), a, offsets: o)
        return s, t }";
    let form = form(&plan(source));
    assert!(form.contains("a warp for each other"), "{form}");
    let mut inputs = Vec::new();
    for lengths in [vec![], vec![0, 1, 15, 16, 17, 0, 40], vec![3; 100], vec![2, 5000, 0, 31, 32, 33]] {
        let mut offsets = vec![0i64];
        offsets.extend(lengths.iter().scan(0i64, |sum, length: &i64| {
            *sum += length;
            Some(*sum)
        }));
        let n = *offsets.last().unwrap() as usize;
        let wrong: Vec<i64> = offsets.iter().map(|offset| offset + i64::from(*offset > 2)).collect();
        for offsets in [offsets, wrong] {
            inputs.push(vec![random.array(ElementType::F32, &[n]), Array::new(&[offsets.len()], &offsets).unwrap()]);
        }
    }
    check(source, &inputs);
}

/// A row of one tile is read once and whole sectors at a time, and its results are stored so; of more tiles all but the last are read twice.
#[test]
fn rows_that_are_scanned_are_read_whole_sectors_at_a_time() {
    let plan = plan(&scan(ElementType::F32, "scanl1(|x, y| x + y, a)"));
    let mut random = Random(64);
    for (n, m, reads) in [(16, 1024, 1.0), (3, 8192, 1.0), (1, 3 * 32_768, 5.0 / 3.0)] {
        let taken = carried_out(&plan, &[random.array(ElementType::F32, &[n, m])], &simulator("sm_90", 2));
        let sectors = (n * m * 4 / 32) as f64;
        assert_eq!(taken.sectors_loaded as f64, sectors * reads, "{n} {m}");
        assert_eq!(taken.sectors_stored as f64, sectors);
    }
}

/// The lanes of a gang of short rows are in registers: nothing is in local memory but the totals of tiles, which long rows have.
#[test]
fn short_rows_are_scanned_in_registers() {
    for (ty, function, scan, exact) in [
        (ElementType::F32, "x + y", "scanl1", false),
        (ElementType::F64, "x * y", "scanl1", false),
        (ElementType::F32, "max(x, y)", "scanr1", true),
        (ElementType::I32, "x + y", "scanl1", true),
    ] {
        let plan = plan(&self::scan(ty, &format!("{scan}(|x, y| {function}, a)")));
        let target = fusebox_schedule::Target::named("sm_90").unwrap();
        let text = fusebox_ptx::emit(plan.kernels.last().unwrap(), &target).unwrap().text;
        // Short rows stand first in the text, up to where warps vote for long ones.
        let short = text.split("vote.sync").next().unwrap();
        assert!(!short.contains("st.local") && !short.contains("ld.local"), "{ty} {function}\n{short}");
        assert_eq!(text.contains(".local .align"), !exact, "{ty} {function}");
    }
}
