//! Programs: inputs, a list of bindings, results.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ArrayId, ArrayOp, Constant, ElementType, ValueId};

/// The most dimensions an array may have.
pub const MAX_RANK: usize = 8;

/// A name that is only a hint for printing: all are equal, so `==` on programs ignores them.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Name(pub String);

impl Name {
    /// Whether there is no hint.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
impl PartialEq for Name {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(name.to_owned())
    }
}
impl From<String> for Name {
    fn from(name: String) -> Self {
        Self(name)
    }
}

/// A place in a source: all are equal, so `==` on programs ignores them.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The file, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<str>>,
    /// The line, from 1; 0 where unknown.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
}

impl Place {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        self.line == 0
    }

    /// The place of the caller, for embedded languages.
    #[track_caller]
    pub fn caller() -> Self {
        let at = std::panic::Location::caller();
        Self { file: Some(at.file().into()), line: at.line(), column: at.column() }
    }
}
impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
/// `file:line:column`, `line:column`, or nothing.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (_, 0) => Ok(()),
            (Some(file), line) => write!(f, "{file}:{line}:{}", self.column),
            (None, line) => write!(f, "{line}:{}", self.column),
        }
    }
}

/// How many elements an array has along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Extent")]
pub enum Extent<V = ArrayId> {
    /// A number.
    Constant(i64),
    /// An `i64` bound earlier.
    Value(V),
    /// `?`: any. In result types of programs, in inner arrays and stream elements only.
    Unknown,
}

/// The type of a value of a block.
///
/// `[n, 3]f32` has extents `[n, 3]`; `f32` has none (rank 0); `[n][?]f32`, an array of arrays, has extents `[n]` and the inner
/// list `[?]`; `stream [?]f32` has the extents of an element of the stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound(deserialize = "V: Deserialize<'de>"))]
#[schemars(rename = "Type")]
pub struct Type<V = ArrayId> {
    /// Whether values come one by one, each of the type that the rest says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stream: bool,
    /// Extents of the (outermost) array, from the outermost dimension.
    pub extents: Vec<Extent<V>>,
    /// Extents of the arrays inside, a list for each level; empty for arrays of scalars.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<Vec<Extent<V>>>,
    /// What the innermost arrays hold.
    pub element: ElementType,
}

impl<V> Type<V> {
    /// A scalar: an array of rank 0.
    pub fn scalar(element: ElementType) -> Self {
        Self::array(Vec::new(), element)
    }

    /// An array of scalars.
    pub fn array(extents: Vec<Extent<V>>, element: ElementType) -> Self {
        Self { stream: false, extents, inner: Vec::new(), element }
    }

    /// The number of (outermost) dimensions.
    pub fn rank(&self) -> usize {
        self.extents.len()
    }

    /// Whether it is a scalar (rank 0, no inner arrays, no stream).
    pub fn is_scalar(&self) -> bool {
        !self.stream && self.extents.is_empty() && self.inner.is_empty()
    }

    /// Every extent, outer ones first.
    pub fn all_extents(&self) -> impl Iterator<Item = &Extent<V>> {
        self.extents.iter().chain(self.inner.iter().flatten())
    }

    /// Every extent, outer ones first.
    pub fn all_extents_mut(&mut self) -> impl Iterator<Item = &mut Extent<V>> {
        self.extents.iter_mut().chain(self.inner.iter_mut().flatten())
    }
}

impl<V: Copy> Type<V> {
    /// The same type with other extents: those of a program in its plan, say.
    pub fn with_extents<W>(&self, extent: &mut dyn FnMut(Extent<V>) -> Extent<W>) -> Type<W> {
        let mut list = |extents: &[Extent<V>]| extents.iter().map(|&of| extent(of)).collect();
        Type {
            stream: self.stream,
            extents: list(&self.extents),
            inner: self.inner.iter().map(|level| list(level)).collect(),
            element: self.element,
        }
    }
}

/// A value that a block names, with its type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Var {
    /// Which value.
    pub id: ArrayId,
    /// Its type; extents are constants or values bound before it (in the same list of results too).
    #[serde(rename = "type")]
    pub ty: Type,
    /// A hint for printing; of a program's inputs the name.
    #[serde(default, skip_serializing_if = "Name::is_empty")]
    pub name: Name,
}

/// One step of a block: an operation and names for its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
// What is left over is for the operation, which refuses what it does not know.
#[schemars(deny_unknown_fields)]
pub struct Binding {
    /// One or several results. Their types say the extents the operation runs over.
    pub results: Vec<Var>,
    /// What is computed.
    #[serde(flatten)]
    pub op: ArrayOp,
    /// Where it stands in the source.
    #[serde(default, skip_serializing_if = "Place::is_unknown")]
    pub place: Place,
}

/// Parameters, bindings, results: the body of a program and of the operations that nest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Sizes (`i64`) that the parameters' types bind, in the order first met: of programs, fallbacks, the bodies of `consume`
    /// and the functions of sinks only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<Var>,
    /// Parameters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<Var>,
    /// Bindings; operands are earlier values of this block or of blocks around it.
    pub bindings: Vec<Binding>,
    /// What the block gives, in order.
    pub results: Vec<ArrayId>,
}

/// A result of a program: its name and declared type. Extents are inputs' values, constants or `?`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Output")]
pub struct Output<V = ArrayId> {
    /// The name, unique among results.
    pub name: String,
    /// The declared type.
    #[serde(rename = "type")]
    pub ty: Type<V>,
}

/// A whole program: the inputs are the parameters of its body.
///
/// `==` compares inputs' and results' names, and otherwise ignores names and places.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// What the program is called.
    pub name: String,
    /// Inputs (as parameters), bindings, results.
    pub body: Block,
    /// One for each of the body's results.
    pub outputs: Vec<Output>,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        let names = |p: &Self| p.body.params.iter().map(|v| v.name.0.clone()).collect::<Vec<_>>();
        self.body == other.body && self.outputs == other.outputs && names(self) == names(other)
    }
}

/// An operand of an array operation where a scalar is wanted: seeds, conditions, indices, extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Operand")]
pub enum Operand<V = ArrayId> {
    /// A value bound earlier: of rank 0 where a scalar is wanted; of any type as start of a loop or argument.
    Value(V),
    /// A constant.
    Constant(Constant),
}

impl From<ArrayId> for Operand {
    fn from(id: ArrayId) -> Self {
        Self::Value(id)
    }
}
impl From<ValueId> for Operand<ValueId> {
    fn from(id: ValueId) -> Self {
        Self::Value(id)
    }
}
impl<V> From<Constant> for Operand<V> {
    fn from(constant: Constant) -> Self {
        Self::Constant(constant)
    }
}
