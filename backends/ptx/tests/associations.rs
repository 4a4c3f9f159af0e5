//! Every association on the simulator.

mod common;

fusebox_conformance::associations!(common::Simulated);
