//! Neighbouring points of the innermost level by one thread: a statement of all of them after the other. What lies together in memory is loaded and stored
//! by one access, where it is aligned and the points are in one row; elsewhere points are taken one by one.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use fusebox_ir::{Action, ElementType, KernelArrayId, LocalId, ScalarOperand, Statement, StatementPart};
use fusebox_schedule::grid::contiguous;

use super::around;
use crate::{
    emit::{Axis, Emitter, Result, place},
    text::Reg,
    value::Val,
};

/// A load or store of neighbouring elements: its statement, its array, and the address of the first of them.
struct Access {
    position: usize,
    array: KernelArrayId,
    address: Reg,
}

/// All points, `items` at a time.
pub(super) fn points<'k>(
    e: &mut Emitter<'k>,
    axes: &[Axis],
    (thread, stride, points): (Val, Val, Val),
    inner: Range<usize>,
    items: u32,
) -> Result {
    let levels = axes.len();
    let items = i64::from(items);
    let groups = e.pieces(points, items);
    e.stride_up(thread, groups, stride, |e, group| {
        let first = e.c.mul(group, items.into());
        e.enter_all(axes, first);
        let inside = around(e, 1..levels, inner.clone())?;
        let accesses = accesses(e, levels, inside.clone())?;
        let together = are_together(e, axes, &accesses, items)?;
        let (single, behind) = (e.c.label(), e.c.label());
        e.c.op(format_args!("@!{together} bra {single}"));
        at_once(e, axes, &accesses, inside, items as usize)?;
        e.c.op(format_args!("bra {behind}"));
        e.c.place(single);
        let end = e.c.add(first, items.into());
        let (x, y) = (e.c.text(end), e.c.text(points));
        let end = e.c.make(ElementType::I64, "min.s64", &[&x, &y]);
        e.stride_up(first, end, 1i64.into(), |e, point| {
            e.enter_all(axes, point);
            let inside = around(e, 1..levels, inner)?;
            e.depth(levels, inside)
        })?;
        e.c.place(behind);
        Ok(())
    })
}

fn accesses(e: &mut Emitter<'_>, levels: usize, inside: Range<usize>) -> Result<Vec<Access>> {
    let kernel = e.kernel;
    let mut accesses = Vec::new();
    for position in inside {
        let Some((array, map)) = contiguous(kernel, levels, &kernel.statements[position]) else { continue };
        let first = e.position_of(array, map)?;
        accesses.push(Access { position, array, address: e.element(array, first)? });
    }
    Ok(accesses)
}

/// Whether the points are in one row, and all accesses are aligned.
fn are_together(e: &mut Emitter<'_>, axes: &[Axis], accesses: &[Access], items: i64) -> Result<Reg> {
    let Some(axis) = axes.last() else { return Err(e.broken("points of no level")) };
    let index = e.local(e.kernel.levels[axis.level].index.id)?;
    let step = e.c.sub(index, axis.from);
    let end = e.c.add(step, items.into());
    let inside = e.c.compare("le", end, axis.steps);
    let mut crooked: Option<String> = None;
    for access in accesses {
        let bytes = e.kernel.arrays[access.array.index()].element.bytes() as i64;
        let low =
            e.c.make(ElementType::I64, "and.b64", &[&access.address.to_string(), &(bytes * items - 1).to_string()]);
        let low = e.c.text(low);
        crooked = Some(match crooked {
            None => low,
            Some(before) => {
                let both = e.c.make(ElementType::I64, "or.b64", &[&before, &low]);
                e.c.text(both)
            }
        });
    }
    let Some(crooked) = crooked else { return Ok(inside) };
    let straight = e.c.test("setp.eq.u64", &[&crooked, "0"]);
    Ok(e.c.both(inside, straight))
}

/// The locals that a statement reads itself; none where functions inside of it read some.
pub(super) fn reads(statement: &Statement) -> Option<Vec<LocalId>> {
    let mut locals: Vec<LocalId> = Vec::new();
    if let Some(ScalarOperand::Local(id)) = statement.when {
        locals.push(id);
    }
    for part in statement.parts() {
        match part {
            StatementPart::Operand(ScalarOperand::Local(id)) => locals.push(*id),
            StatementPart::Index(id) => locals.push(*id),
            StatementPart::Body(_) => return None,
            StatementPart::Operand(_) | StatementPart::Array(..) | StatementPart::Result(_) => {}
        }
    }
    Some(locals)
}

