//! Building programs: from a Rust function on handles to a graph of terms and its interface.

use std::marker::PhantomData;

use fusebox_ir::{
    ElementType, Type, Value,
    term::{Term, TermId, Terms},
};

use crate::{
    acc::Acc,
    arena::{self, At, here},
    array::{Array, ArrayError},
    elt::{Elt, Fields},
    error::{BuildError, Mistake, Problem},
    exp::Exp,
    shape::Shape,
};

/// What a program takes and gives: handles of arrays and scalars, and tuples of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an array nor a scalar of a program",
    note = "programs take and give `Acc<...>`, `Exp<...>`, and tuples of them"
)]
pub trait Arrays: Copy + 'static {
    /// What the host holds: `Array<Sh, T>` of `Acc<Array<Sh, T>>`, `T` of `Exp<T>`, tuples of tuples.
    type Host;

    /// Components, with their names behind that of the whole.
    #[doc(hidden)]
    fn layout(prefix: &str, out: &mut Vec<Component>);

    /// Handles of new terms: one run of extents and arrays for each array. `make` gives a term for a type.
    #[doc(hidden)]
    fn make(maker: &mut Maker<'_>) -> Self;

    /// The terms, as runs of extents and arrays.
    #[doc(hidden)]
    fn take(self, at: Place, out: &mut Vec<Taken>);

    /// The arrays of a value of the host, in the order of components.
    #[doc(hidden)]
    fn unpack(host: &Self::Host, out: &mut Vec<Value>);

    /// The value of the host that has these arrays.
    #[doc(hidden)]
    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError>;
}

/// Where something was built.
#[doc(hidden)]
pub type Place = At;

/// A component of an input or result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its name: that of the whole, then the fields, joined by `.`.
    pub name: String,
    /// Its element type.
    pub element: ElementType,
    /// The number of dimensions.
    pub rank: usize,
    /// The number of dimensions of the arrays inside; 0 where there are none.
    pub inner: usize,
}

/// Makes terms for handles; what becomes of a type is up to who makes.
#[doc(hidden)]
pub struct Maker<'a> {
    /// Extents of the next array: given its rank, and whether they are those of arrays inside of one.
    pub(crate) extents: &'a mut dyn FnMut(usize, bool) -> Vec<TermId>,
    /// The term of the next component: given its type.
    pub(crate) array: &'a mut dyn FnMut(Type) -> TermId,
}

/// The terms of one array or scalar.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Taken {
    pub(crate) extents: Vec<TermId>,
    pub(crate) arrays: Vec<TermId>,
    pub(crate) elements: Vec<ElementType>,
    /// The extents of the arrays inside, where it is an array of arrays.
    pub(crate) inner: Vec<TermId>,
    /// Whether it is a stream, which is read once and by `consume` alone.
    pub(crate) stream: bool,
}

/// The next `count` values that are arrays.
fn columns(values: &mut dyn Iterator<Item = Value>, count: usize) -> Vec<fusebox_ir::Array> {
    let array = |value| match value {
        Value::Array(array) => Some(array),
        Value::Nested(_) | Value::Stream(_) => None,
    };
    values.take(count).filter_map(array).collect()
}

pub(crate) fn joined(prefix: &str, field: &str) -> String {
    match (prefix.is_empty(), field.is_empty()) {
        (_, true) => prefix.to_owned(),
        (true, _) => field.to_owned(),
        _ => format!("{prefix}.{field}"),
    }
}

fn components<T: Elt>(prefix: &str, rank: usize, out: &mut Vec<Component>) {
    let fields = Fields::of::<T>();
    out.extend(fields.into_iter().map(|(field, element)| Component {
        name: joined(prefix, &field),
        element,
        rank,
        inner: 0,
    }));
}

impl<Sh: Shape, T: Elt> Arrays for Acc<Array<Sh, T>> {
    type Host = Array<Sh, T>;

    fn layout(prefix: &str, out: &mut Vec<Component>) {
        components::<T>(prefix, Sh::RANK, out);
    }

    fn make(maker: &mut Maker<'_>) -> Self {
        let extents = (maker.extents)(Sh::RANK, false);
        let types = crate::acc::types_of::<T>(&extents);
        let arrays: Vec<TermId> = types.into_iter().map(|ty| (maker.array)(ty)).collect();
        Self::new(&extents, &arrays)
    }

