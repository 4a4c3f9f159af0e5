//! Programs, plans and kernels as JSON: `{"format": "fusebox", "version": 1, "properties": […], "program": …}`.
//!
//! Other kinds of files say which: `"kind": "plan"` with `"plan"`, `"kind": "kernel"` with `"kernel"`. Constants are strings, as text spells
//! them. What is read is checked: nothing that is not valid comes out.

mod locate;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    Kernel, MAX_NESTING, Made, Plan, Program, Property, ValidationErrors, text::without_mark, validate,
    validate_kernel, validate_plan,
};

/// What every file says it is.
pub const FORMAT: &str = "fusebox";
/// The version of the format that is written and read.
pub const VERSION: u32 = 1;

const PROGRAM: &str = "program";
const PLAN: &str = "plan";
const KERNEL: &str = "kernel";

/// Brackets inside each other in the JSON of the deepest valid program: a sink in a consume is five, around them a handful.
const MAX_DEPTH: usize = 5 * MAX_NESTING + 30;
/// Below this, reading and writing need little enough stack for any thread.
const SHALLOW: usize = 64;
/// Enough for [`MAX_DEPTH`] in unoptimised builds; only what is touched is ever memory.
const STACK: usize = 256 << 20;

/// A file with a program.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProgramFile<'a> {
    /// `fusebox`.
    format: Cow<'a, str>,
    /// 1.
    version: u32,
    /// `program`, or nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Cow<'a, str>>,
    /// What the program is checked to have.
    #[serde(default)]
    properties: Vec<Property>,
    /// The program.
    program: Cow<'a, Program>,
}

/// A file with a plan.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PlanFile<'a> {
    /// `fusebox`.
    format: Cow<'a, str>,
    /// 1.
    version: u32,
    /// `plan`.
    kind: Cow<'a, str>,
    /// The plan.
    plan: Cow<'a, Plan>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KernelFile<'a> {
    format: Cow<'a, str>,
    version: u32,
    kind: Cow<'a, str>,
    kernel: Cow<'a, Kernel>,
}

/// Why a file was not read.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// It is no JSON.
    #[error("not JSON: {message}")]
    Syntax {
        /// What is wrong, with line and column.
        message: String,
    },
    /// It does not say that it is one of ours.
    #[error("not a fusebox file: `format` is {found}, and \"fusebox\" is wanted")]
    Format {
        /// What it says instead.
        found: String,
    },
    /// A version that is not known.
    #[error("`version` is {found}, and {VERSION} is the only one known")]
    Version {
        /// What it says.
        found: String,
    },
    /// A file of another kind.
    #[error("`kind` is {found}, and {} is wanted", quoted(.expected))]
    Kind {
        /// What it says.
        found: String,
        /// What can be read here.
        expected: &'static [&'static str],
    },
    /// Brackets inside each other beyond what any valid program needs.
    #[error("line {line}: nested more than {limit} deep")]
    TooDeep {
        /// Where the limit is passed.
        line: usize,
        /// The limit.
        limit: usize,
    },
    /// No thread with the stack that a file of this depth needs.
    #[error("nested {depth} deep, and no thread with a stack for that can be started: {message}")]
    NoThread {
        /// Brackets inside each other.
        depth: usize,
        /// What the system says.
        message: String,
    },
    /// A value that is not what is wanted at its place.
    #[error("at {path}: {message}")]
    Shape {
        /// The position, such as `program.body.bindings[2]`.
        path: String,
        /// What is wrong, with line and column.
        message: String,
    },
    /// What is read is not valid.
    #[error("the {kind} is not valid:\n{errors}")]
    Invalid {
        /// `program`, `plan`, `kernel`.
        kind: &'static str,
        /// Why.
        #[source]
        errors: ValidationErrors,
    },
}

crate::debug_is_message!(enum JsonError {
    Syntax { message },
    Format { found },
    Version { found },
    Kind { found, expected },
    TooDeep { line, limit },
    NoThread { depth, message },
    Shape { path, message },
    Invalid { kind, errors },
});

/// Kinds as a message names them: `"program" or "plan"`.
fn quoted(kinds: &[&str]) -> String {
    kinds.iter().map(|kind| format!("\"{kind}\"")).collect::<Vec<_>>().join(" or ")
}

