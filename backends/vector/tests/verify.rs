//! Each rule of the verifier is broken once and found, by a fault that names the instruction; what is close to it and allowed is accepted.

use fusebox_ir::{Binary, Constant, ElementType, Failure, FailureKind, Unary};
use fusebox_vector::{
    Append, Builder, Function, If, Inst, Memory, Op, Region, Rule, Site, Value, Values, number, verify, verify_call,
};
use smallvec::smallvec;

const F32: ElementType = ElementType::F32;
const I64: ElementType = ElementType::I64;

fn site(lanes: u32) -> Site {
    let fault = FailureKind::Assertion { message: "never".into(), shown: Vec::new() };
    Site { failure: Failure { operation: "a test".into(), place: Default::default(), fault }, lanes, operands: 1 }
}

/// What a function is made of here: two gangs, a mask, an address, a uniform number.
struct Made {
    b: Builder,
    x: Value,
    y: Value,
    mask: Value,
    base: Value,
    zero: Value,
}

fn made() -> Made {
    let mut b = Builder::new();
    let (base, zero) = (b.argument(0), b.int(0));
    let x = b.load(F32, 16, base, zero, Memory::Input);
    let from = b.parameter(0);
    let y = b.load(F32, 16, base, from, Memory::Input);
    let mask = b.binary(Binary::Lt, x, y);
    Made { b, x, y, mask, base, zero }
}

fn masked(base: Value, index: Value, mask: Value, elsewhere: Value) -> Op {
    Op::LoadMasked { base, index, mask, elsewhere, memory: Memory::Input }
}

impl Made {
    fn op(&mut self, element: ElementType, lanes: u32, op: Op) -> Value {
        let result = self.b.fresh(element, lanes);
        self.b.push(&[result], op);
        result
    }
}

/// The rules that a function breaks.
fn broken(make: impl FnOnce(&mut Made)) -> Vec<Rule> {
    rules(&function(make), usize::MAX)
}

fn function(make: impl FnOnce(&mut Made)) -> Function {
    let mut made = made();
    make(&mut made);
    made.b.finish("planted".to_owned())
}

fn rules(function: &Function, words: usize) -> Vec<Rule> {
    let faults = verify_call(function, words).err().unwrap_or_default();
    faults.into_iter().map(|fault| fault.rule).collect()
}

#[test]
fn a_function_of_everything_is_valid() {
    let mut m = made();
    let (x, y, mask, base, zero) = (m.x, m.y, m.mask, m.base, m.zero);
    let site = m.b.site(site(16));
    let room = m.b.scratch(64);
    let (from, to, scratch) = (m.b.parameter(0), m.b.parameter(1), m.b.parameter(2));
    let place = m.b.add_int(scratch, room);
    let least = m.b.fresh(F32, 16);
    m.b.push(&[least], Op::OfNumbers(Binary::Min, x, y));
    let sum = m.b.fma(x, y, least);
    let steps = m.b.begin_loop(from, to, 16, &[sum, mask]);
    let [carried, holds] = steps.carried[..] else { panic!("two are carried") };
    let next = m.b.binary(Binary::Add, carried, x);
    let index = steps.index;
    m.b.store(base, index, next, Some(holds));
    let results = m.b.end_loop(steps, vec![next, holds]);
    let mut open = m.b.begin_while(&[from]);
    let count = open.carried[0];
    let more = m.b.less(count, to);
    m.b.while_body(&mut open, more);
    let twice = m.b.binary(Binary::Add, count, count);
    let last = m.b.end_while(open, vec![twice]);
    let any = m.b.any(results[1]);
    m.b.open();
    let one = m.b.extract(results[0], 15);
    let then = m.b.close();
    m.b.open();
    let other = m.b.constant(Constant::from(1.0f32));
    let otherwise = m.b.close();
    let chosen = m.b.end_if(any, (then, vec![one]), (otherwise, vec![other]));
    let spread = m.b.splat(chosen[0], 16);
    let inserted = m.b.insert(spread, 3, chosen[0]);
    let moved = m.b.shift(inserted, 4, x);
    m.b.store(place, zero, moved, None);
    m.b.store_streaming(base, zero, moved);
    m.b.prefetch(base, zero, F32, 4096);
    let whole = m.b.convert(I64, moved);
    let few = m.b.binary(Binary::Shl, whole, last[0]);
    let bits = m.b.bits(ElementType::F64, few);
    let bits = m.b.bits(I64, bits);
    m.b.fail_if(mask, site, vec![bits]);
    m.op(
        I64,
        1,
        Op::Append(Box::new(Append {
            bases: vec![base],
            count: from,
            values: vec![few],
            mask: Some(mask),
            spare: place,
            whole: false,
        })),
    );
    let function = m.b.finish("everything".to_owned());
    assert_eq!(verify(&function), Ok(()), "{function}");
    let numbered = number(&function);
    assert_eq!(verify(&numbered), Ok(()), "{numbered}");
}

