//! Every association on the CPU: at any number of threads, in gangs or one by one.

use crate::common;

fusebox_conformance::associations!(common::Cpu);