/// A program, and properties it has, as JSON.
pub fn to_json(program: &Program, properties: &[Property]) -> String {
    write(&ProgramFile {
        format: FORMAT.into(),
        version: VERSION,
        kind: None,
        properties: properties.to_vec(),
        program: Cow::Borrowed(program),
    })
}

/// Reads what [`to_json`] writes; the program is valid, and has the properties.
///
/// # Errors
/// [`JsonError`].
pub fn from_json(json: &str) -> Result<(Program, Vec<Property>), JsonError> {
    let file: ProgramFile<'static> = read(json, &[PROGRAM])?;
    validate(&file.program, &file.properties).map_err(invalid(PROGRAM))?;
    Ok((file.program.into_owned(), file.properties))
}

/// A plan as JSON.
pub fn plan_to_json(plan: &Plan) -> String {
    write(&PlanFile { format: FORMAT.into(), version: VERSION, kind: PLAN.into(), plan: Cow::Borrowed(plan) })
}

/// Reads what [`plan_to_json`] writes; the plan is valid.
///
/// # Errors
/// [`JsonError`].
pub fn plan_from_json(json: &str) -> Result<Plan, JsonError> {
    let file: PlanFile<'static> = read(json, &[PLAN])?;
    validate_plan(&file.plan).map_err(invalid(PLAN))?;
    Ok(file.plan.into_owned())
}

/// Reads what [`to_json`] or [`plan_to_json`] writes, whichever it is; the program or the plan is valid.
///
/// # Errors
/// [`JsonError`].
pub fn made_from_json(json: &str) -> Result<Made, JsonError> {
    let json = without_mark(json);
    let depth = depth(json)?;
    match header(json, &[PROGRAM, PLAN])? {
        PLAN => {
            let file: PlanFile<'static> = body(json, depth)?;
            validate_plan(&file.plan).map_err(invalid(PLAN))?;
            Ok(Made::Plan(Box::new(file.plan.into_owned())))
        }
        _ => {
            let file: ProgramFile<'static> = body(json, depth)?;
            validate(&file.program, &file.properties).map_err(invalid(PROGRAM))?;
            Ok(Made::Program(file.program.into_owned()))
        }
    }
}

/// A kernel as JSON.
pub fn kernel_to_json(kernel: &Kernel) -> String {
    write(&KernelFile { format: FORMAT.into(), version: VERSION, kind: KERNEL.into(), kernel: Cow::Borrowed(kernel) })
}

/// Reads what [`kernel_to_json`] writes; the kernel is valid.
///
/// # Errors
/// [`JsonError`].
pub fn kernel_from_json(json: &str) -> Result<Kernel, JsonError> {
    let file: KernelFile<'static> = read(json, &[KERNEL])?;
    validate_kernel(&file.kernel).map_err(invalid(KERNEL))?;
    Ok(file.kernel.into_owned())
}

fn invalid(kind: &'static str) -> impl Fn(ValidationErrors) -> JsonError {
    move |errors| JsonError::Invalid { kind, errors }
}