#[test]
fn values_have_types_of_lanes_that_are_powers_of_two() {
    let broken = broken(|m| {
        let three = m.b.fresh(F32, 3);
        m.b.push(&[three], Op::Constant(Constant::from(1.0f32)));
    });
    assert_eq!(broken, [Rule::Values]);
    let mut function = function(|m| m.b.store(m.base, m.zero, m.x, None));
    let known = function.types.len() as u32;
    function.body.0.push(Inst { results: smallvec![Value(known)], op: Op::Iota });
    assert_eq!(rules(&function, 9), [Rule::Values]);
    assert!(function.to_string().contains(&format!("v{known}: ? = iota")), "{function}");
}

#[test]
fn values_are_defined_once() {
    assert_eq!(broken(|m| m.b.push(&[m.x], Op::Iota)), [Rule::DefinedOnce]);
    // In the two sides of an `if` too.
    let twice = broken(|m| {
        let one = m.b.fresh(F32, 16);
        let define = || Region(vec![Inst { results: smallvec![one], op: Op::Iota }]);
        let any = m.b.any(m.mask);
        m.b.end_if(any, (define(), Vec::new()), (define(), Vec::new()));
    });
    assert_eq!(twice, [Rule::DefinedOnce]);
}

#[test]
fn values_are_defined_before_they_are_used() {
    let early = broken(|m| {
        let later = m.b.fresh(F32, 16);
        m.b.store(m.base, m.zero, later, None);
        m.b.push(&[later], Op::Iota);
    });
    assert_eq!(early, [Rule::DefinedBeforeUse]);
    let never = broken(|m| {
        let value = m.b.fresh(F32, 16);
        m.b.unary(Unary::Neg, value);
    });
    assert_eq!(never, [Rule::DefinedBeforeUse]);
}

#[test]
fn values_are_used_inside_of_their_region() {
    let index = broken(|m| {
        let steps = m.b.begin_loop(m.zero, m.zero, 1, &[]);
        let index = steps.index;
        m.b.end_loop(steps, Vec::new());
        m.b.add_int(index, 1);
    });
    assert_eq!(index, [Rule::DefinedBeforeUse]);
    // What the header of a loop computes is there in its body, and not behind it.
    for (behind, expected) in [(false, vec![]), (true, vec![Rule::DefinedBeforeUse])] {
        let header = broken(|m| {
            let mut open = m.b.begin_while(&[]);
            let holds = m.b.any(m.mask);
            m.b.while_body(&mut open, holds);
            if !behind {
                m.b.not(holds);
            }
            m.b.end_while(open, Vec::new());
            if behind {
                m.b.not(holds);
            }
        });
        assert_eq!(header, expected);
    }
}

#[test]
fn instructions_have_the_results_of_their_operations() {
    assert_eq!(broken(|m| m.b.push(&[], Op::Iota)), [Rule::Results]);
    let store = broken(|m| {
        let (base, index, value) = (m.base, m.zero, m.x);
        m.op(F32, 16, Op::Store { base, index, value, mask: None, streaming: false });
    });
    assert_eq!(store, [Rule::Results]);
    let lacks = broken(|m| {
        let any = m.b.any(m.mask);
        let op = Op::If(Box::new(If {
            condition: any,
            then: Region::default(),
            then_results: vec![m.x],
            otherwise: Region::default(),
            otherwise_results: vec![m.y],
        }));
        m.b.push(&[], op);
    });
    assert_eq!(lacks, [Rule::Results]);
}

