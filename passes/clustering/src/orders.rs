//! Orders in which nodes may run, numbered: those in which gathers read, downwards, upwards, and those in which expands append. What a node reads in and
//! what it makes its elements in is a range of them.

use std::collections::HashMap;

use crate::{graph::Kind, problem::Problem};

/// The least and the largest number of an order, in the numbering of [`Problem`].
pub(crate) type Domain = (u32, u32);

impl Problem<'_> {
    /// Numbers the orders in which gathers read and expands append, before and behind those of memory.
    pub(crate) fn number_orders(&mut self) {
        let mut shared: HashMap<u32, u32> = HashMap::new();
        let mut gathers = 0;
        for (node, own) in self.graph.nodes.iter().zip(&mut self.own_order) {
            if let Kind::Gather { order } = node.kind {
                let fresh = |gathers: &mut u32| {
                    *gathers += 1;
                    *gathers - 1
                };
                *own = Some(match order {
                    Some(order) => *shared.entry(order).or_insert_with(|| fresh(&mut gathers)),
                    None => fresh(&mut gathers),
                });
            }
        }
        self.down = gathers;
        self.orders = gathers + 2;
        for (node, own) in self.graph.nodes.iter().zip(&mut self.own_order) {
            if node.kind == Kind::Expand {
                *own = Some(self.orders);
                self.orders += 1;
            }
        }
    }

    /// Numbers the classes of extents folded one dimension inside.
    pub(crate) fn number_inners(&mut self) {
        let mut classes: HashMap<u32, u32> = HashMap::new();
        let mut number = |given: Option<u32>, inners: &mut u32| {
            let mut fresh = || {
                *inners += 1;
                *inners - 1
            };
            match given {
                Some(class) => *classes.entry(class).or_insert_with(fresh),
                None => fresh(),
            }
        };
        for (position, node) in self.graph.nodes.iter().enumerate() {
            if matches!(node.kind, Kind::Expand | Kind::PermutedExpand) || node.inner.is_some() {
                self.inner_read[position] = Some(number(node.inner, &mut self.inners));
            }
            for (made, output) in self.inner_made[position].iter_mut().zip(&node.outputs) {
                if matches!(node.kind, Kind::Fold | Kind::FoldSegments) || output.inner.is_some() {
                    *made = Some(number(output.inner, &mut self.inners));
                }
            }
        }
    }

    /// Upwards.
    pub(crate) fn up(&self) -> u32 {
        self.down + 1
    }

    /// Orders in which memory can be written.
    pub(crate) fn stored(&self) -> Domain {
        (self.down, self.orders.saturating_sub(1))
    }

    /// Orders in which a node may run over what it reads.
    pub(crate) fn reads(&self, node: usize) -> Domain {
        let (down, up, last) = (self.down, self.up(), self.orders.saturating_sub(1));
        match self.graph.nodes[node].kind {
            Kind::Elementwise => (self.least_made(node), last),
            Kind::Source | Kind::Outside => (0, last),
            Kind::Gather { .. } => self.own_order[node].map_or((0, last), |own| (own, own)),
            Kind::Fold | Kind::FoldSegments => (down, up),
            Kind::FoldAll => (down, last),
            Kind::ScanLeft { .. } => (up, up),
            Kind::ScanRight { .. } => (down, down),
            Kind::Permute { any_order: true } => (0, last),
            Kind::Permute { any_order: false } | Kind::Expand | Kind::PermutedExpand => (up, last),
        }
    }

    /// The lowest order of a node that could make its elements in any: gathers' are below those of memory.
    fn least_made(&self, node: usize) -> u32 {
        if self.graph.nodes[node].expensive { self.down } else { 0 }
    }

    /// Orders in which a node may make its elements.
    pub(crate) fn made(&self, node: usize) -> Domain {
        let (up, last) = (self.up(), self.orders.saturating_sub(1));
        match self.graph.nodes[node].kind {
            Kind::Source => (self.least_made(node), up),
            Kind::Gather { .. } => (0, up),
            Kind::Expand => self.own_order[node].map_or((0, last), |own| (own, own)),
            Kind::Permute { .. } | Kind::PermutedExpand | Kind::FoldAll | Kind::Outside => (0, last),
            Kind::Elementwise | Kind::Fold | Kind::FoldSegments | Kind::ScanLeft { .. } | Kind::ScanRight { .. } => {
                self.reads(node)
            }
        }
    }

    /// Whether a node makes its elements in the order in which it reads.
    pub(crate) fn keeps_order(&self, node: usize) -> bool {
        matches!(
            self.graph.nodes[node].kind,
            Kind::Elementwise | Kind::Fold | Kind::FoldSegments | Kind::ScanLeft { .. } | Kind::ScanRight { .. }
        )
    }

    /// Whether what is folded one dimension inside of what it reads is so of an output.
    pub(crate) fn keeps_inner(&self, node: usize, output: usize) -> bool {
        self.inner_made[node][output].is_none()
            && matches!(self.graph.nodes[node].kind, Kind::Elementwise | Kind::ScanLeft { .. } | Kind::ScanRight { .. })
    }

    /// Whether the order of memory matters to what a node makes: not to what permutes write themselves, nor to a single element.
    pub(crate) fn has_order(&self, node: usize) -> bool {
        !matches!(
            self.graph.nodes[node].kind,
            Kind::Permute { .. } | Kind::PermutedExpand | Kind::FoldAll | Kind::Outside
        )
    }
}

/// What two domains have in common.
pub(crate) fn meet(a: Domain, b: Domain) -> Option<Domain> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 <= both.1).then_some(both)
}
