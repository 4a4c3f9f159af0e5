//! Tiles of points with what they read in shared memory: products and transposes.

use crate::common::{Random, check, form, plan, taken};
use fusebox_ir::{Array, ElementType};

/// The product of matrices of a type.
fn product(ty: ElementType) -> String {
    format!(
        "fn f(a: [n, k]{ty}, b: [k, m]{ty}) -> [n, m]{ty} {{
         let c: [n, m]{ty} = cluster(|| {{
           vertical x: [n, m, k]{ty} = generate([n, m, k], |i, j, l| a[i, l] * b[l, j])
           last c: [n, m]{ty} = fold(|x, y| x + y, {}, x)
           return c
         }})
         return c }}",
        if ty.is_float() { "0.5" } else { "1" }
    )
}

fn transpose(ty: ElementType) -> String {
    format!(
        "fn f(a: [n, m]{ty}) -> [m, n]{ty} {{
         let t: [m, n]{ty} = backpermute([m, n], |i, j| {{ return j, i }}, a) return t }}"
    )
}

#[test]
fn products_have_the_bits_of_the_interpreter() {
    let mut random = Random(31);
    for ty in [ElementType::F32, ElementType::F64, ElementType::I16, ElementType::U8] {
        let source = product(ty);
        let form = form(&plan(&source));
        assert!(form.contains("for each tile"), "{form}");
        let inputs = [(0, 5, 3), (4, 0, 3), (3, 4, 0), (1, 1, 1), (64, 64, 16), (65, 33, 9), (130, 70, 23)]
            .map(|(n, m, k)| vec![random.array(ty, &[n, k]), random.array(ty, &[k, m])]);
        check(&source, &inputs);
    }
}

/// Many products at once, of which one matrix is transposed, with more done to what comes of them.
#[test]
fn products_around_and_behind() {
    let source = "fn f(a: [h, n, k]f32, b: [m, k]f32, s: [n]f32) -> [h, n, m]f32 {
        let c: [h, n, m]f32 = cluster(|| {
          vertical x: [h, n, m, k]f32 = generate([h, n, m, k], |g, i, j, l| a[g, i, l] * b[j, l] + s[i])
          vertical y: [h, n, m]f32 = fold(|x, y| max(x, y), -1.0, x)
          last c: [h, n, m]f32 = map(|v| v * 2.0, y)
          return c
        })
        return c }";
    let mut random = Random(32);
    let inputs = [(1, 3, 5, 7), (3, 40, 70, 12), (2, 64, 64, 8)].map(|(h, n, m, k)| {
        let (a, b) = (random.array(ElementType::F32, &[h, n, k]), random.array(ElementType::F32, &[m, k]));
        vec![a, b, random.array(ElementType::F32, &[n])]
    });
    let form = form(&plan(source));
    assert!(form.contains("for each tile"), "{form}");
    check(source, &inputs);
}

/// Each block reads the rows and columns of its tile once, and whole sectors of them; nobody waits for another bank.
#[test]
fn a_product_reads_its_matrices_once_for_each_tile() {
    let plan = plan(&product(ElementType::F32));
    let mut random = Random(33);
    let (n, m, k) = (128usize, 64usize, 32usize);
    let taken = taken(&plan, &[random.array(ElementType::F32, &[n, k]), random.array(ElementType::F32, &[k, m])]);
    let tiles = (n / 64) * (m / 64);
    assert_eq!(taken.sectors_loaded, (tiles * 2 * 64 * k * 4 / 32) as u64);
    assert_eq!(taken.sectors_stored, (n * m * 4 / 32) as u64);
    assert_eq!(taken.bank_conflicts, 0);
}

#[test]
fn transposes_have_the_bits_of_the_interpreter() {
    let mut random = Random(34);
    for ty in ElementType::ALL {
        let source = transpose(ty);
        let form = form(&plan(&source));
        assert!(form.contains("for each tile of 32 by 32 points"), "{form}");
        let inputs = [(0, 3), (1, 1), (32, 64), (33, 31), (70, 100)].map(|(n, m)| vec![random.array(ty, &[n, m])]);
        check(&source, &inputs);
    }
}

