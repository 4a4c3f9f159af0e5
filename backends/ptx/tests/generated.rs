//! Random programs on the simulator, whatever the order of blocks and warps.

use crate::common;

fusebox_conformance::generated!(common::Simulated);
