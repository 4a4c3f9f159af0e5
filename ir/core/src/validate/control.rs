//! Operations that hold blocks: nest, element, cond, while, foreign, cluster.

use std::collections::{HashMap, HashSet};

use super::{
    ProgramFault,
    context::{PathStep, Validator},
    operation::Wants,
    types::Want,
};
use crate::{
    ArrayId, ArrayOp, Binding, Block, ClusterMark, ElementType, Extent, Mark, Operand, Order,
    analysis::{Size, Sizes},
};

impl<'p> Validator<'p> {
    pub fn nest(&mut self, extents: &[Operand], body: &'p Block) -> Wants {
        let extents = self.extents(extents);
        let params = vec![Some(Want::scalar(ElementType::I64)); extents.len()];
        let mut results = Vec::new();
        self.repeats += 1;
        self.block("body", body, &params, false, &mut |v, given| {
            v.at_least("results of the block", given.len(), 1);
            results = given.to_vec();
        });
        self.repeats -= 1;
        vec![
            results
                .into_iter()
                .map(|given| {
                    let given = given?;
                    let levels = [given.extents].into_iter().chain(given.inner);
                    let inner = levels.filter(|level| !level.is_empty()).collect();
                    Some(Want { inner, ..Want::array(extents.clone(), given.element) })
                })
                .collect(),
        ]
    }

    pub fn element(&mut self, binding: &'p Binding, source: ArrayId, index: &[Operand]) -> Wants {
        for (dim, operand) in index.iter().enumerate() {
            self.within(PathStep::Item("index", dim), |v| {
                v.scalar_of(operand, ElementType::I64, &|| format!("index {dim}"));
            });
        }
        let ty = self.within(PathStep::Field("source"), |v| v.use_value(source, false, &|| "the source".to_owned()));
        let Some(ty) = ty else { return Vec::new() };
        let Some((level, inner)) = ty.inner.split_first() else {
            let (what, value) = ("the source".to_owned(), self.name(source));
            let ty = self.show(ty);
            self.report(ProgramFault::NotNested { what, value, ty });
            return Vec::new();
        };
        self.count("indices", index.len(), ty.rank());
        let mut sizes = binding.results.iter().map(|var| Some(Sizes::unknown(var.id)));
        let extents: Vec<Option<Size>> = level
            .iter()
            .map(|&extent| if extent == Extent::Unknown { sizes.next().flatten() } else { self.size(extent) })
            .collect();
        let unknown = level.iter().filter(|extent| **extent == Extent::Unknown).count();
        let mut wants = vec![Some(Want::scalar(ElementType::I64)); unknown];
        let inner = inner.iter().map(|level| self.all_sizes(level)).collect();
        wants.push(Some(Want { inner, ..Want::array(extents, ty.element) }));
        vec![wants]
    }

    pub fn cond(&mut self, condition: &Operand, then: &'p Block, otherwise: &'p Block) -> Wants {
        self.within(PathStep::Field("condition"), |v| {
            v.scalar_of(condition, ElementType::Bool, &|| "the condition".to_owned());
        });
        let mut wants = Wants::new();
        for (field, branch) in [("then", then), ("otherwise", otherwise)] {
            self.block(field, branch, &[], false, &mut |v, given| {
                v.at_least("results of the block", given.len(), 1);
                wants.push(given.to_vec());
            });
        }
        if let [first, second] = &wants[..]
            && first.len() != second.len()
        {
            let (found, expected) = (second.len(), first.len());
            self.count("results of the second branch", found, expected);
            wants.pop();
        }
        wants
    }

    pub fn repeat(&mut self, condition: &'p Block, step: &'p Block, starts: &[Operand]) -> Wants {
        self.at_least("starts", starts.len(), 1);
        let state = self.arguments("starts", "start", starts);
        self.repeats += 1;
        self.block("condition", condition, &state, false, &mut |v, given| {
            v.given_are(given, &[Some(Want::scalar(ElementType::Bool))], "results of the condition");
        });
        let mut next = Vec::new();
        self.block("step", step, &state, false, &mut |v, given| {
            if v.count("results of the step", given.len(), state.len()) {
                v.agree_all(&step.params, given, "state");
                next = given.to_vec();
            }
        });
        self.repeats -= 1;
        let mut wants = vec![state];
        if next.len() == starts.len() {
            wants.push(next);
        }
        wants
    }

    /// Starts of a loop, arguments of a function: arrays or scalars.
    pub fn arguments(&mut self, field: &'static str, one: &'static str, arguments: &[Operand]) -> Vec<Option<Want>> {
        arguments
            .iter()
            .enumerate()
            .map(|(position, argument)| {
                if let Operand::Value(id) = argument {
                    let what = || format!("{one} {position}");
                    self.within(PathStep::Item(field, position), |v| v.use_value(*id, false, &what))?;
                }
                self.want_operand(argument)
            })
            .collect()
    }

