//! Bindings: patterns, operations, their arguments.

use super::{Out, Printer};
use crate::{ArrayId, ArrayOp, Binding, Boundary, Constant, Lambda, Mark, Operand, Order, PermuteOrder, Sink, Var};

impl Printer {
    /// One statement. `word` is `let` or a mark, `order` what a cluster says of this binding.
    pub(super) fn binding(&self, binding: &Binding, word: &str, order: &str) -> Out {
        let mut out = Out::new(format!("{word} "));
        if let ArrayOp::Unit { f } = &binding.op
            && order.is_empty()
            && let Some(expression) = self.unit(f, binding.results.len())
        {
            let names: Vec<_> = binding.results.iter().map(|var| self.name(var.id)).collect();
            out.text(&format!("{} = ", names.join(", ")));
            out.append(expression);
            return out;
        }
        out.text(&self.typed_names(&binding.results));
        out.text(" = ");
        self.operation(binding, order, &mut out);
        out
    }

    fn operation(&self, binding: &Binding, order: &str, out: &mut Out) {
        let op = &binding.op;
        out.text(op.name());
        out.text("(");
        let mut list = Arguments { out, empty: true };
        match op {
            ArrayOp::Constant { extents, values } => list.text(&constant(extents, values)),
            ArrayOp::Unit { f } => list.function(self, f),
            ArrayOp::Compute { sources } => list.text(&self.names(sources)),
            ArrayOp::Generate { extents, f } => {
                list.text(&self.extent_list(extents));
                list.function(self, f);
            }
            ArrayOp::Map { f, sources } => {
                list.function(self, f);
                list.text(&self.names(sources));
            }
            ArrayOp::Backpermute { extents, f, sources } => {
                list.text(&self.extent_list(extents));
                list.function(self, f);
                list.text(&self.names(sources));
            }
            ArrayOp::Transform { extents, index, f, sources } => {
                list.text(&self.extent_list(extents));
                list.function(self, index);
                list.function(self, f);
                list.text(&self.names(sources));
            }
            ArrayOp::Replicate { dims, sources } | ArrayOp::Slice { dims, sources } => {
                let dims: Vec<_> =
                    dims.iter().map(|d| d.as_ref().map_or("_".to_owned(), |d| self.operand(d))).collect();
                list.text(&format!("[{}]", dims.join(", ")));
                list.text(&self.names(sources));
            }
            ArrayOp::Reshape { extents, sources } => {
                list.text(&self.extent_list(extents));
                list.text(&self.names(sources));
            }
            ArrayOp::ReplicateSegments { extent, sources, offsets } => {
                list.text(&self.extent_list(std::slice::from_ref(extent)));
                list.text(&self.names(sources));
                list.text(&format!("offsets: {}", self.name(*offsets)));
            }
            ArrayOp::Concat { sources, dim } => {
                list.text(&self.names(sources));
                list.text(&format!("dim: {dim}"));
            }
            ArrayOp::Fold { combine, seeds, sources, offsets, commutes }
            | ArrayOp::Scan { direction: _, form: _, combine, seeds, sources, offsets, commutes } => {
                list.function(self, combine);
                seeds.iter().for_each(|seed| list.text(&self.operand(seed)));
                list.text(&self.names(sources));
                offsets.iter().for_each(|id| list.text(&format!("offsets: {}", self.name(*id))));
                list.flag("commutes", *commutes);
            }
            ArrayOp::Permute { combine, defaults, values, targets, keep, order } => {
                list.function(self, combine);
                list.text(&self.group(defaults));
                list.text(&self.group(values));
                list.text(&format!("at: {}", self.group(targets)));
                keep.iter().for_each(|id| list.text(&format!("keep: {}", self.name(*id))));
                list.permute_order(*order);
            }
            ArrayOp::Expand { size, get, sources } => {
                list.function(self, size);
                list.function(self, get);
                list.text(&self.names(sources));
            }
            ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order } => {
                list.function(self, size);
                list.function(self, get);
                list.function(self, combine);
                list.text(&self.group(defaults));
                list.text(&self.names(sources));
                list.permute_order(*order);
            }
            ArrayOp::Filter { keep, sources } => {
                list.function(self, keep);
                list.text(&self.names(sources));
            }
            ArrayOp::Sort { keys, carry } => {
                list.text(&self.group(keys));
                if !carry.is_empty() {
                    list.text(&format!("carry: {}", self.group(carry)));
                }
            }
            ArrayOp::Stencil { f, taps, boundaries } => {
                list.function(self, f);
                for tap in taps {
                    let offsets: Vec<_> = tap.offsets.iter().map(i64::to_string).collect();
                    list.text(&format!("{}[{}]", self.name(tap.array), offsets.join(", ")));
                }
                for boundary in boundaries {
                    list.text(&format!("{}: ", self.name(boundary.array)));
                    match &boundary.boundary {
                        Boundary::Clamp => list.out.text("clamp"),
                        Boundary::Mirror => list.out.text("mirror"),
                        Boundary::Wrap => list.out.text("wrap"),
                        Boundary::Constant(value) => list.out.text(&format!("constant({})", self.operand(value))),
                        Boundary::Function(f) => {
                            list.out.text("function(");
                            list.out.append(self.function(f));
                            list.out.text(")");
                        }
                    }
                }
            }
            ArrayOp::Nest { extents, body } => {
                list.text(&self.extent_list(extents));
                let names: Vec<_> = body.params.iter().map(|var| self.name(var.id)).collect();
                list.body(&names.join(", "), self.statements(body));
            }
            ArrayOp::Element { source, index } => {
                list.text(&self.name(*source));
                index.iter().for_each(|index| list.text(&self.operand(index)));
            }
            ArrayOp::Cond { condition, then, otherwise } => {
                list.text(&self.operand(condition));
                list.body("", self.statements(then));
                list.body("", self.statements(otherwise));
            }
            ArrayOp::While { condition, step, starts } => {
                list.body(&self.typed_names(&condition.params), self.statements(condition));
                list.body(&self.typed_names(&step.params), self.statements(step));
                starts.iter().for_each(|start| list.text(&self.loose(start)));
            }
            ArrayOp::Foreign { name, fallback, arguments } => {
                list.text(&Self::quoted(name));
                list.body(&self.typed_names(&fallback.params), self.statements(fallback));
                arguments.iter().for_each(|argument| list.text(&self.loose(argument)));
            }
            ArrayOp::Consume { limit, body, sinks, streams, chunks } => {
                limit.iter().for_each(|limit| list.text(&self.extent_list(&[*limit])));
                let params = match &body.params[..] {
                    [index, rest @ ..] if !chunks => {
                        let rest = self.typed_names(rest);
                        format!("{}{}{rest}", self.name(index.id), if rest.is_empty() { "" } else { ", " })
                    }
                    params => self.typed_names(params),
                };
                let mut statements = self.bindings(&body.bindings);
                statements.push(self.sinks(sinks, &binding.results, &body.results, *chunks));
                list.body(&params, statements);
                list.text(&self.names(streams));
                list.flag("chunks", *chunks);
            }
            ArrayOp::Cluster { body, marks, order } => {
                let statements = body.bindings.iter().enumerate().map(|(position, binding)| {
                    let mark = marks.get(position);
                    let word = match mark.map(|mark| mark.mark) {
                        Some(Mark::Vertical) => "vertical",
                        Some(Mark::Diagonal) => "diagonal",
                        Some(Mark::Horizontal) => "horizontal",
                        Some(Mark::Last) | None => "last",
                    };
                    let order = mark.and_then(|mark| mark.order).map_or(String::new(), |order| self.order(order));
                    self.binding(binding, word, &order)
                });
                let mut statements: Vec<_> = statements.collect();
                statements.push(super::returned(&self.names(&body.results)));
                list.body("", statements);
                if *order != Order::Ascending {
                    list.text(&format!("order: {}", self.order(*order)));
                }
            }
        }
        if !order.is_empty() {
            list.text(&format!("order: {order}"));
        }
        out.text(")");
    }

    fn extent_list(&self, extents: &[Operand]) -> String {
        let extents: Vec<_> = extents.iter().map(|extent| self.operand(extent)).collect();
        format!("[{}]", extents.join(", "))
    }

    fn order(&self, order: Order) -> String {
        match order {
            Order::Ascending => "ascending".to_owned(),
            Order::Descending => "descending".to_owned(),
            Order::Of(id) => self.name(id),
        }
    }

    /// `yield elements(s), …`; `given` are what the sinks take, `results` what they give, one after the other.
    fn sinks(&self, sinks: &[Sink], results: &[Var], given: &[ArrayId], chunks: bool) -> Out {
        let mut out = Out::new("yield ");
        let (mut results, mut given) = (results, given);
        for (position, sink) in sinks.iter().enumerate() {
            out.text(if position == 0 { "" } else { ", " });
            let (taken, rest) = given.split_at(sink.takes(results, chunks).min(given.len()));
            given = rest;
            results = results.get(sink.gives(results)..).unwrap_or_default();
            let taken = self.names(taken);
            match sink {
                Sink::Elements { .. } => out.text(&format!("elements({taken})")),
                Sink::Tabulate => out.text(&format!("tabulate({taken})")),
                Sink::StreamOut => out.text(&format!("stream_out({taken})")),
                Sink::Accumulate { count: _, f, seeds } => {
                    out.text("accumulate(");
                    let mut list = Arguments { out: &mut out, empty: true };
                    list.body(&self.typed_names(&f.params), self.statements(f));
                    seeds.iter().for_each(|seed| list.text(&self.loose(seed)));
                    list.text(&taken);
                    out.text(")");
                }
            }
        }
        out
    }
}

