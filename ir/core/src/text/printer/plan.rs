//! Plans, for dumps and snapshots: a step a line, then the kernels. There is no parser for these.

use std::fmt;

use super::{
    Out, extent_text,
    names::{legal, unique_names},
    type_text,
};
use crate::{Plan, PlanExtent, PlanOperand, PlanType, Step, ValueId};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = PlanText { plan: self, names: unique_names(self.values.iter().map(|value| value.name.as_str())) };
        let inputs: Vec<_> = self.inputs.iter().map(|id| text.typed(*id)).collect();
        let name = legal(&self.name).unwrap_or_else(|| "unnamed".to_owned());
        let mut out = Out::new(format!("plan {name}({})", inputs.join(", ")));
        if !self.sizes.is_empty() {
            out.text(&format!(" with {}", text.names(&self.sizes)));
        }
        let types: Vec<_> =
            self.outputs.iter().map(|output| format!("{}: {}", output.name, text.ty(&output.ty))).collect();
        out.text(&format!(" -> {} ", types.join(", ")));
        let mut steps = text.steps(&self.steps);
        steps.push(Out::new(format!("return {}", text.names(&self.results))));
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
    /// By position.
    names: Vec<String>,
}

impl PlanText<'_> {
    fn name(&self, id: ValueId) -> String {
        self.names.get(id.index()).cloned().unwrap_or_else(|| id.to_string())
    }

    fn names(&self, ids: &[ValueId]) -> String {
        let names: Vec<_> = ids.iter().map(|id| self.name(*id)).collect();
        names.join(", ")
    }

    /// One name, or several in parentheses.
    fn group(&self, ids: &[ValueId]) -> String {
        if let [id] = ids { self.name(*id) } else { format!("({})", self.names(ids)) }
    }

    fn ty(&self, ty: &PlanType) -> String {
        type_text(ty, &|id| self.name(id))
    }

    fn typed(&self, id: ValueId) -> String {
        match self.plan.values.get(id.index()) {
            Some(value) => format!("{}: {}", self.name(id), self.ty(&value.ty)),
            None => self.name(id),
        }
    }

    fn extent(&self, extent: &PlanExtent) -> String {
        extent_text(*extent, &|id| self.name(id))
    }

    /// Literals say their type.
    fn operand(&self, operand: &PlanOperand) -> String {
        match operand {
            PlanOperand::Value(id) => self.name(*id),
            PlanOperand::Constant(constant) => constant.to_string(),
        }
    }

    fn steps(&self, steps: &[Step]) -> Vec<Out> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> Out {
        let name = |id: &ValueId| self.name(*id);
        let mut out = Out::default();
        match step {
            Step::Allocate { value, in_place_of, operation, place: _ } => {
                let in_place =
                    in_place_of.as_ref().map_or(String::new(), |source| format!(" in place of {}", name(source)));
                out.text(&format!("allocate {}{in_place} for {operation}", self.typed(*value)));
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
                out.text(&format!("launch {kernel} {called} ({}; {})", sizes.join(", "), self.names(arrays)));
            }
            Step::Alias { value, source, operation, place: _ } => {
                out.text(&format!("{} = {} for {operation}", self.typed(*value), self.operand(source)));
            }
            Step::Truncate { value, source } => {
                out.text(&format!("{} = truncate {}", self.typed(*value), name(source)))
            }
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
                out.text(&format!("{} = sort({}", self.names(results), self.group(keys)));
                if !carry.is_empty() {
                    out.text(&format!(", carry: {}", self.group(carry)));
                }
                out.text(")");
            }
            Step::If { condition, then, otherwise, results } => {
                out.text(&format!("{} = if {} ", self.names(results), self.operand(condition)));
                out.lined(self.or_nothing(self.steps(then)));
                out.text(" else ");
                out.lined(self.or_nothing(self.steps(otherwise)));
            }
            Step::While { state, condition_steps, condition, body, next } => {
                out.text(&format!("while {} ", self.names(state)));
                let mut test = self.steps(condition_steps);
                test.push(Out::new(format!("test {}", self.operand(condition))));
                out.lined(test);
                out.text(" do ");
                let next: Vec<_> = next.iter().map(|operand| self.operand(operand)).collect();
                let mut body = self.steps(body);
                body.push(Out::new(format!("next {}", next.join(", "))));
                out.lined(body);
            }
            Step::Lanes { lane, count, body, given, results, operation, place: _ } => {
                let (results, lane, count) = (self.names(results), name(lane), self.extent(count));
                out.text(&format!("{results} = lanes {lane} below {count} for {operation} do "));
                let given: Vec<_> = given.iter().map(|operand| self.operand(operand)).collect();
                let mut body = self.steps(body);
                body.push(Out::new(format!("give {}", given.join(", "))));
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
