//! Device memory as a cache, on a simulated device: who leaves, what is copied, what is refused.

use std::sync::Arc;

use fusebox_backend::device_memory::{Access, DeviceMemory, MemoryError, Remote, ResidentArray, Simulated, Transfers};

type Memory = DeviceMemory<Simulated>;
type Array = ResidentArray<Simulated>;

/// Elements of a block of the smallest size, of one byte each.
const BLOCK: u64 = 128;

fn device(blocks: u64) -> Memory {
    DeviceMemory::new(Simulated::new(blocks * BLOCK))
}

/// An array that the device fills with a value.
fn filled(memory: &Memory, name: &str, value: u8) -> Array {
    let array = memory.allocate(name, BLOCK, 1).unwrap();
    touch(memory, &array, Access::Write, |bytes| bytes.fill(value));
    array
}

/// A kernel on one array.
fn touch(memory: &Memory, array: &Array, access: Access, kernel: impl FnOnce(&mut [u8])) {
    let pins = memory.pin(&[(array, access)]).unwrap();
    memory.remote().run(&[pins.address(0)], |blocks| kernel(&mut blocks[0])).unwrap();
    pins.release(|| memory.remote().record());
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
    let f = memory.allocate("F", BLOCK, 1).unwrap(); // B leaves, which is clean: nothing is copied
    assert_eq!(names(&memory), ["D", "E", "F"]);
    assert_eq!((memory.transfers().downloads, memory.transfers().uploads), (3, 1));

    let more = memory.pin(&[(&f, Access::Write)]).unwrap();
    let error = memory.allocate("G", BLOCK, 1).unwrap_err();
    let message = "no room on the device for `G`, 128 bytes; there are `D` of 128 bytes (in use), `E` of 128 bytes (in use), \
                   `F` of 128 bytes (in use)";
    assert_eq!(error.to_string(), message);
    drop((pins, more));
    for (array, value) in [(&a, b'A'), (&b, b'B'), (&c, b'C'), (&d, b'D'), (&e, b'E')] {
        assert_eq!(array.to_host().unwrap()[..], [value; 128]);
    }
    assert_eq!(memory.transfers().evictions, 4);
}

#[test]
fn an_array_of_somebody_else_never_leaves() {
    let memory = device(3);
    let foreign = memory.remote().allocate(BLOCK).unwrap().unwrap();
    let adopted = memory.adopt("foreign", foreign, BLOCK);
    let arrays: Vec<Array> = (0..6).map(|number| filled(&memory, &format!("a{number}"), number)).collect();
    assert!(adopted.is_resident());
    let pins = memory.pin(&[(&adopted, Access::Read), (&arrays[5], Access::Read), (&arrays[4], Access::Read)]).unwrap();
    assert_eq!(pins.address(0), foreign);
    assert!(matches!(memory.allocate("more", BLOCK, 1), Err(MemoryError::Exhausted { .. })));
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
    let b = memory.allocate("b", 100, 1).unwrap(); // rounded up to the same size
    assert_eq!(memory.pin(&[(&b, Access::Write)]).unwrap().address(0), address);
    assert_eq!(memory.remote().used(), BLOCK);
    drop(b);
    let _large = memory.allocate("large", 8 * BLOCK, 1).unwrap(); // only fits when the nursery is empty
    assert_eq!((memory.remote().used(), memory.transfers().evictions), (8 * BLOCK, 0));
}

#[test]
fn what_the_host_has_is_copied_once_and_never_back() {
    let memory = device(2);
    let bytes: Arc<[u8]> = vec![7; 128].into();
    let input = memory.import("input", bytes.clone(), 1).unwrap();
    assert!(!input.is_resident());
    for _ in 0..3 {
        touch(&memory, &input, Access::Read, |block| assert_eq!(block, [7; 128]));
    }
    assert!(Arc::ptr_eq(&input.to_host().unwrap(), &bytes));
    let _others = [filled(&memory, "x", 1), filled(&memory, "y", 2)]; // it leaves
    assert!(!input.is_resident());
    let transfers = memory.transfers();
    assert_eq!((transfers.uploads, transfers.uploaded_bytes, transfers.downloads, transfers.evictions), (1, 128, 0, 1));
    // Once the device writes to it, the copy of the host is not valid any more.
    touch(&memory, &input, Access::Write, |block| block[0] = 8);
    assert_eq!(input.to_host().unwrap()[..2], [8, 7]);
    assert_eq!(bytes[0], 7);
}

#[test]
fn results_are_copied_when_they_are_asked_for_and_once() {
    let memory = device(2);
    let a = filled(&memory, "a", 3);
    assert_eq!(memory.transfers().downloads, 0);
    assert_eq!(a.to_host().unwrap()[..], [3; 128]);
    assert_eq!(a.to_host().unwrap()[..], [3; 128]);
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
    let c = memory.allocate("c", BLOCK, 1).unwrap();
    assert!(!a.is_resident() && b.is_resident() && c.is_resident());
    assert_eq!(a.to_host().unwrap()[..], [1; 128]);
    // The block of a dropped array is not used while work uses it, but for want of any other it is waited for.
    touch(&memory, &b, Access::Write, |_| ());
    drop(b);
    let before = memory.transfers();
    let _d = memory.allocate("d", BLOCK, 1).unwrap();
    assert_eq!(memory.transfers(), before);
}

#[test]
fn a_guard_keeps_an_array_that_is_dropped() {
    let memory = device(2);
    let a = filled(&memory, "a", 5);
    let pins = memory.pin(&[(&a, Access::Read)]).unwrap();
    let address = pins.address(0);
    drop(a);
    let b = memory.allocate("b", BLOCK, 1).unwrap();
    assert_ne!(memory.pin(&[(&b, Access::Write)]).unwrap().address(0), address);
    memory.remote().run(&[address], |blocks| assert_eq!(blocks[0], [5; 128])).unwrap();
    drop(pins);
    let c = memory.allocate("c", BLOCK, 1).unwrap();
    assert_eq!(memory.pin(&[(&c, Access::Write)]).unwrap().address(0), address);
}

#[test]
fn a_launch_that_cannot_fit_says_what_is_there() {
    let memory = device(4);
    let small = filled(&memory, "small", 1);
    let large = memory.allocate("large", 3 * BLOCK, 1).unwrap();
    let inputs: Arc<[u8]> = vec![0; 256].into();
    let input = memory.import("input", inputs, 1).unwrap();
    let error = memory.pin(&[(&large, Access::Write), (&input, Access::Read)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no room on the device for `input`, 256 bytes; there are `large` of 384 bytes (in use)"
    );
    assert_eq!(small.to_host().unwrap()[..], [1; 128]); // it had left before
    // The guard that failed keeps nothing.
    let _pins = memory.pin(&[(&input, Access::Read)]).unwrap();
    assert!(matches!(memory.allocate("huge", u64::MAX, 8), Err(MemoryError::TooLarge { .. })));
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
        let array = memory.allocate(&format!("a{value}"), BLOCK, 1).unwrap();
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
        pins.release(|| memory.remote().record());
        model.launch(CAPACITY, [x, y, z]);
        arrays[z].1 = arrays[x].1.wrapping_add(arrays[y].1.wrapping_mul(2));
    }
    let transfers = memory.transfers();
    assert_eq!((transfers.uploads, transfers.downloads), model.transfers);
    assert!(memory.remote().used() <= CAPACITY as u64 * BLOCK);
    for (array, value) in &arrays {
        assert_eq!(array.to_host().unwrap()[..], [*value; 128]);
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
