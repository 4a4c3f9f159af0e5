//! Instructions of x86-64 that Cranelift does not have: streaming stores, and prefetches.
//!
//! Code is made with an ordinary store or load in their place, which has a source location of its own and an encoding as long as the one
//! that is wanted. Once the bytes are there, and before they become a function, a patch puts the one in place of the other.

use cranelift_codegen::ir::SourceLoc;

/// What an instruction becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A store of a vector register, at a multiple of 16 bytes, that goes past the caches.
    StreamingStore,
    /// A load of a byte that nobody uses, of any address: a hint to bring its line into the caches.
    Prefetch,
}

/// The instructions to patch, by the number of their source location.
#[derive(Clone, Debug, Default)]
pub struct Patches(Vec<Wanted>);

impl Patches {
    /// The source location for one more.
    pub(super) fn add(&mut self, wanted: Wanted) -> SourceLoc {
        self.0.push(wanted);
        SourceLoc::new(self.0.len() as u32 - 1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Patches the instruction of a source location, which begins at `start`.
    ///
    /// # Errors
    /// A prefetch that is not encoded as expected: as a load it might fail. (Such stores stay what they are, which is right too.)
    pub fn apply(&self, code: &mut [u8], start: usize, location: SourceLoc) -> Result<(), String> {
        let Some(&wanted) = self.0.get(location.bits() as usize) else { return Ok(()) };
        let instruction = code.get_mut(start..).unwrap_or_default();
        let done = match wanted {
            Wanted::StreamingStore => streaming(instruction),
            Wanted::Prefetch => prefetch(instruction),
        };
        match (wanted, done) {
            (Wanted::Prefetch, None) => {
                let bytes = &instruction[..instruction.len().min(8)];
                Err(format!("a load in place of a prefetch begins with {bytes:02x?}"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether the byte behind an opcode addresses memory.
fn is_memory(modrm: u8) -> bool {
    modrm >> 6 != 3
}

/// Prefix and opcode of a store, as the bits `pp` of VEX and a byte, to those of the streaming one.
fn streaming_opcode(prefix: u8, opcode: u8) -> Option<(u8, u8)> {
    match (prefix, opcode) {
        (0 | 1, 0x11) => Some((prefix, 0x2b)), // movups, movupd to movntps, movntpd
        (2, 0x7f) => Some((1, 0xe7)),          // movdqu to movntdq
        _ => None,
    }
}

/// Intel SDM, volume 2: `MOVUPS`, `MOVUPD`, `MOVDQU` to `MOVNTPS`, `MOVNTPD`, `MOVNTDQ`.
fn streaming(code: &mut [u8]) -> Option<()> {
    match *code {
        [0xc5, vex, opcode, modrm, ..] if vex & 4 == 0 && is_memory(modrm) => {
            let (prefix, opcode) = streaming_opcode(vex & 3, opcode)?;
            (code[1], code[2]) = (vex & !3 | prefix, opcode);
        }
        [0xc4, map, vex, opcode, modrm, ..] if map & 0x1f == 1 && vex & 4 == 0 && is_memory(modrm) => {
            let (prefix, opcode) = streaming_opcode(vex & 3, opcode)?;
            (code[2], code[3]) = (vex & !3 | prefix, opcode);
        }
        _ => {
            const PREFIXES: [u8; 3] = [0, 0x66, 0xf3];
            let first = *code.first()?;
            let prefix = PREFIXES.iter().skip(1).position(|&prefix| prefix == first).map_or(0, |position| position + 1);
            let mut at = usize::from(prefix > 0);
            at += usize::from(code.get(at)? & 0xf0 == 0x40);
            let [0x0f, opcode, modrm] = *code.get(at..at + 3)? else { return None };
            let (new, opcode) = streaming_opcode(prefix as u8, opcode).filter(|_| is_memory(modrm))?;
            if prefix > 0 {
                code[0] = PREFIXES[usize::from(new)];
            }
            code[at + 1] = opcode;
        }
    }
    Some(())
}

/// Intel SDM, volume 2: `MOVZX` of a byte to `PREFETCHT0`.
fn prefetch(code: &mut [u8]) -> Option<()> {
    let rex = *code.first()?;
    let at = usize::from(rex & 0xf0 == 0x40);
    let [0x0f, 0xb6, modrm] = *code.get(at..at + 3)? else { return None };
    if !is_memory(modrm) {
        return None;
    }
    if at > 0 {
        // The register that was loaded is no longer one.
        code[0] = rex & !0b1100;
    }
    code[at + 1] = 0x18;
    code[at + 2] = modrm & !0b11_1000 | 1 << 3;
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(wanted: Wanted, before: &[u8]) -> Result<Vec<u8>, String> {
        let mut patches = Patches::default();
        patches.add(Wanted::StreamingStore);
        let location = patches.add(wanted);
        let mut code = [&[0x90], before].concat();
        patches.apply(&mut code, 1, location)?;
        assert_eq!(code[0], 0x90);
        Ok(code.split_off(1))
    }

    #[test]
    fn stores_of_all_encodings_become_streaming() {
        for (before, after) in [
            // movups [rdi + 4 rcx], xmm0
            (&[0x0f, 0x11, 0x04, 0x8f][..], &[0x0f, 0x2b, 0x04, 0x8f][..]),
            // movups [r8 + 16], xmm9
            (&[0x45, 0x0f, 0x11, 0x48, 0x10], &[0x45, 0x0f, 0x2b, 0x48, 0x10]),
            // movupd [rax], xmm1
            (&[0x66, 0x0f, 0x11, 0x08], &[0x66, 0x0f, 0x2b, 0x08]),
            // movdqu [r15], xmm1
            (&[0xf3, 0x41, 0x0f, 0x7f, 0x0f], &[0x66, 0x41, 0x0f, 0xe7, 0x0f]),
            // vmovups [rdi], xmm2
            (&[0xc5, 0xf8, 0x11, 0x17], &[0xc5, 0xf8, 0x2b, 0x17]),
            // vmovdqu [rdi], xmm2
            (&[0xc5, 0xfa, 0x7f, 0x17], &[0xc5, 0xf9, 0xe7, 0x17]),
            // vmovupd [r12 + 8 r9], xmm11
            (&[0xc4, 0x01, 0x79, 0x11, 0x1c, 0xcc], &[0xc4, 0x01, 0x79, 0x2b, 0x1c, 0xcc]),
        ] {
            assert_eq!(patched(Wanted::StreamingStore, before).unwrap(), after);
        }
    }

    #[test]
    fn other_instructions_stay() {
        for code in [
            // movups xmm0, xmm1 (stored to a register); movaps [rax], xmm0; vmovups [rdi], ymm2; addps; nothing
            &[0x0f, 0x11, 0xc8][..],
            &[0x0f, 0x29, 0x00],
            &[0xc5, 0xfc, 0x11, 0x17],
            &[0x0f, 0x58, 0x00],
            &[0x66],
            &[],
        ] {
            assert_eq!(patched(Wanted::StreamingStore, code).unwrap(), code);
        }
    }

    #[test]
    fn loads_become_prefetches_or_are_refused() {
        // movzx eax, byte [rdi + rcx]; movzx r9, byte [r8 + 0x800]
        assert_eq!(patched(Wanted::Prefetch, &[0x0f, 0xb6, 0x04, 0x0f]).unwrap(), [0x0f, 0x18, 0x0c, 0x0f]);
        assert_eq!(
            patched(Wanted::Prefetch, &[0x4d, 0x0f, 0xb6, 0x88, 0, 8, 0, 0]).unwrap(),
            [0x41, 0x0f, 0x18, 0x88, 0, 8, 0, 0]
        );
        let refused = patched(Wanted::Prefetch, &[0x8b, 0x04, 0x0f]).unwrap_err();
        assert_eq!(refused, "a load in place of a prefetch begins with [8b, 04, 0f]");
        assert!(patched(Wanted::Prefetch, &[0x0f, 0xb6, 0xc0]).is_err());
    }
}
