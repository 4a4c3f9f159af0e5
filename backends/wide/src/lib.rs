#![doc = include_str!("../README.md")]

mod allocate;
mod encode;
mod improve;
mod machine;
mod select;
pub mod vector;

use vector::Function;

/// What the processor has beyond what all code needs: AVX-512 F, BW, DQ, VL and CD, BMI1, BMI2, LZCNT, POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Counting ones in lanes: VPOPCNTDQ and BITALG.
    pub counts: bool,
    /// Permutations of bytes: VBMI.
    pub bytes: bool,
    /// Compressing lanes of 1 and 2 bytes: VBMI2.
    pub compress: bool,
}

impl Features {
    /// Those of this machine, if it can run such code.
    #[cfg(all(unix, target_arch = "x86_64"))]
    pub fn of_this_machine() -> Option<Self> {
        use std::is_x86_feature_detected as has;
        let base = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") && has!("avx512cd");
        let ints = has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
        (base && ints).then(|| Self {
            counts: has!("avx512vpopcntdq") && has!("avx512bitalg"),
            bytes: has!("avx512vbmi"),
            compress: has!("avx512vbmi2"),
        })
    }

    /// Those of this machine, if it can run such code: it cannot.
    #[cfg(not(all(unix, target_arch = "x86_64")))]
    pub fn of_this_machine() -> Option<Self> {
        None
    }
}

/// Bytes of a vector.
pub const VECTOR_BYTES: usize = 64;

/// Machine code, to be put at a multiple of 64 bytes; constants are behind the instructions.
#[derive(Clone, Debug)]
pub struct Code {
    /// Instructions and constants. The function has the calling convention of System V: argument table, range, scratch memory, error slot;
    /// it gives 0, or the site of a failure plus 1.
    pub bytes: Vec<u8>,
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

/// Machine code of a function.
///
/// # Errors
/// [`Refusal`].
pub fn compile(function: &Function, features: Features) -> Result<Code, Refusal> {
    let improved = improve::improve(function);
    let (machine, widths) = select::select(&improved, features)?;
    let shape = allocate::Shape::new(&machine);
    let output = allocate::allocate(&shape).map_err(|error| Refusal::Failed(format!("{}: {error}", function.name)))?;
    let bytes = encode::encode(&machine, &shape, &output)
        .map_err(|error| Refusal::Failed(format!("{}: {error}", function.name)))?;
    Ok(Code { bytes, widths })
}
