//! Numbers that look random, the same in every run.

use fusebox_ir::{Array, Constant, ElementType};

/// Pseudo-random numbers.
pub struct Random(pub u64);

impl Random {
    /// The next one: 64 bits.
    #[allow(clippy::should_implement_trait)] // it never ends
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = self.0 ^ self.0 >> 33;
        x.wrapping_mul(0xff51afd7ed558ccd) ^ x >> 29
    }

    /// Numbers of a type: floats between -4 and 4, integers of any bits.
    pub fn array(&mut self, element: ElementType, extents: &[usize]) -> Array {
        let count = extents.iter().product();
        let elements: Vec<Constant> = (0..count)
            .map(|_| {
                let bits = self.next();
                let unit = (bits >> 11) as f64 / (1u64 << 53) as f64;
                match element {
                    ElementType::F16 => Constant::from(half::f16::from_f64(unit * 8.0 - 4.0)),
                    ElementType::F32 => Constant::from((unit * 8.0 - 4.0) as f32),
                    ElementType::F64 => Constant::from(unit * 8.0 - 4.0),
                    other => Constant::from_bits(other, bits),
                }
            })
            .collect();
        Array::from_constants(element, extents, &elements).unwrap()
    }

    /// Whole numbers in `low..high`.
    pub fn ints(&mut self, element: ElementType, extents: &[usize], low: i64, high: i64) -> Array {
        let count = extents.iter().product();
        let elements: Vec<Constant> = (0..count)
            .map(|_| Constant::from_i64(element, low + (self.next() % (high - low).max(1) as u64) as i64))
            .collect();
        Array::from_constants(element, extents, &elements).unwrap()
    }
}

/// A text, such as a schedule, in which one number is another one.
pub fn edited(text: &str, random: &mut Random) -> String {
    let is_number = |at: usize| {
        let before = text[..at].chars().next_back();
        text[at..].starts_with(|c: char| c.is_ascii_digit()) && matches!(before, Some(' ' | '('))
    };
    let numbers: Vec<usize> = text.char_indices().map(|(at, _)| at).filter(|&at| is_number(at)).collect();
    if numbers.is_empty() {
        return text.to_owned();
    }
    let at = numbers[random.next() as usize % numbers.len()];
    let length = text[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - at);
    let number: u32 = text[at..at + length].parse().unwrap_or(1);
    let number = match random.next() % 8 {
        0 | 1 => number.saturating_mul(2),
        2 | 3 => (number / 2).max(1),
        4 => number.saturating_mul(8),
        5 => number.saturating_add(1),
        6 => 4096,
        _ => 8,
    };
    format!("{}{number}{}", &text[..at], &text[at + length..])
}
