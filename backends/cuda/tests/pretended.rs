//! A library in the place of the driver that does what a driver promises and no more (`pretended.c`): what is asked of it, in which order,
//! from which thread, and what is waited for.

#![cfg(target_os = "linux")]

use std::{fs, path::Path, process::Command};

use fusebox_backend::device_memory::{Access, DeviceMemory, QueueId, Remote};
use fusebox_cuda::{Cuda, Options, gpus};
use fusebox_ir::Array;
use fusebox_ptx::{Device, DeviceLaunch};

/// Set in the process that the test below starts.
const PRETENDED: &str = "FUSEBOX_TEST_PRETENDED";

#[test]
fn with_a_pretended_driver() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pretended.c");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-w", "-pthread", "-o"])
        .arg(folder.path().join("libcuda.so"))
        .arg(source);
    let Ok(made) = compiler.output() else {
        println!("SKIPPED: there is no C compiler");
        return;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "in_a_process_with_a_pretended_driver", "--nocapture"]);
    child.env("LD_LIBRARY_PATH", folder.path()).env(PRETENDED, folder.path().join("cache"));
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("all was as it should be"), "{said}");
}

/// Only does something in the process that the test above starts.
#[test]
fn in_a_process_with_a_pretended_driver() {
    let Some(cache) = std::env::var_os(PRETENDED) else { return };
    let options = Options { ordinal: 0, cache: Some(cache.into()) };
    described(&options);
    copies(&options);
    order(&options);
    memory_runs_out(&options);
    modules(&options);
    threads(&options);
    arrays(&options);
    println!("all was as it should be");
}

fn numbers(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at as u32).wrapping_mul(2_654_435_761).to_le_bytes()[3]).collect()
}

fn described(options: &Options) {
    let found = gpus().unwrap();
    assert_eq!(
        (found.len(), found[0].name.as_str(), found[0].architecture().as_str()),
        (1, "a pretended GPU", "sm_90")
    );
    let gpu = Cuda::open(options.clone()).unwrap();
    assert_eq!(gpu.driver(), "12.4");
    let (free, all) = gpu.memory().unwrap();
    assert_eq!((free, all), (64 << 20, 64 << 20));
    // So little is the driver's own.
    assert_eq!(gpu.room().unwrap(), 0);
    let error = Cuda::open(Options { ordinal: 1, ..options.clone() }).unwrap_err();
    assert_eq!(error.to_string(), "there is no GPU 1: there are 1");
}

/// Of every length around the pieces that copies go through.
fn copies(options: &Options) {
    let gpu = Cuda::open(options.clone()).unwrap();
    let piece = 4 << 20;
    for length in [0, 1, 15, 16, 17, piece - 1, piece, piece + 1, 2 * piece, 3 * piece + 12_345] {
        let bytes = numbers(length);
        let room = length.next_multiple_of(16).max(16) as u64;
        let address = Remote::allocate(&gpu, "a", room).unwrap().unwrap();
        gpu.upload(address, &bytes).unwrap();
        let mut back = vec![0; length];
        gpu.download(address, &mut back).unwrap();
        assert!(back == bytes, "{length}");
        // Zeros follow up to a multiple of 16.
        let mut behind = vec![1; length.next_multiple_of(16)];
        gpu.download(address, &mut behind).unwrap();
        assert!(behind[length..].iter().all(|&byte| byte == 0), "{length}");
        let mut half = vec![0; length / 2];
        gpu.download(address + (length / 4) as u64, &mut half).unwrap();
        assert!(half == bytes[length / 4..][..length / 2], "{length}");
        // What is not allocated is refused before the driver is asked.
        assert!(gpu.upload(address + 16, &vec![0; room as usize]).is_err());
        gpu.free(address);
        assert!(length == 0 || gpu.download(address, &mut back).is_err());
    }
    assert_eq!(gpu.memory().unwrap().0, 64 << 20);
}

