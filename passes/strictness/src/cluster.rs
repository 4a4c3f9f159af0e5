//! Clusters that a program has already: moved as a whole, without what nothing needs of them.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, ClusterMark, Order,
    analysis::{self, demand::chosen},
};

use crate::{
    Error,
    block::Maker,
    names::Named,
    parts::{Bindings, parts},
};

impl<'p> Maker<'p> {
    pub(crate) fn cluster(
        &mut self,
        binding: &'p Binding,
        wanted: &[bool],
        out: &mut Vec<Binding>,
    ) -> Result<(), Error> {
        let ArrayOp::Cluster { body, marks, order } = &binding.op else { unreachable!("a cluster") };
        let given = chosen(&body.results, wanted);
        let (body, marks, order) = self.inside(binding, |maker| {
            let list = Bindings { waits: &[], own: &body.bindings, results: &given, holds: &[], depth: 0 };
            let mut bindings: Vec<Binding> = Vec::new();
            let mut orders: Vec<Option<Order>> = Vec::new();
            for item in parts(&list, &maker.facts, false).into_iter().filter_map(|portion| portion.now) {
                let own = body.bindings.iter().zip(marks).find(|(other, _)| std::ptr::eq(*other, item.binding));
                maker.count(item.binding)?;
                maker.binding(&item, &[], &mut bindings)?;
                orders.resize(bindings.len(), own.and_then(|(_, mark)| mark.order));
            }
            let results: Vec<ArrayId> = given.iter().map(|&id| maker.array(id)).collect();
            let order = maker.order(*order, &bindings);
            let marks = analysis::marks(&bindings, &results).into_iter().zip(orders).map(|(mark, own)| {
                let own = own.map(|own| maker.order(own, &bindings)).filter(|own| *own != order);
                ClusterMark { mark, order: own }
            });
            let marks = marks.collect();
            Ok((Block { bindings, results, ..Block::default() }, marks, order))
        })?;
        let results = self.results(binding, wanted);
        out.push(Binding { results, op: ArrayOp::Cluster { body, marks, order }, place: binding.place.clone() });
        Ok(())
    }

    /// An order in the names of the strict program; that of a gather which nothing needs is none.
    fn order(&self, order: Order, bindings: &[Binding]) -> Order {
        let Order::Of(id) = order else { return order };
        match self.names.get(id) {
            Some(Named::Value(id)) if bindings.iter().any(|binding| binding.results[0].id == id) => Order::Of(id),
            _ => Order::Ascending,
        }
    }
}
