//! The cache of compiled programs, which is one for the whole process: hence a process of its own.

use fusebox::{Backend, Options, compile_program, ir};
use ir::{Array, Value, text};

fn i32s(elements: &[i32]) -> Value {
    Array::new(&[elements.len()], elements).unwrap().into()
}

#[test]
fn the_cache_is_bounded() {
    let options = Options::on(Backend::Interp);
    for at in 0..400 {
        let program =
            text::parse(&format!("fn f(a: [n]i32) -> [n]i32 {{ let b: [n]i32 = map(|x| x + {at}, a) return b }}"))
                .unwrap();
        let program = compile_program(&program, &options).unwrap();
        assert_eq!(program.run(&[i32s(&[1])]).unwrap(), [i32s(&[1 + at])]);
    }
    let held = fusebox::cache_statistics();
    assert!(held.programs <= 256 && held.misses >= 400, "{held:?}");
}
