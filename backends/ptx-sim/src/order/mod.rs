//! Which accesses happen before which: clocks, what threads know of each other, and the shadow of memory.

mod clock;
mod messages;
mod shadow;

pub(crate) use clock::{Thread, Threads, Told, View, meet, meet_some};
pub(crate) use messages::Messages;
pub(crate) use shadow::{Access, Conflict, How, Shadow};