/// Operations with one operand or result of another type or number of lanes.
#[test]
fn operations_ask_for_types_and_lanes() {
    let wrong: &[fn(&mut Made) -> (ElementType, u32, Op)] = &[
        |_| (F32, 1, Op::Parameter(0)),
        |_| (I64, 2, Op::Argument(0)),
        |m| (F32, 16, Op::Splat(m.zero)),
        |m| (F32, 32, Op::Splat(m.x)),
        |_| (ElementType::Bool, 16, Op::Iota),
        |m| (F32, 16, Op::Unary(Unary::Not, m.x)),
        |m| (F32, 16, Op::Unary(Unary::IsNan, m.x)),
        |m| (F32, 8, Op::Unary(Unary::Neg, m.x)),
        |m| (F32, 16, Op::Binary(Binary::Add, m.x, m.zero)),
        |m| (F32, 16, Op::OfNumbers(Binary::Add, m.x, m.y)),
        |m| (F32, 16, Op::OfNumbers(Binary::Min, m.x, m.zero)),
        |m| (F32, 16, Op::AreNumbers(m.x, m.y)),
        |m| (ElementType::Bool, 8, Op::AreNumbers(m.x, m.y)),
        |m| (ElementType::Bool, 16, Op::AreNumbers(m.x, m.mask)),
        |m| (ElementType::Bool, 1, Op::AreNumbers(m.zero, m.zero)),
        |m| (F32, 16, Op::Binary(Binary::Lt, m.x, m.y)),
        |m| (F32, 8, Op::Binary(Binary::Add, m.x, m.y)),
        |m| (F32, 16, Op::Binary(Binary::Xor, m.x, m.y)),
        |m| (F32, 16, Op::Fma(m.x, m.y, m.mask)),
        |m| (I64, 1, Op::Fma(m.zero, m.zero, m.zero)),
        |m| (ElementType::Bool, 16, Op::Convert(m.x)),
        |m| (I64, 8, Op::Convert(m.x)),
        |m| (I64, 16, Op::Bits(m.x)),
        |m| (ElementType::I32, 1, Op::Bits(m.x)),
        |m| (F32, 16, Op::Select(m.mask, m.x, m.mask)),
        |m| (F32, 16, Op::Load { base: m.x, index: m.zero, offset: 0, memory: Memory::Input }),
        |m| (F32, 16, Op::Load { base: m.base, index: m.x, offset: 0, memory: Memory::Input }),
        |m| (F32, 16, Op::LoadStrided { base: m.base, index: m.zero, stride: m.x, memory: Memory::Input }),
        |m| (F32, 16, masked(m.base, m.x, m.mask, m.zero)),
        |m| (F32, 16, masked(m.base, m.zero, m.mask, m.x)),
        |m| (I64, 1, Op::Any(m.mask)),
        |m| (F32, 16, Op::Extract(m.x, 0)),
        |m| (F32, 16, Op::Insert(m.x, 0, m.y)),
        |m| (F32, 16, Op::Shift { value: m.x, by: 1, fill: m.zero }),
        |m| (F32, 16, Op::Reverse(m.zero)),
        |m| (ElementType::Bool, 16, Op::Reverse(m.mask)),
        |m| (F32, 16, Op::Unzip { first: m.x, second: m.zero, run: 1, odd: false }),
        |m| (ElementType::Bool, 16, Op::Unzip { first: m.mask, second: m.mask, run: 1, odd: false }),
        |m| (F32, 16, Op::Half { value: m.x, upper: true }),
        |m| (I64, 8, Op::Half { value: m.x, upper: false }),
        |m| {
            (
                F32,
                1,
                Op::Append(Box::new(Append {
                    bases: vec![m.base],
                    count: m.zero,
                    values: vec![m.x],
                    mask: None,
                    spare: m.base,
                    whole: false,
                })),
            )
        },
        |m| {
            (
                I64,
                1,
                Op::Append(Box::new(Append {
                    bases: vec![m.base],
                    count: m.zero,
                    values: vec![],
                    mask: None,
                    spare: m.base,
                    whole: false,
                })),
            )
        },
        |m| {
            (
                I64,
                1,
                Op::Append(Box::new(Append {
                    bases: vec![m.x],
                    count: m.zero,
                    values: vec![m.x],
                    mask: None,
                    spare: m.base,
                    whole: false,
                })),
            )
        },
    ];
    for (position, wrong) in wrong.iter().enumerate() {
        let broken = broken(|m| {
            let (element, lanes, op) = wrong(m);
            m.op(element, lanes, op);
        });
        assert_eq!(broken, [Rule::Types], "the operation at {position}");
    }
}

