//! From the tree to steps: names are resolved, types checked, modifiers understood.

mod compare;
mod control;
mod convert;
mod float;
mod integer;
mod memory;
mod names;
mod suffixes;
mod warp;

use crate::code::{NONE, Op, Slot, Special, Step};
use crate::lanes::Apply;
use crate::layout::Layout;
use crate::text::tree::{Instruction, Operand, Statement};
use crate::text::{ParseError, Place, bits_of};
use crate::types::Type;
use names::Names;
use std::collections::BTreeMap;
use suffixes::Suffixes;

/// A register of the text.
#[derive(Debug)]
pub(crate) struct Register {
    pub slot: Slot,
    pub name: String,
    pub ty: Type,
}

/// An entry's steps, and what its slots begin with.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub steps: Vec<Step>,
    pub slots: u32,
    /// Registers, which nobody has written at first.
    pub registers: Vec<Register>,
    pub constants: Vec<(Slot, u64)>,
    pub specials: Vec<(Slot, Special)>,
    /// Slots with the address of a variable of the module, by its number.
    pub globals: Vec<(Slot, usize)>,
    /// What is allowed, and may not mean what its writer thinks.
    pub notes: Vec<ParseError>,
}

/// Decodes a body.
pub(crate) fn body(statements: &[Statement], layout: &Layout) -> Result<Body, ParseError> {
    let mut decoder = Decoder {
        body: Body::default(),
        names: Names::default(),
        layout,
        constants: BTreeMap::new(),
        labels: BTreeMap::new(),
        jumps: Vec::new(),
        carry: NONE,
        at: Place::default(),
    };
    decoder.carry = decoder.slot();
    decoder.body.constants.push((decoder.carry, 0));
    decoder.statements(statements)?;
    decoder.push(Op::Exit); // falling off the end
    for (step, name, at) in std::mem::take(&mut decoder.jumps) {
        let Some(&to) = decoder.labels.get(&name) else {
            return Err(ParseError::new(at, format!("there is no label `{name}`")));
        };
        if let Op::Branch { target } = &mut decoder.body.steps[step].op {
            *target = to;
        }
    }
    Ok(decoder.body)
}

/// No entry has more registers; `.reg .b32 %r<4000000000>` is a mistake.
const MOST_SLOTS: u32 = 1 << 20;

pub(super) struct Decoder<'a> {
    body: Body,
    names: Names,
    layout: &'a Layout,
    constants: BTreeMap<u64, Slot>,
    labels: BTreeMap<String, u32>,
    jumps: Vec<(usize, String, Place)>,
    /// The carry of `add.cc` and its like.
    carry: Slot,
    /// Where the instruction at hand stands.
    at: Place,
}

type Decoded = Result<(), ParseError>;

