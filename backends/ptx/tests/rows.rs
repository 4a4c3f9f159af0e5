//! Rows of different lengths: threads for short ones, warps for long ones, to the bit, with every element read once.

use crate::common::{Random, SMVM, check, plan, rescheduled};
use fusebox_ir::{Array, ElementType};

/// The arguments of [`SMVM`], for rows of these lengths.
fn matrix(random: &mut Random, lengths: &[i64], columns: i64) -> Vec<Array> {
    let mut offsets = vec![0];
    for length in lengths {
        offsets.push(offsets.last().unwrap() + length);
    }
    let count = *offsets.last().unwrap() as usize;
    vec![
        Array::new(&[offsets.len()], &offsets).unwrap(),
        random.ints(ElementType::I32, &[count], 0, columns),
        random.array(ElementType::F32, &[count]),
        random.array(ElementType::F32, &[columns as usize]),
    ]
}

#[test]
fn short_and_long_rows_have_the_bits_of_the_interpreter() {
    let mut random = Random(77);
    let mut inputs = Vec::new();
    for lengths in [
        vec![],
        vec![0],
        vec![63, 64, 65, 0, 1],
        vec![2; 100],
        (0..70).map(|row| row * 3).collect(),
        [vec![1; 40], vec![4095, 4096, 4097, 0, 9000], vec![3; 40]].concat(),
    ] {
        inputs.push(matrix(&mut random, &lengths, 50));
    }
    check(SMVM, &inputs);
}

/// An index that is wrong in a short row, and in a long one: others of the warp are not left waiting.
#[test]
fn what_fails_in_a_row_is_said() {
    let mut random = Random(5);
    for wrong in [3usize, 40, 700] {
        let mut inputs = matrix(&mut random, &[30, 600, 2, 200], 20);
        let mut columns: Vec<i32> = inputs[1].to_vec().unwrap();
        columns[wrong] = 21;
        inputs[1] = Array::new(&[columns.len()], &columns).unwrap();
        check(SMVM, &[inputs]);
    }
}

#[test]
fn a_long_row_is_read_by_a_warp_whole_sectors_at_a_time() {
    let plan = plan(SMVM);
    let inputs = matrix(&mut Random(1), &[8192], 8);
    let warp = rescheduled(&plan, &inputs, str::to_owned);
    let alone = rescheduled(&plan, &inputs, |text| {
        assert!(text.contains("_block warp_threads"), "{text}");
        text.replace(" warp_threads", "").replace(" warps(8)", "")
    });
    // Two arrays of 4 bytes, and one sector of `x` for each 32 elements. Beside that: offsets, and warps that look whether a row is left to them.
    let least = 2 * 8192 * 4 / 32 + 8192 / 32;
    assert!(warp.sectors_loaded <= least + 96, "{} and {least}", warp.sectors_loaded);
    assert!(alone.sectors_loaded > 3 * 8192, "{}", alone.sectors_loaded);
    assert!(warp.instructions * 5 < alone.instructions, "{} and {}", warp.instructions, alone.instructions);
}

/// A row that all warps share gives what one warp gives, also of several pieces of pieces, and beside rows of every length.
#[test]
fn very_long_rows_have_the_bits_of_the_interpreter() {
    let mut random = Random(78);
    let lengths = [vec![3; 40], vec![32_767, 32_768, 0, 40_001, 5], vec![70_000], vec![2; 50]].concat();
    check(SMVM, &[matrix(&mut random, &lengths, 50)]);
    let mut wrong = matrix(&mut random, &lengths, 20);
    let mut columns: Vec<i32> = wrong[1].to_vec().unwrap();
    columns[60_000] = 21;
    wrong[1] = Array::new(&[columns.len()], &columns).unwrap();
    check(SMVM, &[wrong]);
    for (ty, function) in [
        (ElementType::F32, "x + y"),
        (ElementType::F64, "min(x, y)"),
        (ElementType::I32, "x * y"),
        (ElementType::F32, "x + y * 0.5"),
    ] {
        let source = format!(
            "fn f(o: [k]i64, v: [n]{ty}) -> [?]{ty} {{
             let r = k - 1
             let s: [r]{ty} = fold_seg(|x, y| {function}, {ty}(3), v, offsets: o) return s }}"
        );
        let mut inputs = matrix(&mut random, &lengths, 20);
        let count = lengths.iter().sum::<i64>() as usize;
        inputs[2] = random.array(ty, &[count]);
        check(&source, &[vec![inputs[0].clone(), inputs[2].clone()]]);
    }
}

/// One row of 300,000 elements among short ones: no warp does more than its pieces.
#[test]
fn a_very_long_row_does_not_run_on_one_warp() {
    let mut random = Random(79);
    let lengths = [vec![3; 100], vec![300_000], vec![2; 100]].concat();
    let sums = "fn f(o: [k]i64, v: [n]f32) -> [?]f32 {
        let r = k - 1
        let s: [r]f32 = fold_seg(|x, y| x + y, 0.0, v, offsets: o) return s }";
    for source in [SMVM, sums] {
        let plan = plan(source);
        let mut inputs = matrix(&mut random, &lengths, 8);
        if source == sums {
            inputs = vec![inputs[0].clone(), inputs[2].clone()];
        }
        let cut = rescheduled(&plan, &inputs, str::to_owned);
        let whole = rescheduled(&plan, &inputs, |text| {
            assert!(text.contains("< 32768"), "{text}");
            text.replace("< 32768", "< 1000000")
        });
        // 74 pieces of it are as many warps', one each.
        assert!(cut.longest_warp * 20 < whole.longest_warp, "{} and {}", cut.longest_warp, whole.longest_warp);
        // Each element is still read once.
        assert!(
            cut.sectors_loaded < whole.sectors_loaded + 3000,
            "{} and {}",
            cut.sectors_loaded,
            whole.sectors_loaded
        );
    }
}