/// The statements of neighbouring points.
fn at_once(e: &mut Emitter<'_>, axes: &[Axis], accesses: &[Access], inside: Range<usize>, items: usize) -> Result {
    let kernel = e.kernel;
    let Some(axis) = axes.last() else { return Err(e.broken("points of no level")) };
    let index = kernel.levels[axis.level].index.id;
    let first = e.local(index)?;
    let around = e.locals.clone();
    let mut points: Vec<BTreeMap<LocalId, Val>> = vec![around.clone(); items];
    for (number, point) in (0i64..).zip(&mut points).skip(1) {
        point.insert(index, e.c.add(first, number.into()));
    }
    // Locals that are not the same at all points.
    let mut varying = BTreeSet::from([index]);
    for position in inside {
        let statement = &kernel.statements[position];
        if let Some(access) = accesses.iter().find(|access| access.position == position) {
            let ty = kernel.arrays[access.array.index()].element;
            match &statement.action {
                Action::Load { result, .. } => {
                    varying.insert(result.id);
                    let values = e.load_together("global", ty, (access.address, 0), items);
                    for (point, value) in points.iter_mut().zip(values) {
                        point.insert(result.id, value);
                    }
                }
                Action::Store { value, .. } => {
                    let mut values = Vec::new();
                    for point in &points {
                        e.locals.clone_from(point);
                        values.push(e.operand(*value)?);
                    }
                    e.store_together(access.address, &values);
                }
                _ => return Err(e.broken("neighbours of what is no load or store")),
            }
            continue;
        }
        let effect = matches!(statement.action, Action::Store { .. });
        let same = !effect && reads(statement).is_some_and(|reads| reads.iter().all(|local| !varying.contains(local)));
        if same {
            std::mem::swap(&mut e.locals, &mut points[0]);
            e.statement(position)?;
            std::mem::swap(&mut e.locals, &mut points[0]);
            for result in statement.results() {
                let value = points[0].get(&result.id).copied();
                points.iter_mut().skip(1).for_each(|point| {
                    value.map(|value| point.insert(result.id, value));
                });
            }
            continue;
        }
        varying.extend(statement.results().iter().map(|result| result.id));
        for point in &mut points {
            std::mem::swap(&mut e.locals, point);
            e.statement(position)?;
            std::mem::swap(&mut e.locals, point);
        }
    }
    e.locals = around;
    Ok(())
}

impl Emitter<'_> {
    /// So many neighbouring elements, by one access of a space, so many bytes behind an address.
    pub(super) fn load_together(
        &mut self,
        space: &str,
        ty: ElementType,
        (address, offset): (Reg, u64),
        count: usize,
    ) -> Vec<Val> {
        if count == 1 {
            return vec![self.load_from(space, ty, address, offset)];
        }
        let held = if ty == ElementType::Bool { ElementType::U8 } else { ty };
        let registers: Vec<Reg> = (0..count).map(|_| self.c.reg(crate::text::Class::of(held))).collect();
        let list: Vec<String> = registers.iter().map(ToString::to_string).collect();
        let stored = crate::emit::stored(ty);
        self.c.op(format_args!("ld.{space}.v{count}.{stored} {{{}}}, {}", list.join(", "), place(address, offset)));
        let value = |reg: Reg| match ty {
            ElementType::Bool => Val::new(ty, self.c.test("setp.ne.u32", &[&reg.to_string(), "0"])),
            _ => Val::new(ty, reg),
        };
        registers.into_iter().map(value).collect()
    }

    /// Neighbouring elements, by one access.
    fn store_together(&mut self, address: Reg, values: &[Val]) {
        let Some(ty) = values.first().map(|value| value.ty) else { return };
        let list: Vec<String> = (values.iter())
            .map(|&value| {
                let held = if ty == ElementType::Bool { self.c.convert(ElementType::U8, value) } else { value };
                self.c.in_reg(held).to_string()
            })
            .collect();
        let stored = crate::emit::stored(ty);
        self.c.op(format_args!("st.global.v{}.{stored} [{address}], {{{}}}", values.len(), list.join(", ")));
    }
}
