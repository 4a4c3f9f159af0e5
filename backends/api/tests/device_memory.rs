//! Device memory as a cache, on a simulated device: who leaves, what is copied, what is refused.

use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_backend::device_memory::{
    Access, DeviceMemory, MemoryError, QueueId, Remote, ResidentArray, Simulated, Transfers,
};
use fusebox_ir::{Array as HostArray, ElementType};

type Memory = DeviceMemory<Simulated>;
type Array = ResidentArray<Simulated>;

/// Elements of a block of the smallest size, of one byte each.
const BLOCK: u64 = 128;

fn device(blocks: u64) -> Memory {
    DeviceMemory::new(Simulated::new(blocks * BLOCK))
}

/// Memory for so many bytes.
fn allocated(
    memory: &Memory,
    name: &str,
    bytes: u64,
) -> Result<Array, MemoryError<fusebox_backend::device_memory::NotAllocated>> {
    memory.allocate(name, ElementType::U8, &[bytes as usize], None)
}

/// So many bytes of the host.
fn bytes(value: u8, count: usize) -> HostArray {
    HostArray::new(&[count], &vec![value; count]).unwrap()
}

/// The values that the host gets.
fn values(array: &Array) -> Vec<u8> {
    array.to_host().unwrap().to_vec().unwrap()
}

/// An array that the device fills with a value.
fn filled(memory: &Memory, name: &str, value: u8) -> Array {
    let array = allocated(memory, name, BLOCK).unwrap();
    touch(memory, &array, Access::Write, |bytes| bytes.fill(value));
    array
}

/// The queue that tests work in.
fn queue() -> QueueId {
    static QUEUE: std::sync::LazyLock<QueueId> = std::sync::LazyLock::new(QueueId::unique);
    *QUEUE
}

/// A kernel on one array.
fn touch(memory: &Memory, array: &Array, access: Access, kernel: impl FnOnce(&mut [u8])) {
    let pins = memory.pin(&[(array, access)]).unwrap();
    memory.remote().run(&[pins.address(0)], |blocks| kernel(&mut blocks[0])).unwrap();
    pins.release(queue(), &memory.remote().record());
}

fn names(memory: &Memory) -> Vec<String> {
    memory.live().into_iter().map(|array| array.name).collect()
}

#[test]
fn the_victims_are_those_that_were_not_used_for_longest() {
    let memory = device(3);
    let [a, b, c] = ["A", "B", "C"].map(|name| filled(&memory, name, name.as_bytes()[0]));
    touch(&memory, &a, Access::Read, |_| ());
    assert_eq!(memory.transfers(), Transfers::default());

    let d = filled(&memory, "D", b'D'); // B leaves, copied back
    assert_eq!(names(&memory), ["A", "C", "D"]);
    assert_eq!((memory.transfers().downloads, memory.transfers().uploads), (1, 0));

    touch(&memory, &b, Access::Read, |bytes| assert_eq!(bytes, [b'B'; 128])); // C leaves, copied back; B comes, clean
    assert_eq!(names(&memory), ["A", "B", "D"]);
    assert_eq!((memory.transfers().downloads, memory.transfers().uploads), (2, 1));

    let e = filled(&memory, "E", b'E'); // A leaves, copied back
    assert_eq!(names(&memory), ["B", "D", "E"]);
    assert_eq!((memory.transfers().downloads, memory.transfers().uploads), (3, 1));

    let pins = memory.pin(&[(&d, Access::Read), (&e, Access::Read)]).unwrap();
    let f = allocated(&memory, "F", BLOCK).unwrap(); // B leaves, which is clean: nothing is copied
    assert_eq!(names(&memory), ["D", "E", "F"]);
    assert_eq!((memory.transfers().downloads, memory.transfers().uploads), (3, 1));

    let more = memory.pin(&[(&f, Access::Write)]).unwrap();
    let error = allocated(&memory, "G", BLOCK).unwrap_err();
    let message = "no room on the device for `G`, 128 bytes; there are `D` of 128 bytes (in use), `E` of 128 bytes (in use), \
                   `F` of 128 bytes (in use)";
    assert_eq!(error.to_string(), message);
    drop((pins, more));
    for (array, value) in [(&a, b'A'), (&b, b'B'), (&c, b'C'), (&d, b'D'), (&e, b'E')] {
        assert_eq!(values(array), [value; 128]);
    }
    assert_eq!(memory.transfers().evictions, 4);
}

