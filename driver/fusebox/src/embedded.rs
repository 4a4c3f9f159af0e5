//! Embedded programs: from a Rust function on handles to something to run.

use std::{
    marker::PhantomData,
    sync::{Arc, OnceLock},
};

use fusebox_backend::{Running, start};
use fusebox_ir::Value;
use fusebox_lang::{Arrays, Built, Draft, Function, Interface, Parameters, Results};

use crate::{
    CompileReport, DeviceValue, Error, Explanation, OnDevice, Options, Program,
    device::{count, packed},
    program::{Source, compile_source},
};

/// A compiled embedded program: takes the host's arrays of `P`, a tuple, and gives those of `R`.
///
/// It is `Send` and `Sync`, and a clone is cheap: compile once, run many times, from any thread.
pub struct Compiled<P, R> {
    program: Program,
    source: Source,
    interface: Interface,
    /// Arrays of the host that the program uses: its last inputs.
    captured: Vec<Value>,
    /// The same where the program runs, once a run there has needed it.
    captured_on_device: Arc<OnceLock<Vec<DeviceValue>>>,
    of: PhantomData<fn(P) -> R>,
}

impl<P, R> Clone for Compiled<P, R> {
    fn clone(&self) -> Self {
        let Self { program, source, interface, captured, captured_on_device, of } = self;
        let (program, source, interface) = (program.clone(), source.clone(), interface.clone());
        let (captured, captured_on_device) = (captured.clone(), captured_on_device.clone());
        Self { program, source, interface, captured, captured_on_device, of: *of }
    }
}

impl<P, R> std::fmt::Debug for Compiled<P, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.program.fmt(f)
    }
}

impl<P, R> Compiled<P, R> {
    /// The program without its Rust types.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Inputs and results with their components.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// What compiling took, when it was compiled.
    pub fn report(&self) -> &CompileReport {
        self.program.report()
    }

    /// How it was compiled: what each pass made of it, which operations became one, which did not and why.
    ///
    /// The passes run again for that, which takes as long as compiling. Operations are called as [`Acc::named`](fusebox_lang::Acc::named())
    /// says, else by operation and line, and stand with their places in the Rust program.
    ///
    /// ```
    /// use fusebox::prelude::*;
    ///
    /// let means = fusebox::compile1(|m: Acc<Matrix<f32>>| {
    ///     let totals = sum(m).named("totals");
    ///     totals.map(|total| total / m.shape().1.cast::<f32>())
    /// })?;
    /// let explanation = means.explain();
    /// println!("{explanation}"); // as the command `explain` prints it
    /// # let folder = tempfile::tempdir()?;
    /// # let page = folder.path().join("means.html");
    /// explanation.write_html(&page)?; // one page for a browser
    /// # assert!(std::fs::read_to_string(&page)?.contains("totals"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self) -> Explanation {
        self.source.explain()
    }
}

impl<P, R: Results> Compiled<P, R> {
    fn run_values(&self, mut inputs: Vec<Value>) -> Result<R::Host, Error> {
        inputs.extend(self.captured.iter().cloned());
        packed::<R>(self.program.run(&inputs)?).map_err(Error::Results)
    }

    fn run_values_on_device(&self, mut inputs: Vec<DeviceValue>) -> Result<OnDevice<R>, Error> {
        if !self.captured.is_empty() {
            let captured = match self.captured_on_device.get() {
                Some(captured) => captured,
                None => {
                    let captured = self.program.to_device(&self.captured)?;
                    self.captured_on_device.get_or_init(|| captured)
                }
            };
            inputs.extend(captured.iter().cloned());
        }
        self.program.run_on_device(&inputs).map(OnDevice::new)
    }
}

