//! Sorts on the CPU, on one thread and on many.

use crate::common;

fusebox_conformance::sorts!(common::Cpu);