#[test]
fn an_array_of_somebody_else_never_leaves() {
    let memory = device(3);
    let foreign = memory.remote().allocate("foreign", BLOCK).unwrap().unwrap();
    let adopted = memory.adopt("foreign", foreign, BLOCK);
    let arrays: Vec<Array> = (0..6).map(|number| filled(&memory, &format!("a{number}"), number)).collect();
    assert!(adopted.is_resident());
    let pins = memory.pin(&[(&adopted, Access::Read), (&arrays[5], Access::Read), (&arrays[4], Access::Read)]).unwrap();
    assert_eq!(pins.address(0), foreign);
    assert!(matches!(allocated(&memory, "more", BLOCK), Err(MemoryError::Exhausted { .. })));
    drop((pins, adopted, arrays));
    memory.reclaim();
    assert_eq!(memory.remote().used(), BLOCK); // it is not freed here
}

#[test]
fn free_blocks_are_used_again_at_their_size() {
    let memory = device(8);
    let a = filled(&memory, "a", 1);
    let address = memory.pin(&[(&a, Access::Read)]).unwrap().address(0);
    drop(a);
    let b = allocated(&memory, "b", 100).unwrap(); // rounded up to the same size
    assert_eq!(memory.pin(&[(&b, Access::Write)]).unwrap().address(0), address);
    assert_eq!(memory.remote().used(), BLOCK);
    drop(b);
    let _large = allocated(&memory, "large", 8 * BLOCK).unwrap(); // only fits when the nursery is empty
    assert_eq!((memory.remote().used(), memory.transfers().evictions), (8 * BLOCK, 0));
}

#[test]
fn what_the_host_has_is_copied_once_and_never_back() {
    let memory = device(2);
    let host = bytes(7, 128);
    let input = memory.import("input", &host).unwrap();
    assert!(!input.is_resident());
    for _ in 0..3 {
        touch(&memory, &input, Access::Read, |block| assert_eq!(block, [7; 128]));
    }
    assert!(input.to_host().unwrap().shares_memory_with(&host));
    let _others = [filled(&memory, "x", 1), filled(&memory, "y", 2)]; // it leaves
    assert!(!input.is_resident());
    let transfers = memory.transfers();
    assert_eq!((transfers.uploads, transfers.uploaded_bytes, transfers.downloads, transfers.evictions), (1, 128, 0, 1));
    // Once the device writes to it, the copy of the host is not valid any more.
    touch(&memory, &input, Access::Write, |block| block[0] = 8);
    assert_eq!(values(&input)[..2], [8, 7]);
    assert_eq!(host.get(0), 7u8.into());
}

#[test]
fn results_are_copied_when_they_are_asked_for_and_once() {
    let memory = device(2);
    let a = filled(&memory, "a", 3);
    assert_eq!(memory.transfers().downloads, 0);
    assert_eq!(values(&a), [3; 128]);
    assert_eq!(values(&a), [3; 128]);
    assert_eq!(memory.transfers().downloads, 1);
    let _others = [filled(&memory, "x", 1), filled(&memory, "y", 2)]; // it leaves, and is clean
    assert_eq!((memory.transfers().downloads, memory.transfers().evictions), (1, 1));
}