/// What fails at a point leaves nobody waiting.
#[test]
fn a_transpose_that_divides() {
    let source = "fn f(a: [n, m]i32, b: [m, n]i32) -> [m, n]i32 {
        let t: [m, n]i32 = cluster(|| {
          vertical s: [m, n]i32 = backpermute([m, n], |i, j| { return j, i }, a)
          last t: [m, n]i32 = map(|x, y| div(x, y), b, s)
          return t
        })
        return t }";
    let mut random = Random(35);
    let mut divisors = vec![7i32; 50 * 40];
    divisors[777] = 0;
    for divisors in [vec![7; 50 * 40], divisors] {
        let inputs = vec![Array::new(&[50, 40], &divisors).unwrap(), random.array(ElementType::I32, &[40, 50])];
        check(source, &[inputs]);
    }
}

#[test]
fn a_transpose_has_no_bank_conflict_and_whole_sectors() {
    let mut random = Random(36);
    for ty in [ElementType::F32, ElementType::F64, ElementType::U16, ElementType::U8] {
        let plan = plan(&transpose(ty));
        let (n, m) = (96usize, 64usize);
        let taken = taken(&plan, &[random.array(ty, &[n, m])]);
        let sectors = (n * m * ty.bytes() / 32) as u64;
        assert_eq!((taken.sectors_loaded, taken.sectors_stored), (sectors, sectors), "{ty}");
        assert_eq!(taken.bank_conflicts, 0, "{ty}");
    }
}

/// All pairs of points, of which each has the sums of what the others do to it.
const ALL_PAIRS: &str = "fn f(p: [n]f32, q: [n]f32, eps: f32) -> [n]f32, [n]f32 {
    let s: [n]f32, t: [n]f32 = cluster(|| {
      vertical d: [n, n]f32, e: [n, n]f32 = generate([n, n], |i, j| {
        let x = p[j] - p[i]
        let w = q[j] / (x * x + eps)
        return w * x, w })
      horizontal s: [n]f32 = fold(|x, y| x + y, 0.25, d)
      last t: [n]f32 = fold(|x, y| max(x, y), -1.0, e)
      return s, t
    })
    return s, t }";

#[test]
fn all_pairs_have_the_bits_of_the_interpreter() {
    let mut random = Random(37);
    let form = form(&plan(ALL_PAIRS));
    assert!(form.contains("64 steps in shared memory at a time"), "{form}");
    let inputs = [0, 1, 63, 64, 65, 256, 257, 700].map(|n| {
        let (p, q) = (random.array(ElementType::F32, &[n]), random.array(ElementType::F32, &[n]));
        vec![p, q, Array::scalar(0.5f32)]
    });
    check(ALL_PAIRS, &inputs);
    // Several such sums, each of points of its own.
    let source = "fn f(p: [h, n]f32, q: [m]f32) -> [h, n]f32 {
        let s: [h, n]f32 = cluster(|| {
          vertical d: [h, n, m]f32 = generate([h, n, m], |g, i, j| q[j] * (q[j] - p[g, i]))
          last s: [h, n]f32 = fold(|x, y| x + y, 0.0, d)
          return s
        })
        return s }";
    let inputs = [(0, 3, 3), (3, 70, 1), (2, 300, 130)]
        .map(|(h, n, m)| vec![random.array(ElementType::F32, &[h, n]), random.array(ElementType::F32, &[m])]);
    check(source, &inputs);
}

/// Each block of 256 points reads what all of them need once, and each point its own element.
#[test]
fn all_pairs_read_what_all_need_once_for_each_block() {
    let mut random = Random(38);
    let n = 1024usize;
    let array = |random: &mut Random| random.array(ElementType::F32, &[n]);
    let inputs = [array(&mut random), array(&mut random), Array::scalar(0.5f32)];
    let taken = taken(&plan(ALL_PAIRS), &inputs);
    let (sectors, blocks, warps) = (n as u64 * 4 / 32, n as u64 / 256, n as u64 / 32);
    // And each warp `eps`.
    assert_eq!(taken.sectors_loaded, blocks * 2 * sectors + sectors + warps);
    assert_eq!((taken.sectors_stored, taken.bank_conflicts), (2 * sectors, 0));
}
