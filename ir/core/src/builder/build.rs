//! Functions in one expression.

use super::{LambdaBuilder, ScalarValue};
use crate::{Binary, ElementType, Lambda};

impl Lambda {
    /// Builds a function: parameters (names for printing and types), then what `build` makes of them.
    ///
    /// ```
    /// use fusebox_ir::{ElementType::F32, Lambda};
    /// let sum = Lambda::build(&[("x", F32), ("y", F32)], |f, p| vec![f.add(p[0], p[1])]);
    /// assert_eq!((sum.params.len(), sum.results.len()), (2, 1));
    /// ```
    pub fn build(
        params: &[(&str, ElementType)],
        build: impl FnOnce(&mut LambdaBuilder, &[ScalarValue]) -> Vec<ScalarValue>,
    ) -> Self {
        let mut f = LambdaBuilder::new();
        let params: Vec<ScalarValue> = params.iter().map(|(name, ty)| f.param(name, *ty)).collect();
        let results = build(&mut f, &params);
        f.finish(&results)
    }

    /// The function of 2k parameters that combines components by one function each: left operands first.
    ///
    /// # Panics
    /// If a type has no such function.
    #[track_caller]
    pub fn componentwise(functions: &[(Binary, ElementType)]) -> Self {
        let names = |side: &'static str| functions.iter().map(move |(_, ty)| (side, *ty));
        let params: Vec<_> = names("x").chain(names("y")).collect();
        let k = functions.len();
        Self::build(&params, |f, p| (0..k).map(|i| f.binary(functions[i].0, p[i], p[k + i])).collect())
    }
}
