//! Modules: PTX made code by the driver, or taken from the cache.

use crate::cache::Cache;
use crate::driver::call;
use crate::error::Error;
use cudarc::driver::{result, sys};
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Bytes for what the driver's assembler says.
const LOG: usize = 16 << 10;

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    module: sys::CUmodule,
    context: sys::CUcontext,
    functions: Mutex<BTreeMap<String, Function>>,
}

/// A function of a module that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function(pub sys::CUfunction);

// SAFETY: the driver takes modules and functions from any thread; every call makes the context current in its own thread.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}
// SAFETY: as above.
unsafe impl Send for Function {}

impl Module {
    /// Loads a text. The context is current.
    pub(crate) fn load(
        context: sys::CUcontext,
        text: &str,
        cache: Option<&Cache>,
        architecture: &str,
        driver: i32,
    ) -> Result<Self, Error> {
        if let Some(cache) = cache
            && let Some(code) = cache.load(text, architecture, driver)
        {
            match Self::of_code(context, &code) {
                Ok(module) => return Ok(module),
                Err(_) => cache.forget(text, architecture, driver), // what the driver does not take is made again
            }
        }
        let code = assemble(text)?;
        if let Some(cache) = cache {
            cache.store(text, architecture, driver, &code);
        }
        Self::of_code(context, &code)
    }

    fn of_code(context: sys::CUcontext, code: &[u8]) -> Result<Self, Error> {
        // SAFETY: the driver reads the length of an image from the image, which it or the cache has given whole.
        let module = call("loading a module", || unsafe { result::module::load_data(code.as_ptr().cast()) })?;
        Ok(Self { module, context, functions: Mutex::default() })
    }

    /// The entry of this name.
    pub(crate) fn function(&self, entry: &str) -> Result<Function, Error> {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&function) = functions.get(entry) {
            return Ok(function);
        }
        let doing = format!("looking for the entry `{entry}`");
        let name =
            CString::new(entry).map_err(|_| Error::Driver { doing: doing.clone(), said: "it has a zero".into() })?;
        // SAFETY: the module is there.
        let function = call(&doing, || unsafe { result::module::get_function(self.module, name) })?;
        functions.insert(entry.into(), Function(function));
        Ok(Function(function))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the context is kept; the module is unloaded once, and its functions go with it. The driver waits for launches of them.
        _ = call("choosing a GPU", || unsafe { result::ctx::set_current(self.context) })
            .and_then(|()| call("unloading a module", || unsafe { result::module::unload(self.module) }));
    }
}

/// The driver's assembler. The context is current, and its GPU is what code is made for.
fn assemble(text: &str) -> Result<Vec<u8>, Error> {
    let source = CString::new(text).map_err(|_| Error::Refused { log: "the text has a zero".into() })?;
    let mut log = vec![0u8; LOG];
    let mut options =
        [sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER, sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG)];
    let mut state = ptr::null_mut();
    // SAFETY: options and values are as many as said; the log lives until the state is destroyed, below.
    let create = || unsafe { sys::cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &mut state) }.result();
    call("starting its assembler", create)?;
    let data = source.as_bytes_with_nul();
    let name = c"fusebox";
    let added = call("assembling", || {
        let kind = sys::CUjitInputType::CU_JIT_INPUT_PTX;
        let begin = data.as_ptr().cast_mut().cast();
        // SAFETY: the text is as long as said and ends with a zero; the driver only reads it.
        let add = unsafe {
            sys::cuLinkAddData_v2(state, kind, begin, data.len(), name.as_ptr(), 0, ptr::null_mut(), ptr::null_mut())
        };
        add.result()
    });
    let code = added.and_then(|()| {
        call("assembling", || {
            let (mut code, mut bytes) = (ptr::null_mut(), 0);
            // SAFETY: the pointers are to values that live longer than the call.
            unsafe { sys::cuLinkComplete(state, &mut code, &mut bytes) }.result()?;
            // SAFETY: the driver gives that many bytes, which are its own until the state is destroyed.
            Ok(unsafe { std::slice::from_raw_parts(code.cast::<u8>(), bytes) }.to_vec())
        })
    });
    // SAFETY: the state is there, and not used any more.
    _ = call("ending its assembler", || unsafe { sys::cuLinkDestroy(state) }.result());
    code.map_err(|error| {
        let end = log.iter().position(|&byte| byte == 0).unwrap_or(LOG);
        let said = String::from_utf8_lossy(&log[..end]);
        if said.trim().is_empty() { error } else { Error::Refused { log: said.trim().into() } }
    })
}
