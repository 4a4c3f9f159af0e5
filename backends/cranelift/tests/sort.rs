//! Sorts on the CPU, on one thread and on many.

mod common;

fusebox_conformance::sorts!(common::Cpu);