/// Arguments with commas between them.
struct Arguments<'o> {
    out: &'o mut Out,
    empty: bool,
}

impl Arguments<'_> {
    fn comma(&mut self) {
        self.out.text(if self.empty { "" } else { ", " });
        self.empty = false;
    }

    /// An argument, or several with commas between them; nothing where it is empty.
    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.comma();
            self.out.text(text);
        }
    }

    fn function(&mut self, printer: &Printer, f: &Lambda) {
        self.comma();
        self.out.append(printer.function(f));
    }

    fn body(&mut self, params: &str, statements: Vec<Out>) {
        self.comma();
        self.out.text(&format!("|{params}| "));
        self.out.block(statements);
    }

    fn flag(&mut self, name: &str, set: bool) {
        if set {
            self.text(&format!("{name}: true"));
        }
    }

    fn permute_order(&mut self, order: PermuteOrder) {
        self.flag("unique", order == PermuteOrder::Unique);
        self.flag("ordered", order == PermuteOrder::Ordered);
    }
}

/// `[[1, 2], [3, 4]]`, or a literal for rank 0.
fn constant(extents: &[i64], values: &[Constant]) -> String {
    let mut text = String::new();
    level(extents, values, &mut text);
    text
}

fn level(extents: &[i64], values: &[Constant], text: &mut String) {
    let Some((extent, inner)) = extents.split_first() else {
        if let Some(value) = values.first() {
            text.push_str(&super::scalar::bare(*value));
        }
        return;
    };
    let rows = usize::try_from(*extent).unwrap_or(0);
    let stride = values.len().checked_div(rows).unwrap_or(0);
    text.push('[');
    for row in 0..rows {
        text.push_str(if row == 0 { "" } else { ", " });
        level(inner, values.get(row * stride..(row + 1) * stride).unwrap_or_default(), text);
    }
    text.push(']');
}
