//! Errors on the CPU, from scalar code and from gangs.

use crate::common;

fusebox_conformance::failures!(common::Cpu);
