//! Operations: which arguments each takes, and the types of its functions.

mod combine;

use self::combine::scan;
use super::{
    arguments::Arguments,
    block::{Flavour, Params},
    *,
};
use crate::{ArrayOp, Boundary, Constant, Extent, Operand, ScanForm, Tap, TapBoundary};

const I64: ElementType = ElementType::I64;

impl<'a, 's> Lower<'a, 's> {
    /// An operation. `wanted` are the element types of its results.
    pub(super) fn operation(
        &mut self,
        operation: &'a Operation<'s>,
        pattern: &'a [Pattern<'s>],
        wanted: &[ElementType],
        flavour: Flavour,
    ) -> Parsed<ArrayOp> {
        let mut arguments = Arguments::new(operation);
        let args = &mut arguments;
        if flavour == Flavour::Cluster && sequence::binding_order(operation).is_some() {
            args.labelled("order");
        }
        let mut known: &[&str] = &[];
        let op = match operation.name.text {
            "constant" => {
                let argument = args.next("a value")?;
                let element = *wanted.first().unwrap_or(&I64);
                let (mut extents, values) = self.constant(argument, element, args)?;
                // Rows that are not there have extents all the same.
                let declared = pattern.first().and_then(|p| p.ty.as_ref()).map_or(&[][..], |ty| &ty.extents);
                if extents.contains(&0) {
                    let known = declared.iter().skip(extents.len());
                    let inner = known.map(|extent| if let ExtentSyntax::Constant(value) = extent { *value } else { 0 });
                    extents.extend(inner.collect::<Vec<_>>());
                }
                ArrayOp::Constant { extents, values }
            }
            "unit" => ArrayOp::Unit { f: self.function(args.function()?, &[], wanted)? },
            "compute" => ArrayOp::Compute { sources: self.sources(args)? },
            "generate" => {
                let extents = self.extents(args.list()?)?;
                let f = args.function()?;
                if f.holds_operation {
                    let body = self.function_as_block(f, extents.len(), None, wanted)?;
                    ArrayOp::Nest { extents, body }
                } else {
                    let f = self.function(f, &vec![I64; extents.len()], wanted)?;
                    ArrayOp::Generate { extents, f }
                }
            }
            "map" => {
                let f = args.function()?;
                let sources = self.sources(args)?;
                if f.holds_operation {
                    let extents = self.declared_extents(pattern)?;
                    let body = self.function_as_block(f, extents.len(), Some(&sources), wanted)?;
                    ArrayOp::Nest { extents, body }
                } else {
                    let f = self.function(f, &self.elements(&sources), wanted)?;
                    ArrayOp::Map { f, sources }
                }
            }
            "backpermute" => {
                let extents = self.extents(args.list()?)?;
                let f = args.function()?;
                let sources = self.sources(args)?;
                let f = self.index_function(f, extents.len(), sources[0])?;
                ArrayOp::Backpermute { extents, f, sources }
            }
            "transform" => {
                let extents = self.extents(args.list()?)?;
                let (index, f) = (args.function()?, args.function()?);
                let sources = self.sources(args)?;
                let index = self.index_function(index, extents.len(), sources[0])?;
                let f = self.function(f, &self.elements(&sources), wanted)?;
                ArrayOp::Transform { extents, index, f, sources }
            }
            "replicate" => ArrayOp::Replicate { dims: self.dims(args.list()?)?, sources: self.sources(args)? },
            "replicate_seg" => {
                known = &["offsets"];
                self.replicate_segments(args)?
            }
            "slice" => ArrayOp::Slice { dims: self.dims(args.list()?)?, sources: self.sources(args)? },
            "reshape" => ArrayOp::Reshape { extents: self.extents(args.list()?)?, sources: self.sources(args)? },
            "concat" => {
                let sources = self.sources(args)?;
                known = &["dim"];
                let dim = match args.labelled("dim") {
                    Some(argument) => {
                        let dim = self.integer(args.expr(argument)?, "`dim`")?;
                        usize::try_from(dim)
                            .map_err(|_| fault(argument.span, "dimensions count from 0, the outermost"))?
                    }
                    None if self.shape(sources[0]).rank > 1 => {
                        return Err(fault(operation.span, "`concat` needs `dim` from rank 2 on")
                            .help("`dim: 0` joins along the outermost dimension"));
                    }
                    None => 0,
                };
                ArrayOp::Concat { sources, dim }
            }
            "fold" | "fold1" | "fold_seg" | "fold1_seg" => {
                known = &["offsets", "commutes"];
                let seeded = !operation.name.text.starts_with("fold1");
                let (combine, seeds, sources) = self.combination(args, seeded)?;
                let offsets = self.offsets(args)?;
                ArrayOp::Fold { combine, seeds, sources, offsets, commutes: args.flag("commutes", self)? }
            }
            "permute" => {
                known = &["at", "keep", "unique", "ordered"];
                self.permute(args)?
            }
            "expand" => {
                let (size, get) = (args.function()?, args.function()?);
                let sources = self.sources(args)?;
                if wanted.len() == 1 {
                    return Err(fault(
                        args.operation.name.span,
                        "`expand` gives the number of elements that it makes, and then these",
                    )
                    .help("`let k: i64, y: [k]f32 = expand(…)`"));
                }
                let mut elements = self.elements(&sources);
                let size = self.function(size, &elements, &[I64])?;
                elements.push(I64);
                let get = self.function(get, &elements, wanted.get(1..).unwrap_or_default())?;
                ArrayOp::Expand { size, get, sources }
            }
            "permuted_expand" => {
                known = &["unique", "ordered"];
                self.permuted_expand(args)?
            }
            "filter" => {
                let keep = args.function()?;
                let sources = self.sources(args)?;
                if wanted.len() == sources.len() {
                    return Err(fault(
                        args.operation.name.span,
                        "`filter` gives the number of elements that it keeps, and then these",
                    )
                    .help("`let k: i64, y: [k]f32 = filter(…)`"));
                }
                let keep = self.function(keep, &self.elements(&sources), &[ElementType::Bool])?;
                ArrayOp::Filter { keep, sources }
            }
            "sort" => {
                known = &["carry"];
                let keys = args.next("an array")?;
                let keys = self.arrays(&args.group(keys)?)?;
                let carry = self.labelled_arrays(args, "carry")?.unwrap_or_default();
                ArrayOp::Sort { keys, carry }
            }
            "stencil" => self.stencil(args, wanted)?,
            "nest" => {
                let extents = self.extents(args.list()?)?;
                let body = self.block(args.function()?, Params::Indices(extents.len()), wanted)?;
                ArrayOp::Nest { extents, body }
            }
            "element" => {
                let source = args.next("an array of arrays")?;
                let source = self.value_named(args.expr(source)?)?;
                let index = args.rest()?.into_iter().map(|expr| self.operand(expr, I64)).collect::<Parsed<_>>()?;
                ArrayOp::Element { source, index }
            }
            "cond" => {
                let condition = args.next("a condition")?;
                let condition = self.operand(args.expr(condition)?, ElementType::Bool)?;
                let (then, otherwise) = (args.function()?, args.function()?);
                let then = self.part(|lower| lower.block(then, Params::Indices(0), wanted));
                let otherwise = self.part(|lower| lower.block(otherwise, Params::Indices(0), wanted));
                ArrayOp::Cond { condition, then: then?, otherwise: otherwise? }
            }
            "foreign" => {
                let name = args.string()?;
                let fallback = args.function()?;
                // The fallback sees nothing outside.
                let outside = std::mem::take(&mut self.names);
                let fallback = self.block(fallback, Params::Binding, wanted);
                self.names = outside;
                let fallback = fallback?;
                let types = self.elements(&fallback.params.iter().map(|var| var.id).collect::<Vec<_>>());
                let rest = args.rest()?;
                ArrayOp::Foreign { name, fallback, arguments: self.loose_operands(&rest, &types)? }
            }
            "consume" => {
                known = &["chunks"];
                self.consume(args)?
            }
            "cluster" => {
                known = &["order"];
                self.cluster(args)?
            }
            name => match scan(name) {
                Some((direction, form)) => {
                    known = &["offsets", "commutes"];
                    let (combine, seeds, sources) = self.combination(args, form != ScanForm::Inclusive)?;
                    let offsets = self.offsets(args)?;
                    let commutes = args.flag("commutes", self)?;
                    ArrayOp::Scan { direction, form, combine, seeds, sources, offsets, commutes }
                }
                None => {
                    let fault = fault(operation.name.span, format!("there is no operation `{}`", shown(name)));
                    let known = super::super::reference::OPERATIONS.iter().map(|operation| operation.name);
                    return Err(match closest(name, known) {
                        Some(near) => fault.help(format!("did you mean `{near}`?")),
                        None => fault,
                    });
                }
            },
        };
        arguments.finish(known)?;
        Ok(op)
    }

    /// The extents that the first result declares, as operands.
    fn declared_extents(&self, pattern: &[Pattern<'s>]) -> Parsed<Vec<Operand>> {
        let Some(ty) = pattern.first().and_then(|p| p.ty.as_ref()) else { return Ok(Vec::new()) };
        let extents = ty.extents.iter().map(|extent| match self.extent(*extent)? {
            Extent::Constant(value) => Ok(Operand::Constant(value.into())),
            Extent::Value(id) => Ok(Operand::Value(id)),
            Extent::Unknown => Err(fault(ty.span, "outer extents are known here")),
        });
        extents.collect()
    }

    /// Index to index.
    fn index_function(&mut self, f: &'a Function<'s>, from: usize, source: ArrayId) -> Parsed<crate::Lambda> {
        let rank = usize::from(self.shape(source).rank);
        self.function(f, &vec![I64; from], &vec![I64; rank])
    }

    fn replicate_segments(&mut self, args: &mut Arguments<'a, 's>) -> Parsed<ArrayOp> {
        let name = args.operation.name;
        let extents = self.extents(args.list()?)?;
        let [extent] = extents[..] else {
            return Err(fault(name.span, format!("`{}` makes a vector: it has one extent", name.text)));
        };
        let sources = self.sources(args)?;
        match self.offsets(args)? {
            Some(offsets) => Ok(ArrayOp::ReplicateSegments { extent, sources, offsets }),
            None => Err(fault(name.span, format!("`{}` needs `offsets: …`", name.text))),
        }
    }

    fn stencil(&mut self, args: &mut Arguments<'a, 's>, wanted: &[ElementType]) -> Parsed<ArrayOp> {
        let f = args.function()?;
        let exprs = self.exprs;
        let mut taps = Vec::new();
        let mut elements = Vec::new();
        for expr in args.rest()? {
            let Expr { kind: ExprKind::Read { array, index }, span } = &exprs[expr.0 as usize] else {
                return Err(fault(self.span(expr), "expected a tap").help("taps are written `u[-1, 0]`"));
            };
            let id = self.array(*array)?;
            let rank = usize::from(self.shape(id).rank);
            if index.len() != rank {
                return Err(fault(
                    *span,
                    format!("`{}` has rank {rank}, and {} offsets are given", shown(array.text), index.len()),
                ));
            }
            let offsets = index.iter().map(|e| self.integer(*e, "the offset of a tap")).collect::<Parsed<_>>()?;
            elements.push(self.shape(id).element);
            taps.push(Tap { array: id, offsets });
        }
        let mut boundaries: Vec<TapBoundary> = Vec::new();
        let f = self.function(f, &elements, wanted)?;
        for (word, argument) in args.take_labelled() {
            let array = self.array(word)?;
            if boundaries.iter().any(|other| other.array == array) {
                return Err(fault(word.span, format!("`{}` has two boundaries", shown(word.text))));
            }
            boundaries.push(TapBoundary { array, boundary: self.boundary(argument, array, args)? });
        }
        Ok(ArrayOp::Stencil { f, taps, boundaries })
    }

    fn boundary(&mut self, argument: &'a Argument<'s>, array: ArrayId, args: &Arguments<'a, 's>) -> Parsed<Boundary> {
        let shape = self.shape(array);
        match &argument.kind {
            ArgumentKind::Call(word, inner) if word.text == "constant" => {
                Ok(Boundary::Constant(self.operand(args.expr(inner)?, shape.element)?))
            }
            ArgumentKind::Call(_, inner) => match &inner.kind {
                ArgumentKind::Function(f) => {
                    Ok(Boundary::Function(self.function(f, &vec![I64; usize::from(shape.rank)], &[shape.element])?))
                }
                _ => {
                    Err(fault(inner.span, "expected a function of the index outside").help("`function(|i, j| f32(i))`"))
                }
            },
            ArgumentKind::Expr(expr) => match self.text(*expr) {
                "clamp" => Ok(Boundary::Clamp),
                "mirror" => Ok(Boundary::Mirror),
                "wrap" => Ok(Boundary::Wrap),
                _ => Err(self.no_boundary(argument.span)),
            },
            _ => Err(self.no_boundary(argument.span)),
        }
    }

    fn no_boundary(&self, span: Span) -> Box<Fault> {
        let fault = fault(span, format!("`{}` is no boundary", shown(span.text(self.source))));
        match closest(span.text(self.source), ["clamp", "mirror", "wrap"].into_iter()) {
            Some(near) => fault.help(format!("did you mean `{near}`?")),
            None => fault.help("boundaries are clamp, mirror, wrap, constant(0.0), function(|i| …)"),
        }
    }

    /// Extents and elements of nested lists.
    fn constant(
        &self,
        argument: &Argument<'s>,
        element: ElementType,
        args: &Arguments<'a, 's>,
    ) -> Parsed<(Vec<i64>, Vec<Constant>)> {
        let ArgumentKind::List(items) = &argument.kind else {
            return Ok((Vec::new(), vec![self.literal(args.expr(argument)?, Some(element))?]));
        };
        let mut extents = Vec::new();
        let mut level = items;
        loop {
            extents.push(level.len() as i64);
            match level.first() {
                Some(Item::List(inner, _)) => level = inner,
                _ => break,
            }
        }
        let mut values = Vec::new();
        self.constant_level(items, &extents, element, argument.span, &mut values)?;
        Ok((extents, values))
    }

    fn constant_level(
        &self,
        items: &[Item],
        extents: &[i64],
        element: ElementType,
        span: Span,
        values: &mut Vec<Constant>,
    ) -> Parsed<()> {
        if items.len() as i64 != extents[0] {
            return Err(fault(
                span,
                format!("rows of a constant are equally long: this has {}, the first {}", items.len(), extents[0]),
            ));
        }
        for item in items {
            match item {
                Item::Expr(expr) if extents.len() == 1 => values.push(self.literal(*expr, Some(element))?),
                Item::List(inner, span) if extents.len() > 1 => {
                    self.constant_level(inner, &extents[1..], element, *span, values)?;
                }
                Item::Expr(expr) => return Err(fault(self.span(*expr), "expected a row in brackets, as those before")),
                Item::List(_, span) => return Err(fault(*span, "expected a literal, as those before")),
                Item::Keep(span) => return Err(fault(*span, "expected a literal")),
            }
        }
        Ok(())
    }
}
