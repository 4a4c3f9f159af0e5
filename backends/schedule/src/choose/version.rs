//! One more version of a schedule.

use fusebox_ir::Kernel;

use super::{Preferences, schedule};
use crate::{
    schedule::{Guard, Schedule, Version},
    target::Target,
    versions::{MOST_VERSIONS, guarded},
};

/// A schedule with one more version, for launches in which these guards hold: what the scheduler chooses for the kernel whose sizes are
/// numbers. None if a guard is none, or if the schedule has as many versions as one may have.
pub fn with_version(kernel: &Kernel, usual: &Schedule, when: &[Guard], target: &Target) -> Option<Schedule> {
    let own = guarded(kernel, when).ok().filter(|_| usual.versions.len() < MOST_VERSIONS)?;
    let best = schedule(&own, target, Preferences::default()).schedule.versions.pop()?;
    let mut versions = vec![Version { when: when.to_vec(), ..best }];
    versions.extend(usual.versions.iter().cloned());
    Some(Schedule { target: usual.target.clone(), versions })
}
