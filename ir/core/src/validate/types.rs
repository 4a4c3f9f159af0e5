//! Types: whether they are well formed, and whether they are those that an operation gives.

use std::collections::HashMap;

use super::{ProgramFault, context::Validator};
use crate::{
    ArrayId, ElementType, Extent, MAX_RANK, Operand, Type, Var,
    analysis::{Answer, Size},
    text::{extent_text, type_text},
};

/// The type that something has as far as it is known: extents are sizes, `None` where nothing is known.
#[derive(Clone, Debug)]
pub(super) struct Want {
    pub stream: bool,
    pub element: ElementType,
    pub extents: Vec<Option<Size>>,
    pub inner: Vec<Vec<Option<Size>>>,
    /// What it is, if it is an `i64` of rank 0.
    pub value: Option<Size>,
}

impl Want {
    pub fn array(extents: Vec<Option<Size>>, element: ElementType) -> Self {
        Self { stream: false, element, extents, inner: Vec::new(), value: None }
    }

    pub fn scalar(element: ElementType) -> Self {
        Self::array(Vec::new(), element)
    }
}

impl<'p> Validator<'p> {
    /// The type in words, with names for extents.
    pub fn show(&self, ty: &Type) -> String {
        type_text(ty, &|id| self.name(id))
    }

    pub fn show_extent(&self, extent: Extent) -> String {
        extent_text(extent, &|id| self.name(id))
    }

    /// An extent as written, and what that is where the name does not say it.
    fn show_defined(&self, extent: Extent, size: &Size) -> String {
        let (written, is) = (self.show_extent(extent), self.show_size(size));
        if written == is { written } else { format!("{written} = {is}") }
    }

    pub fn show_want(&self, want: &Want) -> String {
        let list = |extents: &[Option<Size>]| {
            let extents: Vec<String> =
                extents.iter().map(|size| size.as_ref().map_or("?".to_owned(), |size| self.show_size(size))).collect();
            format!("[{}]", extents.join(", "))
        };
        let mut text = if want.stream { "stream ".to_owned() } else { String::new() };
        if !want.extents.is_empty() || !want.inner.is_empty() {
            text.push_str(&list(&want.extents));
        }
        want.inner.iter().for_each(|level| text.push_str(&list(level)));
        text + want.element.name()
    }

    pub fn show_size(&self, size: &Size) -> String {
        self.sizes.show(size, &|id| self.name(id))
    }

    /// Whether a type is well formed here; `unknown` says whether outer extents may be `?`, `stream` whether it may be a stream.
    pub fn check_type(&mut self, ty: &Type, what: &dyn Fn() -> String, unknown: bool, stream: bool) {
        if ty.stream && !stream {
            self.report(ProgramFault::Stream { what: what() });
        }
        if ty.stream && !ty.inner.is_empty() {
            self.report(ProgramFault::NestedStream { what: what() });
        }
        for level in [&ty.extents].into_iter().chain(&ty.inner) {
            if level.len() > MAX_RANK {
                self.report(ProgramFault::Rank { what: what(), rank: level.len(), limit: MAX_RANK });
            }
        }
        if ty.inner.iter().any(Vec::is_empty) {
            self.report(ProgramFault::InnerRank { what: what() });
        }
        for (dim, &extent) in ty.all_extents().enumerate() {
            match extent {
                Extent::Constant(extent) if extent < 0 => {
                    self.report(ProgramFault::NegativeExtent { what: what(), dim, extent });
                }
                Extent::Constant(_) => {}
                Extent::Unknown if unknown || ty.stream || dim >= ty.extents.len() => {}
                Extent::Unknown => self.report(ProgramFault::UnknownExtent { what: what(), dim }),
                Extent::Value(id) => {
                    let found = self.use_value(id, false, &|| format!("the type of {}", what()));
                    if let Some(found) = found
                        && !(found.is_scalar() && found.element == ElementType::I64)
                    {
                        let (value, ty) = (self.name(id), self.show(found));
                        self.report(ProgramFault::ExtentType { what: what(), dim, value, ty });
                    }
                }
            }
        }
    }

    pub fn size(&self, extent: Extent) -> Option<Size> {
        self.sizes.extent(extent)
    }

    pub fn all_sizes(&self, extents: &[Extent]) -> Vec<Option<Size>> {
        extents.iter().map(|&extent| self.size(extent)).collect()
    }

    /// What a type says.
    pub fn want(&self, ty: &Type) -> Want {
        Want {
            stream: ty.stream,
            element: ty.element,
            extents: self.all_sizes(&ty.extents),
            inner: ty.inner.iter().map(|level| self.all_sizes(level)).collect(),
            value: None,
        }
    }

    /// What a value is.
    pub fn want_value(&self, id: ArrayId) -> Option<Want> {
        let ty = self.type_of(id)?;
        Some(Want { value: self.sizes.value(id), ..self.want(ty) })
    }

    /// What an argument is.
    pub fn want_operand(&self, operand: &Operand) -> Option<Want> {
        match operand {
            Operand::Value(id) => self.want_value(*id),
            Operand::Constant(constant) => {
                Some(Want { value: self.sizes.operand(operand), ..Want::scalar(constant.ty()) })
            }
        }
    }

    /// Whether a declared type is what is given; `names` are those that declared extents mean.
    pub fn agree(&mut self, declared: &Type, given: &Want, names: &HashMap<ArrayId, Size>, what: &dyn Fn() -> String) {
        let ranks = |ty: &Type| ty.inner.iter().map(Vec::len).collect::<Vec<_>>();
        if declared.stream != given.stream
            || declared.rank() != given.extents.len()
            || declared.element != given.element
            || ranks(declared) != given.inner.iter().map(Vec::len).collect::<Vec<_>>()
        {
            let (declared, given) = (self.show(declared), self.show_want(given));
            return self.report(ProgramFault::Declared { what: what(), declared, given });
        }
        let given_extents = given.extents.iter().chain(given.inner.iter().flatten());
        for (dim, (&extent, wanted)) in declared.all_extents().zip(given_extents).enumerate() {
            let named = match extent {
                Extent::Value(id) => names.get(&id).cloned(),
                _ => None,
            };
            let (Some(found), Some(wanted)) = (named.or_else(|| self.size(extent)), wanted) else { continue };
            if self.sizes.equal_sizes(&found, wanted) == Answer::Refuted {
                let expected = self.show_size(wanted);
                let found = self.show_defined(extent, &found);
                self.report(ProgramFault::Extents { what: what(), dim, found, expected });
            }
        }
    }

    /// Whether a list of declared values, whose types may name each other, are what is given.
    pub fn agree_all(&mut self, declared: &[Var], given: &[Option<Want>], what: &str) {
        let names: HashMap<ArrayId, Size> = declared
            .iter()
            .zip(given)
            .filter_map(|(var, want)| Some((var.id, want.as_ref()?.value.clone()?)))
            .collect();
        for (position, (var, want)) in declared.iter().zip(given).enumerate() {
            if let Some(want) = want {
                self.agree(&var.ty, want, &names, &|| format!("{what} {position}"));
            }
        }
    }
}
