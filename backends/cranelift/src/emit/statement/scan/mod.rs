//! Scans: in order, or by gangs and tiles.

mod elements;
mod tiles;

use fusebox_ir::{
    Action, Association, Binary, Constant, ElementType, Lambda, LevelOrder,
    analysis::{algebra::built_ins, kernels::shared_reduction},
    association::{BLOCK, TILE},
};

use super::reduce::Reduce;
use crate::{
    emit::{Emitter, HiddenArgument, Part, Result, Val, identities},
    vector::Value,
};

/// A scan under way. Its states: `running`, whether there is any, and of tiles `carry`, whether there is any, then the running total of
/// the tile without a carry, whether there is any.
#[derive(Clone, Debug)]
pub struct Scan {
    combine: Lambda,
    swap: bool,
    types: Vec<ElementType>,
    identity: Option<Vec<Constant>>,
    /// The first of its states.
    at: usize,
    /// Lanes of a state.
    lanes: u32,
    tiles: Option<u32>,
    /// The total of a tile, by lanes.
    pub total: Option<Reduce>,
    /// The reduce of the same elements whose blocks are those of the total.
    shared_reduction: Option<usize>,
    /// Whether totals of tiles matter.
    need: Option<Value>,
    /// Whether carries come from other ranges, and go to them.
    shared: bool,
    /// Whether only the totals of tiles are wanted.
    alone: bool,
    /// Whether the carry behind a tile is what has run up to there: integers, of which every order of combining gives the same.
    exact: bool,
    /// Whether elements are only counted, by the scatter that puts them in runs: what runs is no gang.
    counts: bool,
    /// Whether the total has got what comes already, or none is wanted.
    total_is_done: bool,
    /// Where in scratch memory gangs are laid out for their last lanes: of each component, of the mask.
    lasts: Vec<i64>,
    last_flag: i64,
    /// In scalar code, the step of the level and the end of the tile.
    pub step: Option<Value>,
    end: Option<Value>,
    /// Whether gangs are gone through in scalar code, lane by lane.
    by_lane: bool,
    /// Where in scratch memory scalar code keeps what the lanes of a gang have before each doubling: of each component, presence.
    history: Vec<(Vec<i64>, i64)>,
    /// And what the step before had as its result.
    earlier: Vec<i64>,
}

impl Scan {
    /// Whether the level runs in tiles for it.
    pub fn is_tiled(&self) -> bool {
        self.tiles.is_some()
    }

    /// Whether the totals of tiles are reduced by lanes.
    pub fn has_total(&self) -> bool {
        self.total.is_some()
    }

    fn k(&self) -> usize {
        self.types.len()
    }

    /// Whether a scatter that puts elements in runs says how many there are.
    pub fn counts(&self) -> bool {
        self.counts
    }

    /// The first of its states: what has run up to the element that comes.
    pub fn running(&self) -> usize {
        self.at
    }
}

