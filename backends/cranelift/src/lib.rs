//! Multicore CPU backend: code generation through Cranelift and a parallel runtime
