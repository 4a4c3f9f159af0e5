//! Every scalar function on the simulator.

use crate::common;

fusebox_conformance::scalars!(common::Simulated);
