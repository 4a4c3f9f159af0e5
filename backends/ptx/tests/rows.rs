//! Rows of different lengths: threads for short ones, warps for long ones, to the bit, with every element read once.

mod common;

use std::sync::Arc;

use common::{Random, SMVM, carried_out, check, plan, simulator};
use fusebox_ir::{Array, ElementType, Plan};
use fusebox_ptx::sim::CarriedOut;
use fusebox_schedule::{Book, Preferences, Schedule, Target, schedule};

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

/// What a plan takes with a schedule of its last kernel made otherwise; results are the interpreter's.
fn taken(plan: &Plan, inputs: &[Array], edit: impl Fn(&str) -> String) -> CarriedOut {
    let target = Target::named("sm_90").unwrap();
    let kernel = plan.kernels.last().unwrap();
    let text = schedule(kernel, &target, Preferences::default()).schedule.to_text(kernel);
    let mut book = Book::default();
    book.insert(kernel, Schedule::parse(&edit(&text), kernel).unwrap_or_else(|error| panic!("{error}\n{text}")));
    let backend = simulator("sm_90", 1).with_schedules(Arc::new(book));
    carried_out(plan, inputs, &backend)
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
    let warp = taken(&plan, &inputs, str::to_owned);
    let alone = taken(&plan, &inputs, |text| {
        assert!(text.contains("_block warp_threads"), "{text}");
        text.replace(" warp_threads", "")
    });
    // Two arrays of 4 bytes, and one sector of `x` for each 32 elements.
    let least = 2 * 8192 * 4 / 32 + 8192 / 32;
    assert!(warp.sectors_loaded <= least + 64, "{} and {least}", warp.sectors_loaded);
    assert!(alone.sectors_loaded > 3 * 8192, "{}", alone.sectors_loaded);
    assert!(warp.instructions * 5 < alone.instructions, "{} and {}", warp.instructions, alone.instructions);
}
