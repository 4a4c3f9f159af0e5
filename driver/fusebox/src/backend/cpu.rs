//! The backend `cpu`: machine code for all cores by Cranelift.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use fusebox_backend::{BackendError, lock};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::Plan;

use super::planned::failed;
use crate::{Error, Options};

/// One backend for each number of threads asked for. All programs share its threads and memory.
static BACKENDS: LazyLock<Mutex<HashMap<usize, Arc<Cranelift>>>> = LazyLock::new(Mutex::default);

fn backend(threads: usize) -> Result<Arc<Cranelift>, Error> {
    let mut backends = lock(&BACKENDS);
    if let Some(backend) = backends.get(&threads) {
        return Ok(Arc::clone(backend));
    }
    let backend = Arc::new(Cranelift::new(Config { threads, ..Config::default() }).map_err(refused)?);
    backends.insert(threads, Arc::clone(&backend));
    Ok(backend)
}

/// The backend for a plan: with schedules of its own it is one of its own.
pub(super) fn backend_for(plan: &Plan, options: &Options) -> Result<Arc<Cranelift>, Error> {
    let threads = options.threads.map_or(0, usize::from);
    match &options.schedules {
        None => backend(threads),
        Some(text) => {
            let schedules = Arc::new(crate::schedules::read(text, plan)?);
            Cranelift::new(Config { threads, schedules, ..Config::default() }).map(Arc::new).map_err(refused)
        }
    }
}

fn refused(error: BackendError) -> Error {
    failed(crate::Backend::Cpu, error)
}