#[test]
fn work_that_is_under_way_keeps_its_arrays() {
    let memory = device(2);
    memory.remote().work_slowly();
    let (a, b) = (filled(&memory, "a", 1), filled(&memory, "b", 2));
    // Both are used by work: the one that was used first is waited for.
    let c = allocated(&memory, "c", BLOCK).unwrap();
    assert!(!a.is_resident() && b.is_resident() && c.is_resident());
    assert_eq!(values(&a), [1; 128]);
    // The block of a dropped array is not used while work uses it, but for want of any other it is waited for.
    touch(&memory, &b, Access::Write, |_| ());
    drop(b);
    let before = memory.transfers();
    let _d = allocated(&memory, "d", BLOCK).unwrap();
    assert_eq!(memory.transfers(), before);
}

#[test]
fn a_guard_keeps_an_array_that_is_dropped() {
    let memory = device(2);
    let a = filled(&memory, "a", 5);
    let pins = memory.pin(&[(&a, Access::Read)]).unwrap();
    let address = pins.address(0);
    drop(a);
    let b = allocated(&memory, "b", BLOCK).unwrap();
    assert_ne!(memory.pin(&[(&b, Access::Write)]).unwrap().address(0), address);
    memory.remote().run(&[address], |blocks| assert_eq!(blocks[0], [5; 128])).unwrap();
    drop(pins);
    let c = allocated(&memory, "c", BLOCK).unwrap();
    assert_eq!(memory.pin(&[(&c, Access::Write)]).unwrap().address(0), address);
}

