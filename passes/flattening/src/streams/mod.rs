//! Streams that are in memory: one chunk holds all of their elements, so that a traversal is the operations of its body.

mod elements;
mod gathered;
mod lanes;
mod sinks;
mod state;
mod traversal;
mod writer;

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Block, ElementType, ElementType::I64, Extent, Fresh, Name, Operand, Output, PartMut, Place,
    Program, Type, Var, validate,
};

pub(crate) use self::lanes::{is_concatenation, traversals_in_lanes};
use self::writer::Writer;
use crate::{Error, extents::operand, interface::has_flat_interface};

/// Elements of a stream in memory.
#[derive(Clone, Debug)]
struct Stored {
    /// The extents of each: `[n]i64`, or `[n, r]i64` of rank r above 1. None of scalars.
    extents: Option<ArrayId>,
    /// All values, one after the other.
    values: ArrayId,
    /// How many elements there are.
    number: ArrayId,
    /// How many values there are.
    total: ArrayId,
    /// The rank of an element, and what it holds.
    rank: usize,
    element: ElementType,
}

/// What is known of the values of a program.
struct Known {
    /// Streams that are in memory.
    stored: HashMap<ArrayId, Stored>,
    /// What stands for values that are gone.
    instead: HashMap<ArrayId, Operand>,
    types: HashMap<ArrayId, Type>,
    /// Where values are made.
    places: HashMap<ArrayId, Place>,
    names: HashMap<ArrayId, Name>,
}

/// A program on its way.
struct Streams {
    known: Known,
    fresh: Fresh,
}

impl Known {
    /// Of a program the types of all values.
    fn of(program: &Program) -> Self {
        let (mut types, mut names) = (HashMap::new(), HashMap::new());
        program.body.for_each_definition(&mut |var| {
            types.insert(var.id, var.ty.clone());
            names.insert(var.id, var.name.clone());
        });
        let bindings = program.body.blocks().flat_map(|block| &block.bindings);
        let places = bindings.flat_map(|binding| binding.results.iter().map(|var| (var.id, binding.place.clone())));
        Self { stored: HashMap::new(), instead: HashMap::new(), types, places: places.collect(), names }
    }

    /// What a value is called, and where it is made.
    fn origin(&self, id: ArrayId) -> (String, Place) {
        let name =
            self.names.get(&id).filter(|name| !name.is_empty()).map_or_else(|| id.to_string(), |name| name.0.clone());
        (name, self.places.get(&id).cloned().unwrap_or_default())
    }

    /// How many elements there are along the outermost dimension.
    fn extent(&self, array: ArrayId) -> Extent {
        self.types.get(&array).and_then(|ty| ty.extents.first()).copied().unwrap_or(Extent::Unknown)
    }

    /// Lets sizes that a type binds stand for extents of what is given.
    fn bind_sizes(&mut self, block: &Block, ty: &Type, given: &[Extent]) {
        for (extent, &given) in ty.extents.iter().zip(given) {
            if let Extent::Value(id) = extent
                && block.sizes.iter().any(|size| size.id == *id)
            {
                self.instead.entry(*id).or_insert(operand(given));
            }
        }
    }

    /// Lets a size and arrays stand for results, which are a size and arrays.
    fn stands_for(&mut self, results: &[Var], size: ArrayId, arrays: &[ArrayId]) {
        let all = [size].into_iter().chain(arrays.iter().copied());
        self.instead.extend(results.iter().map(|var| var.id).zip(all.map(Operand::Value)));
    }

    /// The extent that stands for an extent in the end.
    fn extent_now(&self, extent: Extent) -> Extent {
        match extent {
            Extent::Value(id) => match self.resolved(id) {
                Operand::Value(id) => Extent::Value(id),
                Operand::Constant(constant) => constant.as_i64().map_or(extent, Extent::Constant),
            },
            other => other,
        }
    }

    /// What stands for a value in the end.
    fn resolved(&self, mut id: ArrayId) -> Operand {
        loop {
            match self.instead.get(&id) {
                Some(&Operand::Value(next)) => id = next,
                Some(&constant) => return constant,
                None => return id.into(),
            }
        }
    }
}

/// Whether a program reads or makes streams, or traverses arrays as such.
pub fn has_streams(program: &Program) -> bool {
    program.body.blocks().any(|block| {
        block.params.iter().any(|var| var.ty.stream)
            || block.bindings.iter().any(|binding| matches!(binding.op, ArrayOp::Consume { .. }))
    })
}

/// Replaces traversals of a flat program, of which all elements are in memory: the body runs once, on one chunk of all elements.
///
/// An input or a result `t` that is a stream becomes `t.extents` and `t.values`, as an array of arrays does; a stream of scalars is a
/// vector `t`. Results are the same but for how functions of `accumulate` associate, which the cutting into chunks leaves open.
///
/// # Errors
/// [`Error::Invalid`] if the program is not valid or not flat, [`Error::Taken`].
pub fn streams_in_memory(program: &Program) -> Result<Program, Error> {
    validate(program, &[fusebox_ir::Property::Flat])?;
    has_flat_interface(program)?;
    let mut program = program.clone();
    let mut streams = Streams { known: Known::of(&program), fresh: Fresh::new(&program) };
    streams.inputs(&mut program)?;
    streams.block(&mut program.body);
    streams.outputs(&mut program);
    program.body.substitute(&mut |id| streams.known.resolved(id));
    Ok(program.renumbered())
}

