//! Products of gangs by powers of two are shifts, of the same bits.

use fusebox_ir::{
    Binary, Constant, ElementType,
    ElementType::{F32, I8, I16, I32, I64, U8, U16, U32, U64},
    primitive,
};
use fusebox_vector::{Builder, Op};

/// The function of a product by a number, and by how much it shifts.
fn product(element: ElementType, by: Constant, first: bool) -> (Binary, Option<Constant>) {
    let mut b = Builder::new();
    let (gang, by) = (b.iota(element, 8), b.constant(by));
    let made = if first { b.binary(Binary::Mul, by, gang) } else { b.binary(Binary::Mul, gang, by) };
    let function = b.finish("product".to_owned());
    let inst = function.body.0.iter().find(|inst| inst.results.contains(&made)).unwrap();
    let Op::Binary(found, _, by) = inst.op else { panic!("{function}") };
    let constant = function.body.0.iter().find(|inst| inst.results.contains(&by));
    (found, constant.and_then(|inst| if let Op::Constant(constant) = inst.op { Some(constant) } else { None }))
}

#[test]
fn powers_of_two_shift() {
    for element in [I32, U32, I64, U64] {
        let top = u64::from(element.bits()) - 1;
        let numbers = [0, 1, 2, 3, 7, 1 << (top - 1), (1 << top) - 1, 1 << top, u64::MAX >> (63 - top)];
        for bits in 1..top {
            let by = Constant::from_bits(element, 1 << bits);
            for first in [true, false] {
                let (function, amount) = product(element, by, first);
                assert_eq!(function, Binary::Shl, "{by:?}");
                let amount = amount.unwrap();
                for number in numbers {
                    let number = Constant::from_bits(element, number);
                    assert_eq!(
                        primitive::binary(Binary::Shl, number, amount),
                        primitive::binary(Binary::Mul, number, by),
                        "{number:?} times {by:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn other_products_stay() {
    for (element, number) in [(I32, 3), (I64, -2), (I32, 0), (U64, 6), (I8, 4), (U8, 4), (I16, 4), (U16, 4), (F32, 2)] {
        let (function, _) = product(element, Constant::from_i64(element, number), false);
        assert_eq!(function, Binary::Mul, "{element} times {number}");
    }
}
