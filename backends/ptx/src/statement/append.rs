//! Appends: by one thread, which counts what it has put.

use fusebox_ir::{Action, Constant, ElementType, FailureKind, Place, ScalarOperand};

use crate::{
    emit::{Emitter, Result},
    text::{Class, Reg},
    value::Val,
};

impl Emitter<'_> {
    /// One append: at the place that the thread counts, within the room there is.
    pub(crate) fn append(&mut self, position: usize, when: Option<Reg>) -> Result {
        let kernel = self.kernel;
        let Action::Append { arrays, values, .. } = &kernel.statements[position].action else {
            return Err(self.broken("an append that is none"));
        };
        let Some(count) = self.appended else { return Err(self.broken("an append that nobody counts")) };
        let put = |this: &mut Self| {
            let at = Val::new(ElementType::I64, count);
            if this.what != crate::emit::What::Counts {
                for (&array, &value) in arrays.iter().zip(values) {
                    let room = this.size(array)?;
                    // Known to suffice; a plan that somebody edited says so without proof.
                    let none = ScalarOperand::Constant(Constant::from(0i64));
                    let name = kernel.arrays[array.index()].name.clone();
                    let fault = FailureKind::Index { array: name, index: vec![none], extents: vec![none] };
                    let full = this.c.compare("ge", at, room);
                    let failure = this.failure(&Place::default(), fault);
                    this.fail(full, failure, &[at, room]);
                    let address = this.element(array, at)?;
                    let value = this.operand(value)?;
                    this.store_to("global", address, 0, value);
                }
            }
            this.c.op(format_args!("add.s64 {count}, {count}, 1"));
            Ok(())
        };
        match when {
            None => put(self),
            Some(when) => self.only_if(when, put),
        }
    }

    /// Starts to count, if the kernel appends.
    pub(crate) fn begin_append(&mut self) {
        let appends = |statement: &fusebox_ir::Statement| matches!(statement.action, Action::Append { .. });
        if self.kernel.statements.iter().any(appends) {
            let count = self.c.reg(Class::Double);
            self.c.op(format_args!("mov.b64 {count}, 0"));
            self.appended = Some(count);
        }
    }

    /// Stores how many elements were put.
    pub(crate) fn end_append(&mut self) -> Result {
        let kernel = self.kernel;
        let Some(count) = self.appended else { return Ok(()) };
        for statement in &kernel.statements {
            if let Action::Append { count: array, .. } = &statement.action {
                let address = self.element(*array, 0i64.into())?;
                self.store_to("global", address, 0, Val::new(ElementType::I64, count));
            }
        }
        Ok(())
    }
}
