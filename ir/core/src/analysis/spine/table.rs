//! The levels of a nest: what each runs over, and whether all that share it may.

use super::{Conflict, Finder, Over, Why, conflict};
use crate::{
    Extent,
    analysis::{Answer, Size},
};

/// The extent of an operation that runs over a level.
#[derive(Clone, Debug)]
struct Span {
    size: Option<Size>,
    extent: Extent,
    who: usize,
}

/// A level under construction.
#[derive(Clone, Debug)]
struct Row {
    over: Over,
    who: usize,
    spans: Vec<Span>,
}

/// Levels, from the outermost. A level that no operation has asked for yet is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    rows: Vec<Option<Row>>,
    /// For each exclusive scan: the level, the extents of its source and result, and its position.
    longer: Vec<(usize, Extent, Extent, usize)>,
}

fn size(finder: &Finder<'_>, extent: Extent) -> Option<Size> {
    finder.members.sizes.extent(extent)
}

fn equal(finder: &Finder<'_>, left: &Span, right: &Span) -> bool {
    match (&left.size, &right.size) {
        (Some(a), Some(b)) => finder.members.sizes.equal_sizes(a, b) == Answer::Proved,
        _ => left.extent == right.extent && left.extent != Extent::Unknown,
    }
}

impl Table {
    /// Adds a level over segments, their elements, or what an operation makes of one element. `size` is the extent that others need to share it.
    pub(super) fn put(&mut self, level: usize, over: Over, size: Option<Size>, who: usize) -> Result<(), Conflict> {
        if let Some(row) = self.row(level) {
            return Err(conflict(row.who, who, Why::Beside));
        }
        let spans = size.map(|size| Span { size: Some(size), extent: Extent::Unknown, who }).into_iter().collect();
        self.rows[level] = Some(Row { over, who, spans });
        Ok(())
    }

    fn row(&mut self, level: usize) -> Option<&mut Row> {
        if self.rows.len() <= level {
            self.rows.resize(level + 1, None);
        }
        self.rows[level].as_mut()
    }

    /// Notes that an operation runs over a level with this extent.
    pub(super) fn over(
        &mut self,
        finder: &Finder<'_>,
        level: usize,
        extent: Extent,
        who: usize,
    ) -> Result<(), Conflict> {
        let span = Span { size: size(finder, extent), extent, who };
        let Some(row) = self.row(level) else {
            self.rows[level] = Some(Row { over: Over::Extent(extent), who, spans: vec![span] });
            return Ok(());
        };
        match row.over {
            Over::Inner(_) => return Err(conflict(row.who, who, Why::Beside)),
            Over::Segments(_) | Over::Elements(_) => {
                if row.spans.first().is_none_or(|first| !equal(finder, first, &span)) {
                    return Err(conflict(row.who, who, Why::Extents));
                }
            }
            Over::Extent(_) => {
                if !row.spans.iter().any(|other| equal(finder, other, &span)) {
                    row.spans.push(span);
                }
            }
        }
        Ok(())
    }

    /// Notes that an exclusive scan along a level gives one element more.
    pub(super) fn note_longer(&mut self, finder: &Finder<'_>, level: usize, from: Extent, to: Extent, who: usize) {
        let (Some(a), Some(b)) = (size(finder, from), size(finder, to)) else { return };
        if b.plus(&a, -1).as_constant() == Some(1) {
            self.longer.push((level, from, to, who));
        }
    }

    /// The levels, if the extents of all operations that share one are equal or differ by what a scan adds.
    pub(super) fn finish(mut self, finder: &Finder<'_>) -> Result<Vec<Over>, Conflict> {
        let longer = std::mem::take(&mut self.longer);
        let mut all = Vec::new();
        for (level, row) in self.rows.into_iter().enumerate() {
            // An operation stands in all levels around its depth, so none of them is empty here.
            let Some(row) = row else { continue };
            let Over::Extent(_) = row.over else {
                all.push(row.over);
                continue;
            };
            let edges: Vec<(Span, Span)> = longer
                .iter()
                .filter(|(of, ..)| *of == level)
                .map(|&(_, from, to, who)| {
                    let span = |extent| Span { size: size(finder, extent), extent, who };
                    (span(from), span(to))
                })
                .collect();
            // How much each extent is more than the first, as far as scans tell.
            let mut offsets: Vec<Option<i64>> = vec![None; row.spans.len()];
            offsets[0] = Some(0);
            let mut changed = true;
            while std::mem::take(&mut changed) {
                for (from, to) in &edges {
                    let find = |of: &Span| row.spans.iter().position(|span| equal(finder, span, of));
                    let (Some(low), Some(high)) = (find(from), find(to)) else { continue };
                    match (offsets[low], offsets[high]) {
                        (Some(offset), None) => offsets[high] = Some(offset + 1),
                        (None, Some(offset)) => offsets[low] = Some(offset - 1),
                        _ => continue,
                    }
                    changed = true;
                }
            }
            let mut longest = (0, 0);
            for (at, offset) in offsets.iter().enumerate() {
                match offset {
                    None => return Err(conflict(row.spans[0].who, row.spans[at].who, Why::Extents)),
                    Some(offset) if *offset > longest.0 => longest = (*offset, at),
                    Some(_) => {}
                }
            }
            // A level may be one step longer than what runs over it, not two.
            if let Some(at) = offsets.iter().position(|offset| offset.is_some_and(|offset| longest.0 - offset > 1)) {
                return Err(conflict(row.spans[longest.1].who, row.spans[at].who, Why::Extents));
            }
            all.push(Over::Extent(row.spans[longest.1].extent));
        }
        Ok(all)
    }
}
