//! The tests that share a program: many programs would take as long to link as to run, and gigabytes.

mod arrays;
mod cache;
mod errors;
mod facade;
mod files;
mod floats;
mod on_device;
mod positions;
mod random;
mod whole;
mod work;
