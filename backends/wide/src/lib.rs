#![doc = include_str!("../README.md")]

mod allocate;
mod broadcasts;
mod encode;
mod features;
mod machine;
mod operands;
mod select;

pub use features::Features;

pub use fusebox_vector as vector;

use fusebox_vector::Function;

/// Machine code, to be put at a multiple of 64 bytes; constants are behind the instructions.
#[derive(Clone, Debug)]
pub struct Code {
    /// Instructions and constants. The function has the calling convention of System V: argument table, range, scratch memory, error slot;
    /// it gives 0, or the site of a failure plus 1.
    pub bytes: Vec<u8>,
    /// How many of the bytes are instructions; constants begin at the next multiple of 64.
    pub instructions: usize,
    /// For each site the bytes of a lane of its mask in the error slot (0: uniform).
    pub widths: Vec<u32>,
}

/// Why there is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Something that is not done here: another code generator has to.
    Lacks(String),
    /// A mistake of ours.
    Failed(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Lacks(what) => write!(f, "no vector code for {what}"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

/// Machine code of a function, for processors that have these features. The machine at hand plays no part.
///
/// # Errors
/// [`Refusal`].
pub fn compile(function: &Function, features: Features) -> Result<Code, Refusal> {
    fusebox_vector::debug_verify(function, "whoever wants code");
    let mut numbered = fusebox_vector::number(function);
    fusebox_vector::debug_verify(&numbered, "value numbering");
    // Without mask registers, masks would take those of accumulators.
    if features.avx512
        && let Some(apart) = fusebox_vector::extremes(&numbered)
    {
        numbered = fusebox_vector::number(&apart);
        fusebox_vector::debug_verify(&numbered, "extremes");
    }
    if let Some(with_products) = fusebox_vector::reciprocals(&numbered) {
        numbered = fusebox_vector::number(&with_products);
        fusebox_vector::debug_verify(&numbered, "reciprocals");
    }
    let (machine, widths) = select::select(&numbered, features)?;
    let shape = allocate::Shape::new(&machine);
    let output = allocate::allocate(&shape).map_err(|error| Refusal::Failed(format!("{}: {error}", function.name)))?;
    let (bytes, instructions) = encode::encode(&machine, &shape, &output)
        .map_err(|error| Refusal::Failed(format!("{}: {error}", function.name)))?;
    Ok(Code { bytes, instructions, widths })
}
