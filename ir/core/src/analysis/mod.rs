//! What passes share: facts about a program, in tables keyed by id.

pub mod algebra;
pub mod components;
pub mod counts;
pub mod definitions;
pub mod demand;
pub mod effects;
pub mod inside;
pub mod need;
pub mod over;
pub mod restrict;
pub mod sizes;
pub mod spine;
pub mod uses;
pub mod walk;
pub mod work;

pub use self::{
    algebra::{Algebra, algebra},
    definitions::{Definition, Definitions},
    effects::{can_fail, demand_is_known, function_can_fail, instruction_can_fail},
    inside::{has_room, with_checks},
    need::{certain_params, possible_params},
    over::{NotOver, may_write_over},
    sizes::{Answer, Size, Sizes},
    spine::{Spine, makes_elements, spine},
    uses::{Uses, live},
    walk::{Domain, Walk},
    work::{work, work_of_instruction, work_of_statement},
};
