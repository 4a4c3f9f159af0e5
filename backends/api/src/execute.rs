//! Runs the steps of a plan on a machine.

use std::{collections::HashSet, sync::Arc};

use fusebox_ir::{
    Access, Action, Constant, ElementType, Extent, Fault, Kernel, MAX_EXTENT, Operand, Output, Place, Plan, PlanExtent,
    PlanOperand, RunError, Step, ValueId,
};

use crate::BackendError;

/// What runs kernels and holds arrays.
pub trait Machine {
    /// The memory of one array.
    type Buffer;

    /// Room for an array, of any contents; `None` if there is no memory for it.
    fn allocate(&self, element: ElementType, extents: &[usize]) -> Option<Self::Buffer>;

    /// Bytes of elements that a buffer was made for.
    fn bytes(&self, buffer: &Self::Buffer) -> usize;

    /// A scalar.
    ///
    /// # Errors
    /// What the device says.
    fn constant(&self, constant: Constant) -> Result<Self::Buffer, BackendError>;

    /// An array of elements written out, row-major.
    ///
    /// # Errors
    /// What the device says; [`BackendError::BadPlan`] if there are not as many elements.
    fn written_out(
        &self,
        element: ElementType,
        extents: &[i64],
        data: &[Constant],
    ) -> Result<Self::Buffer, BackendError>;

    /// The first element of a buffer.
    ///
    /// # Errors
    /// What the device says.
    fn scalar(&self, buffer: &Self::Buffer, element: ElementType) -> Result<Constant, BackendError>;

    /// Copies the first `count` elements from one buffer to another.
    ///
    /// # Errors
    /// What the device says.
    fn copy(
        &self,
        from: &Self::Buffer,
        to: &mut Self::Buffer,
        element: ElementType,
        count: usize,
    ) -> Result<(), BackendError>;

