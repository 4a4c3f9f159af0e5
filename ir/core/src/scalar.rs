//! Scalar code: functions applied to elements, as flat lists of typed instructions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ArrayId, Constant, ElementType, LocalId, Name, Place};

/// A scalar value that a [`Lambda`] names: a parameter, or a result of an instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// Dense in the outermost function, in order of definition.
    pub id: LocalId,
    /// The element type.
    #[serde(rename = "type")]
    pub ty: ElementType,
    /// A hint for printing.
    #[serde(default, skip_serializing_if = "Name::is_empty")]
    pub name: Name,
}

/// A scalar function: parameters, a flat list of instructions, results.
///
/// It may use any value bound outside, and read arrays; it never holds an array operation. Local ids are dense in the
/// outermost function, in order of definition: parameters first, the locals of an instruction's bodies before its results.
///
/// Evaluation is by need, an instruction at a time: what no result and no branch taken uses cannot fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lambda {
    /// Parameters, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub params: Vec<Local>,
    /// Instructions; operands are earlier locals, of enclosing functions too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instruction>,
    /// What the function gives, in order.
    pub results: Vec<ScalarOperand>,
}

/// An operand of scalar code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScalarOperand {
    /// A parameter or an earlier instruction's result.
    Local(LocalId),
    /// An array of rank 0 bound outside.
    Outer(ArrayId),
    /// A constant.
    Constant(Constant),
}

/// One scalar instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
// What is left over is for the operation, which refuses what it does not know.
#[schemars(deny_unknown_fields)]
pub struct Instruction {
    /// One result, or as many as the bodies of an `if` or a loop have.
    pub results: Vec<Local>,
    /// What is computed.
    #[serde(flatten)]
    pub op: ScalarOp,
    /// Where it stands in the source; kept through passes by instructions that can fail.
    #[serde(default, skip_serializing_if = "Place::is_unknown")]
    pub place: Place,
}

/// What a scalar instruction computes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScalarOp {
    /// A function of one operand.
    Unary {
        /// Which.
        function: Unary,
        /// The operand.
        a: ScalarOperand,
    },
    /// A function of two operands of one type (the amount of a shift or rotation is of any integer type).
    Binary {
        /// Which.
        function: Binary,
        /// The left operand.
        a: ScalarOperand,
        /// The right operand.
        b: ScalarOperand,
    },
    /// `a * b + c`, rounded once.
    Fma {
        /// A factor.
        a: ScalarOperand,
        /// A factor.
        b: ScalarOperand,
        /// The summand.
        c: ScalarOperand,
    },
    /// Conversion to another element type: integers wrap, to float rounds to nearest even, float to integer saturates with NaN to 0.
    Convert {
        /// The type of the result.
        to: ElementType,
        /// The operand.
        a: ScalarOperand,
    },
    /// The same bits as another element type of the same width.
    Bits {
        /// The type of the result.
        to: ElementType,
        /// The operand.
        a: ScalarOperand,
    },
    /// `array[index…]`, checked.
    Read {
        /// The array; in kernels a parameter of the kernel.
        array: ArrayId,
        /// One `i64` a dimension.
        index: Vec<ScalarOperand>,
    },
    /// `array.flat[position]`: by row-major position, checked.
    ReadFlat {
        /// The array; in kernels a parameter of the kernel.
        array: ArrayId,
        /// The row-major position, an `i64`.
        position: ScalarOperand,
    },
    /// The results of the branch taken. Branches have no parameters; with no instructions it is a select.
    If {
        /// A `bool`.
        condition: ScalarOperand,
        /// Where it holds.
        then: Lambda,
        /// Where it does not.
        otherwise: Lambda,
    },
    /// Runs `step` on the state while `condition` holds of it; the results are the last state.
    While {
        /// State to `bool`.
        condition: Lambda,
        /// State to state.
        step: Lambda,
        /// The first state.
        starts: Vec<ScalarOperand>,
    },
    /// `value`, or a run-time error with `message` where `condition` does not hold.
    Assert {
        /// A `bool`.
        condition: ScalarOperand,
        /// What the error says.
        message: String,
        /// Numbers (`i64`) that it says, each in the place of a `{}`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shown: Vec<ScalarOperand>,
        /// The result.
        value: ScalarOperand,
    },
}

macro_rules! functions {
    ($(#[$doc:meta])* $name:ident { $(#[doc = $vdoc:literal] $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $(#[doc = $vdoc] $variant,)*
        }
        impl $name {
            /// Every function, in the order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The spelling in text: an operator, or a name.
            pub fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// What it gives, in a sentence.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$variant => $vdoc.trim_ascii(),)*
                }
            }
        }
    };
}

