//! Plans, for dumps and snapshots: a step a line, then the kernels. There is no parser for these.

use std::fmt;

use super::{
    Out, Printer,
    names::{ArrayNames, legal},
};
use crate::{ArrayId, Extent, Plan, Step};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = PlanText {
            plan: self,
            printer: Printer { arrays: ArrayNames::of_list(self.values.iter().map(|v| v.name.as_str())) },
        };
        let inputs: Vec<_> = self.inputs.iter().map(|id| text.typed(*id)).collect();
        let name = legal(&self.name).unwrap_or_else(|| "unnamed".to_owned());
        let mut out = Out::new(format!("plan {name}({})", inputs.join(", ")));
        if !self.sizes.is_empty() {
            out.text(&format!(" with {}", text.printer.names(&self.sizes)));
        }
        let types: Vec<_> =
            self.outputs.iter().map(|output| format!("{}: {}", output.name, text.printer.ty(&output.ty))).collect();
        out.text(&format!(" -> {} ", types.join(", ")));
        let mut steps = text.steps(&self.steps);
        steps.push(Out::new(format!("return {}", text.printer.names(&self.results))));
        out.lined(steps);
        f.write_str(&out.lines())?;
        for (position, kernel) in self.kernels.iter().enumerate() {
            write!(f, "\n{position}: {kernel}")?;
        }
        Ok(())
    }
}

struct PlanText<'p> {
    plan: &'p Plan,
    printer: Printer,
}

impl PlanText<'_> {
    fn typed(&self, id: ArrayId) -> String {
        match self.plan.values.get(id.index()) {
            Some(value) => format!("{}: {}", self.printer.name(id), self.printer.ty(&value.ty)),
            None => self.printer.name(id),
        }
    }

    fn extent(&self, extent: &Extent) -> String {
        match extent {
            Extent::Constant(value) => value.to_string(),
            Extent::Value(id) => self.printer.name(*id),
            Extent::Unknown => "?".to_owned(),
        }
    }

    fn steps(&self, steps: &[Step]) -> Vec<Out> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> Out {
        let name = |id: &ArrayId| self.printer.name(*id);
        let mut out = Out::default();
        match step {
            Step::Allocate { value, over, operation, place: _ } => {
                let over = over.as_ref().map_or(String::new(), |source| format!(" in place of {}", name(source)));
                out.text(&format!("allocate {}{over} for {operation}", self.typed(*value)));
            }
            Step::Constant { value, data } => {
                const SHOWN: usize = 8;
                let mut shown: Vec<_> = data.iter().take(SHOWN).map(|value| super::scalar::bare(*value)).collect();
                if data.len() > SHOWN {
                    shown.push(format!("… {} elements", data.len()));
                }
                out.text(&format!("{} = constant({})", self.typed(*value), shown.join(", ")));
            }
            Step::Launch { kernel, sizes, arrays } => {
                let called =
                    self.plan.kernels.get(*kernel).and_then(|kernel| legal(&kernel.name.0)).unwrap_or_default();
                let sizes: Vec<_> = sizes.iter().map(|extent| self.extent(extent)).collect();
                out.text(&format!("launch {kernel} {called} ({}; {})", sizes.join(", "), self.printer.names(arrays)));
            }
            Step::Alias { value, source, operation, place: _ } => {
                out.text(&format!("{} = {} for {operation}", self.typed(*value), self.printer.loose(source)));
            }
            Step::Shorten { value, source } => out.text(&format!("{} = shorten {}", self.typed(*value), name(source))),
            Step::Copy { value, source } => out.text(&format!("{} = copy {}", self.typed(*value), name(source))),
            Step::CheckEqual { left, left_name, right, right_name, operation, place: _ } => {
                let (left, right) = (self.extent(left), self.extent(right));
                out.text(&format!("check {left} == {right} of {left_name} and {right_name} in {operation}"));
            }
            Step::CheckAtMost { extent, name, available, array, operation, place: _ } => {
                let (extent, available) = (self.extent(extent), self.extent(available));
                out.text(&format!("check {extent} <= {available} of {name} and {array} in {operation}"));
            }
            Step::CheckNotNegative { extent, array, operation, place: _ } => {
                out.text(&format!("check 0 <= {} of {array} in {operation}", self.extent(extent)));
            }
            Step::Sort { keys, carry, results } => {
                out.text(&format!("{} = sort({}", self.printer.names(results), self.printer.group(keys)));
                if !carry.is_empty() {
                    out.text(&format!(", carry: {}", self.printer.group(carry)));
                }
                out.text(")");
            }
            Step::If { condition, then, otherwise, results } => {
                out.text(&format!("{} = if {} ", self.printer.names(results), self.printer.loose(condition)));
                out.lined(self.or_nothing(self.steps(then)));
                out.text(" else ");
                out.lined(self.or_nothing(self.steps(otherwise)));
            }
            Step::While { state, condition_steps, condition, body, next } => {
                out.text(&format!("while {} ", self.printer.names(state)));
                let mut test = self.steps(condition_steps);
                test.push(Out::new(format!("test {}", self.printer.loose(condition))));
                out.lined(test);
                out.text(" do ");
                let next: Vec<_> = next.iter().map(|operand| self.printer.loose(operand)).collect();
                let mut body = self.steps(body);
                body.push(Out::new(format!("next {}", next.join(", "))));
                out.lined(body);
            }
            Step::Free { value } => out.text(&format!("free {}", name(value))),
        }
        out
    }

    fn or_nothing(&self, steps: Vec<Out>) -> Vec<Out> {
        if steps.is_empty() { vec![Out::new("nothing")] } else { steps }
    }
}
