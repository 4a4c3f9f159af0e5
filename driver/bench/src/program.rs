//! A program of the suite: its text, its inputs, and what it is measured against.

use anyhow::{Context, Result, bail, ensure};
use fusebox::ir::{Array, ElementType, Nested, Program as Ir, Value, text};

use crate::{
    compare::Tolerance,
    data::{self, Data},
    hand::Hand,
};

/// A program of the suite.
pub struct Program {
    /// What it is called.
    pub name: &'static str,
    /// It, as text.
    pub text: &'static str,
    /// What each of its inputs is.
    pub inputs: &'static [Input],
    /// Which of its results count, and in which order.
    pub results: &'static [usize],
    /// Whether an outside runner knows it, or it is of this suite alone.
    pub outside: bool,
    /// Whether what lies between its operations, stored, is too large for memory at large sizes.
    pub needs_fusion: bool,
    /// What [`Self::generate`] takes for small inputs, which fit in the caches of a core, and for large ones, which do not.
    pub sizes: Sizes,
    /// What [`Self::generate`] takes in tests: seconds for all programs, without optimisation.
    pub tiny: usize,
    /// Makes inputs of a size.
    pub generate: fn(usize) -> Data,
    /// The hand-written program.
    pub hand: ByHand,
    /// The program's own steps by hand, where [`Self::hand`] has a better algorithm: what the compiler costs apart from the algorithm.
    pub same_steps: Option<ByHand>,
    /// The least work there is.
    pub work: fn(&Data) -> Result<Work>,
    /// How near results must be.
    pub tolerance: Tolerance,
}

/// Makes a hand-written program of its inputs.
pub type ByHand = for<'d> fn(&'d Data) -> Result<Box<dyn Hand + 'd>>;

/// Sizes to measure at.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// In the caches of a core.
    pub small: usize,
    /// In memory, as the protocol has it.
    pub large: usize,
}

/// What an input of a program is.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// An array or a parameter, by name.
    Named(&'static str),
    /// An array of arrays, by name: two arrays, `NAME.extents` and `NAME.values`.
    Nested(&'static str),
    /// A number that is no parameter.
    Number(f64),
}

/// The least work that a run needs: what bounds its time from below.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Bytes read and written, each once.
    pub bytes: f64,
    /// Operations on floats or integers; 0 where memory is what limits.
    pub operations: f64,
}

impl Program {
    /// The program, parsed.
    ///
    /// # Errors
    /// If the text is none, which would be a fault of the suite.
    pub fn ir(&self) -> Result<Ir> {
        text::parse(self.text).map_err(|error| anyhow::anyhow!("program `{}`: {error}", self.name))
    }

    /// The inputs of the program, from data.
    ///
    /// # Errors
    /// If the data lacks one.
    pub fn arguments(&self, ir: &Ir, data: &Data) -> Result<Vec<Value>> {
        let params = &ir.body.params;
        ensure!(params.len() == self.inputs.len(), "program `{}` has {} inputs", self.name, params.len());
        let value = |input: &Input, element| match *input {
            Input::Named(name) => data.value(name, element),
            Input::Nested(name) => {
                let part = |part: &str| data.array(&format!("{name}.{part}")).cloned();
                Ok(Value::Nested(Nested { extents: part("extents")?, values: part("values")? }))
            }
            Input::Number(number) => data::scalar(number, element),
        };
        self.inputs
            .iter()
            .zip(params)
            .map(|(input, param)| value(input, param.ty.element).with_context(|| format!("input `{}`", param.name.0)))
            .collect()
    }

    /// Those results of a run that count; of an array of arrays the values.
    ///
    /// # Errors
    /// If the program has fewer.
    pub fn select(&self, values: Vec<Value>) -> Result<Vec<Array>> {
        let mut values: Vec<_> = values.into_iter().map(Some).collect();
        let mut take = |position: usize| match values.get_mut(position).and_then(Option::take) {
            Some(Value::Array(array)) => Ok(array),
            Some(Value::Nested(nested)) => Ok(nested.values),
            _ => bail!("program `{}` has no array as result {position}", self.name),
        };
        self.results.iter().map(|&position| take(position)).collect()
    }
}

/// Several results of one type as rows of one array; a single one as it is.
///
/// # Errors
/// If they are of different types.
pub fn stacked(mut results: Vec<Array>) -> Result<Array> {
    if results.len() == 1 {
        return Ok(results.remove(0));
    }
    let first = results.first().context("a program without results")?;
    let (element, extents): (ElementType, Vec<usize>) = (first.element(), first.extents().to_vec());
    let mut all = Array::zeros(element, &[&[results.len()], extents.as_slice()].concat())?;
    let bytes = first.bytes().len();
    for (row, array) in results.iter().enumerate() {
        ensure!(array.element() == element && array.extents() == extents, "results of different types");
        all.bytes_mut()[row * bytes..][..bytes].copy_from_slice(array.bytes());
    }
    Ok(all)
}
