//! Stencils through shared memory: to the bit, with every boundary, and what is read of memory.

use crate::common::{Random, check, form, plan, taken};
use fusebox_ir::{Array, ElementType};

/// The sum of a cross of five, with a boundary.
fn cross(ty: ElementType, boundary: &str) -> String {
    format!(
        "fn f(u: [n, m]{ty}) -> [n, m]{ty} {{
         let p: [n, m]{ty} = stencil(|a, b, c, d, e| a + b + c - d + e,
           u[0, 0], u[-1, 0], u[1, 0], u[0, 1], u[0, -1], u: {boundary}) return p }}"
    )
}

#[test]
fn crosses_have_the_bits_of_the_interpreter() {
    let mut random = Random(51);
    for (ty, boundary) in [
        (ElementType::F32, "clamp"),
        (ElementType::F32, "wrap"),
        (ElementType::F64, "mirror"),
        (ElementType::U8, "clamp"),
        (ElementType::I16, "constant(7i16)"),
        (ElementType::F32, "function(|i, j| f32(i) - 0.5 * f32(j))"),
    ] {
        let source = cross(ty, boundary);
        let form = form(&plan(&source));
        assert!(form.contains("for each tile of 32 by 64"), "{form}");
        let inputs = [(0, 5), (4, 0), (1, 1), (16, 16), (32, 64), (33, 65), (70, 130), (17, 200)]
            .map(|(n, m)| vec![random.array(ty, &[n, m])]);
        check(&source, &inputs);
    }
}

/// Points of one level, of three, and several arrays with other distances.
#[test]
fn other_stencils_have_the_bits_of_the_interpreter() {
    let mut random = Random(52);
    let f32s = |random: &mut Random, shape: &[usize]| random.array(ElementType::F32, shape);
    let line = "fn f(u: [n]f32, w: [n]f32) -> [n]f32 {
        let p: [n]f32 = stencil(|a, b, c, d, e| a - b + c * d - e, u[-7], u[9], u[0], w[-1], w[1], u: mirror, w: constant(2.5))
        return p }";
    assert!(form(&plan(line)).contains("for each tile of 1024 points"), "{}", form(&plan(line)));
    let inputs = [0, 1, 2, 30, 1024, 1025, 5000].map(|n| vec![f32s(&mut random, &[n]), f32s(&mut random, &[n])]);
    check(line, &inputs);
    let block = "fn f(u: [k, n, m]f32) -> [k, n, m]f32 {
        let p: [k, n, m]f32 = stencil(|a, b, c, d, e, f, g| a + b + c + d + e + f - g,
          u[0, 0, 0], u[-1, 0, 0], u[1, 0, 0], u[0, -1, 0], u[0, 1, 0], u[0, 0, -1], u[0, 0, 1], u: clamp)
        return p }";
    assert!(form(&plan(block)).contains("for each tile of 16 by 64"), "{}", form(&plan(block)));
    let inputs = [(0, 3, 3), (1, 1, 1), (3, 17, 65), (2, 40, 20)].map(|(k, n, m)| vec![f32s(&mut random, &[k, n, m])]);
    check(block, &inputs);
}

/// What fails at a point leaves nobody waiting.
#[test]
fn a_stencil_that_divides() {
    let source = "fn f(u: [n, m]i32) -> [n, m]i32 {
        let p: [n, m]i32 = stencil(|a, b, c| div(a, b) + c, u[0, 0], u[0, -1], u[1, 0], u: wrap) return p }";
    let mut values = vec![3i32; 50 * 70];
    values[1234] = 0;
    for values in [vec![3; 50 * 70], values] {
        check(source, &[vec![Array::new(&[50, 70], &values).unwrap()]]);
    }
}

/// Each block reads its tile and what lies around it once, whole sectors at a time: of 8 sectors of a row of 64 points there is one more on each side,
/// but for where the boundary repeats an element of the row.
#[test]
fn a_stencil_reads_its_tile_and_what_is_around_it_once() {
    let (n, m) = (128usize, 256usize);
    let mut random = Random(53);
    for (boundary, of_row) in [("clamp", 9 + 10 + 10 + 9), ("wrap", 4 * 10), ("constant(0.5)", 9 + 10 + 10 + 9)] {
        let plan = plan(&cross(ElementType::F32, boundary));
        let taken = taken(&plan, &[random.array(ElementType::F32, &[n, m])]);
        let rows = if boundary.starts_with("constant") { 4 * 34 - 2 } else { 4 * 34 };
        assert_eq!(taken.sectors_loaded, (rows * of_row) as u64, "{boundary}");
        assert_eq!(taken.sectors_stored, (n * m * 4 / 32) as u64);
        assert_eq!(taken.bank_conflicts, 0);
    }
    // Of one level: 128 sectors of a tile, and one on each side.
    let plan = plan(
        "fn f(u: [n]f32) -> [n]f32 { let p: [n]f32 = stencil(|a, b, c| a + b + c, u[-1], u[0], u[1], u: wrap) return p }",
    );
    let taken = taken(&plan, &[random.array(ElementType::F32, &[8192])]);
    assert_eq!(taken.sectors_loaded, 8 * 130);
}
