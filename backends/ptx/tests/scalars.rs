//! Every scalar function on the simulator.

mod common;

fusebox_conformance::scalars!(common::Simulated);
