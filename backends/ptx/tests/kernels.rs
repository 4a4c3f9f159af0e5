//! Random kernels on the simulator, whatever the order of blocks and warps.

use crate::common;

fusebox_conformance::random_kernels!(common::Simulated);
