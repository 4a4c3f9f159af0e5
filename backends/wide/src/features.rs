//! Which instructions code may use.

/// What a processor has beyond [`Self::BASE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Features {
    /// Instructions that count ones in lanes: VPOPCNTDQ and BITALG.
    pub counts: bool,
    /// Instructions that compress lanes of 1 and 2 bytes: VBMI2.
    pub compress: bool,
}

impl Features {
    /// What all wide code needs: AVX-512 F, BW, DQ, VL and CD, BMI1, BMI2, LZCNT and POPCNT. Skylake-X and Cascade Lake have no more.
    pub const BASE: Self = Self { counts: false, compress: false };
    /// Everything that is used anywhere: Ice Lake and later, Zen 4 and later.
    pub const FULL: Self = Self { counts: true, compress: true };
    /// Every set, by a name.
    pub const NAMED: [(&'static str, Self); 4] = [
        ("base", Self::BASE),
        ("counts", Self { counts: true, ..Self::BASE }),
        ("compress", Self { compress: true, ..Self::BASE }),
        ("full", Self::FULL),
    ];

    /// Those of this machine, if it can run wide code at all.
    #[cfg(all(unix, target_arch = "x86_64"))]
    pub fn of_this_machine() -> Option<Self> {
        use std::is_x86_feature_detected as has;
        let base = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") && has!("avx512cd");
        let ints = has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("popcnt");
        (base && ints)
            .then(|| Self { counts: has!("avx512vpopcntdq") && has!("avx512bitalg"), compress: has!("avx512vbmi2") })
    }

    /// Those of this machine, if it can run wide code at all: it cannot.
    #[cfg(not(all(unix, target_arch = "x86_64")))]
    pub fn of_this_machine() -> Option<Self> {
        None
    }

    /// Whether this machine can run code made for these features.
    pub fn run_here(self) -> bool {
        Self::of_this_machine().is_some_and(|own| (!self.counts || own.counts) && (!self.compress || own.compress))
    }
}

impl std::fmt::Display for Features {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AVX-512 F, BW, DQ, VL, CD")?;
        if self.counts {
            f.write_str(", VPOPCNTDQ, BITALG")?;
        }
        if self.compress {
            f.write_str(", VBMI2")?;
        }
        Ok(())
    }
}
