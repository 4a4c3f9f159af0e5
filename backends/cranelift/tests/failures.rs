//! Errors on the CPU, from scalar code and from gangs.

mod common;

fusebox_conformance::failures!(common::Cpu);
