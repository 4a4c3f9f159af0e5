//! Random kernels on the CPU: at any number of threads, in gangs or one by one.

use crate::common;

fusebox_conformance::random_kernels!(common::Cpu);