impl Emitter<'_> {
    /// Opens the scan of statement `position` around its level of `steps` steps.
    pub(in crate::emit) fn scan_begin(&mut self, position: usize, steps: Value) -> Result {
        let kernel = self.kernel;
        let statement = &kernel.statements[position];
        let Action::Scan { totals, association, combine, values, .. } = &statement.action else {
            self.misplaced(position)
        };
        let level = statement.depth as usize - 1;
        let types: Vec<ElementType> = combine.params.iter().take(values.len()).map(|param| param.ty).collect();
        let swap = kernel.levels[level].order == LevelOrder::Down;
        let identity = identities(combine);
        let at = self.states.len();
        let lanes = self.lanes;
        let (_, starts, has) = self.starts(position)?;
        let starts: Vec<Value> = starts.into_iter().map(|start| self.b.splat(start, lanes)).collect();
        let has = self.b.splat(has, lanes);
        let mut scan = Scan {
            combine: combine.clone(),
            swap,
            types,
            identity,
            at,
            lanes,
            tiles: None,
            total: None,
            shared_reduction: None,
            need: None,
            shared: false,
            alone: false,
            exact: false,
            counts: false,
            total_is_done: false,
            lasts: Vec::new(),
            last_flag: 0,
            step: None,
            end: None,
            by_lane: false,
            history: Vec::new(),
            earlier: Vec::new(),
        };
        let shared = self.part.is_body() && level == 0 && matches!(association, Association::Tiles { .. });
        let (starts, has) = if shared {
            let shift = self.b.int(TILE.trailing_zeros().into());
            let tile = self.b.binary(Binary::Shr, self.range.0, shift);
            self.carry_before(position, tile, &scan.types, (&starts, has))
        } else {
            (starts, has)
        };
        if let Association::Tiles { lanes: gang, .. } = *association {
            scan.tiles = Some(gang);
            scan.by_lane = self.gang.is_none_or(|gang| gang.level != level);
            let integers = scan.types.iter().all(|ty| !ty.is_float());
            let whole = scan.identity.is_some() && integers && built_ins(combine).is_some();
            scan.exact = whole && !(self.part == Part::Totals && level == 0);
            scan.total_is_done = scan.exact;
            scan.counts = scan.exact && !scan.by_lane && self.counted_by(position).is_some();
        }
        let running: Vec<Value> = starts.iter().copied().chain([has]).collect();
        let running = self.spread(&scan, &running);
        self.states.extend(running);
        if let Association::Tiles { lanes: gang, total_lanes } = *association {
            if scan.by_lane {
                for _ in 0..gang.ilog2() {
                    let places = scan.types.iter().map(|ty| self.b.scratch(gang as usize * ty.bytes())).collect();
                    scan.history.push((places, self.b.scratch(gang as usize)));
                }
                scan.earlier = scan.types.iter().map(|ty| self.b.scratch(ty.bytes())).collect();
            }
            self.states.extend(starts);
            self.states.push(has);
            let tile = self.b.int(TILE);
            let mut several = self.b.binary(Binary::Gt, steps, tile);
            let mut needed = self.b.constant(Constant::from(!totals.is_empty()));
            if shared {
                let onward = self.hidden_argument(HiddenArgument::Onward);
                let zero = self.b.int(0);
                needed = self.b.binary(Binary::Ne, onward, zero);
                let length = self.b.sub(self.range.1, self.range.0);
                several = self.b.binary(Binary::Gt, length, tile);
            }
            scan.need = Some(match self.part {
                Part::Totals if level == 0 => self.b.constant(Constant::from(true)),
                _ => self.b.binary(Binary::Or, several, needed),
            });
            scan.shared = shared;
            scan.alone = self.part == Part::Totals && level == 0;
            if total_lanes > 0 {
                let mut reduce = self.new_reduce(
                    combine,
                    Association::Interleaved { lanes: total_lanes },
                    scan.types.clone(),
                    swap,
                    true,
                    false,
                );
                reduce.most_blocks = Some(TILE / BLOCK);
                scan.shared_reduction = shared_reduction(kernel, position);
                scan.total = Some(reduce);
            } else {
                let none = self.b.constant(Constant::from(false));
                scan.lasts = scan.types.iter().map(|ty| self.b.scratch(gang as usize * ty.bytes())).collect();
                scan.last_flag = self.b.scratch(gang as usize);
                for ty in scan.types.clone() {
                    let zero = self.b.constant(Constant::zero(ty));
                    self.states.push(zero);
                }
                self.states.push(none);
            }
        }
        self.scans.insert(position, scan);
        Ok(())
    }

    /// Closes a scan: its totals become locals.
    pub(in crate::emit) fn scan_end(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let Some(scan) = self.scans.remove(&position) else { self.misplaced(position) };
        let Action::Scan { totals, .. } = &kernel.statements[position].action else { self.misplaced(position) };
        let from = if scan.tiles.is_some() { scan.at + scan.k() + 1 } else { scan.at };
        if scan.shared {
            let carry = self.states[from..from + scan.k()].to_vec();
            let has = self.states[from + scan.k()];
            self.where_needed(&scan, |this| {
                let up = this.b.add_int(this.range.1, TILE - 1);
                let shift = this.b.int(TILE.trailing_zeros().into());
                let next = this.b.binary(Binary::Shr, up, shift);
                this.put_words(position, next, &carry, has, HiddenArgument::Carry, HiddenArgument::CarryFlags);
                Ok(())
            })?;
            self.states.truncate(scan.at);
            return Ok(());
        }
        for (component, local) in totals.iter().enumerate() {
            let value = self.val(self.states[from + component]);
            self.locals.insert(local.id, value);
        }
        self.states.truncate(scan.at);
        Ok(())
    }

    /// The element of a point, or of a gang of points.
    pub(in crate::emit) fn scan(&mut self, position: usize, when: Option<Value>) -> Result {
        let kernel = self.kernel;
        let Action::Scan { results, exclusive, values, .. } = &kernel.statements[position].action else {
            return Ok(());
        };
        let values = values.iter().map(|&value| self.operand(value)).collect::<Result<Vec<_>>>()?;
        let Some(mut scan) = self.scans.get(&position).cloned() else {
            return Err(self.broken("a scan outside of its level"));
        };
        scan.total_is_done |= self.done.contains(&position) || scan.shared_reduction.is_some();
        let scan = scan;
        let mask = self.b.both(when, self.mask);
        let values: Vec<Value> = values.into_iter().map(|value| self.gang(value)).collect();
        if let (true, Some(total)) = (scan.alone, &scan.total) {
            // Nobody asks for more than the total.
            if scan.total_is_done {
                return Ok(());
            }
            return self.put(total, &values, mask);
        }
        if scan.counts {
            // The scatter moves it on.
            for (component, local) in results.iter().enumerate() {
                self.locals.insert(local.id, Val::Uniform(self.states[scan.at + component]));
            }
            return Ok(());
        }
        let outer = self.mask.take();
        let out = match scan.tiles {
            Some(gang) if scan.by_lane => self.scan_lane(&scan, gang, &values, mask, *exclusive)?,
            Some(gang) if self.lanes != gang => {
                return Err(self.broken(&format!("a scan in gangs of {gang} among gangs of {}", self.lanes)));
            }
            Some(_) => self.scan_gang(&scan, &values, mask, *exclusive)?,
            None if self.lanes == scan.lanes => self.scan_one(&scan, &values, mask, *exclusive)?,
            None => {
                let mut out = values.clone();
                self.lane_by_lane(&values, mask, |this, lane, values, mask| {
                    for (out, value) in out.iter_mut().zip(this.scan_one(&scan, values, mask, *exclusive)?) {
                        *out = this.b.insert(*out, lane, value);
                    }
                    Ok(())
                })?;
                out
            }
        };
        self.mask = outer;
        for (local, value) in results.iter().zip(out) {
            let value = self.val(value);
            self.locals.insert(local.id, value);
        }
        Ok(())
    }
}

const _: () = assert!(TILE % BLOCK == 0, "tiles are whole blocks");
