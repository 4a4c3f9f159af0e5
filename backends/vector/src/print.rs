//! Functions as text, for people and snapshots.

use std::fmt::{self, Display, Write as _};

use crate::{Append, Function, If, Inst, Loop, Op, Region, Type, Value, While};

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lanes == 1 { write!(f, "{}", self.element) } else { write!(f, "{}x{}", self.element, self.lanes) }
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

fn pairs(to: &[Value], from: &[Value]) -> String {
    to.iter().zip(from).map(|(to, from)| format!("{to} = {from}")).collect::<Vec<_>>().join(", ")
}

struct Printer<'a> {
    function: &'a Function,
    text: String,
    indent: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:indent$}{text}", "", indent = self.indent * 2);
    }

    fn region(&mut self, region: &Region, last: &str) {
        self.indent += 1;
        for inst in &region.0 {
            self.inst(inst);
        }
        if !last.is_empty() {
            self.line(last);
        }
        self.indent -= 1;
    }

    fn inst(&mut self, inst: &Inst) {
        // What is printed may be what is wrong.
        let ty = |value: &Value| self.function.types.get(value.0 as usize).map_or("?".to_owned(), Type::to_string);
        let results = inst.results.iter().map(|value| format!("{value}: {}", ty(value))).collect::<Vec<_>>().join(", ");
        let head = if results.is_empty() { String::new() } else { format!("{results} = ") };
        let masked = |mask: &Option<Value>| mask.map_or(String::new(), |mask| format!(" if {mask}"));
        let text = match &inst.op {
            Op::Parameter(position) => {
                ["from", "to", "scratch"].get(*position as usize).map_or(String::new(), |&name| name.to_owned())
            }
            Op::Argument(position) => format!("argument {position}"),
            Op::Constant(constant) => constant.to_string(),
            Op::Splat(a) => format!("splat {a}"),
            Op::Iota => "iota".to_owned(),
            Op::Unary(function, a) => format!("{} {a}", function.text()),
            Op::Binary(function, a, b) => format!("{a} {} {b}", function.text()),
            Op::OfNumbers(function, a, b) => format!("{a} {} {b} of numbers", function.text()),
            Op::AreNumbers(a, b) => format!("are numbers {a}, {b}"),
            Op::Fma(a, b, c) => format!("fma {a}, {b}, {c}"),
            Op::Convert(a) => format!("convert {a}"),
            Op::Bits(a) => format!("bits {a}"),
            Op::Select(c, a, b) => format!("select {c}, {a}, {b}"),
            Op::Load { base, index, offset: 0, memory } => format!("load {base}[{index}] {memory:?}").to_lowercase(),
            Op::Load { base, index, offset, memory } => {
                format!("load {base}[{index} + {offset}] {memory:?}").to_lowercase()
            }
            Op::LoadStrided { base, index, stride, memory } => {
                format!("load {base}[{index} by {stride}] {memory:?}").to_lowercase()
            }
            Op::LoadMasked { base, index, mask, elsewhere, memory } => {
                format!("load {base}[{index}] where {mask} else at {elsewhere} {memory:?}").to_lowercase()
            }
            Op::Store { base, index, value, mask, streaming } => {
                let how = if *streaming { " streaming" } else { "" };
                format!("store {base}[{index}] = {value}{}{how}", masked(mask))
            }
            Op::Prefetch { base, index, element, bytes } => {
                format!("prefetch {base}[{index}: {element}] + {bytes} bytes")
            }
            Op::Append(own) => {
                let Append { bases, count, values, mask, spare: _, whole } = &**own;
                let whole = if *whole { ", whole vectors" } else { "" };
                format!("append [{}] at {count} = {}{}{whole}", list(bases), list(values), masked(mask))
            }
            Op::Any(a) => format!("any {a}"),
            Op::Extract(a, lane) => format!("extract {a}, {lane}"),
            Op::Insert(a, lane, value) => format!("insert {a}, {lane}, {value}"),
            Op::Half { value, upper } => format!("{} half of {value}", if *upper { "upper" } else { "lower" }),
            Op::Reverse(value) => format!("reverse {value}"),
            Op::Shift { value, by, fill } => format!("shift {value} by {by}, {fill}"),
            Op::Unzip { first, second, run, odd } => {
                format!("{} runs of {run} of {first}, {second}", if *odd { "odd" } else { "even" })
            }
            Op::FailIf { condition, site, operands } => format!("fail {site} ({}) if {condition}", list(operands)),
            Op::Loop(own) => {
                let Loop { from, to, step, index, starts, carried, body, next } = &**own;
                self.line(&format!("{head}for {index} in {from}..{to} by {step} with ({}) {{", pairs(carried, starts)));
                self.region(body, &format!("next ({})", list(next)));
                return self.line("}");
            }
            Op::While(own) => {
                let While { starts, carried, header, condition, body, next } = &**own;
                self.line(&format!("{head}loop with ({}) {{", pairs(carried, starts)));
                self.region(header, &format!("while {condition}"));
                self.region(body, &format!("next ({})", list(next)));
                return self.line("}");
            }
            Op::If(own) => {
                let If { condition, then, then_results, otherwise, otherwise_results } = &**own;
                self.line(&format!("{head}if {condition} {{"));
                self.region(then, &format!("give ({})", list(then_results)));
                self.line("} else {");
                self.region(otherwise, &format!("give ({})", list(otherwise_results)));
                return self.line("}");
            }
        };
        self.line(&format!("{head}{text}"));
    }
}

/// One instruction a line, regions indented.
impl Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printer = Printer { function: self, text: String::new(), indent: 0 };
        printer.line(&format!("block {} {{", self.name));
        printer.region(&self.body, "");
        printer.line("}");
        f.write_str(&printer.text)
    }
}

impl Function {
    /// An instruction as text, without the regions in it.
    pub(crate) fn line_of(&self, inst: &Inst) -> String {
        let mut printer = Printer { function: self, text: String::new(), indent: 0 };
        printer.inst(inst);
        printer.text.lines().next().unwrap_or_default().to_owned()
    }
}