    fn take(self, at: Place, out: &mut Vec<Taken>) {
        let parts = self.parts(at);
        out.push(Taken {
            extents: parts.extents,
            arrays: parts.arrays,
            elements: T::types(),
            inner: Vec::new(),
            stream: false,
        });
    }

    fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
        out.extend(host.columns().iter().cloned().map(Value::Array));
    }

    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
        Array::from_columns(columns(arrays, T::COUNT))
    }
}

impl<T: Elt> Arrays for Exp<T> {
    type Host = T;

    fn layout(prefix: &str, out: &mut Vec<Component>) {
        components::<T>(prefix, 0, out);
    }

    fn make(maker: &mut Maker<'_>) -> Self {
        let terms: Vec<TermId> = T::types().into_iter().map(|ty| (maker.array)(Type::scalar(ty))).collect();
        Self::from_terms(&terms)
    }

    fn take(self, at: Place, out: &mut Vec<Taken>) {
        out.push(Taken {
            extents: Vec::new(),
            arrays: self.terms(at),
            elements: T::types(),
            inner: Vec::new(),
            stream: false,
        });
    }

    fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
        out.extend(crate::Scalar::of(host).into_columns().into_iter().map(Value::Array));
    }

    fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
        let columns = columns(arrays, T::COUNT);
        let given = columns.iter().map(fusebox_ir::Array::element).collect();
        let extents = columns.iter().map(|c| c.extents().to_vec()).collect();
        let scalar = crate::Scalar::<T>::from_columns(columns)?;
        scalar.value().ok_or(ArrayError::Columns { given, extents, rank: 0, wanted: T::types() })
    }
}

/// The inputs of a program: a tuple of arrays and scalars.
pub trait Parameters: Arrays {
    /// How many.
    const COUNT: usize;

    /// What each is, under these names.
    #[doc(hidden)]
    fn describe(names: &[String]) -> Vec<Item>;
}

/// The results of a program: an array, a scalar, or a tuple of them, which is several results.
#[diagnostic::on_unimplemented(
    message = "a program cannot give `{Self}`",
    note = "programs give `Acc<...>`, `Exp<...>`, and tuples of them; `lift` makes an `Exp` of a tuple of scalars"
)]
pub trait Results: Arrays {
    /// How many.
    const COUNT: usize;

    /// What each is, under these names.
    #[doc(hidden)]
    fn describe(names: &[String]) -> Vec<Item>;
}

/// A Rust function on handles whose parameters are `P`, a tuple.
#[diagnostic::on_unimplemented(
    message = "this is no function from the inputs of a program to its results",
    note = "write the types of the parameters, `Acc<...>` of arrays and `Exp<...>` of scalars: `|xs: Acc<Vector<f32>>, a: Exp<f32>| ...`; up to eight",
    note = "what it gives is a handle too, or a tuple of handles: `lift` makes an `Exp` of literals and tuples of scalars"
)]
pub trait Function<P: Parameters> {
    /// What it gives.
    type Output: Results;

    /// Calls it.
    #[doc(hidden)]
    fn call(self, parameters: P) -> Self::Output;
}

/// An input or a result: its name, and the arrays and scalars that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The name.
    pub name: String,
    /// One for each component, in order.
    pub components: Vec<Component>,
}

impl Item {
    pub(crate) fn of<A: Arrays>(name: &str) -> Self {
        let mut components = Vec::new();
        A::layout(name, &mut components);
        Self { name: name.to_owned(), components }
    }
}

impl<Sh: Shape, T: Elt> Results for Acc<Array<Sh, T>> {
    const COUNT: usize = 1;
    fn describe(names: &[String]) -> Vec<Item> {
        names.iter().map(|name| Item::of::<Self>(name)).collect()
    }
}

impl<T: Elt> Results for Exp<T> {
    const COUNT: usize = 1;
    fn describe(names: &[String]) -> Vec<Item> {
        names.iter().map(|name| Item::of::<Self>(name)).collect()
    }
}

