//! What costs less to make than to read is made again by every cluster that reads its elements.
//!
//! A position, a constant or a repeated row that several clusters take elements of would be written by the first and read by the others. The
//! model knows no copies, so this is done to the clusters that it found: an array that nobody reads any more is not written.

use std::collections::HashSet;

use fusebox_ir::{
    ArrayId, Binding, Block, Fresh,
    analysis::{spine, spine::Members, work::costs_less_than_its_read},
    operations::{How, Signature},
};

use crate::{Clustering, build::Context, mark::Group};

/// Gives copies of free operations to the clusters that read them, where no other reader is left; clusters of nothing else are gone.
pub(crate) fn make_again(
    mut block: Block,
    clustering: &mut Clustering,
    context: &Context<'_>,
    fresh: &mut Fresh,
) -> Block {
    let results: HashSet<ArrayId> = block.results.iter().copied().collect();
    for position in 0..block.bindings.len() {
        let binding = &block.bindings[position];
        let [var] = &binding.results[..] else { continue };
        if !costs_less_than_its_read(binding) || var.ty.is_scalar() || results.contains(&var.id) {
            continue;
        }
        let Some(own) = cluster_of(clustering, position) else { continue };
        let Some(readers) = readers(&block, clustering, own, var.id) else { continue };
        let copied: Option<Vec<Copy>> =
            readers.iter().map(|&reader| copy(&block, clustering, context, (position, own), reader, fresh)).collect();
        let Some(copies) = copied.filter(|copies| !copies.is_empty()) else { continue };
        let (id, name) = (var.id, var.name.0.clone());
        for copy in copies {
            put(&mut block, clustering, id, copy);
        }
        // Nobody outside of its own cluster reads it any more.
        clustering.written.retain(|&(node, _)| node != position);
        let written = &mut clustering.report.written;
        if let Some(at) = written.iter().position(|other| *other == name) {
            written.remove(at);
        }
    }
    leave_out_unused(&block, clustering, &results);
    block
}

/// A copy for a cluster.
struct Copy {
    cluster: usize,
    binding: Binding,
    /// The member of the cluster that reads it first.
    reader: usize,
}

/// The cluster that a node stands in.
fn cluster_of(clustering: &Clustering, node: usize) -> Option<usize> {
    let clusters = clustering.order.iter().filter_map(|group| match *group {
        Group::Cluster(index) => Some(index),
        Group::Outside(_) => None,
    });
    clusters.into_iter().find(|&index| clustering.clusters[index].nodes.contains(&node))
}

/// The other clusters that use an array. `None` if one does not take it element by element, or something outside of clusters uses it.
fn readers(block: &Block, clustering: &Clustering, own: usize, id: ArrayId) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for (position, binding) in block.bindings.iter().enumerate() {
        let mut uses = 0;
        binding.for_each_use(&mut |used| uses += usize::from(used == id));
        if uses == 0 {
            continue;
        }
        let cluster = cluster_of(clustering, position)?;
        if cluster == own {
            continue;
        }
        let reads = Signature::of(binding, &|_| None).reads;
        let taken = reads.iter().filter(|read| read.array == id && matches!(read.how, How::Same | How::Row)).count();
        if taken != uses {
            return None;
        }
        if !found.contains(&cluster) {
            found.push(cluster);
        }
    }
    Some(found)
}

/// The copy for a cluster, if it fits in, and what it is made of is there by then.
fn copy(
    block: &Block,
    clustering: &Clustering,
    context: &Context<'_>,
    (position, own): (usize, usize),
    cluster: usize,
    fresh: &mut Fresh,
) -> Option<Copy> {
    let original = &block.bindings[position];
    let old = original.results[0].id;
    let mut binding = original.clone();
    binding.results[0].id = fresh.id();
    let new = binding.results[0].id;
    let nodes = &clustering.clusters[cluster].nodes;
    // What the other cluster makes, and what is there only while its own runs, are not there.
    let made = |index: usize| clustering.clusters[index].nodes.iter().flat_map(|&node| &block.bindings[node].results);
    let absent: HashSet<ArrayId> = made(own).chain(made(cluster)).map(|var| var.id).collect();
    let mut is_there = true;
    binding.for_each_use(&mut |id| is_there &= !absent.contains(&id));
    let uses = |node: &usize| {
        let mut uses = false;
        block.bindings[*node].for_each_use(&mut |id| uses |= id == old);
        uses
    };
    let reader = nodes.iter().copied().find(uses).filter(|_| is_there)?;
    let members: Vec<Binding> = std::iter::once(binding.clone())
        .chain(nodes.iter().map(|&node| {
            let mut member = block.bindings[node].clone();
            member.substitute(&mut |id| if id == old { new } else { id }.into());
            member
        }))
        .collect();
    let bindings: Vec<&Binding> = members.iter().collect();
    let inside: HashSet<usize> = nodes.iter().copied().collect();
    let manifest = |id: ArrayId| {
        let used = |(position, other): (usize, &Binding)| {
            let mut uses = false;
            other.for_each_use(&mut |used| uses |= used == id);
            uses && !inside.contains(&position)
        };
        block.results.contains(&id) || block.bindings.iter().enumerate().any(used)
    };
    let type_of = |id: ArrayId| context.definitions.ty(id);
    spine(&Members { bindings: &bindings, manifest: &manifest, type_of: &type_of, sizes: &context.sizes }).ok()?;
    Some(Copy { cluster, binding, reader })
}

/// Puts a copy in front of a cluster, whose members use it.
fn put(block: &mut Block, clustering: &mut Clustering, old: ArrayId, copy: Copy) {
    let new = copy.binding.results[0].id;
    let name = copy.binding.results[0].name.0.clone();
    let cluster = &mut clustering.clusters[copy.cluster];
    for &node in &cluster.nodes {
        block.bindings[node].substitute(&mut |id| if id == old { new } else { id }.into());
    }
    let reads = cluster.nodes.iter().position(|&node| node == copy.reader).map(|at| cluster.reads[at]);
    if let Some(reads) = reads {
        cluster.reads.insert(0, reads);
        cluster.makes.insert(0, reads);
    }
    cluster.nodes.insert(0, block.bindings.len());
    block.bindings.push(copy.binding);
    clustering.report.again.push(name);
}

/// Takes what is used no more out of its cluster, and clusters that are empty then out of the order.
fn leave_out_unused(block: &Block, clustering: &mut Clustering, results: &HashSet<ArrayId>) {
    if clustering.report.again.is_empty() {
        return;
    }
    let mut used: HashSet<ArrayId> = results.clone();
    block.bindings.iter().for_each(|binding| binding.for_each_use(&mut |id| _ = used.insert(id)));
    for cluster in &mut clustering.clusters {
        let kept: Vec<bool> = cluster
            .nodes
            .iter()
            .map(|&node| {
                let binding = &block.bindings[node];
                !costs_less_than_its_read(binding) || binding.results.iter().any(|var| used.contains(&var.id))
            })
            .collect();
        let keep = |at: &mut usize| {
            *at += 1;
            kept[*at - 1]
        };
        let (mut a, mut b, mut c) = (0, 0, 0);
        cluster.nodes.retain(|_| keep(&mut a));
        cluster.reads.retain(|_| keep(&mut b));
        cluster.makes.retain(|_| keep(&mut c));
    }
    let clusters = &clustering.clusters;
    clustering.order.retain(|group| !matches!(*group, Group::Cluster(index) if clusters[index].nodes.is_empty()));
}
