//! Random programs on the simulator, whatever the order of blocks and warps.

mod common;

fusebox_conformance::generated!(common::Simulated);