/// The JSON schema of program files, as JSON.
pub fn schema() -> String {
    let schema = schemars::schema_for!(ProgramFile<'_>);
    pretty(&schema)
}

/// The JSON schema of files with plans, as JSON.
pub fn plan_schema() -> String {
    pretty(&schemars::schema_for!(PlanFile<'_>))
}

fn pretty<T: Serialize>(value: &T) -> String {
    // Nothing in these types can fail to serialise: keys are strings, there are no maps of other keys and no custom errors.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// Writes on a stack that suffices for the deepest valid program.
fn write<T: Serialize + Sync>(file: &T) -> String {
    // Where no thread can be started the stack that is there has to do: it does for all but very deep programs.
    with_stack(|| pretty(file)).unwrap_or_else(|_| pretty(file))
}

/// Runs `work` on a large stack.
///
/// # Errors
/// No thread can be started.
fn with_stack<R: Send>(work: impl Fn() -> R + Sync) -> std::io::Result<R> {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, &work)?;
        Ok(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn read<T: DeserializeOwned + Send>(json: &str, kind: &'static [&'static str]) -> Result<T, JsonError> {
    let json = without_mark(json);
    let depth = depth(json)?;
    header(json, kind)?;
    body(json, depth)
}

/// The whole file, whose header is known to be right.
fn body<T: DeserializeOwned + Send>(json: &str, depth: usize) -> Result<T, JsonError> {
    let parse = || attempt(json).map_err(|error| shape::<T>(json, &error));
    if depth <= SHALLOW {
        return parse();
    }
    with_stack(parse).map_err(|error| JsonError::NoThread { depth, message: error.to_string() })?
}

/// Reads JSON whose depth is known and limited. All reading goes through here: for every other reader of the same types the compiler would
/// make all of their code again.
fn attempt<T: DeserializeOwned>(json: &str) -> Result<T, serde_path_to_error::Error<serde_json::Error>> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.disable_recursion_limit();
    let mut track = serde_path_to_error::Track::new();
    let file = T::deserialize(serde_path_to_error::Deserializer::new(&mut deserializer, &mut track));
    match file.and_then(|file| deserializer.end().map(|()| file)) {
        Ok(file) => Ok(file),
        Err(error) => Err(serde_path_to_error::Error::new(track.path(), error)),
    }
}

/// Why a file was not read: no JSON, or JSON of another shape.
fn shape<T: DeserializeOwned>(json: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> JsonError {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.disable_recursion_limit();
    let file = serde_json::Value::deserialize(&mut deserializer).and_then(|file| deserializer.end().map(|()| file));
    let Ok(file) = file else {
        return JsonError::Syntax { message: error.inner().to_string() };
    };
    let message = error.inner().to_string();
    match locate::locate::<T>(&file, error.path(), &message) {
        // The line that serde gives is that of the end of what it read first.
        Some(path) => JsonError::Shape { path, message: without_line(&message).to_owned() },
        None if error.inner().is_data() => JsonError::Shape { path: error.path().to_string(), message },
        // Read as if it were another shape, it looks like a mistake of syntax.
        None => {
            let again = attempt::<T>(&file.to_string()).err().map(|error| error.into_inner().to_string());
            let path = error.path().to_string();
            JsonError::Shape { path, message: again.map_or(message, |again| without_line(&again).to_owned()) }
        }
    }
}

/// A message of serde without the line and column that it ends with.
fn without_line(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(message, _)| message)
}

/// How deep brackets are nested, strings left out; an error beyond [`MAX_DEPTH`].
fn depth(json: &str) -> Result<usize, JsonError> {
    let (mut depth, mut deepest, mut line) = (0usize, 0usize, 1usize);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'\\' => _ = bytes.next(),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                if depth > MAX_DEPTH {
                    return Err(JsonError::TooDeep { line, limit: MAX_DEPTH });
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'\n' => line += 1,
            _ => {}
        }
    }
    Ok(deepest)
}

/// Format, version and kind, before anything else is looked at; gives the kind.
fn header(json: &str, expected: &'static [&'static str]) -> Result<&'static str, JsonError> {
    #[derive(Deserialize)]
    struct Header<'a> {
        #[serde(borrow, default)]
        format: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow, default)]
        version: Option<&'a serde_json::value::RawValue>,
        #[serde(borrow, default)]
        kind: Option<&'a serde_json::value::RawValue>,
    }
    let mut deserializer = serde_json::Deserializer::from_str(json);
    deserializer.disable_recursion_limit(); // what is skipped is skipped in a loop
    let header = Header::deserialize(&mut deserializer).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => JsonError::Shape { path: ".".to_owned(), message: error.to_string() },
        _ => JsonError::Syntax { message: error.to_string() },
    })?;
    let text = |value: Option<&serde_json::value::RawValue>| {
        value.map_or("missing".to_owned(), |value| value.get().chars().take(60).collect::<String>())
    };
    let is = |value: Option<&serde_json::value::RawValue>, wanted: &str| {
        value.is_some_and(|value| serde_json::from_str::<String>(value.get()).is_ok_and(|text| text == wanted))
    };
    if !is(header.format, FORMAT) {
        return Err(JsonError::Format { found: text(header.format) });
    }
    if header.version.is_none_or(|value| value.get() != VERSION.to_string()) {
        return Err(JsonError::Version { found: text(header.version) });
    }
    let kind = expected.iter().find(|&&kind| is(header.kind, kind) || (header.kind.is_none() && kind == PROGRAM));
    kind.copied().ok_or_else(|| JsonError::Kind { found: text(header.kind), expected })
}
