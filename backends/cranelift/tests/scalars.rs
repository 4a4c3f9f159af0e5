//! Every scalar function on the CPU, one by one and in gangs.

use crate::common;

fusebox_conformance::scalars!(common::Cpu);