#[test]
fn stores_prefetches_and_loops_ask_for_positions() {
    let gang = |m: &mut Made| m.b.iota(I64, 8);
    let narrow = broken(|m| {
        let index = gang(m);
        m.b.store(m.base, index, m.x, None);
    });
    assert_eq!(narrow, [Rule::Types]);
    assert_eq!(broken(|m| m.b.store(m.x, m.zero, m.x, None)), [Rule::Types]);
    assert_eq!(broken(|m| m.b.prefetch(m.base, m.x, F32, 0)), [Rule::Types]);
    let bound = broken(|m| {
        let steps = m.b.begin_loop(m.zero, m.x, 1, &[]);
        m.b.end_loop(steps, Vec::new());
    });
    assert_eq!(bound, [Rule::Types]);
}

#[test]
fn amounts_of_shifts_are_uniform_or_of_each_lane() {
    let shift = |lanes: u32| {
        broken(|m| {
            let (whole, by) = (m.b.iota(I64, 16), m.b.iota(ElementType::U8, lanes));
            m.op(I64, 16, Op::Binary(Binary::Shl, whole, by));
        })
    };
    assert_eq!([1, 16, 8].map(shift), [vec![], vec![], vec![Rule::Types]]);
}

#[test]
fn carried_values_are_alike() {
    type Change = fn(&mut Op, Value, &mut Values);
    let changes: [Change; 4] = [
        |op, other, _| {
            if let Op::Loop(own) = op {
                own.starts[0] = other
            }
        },
        |op, other, _| {
            if let Op::Loop(own) = op {
                own.next[0] = other
            }
        },
        |op, other, _| {
            if let Op::Loop(own) = op {
                own.next.push(other)
            }
        },
        |op, other, _| {
            if let Op::Loop(own) = op {
                own.starts.push(other)
            }
        },
    ];
    for change in changes {
        let mut function = function(|m| {
            let end = m.b.parameter(1);
            let steps = m.b.begin_loop(m.zero, end, 1, &[m.x]);
            m.b.end_loop(steps, vec![m.y]);
        });
        assert_eq!(rules(&function, 1), []);
        let mask = Value(5);
        let inst = function.body.0.last_mut().unwrap();
        change(&mut inst.op, mask, &mut inst.results);
        assert_eq!(rules(&function, 1), [Rule::Carried]);
    }
    let choice = broken(|m| {
        let any = m.b.any(m.mask);
        m.b.end_if(any, (Region::default(), vec![m.x]), (Region::default(), vec![m.mask]));
    });
    assert_eq!(choice, [Rule::Carried]);
    let turns = broken(|m| {
        let mut open = m.b.begin_while(&[m.x]);
        let any = m.b.any(m.mask);
        m.b.while_body(&mut open, any);
        m.b.end_while(open, vec![m.mask]);
    });
    assert_eq!(turns, [Rule::Carried]);
}

