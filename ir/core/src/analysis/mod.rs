//! What passes share: facts about a program, in tables keyed by id.

pub mod algebra;
pub mod branches;
pub mod components;
pub mod counts;
pub mod definitions;
pub mod demand;
pub mod effects;
pub mod elements;
pub mod equal;
pub mod in_place;
pub mod independent;
pub mod inside;
pub mod kernels;
pub mod linear;
pub mod marks;
pub mod need;
pub mod restrict;
pub mod row_loops;
pub mod row_sequences;
pub mod rows;
pub mod scalar_blocks;
mod selection;
pub mod sizes;
pub mod spine;
pub mod union_find;
pub mod uses;
pub mod walk;
pub mod work;

pub use self::{
    algebra::{Algebra, algebra},
    definitions::{Definition, Definitions},
    effects::{can_fail, demand_is_known, function_can_fail, instruction_can_fail},
    equal::Equal,
    in_place::{InPlace, NotInPlace},
    independent::IndependentLaunches,
    inside::{has_room, with_checks},
    linear::Linear,
    marks::marks,
    need::{certain_params, possible_params},
    row_loops::{NotByRow, RowLaunch, RowLoop},
    row_sequences::{RowSequence, RowSequences},
    rows::Rows,
    sizes::{Answer, Size, Sizes},
    spine::{Spine, makes_elements, spine},
    union_find::UnionFind,
    uses::{Uses, live},
    walk::{Domain, Walk},
    work::{work, work_of_instruction, work_of_statement},
};
