//! The intermediate representation: programs, kernels, plans; text, JSON, validation, traversal
