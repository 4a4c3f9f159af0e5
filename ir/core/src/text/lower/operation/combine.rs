//! Operations that combine elements: folds and scans of rows, and permutes, also those of elements that are expanded first.

use super::*;
use crate::{Direction, PermuteOrder};

impl<'a, 's> Lower<'a, 's> {
    /// A combining function, seeds and sources.
    pub(super) fn combination(
        &mut self,
        args: &mut Arguments<'a, 's>,
        seeded: bool,
    ) -> Parsed<(crate::Lambda, Vec<Operand>, Vec<ArrayId>)> {
        let combine = args.function()?;
        let rest = args.rest()?;
        let name = args.operation.name.text;
        if combine.params.len() % 2 != 0 || combine.params.is_empty() {
            return Err(fault(
                combine.span,
                format!("the function of `{name}` takes pairs of elements, left ones first"),
            )
            .help("of one array `|x, y| x + y`, of two `|x, i, y, j| …`"));
        }
        let k = combine.params.len() / 2;
        let wanted = if seeded { 2 * k } else { k };
        if rest.len() != wanted {
            let seeds = if seeded { format!("{k} seed{} and ", if k == 1 { "" } else { "s" }) } else { String::new() };
            let s = if k == 1 { "" } else { "s" };
            let what = format!("`{name}` of a function of {} parameters takes {seeds}{k} array{s}", 2 * k);
            let are =
                if rest.len() == 1 { "1 argument is".to_owned() } else { format!("{} arguments are", rest.len()) };
            return Err(fault(args.operation.span, format!("{what}, and {are} given")));
        }
        let (seeds, sources) = rest.split_at(wanted - k);
        let sources = self.arrays(sources)?;
        let elements = self.elements(&sources);
        let twice: Vec<_> = elements.iter().chain(&elements).copied().collect();
        let combine = self.function(combine, &twice, &elements)?;
        let seeds = seeds.iter().zip(&elements).map(|(expr, ty)| self.operand(*expr, *ty)).collect::<Parsed<_>>()?;
        Ok((combine, seeds, sources))
    }

    pub(super) fn offsets(&self, args: &mut Arguments<'a, 's>) -> Parsed<Option<ArrayId>> {
        let name = args.operation.name;
        let offsets = self.labelled_array(args, "offsets")?;
        match (name.text.ends_with("_seg"), offsets) {
            (true, None) => Err(fault(name.span, format!("`{}` needs `offsets: …`", name.text))),
            (false, Some(_)) => Err(fault(name.span, format!("`{}` has no segments", name.text))
                .help(format!("the form with offsets is `{}_seg`", name.text))),
            (_, offsets) => Ok(offsets),
        }
    }

    fn permute_order(&self, args: &mut Arguments<'a, 's>) -> Parsed<PermuteOrder> {
        let (unique, ordered) = (args.flag("unique", self)?, args.flag("ordered", self)?);
        match (unique, ordered) {
            (true, true) => {
                Err(fault(args.operation.span, "targets that are `unique` have no order: leave `ordered` out"))
            }
            (true, false) => Ok(PermuteOrder::Unique),
            (false, true) => Ok(PermuteOrder::Ordered),
            (false, false) => Ok(PermuteOrder::Source),
        }
    }

    pub(super) fn permute(&mut self, args: &mut Arguments<'a, 's>) -> Parsed<ArrayOp> {
        let combine = args.function()?;
        let defaults = args.next("the defaults")?;
        let defaults = self.arrays(&args.group(defaults)?)?;
        let values = args.next("the values")?;
        let values = self.arrays(&args.group(values)?)?;
        let targets = self.labelled_arrays(args, "at")?;
        let targets = targets.ok_or_else(|| {
            fault(args.operation.name.span, "`permute` needs targets")
                .help("`at: (i, j)`, an array of `i64` for each dimension")
        })?;
        let keep = self.labelled_array(args, "keep")?;
        let order = self.permute_order(args)?;
        let (new, old) = (self.elements(&values), self.elements(&defaults));
        let both: Vec<_> = new.iter().chain(&old).copied().collect();
        let combine = self.function(combine, &both, &old)?;
        Ok(ArrayOp::Permute { combine, defaults, values, targets, keep, order })
    }

    pub(super) fn permuted_expand(&mut self, args: &mut Arguments<'a, 's>) -> Parsed<ArrayOp> {
        let (size, get, combine) = (args.function()?, args.function()?, args.function()?);
        let defaults = args.next("the defaults")?;
        let defaults = self.arrays(&args.group(defaults)?)?;
        let sources = self.sources(args)?;
        let order = self.permute_order(args)?;
        let old = self.elements(&defaults);
        let mut elements = self.elements(&sources);
        let size = self.function(size, &elements, &[I64])?;
        elements.push(I64);
        let rank = defaults.first().map_or(0, |id| usize::from(self.shape(*id).rank));
        let mut results = vec![I64; rank];
        results.extend(&old);
        let get = self.function_of(get, &elements, |given| {
            if given == results.len() + 1 {
                results.push(ElementType::Bool);
            }
            results
        })?;
        let twice: Vec<_> = old.iter().chain(&old).copied().collect();
        let combine = self.function(combine, &twice, &old)?;
        Ok(ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order })
    }
}

/// Direction and form of `scanl1_seg` and the others.
pub(super) fn scan(name: &str) -> Option<(Direction, ScanForm)> {
    let name = name.strip_suffix("_seg").unwrap_or(name);
    let (direction, form) = match name.strip_prefix("scanl") {
        Some(form) => (Direction::Left, form),
        None => (Direction::Right, name.strip_prefix("scanr")?),
    };
    let form = match form {
        "" => ScanForm::Exclusive,
        "1" => ScanForm::Inclusive,
        "'" => ScanForm::Body,
        _ => return None,
    };
    Some((direction, form))
}
