//! Scalar and size simplification, common subexpressions, dead code, loop recovery