#[test]
fn a_launch_that_cannot_fit_says_what_is_there() {
    let memory = device(4);
    let small = filled(&memory, "small", 1);
    let large = allocated(&memory, "large", 3 * BLOCK).unwrap();
    let input = memory.import("input", &bytes(0, 256)).unwrap();
    let error = memory.pin(&[(&large, Access::Write), (&input, Access::Read)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no room on the device for `input`, 256 bytes; there are `large` of 384 bytes (in use)"
    );
    assert_eq!(values(&small), [1; 128]); // it had left before
    // The guard that failed keeps nothing.
    let _pins = memory.pin(&[(&input, Access::Read)]).unwrap();
    assert!(matches!(
        memory.allocate("huge", ElementType::F64, &[usize::MAX, 3], None),
        Err(MemoryError::TooLarge { .. })
    ));
}

/// A model of the cache that knows names alone: which are on the device, and which of them the host has too.
#[derive(Default)]
struct Model {
    /// The least recently used first; whether the host lacks it.
    resident: Vec<(usize, bool)>,
    on_host: Vec<bool>,
    transfers: (u64, u64),
}

impl Model {
    fn make_room(&mut self, capacity: usize, keep: &[usize]) {
        while self.resident.len() >= capacity {
            let at = self.resident.iter().position(|(array, _)| !keep.contains(array)).unwrap();
            let (array, dirty) = self.resident.remove(at);
            self.transfers.1 += u64::from(dirty);
            self.on_host[array] = true;
        }
    }

    fn create(&mut self, capacity: usize) -> usize {
        self.make_room(capacity, &[]);
        self.on_host.push(false);
        self.resident.push((self.on_host.len() - 1, true));
        self.on_host.len() - 1
    }

    /// Brings arrays in order, then notes their use in order.
    fn launch(&mut self, capacity: usize, arrays: [usize; 3]) {
        for array in arrays {
            if !self.resident.iter().any(|(known, _)| *known == array) {
                self.make_room(capacity, &arrays);
                self.resident.push((array, false));
                self.transfers.0 += 1;
            }
        }
        let written = arrays[2];
        for array in arrays {
            let at = self.resident.iter().position(|(known, _)| *known == array).unwrap();
            let (_, dirty) = self.resident.remove(at);
            self.resident.push((array, dirty || array == written));
        }
    }
}

#[test]
fn programs_ten_times_the_size_of_the_device_run_right() {
    const CAPACITY: usize = 6;
    let memory = device(CAPACITY as u64);
    let mut model = Model::default();
    let mut arrays: Vec<(Array, u8)> = Vec::new();
    for value in 0..60u8 {
        let array = allocated(&memory, &format!("a{value}"), BLOCK).unwrap();
        model.create(CAPACITY);
        let pins = memory.pin(&[(&array, Access::Write)]).unwrap();
        memory.remote().run(&[pins.address(0)], |blocks| blocks[0].fill(value)).unwrap();
        drop(pins);
        arrays.push((array, value));
    }
    let mut state = 1u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    for _ in 0..2_000 {
        let (x, y) = (below(60), below(60));
        let z = (0..60).map(|_| below(60)).find(|z| *z != x && *z != y).unwrap();
        if x == y {
            continue;
        }
        // z = x + 2 y
        let of = |at: usize| &arrays[at].0;
        let pins = memory.pin(&[(of(x), Access::Read), (of(y), Access::Read), (of(z), Access::Write)]).unwrap();
        let places = [pins.address(0), pins.address(1), pins.address(2)];
        let add = |blocks: &mut [Vec<u8>]| {
            let (sources, result) = blocks.split_at_mut(2);
            for ((sum, x), y) in result[0].iter_mut().zip(&sources[0]).zip(&sources[1]) {
                *sum = x.wrapping_add(y.wrapping_mul(2));
            }
        };
        memory.remote().run(&places, add).unwrap();
        pins.release(queue(), &memory.remote().record());
        model.launch(CAPACITY, [x, y, z]);
        arrays[z].1 = arrays[x].1.wrapping_add(arrays[y].1.wrapping_mul(2));
    }
    let transfers = memory.transfers();
    assert_eq!((transfers.uploads, transfers.downloads), model.transfers);
    assert!(memory.remote().used() <= CAPACITY as u64 * BLOCK);
    for (array, value) in &arrays {
        assert_eq!(values(array), [*value; 128]);
    }
}

#[test]
fn everything_goes_back_at_the_end() {
    let memory = device(4);
    memory.remote().work_slowly();
    let a = filled(&memory, "a", 1);
    drop(filled(&memory, "b", 1));
    assert_eq!(memory.remote().used(), 2 * BLOCK);
    drop(a);
    memory.reclaim();
    assert!(memory.remote().used() <= 2 * BLOCK); // work may still use them
    memory.remote().wait(&memory.remote().record()).unwrap();
    memory.reclaim();
    assert_eq!(memory.remote().used(), 0);
}

#[test]
fn no_more_is_taken_from_the_driver_than_the_limit() {
    let memory = DeviceMemory::with_limit(Simulated::new(100 * BLOCK), 2 * BLOCK);
    let arrays: Vec<Array> = (0..5).map(|value| filled(&memory, &format!("a{value}"), value)).collect();
    assert_eq!((memory.remote().used(), memory.transfers().evictions), (2 * BLOCK, 3));
    for (value, array) in arrays.iter().enumerate() {
        touch(&memory, array, Access::Read, |block| assert_eq!(block, [value as u8; 128]));
        assert!(memory.remote().used() <= 2 * BLOCK);
    }
    // Nothing leaves for what can never fit.
    let before = memory.transfers();
    assert!(matches!(allocated(&memory, "large", 3 * BLOCK), Err(MemoryError::Exhausted { .. })));
    assert_eq!(memory.transfers(), before);
}

#[test]
fn memory_to_work_in_is_never_copied() {
    let memory = device(2);
    let scratch = memory.scratch("scratch", BLOCK).unwrap();
    assert!(!scratch.is_resident());
    for round in 0..3 {
        let pins = memory.pin(&[(&scratch, Access::Write)]).unwrap();
        assert!(pins.is_new(0), "round {round}");
        memory.remote().run(&[pins.address(0)], |blocks| blocks[0].fill(9)).unwrap();
        drop(pins);
        // While it stays it keeps what it holds, and its block.
        let pins = memory.pin(&[(&scratch, Access::Write)]).unwrap();
        assert!(!pins.is_new(0));
        memory.remote().run(&[pins.address(0)], |blocks| assert_eq!(blocks[0], [9; 128])).unwrap();
        drop(pins);
        let _others = [filled(&memory, "x", 1), filled(&memory, "y", 2)]; // it leaves
        assert!(!scratch.is_resident());
    }
    assert_eq!((memory.transfers().uploads, memory.transfers().downloads), (0, 0));
    assert!(scratch.to_host().is_err());
}

#[test]
fn work_of_one_queue_takes_blocks_that_its_own_work_still_uses() {
    let memory = device(2);
    memory.remote().work_slowly();
    let place = |array: &Array| memory.pin(&[(array, Access::Write)]).unwrap().address(0);
    let a = filled(&memory, "a", 1);
    let first = place(&a);
    drop(a);
    let other = memory.allocate("other", ElementType::U8, &[128], Some(QueueId::unique())).unwrap();
    assert_ne!(place(&other), first); // the work on `a` is not done, and nothing orders the other queue after it
    let own = memory.allocate("own", ElementType::U8, &[128], Some(queue())).unwrap();
    assert_eq!(place(&own), first);
    assert_eq!(memory.remote().used(), 2 * BLOCK);
}

#[test]
fn a_thread_waits_until_another_lets_arrays_go() {
    let memory = device(2);
    let arrays = [filled(&memory, "a", 1), filled(&memory, "b", 2)];
    let pins = memory.pin(&[(&arrays[0], Access::Read), (&arrays[1], Access::Read)]).unwrap();
    let released = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let array = allocated(&memory, "c", BLOCK).unwrap();
            assert!(released.load(Ordering::SeqCst));
            let input = memory.import("d", &bytes(4, 256)).unwrap();
            touch(&memory, &input, Access::Read, |block| assert_eq!(block, [4; 256]));
            drop(array);
        });
        std::thread::yield_now();
        // This thread keeps arrays itself: it would wait for ever, and is told so.
        assert!(matches!(allocated(&memory, "e", BLOCK), Err(MemoryError::Exhausted { .. })));
        released.store(true, Ordering::SeqCst);
        drop(pins);
        other.join().unwrap();
    });
    assert_eq!((values(&arrays[0]), values(&arrays[1])), (vec![1; 128], vec![2; 128]));
}

