//! What every backend offers: compile, load, run; its errors and buffers
