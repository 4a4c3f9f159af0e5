//! Scalars and extents of a run, and the checks of extents.

use fusebox_ir::{Constant, Extent, Fault, MAX_EXTENT, Operand, Output, Place, PlanExtent, PlanOperand, ValueId};

use super::state::{Executor, Result, Value, failed};
use crate::{asked::Extents, machine::Machine};

impl<M: Machine> Executor<'_, M> {
    pub(super) fn scalar(&self, operand: PlanOperand) -> Result<Constant> {
        match operand {
            Operand::Constant(constant) => Ok(constant),
            Operand::Value(id) => self.element_of(id),
        }
    }

    pub(super) fn truth(&self, operand: PlanOperand) -> Result<bool> {
        self.scalar(operand)?.as_bool().ok_or_else(|| self.bad_plan("a condition is no `bool`".to_owned()))
    }

    pub(super) fn extent(&self, extent: PlanExtent) -> Result<i64> {
        match extent {
            Extent::Constant(extent) => Ok(extent),
            Extent::Value(id) => {
                let constant = self.scalar(Operand::Value(id))?;
                constant.as_i64().ok_or_else(|| self.bad_plan(format!("extent `{}` is no `i64`", self.name(id))))
            }
            Extent::Unknown => Err(self.bad_plan("a value of unknown extent is made".to_owned())),
        }
    }

    /// The extents of a value that is made or gets another name. None of them is negative, and the product of the first few of them is an
    /// `i64` however many are taken, so no other code checks that. An error names the operation `at`; without one the plan is to blame.
    pub(super) fn extents_of(&self, id: ValueId, at: Option<(&str, &Place)>) -> Result<Extents> {
        let value = self.plan.values.get(id.index()).ok_or_else(|| self.bad_plan(format!("{id} is no value")))?;
        let mut extents = Extents::new();
        for &extent in &value.ty.extents {
            extents.push(self.extent(extent)?);
        }
        let array = || self.name(id).to_owned();
        let fault = if let Some(&extent) = extents.iter().find(|&&extent| extent < 0) {
            Fault::NegativeExtent { array: array(), extent }
        } else if extents.iter().any(|&extent| extent > MAX_EXTENT)
            || extents.iter().try_fold(1i64, |size, &extent| size.checked_mul(extent)).is_none()
        {
            Fault::TooLarge { array: array(), extents: extents.into_vec() }
        } else {
            return Ok(extents);
        };
        Err(match at {
            Some((operation, place)) => failed(operation, place, fault),
            None => self.bad_plan(fault.to_string()),
        })
    }

    /// Checks that two extents are equal, as an operation needs them to be.
    pub(super) fn check_equal(
        &self,
        (left, left_name): (PlanExtent, &str),
        (right, right_name): (PlanExtent, &str),
        operation: &str,
        place: &Place,
    ) -> Result<()> {
        let (left_extent, right_extent) = (self.extent(left)?, self.extent(right)?);
        if left_extent == right_extent {
            return Ok(());
        }
        let (left, right) = (left_name.to_owned(), right_name.to_owned());
        Err(failed(operation, place, Fault::Sizes { left, left_extent, right, right_extent }))
    }

    /// Checks that a result asks for no more elements than an array has.
    pub(super) fn check_at_most(
        &self,
        (extent, result): (PlanExtent, &str),
        (available, array): (PlanExtent, &str),
        operation: &str,
        place: &Place,
    ) -> Result<()> {
        let (extent, available) = (self.extent(extent)?, self.extent(available)?);
        if extent <= available {
            return Ok(());
        }
        let (result, array) = (result.to_owned(), array.to_owned());
        Err(failed(operation, place, Fault::TooFew { result, extent, array, available }))
    }

    /// Checks that an extent is not negative.
    pub(super) fn check_not_negative(
        &self,
        extent: PlanExtent,
        array: &str,
        operation: &str,
        place: &Place,
    ) -> Result<()> {
        let extent = self.extent(extent)?;
        if extent >= 0 {
            return Ok(());
        }
        Err(failed(operation, place, Fault::NegativeExtent { array: array.to_owned(), extent }))
    }

    /// Checks that a result has the extents that the program declares.
    pub(super) fn check_result(&self, stored: &Value, output: &Output<ValueId>) -> Result<()> {
        for (&declared, &found) in output.ty.extents.iter().zip(&stored.extents) {
            if declared == Extent::Unknown {
                continue;
            }
            let wanted = self.extent(declared)?;
            if wanted != found {
                let right = match declared {
                    Extent::Value(id) => self.name(id).to_owned(),
                    _ => wanted.to_string(),
                };
                let left = output.name.clone();
                let fault = Fault::Sizes { left, left_extent: found, right, right_extent: wanted };
                return Err(failed(&format!("program `{}`", self.plan.name), &Place::default(), fault));
            }
        }
        Ok(())
    }
}
