//! What the examples of this documentation are run with.

/// Defines `example::run`, `run1`, `run2`: build a program, recover sharing, run it on the interpreter. Whoever calls it depends on
/// `fusebox-sharing` and `fusebox-interp`.
#[doc(hidden)]
#[macro_export]
macro_rules! example {
    () => {
        #[allow(dead_code, unused_imports, missing_docs)]
        mod example {
            use ::fusebox_lang::*;

            pub fn program_of<P: Parameters, R: Results>(built: &Built<P, R>) -> ::fusebox_ir::Program {
                let program = ::fusebox_sharing::program(&built.terms, &::fusebox_sharing::Config::default());
                let program = program.expect("terms are a program");
                if let Err(errors) = ::fusebox_ir::validate(&program, &[]) {
                    panic!("{errors}\n{program}");
                }
                assert_eq!(::fusebox_ir::text::parse(&program.to_string()).as_ref(), Ok(&program), "{program}");
                program
            }

            pub fn finish<P: Parameters, R: Results>(built: &Built<P, R>, inputs: &P::Host) -> R::Host {
                let results = ::fusebox_interp::run(&program_of(built), &built.arguments(inputs));
                built.results(results.expect("the example runs")).expect("results are those of the program")
            }

            pub fn run<F: Function<()>>(f: F) -> <F::Output as Arrays>::Host {
                finish(&build("example", f).expect("the example builds"), &())
            }

            pub fn run1<A: Arrays, F: Function<(A,)>>(f: F, a: &A::Host) -> <F::Output as Arrays>::Host
            where
                A::Host: Clone,
            {
                finish(&build("example", f).expect("the example builds"), &(a.clone(),))
            }

            pub fn run2<A: Arrays, B: Arrays, F: Function<(A, B)>>(
                f: F,
                a: &A::Host,
                b: &B::Host,
            ) -> <F::Output as Arrays>::Host
            where
                A::Host: Clone,
                B::Host: Clone,
            {
                finish(&build("example", f).expect("the example builds"), &(a.clone(), b.clone()))
            }
        }
    };
}