#[test]
fn masks_are_of_bool_and_of_as_many_lanes() {
    let narrow = |m: &mut Made| m.op(ElementType::Bool, 8, Op::Constant(Constant::from(true)));
    assert_eq!(broken(|m| m.b.store(m.base, m.zero, m.x, Some(m.y))), [Rule::Masks]);
    let lanes = broken(|m| {
        let mask = narrow(m);
        m.b.store(m.base, m.zero, m.x, Some(mask));
    });
    assert_eq!(lanes, [Rule::Masks]);
    let select = broken(|m| {
        let mask = narrow(m);
        m.op(F32, 16, Op::Select(mask, m.x, m.y));
    });
    assert_eq!(select, [Rule::Masks]);
    let any = broken(|m| {
        m.op(ElementType::Bool, 1, Op::Any(m.x));
    });
    assert_eq!(any, [Rule::Masks]);
    let branch = broken(|m| {
        m.b.end_if(m.mask, (Region::default(), Vec::new()), (Region::default(), Vec::new()));
    });
    assert_eq!(branch, [Rule::Masks]);
    let append = broken(|m| {
        let (mask, base) = (narrow(m), m.base);
        let op = Op::Append(Box::new(Append {
            bases: vec![base],
            count: m.zero,
            values: vec![m.x],
            mask: Some(mask),
            spare: base,
            whole: false,
        }));
        m.op(I64, 1, op);
    });
    assert_eq!(append, [Rule::Masks]);
    // A uniform one is good for all lanes.
    let uniform = broken(|m| {
        let any = m.b.any(m.mask);
        m.b.store(m.base, m.zero, m.x, Some(any));
        m.op(F32, 16, Op::Select(any, m.x, m.y));
    });
    assert_eq!(uniform, []);
}

#[test]
fn numbers_are_of_their_type() {
    let number = |element| {
        broken(|m| {
            m.op(element, 16, Op::Constant(Constant::from(1.0f32)));
        })
    };
    assert_eq!([F32, I64].map(number), [vec![], vec![Rule::Constants]]);
}

#[test]
fn positions_are_inside() {
    let extract = |lane| {
        broken(|m| {
            let _ = m.op(F32, 1, Op::Extract(m.x, lane));
        })
    };
    assert_eq!([15, 16].map(extract), [vec![], vec![Rule::Positions]]);
    let insert = |lane| {
        broken(|m| {
            let one = m.b.extract(m.x, 0);
            m.op(F32, 16, Op::Insert(m.x, lane, one));
        })
    };
    assert_eq!([15, 16].map(insert), [vec![], vec![Rule::Positions]]);
    let shift = |by| {
        broken(|m| {
            let _ = m.op(F32, 16, Op::Shift { value: m.x, by, fill: m.y });
        })
    };
    assert_eq!([16, 17].map(shift), [vec![], vec![Rule::Positions]]);
    let parameter = |position| {
        broken(|m| {
            let _ = m.op(I64, 1, Op::Parameter(position));
        })
    };
    assert_eq!([2, 3].map(parameter), [vec![], vec![Rule::Positions]]);
    let step = |step| {
        broken(|m| {
            let end = m.b.parameter(1);
            let steps = m.b.begin_loop(m.zero, end, step, &[]);
            m.b.end_loop(steps, Vec::new());
        })
    };
    assert_eq!([1, 0, -1].map(step), [vec![], vec![Rule::Positions], vec![Rule::Positions]]);
}

#[test]
fn loops_of_one_turn_are_no_loops() {
    for (from, to, step, turns) in
        [(0, 0, 1, 0), (3, 2, 1, 0), (0, 1, 1, 1), (0, 8, 8, 1), (1, 9, 16, 1), (0, 9, 8, 2), (0, 2, 1, 2)]
    {
        let mut index = None;
        let function = function(|m| {
            let (from, to) = (m.b.int(from), m.b.int(to));
            let steps = m.b.begin_loop(from, to, step, &[m.x]);
            index = m.b.constant_of(steps.index).and_then(fusebox_ir::Constant::as_i64);
            let next = m.b.unary(Unary::Neg, steps.carried[0]);
            let results = m.b.end_loop(steps, vec![next]);
            let expected = [m.x, next];
            assert!(results.len() == 1 && (turns > 1 || results[0] == expected[turns]), "{turns} turns");
        });
        assert_eq!(rules(&function, 1), []);
        let count = |wanted: fn(&Op) -> bool| function.body.0.iter().filter(|inst| wanted(&inst.op)).count();
        let (loops, bodies) =
            (count(|op| matches!(op, Op::Loop(_))), count(|op| matches!(op, Op::Unary(Unary::Neg, _))));
        assert_eq!((loops, bodies), [(0, 0), (0, 1), (1, 0)][turns.min(2)], "{from}..{to} by {step}");
        assert_eq!(index, (turns == 1).then_some(from));
    }
}

