//! Errors on the simulator, by whatever threads find them.

mod common;

fusebox_conformance::failures!(common::Simulated);
