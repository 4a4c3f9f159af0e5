//! The plan that launches the kernel once.

use fusebox_ir::ElementType::I64;
use fusebox_ir::{
    Access, Extent, Kernel, KernelArrayId, Local, LocalId, Output, Place, Plan, PlanExtent, PlanType, PlanValue, Step,
    Type, ValueId, analysis::InPlace,
};

use super::{Draw, Generated};

impl Draw {
    /// The plan that launches the kernel once.
    pub(super) fn plan(mut self) -> Generated {
        let sizes: Vec<Local> =
            (0..self.sizes.len()).map(|at| Local { id: LocalId(at as u32), ty: I64, name: "".into() }).collect();
        let mut kernel = Kernel {
            name: "random".into(),
            sizes,
            arrays: std::mem::take(&mut self.arrays),
            levels: std::mem::take(&mut self.levels),
            statements: std::mem::take(&mut self.statements),
        };
        // Where one array may be in the memory of another it is.
        let mut over = vec![None; kernel.arrays.len()];
        for written in 0..kernel.arrays.len() {
            let found = (0..kernel.arrays.len()).find(|&read| {
                !over.contains(&Some(read))
                    && InPlace::of(&kernel).allows(KernelArrayId::at(written), KernelArrayId::at(read)).is_ok()
            });
            if let Some(read) = found {
                over[written] = Some(read);
                kernel.arrays[written].in_place_of = Some(KernelArrayId::at(read));
            }
        }
        let mut values: Vec<PlanValue> = Vec::new();
        let mut value = |name: String, ty: PlanType| {
            values.push(PlanValue { name, ty });
            ValueId::at(values.len() - 1)
        };
        let (mut inputs, mut given, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let (mut copies, mut allocations, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
        let (mut results, mut outputs) = (Vec::new(), Vec::new());
        for (position, array) in kernel.arrays.iter().enumerate() {
            let extents: Vec<i64> = array.extents.iter().map(|&extent| self.number(extent)).collect();
            let ty = Type::array(extents.iter().map(|&extent| Extent::Constant(extent)).collect(), array.element);
            let taken = over.contains(&Some(position));
            let id = match &self.data[position] {
                Some(data) => {
                    let input = value(array.name.clone(), ty.clone());
                    inputs.push(input);
                    given.push(data.clone());
                    if array.access == Access::Read && !taken {
                        input
                    } else {
                        let copy = value(format!("{}_here", array.name), ty.clone());
                        copies.push(Step::Copy { value: copy, source: input });
                        copy
                    }
                }
                None => {
                    let made = value(array.name.clone(), ty.clone());
                    allocations.push((position, made));
                    made
                }
            };
            arrays.push(id);
            if array.access != Access::Read
                && !self.append.as_ref().is_some_and(|(_, arrays)| arrays.contains(&KernelArrayId::at(position)))
            {
                results.push(id);
                outputs.push(Output { name: array.name.clone(), ty });
            }
        }
        steps.append(&mut copies);
        for (position, value) in allocations {
            let in_place_of = over[position].map(|read| arrays[read]);
            steps.push(Step::Allocate { value, in_place_of, operation: "random".to_owned(), place: Place::default() });
        }
        let launched: Vec<PlanExtent> = self.sizes.iter().map(|&size| Extent::Constant(size)).collect();
        steps.push(Step::Launch { kernel: 0, sizes: launched, arrays: arrays.clone() });
        if let Some((count, appended)) = &self.append {
            for array in appended {
                let declared = &kernel.arrays[array.index()];
                let ty = Type::array(vec![Extent::Value(arrays[count.index()])], declared.element);
                let short = value(format!("{}_put", declared.name), ty);
                steps.push(Step::Truncate { value: short, source: arrays[array.index()] });
                results.push(short);
                let ty = Type::array(vec![Extent::Unknown], declared.element);
                outputs.push(Output { name: format!("{}_put", declared.name), ty });
            }
        }
        let plan = Plan {
            name: "random".to_owned(),
            values,
            sizes: Vec::new(),
            inputs,
            kernels: vec![kernel],
            steps,
            results,
            outputs,
        };
        Generated { plan, inputs: given }
    }
}
