//! Kernels that are made beside those of a plan: rows of a kernel, and versions of it for certain lengths of its levels.

use std::sync::Arc;

use fusebox_backend::BackendError;
use fusebox_ir::{
    Kernel, Plan,
    analysis::{has_room, kernels::one_row},
    association::BLOCK,
};
use fusebox_schedule::{Book, Guard, Schedule, Target, Version, guarded, rows::may_be_by_elements};
use fusebox_wide::Features;

use crate::kernel::{Forced, ScheduledKernel, accepted, broken};

/// Elements of a row that all threads share, at least.
pub(crate) const LONG_ROW: i64 = 4 * BLOCK;

/// Kernels that take the place of one of a plan in some launches, or for some of its rows.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// One row of a kernel, with its position in the plan: a row that is much longer than others is run by all threads, and not by one.
    pub(crate) rows: Vec<(usize, Kernel)>,
    /// In the order in which they are asked for.
    pub(crate) versions: Vec<GuardedVersion>,
    /// The schedules that are forced: of the kernels of the plan, of rows (which have none), of versions.
    pub(crate) forced: Vec<Forced>,
}

/// A version of a kernel, for certain lengths of its levels.
#[derive(Debug)]
pub(crate) struct GuardedVersion {
    /// The kernel's position in the plan.
    pub(crate) position: usize,
    pub(crate) when: Arc<[Guard]>,
    pub(crate) kernel: Kernel,
}

impl Beside {
    /// Of a plan that so many threads run: a single thread shares no row.
    ///
    /// # Errors
    /// [`BackendError::Compile`] of a schedule that is refused.
    pub(crate) fn of(
        plan: &Plan,
        threads: usize,
        (book, features): (&Book, Option<Features>),
    ) -> Result<Self, BackendError> {
        let mut beside = Self::default();
        let mut of_versions = Vec::new();
        for (position, kernel) in plan.kernels.iter().enumerate() {
            let mut forced = Forced::of(kernel, book);
            if let Some(schedule) = forced.in_use(features) {
                for (version, own) in apart(kernel, schedule)? {
                    let kernel = guarded(kernel, &version.when)
                        .map_err(|why| broken(kernel, format!("the schedule is refused: {why}")))?;
                    beside.versions.push(GuardedVersion { position, when: version.when.into(), kernel });
                    of_versions.push(Forced::by(own));
                }
            }
            beside.forced.push(forced);
            if threads > 1 && may_be_by_elements(kernel) {
                beside.rows.extend(one_row(kernel, LONG_ROW).map(|row| (position, row)));
            }
        }
        beside.forced.extend(beside.rows.iter().map(|_| Forced::default()));
        beside.forced.extend(of_versions);
        Ok(beside)
    }

    /// Kernels that append to what may be too short have scalar code, which looks at the room for each element.
    ///
    /// # Errors
    /// [`BackendError::Compile`] of such a kernel for which there is a schedule; as of [`ScheduledKernel::best`].
    pub(crate) fn scalar_where_room_may_lack(
        &mut self,
        plan: &Plan,
        features: Option<Features>,
    ) -> Result<(), BackendError> {
        let own = plan.kernels.iter().zip(&mut self.forced);
        for (kernel, forced) in own.filter(|(kernel, _)| !has_room(kernel)) {
            if forced.in_use(features).is_some() {
                let why = "the schedule is refused: the kernel appends to an array that may be too short, so it runs step by step and looks at the room for each element";
                return Err(broken(kernel, why.to_owned()));
            }
        }
        let scalar = |kernel: &Kernel| (!has_room(kernel)).then(|| ScheduledKernel::best(kernel, None)).transpose();
        let scheduled = self.behind(plan).map(scalar).collect::<Result<Vec<_>, _>>()?;
        for (forced, scheduled) in self.forced.iter_mut().zip(scheduled) {
            if let Some(scheduled) = scheduled {
                *forced = Forced::by(scheduled.into_schedule());
            }
        }
        Ok(())
    }

    /// The kernels of the plan, behind them the rows, and then the versions.
    pub(crate) fn behind<'p>(&'p self, plan: &'p Plan) -> impl Iterator<Item = &'p Kernel> {
        let rows = self.rows.iter().map(|(_, row)| row);
        plan.kernels.iter().chain(rows).chain(self.versions.iter().map(|version| &version.kernel))
    }
}

/// Takes the versions that are guarded out of a schedule, with a schedule for each; what is left is the last version.
fn apart(kernel: &Kernel, schedule: &mut Schedule) -> Result<Vec<(Version, Schedule)>, BackendError> {
    if let Some(target) = Target::named(&schedule.target) {
        accepted(kernel, schedule, &target)?;
    }
    let last = schedule.versions.pop();
    let guarded = std::mem::replace(&mut schedule.versions, last.into_iter().collect());
    let alone = |version: Version| {
        let own = Version { when: Vec::new(), ..version.clone() };
        (version, Schedule { target: schedule.target.clone(), versions: vec![own] })
    };
    Ok(guarded.into_iter().map(alone).collect())
}