impl Streams {
    /// Streams among the inputs come as extents and values.
    ///
    /// # Errors
    /// [`Error::SizeOfStream`].
    fn inputs(&mut self, program: &mut Program) -> Result<(), Error> {
        only_of_streams(program)?;
        let body = &mut program.body;
        let given = std::mem::take(&mut body.params);
        for param in given {
            if !param.ty.stream {
                body.params.push(param);
                continue;
            }
            let name = param.name.0.as_str();
            let rank = param.ty.rank();
            let mut size = |part: &str| {
                let id = self.fresh.id();
                let name = format!("{name}.{part}").as_str().into();
                body.sizes.push(Var { id, ty: Type::scalar(I64), name });
                id
            };
            let number = size("count");
            let total = if rank == 0 { number } else { size("total") };
            let mut input = |name: String, extents: Vec<Extent>, element| {
                let id = self.fresh.id();
                body.params.push(Var { id, ty: Type::array(extents, element), name: name.as_str().into() });
                id
            };
            let extents = (rank > 0).then(|| {
                let extents = extents_of_elements(number.into(), rank);
                input(format!("{name}.extents"), extents, I64)
            });
            let values = if rank == 0 { name.to_owned() } else { format!("{name}.values") };
            let values = input(values, vec![total.into()], param.ty.element);
            let element = param.ty.element;
            self.known.stored.insert(param.id, Stored { extents, values, number, total, rank, element });
        }
        // In the order in which the inputs meet them.
        let met: Vec<Extent> = body.params.iter().flat_map(|param| param.ty.extents.iter().copied()).collect();
        body.sizes.sort_by_key(|size| met.iter().position(|extent| *extent == Extent::Value(size.id)));
        Ok(())
    }

    /// Streams among the results go as extents and values.
    fn outputs(&mut self, program: &mut Program) {
        let results = std::mem::take(&mut program.body.results);
        for (id, output) in results.into_iter().zip(std::mem::take(&mut program.outputs)) {
            let Some(stored) = self.known.stored.get(&id).filter(|_| output.ty.stream) else {
                program.body.results.push(id);
                program.outputs.push(output);
                continue;
            };
            let mut give = |id: ArrayId, name: String, extents: Vec<Extent>, element| {
                program.body.results.push(id);
                program.outputs.push(Output { name, ty: Type::array(extents, element) });
            };
            let values = match stored.extents {
                Some(extents) => {
                    let ty = extents_of_elements(Extent::Unknown, output.ty.rank());
                    give(extents, format!("{}.extents", output.name), ty, I64);
                    format!("{}.values", output.name)
                }
                None => output.name,
            };
            give(stored.values, values, vec![Extent::Unknown], output.ty.element);
        }
    }

    fn block(&mut self, block: &mut Block) {
        for mut binding in std::mem::take(&mut block.bindings) {
            for part in binding.op.parts_mut() {
                if let PartMut::Body(body) = part {
                    self.block(body);
                }
            }
            if let ArrayOp::Consume { limit, body, sinks, streams, chunks: true } = binding.op {
                let mut writer =
                    Writer { bindings: &mut block.bindings, fresh: &mut self.fresh, place: &binding.place };
                let traversal = traversal::Traversal { results: &binding.results, limit, streams: &streams };
                traversal.written(body, sinks, &mut self.known, &mut writer);
            } else {
                block.bindings.push(binding);
            }
        }
    }
}

/// Takes the sizes out that only types of streams have: elements are there when the program runs, and nothing may ask for their extents before.
fn only_of_streams(program: &mut Program) -> Result<(), Error> {
    let body = &mut program.body;
    let mut used: HashSet<ArrayId> = body.results.iter().copied().collect();
    body.bindings.iter().for_each(|binding| binding.for_each_use(&mut |id| _ = used.insert(id)));
    for output in program.outputs.iter().filter(|output| !output.ty.stream) {
        output.ty.for_each_use(&mut |id| _ = used.insert(id));
    }
    for size in std::mem::take(&mut body.sizes) {
        let has = |param: &&Var| param.ty.all_extents().any(|extent| *extent == Extent::Value(size.id));
        let stream = body.params.iter().find(|param| param.ty.stream && has(param));
        match stream.filter(|_| !body.params.iter().any(|param| !param.ty.stream && has(&param))) {
            Some(stream) if used.contains(&size.id) => {
                let mut bindings = body.bindings.iter();
                let by = bindings.find(|binding| {
                    let mut uses = false;
                    binding.for_each_use(&mut |id| uses |= id == size.id);
                    uses
                });
                let place = by.map(|binding| binding.place.clone()).unwrap_or_default();
                let (size, stream) = (size.name.0.to_string(), stream.name.0.to_string());
                return Err(Error::SizeOfStream { size, stream, place });
            }
            Some(_) => {}
            None => body.sizes.push(size),
        }
    }
    Ok(())
}

/// The extents of an array of the extents of so many elements of a rank.
fn extents_of_elements(number: Extent, rank: usize) -> Vec<Extent> {
    let inner = (rank > 1).then_some(Extent::Constant(rank as i64));
    [number].into_iter().chain(inner).collect()
}
