//! Facts about one kernel that every backend asks for, whatever its machine is.

mod accumulators;
mod by_row;
mod cheap;
mod depths;
mod idle;
mod lanes;
mod long_levels;
mod of_lengths;
mod one_row;
mod partitions;
mod ranges;
mod row_lengths;
mod runs;
mod totals;
mod trips;
mod used;
mod within;

pub use self::{
    accumulators::{Accumulators, accumulators, shared_reduction},
    by_row::{ByRow, RowUse, by_row},
    cheap::is_cheap,
    depths::{depths, trip_count},
    idle::idle_without,
    lanes::{AcrossLanes, Lanes},
    long_levels::{LongLevels, long_level},
    of_lengths::of_lengths,
    one_row::one_row,
    partitions::{NotPartitioned, Record, in_partitions},
    ranges::{OneRange, in_ranges, in_ranges_apart_from, scans_outermost},
    row_lengths::{RowLengths, row_lengths},
    runs::{NotInRuns, Run, RunPlace, Runs, in_runs},
    totals::{has_totals, has_totals_along, totals_along, totals_only},
    trips::{Trips, constant_trips},
    used::used,
    within::is_within,
};
