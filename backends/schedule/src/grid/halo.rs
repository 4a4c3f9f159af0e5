//! Stencils: what the points of a tile read of an array, each at constant distances from itself, with what lies around the tile.

use fusebox_ir::{Action, DimBoundary, DimIndex, IndexMap, Kernel, Statement};

use super::{
    facts::{is_early, may_be_overwritten},
    tile_levels::TileLevels,
};

/// Greatest difference of the distances of loads that are one halo.
const MOST_MORE: i64 = 1024;
/// Most rows and columns in planes of their own: dimensions along which the tile has one point have so many elements together.
const MOST_PLANES: u64 = 32;

/// What several loads of an array read at the points of a tile. It is in shared memory as a box: for each dimension as many elements as the tile has along it,
/// and those between the least and the greatest distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Halo {
    /// The position of its array.
    pub array: usize,
    /// The loads.
    pub loads: Vec<usize>,
    /// The dimensions of the array.
    pub dims: Vec<HaloDim>,
}

/// A dimension of a halo.
#[derive(Clone, Debug, PartialEq)]
pub struct HaloDim {
    /// What the tile has along it.
    pub along: Along,
    /// Where the box begins: the index of the first point, with the least distance.
    pub index: DimIndex,
    /// How many elements more than the tile has there are.
    pub more: u32,
}

/// What a tile has along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// Its rows.
    Rows,
    /// Its columns.
    Columns,
    /// One point.
    One,
}

impl Halo {
    /// Elements of the box in a dimension, for a tile of so many rows and columns.
    pub fn extent(&self, dim: usize, (rows, columns): (u32, u32)) -> u64 {
        let HaloDim { along, more, .. } = &self.dims[dim];
        let own = match along {
            Along::Rows => rows,
            Along::Columns => columns,
            Along::One => 1,
        };
        u64::from(own) + u64::from(*more)
    }

    /// Elements of the box.
    pub fn elements(&self, extents: (u32, u32)) -> u64 {
        (0..self.dims.len()).fold(1, |product: u64, dim| product.saturating_mul(self.extent(dim, extents)))
    }

    /// Bytes of shared memory.
    pub fn bytes(&self, kernel: &Kernel, extents: (u32, u32)) -> u64 {
        let bytes = kernel.arrays.get(self.array).map_or(8, |array| array.element.bytes() as u64);
        self.elements(extents).saturating_mul(bytes)
    }

    /// How far a load is from the beginning of the box, in each dimension.
    pub fn distances(&self, kernel: &Kernel, load: usize) -> Vec<u64> {
        let Some(Statement { action: Action::Load { map, .. }, .. }) = kernel.statements.get(load) else {
            return vec![0; self.dims.len()];
        };
        self.dims.iter().zip(&map.dims).map(|(dim, own)| own.offset.abs_diff(dim.index.offset)).collect()
    }

    /// A load of the same array, whose dimensions are these, becomes a part of it, if the box is no larger than may be.
    fn takes(&mut self, position: usize, map: &IndexMap) -> bool {
        let fits = |(dim, own): (&HaloDim, &DimIndex)| {
            let boundaries = [dim.index.boundary, own.boundary];
            dim.index.terms == own.terms && (boundaries[0] == boundaries[1] || boundaries.contains(&DimBoundary::None))
        };
        if !self.dims.iter().zip(&map.dims).all(fits) {
            return false;
        }
        let mut dims = self.dims.clone();
        for (dim, own) in dims.iter_mut().zip(&map.dims) {
            let (least, greatest) = (dim.index.offset, dim.index.offset.saturating_add(dim.more.into()));
            let (least, greatest) = (least.min(own.offset), greatest.max(own.offset));
            let Some(more) = greatest.checked_sub(least).filter(|more| *more <= MOST_MORE) else { return false };
            (dim.index.offset, dim.more) = (least, more as u32);
            if dim.index.boundary == DimBoundary::None {
                dim.index.boundary = own.boundary;
            }
        }
        let alone = dims.iter().filter(|dim| dim.along == Along::One);
        if alone.map(|dim| u64::from(dim.more) + 1).product::<u64>() > MOST_PLANES {
            return false;
        }
        self.dims = dims;
        self.loads.push(position);
        true
    }
}

/// What loads read at the points of tiles of these levels and around them: one box for those of an array that read alike but for distances.
///
/// # Errors
/// A load that is not of this kind, and why.
pub fn halos(kernel: &Kernel, of: TileLevels, loads: &[usize]) -> Result<Vec<Halo>, (usize, &'static str)> {
    let mut halos: Vec<Halo> = Vec::new();
    for &position in loads {
        let (array, map, along) = alone(kernel, of, position).map_err(|why| (position, why))?;
        let mut among = halos.iter_mut().filter(|halo| halo.array == array);
        if among.any(|halo| halo.takes(position, map)) {
            continue;
        }
        let dim = |(index, along): (&DimIndex, Along)| HaloDim { along, index: index.clone(), more: 0 };
        let dims = map.dims.iter().zip(along).map(dim).collect();
        halos.push(Halo { array, loads: vec![position], dims });
    }
    Ok(halos)
}

/// What one load reads, and what the tile has along each dimension.
fn alone(kernel: &Kernel, of: TileLevels, position: usize) -> Result<(usize, &IndexMap, Vec<Along>), &'static str> {
    let Some(Statement { depth, action: Action::Load { array, map, .. }, .. }) = kernel.statements.get(position) else {
        return Err("it is no load");
    };
    if of.inner || *depth as usize != of.points() || map.checked || !is_early(kernel, map) {
        return Err("where it reads is not known before");
    }
    if may_be_overwritten(kernel, *array) {
        return Err("what it reads may be overwritten");
    }
    let index = |level: usize| kernel.levels[level].index.id;
    let (rows, columns) = (of.rows().map(index), index(of.columns()));
    let mut along = Vec::new();
    for dim in &map.dims {
        let factor = |wanted| dim.terms.iter().find(|(_, local)| *local == wanted).map(|(factor, _)| *factor);
        along.push(match (rows.and_then(factor), factor(columns)) {
            (None, None) => Along::One,
            (Some(1), None) => Along::Rows,
            (None, Some(1)) => Along::Columns,
            _ => return Err("neighbouring points do not read neighbours"),
        });
    }
    let once = |wanted: Along| along.iter().filter(|own| **own == wanted).count() <= 1;
    if along.last() != Some(&Along::Columns) || !once(Along::Rows) || !once(Along::Columns) {
        return Err("neighbouring points do not read neighbours");
    }
    Ok((array.index(), map, along))
}
