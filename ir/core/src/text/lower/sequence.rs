//! `consume` with its sinks, and `cluster` with its marks and orders.

use super::{
    arguments::Arguments,
    block::{Flavour, Params},
    *,
};
use crate::{ArrayOp, ClusterMark, Order, Sink};

/// The `order:` of one binding of a cluster; a stencil may have a boundary of an array of that name.
pub(super) fn binding_order<'a, 's>(operation: &'a Operation<'s>) -> Option<&'a Argument<'s>> {
    let (_, argument) = operation.labelled.iter().find(|(word, _)| word.text == "order")?;
    let boundary = matches!(argument.kind, ArgumentKind::Call(..));
    (!boundary && operation.name.text != "cluster").then_some(argument)
}

impl<'a, 's> Lower<'a, 's> {
    pub(super) fn consume(&mut self, args: &mut Arguments<'a, 's>) -> Parsed<ArrayOp> {
        let limit = match args.peek().map(|argument| &argument.kind) {
            Some(ArgumentKind::List(_)) => {
                let span = args.operation.span;
                match self.extents(args.list()?)?[..] {
                    [limit] => Some(limit),
                    _ => return Err(fault(span, "`consume` has one limit")),
                }
            }
            _ => None,
        };
        let function = args.function()?;
        let streams = self.arrays(&args.rest()?)?;
        let chunks = args.flag("chunks", self)?;
        if matches!(function.body.end, End::Broken) {
            return Err(follow_up());
        }
        let End::Yield(yielded) = &function.body.end else {
            return Err(fault(function.body.span, "the body of a `consume` ends with `yield`")
                .help("`yield elements(s)`, or tabulate, stream_out, accumulate"));
        };
        self.names.open();
        let mut body = self.open_block(function, if chunks { Params::Binding } else { Params::Stepping })?;
        self.statements(&function.body.statements, Flavour::Block, &mut body.bindings)?;
        // First what the sinks take, in this scope; then their functions, which see nothing of the body.
        let mut open = Vec::with_capacity(yielded.len());
        for operation in yielded {
            let mut args = Arguments::new(operation);
            let accumulated = match operation.name.text {
                "accumulate" => {
                    let f = args.function()?;
                    let rest = args.rest()?;
                    let seeds = match &f.body.end {
                        End::Return(items) => items.len(),
                        End::Broken => return Err(follow_up()),
                        _ => return Err(fault(f.body.span, "the function of `accumulate` ends with `return`")),
                    };
                    if rest.len() <= seeds {
                        return Err(fault(
                            operation.span,
                            "`accumulate` takes a function, as many seeds as it returns, and arrays",
                        ));
                    }
                    let count = rest.len() - seeds;
                    body.results.extend(self.arrays(&rest[seeds..])?);
                    Some((f, count, rest[..seeds].to_vec()))
                }
                "elements" | "tabulate" | "stream_out" => {
                    let arrays = self.sources(&mut args)?;
                    // Of a chunk, extents and values.
                    let most = if chunks { 2 } else { 1 };
                    if operation.name.text != "elements" && !(1..=most).contains(&arrays.len()) {
                        let what = if chunks { "extents and values" } else { "one array" };
                        return Err(fault(operation.span, format!("`{}` takes {what}", operation.name.text)));
                    }
                    body.results.extend(&arrays);
                    None
                }
                name => {
                    let fault = fault(operation.name.span, format!("there is no sink `{}`", shown(name)));
                    let sinks = ["elements", "tabulate", "stream_out", "accumulate"];
                    return Err(match closest(name, sinks.into_iter()) {
                        Some(near) => fault.help(format!("did you mean `{near}`?")),
                        None => fault.help("sinks are elements, tabulate, stream_out, accumulate"),
                    });
                }
            };
            args.finish(&[])?;
            open.push((operation, accumulated));
        }
        self.names.close();
        let mut sinks = Vec::with_capacity(open.len());
        for (operation, accumulated) in open {
            sinks.push(match (operation.name.text, accumulated) {
                (_, Some((f, count, seeds))) => {
                    let f = self.block(f, Params::Binding, &[])?;
                    let types = self.elements(&f.params.iter().map(|var| var.id).collect::<Vec<_>>());
                    Sink::Accumulate { count, f, seeds: self.loose_operands(&seeds, &types)? }
                }
                ("tabulate", _) => Sink::Tabulate,
                ("stream_out", _) => Sink::StreamOut,
                _ => Sink::Elements { count: operation.arguments.len() },
            });
        }
        Ok(ArrayOp::Consume { limit, body, sinks, streams, chunks })
    }

    pub(super) fn cluster(&mut self, args: &mut Arguments<'a, 's>) -> Parsed<ArrayOp> {
        let function = args.function()?;
        self.names.open();
        let mut body = self.open_block(function, Params::Indices(0))?;
        self.statements(&function.body.statements, Flavour::Cluster, &mut body.bindings)?;
        body.results = self.block_results(&function.body, &[], None)?;
        // Orders may name a binding further down, so they are read at the end.
        let mut marks = Vec::with_capacity(body.bindings.len());
        for statement in &function.body.statements {
            let argument = match &statement.value {
                Value::Operation(operation) => binding_order(operation),
                Value::Scalar { .. } | Value::Broken => None,
            };
            let order = argument.map(|argument| self.order(argument, args)).transpose()?;
            marks.push(ClusterMark { mark: statement.mark.unwrap_or(crate::Mark::Last), order });
        }
        let order = args.labelled("order").map(|argument| self.order(argument, args)).transpose()?.unwrap_or_default();
        self.names.close();
        Ok(ArrayOp::Cluster { body, marks, order })
    }

    fn order(&self, argument: &Argument<'s>, args: &Arguments<'a, 's>) -> Parsed<Order> {
        let expr = args.expr(argument)?;
        match self.text(expr) {
            "ascending" => Ok(Order::Ascending),
            "descending" => Ok(Order::Descending),
            _ => Ok(Order::Of(self.value_named(expr)?)),
        }
    }
}
