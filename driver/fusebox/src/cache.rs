//! A cache of compiled programs. Its keys are unoptimised programs with their options; the least recently used program is dropped first.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, LazyLock, Mutex},
};

use fusebox_backend::lock;
use fusebox_ir::{
    Plan, Program,
    json::{plan_to_json, to_json},
};

use crate::{Options, loaded::Loaded};

/// The most programs kept.
const MOST: usize = 256;
/// The most bytes of their unoptimised forms.
const MOST_BYTES: usize = 64 << 20;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Cache {
    entries: HashMap<u64, Vec<Entry>>,
    clock: u64,
    count: usize,
    bytes: usize,
    hits: u64,
    misses: u64,
}

struct Entry {
    /// The whole key, since two programs may have one hash.
    key: Arc<Key>,
    used: u64,
    loaded: Arc<Loaded>,
}

/// What decides how a program is compiled.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The program with its places, which errors name.
    program: String,
    options: Options,
}

impl Key {
    /// The key of a valid program.
    pub(crate) fn new(program: &Program, options: &Options) -> Self {
        let options = Options { verify: false, cache: true, ..options.clone() };
        Self { program: to_json(program, &[]), options }
    }

    /// The key of a valid plan. Its JSON says that it is one, so that no two keys are equal.
    pub(crate) fn of_plan(plan: &Plan, options: &Options) -> Self {
        // No passes run on it.
        let options =
            Options { verify: false, cache: true, fusion: Default::default(), sharing: true, ..options.clone() };
        Self { program: plan_to_json(plan), options }
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        Hash::hash(self, &mut hasher);
        hasher.finish()
    }
}

/// What the cache of compiled programs holds, and how often it was of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStatistics {
    /// Programs held.
    pub programs: usize,
    /// How often a program was found.
    pub hits: u64,
    /// How often one was not.
    pub misses: u64,
}

/// What the cache of compiled programs holds, and how often it was of use.
pub fn cache_statistics() -> CacheStatistics {
    let cache = lock(&CACHE);
    CacheStatistics { programs: cache.count, hits: cache.hits, misses: cache.misses }
}

/// Drops all compiled programs that nothing else holds.
pub fn clear_cache() {
    let dropped = {
        let mut cache = lock(&CACHE);
        (cache.count, cache.bytes) = (0, 0);
        std::mem::take(&mut cache.entries)
    };
    drop(dropped); // without the lock: freeing code may take its time
}

pub(crate) fn find(key: &Key) -> Option<Arc<Loaded>> {
    let mut cache = lock(&CACHE);
    cache.clock += 1;
    let (clock, hash) = (cache.clock, key.hash());
    let entry = cache.entries.get_mut(&hash).and_then(|list| list.iter_mut().find(|entry| *entry.key == *key));
    let found = entry.map(|entry| {
        entry.used = clock;
        Arc::clone(&entry.loaded)
    });
    match found {
        Some(_) => cache.hits += 1,
        None => cache.misses += 1,
    }
    found
}

/// Adds a program and returns it. If another thread has added the same one before, that is returned.
pub(crate) fn insert(key: Key, loaded: Arc<Loaded>) -> Arc<Loaded> {
    let mut cache = lock(&CACHE);
    let (hash, bytes) = (key.hash(), key.program.len());
    if let Some(entry) = cache.entries.get(&hash).and_then(|list| list.iter().find(|entry| *entry.key == key)) {
        return Arc::clone(&entry.loaded);
    }
    if bytes > MOST_BYTES / 4 {
        return loaded;
    }
    let mut dropped = Vec::new();
    while cache.count >= MOST || cache.bytes + bytes > MOST_BYTES {
        let oldest =
            cache.entries.iter().flat_map(|(&hash, list)| list.iter().map(move |entry| (entry.used, hash))).min();
        let Some((used, hash)) = oldest else { break };
        if let Some(list) = cache.entries.get_mut(&hash) {
            let at = list.iter().position(|entry| entry.used == used);
            let entry = at.map(|at| list.swap_remove(at));
            if list.is_empty() {
                cache.entries.remove(&hash);
            }
            if let Some(entry) = entry {
                cache.count -= 1;
                cache.bytes -= entry.key.program.len();
                dropped.push(entry);
            }
        }
    }
    cache.clock += 1;
    cache.count += 1;
    cache.bytes += bytes;
    let used = cache.clock;
    let entry = Entry { key: Arc::new(key), used, loaded: Arc::clone(&loaded) };
    cache.entries.entry(hash).or_default().push(entry);
    drop(cache);
    drop(dropped);
    loaded
}