#[test]
fn the_first_bytes_of_an_array_are_read_alone() {
    let memory = device(1);
    let array = filled(&memory, "a", 6);
    let mut first = [0; 3];
    array.read(&mut first).unwrap();
    assert_eq!((first, memory.transfers().downloaded_bytes), ([6; 3], 3));
    let _other = filled(&memory, "b", 1); // it leaves, and the host has it
    let downloads = memory.transfers().downloads;
    array.read(&mut first).unwrap();
    assert_eq!(memory.transfers().downloads, downloads);
    assert!(matches!(array.read(&mut [0; 129]), Err(MemoryError::TooLarge { .. })));
}

#[test]
fn many_threads_share_a_device_that_is_too_small_for_them() {
    const THREADS: u64 = 6;
    let memory = device(5);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let memory = &memory;
            scope.spawn(move || {
                let arrays: Vec<Array> =
                    (0..4).map(|number| filled(memory, &format!("{thread}.{number}"), number)).collect();
                for round in 0..200usize {
                    let (from, to) = (&arrays[round % 4], &arrays[(round + 1) % 4]);
                    let pins = memory.pin(&[(from, Access::Read), (to, Access::Write)]).unwrap();
                    let copy = |blocks: &mut [Vec<u8>]| blocks[1] = blocks[0].iter().map(|byte| byte + 1).collect();
                    memory.remote().run(&[pins.address(0), pins.address(1)], copy).unwrap();
                    pins.release(queue(), &memory.remote().record());
                }
                assert_eq!(values(&arrays[0]), [200; 128]);
            });
        }
    });
    assert!(memory.remote().used() <= 5 * BLOCK);
}