functions! {
    /// Functions of one operand. What they give at corners says `primitive.rs`.
    Unary {
        /// Negation; integers wrap.
        Neg = "-",
        /// Logical not of a `bool`.
        Not = "!",
        /// Bitwise complement of an integer.
        Complement = "~",
        /// Absolute value; integers wrap.
        Abs = "abs",
        /// -1, 0 or 1; of ±0 and NaN itself.
        Sign = "sign",
        /// Number of bits set, in the operand's type.
        Popcount = "popcount",
        /// Leading zeros, in the operand's type.
        Clz = "clz",
        /// Trailing zeros, in the operand's type.
        Ctz = "ctz",
        /// Square root, correctly rounded.
        Sqrt = "sqrt",
        /// Cube root.
        Cbrt = "cbrt",
        /// e to the power.
        Exp = "exp",
        /// 2 to the power.
        Exp2 = "exp2",
        /// `exp(x) - 1`.
        Expm1 = "expm1",
        /// Natural logarithm.
        Log = "log",
        /// Logarithm to base 2.
        Log2 = "log2",
        /// Logarithm to base 10.
        Log10 = "log10",
        /// `log(1 + x)`.
        Log1p = "log1p",
        /// Sine of radians.
        Sin = "sin",
        /// Cosine of radians.
        Cos = "cos",
        /// Tangent of radians.
        Tan = "tan",
        /// Inverse sine.
        Asin = "asin",
        /// Inverse cosine.
        Acos = "acos",
        /// Inverse tangent.
        Atan = "atan",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Inverse hyperbolic sine.
        Asinh = "asinh",
        /// Inverse hyperbolic cosine.
        Acosh = "acosh",
        /// Inverse hyperbolic tangent.
        Atanh = "atanh",
        /// The error function.
        Erf = "erf",
        /// `1 - erf(x)`.
        Erfc = "erfc",
        /// Down to a whole number.
        Floor = "floor",
        /// Up to a whole number.
        Ceil = "ceil",
        /// Toward zero to a whole number.
        Trunc = "trunc",
        /// To the nearest whole number, halves to even.
        Round = "round",
        /// Whether it is NaN.
        IsNan = "is_nan",
        /// Whether it is an infinity.
        IsInf = "is_inf",
    }
}

functions! {
    /// Functions of two operands. What they give at corners says `primitive.rs`.
    Binary {
        /// Sum; integers wrap.
        Add = "+",
        /// Difference; integers wrap.
        Sub = "-",
        /// Product; integers wrap.
        Mul = "*",
        /// Quotient; of integers rounded to zero, by zero an error.
        Div = "/",
        /// Remainder with the sign of the dividend; of integers by zero an error.
        Rem = "%",
        /// Quotient of integers rounded down; by zero an error.
        DivFloor = "div",
        /// Remainder of integers with the sign of the divisor; by zero an error.
        ModFloor = "mod",
        /// The smaller; NaN wins, -0 < +0.
        Min = "min",
        /// The larger; NaN wins, -0 < +0.
        Max = "max",
        /// Bitwise and, of `bool` too.
        And = "&",
        /// Bitwise or, of `bool` too.
        Or = "|",
        /// Bitwise exclusive or, of `bool` too.
        Xor = "^",
        /// Shift left; by the width or more 0.
        Shl = "<<",
        /// Shift right; of signed integers arithmetic; by the width or more 0, or all sign bits.
        Shr = ">>",
        /// Rotation left, modulo the width.
        RotateLeft = "rotate_left",
        /// Rotation right, modulo the width.
        RotateRight = "rotate_right",
        /// Whether both hold; the right operand is needed only where the left one holds.
        LogicalAnd = "&&",
        /// Whether one holds; the right operand is needed only where the left one does not hold.
        LogicalOr = "||",
        /// Equality; NaN equals nothing.
        Eq = "==",
        /// Inequality.
        Ne = "!=",
        /// Less.
        Lt = "<",
        /// Less or equal.
        Le = "<=",
        /// Greater.
        Gt = ">",
        /// Greater or equal.
        Ge = ">=",
        /// The first to the power of the second.
        Pow = "pow",
        /// The angle of the point whose y is the first and whose x is the second.
        Atan2 = "atan2",
        /// The root of the sum of both squares, without overflow.
        Hypot = "hypot",
    }
}

impl Binary {
    /// The comparisons, whose result is a `bool`.
    pub fn is_comparison(self) -> bool {
        matches!(self, Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge)
    }

    /// Shifts and rotations, whose right operand may be of another integer type.
    pub fn is_shift(self) -> bool {
        matches!(self, Self::Shl | Self::Shr | Self::RotateLeft | Self::RotateRight)
    }
}

impl From<Constant> for ScalarOperand {
    fn from(constant: Constant) -> Self {
        Self::Constant(constant)
    }
}

impl From<LocalId> for ScalarOperand {
    fn from(local: LocalId) -> Self {
        Self::Local(local)
    }
}
