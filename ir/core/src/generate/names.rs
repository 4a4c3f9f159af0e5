//! Names: ordinary ones, ones that collide, and hints that no name can be.

use super::random::Random;
use crate::Name;

const NAMES: [&str; 28] = [
    "a",
    "a",
    "b",
    "x",
    "x",
    "y",
    "i",
    "n",
    "k",
    "map",
    "fold",
    "while_",
    "é",
    "_x",
    "x1",
    "x_1",
    "fn_",
    "inf_",
    "bits_f32x",
    "order",
    "at",
    "vertical",
    "let",
    "f32",
    "a b",
    "0x",
    "flat",
    "\"",
];
const HEADS: [&str; 10] = ["xs", "ys", "a", "map", "z", "_", "é", "inf_f", "i", "commutes"];
const TAILS: [&str; 5] = ["re", "im", "x", "values", "extents"];

impl Random {
    /// A hint for a value or a local, often none, now and then no legal name.
    pub(super) fn hint(&mut self) -> Name {
        if self.chance(1, 3) { Name::default() } else { Name::from(self.pick(&NAMES)) }
    }

    /// A legal name that is not among `taken`, sometimes of parts joined by dots.
    pub(super) fn name(&mut self, taken: &[String]) -> String {
        let mut name = self.pick(&HEADS).to_owned();
        for _ in 0..self.pick(&[0, 0, 0, 1, 1, 2]) {
            name = name + "." + self.pick(&TAILS);
        }
        while !crate::is_name(&name) || taken.contains(&name) {
            name += &self.below(10).to_string();
        }
        name
    }

    /// A string with what has to be escaped.
    pub(super) fn text(&mut self) -> String {
        const PIECES: [&str; 12] =
            ["x", " must ", "\"", "\\", "\n", "\t", "\r", "\u{1F600}", "#", "\u{0}", "'", "n > 0"];
        (0..self.below(5)).map(|_| self.pick(&PIECES)).collect()
    }
}