#[test]
fn words_are_inside_of_the_table() {
    let function = function(|m| {
        m.b.argument(6);
    });
    assert_eq!(rules(&function, 7), []);
    assert_eq!(rules(&function, 6), [Rule::Positions]);
}

#[test]
fn accesses_of_scratch_are_inside() {
    let store = |bytes: usize, at: i64, index: i64| {
        broken(|m| {
            m.b.scratch(bytes);
            let scratch = m.b.parameter(2);
            let (place, index) = (m.b.add_int(scratch, at), m.b.int(index));
            m.b.store(place, index, m.x, None);
            m.b.load(F32, 16, place, index, Memory::Shared);
        })
    };
    assert_eq!(store(64, 0, 0), []);
    assert_eq!(store(128, 64, 0), []);
    assert_eq!(store(128, 0, 16), []);
    // Where two are made, there are two faults.
    assert_eq!(store(64, 4, 0), [Rule::Scratch; 2]);
    assert_eq!(store(64, 0, 1), [Rule::Scratch; 2]);
    assert_eq!(store(64, 0, -1), [Rule::Scratch; 2]);
    let somewhere = |bytes: usize| {
        broken(|m| {
            m.b.scratch(bytes);
            let (scratch, from) = (m.b.parameter(2), m.b.parameter(0));
            let place = m.b.add_int(scratch, 64);
            m.b.store(place, from, m.x, None);
        })
    };
    assert_eq!([64, 0].map(somewhere), [vec![], vec![Rule::Scratch]]);
}

#[test]
fn failures_are_those_of_their_sites() {
    let fail = |lanes: u32, operands: usize, skip: usize| {
        broken(|m| {
            let site = m.b.site(site(lanes));
            let values = (0..operands).map(|_| m.b.iota(I64, 16)).collect();
            m.b.fail_if(m.mask, site + skip, values);
        })
    };
    assert_eq!(fail(16, 1, 0), []);
    assert_eq!(fail(16, 1, 1), [Rule::Sites]);
    assert_eq!(fail(16, 2, 0), [Rule::Sites]);
    assert_eq!(fail(8, 1, 0), [Rule::Sites]);
    let operand = broken(|m| {
        let site = m.b.site(site(16));
        m.b.fail_if(m.mask, site, vec![m.zero]);
    });
    assert_eq!(operand, [Rule::Types]);
}

#[test]
fn stores_past_the_caches_are_of_whole_vectors() {
    let store = |lanes: u32, masked: bool| {
        broken(|m| {
            let (base, index, value) = (m.base, m.zero, m.b.iota(F32, lanes));
            let mask = masked.then_some(m.mask);
            m.b.push(&[], Op::Store { base, index, value, mask, streaming: true });
        })
    };
    assert_eq!(store(16, false), []);
    assert_eq!(store(4, false), []);
    assert_eq!(store(2, false), [Rule::Streaming]);
    assert_eq!(store(16, true), [Rule::Streaming]);
    let scattered = broken(|m| {
        let index = m.b.iota(I64, 16);
        m.b.store_streaming(m.base, index, m.x);
    });
    assert_eq!(scattered, [Rule::Streaming]);
}

#[test]
fn faults_name_the_instruction() {
    let function = function(|m| {
        m.op(F32, 16, Op::Unary(Unary::Not, m.x));
    });
    let faults = verify(&function).unwrap_err();
    assert_eq!(faults[0].to_string(), "Types: `v6: f32x16 = ! v2`: ! of f32x16 is not f32x16");
}

/// In builds with debug assertions, as those of tests are.
#[test]
#[should_panic = "a test made a function that is not valid: Results: `iota`"]
fn a_fault_of_ours_shows_the_function() {
    let function = function(|m| m.b.push(&[], Op::Iota));
    fusebox_vector::debug_verify(&function, "a test");
}
