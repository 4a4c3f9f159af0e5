//! How reduces and scans associate: [`fusebox_ir::Association`], as written there.

use fusebox_ir::{
    Association, Constant, Lambda, RunError,
    association::{BLOCK, TILE},
};

use super::machine::KernelMachine;

/// One element, of all components; absent where it takes no part.
pub(super) type Element = Option<Vec<Constant>>;

/// A combining function, and whether its operands change places (levels that run down).
pub(super) struct Combine<'a> {
    pub(super) function: &'a Lambda,
    pub(super) down: bool,
}

impl Combine<'_> {
    /// Something absent gives the other side.
    pub(super) fn apply(
        &self,
        machine: &mut KernelMachine<'_>,
        left: Element,
        right: Element,
    ) -> Result<Element, RunError> {
        let (Some(left), Some(right)) = (&left, &right) else { return Ok(left.or(right)) };
        let (first, second) = if self.down { (right, left) } else { (left, right) };
        let arguments: Vec<Constant> = first.iter().chain(second).copied().collect();
        machine.call(self.function, &arguments).map(Some)
    }

    fn in_order(
        &self,
        machine: &mut KernelMachine<'_>,
        start: Element,
        elements: &[Element],
    ) -> Result<Element, RunError> {
        elements.iter().try_fold(start, |state, element| self.apply(machine, state, element.clone()))
    }

    /// The combination of the seeds and all elements.
    pub(super) fn reduce(
        &self,
        machine: &mut KernelMachine<'_>,
        association: Association,
        seeds: Element,
        elements: Vec<Element>,
    ) -> Result<Element, RunError> {
        match association {
            Association::InOrder => self.in_order(machine, seeds, &elements),
            Association::Ragged { least, .. } if elements.len() < least as usize => {
                self.in_order(machine, seeds, &elements)
            }
            _ => {
                let combined = self.blocks(machine, association, elements)?;
                self.apply(machine, seeds, combined)
            }
        }
    }

    fn blocks(
        &self,
        machine: &mut KernelMachine<'_>,
        association: Association,
        mut elements: Vec<Element>,
    ) -> Result<Element, RunError> {
        while elements.len() > BLOCK as usize {
            elements = elements
                .chunks(BLOCK as usize)
                .map(|block| self.block(machine, association, block))
                .collect::<Result<_, _>>()?;
        }
        self.block(machine, association, &elements)
    }

    fn block(
        &self,
        machine: &mut KernelMachine<'_>,
        association: Association,
        elements: &[Element],
    ) -> Result<Element, RunError> {
        match association {
            Association::Interleaved { lanes } | Association::Ragged { lanes, .. } => {
                let lanes = lanes as usize;
                let mut accumulators: Vec<Element> = vec![None; lanes];
                for (at, element) in elements.iter().enumerate() {
                    let lane = accumulators[at % lanes].take();
                    accumulators[at % lanes] = self.apply(machine, lane, element.clone())?;
                }
                let mut half = lanes / 2;
                while half > 0 {
                    for lane in 0..half {
                        let (low, high) = (accumulators[lane].take(), accumulators[lane + half].take());
                        accumulators[lane] = self.apply(machine, low, high)?;
                    }
                    half /= 2;
                }
                Ok(accumulators.swap_remove(0))
            }
            Association::Runs { lanes } => {
                let run = elements.len().div_ceil(lanes as usize).max(1);
                let mut parts: Vec<Element> =
                    elements.chunks(run).map(|part| self.in_order(machine, None, part)).collect::<Result<_, _>>()?;
                parts.resize(lanes as usize, None);
                while parts.len() > 1 {
                    let pairs =
                        parts.chunks(2).map(|pair| self.in_order(machine, None, pair)).collect::<Result<_, _>>()?;
                    parts = pairs;
                }
                Ok(parts.swap_remove(0))
            }
            Association::InOrder | Association::Tiles { .. } => self.in_order(machine, None, elements),
        }
    }
}

/// A scan along a level: what it has seen.
pub(super) struct Running {
    association: Association,
    carry: Element,
    running: Element,
    /// The running total of the tile's gangs without the carry.
    bare: Element,
    /// The gang's lanes so far: as they came, then after each doubling.
    gang: Vec<Vec<Element>>,
    tile: Vec<Element>,
}

impl Running {
    pub(super) fn new(association: Association, seeds: Element) -> Self {
        Self { association, running: seeds.clone(), carry: seeds, bare: None, gang: Vec::new(), tile: Vec::new() }
    }

    /// The results before this element and with it.
    pub(super) fn next(
        &mut self,
        machine: &mut KernelMachine<'_>,
        combine: &Combine<'_>,
        element: Element,
    ) -> Result<(Element, Element), RunError> {
        let Association::Tiles { lanes, .. } = self.association else {
            let before = self.running.clone();
            self.running = combine.apply(machine, before.clone(), element)?;
            return Ok((before, self.running.clone()));
        };
        let before_in_gang = self.gang_prefix();
        self.tile.push(element.clone());
        let with_in_gang = self.next_lane(machine, combine, lanes as usize, element)?;
        let before = combine.apply(machine, self.running.clone(), before_in_gang)?;
        let with = combine.apply(machine, self.running.clone(), with_in_gang.clone())?;
        if self.gang.first().is_some_and(|gang| gang.len() == lanes as usize) {
            self.running = with.clone();
            self.bare = combine.apply(machine, self.bare.take(), with_in_gang)?;
            self.gang.clear();
        }
        if self.tile.len() == TILE as usize {
            self.carry = self.end_of_tile(machine, combine)?;
            self.running = self.carry.clone();
            self.bare = None;
            self.gang.clear();
            self.tile.clear();
        }
        Ok((before, with))
    }

    /// One more lane of the gang: it takes lane l-1, then l-2, l-4, …, each as it was after as many doublings.
    fn next_lane(
        &mut self,
        machine: &mut KernelMachine<'_>,
        combine: &Combine<'_>,
        lanes: usize,
        element: Element,
    ) -> Result<Element, RunError> {
        self.gang.resize(lanes.ilog2() as usize + 1, Vec::new());
        let lane = self.gang[0].len();
        let mut x = element;
        let doublings = self.gang.len();
        for (doubling, had) in self.gang.iter_mut().enumerate() {
            had.push(x.clone());
            let step = 1 << doubling;
            if doubling + 1 < doublings && lane >= step {
                x = combine.apply(machine, had[lane - step].clone(), x)?;
            }
        }
        Ok(x)
    }

    /// The last lane of the gang so far.
    fn gang_prefix(&self) -> Element {
        self.gang.last().and_then(|gang| gang.last().cloned()).flatten()
    }

    fn end_of_tile(&mut self, machine: &mut KernelMachine<'_>, combine: &Combine<'_>) -> Result<Element, RunError> {
        let total = match self.association {
            Association::Tiles { total_lanes: 0, .. } => {
                let last = self.gang_prefix();
                combine.apply(machine, self.bare.clone(), last)?
            }
            Association::Tiles { total_lanes, .. } => {
                let association = Association::Interleaved { lanes: total_lanes };
                combine.blocks(machine, association, self.tile.clone())?
            }
            _ => return Ok(self.running.clone()),
        };
        combine.apply(machine, self.carry.clone(), total)
    }

    /// Seeds and all elements.
    pub(super) fn totals(
        mut self,
        machine: &mut KernelMachine<'_>,
        combine: &Combine<'_>,
    ) -> Result<Element, RunError> {
        self.end_of_tile(machine, combine)
    }
}
