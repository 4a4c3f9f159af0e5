//! Several turns of a stencil in one pass over memory, for those that replace a field many times.

use rayon::prelude::*;

/// Turns of one pass: the rows between them stay in cache.
const TURNS: usize = 4;
/// Fields of fewer elements stay in cache as they are: one turn a pass.
const CACHED: usize = 1 << 17;
/// The least rows that one thread takes at a time: those around them are computed by its neighbours too.
const BAND: usize = 32;

/// A field whose rows are made of three rows of the turn before.
pub struct Field<'f> {
    /// Elements of a row.
    pub width: usize,
    /// What is beyond the first and the last row; `None`: these again.
    pub outside: Option<&'f [f32]>,
}

impl Field<'_> {
    /// The field after `count` turns, at least one, of `from`, in `to`, with `spare` between.
    ///
    /// `step` makes the row of a number of the row above, itself and the row below; elements that it does not write are 0, or what `to` and `spare` have there.
    pub fn turns(
        &self,
        count: usize,
        from: &[f32],
        to: &mut [f32],
        spare: &mut [f32],
        step: impl Fn(usize, [&[f32]; 3], &mut [f32]) + Sync,
    ) {
        let passes = if from.len() < CACHED { count } else { count.div_ceil(TURNS) };
        self.passes(count, passes, from, to, spare, step);
    }

    fn passes(
        &self,
        count: usize,
        passes: usize,
        from: &[f32],
        to: &mut [f32],
        spare: &mut [f32],
        step: impl Fn(usize, [&[f32]; 3], &mut [f32]) + Sync,
    ) {
        let (mut a, mut b) = if passes % 2 == 1 { (to, spare) } else { (spare, to) };
        let turns = |pass: usize| (pass + 1) * count / passes - pass * count / passes;
        self.pass(turns(0), from, a, &step);
        for pass in 1..passes {
            self.pass(turns(pass), a, b, &step);
            std::mem::swap(&mut a, &mut b);
        }
    }

    fn pass(
        &self,
        turns: usize,
        from: &[f32],
        to: &mut [f32],
        step: &(impl Fn(usize, [&[f32]; 3], &mut [f32]) + Sync),
    ) {
        let rows = from.len() / self.width;
        let band = rows.div_ceil(4 * rayon::current_num_threads()).max(BAND);
        to.par_chunks_mut(band * self.width).enumerate().for_each_init(Vec::new, |levels, (number, to)| {
            let first = number * band;
            levels.resize_with(turns - 1, || vec![0f32; 3 * self.width]);
            self.band(first, from, to, levels, step);
        });
    }

    /// The rows of `to`, the first of which is the row `first`: row by row, each turn a row behind the one before.
    fn band(
        &self,
        first: usize,
        from: &[f32],
        to: &mut [f32],
        levels: &mut [Vec<f32>],
        step: &impl Fn(usize, [&[f32]; 3], &mut [f32]),
    ) {
        let (width, rows, turns) = (self.width, from.len() / self.width, levels.len() + 1);
        let end = first + to.len() / width;
        for front in first.saturating_sub(turns - 1) + 1..end + 2 * turns {
            for turn in 1..=turns {
                // The rows that the turns after this one need of it.
                let around = turns - turn;
                let Some(row) = front.checked_sub(turn) else { break };
                if row < first.saturating_sub(around) || row >= (end + around).min(rows) {
                    continue;
                }
                let (before, own) = levels.split_at_mut(turn - 1);
                let (source, ring) = before.last().map_or((from, rows), |level| (level.as_slice(), 3));
                let at = |row: usize| &source[row % ring * width..][..width];
                let beyond = self.outside.unwrap_or(at(row));
                let above = if row == 0 { beyond } else { at(row - 1) };
                let below = if row + 1 == rows { beyond } else { at(row + 1) };
                let to = match own.first_mut() {
                    Some(level) => &mut level[row % 3 * width..][..width],
                    None => &mut to[(row - first) * width..][..width],
                };
                step(row, [above, at(row), below], to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_together_are_turns_one_by_one() {
        const WIDTH: usize = 5;
        let step = |row: usize, [above, here, below]: [&[f32]; 3], to: &mut [f32]| {
            for i in 0..WIDTH {
                to[i] = 0.3 * above[i] - 0.5 * here[i] + 0.4 * below[i] + here[(i + 1) % WIDTH] + row as f32;
            }
        };
        for rows in [1usize, 2, 5, BAND, BAND + 1, 3 * BAND + 7] {
            let from: Vec<f32> = (0..rows * WIDTH).map(|i| (i * 7 % 13) as f32).collect();
            for outside in [None, Some([2.5f32; WIDTH])] {
                let field = Field { width: WIDTH, outside: outside.as_ref().map(|row| row.as_slice()) };
                for count in [1, 2, 3, 4, 5, 8, 9, 20] {
                    let mut expected = from.clone();
                    for _ in 0..count {
                        let old = expected.clone();
                        let at = |row: usize| &old[row * WIDTH..][..WIDTH];
                        for (row, to) in expected.chunks_mut(WIDTH).enumerate() {
                            let beyond = field.outside.unwrap_or(at(row));
                            let above = if row == 0 { beyond } else { at(row - 1) };
                            let below = if row + 1 == rows { beyond } else { at(row + 1) };
                            step(row, [above, at(row), below], to);
                        }
                    }
                    let (mut found, mut spare) = (vec![0.0; from.len()], vec![0.0; from.len()]);
                    field.turns(count, &from, &mut found, &mut spare, step);
                    assert_eq!(found, expected, "{rows} rows, {count} turns, {outside:?}");
                    let passes = count.div_ceil(TURNS);
                    field.passes(count, passes, &from, &mut found, &mut spare, step);
                    assert_eq!(found, expected, "{rows} rows, {count} turns in {passes} passes, {outside:?}");
                }
            }
        }
    }
}
