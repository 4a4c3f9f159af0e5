//! Runs on a device that does work as late as it may: what has to be waited for is waited for, also where memory is short and several runs
//! are under way.

#[path = "common/late.rs"]
mod device;

use crate::common::{golden_plans, interpreted, plan, proved, same_bits};
use device::Late;
use fusebox_backend::{BackendError, DeviceArray, Program, Statistics, device_memory::Remote as _, start};
use fusebox_conformance::{Random, Way, Ways};
use fusebox_ir::{Array, ElementType, Fault, Plan, RunError};
use fusebox_ptx::{Device as _, DeviceMemory, LoadedPlan, PtxBackend, sim::Simulator};
use fusebox_schedule::Target;

fn backend(seed: u64, bytes: u64) -> PtxBackend<Late> {
    let simulator = Simulator::new(fusebox_ptx::sim::Options { seed, ..Default::default() });
    let simulator = if seed.is_multiple_of(2) { simulator } else { simulator.that_keeps_blocks() };
    let memory = DeviceMemory::with_limit(Late::new(simulator), bytes);
    PtxBackend::with_memory(memory, Target::named(["sm_70", "sm_80", "sm_90"][seed as usize % 3]).unwrap())
}

fn loaded(backend: &PtxBackend<Late>, plan: &Plan) -> Result<LoadedPlan<Late>, BackendError> {
    backend.compile_proved_plan(&proved(plan))?.load_plan()
}

/// Work waits until somebody waits for it, is done in order, and not twice.
#[test]
fn the_device_is_late() {
    let device = Late::new(Simulator::new(Default::default()));
    let address = device.allocate("a", 16).unwrap().unwrap();
    device.upload(address, &[7; 16]).unwrap();
    let (first, second) = (device.queue().unwrap(), device.queue().unwrap());
    device.clear(&first, address, 8).unwrap();
    let half = device.record(&first).unwrap();
    device.clear(&first, address + 8, 4).unwrap();
    device.synchronise(&second).unwrap();
    let read = |expected: [u8; 16]| {
        let mut bytes = [0; 16];
        device.download(address, &mut bytes).unwrap();
        assert_eq!(bytes, expected);
    };
    read([7; 16]);
    assert!(!device.is_done(&half).unwrap());
    device.wait(&half).unwrap();
    assert!(device.is_done(&half).unwrap());
    read([0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7]);
    device.synchronise(&first).unwrap();
    read([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 7, 7]);
    // What fails is said to who waits, then and later.
    device.clear(&first, address, 64).unwrap();
    assert!(device.synchronise(&first).is_err() && device.synchronise(&first).is_err());
    assert!(device.synchronise(&second).is_ok());
}

#[test]
fn golden_programs_are_waited_for() {
    let mut late = 0;
    for (seed, (name, plan)) in golden_plans().into_iter().enumerate() {
        let inputs = fusebox_golden::load(&name).flat_arrays();
        let backend = backend(seed as u64, u64::MAX);
        let program = loaded(&backend, &plan).unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = interpreted(&plan, &inputs).unwrap();
        let right = |results: &[Array]| results.iter().zip(&expected).all(|(own, other)| same_bits(own, other));
        let given: Vec<DeviceArray> = inputs.iter().map(|input| program.to_device(input).unwrap()).collect();
        // One run after the other: the second begins while the arrays of the first are still there.
        let [first, second] = [(); 2].map(|()| program.run_resident(&given).unwrap().0);
        for results in [second, first] {
            let results: Vec<Array> = results.iter().map(|result| result.to_host().unwrap()).collect();
            assert!(right(&results), "{name}");
        }
        assert!(right(&program.run(&inputs).unwrap()), "{name}");
        late += backend.device().worked().1;
    }
    assert!(late > 500, "{late}");
}

/// The smallest device on which a program runs, late.
struct Tight;

impl Ways for Tight {
    fn package(&self) -> &'static str {
        "fusebox-ptx"
    }

    fn part(&self) -> u64 {
        15
    }

    fn of(&self, plan: &Plan, seed: Option<u64>) -> Vec<Way> {
        let program = Box::new(OnLittle { plan: plan.clone(), seed: seed.unwrap_or(0) }) as Box<dyn Program>;
        vec![("late, with little memory".into(), Ok(program))]
    }
}

struct OnLittle {
    plan: Plan,
    seed: u64,
}

impl Program for OnLittle {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run_into(&self, inputs: &[Array], results: &mut Vec<Array>) -> Result<Statistics, BackendError> {
        let mut bytes = 1 << 9;
        loop {
            let backend = backend(self.seed, bytes);
            let ran = loaded(&backend, &self.plan).and_then(|program| {
                let given =
                    inputs.iter().map(|input| program.to_device(input)).collect::<Result<Vec<DeviceArray>, _>>()?;
                let (made, _) = program.run_resident(&given)?;
                let (again, statistics) = program.run_resident(&given)?;
                drop(made);
                Ok((again.iter().map(DeviceArray::to_host).collect::<Result<Vec<_>, _>>()?, statistics))
            });
            match ran {
                Err(
                    BackendError::NoRoom { .. } | BackendError::Run(RunError { fault: Fault::TooLarge { .. }, .. }),
                ) if bytes < 1 << 28 => bytes *= 2,
                Err(error) => return Err(error),
                Ok((made, statistics)) => {
                    *results = made;
                    return Ok(statistics);
                }
            }
        }
    }
}

fusebox_conformance::generated!(Tight);

#[test]
fn runs_under_way_share_little_memory() {
    let plan = plan(
        "fn f(x: [n]i32, k: i64) -> [n]i32, i32 {
         let r: [n]i32, i: i64 = while(|v: [n]i32, i: i64| { let more = i < k return more }, |v: [n]i32, i: i64| {
           let w: [n]i32 = generate([n], |p| v[(p * 7 + 1) % n] + 1i32) let j = i + 1 return w, j }, x, 0)
         let s: [n]i32 = sort(r)
         let t: i32 = fold(|a, b| max(a, b), 0i32, s) return s, t }",
    );
    for bytes in [u64::MAX, 10 * 4096] {
        let backend = backend(1, bytes);
        let program = std::sync::Arc::new(loaded(&backend, &plan).unwrap());
        let input = Random(2).array(ElementType::I32, &[1000]);
        let shared = program.to_device(&input).unwrap();
        let begin = |k: i64| {
            let (program, shared) = (program.clone(), shared.clone());
            start(move || program.run_resident(&[shared, DeviceArray::of_host(Array::scalar(k))]))
        };
        let running: Vec<_> = (0..6i64).map(|k| (k, begin(k))).collect();
        for (k, run) in running {
            let (results, _) = run.wait().unwrap();
            let expected = interpreted(&plan, &[input.clone(), Array::scalar(k)]).unwrap();
            for (result, expected) in results.iter().zip(&expected) {
                assert!(same_bits(&result.to_host().unwrap(), expected), "{k} {bytes}");
            }
        }
        assert!(same_bits(&shared.to_host().unwrap(), &input));
    }
}