macro_rules! arities {
    ($($(#[$doc:meta])* $name:ident($($t:ident $x:ident),*))*) => {$(
        impl<$($t: Arrays,)* R: Results> Compiled<($($t,)*), R> {
            /// Runs the program on the host's arrays.
            ///
            /// # Errors
            /// [`Error::Input`] where extents should agree and do not, [`Error::Run`] for what fails inside.
            pub fn run(&self, $($x: &$t::Host),*) -> Result<R::Host, Error> {
                #[allow(unused_mut)]
                let mut inputs = Vec::new();
                $($t::unpack($x, &mut inputs);)*
                self.run_values(inputs)
            }

            /// Begins a run, which goes on while the caller does something else ([`Program::start`]); [`Running::wait`] gives its results.
            pub fn start(&self, $($x: &$t::Host),*) -> Running<Result<R::Host, Error>>
            where
                R::Host: Send + 'static,
            {
                #[allow(unused_mut)]
                let mut inputs = Vec::new();
                $($t::unpack($x, &mut inputs);)*
                let program = self.clone();
                start(move || program.run_values(inputs))
            }

            /// Brings the host's arrays to where the program runs: a tuple, of one where the program has one input. There they stay
            /// ([`OnDevice`]), for this program and others.
            ///
            /// # Errors
            /// [`Error::Backend`]: what the device says, or that there is no room.
            #[allow(clippy::unused_unit)]
            pub fn to_device(&self, $($x: &$t::Host),*) -> Result<($(OnDevice<$t>,)*), Error> {
                #[allow(unused_mut)]
                let mut values = Vec::new();
                $($t::unpack($x, &mut values);)*
                #[allow(unused_mut, unused_variables)]
                let mut values = self.program.to_device(&values)?.into_iter();
                $(let $x = OnDevice::<$t>::new(values.by_ref().take(count::<$t>()).collect());)*
                Ok(($($x,)*))
            }

            /// As [`Self::run`], from and to arrays that stay where the program runs.
            ///
            /// # Errors
            /// As [`Self::run`].
            pub fn run_on_device(&self, $($x: &OnDevice<$t>),*) -> Result<OnDevice<R>, Error> {
                #[allow(unused_mut)]
                let mut inputs = Vec::new();
                $(inputs.extend($x.values().iter().cloned());)*
                self.run_values_on_device(inputs)
            }

            /// As [`Self::start`], from and to arrays that stay where the program runs.
            pub fn start_on_device(&self, $($x: &OnDevice<$t>),*) -> Running<Result<OnDevice<R>, Error>> {
                #[allow(unused_mut)]
                let mut inputs = Vec::new();
                $(inputs.extend($x.values().iter().cloned());)*
                let program = self.clone();
                start(move || program.run_values_on_device(inputs))
            }
        }

        $(#[$doc])*
        ///
        /// # Errors
        /// Mistakes in the program, each with its place.
        #[track_caller]
        pub fn $name<$($t: Arrays,)* R: Results>(
            function: impl FnOnce($($t),*) -> R,
        ) -> Result<Compiled<($($t,)*), R>, Error> {
            compile_draft(fusebox_lang::program("program", function), &Options::default())
        }
    )*};
}
arities! {
    /// Compiles a program without inputs for all cores.
    compile0()
    /// Compiles a program of one input for all cores.
    compile1(A a)
    /// Compiles a program of two inputs for all cores.
    ///
    /// ```
    /// use fusebox::prelude::*;
    /// let dotp = fusebox::compile2(|xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
    ///     zip_with(|x, y| x * y, xs, ys).fold(|a, b| a + b, 0.0)
    /// })?;
    /// let (xs, ys) = (Vector::from_slice(&[1.0, 2.0, 3.0])?, Vector::from_slice(&[4.0, 5.0, 6.0])?);
    /// let r: Scalar<f32> = dotp.run(&xs, &ys)?;
    /// assert_eq!(r.value(), Some(32.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    compile2(A a, B b)
    /// Compiles a program of three inputs for all cores.
    compile3(A a, B b, C c)
    /// Compiles a program of four inputs for all cores.
    compile4(A a, B b, C c, D d)
    /// Compiles a program of five inputs for all cores.
    compile5(A a, B b, C c, D d, E e)
    /// Compiles a program of six inputs for all cores.
    compile6(A a, B b, C c, D d, E e, F f)
    /// Compiles a program of seven inputs for all cores.
    compile7(A a, B b, C c, D d, E e, F f, G g)
    /// Compiles a program of eight inputs for all cores.
    compile8(A a, B b, C c, D d, E e, F f, G g, H h)
}

/// Compiles a program of up to eight inputs with these options.
///
/// # Errors
/// Mistakes in the program, each with its place; programs that the backend does not run.
#[track_caller]
pub fn compile<P: Parameters, F: Function<P>>(function: F, options: &Options) -> Result<Compiled<P, F::Output>, Error> {
    compile_draft(fusebox_lang::program("program", function), options)
}

/// Compiles a program that has names: `program("dotp", |xs, ys| ...).inputs(["xs", "ys"])`.
///
/// # Errors
/// As of [`compile`].
pub fn compile_draft<P: Parameters, F: Function<P>>(
    draft: Draft<P, F>,
    options: &Options,
) -> Result<Compiled<P, F::Output>, Error> {
    let built = draft.build()?;
    let recovered = Arc::new(recover(&built, options)?);
    let program = compile_source(&recovered, options)?;
    let source = Source::new(&recovered, options);
    let captured = built.captured.into_iter().map(|(_, array)| array.into()).collect();
    let captured_on_device = Arc::default();
    Ok(Compiled { program, source, interface: built.interface, captured, captured_on_device, of: PhantomData })
}

/// The program of the IR that an embedded one is, before any pass but sharing recovery.
///
/// # Errors
/// Terms that are no program, with their places.
pub fn recover<P: Parameters, R: Results>(
    built: &Built<P, R>,
    options: &Options,
) -> Result<fusebox_ir::Program, Error> {
    let config = fusebox_sharing::Config { share_scalars: options.sharing, ..Default::default() };
    let program = fusebox_sharing::program(&built.terms, &config)?;
    if options.verifies() {
        fusebox_ir::validate(&program, &[]).map_err(|errors| Error::InvalidAfter {
            pass: crate::passes::FRONT_END.0,
            errors,
            program: program.to_string(),
        })?;
    }
    Ok(program)
}