    /// Runs a kernel.
    ///
    /// # Errors
    /// [`BackendError::Run`].
    fn launch(&self, launch: Launch<'_, Self::Buffer>) -> Result<(), BackendError>;

    /// Sorts rows.
    ///
    /// # Errors
    /// What the device says; [`Fault::TooLarge`] if there is no memory to work in.
    fn sort(&self, sort: Sort<'_, Self::Buffer>) -> Result<(), BackendError>;

    /// Takes back a buffer that nobody uses.
    fn release(&self, buffer: Self::Buffer);
}

/// One run of a kernel.
#[derive(Debug)]
pub struct Launch<'a, B> {
    /// Position in the plan's kernels.
    pub kernel: usize,
    /// The kernel's sizes.
    pub sizes: &'a [i64],
    /// The kernel's arrays.
    pub arrays: Vec<LaunchArray<'a, B>>,
}

/// An array of a launch.
#[derive(Debug)]
pub enum LaunchArray<'a, B> {
    /// Only read.
    Read(&'a B),
    /// Written, or updated.
    Write(&'a mut B),
    /// Only read, and in the same memory as the array at this position, which is written over it ([`fusebox_ir::KernelArray::in_place_of`]).
    InPlace(usize),
}

/// One sort: rows are the innermost dimension.
#[derive(Debug)]
pub struct Sort<'a, B> {
    /// The name of the first result, for errors.
    pub name: &'a str,
    /// Element types and keys; the first decides first.
    pub keys: Vec<(ElementType, &'a B)>,
    /// Element types and arrays that are carried along.
    pub carry: Vec<(ElementType, &'a B)>,
    /// Where keys and then what is carried go.
    pub results: Vec<&'a mut B>,
    /// Number of rows.
    pub rows: usize,
    /// Elements of a row.
    pub length: usize,
}

/// A value: a buffer, perhaps shared, and what it stands for.
#[derive(Debug)]
pub struct Stored<B> {
    /// The memory.
    pub buffer: Arc<B>,
    /// The element type.
    pub element: ElementType,
    /// The extents; the buffer may hold more.
    pub extents: Vec<i64>,
}

impl<B> Clone for Stored<B> {
    fn clone(&self) -> Self {
        Self { buffer: self.buffer.clone(), element: self.element, extents: self.extents.clone() }
    }
}

/// A value that was handed in, with the sizes it binds already checked.
pub type Handed<B> = (ValueId, Stored<B>);

/// What a run of a plan took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The most bytes of elements at one time in values that the plan made, results included and inputs not.
    pub peak_bytes: usize,
}

/// Runs a plan on inputs and sizes; gives its results, and what it took.
///
/// # Errors
/// [`BackendError::Run`] for what fails inside; [`BackendError::BadPlan`] if the plan breaks its own rules.
pub fn execute<M: Machine>(
    machine: &M,
    plan: &Plan,
    handed: Vec<Handed<M::Buffer>>,
) -> Result<(Vec<Stored<M::Buffer>>, Statistics), BackendError> {
    let values = plan.values.iter().map(|_| None).collect();
    let mut executor = Executor { machine, plan, values, live_bytes: 0, statistics: Statistics::default() };
    for (id, stored) in handed {
        executor.set(id, stored);
    }
    executor.steps(&plan.steps)?;
    let mut results: Vec<Option<Stored<M::Buffer>>> = Vec::new();
    for &id in &plan.results {
        results.push(Some(executor.value(id)?.clone()));
    }
    for (stored, output) in results.iter().flatten().zip(&plan.outputs) {
        executor.check_result(stored, output)?;
    }
    let kept: HashSet<*const M::Buffer> = results.iter().flatten().map(|stored| Arc::as_ptr(&stored.buffer)).collect();
    for value in executor.values.iter_mut() {
        let Some(stored) = value.take() else { continue };
        if !kept.contains(&Arc::as_ptr(&stored.buffer))
            && let Ok(buffer) = Arc::try_unwrap(stored.buffer)
        {
            machine.release(buffer);
        }
    }
    Ok((results.into_iter().flatten().collect(), executor.statistics))
}

struct Executor<'a, M: Machine> {
    machine: &'a M,
    plan: &'a Plan,
    values: Vec<Option<Stored<M::Buffer>>>,
    /// Of the buffers that this run has made and not released.
    live_bytes: usize,
    statistics: Statistics,
}

type Result<T, E = BackendError> = std::result::Result<T, E>;

impl<M: Machine> Executor<'_, M> {
    fn steps(&mut self, steps: &[Step]) -> Result<()> {
        for (position, step) in steps.iter().enumerate() {
            self.step(step, &steps[position + 1..])?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, rest: &[Step]) -> Result<()> {
        match step {
            Step::Allocate { value, in_place_of, operation, place } => {
                let extents = self.extents_of(*value, Some((operation, place)))?;
                let stored = match in_place_of.and_then(|source| self.taken_over(*value, source, &extents)) {
                    Some(buffer) => Stored { buffer, element: self.element(*value), extents },
                    None => self.allocate(*value, extents, operation, place)?,
                };
                self.set(*value, stored);
            }
            Step::Constant { value, data } => {
                let extents = self.extents_of(*value, None)?;
                let element = self.element(*value);
                let buffer = self.machine.written_out(element, &extents, data)?;
                let buffer = self.made(buffer);
                self.set(*value, Stored { buffer, element, extents });
            }
            Step::Launch { kernel, sizes, arrays } => self.launch(*kernel, sizes, arrays)?,
            Step::Alias { value, source, operation, place } => self.alias(*value, *source, operation, place)?,
            Step::Shorten { value, source } => {
                let mut stored = self.value(*source)?.clone();
                let extents = self.extents_of(*value, None)?;
                let within = extents.len() == stored.extents.len()
                    && extents.iter().zip(&stored.extents).all(|(extent, available)| extent <= available);
                if !within {
                    return Err(self.bad_plan(format!("`{}` is longer than what it is cut from", self.name(*value))));
                }
                stored.extents = extents;
                self.set(*value, stored);
            }
            Step::Copy { value, source } => self.copy(*value, *source, rest)?,
            Step::CheckEqual { left, left_name, right, right_name, operation, place } => {
                let (left_extent, right_extent) = (self.extent(*left)?, self.extent(*right)?);
                if left_extent != right_extent {
                    let fault =
                        Fault::Sizes { left: left_name.clone(), left_extent, right: right_name.clone(), right_extent };
                    return Err(failed(operation, place, fault));
                }
            }
            Step::CheckAtMost { extent, name, available, array, operation, place } => {
                let (extent, available) = (self.extent(*extent)?, self.extent(*available)?);
                if extent > available {
                    let fault = Fault::TooFew { result: name.clone(), extent, array: array.clone(), available };
                    return Err(failed(operation, place, fault));
                }
            }
            Step::CheckNotNegative { extent, array, operation, place } => {
                let extent = self.extent(*extent)?;
                if extent < 0 {
                    return Err(failed(operation, place, Fault::NegativeExtent { array: array.clone(), extent }));
                }
            }
            Step::Sort { keys, carry, results } => self.sort(keys, carry, results)?,
            Step::If { condition, then, otherwise, results: _ } => {
                if self.truth(*condition)? {
                    self.steps(then)?;
                } else {
                    self.steps(otherwise)?;
                }
            }
            Step::While { state, condition_steps, condition, body, next } => {
                self.repeat(state, condition_steps, *condition, body, next)?
            }
            Step::Free { value } => self.free(*value),
        }
        Ok(())
    }

    fn name(&self, id: ValueId) -> &str {
        self.plan.values.get(id.index()).map_or("?", |value| &value.name)
    }

    fn bad_plan(&self, message: String) -> BackendError {
        BackendError::BadPlan { message }
    }

    fn value(&self, id: ValueId) -> Result<&Stored<M::Buffer>> {
        self.values
            .get(id.index())
            .and_then(Option::as_ref)
            .ok_or_else(|| self.bad_plan(format!("`{}` ({id}) is used before it is made", self.name(id))))
    }

    fn set(&mut self, id: ValueId, stored: Stored<M::Buffer>) {
        self.free(id);
        if let Some(value) = self.values.get_mut(id.index()) {
            *value = Some(stored);
        }
    }

    /// A result has the extents that were declared.
    fn check_result(&self, stored: &Stored<M::Buffer>, output: &Output<ValueId>) -> Result<()> {
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

    fn free(&mut self, id: ValueId) {
        if let Some(stored) = self.values.get_mut(id.index()).and_then(Option::take)
            && let Ok(buffer) = Arc::try_unwrap(stored.buffer)
        {
            self.live_bytes = self.live_bytes.saturating_sub(self.machine.bytes(&buffer));
            self.machine.release(buffer);
        }
    }

    /// Counts a buffer that was made.
    fn made(&mut self, buffer: M::Buffer) -> Arc<M::Buffer> {
        self.live_bytes += self.machine.bytes(&buffer);
        self.statistics.peak_bytes = self.statistics.peak_bytes.max(self.live_bytes);
        Arc::new(buffer)
    }

    fn element(&self, id: ValueId) -> ElementType {
        self.plan.values[id.index()].ty.element
    }

    /// The buffer of `source` for `value`, if nothing else has it and both are of as many bytes. Both have it until the launch that writes
    /// `value`.
    fn taken_over(&self, value: ValueId, source: ValueId, extents: &[i64]) -> Option<Arc<M::Buffer>> {
        let stored = self.values.get(source.index())?.as_ref()?;
        let bytes = |element: ElementType, extents: &[i64]| {
            extents.iter().try_fold(element.bytes() as i64, |size, &extent| size.checked_mul(extent))
        };
        let wanted = bytes(self.element(value), extents)?;
        let same = bytes(stored.element, &stored.extents) == Some(wanted);
        (same && Arc::strong_count(&stored.buffer) == 1).then(|| stored.buffer.clone())
    }

    fn scalar(&self, operand: PlanOperand) -> Result<Constant> {
        match operand {
            Operand::Constant(constant) => Ok(constant),
            Operand::Value(id) => {
                let stored = self.value(id)?;
                self.machine.scalar(&stored.buffer, stored.element)
            }
        }
    }

    fn truth(&self, operand: PlanOperand) -> Result<bool> {
        self.scalar(operand)?.as_bool().ok_or_else(|| self.bad_plan("a condition is no `bool`".to_owned()))
    }

    fn extent(&self, extent: PlanExtent) -> Result<i64> {
        match extent {
            Extent::Constant(extent) => Ok(extent),
            Extent::Value(id) => {
                let constant = self.scalar(Operand::Value(id))?;
                constant.as_i64().ok_or_else(|| self.bad_plan(format!("extent `{}` is no `i64`", self.name(id))))
            }
            Extent::Unknown => Err(self.bad_plan("a value of unknown extent is made".to_owned())),
        }
    }

    /// The extents of a value that is made or gets another name. None is negative and their product is an `i64`, as the products of some of
    /// them from the outermost on are, so nobody else has to look. What is wrong is the fault of the operation `at`, or of the plan.
    fn extents_of(&self, id: ValueId, at: Option<(&str, &Place)>) -> Result<Vec<i64>> {
        let value = self.plan.values.get(id.index()).ok_or_else(|| self.bad_plan(format!("{id} is no value")))?;
        let extents: Vec<i64> =
            value.ty.extents.iter().map(|&extent| self.extent(extent)).collect::<Result<Vec<_>>>()?;
        let array = || self.name(id).to_owned();
        let fault = if let Some(&extent) = extents.iter().find(|&&extent| extent < 0) {
            Fault::NegativeExtent { array: array(), extent }
        } else if extents.iter().any(|&extent| extent > MAX_EXTENT)
            || extents.iter().try_fold(1i64, |size, &extent| size.checked_mul(extent)).is_none()
        {
            Fault::TooLarge { array: array(), extents }
        } else {
            return Ok(extents);
        };
        Err(match at {
            Some((operation, place)) => failed(operation, place, fault),
            None => self.bad_plan(fault.to_string()),
        })
    }

    fn allocate(
        &mut self,
        id: ValueId,
        extents: Vec<i64>,
        operation: &str,
        place: &Place,
    ) -> Result<Stored<M::Buffer>> {
        let sizes: Option<Vec<usize>> = extents.iter().map(|&extent| usize::try_from(extent).ok()).collect();
        let element = self.element(id);
        match sizes.and_then(|sizes| self.machine.allocate(element, &sizes)) {
            Some(buffer) => Ok(Stored { buffer: self.made(buffer), element, extents }),
            None => Err(failed(operation, place, Fault::TooLarge { array: self.name(id).to_owned(), extents })),
        }
    }

    fn alias(&mut self, id: ValueId, source: PlanOperand, operation: &str, place: &Place) -> Result<()> {
        let (mut stored, source_name) = match source {
            Operand::Constant(constant) => {
                let buffer = self.machine.constant(constant)?;
                let buffer = self.made(buffer);
                (Stored { buffer, element: constant.ty(), extents: Vec::new() }, constant.to_string())
            }
            Operand::Value(source) => (self.value(source)?.clone(), self.name(source).to_owned()),
        };
        let extents = self.extents_of(id, Some((operation, place)))?;
        let (size, source_size) = (extents.iter().product::<i64>(), stored.extents.iter().product::<i64>());
        if size != source_size {
            let fault = Fault::Sizes {
                left: self.name(id).to_owned(),
                left_extent: size,
                right: source_name,
                right_extent: source_size,
            };
            return Err(failed(operation, place, fault));
        }
        stored.extents = extents;
        self.set(id, stored);
        Ok(())
    }

    /// A copy, or the source itself if it is freed before anything else uses it.
    fn copy(&mut self, id: ValueId, source: ValueId, rest: &[Step]) -> Result<()> {
        let wanted = self.extents_of(id, None)?;
        let stored = self.value(source)?;
        if wanted != stored.extents {
            return Err(self.bad_plan(format!("`{}` is not of the extents of what it copies", self.name(id))));
        }
        if Arc::strong_count(&stored.buffer) == 1 && Step::free_unused(source, rest) {
            if let Some(stored) = self.values[source.index()].take() {
                self.set(id, stored);
            }
            return Ok(());
        }
        let (from, element, extents) = (stored.buffer.clone(), stored.element, stored.extents.clone());
        let none = Place::default();
        let mut new = self.allocate(id, extents, "copy", &none)?;
        let count = new.extents.iter().product::<i64>() as usize;
        let buffer = Arc::get_mut(&mut new.buffer).expect("a buffer that was just made has one owner");
        self.machine.copy(&from, buffer, element, count)?;
        self.set(id, new);
        Ok(())
    }

    fn launch(&mut self, kernel: usize, sizes: &[PlanExtent], arrays: &[ValueId]) -> Result<()> {
        let declared =
            self.plan.kernels.get(kernel).ok_or_else(|| self.bad_plan(format!("there is no kernel {kernel}")))?;
        if sizes.len() != declared.sizes.len() || arrays.len() != declared.arrays.len() {
            return Err(self.bad_plan(format!(
                "a launch of kernel `{}` gives other sizes or arrays than it has",
                declared.name.0
            )));
        }
        let sizes = sizes.iter().map(|&size| self.extent(size)).collect::<Result<Vec<_>>>()?;
        if let Some(&size) = sizes.iter().find(|&&size| size > MAX_EXTENT) {
            let fault = Fault::TooLarge { array: written_name(declared).to_owned(), extents: vec![size] };
            return Err(failed(&declared.name.0, &Place::default(), fault));
        }
        self.check_extents(kernel, &sizes, arrays)?;
        // Written values are taken out, so that nothing else can see them meanwhile.
        let mut written: Vec<Option<Stored<M::Buffer>>> = Vec::new();
        for (&id, array) in arrays.iter().zip(&declared.arrays) {
            if array.access == Access::Read {
                written.push(None);
                continue;
            }
            self.value(id)?;
            written.push(self.values[id.index()].take());
        }
        // What is in the memory of something that is written lives on in that alone.
        let mut in_place: Vec<Option<usize>> = vec![None; arrays.len()];
        for (position, (stored, array)) in written.iter().zip(&declared.arrays).enumerate() {
            let Some((stored, source)) = stored.as_ref().zip(array.in_place_of) else { continue };
            let Some(&id) = arrays.get(source.index()) else { continue };
            if self.value(id).is_ok_and(|source| Arc::ptr_eq(&source.buffer, &stored.buffer)) {
                in_place[source.index()] = Some(position);
                self.values[id.index()] = None;
            }
        }
        let result = self.launch_with(kernel, &sizes, arrays, &mut written, &in_place);
        for (&id, stored) in arrays.iter().zip(written) {
            if let Some(stored) = stored {
                self.values[id.index()] = Some(stored);
            }
        }
        result
    }

    /// The extents that the kernel counts on are those of the arrays.
    fn check_extents(&self, kernel: usize, sizes: &[i64], arrays: &[ValueId]) -> Result<()> {
        let declared = &self.plan.kernels[kernel];
        for (&id, array) in arrays.iter().zip(&declared.arrays) {
            let stored = self.value(id)?;
            let expected: Vec<Option<i64>> = (array.extents.iter())
                .map(|extent| match extent {
                    fusebox_ir::KernelExtent::Constant(extent) => Some(*extent),
                    fusebox_ir::KernelExtent::Size(id) => declared
                        .sizes
                        .iter()
                        .position(|size| size.id == *id)
                        .and_then(|position| sizes.get(position).copied()),
                })
                .collect();
            let same = stored.element == array.element
                && expected.len() == stored.extents.len()
                && expected.iter().zip(&stored.extents).all(|(expected, given)| *expected == Some(*given));
            if !same {
                let message = format!(
                    "kernel `{}` counts on {}{:?} of `{}`, which is {}{:?}",
                    declared.name.0, array.element, expected, array.name, stored.element, stored.extents
                );
                return Err(self.bad_plan(message));
            }
        }
        // One index is for all targets of a scatter: sizes that are equal may have several names.
        for statement in &declared.statements {
            let Action::Scatter { arrays: targets, .. } = &statement.action else { continue };
            let mut targets = targets.iter().filter_map(|target| arrays.get(target.index()));
            let Some(&first) = targets.next() else { continue };
            for &other in targets {
                if self.value(other)?.extents != self.value(first)?.extents {
                    let (first, other) = (self.name(first), self.name(other));
                    return Err(
                        self.bad_plan(format!("`{first}` and `{other}` of one scatter are of different extents"))
                    );
                }
            }
        }
        Ok(())
    }

    fn launch_with(
        &self,
        kernel: usize,
        sizes: &[i64],
        arrays: &[ValueId],
        written: &mut [Option<Stored<M::Buffer>>],
        in_place: &[Option<usize>],
    ) -> Result<()> {
        let declared = &self.plan.kernels[kernel];
        let mut given = Vec::new();
        for ((&id, stored), in_place) in arrays.iter().zip(written.iter_mut()).zip(in_place) {
            match stored {
                None if let Some(position) = *in_place => given.push(LaunchArray::InPlace(position)),
                Some(stored) => {
                    let shared = || BackendError::BadPlan {
                        message: format!(
                            "kernel `{}` writes `{}`, which has another name too",
                            declared.name.0,
                            self.name(id)
                        ),
                    };
                    given.push(LaunchArray::Write(Arc::get_mut(&mut stored.buffer).ok_or_else(shared)?));
                }
                None => given.push(LaunchArray::Read(&self.value(id)?.buffer)),
            }
        }
        self.machine.launch(Launch { kernel, sizes, arrays: given })
    }

    fn sort(&mut self, keys: &[ValueId], carry: &[ValueId], results: &[ValueId]) -> Result<()> {
        let Some(&first) = keys.first() else { return Err(self.bad_plan("a sort without keys".to_owned())) };
        let extents = self.value(first)?.extents.clone();
        let Some((&length, outer)) = extents.split_last() else {
            return Err(self.bad_plan("a sort of scalars".to_owned()));
        };
        let rows = outer.iter().product::<i64>() as usize;
        let mut taken = Vec::new();
        for &id in results {
            if self.value(id)?.extents != extents {
                let name = self.name(id);
                return Err(self.bad_plan(format!("`{name}` is not of the extents of what is sorted into it")));
            }
            taken.push((id, self.values[id.index()].take()));
        }
        let result =
            (|| {
                let sources = |ids: &[ValueId]| {
                    ids.iter()
                        .map(|&id| {
                            let stored = self.value(id)?;
                            if stored.extents != extents {
                                return Err(self.bad_plan(format!(
                                    "`{}` is sorted along with arrays of other extents",
                                    self.name(id)
                                )));
                            }
                            Ok((stored.element, &*stored.buffer))
                        })
                        .collect::<Result<Vec<_>>>()
                };
                let (keys, carry) = (sources(keys)?, sources(carry)?);
                let name = results.first().map_or("?", |&id| self.name(id));
                let mut buffers = Vec::new();
                for (id, stored) in &mut taken {
                    let buffer = stored.as_mut().and_then(|stored| Arc::get_mut(&mut stored.buffer));
                    buffers.push(buffer.ok_or_else(|| BackendError::BadPlan {
                        message: format!("sorted {id} has another name too"),
                    })?);
                }
                self.machine.sort(Sort { name, keys, carry, results: buffers, rows, length: length as usize })
            })();
        for (id, stored) in taken {
            self.values[id.index()] = stored;
        }
        result
    }

    fn repeat(
        &mut self,
        state: &[ValueId],
        condition_steps: &[Step],
        condition: PlanOperand,
        body: &[Step],
        next: &[PlanOperand],
    ) -> Result<()> {
        let mut made = HashSet::new();
        makes(body, &mut made);
        loop {
            self.steps(condition_steps)?;
            if !self.truth(condition)? {
                return Ok(());
            }
            self.steps(body)?;
            let mut new = Vec::new();
            for &operand in next {
                new.push(match operand {
                    Operand::Value(id) => self.value(id)?.clone(),
                    Operand::Constant(constant) => {
                        let buffer = self.machine.constant(constant)?;
                        let buffer = self.made(buffer);
                        Stored { buffer, element: constant.ty(), extents: Vec::new() }
                    }
                });
            }
            // What the body made moves: otherwise it would keep a second name, and nothing could be written in place.
            for &operand in next {
                if let Operand::Value(id) = operand
                    && made.contains(&id)
                {
                    self.values[id.index()] = None;
                }
            }
            for (&id, stored) in state.iter().zip(new) {
                self.set(id, stored);
            }
        }
    }
}

/// The name of an array that a kernel writes: what a size of it is of, more or less.
fn written_name(kernel: &Kernel) -> &str {
    kernel.arrays.iter().find(|array| array.access != Access::Read).map_or("?", |array| &array.name)
}

fn failed(operation: &str, place: &Place, fault: Fault) -> BackendError {
    RunError { operation: operation.to_owned(), place: place.clone(), fault }.into()
}

/// The values that steps make, in branches and loops too.
fn makes(steps: &[Step], made: &mut HashSet<ValueId>) {
    for step in steps {
        made.extend(step.makes());
        if let Step::While { state, .. } = step {
            made.extend(state);
        }
        step.inner().into_iter().for_each(|steps| makes(steps, made));
    }
}
