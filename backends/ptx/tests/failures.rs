//! Errors on the simulator, by whatever threads find them.

use crate::common;

fusebox_conformance::failures!(common::Simulated);
