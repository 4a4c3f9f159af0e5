//! What shares of the outermost level are multiples of, by how many steps levels have.

use fusebox_ir::association::BLOCK;

use crate::schedule::{By, Nest, Node, SplitBy};

/// What the length of a share is a multiple of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareUnit {
    /// So many steps, of which no part is by itself: what is left would be less than a gang, or than what is combined by itself.
    Steps(u32),
    /// So many steps where there are as many for each thread: they run at once, or load from one line of the caches.
    Wanted(u32),
    /// One or the other, by how many steps a level has.
    Choose {
        /// The level.
        level: usize,
        /// It has fewer steps on the first side.
        fewer_than: u32,
        /// Where it has.
        then: Box<ShareUnit>,
        /// Where it has not, or nobody knows.
        otherwise: Box<ShareUnit>,
    },
}

impl ShareUnit {
    /// That of a nest of a processor with so many levels.
    pub fn of(nest: &Nest, levels: usize) -> Self {
        Self::of_nodes(nest, levels, &nest.nodes)
    }

    fn of_nodes(nest: &Nest, levels: usize, nodes: &[Node]) -> Self {
        match nodes.first() {
            Some(Node::Choose { level, fewer_than, then, otherwise }) => {
                let (then, otherwise) = (Self::of_nodes(nest, levels, then), Self::of_nodes(nest, levels, otherwise));
                if then == otherwise {
                    return then;
                }
                let (then, otherwise) = (Box::new(then), Box::new(otherwise));
                Self::Choose { level: *level as usize, fewer_than: *fewer_than, then, otherwise }
            }
            Some(Node::Loop(each)) if each.by == By::Threads => match nest.made_by(levels, each.axis) {
                Some((split, true)) => match split.by {
                    // Whole blocks are combined by themselves.
                    SplitBy::Shares(steps) if i64::from(steps) % BLOCK == 0 => Self::Steps(steps),
                    SplitBy::Shares(steps) => match at_once(nest, levels, &each.body) {
                        Some(own) => Self::Wanted(steps.next_multiple_of(own)),
                        None => Self::Steps(steps),
                    },
                    SplitBy::Steps(_) | SplitBy::Elements | SplitBy::Chunks => Self::Steps(1),
                },
                _ => Self::Steps(1),
            },
            Some(Node::Loop(_) | Node::Do(_)) | None => Self::Steps(1),
        }
    }

    /// The steps, where levels have so many and so many threads share them.
    pub fn steps(&self, of: &impl Fn(usize) -> Option<i64>, threads: usize) -> u32 {
        match self {
            Self::Steps(steps) => *steps,
            Self::Wanted(steps) => {
                let each = of(0).map_or(i64::MAX, |all| all / threads.max(1) as i64);
                i64::from(*steps).min(each).max(1) as u32
            }
            Self::Choose { level, fewer_than, then, otherwise } => {
                let short = of(*level).is_some_and(|steps| steps < i64::from(*fewer_than));
                if short { then.steps(of, threads) } else { otherwise.steps(of, threads) }
            }
        }
    }
}

/// How many steps of the outermost level loops run at once that are not across lanes; none where the level is across lanes.
fn at_once(nest: &Nest, levels: usize, nodes: &[Node]) -> Option<u32> {
    let mut most = 1;
    let mut nodes: Vec<&Node> = nodes.iter().collect();
    while let Some(node) = nodes.pop() {
        match node {
            Node::Loop(each) => {
                let outermost = nest.level_of(levels, each.axis) == Some(0);
                if outermost && matches!(each.by, By::Lanes(_)) {
                    return None;
                }
                if outermost {
                    most = most.max(each.unroll);
                }
                nodes.extend(&each.body);
            }
            Node::Do(_) => {}
            Node::Choose { then, otherwise, .. } => nodes.extend(then.iter().chain(otherwise)),
        }
    }
    Some(most)
}