impl Decoder<'_> {
    fn statements(&mut self, statements: &[Statement]) -> Decoded {
        self.names.open();
        for statement in statements {
            match statement {
                Statement::Registers { at, name, count, ty } => self.registers(*at, name, *count, *ty)?,
                Statement::Variable(_) => {} // laid out before
                Statement::Label(at, name) => {
                    if self.labels.insert(name.clone(), self.body.steps.len() as u32).is_some() {
                        return Err(ParseError::new(*at, format!("the label `{name}` is there twice")));
                    }
                }
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                Statement::Block(inside) => self.statements(inside)?,
            }
        }
        self.names.close();
        Ok(())
    }

    fn registers(&mut self, at: Place, name: &str, count: Option<u32>, ty: Type) -> Decoded {
        if count.unwrap_or(1) > MOST_SLOTS - self.body.slots.min(MOST_SLOTS) {
            return Err(ParseError::new(at, "too many registers"));
        }
        let names = match count {
            None => vec![name.to_string()],
            Some(count) => (0..count).map(|number| format!("{name}{number}")).collect(),
        };
        for name in names {
            let slot = self.slot();
            self.body.registers.push(Register { slot, name: name.clone(), ty });
            if !self.names.declare(name.clone(), slot, ty) {
                return Err(ParseError::new(at, format!("the register `{name}` is there twice")));
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &Instruction) -> Decoded {
        self.at = instruction.at;
        let begin = self.body.steps.len();
        let mut suffixes = Suffixes::new(instruction);
        let given = Given { decoder: self, instruction };
        given.decode(&mut suffixes)?;
        suffixes.finish()?;
        if let Some((name, negated)) = &instruction.guard {
            let guard = self.register(name, Type::Pred, instruction.at)?;
            self.guard(begin, guard, *negated);
        }
        if let Some(step) = self.body.steps.get_mut(begin) {
            step.first = true;
        }
        Ok(())
    }

    /// Puts a guard before the steps from `begin` on.
    fn guard(&mut self, begin: usize, guard: Slot, negated: bool) {
        let mut guard = guard;
        if self.body.steps.len() - begin > 1 {
            // One of the steps may write the predicate.
            let kept = self.temporary();
            let line = self.at.line;
            let op = Op::Move { dst: kept, a: guard };
            self.body.steps.insert(begin, Step { guard: NONE, negated: false, first: false, line, op });
            for (step, _, _) in self.jumps.iter_mut().filter(|(step, ..)| *step >= begin) {
                *step += 1;
            }
            for step in &mut self.body.steps[begin + 1..] {
                (step.guard, step.negated) = (kept, negated);
            }
            guard = kept;
        }
        let last = self.body.steps.len() - 1;
        (self.body.steps[last].guard, self.body.steps[last].negated) = (guard, negated);
    }

    fn push(&mut self, op: Op) {
        let line = self.at.line;
        self.body.steps.push(Step { guard: NONE, negated: false, first: false, line, op });
    }

    fn slot(&mut self) -> Slot {
        self.body.slots += 1;
        self.body.slots - 1
    }

    /// A slot for a value between two steps of an instruction.
    fn temporary(&mut self) -> Slot {
        let slot = self.slot();
        self.body.constants.push((slot, 0));
        slot
    }

    /// A slot that holds the same value in all lanes.
    fn constant(&mut self, value: u64) -> Slot {
        if let Some(&slot) = self.constants.get(&value) {
            return slot;
        }
        let slot = self.slot();
        self.constants.insert(value, slot);
        self.body.constants.push((slot, value));
        slot
    }

    fn special(&mut self, special: Special) -> Slot {
        let known = self.body.specials.iter().find(|(_, known)| *known == special);
        if let Some(&(slot, _)) = known {
            return slot;
        }
        let slot = self.slot();
        self.body.specials.push((slot, special));
        slot
    }

    /// A register that an instruction of type `ty` may use.
    fn register(&self, name: &str, ty: Type, at: Place) -> Result<Slot, ParseError> {
        let (slot, found) = self.any_register(name, at)?;
        if found.bits() != ty.bits() || !ty.takes(found) {
            return Err(ParseError::new(at, format!("`{name}` is a register of {found}, and {ty} is wanted")));
        }
        Ok(slot)
    }

    fn any_register(&self, name: &str, at: Place) -> Result<(Slot, Type), ParseError> {
        self.names.find(name).ok_or_else(|| ParseError::new(at, format!("there is no register `{name}`")))
    }

    /// One step of `apply`, with as many of the sources as it takes.
    fn apply(&mut self, apply: Apply, dst: Slot, sources: &[Slot]) {
        self.push(match apply {
            Apply::One(f) => Op::One { f, dst, a: sources[0] },
            Apply::Two(f) => Op::Two { f, dst, a: sources[0], b: sources[1] },
            Apply::Three(f) => Op::Three { f, dst, a: sources[0], b: sources[1], c: sources[2] },
            Apply::Four(f) => Op::Four { f, dst, sources: [sources[0], sources[1], sources[2], sources[3]] },
        });
    }
}

/// An instruction being decoded.
struct Given<'a, 'b> {
    decoder: &'a mut Decoder<'b>,
    instruction: &'a Instruction,
}

impl Given<'_, '_> {
    fn decode(self, suffixes: &mut Suffixes<'_>) -> Decoded {
        match self.instruction.opcode.as_str() {
            "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "sad" => {
                self.arithmetic(suffixes)
            }
            "mul24" | "mad24" => self.product24(suffixes),
            "addc" | "subc" | "madc" => self.carried(suffixes),
            "sqrt" | "rcp" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" => self.function(suffixes),
            "copysign" | "testp" => self.sign_or_test(suffixes),
            "and" | "or" | "xor" | "not" | "cnot" | "popc" | "clz" | "brev" => self.bitwise(suffixes),
            "shl" | "shr" => self.shift(suffixes),
            "shf" | "bfe" | "bfi" | "bfind" | "prmt" | "lop3" => self.fields(suffixes),
            "setp" | "set" => self.comparison(suffixes),
            "selp" | "slct" => self.selection(suffixes),
            "mov" => self.mov(suffixes),
            "cvt" => self.cvt(suffixes),
            "cvta" => self.cvta(suffixes),
            "ld" | "ldu" => self.load(suffixes),
            "st" => self.store(suffixes),
            "atom" | "red" => self.atomic(suffixes),
            "fence" | "membar" => self.fence(suffixes),
            "prefetch" | "prefetchu" => self.prefetch(suffixes),
            "bra" | "ret" | "exit" | "trap" | "nanosleep" => self.control(suffixes),
            "bar" | "barrier" => self.barrier(suffixes),
            "shfl" | "vote" | "match" | "redux" | "activemask" => self.warp(suffixes),
            name => Err(self.error(format!("the instruction `{name}` is not known here"))),
        }
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError::new(self.instruction.at, message)
    }

    fn note(&mut self, message: String) {
        let note = ParseError::new(self.instruction.at, message);
        self.decoder.body.notes.push(note);
    }

    /// An error about a type that the instruction does not have.
    fn no_such(&self, ty: Type) -> ParseError {
        self.error(format!("`{}` with these modifiers has no type {ty}", self.instruction.opcode))
    }

    fn count(&self, least: usize, most: usize) -> Decoded {
        let found = self.instruction.operands.len();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let wanted = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        Err(self.error(format!("`{}` takes {wanted} operands, found {found}", self.instruction.opcode)))
    }

    fn operand(&self, at: usize) -> Result<(Place, &Operand), ParseError> {
        let operand = self.instruction.operands.get(at).map(|(place, operand)| (*place, operand));
        operand.ok_or_else(|| self.error(format!("`{}` lacks an operand", self.instruction.opcode)))
    }

    /// A source of an instruction of type `ty`.
    fn source(&mut self, at: usize, ty: Type) -> Result<Slot, ParseError> {
        let (place, operand) = self.operand(at)?;
        let operand = operand.clone();
        self.source_of(&operand, place, ty)
    }

    fn source_of(&mut self, operand: &Operand, place: Place, ty: Type) -> Result<Slot, ParseError> {
        match operand {
            Operand::Name(name) if let Some((special, width)) = names::special(name) => {
                if ty.is_float() || ty.bits() != width {
                    return Err(ParseError::new(place, format!("`{name}` has {width} bits, and {ty} is wanted")));
                }
                Ok(self.decoder.special(special))
            }
            Operand::Name(name) => self.decoder.register(name, ty, place),
            Operand::Not(name) if ty == Type::Pred => {
                let (a, dst) = (self.decoder.register(name, ty, place)?, self.decoder.temporary());
                self.decoder.apply(crate::lanes::compare::invert(), dst, &[a]);
                Ok(dst)
            }
            _ => match bits_of(operand, ty) {
                Some(value) => Ok(self.decoder.constant(value)),
                None => Err(ParseError::new(place, format!("expected a value of {ty}"))),
            },
        }
    }

    /// The register that an instruction of type `ty` writes; a slot that nobody reads for `_`.
    fn dst(&mut self, at: usize, ty: Type) -> Result<Slot, ParseError> {
        let (place, operand) = self.operand(at)?;
        match operand.clone() {
            Operand::Name(name) if names::special(&name).is_none() => self.decoder.register(&name, ty, place),
            Operand::Sink => Ok(self.decoder.temporary()),
            _ => Err(ParseError::new(place, format!("expected a register of {ty}"))),
        }
    }

    /// `dst, a, b, …` all of one type.
    fn same(&mut self, apply: Apply, ty: Type) -> Decoded {
        let sources = match apply {
            Apply::One(_) => 1,
            Apply::Two(_) => 2,
            Apply::Three(_) => 3,
            Apply::Four(_) => 4,
        };
        self.count(sources + 1, sources + 1)?;
        self.typed(apply, ty, &vec![ty; sources])
    }

    /// `dst, a, b, …` of these types.
    fn typed(&mut self, apply: Apply, result: Type, types: &[Type]) -> Decoded {
        let dst = self.dst(0, result)?;
        let sources: Vec<Slot> =
            types.iter().enumerate().map(|(at, &ty)| self.source(at + 1, ty)).collect::<Result<_, _>>()?;
        self.decoder.apply(apply, dst, &sources);
        Ok(())
    }
}
