//! Functions that fold, scan and permute combine with: associative ones, unless promises are not kept.

use super::{
    code::{Atom, Code, Param},
    scope::Scope,
};
use crate::{Binary, ElementType, Lambda};

impl Scope<'_> {
    /// A function of 2k parameters, and whether it commutes. `small` says which components are whole numbers of at most 16.
    pub fn combining(&mut self, components: &[(ElementType, bool)]) -> (Lambda, bool) {
        let types: Vec<ElementType> = components.iter().map(|component| component.0).collect();
        if !self.config.promises {
            return self.arbitrary(&types);
        }
        let params: Vec<Param> = types.iter().chain(&types).map(|&ty| (ty, None)).collect();
        let k = types.len();
        let special = self.random.chance(1, 2);
        let mut commutes = true;
        let f = self.lambda_of(&params, 0, |code, p| {
            let (left, right) = p.split_at(k);
            let same_integers = types.iter().all(|&ty| ty == types[0] && ty.is_integer());
            if special && k > 1 {
                commutes = false;
                if k == 4 && same_integers {
                    return matrix(code, left, right);
                }
                if k == 2 && same_integers && code.scope.random.chance(1, 2) {
                    return affine(code, left, right);
                }
                if types[0] == ElementType::Bool {
                    return restarting(code, left, right);
                }
                if types[0].is_integer() {
                    return least(code, left, right);
                }
                commutes = true;
            }
            components
                .iter()
                .enumerate()
                .map(|(c, &(ty, small))| one(code, left[c], right[c], ty, small, &mut commutes))
                .collect()
        });
        (f, commutes)
    }

    /// A function of 2k parameters that keeps no promise: for what says the order to the last.
    pub fn arbitrary(&mut self, types: &[ElementType]) -> (Lambda, bool) {
        let params: Vec<Param> = types.iter().chain(types).map(|&ty| (ty, None)).collect();
        let commutes = !self.config.promises && self.random.chance(1, 4);
        (self.lambda(&params, types), commutes)
    }
}

/// An associative function of one component.
fn one(code: &mut Code<'_, '_>, x: Atom, y: Atom, ty: ElementType, small: bool, commutes: &mut bool) -> Atom {
    use Binary::{Add, And, Eq, Max, Min, Mul, Or, Xor};
    let functions: &[Binary] = match ty {
        ElementType::Bool => &[And, Or, Xor, Min, Max, Eq, Binary::LogicalAnd, Binary::LogicalOr],
        _ if ty.is_integer() => &[Add, Add, Add, Mul, Min, Max, And, Or, Xor],
        _ if code.scope.free() => &[Add, Add, Mul, Min, Max],
        _ if small => &[Add, Add, Add, Min, Max],
        _ => &[Min, Max],
    };
    match code.scope.random.below(12) {
        0 => {
            *commutes = false;
            x
        }
        1 => {
            *commutes = false;
            y
        }
        2 if ty.is_integer() => {
            // The larger one, but not above some number: a lattice.
            let larger = code.binary(Max, x, y);
            let most = code.outside(ty);
            code.binary(Min, larger, most)
        }
        3 => {
            // The operands the other way round: as if they did not commute, where they do.
            let function = code.scope.random.pick(functions);
            code.binary(function, y, x)
        }
        _ => {
            let function = code.scope.random.pick(functions);
            code.binary(function, x, y)
        }
    }
}

/// The product of matrices of two rows.
fn matrix(code: &mut Code<'_, '_>, a: &[Atom], b: &[Atom]) -> Vec<Atom> {
    let mut entry = |row: usize, column: usize| {
        let first = code.binary(Binary::Mul, a[2 * row], b[column]);
        let second = code.binary(Binary::Mul, a[2 * row + 1], b[2 + column]);
        code.binary(Binary::Add, first, second)
    };
    vec![entry(0, 0), entry(0, 1), entry(1, 0), entry(1, 1)]
}

/// One linear function after the other: `x * a + b`.
fn affine(code: &mut Code<'_, '_>, f: &[Atom], g: &[Atom]) -> Vec<Atom> {
    let factor = code.binary(Binary::Mul, f[0], g[0]);
    let scaled = code.binary(Binary::Mul, f[1], g[0]);
    vec![factor, code.binary(Binary::Add, scaled, g[1])]
}

/// The least of the first components, with what belongs to it; of several, the first.
fn least(code: &mut Code<'_, '_>, left: &[Atom], right: &[Atom]) -> Vec<Atom> {
    let later = code.binary(Binary::Lt, right[0], left[0]);
    let types: Vec<ElementType> = left.iter().map(|atom| atom.ty).collect();
    if code.scope.random.chance(1, 2) {
        return code.branch(later, &types, |_| right.to_vec(), |_| left.to_vec());
    }
    (0..left.len()).map(|c| code.branch(later, &types[c..=c], |_| vec![right[c]], |_| vec![left[c]])[0]).collect()
}

/// Starts again where the flag is set: a scan of segments by flags.
fn restarting(code: &mut Code<'_, '_>, left: &[Atom], right: &[Atom]) -> Vec<Atom> {
    let either = code.binary(Binary::Or, left[0], right[0]);
    let mut results = vec![either];
    for c in 1..left.len() {
        let ty = left[c].ty;
        let function = if ty.is_integer() { Binary::Add } else { Binary::Max };
        let combine = |code: &mut Code<'_, '_>| vec![code.binary(function, left[c], right[c])];
        results.push(code.branch(right[0], &[ty], |_| vec![right[c]], combine)[0]);
    }
    results
}
