//! Every scalar function on the CPU, one by one and in gangs.

mod common;

fusebox_conformance::scalars!(common::Cpu);
