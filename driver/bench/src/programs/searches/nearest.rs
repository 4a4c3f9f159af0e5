//! `nested_nearest` by hand: the distances of many points at once, of which hardly any is among the least three so far.

use anyhow::{Result, ensure};
use rayon::prelude::*;

use crate::{
    data::Data,
    hand::{self, Hand},
};

/// Points that are looked at together.
const LANES: usize = 32;

pub fn by_hand<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (px, py) = (data.slice::<i64>("px")?, data.slice::<i64>("py")?);
    let (qx, qy) = (data.slice::<i64>("qx")?, data.slice::<i64>("qy")?);
    ensure!(px.len() == py.len() && qx.len() == qy.len(), "points have two coordinates each");
    let near = |c: &i64| c.unsigned_abs() < 1 << 30;
    ensure!([px, py, qx, qy].into_iter().flatten().all(near), "a point is too far away for products of 32 bits");
    hand::filling_all(&[3 * qx.len()], move |[which, far]: [&mut [i64]; 2]| {
        let outputs = which.par_chunks_mut(3).zip(far.par_chunks_mut(3)).with_min_len(16);
        outputs.zip(qx.par_iter().zip(qy)).for_each(|((which, far), (&x, &y))| {
            for (slot, (distance, at)) in nearest(px, py, x, y).into_iter().enumerate() {
                (which[slot], far[slot]) = (at, distance);
            }
        });
    })
}

/// The squares of the distances of the three nearest points, and which these are.
fn nearest(px: &[i64], py: &[i64], x: i64, y: i64) -> [(i64, i64); 3] {
    let square = |difference: i64| i64::from(difference as i32) * i64::from(difference as i32);
    let distance = |a: i64, b: i64| square(a - x) + square(b - y);
    let mut best = [(i64::MAX, 0i64); 3];
    let (a_chunks, a_rest) = px.as_chunks::<LANES>();
    let (b_chunks, b_rest) = py.as_chunks::<LANES>();
    for (chunk, (a, b)) in a_chunks.iter().zip(b_chunks).enumerate() {
        let mut distances = [0i64; LANES];
        let mut any = 0;
        for lane in 0..LANES {
            distances[lane] = distance(a[lane], b[lane]);
            any |= i64::from(distances[lane] < best[2].0);
        }
        if any != 0 {
            for (lane, &distance) in distances.iter().enumerate() {
                insert(&mut best, distance, chunk * LANES + lane);
            }
        }
    }
    for (at, (&a, &b)) in (px.len() - a_rest.len()..).zip(a_rest.iter().zip(b_rest)) {
        insert(&mut best, distance(a, b), at);
    }
    best
}

#[inline(always)]
fn insert(best: &mut [(i64, i64); 3], distance: i64, at: usize) {
    if distance < best[2].0 {
        best[2] = (distance, at as i64);
        if best[2].0 < best[1].0 {
            best.swap(1, 2);
        }
        if best[1].0 < best[0].0 {
            best.swap(0, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_nearest_are_the_first_of_all_sorted() {
        let mut random = Random::new(1);
        for count in [3usize, 31, 32, 33, 200] {
            // Few different coordinates: of points equally far the earlier one is nearer.
            let [px, py]: [Vec<i64>; 2] = std::array::from_fn(|_| (0..count).map(|_| random.below(9) as i64).collect());
            let mut all: Vec<(i64, i64)> =
                (0..).zip(px.iter().zip(&py)).map(|(at, (a, b))| ((a - 4) * (a - 4) + (b - 3) * (b - 3), at)).collect();
            all.sort_unstable();
            assert_eq!(nearest(&px, &py, 4, 3)[..], all[..3], "{count}");
        }
    }
}
