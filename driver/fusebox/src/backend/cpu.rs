//! The backend `cpu`: machine code for all cores by Cranelift.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use fusebox_backend::{BackendError, lock};
use fusebox_cranelift::{Config, Cranelift, Features};
use fusebox_ir::Plan;

use super::failed::failed;
use crate::{Error, Options};

/// One backend for each number of threads and bits of vectors asked for. All programs share its threads and memory.
static BACKENDS: LazyLock<Mutex<HashMap<(usize, Option<u32>), Arc<Cranelift>>>> = LazyLock::new(Mutex::default);

/// The backend for a plan: with schedules of its own it is one of its own.
pub(super) fn backend_for(plan: &Plan, options: &Options) -> Result<Arc<Cranelift>, Error> {
    if let Some(text) = &options.schedules {
        let schedules = Arc::new(crate::schedules::read(text, plan)?);
        return Cranelift::new(Config { schedules, ..config(options)? }).map(Arc::new).map_err(refused);
    }
    let mut backends = lock(&BACKENDS);
    let wanted = (options.threads.map_or(0, usize::from), options.vector_bits);
    if let Some(backend) = backends.get(&wanted) {
        return Ok(Arc::clone(backend));
    }
    let backend = Arc::new(Cranelift::new(config(options)?).map_err(refused)?);
    backends.insert(wanted, Arc::clone(&backend));
    Ok(backend)
}

fn config(options: &Options) -> Result<Config, Error> {
    let config = Config { threads: options.threads.map_or(0, usize::from), ..Config::default() };
    // The features of the machine at hand, where it has such vectors: if not, the backend says what it lacks.
    let own = |bytes| Features::of_this_machine().filter(|own| own.vector_bytes() == bytes);
    Ok(match options.vector_bits {
        None => config,
        Some(128) => Config { wide: false, ..config },
        Some(256) => Config { features: Some(own(32).unwrap_or(Features::AVX2)), ..config },
        Some(512) => Config { features: Some(own(64).unwrap_or(Features::BASE)), ..config },
        Some(bits) => {
            let what = format!("vectors of {bits} bits: there are 128, 256 and 512");
            return Err(refused(BackendError::Unsupported { backend: "cpu", what }));
        }
    })
}

fn refused(error: BackendError) -> Error {
    failed(crate::Backend::Cpu, error)
}
