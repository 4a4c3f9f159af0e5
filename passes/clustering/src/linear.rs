//! Integer linear programs as data: checked, printed, evaluated.

use std::fmt::Write;

use crate::Error;

/// Minimise `offset + Σ cost · variable` where all rows hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Variables, by position.
    pub variables: Vec<Variable>,
    /// Constraints.
    pub rows: Vec<Row>,
    /// Added to the objective.
    pub offset: f64,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// For the dump.
    pub name: String,
    /// The least value.
    pub lower: f64,
    /// The largest value.
    pub upper: f64,
    /// Whether it is a whole number.
    pub integer: bool,
    /// What one of it costs.
    pub cost: f64,
}

/// `lower <= Σ factor · variable <= upper`.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// For the dump.
    pub name: String,
    /// Variables, by position, each once.
    pub terms: Vec<(usize, f64)>,
    /// May be minus infinity.
    pub lower: f64,
    /// May be infinity.
    pub upper: f64,
}

/// The largest magnitude of a bound of a variable, and of costs and factors: beyond it, doubles do not hold sums of them exactly.
const LARGEST: f64 = 1e12;

impl Model {
    /// Adds a variable and gives its position.
    pub fn variable(&mut self, name: impl Into<String>, bounds: (f64, f64), integer: bool, cost: f64) -> usize {
        self.variables.push(Variable { name: name.into(), lower: bounds.0, upper: bounds.1, integer, cost });
        self.variables.len() - 1
    }

    /// Adds `lower <= Σ factor · variable <= upper`; terms of one variable are added up.
    pub fn row(&mut self, name: impl Into<String>, terms: &[(usize, f64)], lower: f64, upper: f64) {
        let mut sums: Vec<(usize, f64)> = Vec::with_capacity(terms.len());
        for &(variable, factor) in terms {
            match sums.iter_mut().find(|(other, _)| *other == variable) {
                Some((_, sum)) => *sum += factor,
                None => sums.push((variable, factor)),
            }
        }
        sums.retain(|(_, factor)| *factor != 0.0);
        self.rows.push(Row { name: name.into(), terms: sums, lower, upper });
    }

    /// Whether a solver can be asked: all numbers are numbers, all variables are of this model, bounds are in order.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::Model`]; [`Error::Infeasible`] of bounds that exclude each other.
    pub fn check(&self) -> Result<(), Error> {
        let finite = |value: f64, what: &dyn Fn() -> String| {
            if value.is_finite() && value.abs() <= LARGEST {
                Ok(())
            } else {
                Err(Error::NotFinite { what: what(), value })
            }
        };
        finite(self.offset, &|| "the offset".to_owned())?;
        for variable in &self.variables {
            finite(variable.cost, &|| format!("the cost of `{}`", variable.name))?;
            finite(variable.lower, &|| format!("the lower bound of `{}`", variable.name))?;
            finite(variable.upper, &|| format!("the upper bound of `{}`", variable.name))?;
            if variable.lower > variable.upper {
                return Err(Error::Infeasible);
            }
        }
        for row in &self.rows {
            for &(variable, factor) in &row.terms {
                if variable >= self.variables.len() {
                    let what = format!("row `{}` has variable {variable}, which is not of this model", row.name);
                    return Err(Error::Model { what });
                }
                finite(factor, &|| format!("a factor of row `{}`", row.name))?;
            }
            if row.lower.is_nan() || row.upper.is_nan() {
                return Err(Error::NotFinite { what: format!("a bound of row `{}`", row.name), value: f64::NAN });
            }
            if row.lower > row.upper || (row.terms.is_empty() && !(row.lower <= 0.0 && 0.0 <= row.upper)) {
                return Err(Error::Infeasible);
            }
        }
        Ok(())
    }

    /// What values cost.
    pub fn cost(&self, values: &[f64]) -> f64 {
        self.offset + self.variables.iter().zip(values).map(|(variable, value)| variable.cost * value).sum::<f64>()
    }

    /// What two solutions that are not equally good differ by at least: the greatest divisor of all costs, which are whole numbers, as are
    /// the values of what has a cost.
    pub fn step(&self) -> f64 {
        let divisor = self.variables.iter().map(|variable| variable.cost.abs() as u64).fold(0, |mut a, mut b| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a
        });
        divisor.max(1) as f64
    }

    /// Whether values keep all bounds and rows, and are whole where they must be.
    pub fn is_satisfied(&self, values: &[f64]) -> bool {
        self.broken(values).is_none()
    }

    /// The name of a variable or row that values break.
    pub fn broken(&self, values: &[f64]) -> Option<&str> {
        let near = 1e-6;
        if values.len() != self.variables.len() {
            return Some("the number of variables");
        }
        let variable = self.variables.iter().zip(values).find(|(variable, value)| {
            let inside = variable.lower - near <= **value && **value <= variable.upper + near;
            !inside || (variable.integer && (*value - value.round()).abs() > near)
        });
        if let Some((variable, _)) = variable {
            return Some(&variable.name);
        }
        let row = self.rows.iter().find(|row| {
            let sum: f64 = row.terms.iter().map(|&(variable, factor)| factor * values[variable]).sum();
            !(row.lower - near <= sum && sum <= row.upper + near)
        });
        row.map(|row| row.name.as_str())
    }

    /// The model in the format `.lp` that solvers read.
    pub fn lp(&self) -> String {
        let mut text = String::from("minimize\n obj:");
        let term = |text: &mut String, factor: f64, name: &str| {
            let sign = if factor < 0.0 { '-' } else { '+' };
            match factor.abs() {
                1.0 => _ = write!(text, " {sign} {name}"),
                factor => _ = write!(text, " {sign} {factor} {name}"),
            }
        };
        for variable in self.variables.iter().filter(|variable| variable.cost != 0.0) {
            term(&mut text, variable.cost, &variable.name);
        }
        if self.offset != 0.0 {
            let _ = write!(text, " + {}", self.offset);
        }
        text.push_str("\nsubject to\n");
        for row in &self.rows {
            let mut sum = String::new();
            for &(variable, factor) in &row.terms {
                term(&mut sum, factor, self.variables.get(variable).map_or("?", |variable| &variable.name));
            }
            let mut line = |suffix: &str, relation: &str, bound: f64| {
                let _ = writeln!(text, " {}{suffix}:{sum} {relation} {bound}", row.name);
            };
            if row.lower == row.upper {
                line("", "=", row.lower);
                continue;
            }
            if row.lower.is_finite() {
                line(if row.upper.is_finite() { "_low" } else { "" }, ">=", row.lower);
            }
            if row.upper.is_finite() {
                line("", "<=", row.upper);
            }
        }
        text.push_str("bounds\n");
        for variable in &self.variables {
            let _ = writeln!(text, " {} <= {} <= {}", variable.lower, variable.name, variable.upper);
        }
        text.push_str("general\n");
        for variable in self.variables.iter().filter(|variable| variable.integer) {
            let _ = writeln!(text, " {}", variable.name);
        }
        text.push_str("end\n");
        text
    }
}
