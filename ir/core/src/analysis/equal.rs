//! Arrays that are equal since they are made in the same way, whatever they are called.
//!
//! Source: value numbering; Alpern, Wegman, Zadeck, "Detecting equality of variables in programs", POPL 1988.

use rustc_hash::FxHashMap;

use crate::{
    ArrayId, ArrayOp, Binding, ElementType, Extent, Instruction, Operand, Part, ScalarOp, ScalarOperand, Type, Var,
};

/// Values of a program in classes of equal ones, filled in order of definition.
#[derive(Clone, Debug, Default)]
pub struct Equal {
    /// The first value that is equal to a value, where that is another.
    first: FxHashMap<ArrayId, ArrayId>,
    /// By name and operands.
    known: FxHashMap<(&'static str, Vec<ArrayId>), Vec<Binding>>,
    extents: FxHashMap<ArrayId, Vec<Extent>>,
}

/// What two operations that give the same have in common, so that few have to be compared.
pub fn operation_key(op: &ArrayOp) -> (&'static str, Vec<ArrayId>) {
    let mut uses = Vec::new();
    op.for_each_use(&mut |id| uses.push(id));
    (op.name(), uses)
}

/// Whether two bindings compute the same: the same operation on the same operands, of types that are the same where each speaks of its own
/// results.
pub fn is_same_operation(a: &Binding, b: &Binding) -> bool {
    let own = |binding: &Binding, extent: &Extent| match extent {
        Extent::Value(id) => binding.results.iter().position(|var| var.id == *id),
        Extent::Constant(_) | Extent::Unknown => None,
    };
    let extents = |(x, y): (&Extent, &Extent)| match (own(a, x), own(b, y)) {
        (None, None) => x == y,
        (x, y) => x == y,
    };
    let types = |(x, y): (&Type, &Type)| {
        x.rank() == y.rank() && x.inner == y.inner && x.extents.iter().zip(&y.extents).all(extents)
    };
    let of = |binding| -> Vec<&Type> {
        let binding: &Binding = binding;
        binding.results.iter().map(|var| &var.ty).collect()
    };
    a.op == b.op && a.results.len() == b.results.len() && of(a).into_iter().zip(of(b)).all(types)
}

impl Equal {
    /// A value that no binding makes: an input, a parameter.
    pub fn declare(&mut self, var: &Var) {
        self.extents.insert(var.id, var.ty.extents.clone());
    }

    /// The results of a binding.
    pub fn add(&mut self, binding: &Binding) {
        binding.results.iter().for_each(|var| self.declare(var));
        if binding.op.parts().iter().any(|part| matches!(part, Part::Body(_))) {
            return;
        }
        if let (Some(source), [var]) = (handed_on(&binding.op), &binding.results[..])
            && !var.ty.extents.contains(&Extent::Unknown)
            && self.extents.get(&source) == Some(&var.ty.extents)
        {
            self.note(var.id, source);
            return;
        }
        let mut own = binding.clone();
        own.op.substitute(&mut |id| Operand::Value(self.of(id)));
        let known = self.known.entry(operation_key(&own.op)).or_default();
        match known.iter().find(|other| is_same_operation(other, &own)) {
            Some(other) => {
                self.first.extend(own.results.iter().zip(&other.results).map(|(var, other)| (var.id, other.id)));
            }
            None => known.push(own),
        }
    }

    /// Notes that a value is another, as the results of a cluster are.
    pub fn note(&mut self, id: ArrayId, same: ArrayId) {
        self.first.insert(id, self.of(same));
    }

    /// The first of the values that are known to be equal to a value.
    pub fn of(&self, id: ArrayId) -> ArrayId {
        self.first.get(&id).copied().unwrap_or(id)
    }
}

/// The source whose elements an operation hands on as numbers of the same value, in order, and all of them if it runs over all.
fn handed_on(op: &ArrayOp) -> Option<ArrayId> {
    match op {
        ArrayOp::Compute { sources } => <[ArrayId; 1]>::try_from(&sources[..]).ok().map(|[source]| source),
        ArrayOp::Map { f, sources } => {
            let (&[source], [param], &[result]) = (&sources[..], &f.params[..], &f.results[..]) else { return None };
            let same = match &f.instructions[..] {
                [] => result == ScalarOperand::from(param.id),
                [Instruction { op: ScalarOp::Convert { to, a }, results, .. }] => {
                    *a == ScalarOperand::from(param.id)
                        && matches!(&results[..], [local] if result == ScalarOperand::from(local.id))
                        && holds(*to, param.ty)
                }
                _ => false,
            };
            same.then_some(source)
        }
        _ => None,
    }
}

/// Whether an integer type has every number of another.
fn holds(wide: ElementType, narrow: ElementType) -> bool {
    let (a, b) = (wide, narrow);
    let integers = a.is_integer() && b.is_integer();
    integers && (a == b || a.bits() > b.bits() && (a.is_signed() || !b.is_signed()))
}

#[cfg(test)]
mod tests {
    use super::Equal;
    use crate::text;

    /// Which of the bindings of a program are equal to earlier ones, by name.
    fn equal(source: &str) -> String {
        let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
        let mut equal = Equal::default();
        program.body.params.iter().for_each(|var| equal.declare(var));
        program.body.bindings.iter().for_each(|binding| equal.add(binding));
        let all = program.body.params.iter().chain(program.body.bindings.iter().flat_map(|binding| &binding.results));
        let vars: Vec<_> = all.collect();
        let name = |id| vars.iter().find(|var| var.id == id).map_or(String::new(), |var| var.name.0.clone());
        let pairs = vars.iter().filter(|var| equal.of(var.id) != var.id);
        pairs.map(|var| format!("{} = {}", var.name.0, name(equal.of(var.id)))).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn what_is_made_in_the_same_way_is_equal() {
        let source = "fn p(e: [n]i64, d: [n]i64) -> [n]i64 {
          let a: [n]i64 = map(|x| x + 1, e)
          let b: [n]i64 = map(|x| x + 1, e)
          let c: [n]i64 = map(|x| x + 2, e)
          let s: [n]i64 = scanl1(|x, y| x + y, a)
          let t: [n]i64 = scanl1(|x, y| x + y, b)
          let u: [n]i64 = scanl1(|x, y| x + y, d)
          let z: [n]i64 = map(|a, b, c, d| a + b + c + d, s, t, u, c)
          return z }";
        assert_eq!(equal(source), "b = a, t = s");
    }

    #[test]
    fn what_stops_short_is_another_array() {
        let source = "fn p(e: [n]i64, f: [m]i64) -> [?]i64 {
          let k = min(n, m)
          let a: [k]i64 = map(|x| x, e)
          return a }";
        assert_eq!(equal(source), "");
    }

    #[test]
    fn wider_integers_are_the_same_numbers_and_narrower_ones_are_not() {
        let source = "fn p(e: [n]i32, f: [n]u32, g: [n]i64) -> [n]i64, [n]i64, [n]u64, [n]i32 {
          let a: [n]i64 = map(|x| i64(x), e)
          let b: [n]i64 = map(|x| i64(x), f)
          let c: [n]u64 = map(|x| u64(x), e)
          let d: [n]i32 = map(|x| i32(x), g)
          return a, b, c, d }";
        assert_eq!(equal(source), "a = e, b = f");
    }
}