    /// Whether scalars that a block gives are those wanted.
    pub fn given_are(&mut self, given: &[Option<Want>], expected: &[Option<Want>], what: &str) {
        if self.count(what, given.len(), expected.len()) {
            for (given, expected) in given.iter().zip(expected) {
                if let (Some(given), Some(expected)) = (given, expected) {
                    self.same_kind(given, expected, &|| format!("one of the {what}"));
                }
            }
        }
    }

    pub fn foreign(&mut self, fallback: &'p Block, arguments: &[Operand]) -> Wants {
        let given = self.arguments("arguments", "argument", arguments);
        let types: HashMap<ArrayId, &crate::Type> = arguments
            .iter()
            .filter_map(|argument| match argument {
                Operand::Value(id) => Some((*id, self.type_of(*id)?)),
                Operand::Constant(_) => None,
            })
            .collect();
        self.sizes.enter_fallback(fallback, arguments, &|id| types.get(&id).copied());
        let mut wants = Wants::new();
        self.in_fallback(|v| {
            v.block("fallback", fallback, &given, true, &mut |v, results| {
                v.at_least("results of the block", results.len(), 1);
                wants.push(results.to_vec());
            });
        });
        wants
    }

    pub fn cluster(&mut self, body: &'p Block, marks: &[ClusterMark], order: Order) -> Wants {
        let outside = std::mem::replace(&mut self.in_cluster, true);
        let mut wants = Wants::new();
        self.block("body", body, &[], false, &mut |v, results| {
            v.at_least("bindings of the cluster", body.bindings.len(), 1);
            v.at_least("results of the block", results.len(), 1);
            wants.push(results.to_vec());
        });
        self.in_cluster = outside;
        if self.stopped() {
            return wants;
        }
        if self.count("marks", marks.len(), body.bindings.len()) {
            self.marks(body, marks);
        }
        let backpermutes: HashSet<ArrayId> = body
            .bindings
            .iter()
            .filter(|binding| {
                matches!(
                    binding.op,
                    ArrayOp::Backpermute { .. }
                        | ArrayOp::Transform { .. }
                        | ArrayOp::Replicate { .. }
                        | ArrayOp::ReplicateSegments { .. }
                        | ArrayOp::Slice { .. }
                )
            })
            .filter_map(|binding| binding.results.first().map(|var| var.id))
            .collect();
        for order in marks.iter().filter_map(|mark| mark.order).chain([order]) {
            if let Order::Of(id) = order
                && !backpermutes.contains(&id)
            {
                let value = format!("`{}`", self.name(id));
                self.report(ProgramFault::ClusterOrder { value });
            }
        }
        wants
    }

    fn marks(&mut self, body: &'p Block, marks: &[ClusterMark]) {
        let results: HashSet<ArrayId> = body.results.iter().copied().collect();
        let mut used: HashSet<ArrayId> = HashSet::new();
        let last = body.bindings.len().saturating_sub(1);
        let mut wrong = Vec::new();
        for (position, (binding, mark)) in body.bindings.iter().zip(marks).enumerate().rev() {
            let is_result = binding.results.iter().any(|var| results.contains(&var.id));
            let is_used = binding.results.iter().any(|var| used.contains(&var.id));
            let value = || binding.results.first().map_or(String::new(), |var| self.name(var.id));
            let expected = match (is_used, is_result) {
                _ if position == last => Mark::Last,
                (true, false) => Mark::Vertical,
                (true, true) => Mark::Diagonal,
                (false, true) => Mark::Horizontal,
                (false, false) => {
                    wrong.push((position, ProgramFault::Unused { value: value() }));
                    mark.mark
                }
            };
            if position == last && !is_result {
                wrong.push((position, ProgramFault::Unused { value: value() }));
            } else if mark.mark != expected {
                let (found, expected) = (mark_name(mark.mark), mark_meaning(expected));
                wrong.push((position, ProgramFault::Mark { value: value(), found, expected }));
            }
            binding.op.for_each_use(&mut |id| _ = used.insert(id));
            binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| _ = used.insert(id)));
        }
        for (position, fault) in wrong.into_iter().rev() {
            self.within(PathStep::Item("marks", position), |v| v.report(fault));
        }
    }
}

fn mark_name(mark: Mark) -> &'static str {
    match mark {
        Mark::Vertical => "vertical",
        Mark::Diagonal => "diagonal",
        Mark::Horizontal => "horizontal",
        Mark::Last => "last",
    }
}

fn mark_meaning(mark: Mark) -> &'static str {
    match mark {
        Mark::Vertical => "used inside and no result: vertical",
        Mark::Diagonal => "both used inside and a result: diagonal",
        Mark::Horizontal => "a result only: horizontal",
        Mark::Last => "the last of the cluster",
    }
}