macro_rules! tuples {
    ($(($($t:ident $i:tt $name:literal $x:ident),*))*) => {$(
        #[allow(unused_variables)]
        impl<$($t: Arrays),*> Arrays for ($($t,)*) {
            type Host = ($($t::Host,)*);
            fn layout(prefix: &str, out: &mut Vec<Component>) {
                $($t::layout(&joined(prefix, $name), out);)*
            }
            #[allow(clippy::unused_unit)]
            fn make(maker: &mut Maker<'_>) -> Self {
                ($($t::make(maker),)*)
            }
            fn take(self, at: Place, out: &mut Vec<Taken>) {
                $(self.$i.take(at, out);)*
            }
            fn unpack(host: &Self::Host, out: &mut Vec<Value>) {
                $($t::unpack(&host.$i, out);)*
            }
            fn pack(arrays: &mut dyn Iterator<Item = Value>) -> Result<Self::Host, ArrayError> {
                Ok(($($t::pack(arrays)?,)*))
            }
        }
        #[allow(unused_mut, unused_variables)]
        impl<$($t: Arrays),*> Parameters for ($($t,)*) {
            const COUNT: usize = 0 $(+ { let _ = $i; 1 })*;
            fn describe(names: &[String]) -> Vec<Item> {
                let mut names = names.iter();
                let items: Vec<Option<Item>> = vec![$(names.next().map(|name| Item::of::<$t>(name))),*];
                items.into_iter().flatten().collect()
            }
        }
        impl<$($t: Arrays),*> Results for ($($t,)*) {
            const COUNT: usize = <Self as Parameters>::COUNT;
            fn describe(names: &[String]) -> Vec<Item> {
                <Self as Parameters>::describe(names)
            }
        }
        impl<Fun: FnOnce($($t),*) -> R, R: Results, $($t: Arrays),*> Function<($($t,)*)> for Fun {
            type Output = R;
            fn call(self, ($($x,)*): ($($t,)*)) -> R {
                self($($x),*)
            }
        }
    )*};
}
tuples! {
    ()
    (A 0 "_0" a)
    (A 0 "_0" a, B 1 "_1" b)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e, F 5 "_5" f)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e, F 5 "_5" f, G 6 "_6" g)
    (A 0 "_0" a, B 1 "_1" b, C 2 "_2" c, D 3 "_3" d, E 4 "_4" e, F 5 "_5" f, G 6 "_6" g, H 7 "_7" h)
}

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

/// What a program takes and gives, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// One for each parameter of the Rust function.
    pub inputs: Vec<Item>,
    /// One for each result.
    pub results: Vec<Item>,
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
            if !is_name(&program_name) {
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

/// `a`, `b`, …, `z`, `a1`, …
fn default_input(position: usize) -> String {
    let letter = char::from(b'a' + (position % 26) as u8);
    if position < 26 { letter.to_string() } else { format!("{letter}{}", position / 26) }
}

/// As many names as are wanted, whatever was given; mistakes are noted.
fn check_names(what: &'static str, names: Vec<String>, wanted: usize, at: At) -> Vec<String> {
    if names.len() != wanted {
        arena::problem(Mistake::NameCount { what, given: names.len(), wanted }, at);
        return (0..wanted).map(default_input).collect();
    }
    for name in &names {
        if !is_name(name) {
            arena::problem(Mistake::Name { name: name.clone() }, at);
        }
    }
    names
}

/// Whether text can spell it as a name.
pub(crate) fn is_name(name: &str) -> bool {
    const KEYWORDS: [&str; 10] = ["fn", "let", "return", "yield", "if", "else", "while", "true", "false", "stream"];
    let literal = |prefix: &str| name.strip_prefix(prefix).is_some_and(|ty| ElementType::from_name(ty).is_some());
    let keyword = KEYWORDS.contains(&name)
        || name == "_"
        || ElementType::from_name(name).is_some()
        || ["inf_", "nan_", "bits_"].into_iter().any(literal);
    let part = |part: &str| {
        part != "flat"
            && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    !keyword && name.split('.').all(part)
}

fn duplicates(interface: &Interface) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (items, what) in [(&interface.inputs, "inputs"), (&interface.results, "results")] {
        let mut seen = std::collections::HashSet::new();
        for component in items.iter().flat_map(|item| &item.components) {
            if !seen.insert(component.name.as_str()) {
                found.push((component.name.clone(), what));
            }
        }
    }
    found
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
