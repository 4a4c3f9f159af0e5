//! Building programs: from a Rust function on handles to a graph of terms and its interface.

use std::marker::PhantomData;

use fusebox_ir::{
    Type, Value,
    term::{Term, TermId, Terms},
};

use crate::{
    arena::{self, At, here},
    array::ArrayError,
    error::{BuildError, Mistake, Problem},
    interface::{Arrays, Function, Interface, Item, Maker, Parameters, Results},
    names::{check_names, default_input, duplicates},
};

/// A program as a graph of terms, and what it takes and gives.
///
/// The sharing pass turns [`Self::terms`] into a program of the IR. `P` and `R` are the Rust types of its inputs and results.
#[derive(Clone, Debug)]
pub struct Built<P, R> {
    /// The terms. Inputs are those of the interface, then what is captured.
    pub terms: Terms,
    /// Names and types of inputs and results.
    pub interface: Interface,
    /// Arrays of the host that the program uses ([`crate::use_array`]): further inputs, by name, with their values.
    pub captured: Vec<(String, fusebox_ir::Array)>,
    of: PhantomData<fn(P) -> R>,
}

impl<P: Arrays, R: Arrays> Built<P, R> {
    /// The arrays to run the program with, what is captured among them.
    pub fn arguments(&self, inputs: &P::Host) -> Vec<Value> {
        let mut arrays = Vec::new();
        P::unpack(inputs, &mut arrays);
        arrays.extend(self.captured.iter().map(|(_, array)| Value::Array(array.clone())));
        arrays
    }

    /// The results that these arrays are.
    ///
    /// # Errors
    /// [`ArrayError`] where they are not what the program gives.
    pub fn results(&self, arrays: Vec<Value>) -> Result<R::Host, ArrayError> {
        R::pack(&mut arrays.into_iter())
    }
}

/// A program to be built: names can be given, then [`Self::build`].
#[must_use = "`build` makes the program"]
pub struct Draft<P, F> {
    name: String,
    function: F,
    inputs: Option<Vec<String>>,
    results: Option<Vec<String>>,
    at: At,
    of: PhantomData<fn(P)>,
}

/// A program made by a function on handles.
///
/// ```
/// # use fusebox_lang::*;
/// let dotp = program("dotp", |xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
///     zip_with(|x, y| x * y, xs, ys).fold(|a, b| a + b, 0.0)
/// })
/// .inputs(["xs", "ys"])
/// .results(["s"])
/// .build()
/// .unwrap();
/// assert_eq!(dotp.interface.inputs[1].name, "ys");
/// ```
#[track_caller]
pub fn program<P: Parameters, F: Function<P>>(name: &str, function: F) -> Draft<P, F> {
    Draft { name: name.to_owned(), function, inputs: None, results: None, at: here(), of: PhantomData }
}

/// A program with default names: `a`, `b`, `c`, … for its inputs, `r` for its result, `r0`, `r1`, … for several.
///
/// # Errors
/// [`BuildError`] with every mistake found.
#[track_caller]
pub fn build<P: Parameters, F: Function<P>>(name: &str, function: F) -> Result<Built<P, F::Output>, BuildError> {
    program(name, function).build()
}

impl<P: Parameters, F: Function<P>> Draft<P, F> {
    /// Names the inputs, one for each parameter of the function. Components add theirs: `z.re`.
    pub fn inputs<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.inputs = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Names the results, one for each.
    pub fn results<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.results = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Calls the function and gives the program.
    ///
    /// # Errors
    /// [`BuildError`] with every mistake found.
    pub fn build(self) -> Result<Built<P, F::Output>, BuildError> {
        let at = self.at;
        let count = P::COUNT;
        let input_names = self.inputs.unwrap_or_else(|| (0..count).map(default_input).collect());
        let result_count = <F::Output as Results>::COUNT;
        let result_names = self.results.unwrap_or_else(|| match result_count {
            1 => vec!["r".to_owned()],
            several => (0..several).map(|i| format!("r{i}")).collect(),
        });
        let function = self.function;
        let program_name = self.name;
        let ((interface, outputs), arena) = arena::scoped(|| {
            if !fusebox_ir::is_name(&program_name) {
                arena::problem(Mistake::Name { name: program_name.clone() }, at);
            }
            let input_names = check_names("inputs", input_names, count, at);
            let result_names = check_names("results", result_names, result_count, at);
            let inputs = P::describe(&input_names);
            let results = <F::Output as Results>::describe(&result_names);
            let parameters = make_inputs::<P>(&inputs, at);
            let mut taken = Vec::new();
            function.call(parameters).take(at, &mut taken);
            let names = results.iter().flat_map(|item| item.components.iter().map(|c| c.name.clone()));
            let terms = taken.into_iter().flat_map(|one| one.arrays);
            let outputs: Vec<(String, TermId)> = names.zip(terms).collect();
            (Interface { inputs, results }, outputs)
        });
        let (mut problems, mut inputs) = (arena.problems, arena.inputs);
        inputs.extend(arena.captured.iter().map(|(term, ..)| *term));
        let captured = arena.captured.into_iter().map(|(_, name, column)| (name, column)).collect();
        for (name, what) in duplicates(&interface) {
            problems.push(Problem { mistake: Mistake::Duplicate { what, name }, place: place(at) });
        }
        if !problems.is_empty() {
            return Err(BuildError { problems });
        }
        let terms = Terms { name: program_name, nodes: arena.nodes, inputs, outputs };
        Ok(Built { terms, interface, captured, of: PhantomData })
    }
}

fn place(at: At) -> fusebox_ir::Place {
    fusebox_ir::Place { file: Some(at.file().into()), line: at.line(), column: at.column() }
}

/// Terms of the inputs: sizes, then arrays of these sizes.
fn make_inputs<P: Parameters>(inputs: &[Item], at: At) -> P {
    let mut names = inputs.iter().flat_map(|item| &item.components).map(|component| component.name.clone());
    let mut extents = |rank: usize, inner: bool| -> Vec<TermId> {
        if inner {
            return vec![crate::nest::UNKNOWN; rank];
        }
        (0..rank).map(|_| arena::push(Term::Size { name: arena::size_name() }, at)).collect()
    };
    let mut array = |ty: Type| {
        let id = arena::push(Term::Input { name: names.next().unwrap_or_default(), ty }, at);
        arena::with(|arena| arena.inputs.push(id));
        id
    };
    P::make(&mut Maker { extents: &mut extents, array: &mut array })
}
