//! Which instructions code may use.

/// What a processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Features {
    /// AVX-512 F, BW, DQ, VL and CD, with vectors of 64 bytes; else AVX2, FMA and F16C, with vectors of 32.
    pub avx512: bool,
    /// Instructions that count ones in lanes: VPOPCNTDQ and BITALG.
    pub counts: bool,
    /// Instructions that compress lanes of 1 and 2 bytes: VBMI2.
    pub compress: bool,
}

impl Features {
    /// What all wide code needs: AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT. Haswell and Zen, and all since.
    pub const AVX2: Self = Self { avx512: false, counts: false, compress: false };
    /// With AVX-512 F, BW, DQ, VL and CD. Skylake-X and Cascade Lake have no more.
    pub const BASE: Self = Self { avx512: true, ..Self::AVX2 };
    /// Everything that is used anywhere: Ice Lake and later, Zen 4 and later.
    pub const FULL: Self = Self { avx512: true, counts: true, compress: true };
    /// Every set, by a name.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("avx2", Self::AVX2),
        ("base", Self::BASE),
        ("counts", Self { counts: true, ..Self::BASE }),
        ("compress", Self { compress: true, ..Self::BASE }),
        ("full", Self::FULL),
    ];

    /// Those of this machine, if it can run wide code at all.
    #[cfg(all(unix, target_arch = "x86_64"))]
    pub fn of_this_machine() -> Option<Self> {
        use std::is_x86_feature_detected as has;
        let ints = has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
        let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") && has!("avx512cd");
        (has!("avx2") && has!("fma") && has!("f16c") && ints).then(|| Self {
            avx512,
            counts: avx512 && has!("avx512vpopcntdq") && has!("avx512bitalg"),
            compress: avx512 && has!("avx512vbmi2"),
        })
    }

    /// Those of this machine, if it can run wide code at all: it cannot.
    #[cfg(not(all(unix, target_arch = "x86_64")))]
    pub fn of_this_machine() -> Option<Self> {
        None
    }

    /// Bytes of a vector.
    pub fn vector_bytes(self) -> usize {
        if self.avx512 { 64 } else { 32 }
    }

    /// Whether this machine can run code made for these features.
    pub fn run_here(self) -> bool {
        Self::of_this_machine().is_some_and(|own| {
            (!self.avx512 || own.avx512) && (!self.counts || own.counts) && (!self.compress || own.compress)
        })
    }
}

impl std::fmt::Display for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.avx512 { "AVX-512 F, BW, DQ, VL, CD" } else { "AVX2, FMA, F16C" })?;
        if self.counts {
            f.write_str(", VPOPCNTDQ, BITALG")?;
        }
        if self.compress {
            f.write_str(", VBMI2")?;
        }
        Ok(())
    }
}
