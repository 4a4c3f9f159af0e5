//! Launches that need nothing of each other, at once.

use fusebox_ir::Step;

use super::{
    launch::Ready,
    state::{Executor, Result},
};
use crate::{
    asked::{Few, Launch},
    machine::Machine,
    profile,
};

impl<M: Machine> Executor<'_, M> {
    /// Runs a group of steps whose launches need nothing of each other at once, if the machine gains by it; whether it did.
    pub(super) fn independent(&mut self, steps: &[Step]) -> Result<bool> {
        let gains = self.gains_at_once(steps);
        if gains {
            self.at_once(steps)?;
        }
        Ok(gains)
    }

    /// Whoever asks for the times of launches gets those of each alone.
    fn gains_at_once(&self, steps: &[Step]) -> bool {
        let sizes_of = |step: &Step| match step {
            Step::Launch { kernel, sizes, .. } => {
                let declared = self.plan.kernels.get(*kernel);
                Some(declared.and_then(|declared| Some((*kernel, self.sizes_of(declared, sizes).ok()?))))
            }
            _ => None,
        };
        if profile::is_wanted() {
            return false;
        }
        // What is wrong with a launch is said where its turn comes.
        let launches: Option<Few<(usize, Few<i64>)>> = steps.iter().filter_map(sizes_of).collect();
        launches.is_some_and(|launches| self.machine.gains_at_once(&launches))
    }

    /// Memory first, then all launches, then what is freed between them. If a step fails before its launch is under way, those before it run
    /// none the less: one of them may fail too, and it is the first failure in order that a user sees.
    fn at_once(&mut self, steps: &[Step]) -> Result<()> {
        let mut ready: Few<Ready<M::Buffer>> = Few::new();
        let begun = steps.iter().try_for_each(|step| {
            match step {
                Step::Launch { kernel, sizes, arrays } => {
                    let mut own = Ready::new();
                    let made = self.make_ready(&mut own, *kernel, sizes, arrays);
                    if !matches!(made, Ok(true)) {
                        self.give_back(&mut own);
                    }
                    if made? {
                        ready.push(own);
                    }
                }
                Step::Free { .. } => {}
                step => self.step(step, &[])?,
            }
            Ok(())
        });
        let launches: Result<Few<Launch<'_, M::Buffer>>> = ready.iter_mut().map(|own| own.launch(self)).collect();
        let launched = launches.and_then(|launches| self.machine.launch_all(launches));
        ready.iter_mut().for_each(|own| self.give_back(own));
        launched.and(begun)?;
        for step in steps {
            if let Step::Free { value } = step {
                self.free(*value);
            }
        }
        Ok(())
    }
}