/// The order of work in a queue, and what waits for it.
fn order(options: &Options) {
    let gpu = Cuda::open(options.clone()).unwrap();
    let module = gpu.load(".visible .entry add_one(.param .u64 a, .param .u64 n)").unwrap();
    let [a, b] = [(); 2].map(|()| Remote::allocate(&gpu, "a", 400).unwrap().unwrap());
    let words = |address: u64| {
        let mut bytes = vec![0; 400];
        gpu.download(address, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect::<Vec<u32>>()
    };
    gpu.upload(a, &[0; 400]).unwrap();
    gpu.upload(b, &[0; 400]).unwrap();
    let queue = gpu.queue().unwrap();
    let launch = |count: u64| {
        let arguments = [a, count];
        gpu.launch(&queue, &module, &DeviceLaunch { entry: "add_one", blocks: 3, threads: 64, arguments: &arguments })
    };
    let first = Device::record(&gpu, &queue).unwrap();
    launch(100).unwrap();
    launch(50).unwrap();
    gpu.copy(&queue, a, b, 400).unwrap();
    let half = Device::record(&gpu, &queue).unwrap();
    gpu.clear(&queue, a, 8).unwrap();
    let last = Device::record(&gpu, &queue).unwrap();
    assert!(gpu.is_done(&first).unwrap() && !gpu.is_done(&half).unwrap());
    // A copy to the host does not wait for other queues: who wants to see their work waits.
    assert_eq!(words(b), [0; 100]);
    gpu.wait(&half).unwrap();
    assert!(gpu.is_done(&half).unwrap() && !gpu.is_done(&last).unwrap());
    let expected: Vec<u32> = (0..100).map(|at| if at < 50 { 2 } else { 1 }).collect();
    assert_eq!((words(b), words(a)), (expected.clone(), expected));
    assert!(last.since(&first).is_err());
    gpu.synchronise(&queue).unwrap();
    assert_eq!((words(a)[..3].to_vec(), last.since(&first).unwrap()), (vec![0, 0, 2], 4.0));
    // What the driver refuses says what was asked for.
    let error = launch(101).unwrap_err().to_string();
    assert!(error.contains("launching `add_one` with 3 blocks of 64 threads") && error.contains("INVALID"), "{error}");
    let none = DeviceLaunch { entry: "add_two", blocks: 1, threads: 1, arguments: &[] };
    assert!(gpu.launch(&queue, &module, &none).unwrap_err().to_string().contains("`add_two`"));
}

fn memory_runs_out(options: &Options) {
    let gpu = Cuda::open(options.clone()).unwrap();
    let large = Remote::allocate(&gpu, "large", 40 << 20).unwrap().unwrap();
    assert_eq!(Remote::allocate(&gpu, "larger", 40 << 20).unwrap(), None);
    gpu.free(large);
    gpu.free(large);
    let again = Remote::allocate(&gpu, "larger", 40 << 20).unwrap();
    assert!(again.is_some());
    // What is left is freed with the device.
    drop(gpu);
    assert_eq!(Cuda::open(options.clone()).unwrap().memory().unwrap().0, 64 << 20);
}

/// The assembler is asked once for a text; what the driver does not take is made again.
fn modules(options: &Options) {
    let gpu = Cuda::open(options.clone()).unwrap();
    let asked = || gpus().unwrap()[0].processors;
    let text = ".visible .entry add_one // of this test";
    let before = asked();
    drop(gpu.load(text).unwrap());
    drop(gpu.load(text).unwrap());
    drop(Cuda::open(options.clone()).unwrap().load(text).unwrap());
    assert_eq!(asked(), before + 1);
    for file in fs::read_dir(options.cache.as_ref().unwrap()).unwrap() {
        let path = file.unwrap().path();
        assert!(path.extension().is_some_and(|extension| extension == "cubin"), "{}", path.display());
        let mut content = fs::read(&path).unwrap();
        let code = content.windows(4).position(|four| four == b"CODE").unwrap();
        content[code] = b'X';
        fs::write(&path, content).unwrap();
    }
    drop(gpu.load(text).unwrap());
    drop(gpu.load(text).unwrap());
    assert_eq!(asked(), before + 2);
    let without = Cuda::open(Options { cache: None, ..options.clone() }).unwrap();
    drop(without.load(text).unwrap());
    assert_eq!(asked(), before + 3);
    let error = gpu.load("nonsense").err().unwrap().to_string();
    assert_eq!(error, "the driver does not take the PTX: line 3: nonsense");
    assert!(gpu.load("a zero \0 inside").is_err());
}

/// Any thread may ask, whatever it has done before.
fn threads(options: &Options) {
    let gpu = Cuda::open(options.clone()).unwrap();
    let module = gpu.load("add_one").unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (gpu, module) = (&gpu, &module);
            scope.spawn(move || {
                let queue = gpu.queue().unwrap();
                for round in 0..20usize {
                    let bytes = vec![thread; 4 * (1000 + 100_000 * (round % 3))];
                    let address = Remote::allocate(gpu, "a", bytes.len() as u64).unwrap().unwrap();
                    gpu.upload(address, &bytes).unwrap();
                    let arguments = [address, bytes.len() as u64 / 4];
                    let launch = DeviceLaunch { entry: "add_one", blocks: 1, threads: 32, arguments: &arguments };
                    gpu.launch(&queue, module, &launch).unwrap();
                    gpu.wait(&Device::record(gpu, &queue).unwrap()).unwrap();
                    let mut back = vec![0; bytes.len()];
                    gpu.download(address, &mut back).unwrap();
                    let word = u32::from_le_bytes([thread; 4]) + 1;
                    assert!(back.chunks_exact(4).all(|own| own == word.to_le_bytes()));
                    gpu.free(address);
                }
            });
        }
    });
    assert_eq!(gpu.memory().unwrap().0, 64 << 20);
}

/// The cache of arrays on top of it: more arrays than there is room for.
fn arrays(options: &Options) {
    const WORDS: usize = 1 << 18;
    let memory = DeviceMemory::with_limit(Cuda::open(options.clone()).unwrap(), 3 << 20);
    let gpu = memory.remote();
    let (module, queue, id) = (gpu.load("add_one").unwrap(), gpu.queue().unwrap(), QueueId::unique());
    let words = |number: u32| vec![number; WORDS];
    let arrays: Vec<_> = (0..10u32)
        .map(|number| memory.import("an array", &Array::new(&[WORDS], &words(number)).unwrap()).unwrap())
        .collect();
    for _ in 0..2 {
        for array in &arrays {
            let pins = memory.pin(&[(array, Access::Write)]).unwrap();
            let arguments = [pins.address(0), WORDS as u64];
            let launch = DeviceLaunch { entry: "add_one", blocks: 1, threads: 32, arguments: &arguments };
            gpu.launch(&queue, &module, &launch).unwrap();
            pins.release(id, &Device::record(gpu, &queue).unwrap());
        }
    }
    for (number, array) in (0..).zip(&arrays) {
        assert!(array.to_host().unwrap().as_slice::<u32>() == Some(&words(number + 2)[..]), "{number}");
    }
    let transfers = memory.transfers();
    assert!(transfers.evictions >= 14 && transfers.uploads >= 17, "{transfers:?}");
}
