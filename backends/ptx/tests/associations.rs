//! Every association on the simulator.

use crate::common;

fusebox_conformance::associations!(common::Simulated);
