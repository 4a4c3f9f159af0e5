//! The pages of this book show every operation, every form of it, every scalar instruction and every scalar function.
//!
//! Programs are found in the pages themselves: string literals that begin with `fn`, and the arguments of `eval`.

use std::{collections::BTreeSet, fs, path::PathBuf};

use fusebox_ir::{
    ArrayOp, Binary, Block, Boundary, Direction, ElementType, Instruction, Lambda, Order, Part, PermuteOrder, Program,
    ScalarOp, ScalarPart, ScanForm, Sink, Unary, text,
};

use crate::support::expression_program;

/// What the programs of all pages hold, by the names that are used here.
fn shown() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    pages().iter().flat_map(|page| programs(page)).for_each(|program| of_block(&program.body, &mut found));
    found
}

/// The text of every page.
fn pages() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/language");
    let paths = fs::read_dir(folder).expect("the pages").map(|entry| entry.expect("an entry").path());
    let is_page = |path: &PathBuf| !["main.rs", "support.rs", "coverage.rs"].iter().any(|name| path.ends_with(name));
    paths.filter(is_page).map(|path| fs::read_to_string(path).expect("a page")).collect()
}

/// The programs of a page. Those with holes, which `format!` fills, are not looked at.
fn programs(page: &str) -> Vec<Program> {
    let literals = literals(page);
    let written = literals.iter().filter(|literal| literal.starts_with("fn ") && !literal.contains("{{")).cloned();
    let evaluated = literals.windows(2).filter(|pair| ElementType::from_name(&pair[0]).is_some());
    let evaluated = evaluated.map(|pair| expression_program(&pair[0], &pair[1]));
    let parse = |program: String| text::parse(&program).unwrap_or_else(|error| panic!("{error}\n{program}"));
    written.chain(evaluated).map(parse).collect()
}

/// The string literals of Rust source without raw strings and without quotes as characters.
fn literals(source: &str) -> Vec<String> {
    let code: String =
        source.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|l| [l, "\n"]).collect();
    let mut literals = Vec::new();
    let mut characters = code.chars();
    while characters.by_ref().any(|c| c == '"') {
        let mut literal = String::new();
        while let Some(c) = characters.next().filter(|&c| c != '"') {
            match if c == '\\' { characters.next() } else { Some(c) } {
                Some('\n') if c == '\\' => {}
                Some(c) => literal.push(c),
                None => {}
            }
        }
        literals.push(literal);
    }
    literals
}

fn of_block(block: &Block, found: &mut BTreeSet<String>) {
    for binding in &block.bindings {
        found.extend(of_operation(&binding.op));
        for part in binding.op.parts() {
            match part {
                Part::Body(inner) => of_block(inner, found),
                Part::Function(lambda) => of_lambda(lambda, found),
                _ => {}
            }
        }
    }
}

fn of_lambda(lambda: &Lambda, found: &mut BTreeSet<String>) {
    for instruction in &lambda.instructions {
        found.insert(of_instruction(instruction));
        for part in instruction.op.parts() {
            if let ScalarPart::Body(inner) = part {
                of_lambda(inner, found);
            }
        }
    }
}

/// The operation, and which of its forms. No `_` arms: who adds an operation decides here which of its forms are to be shown.
fn of_operation(op: &ArrayOp) -> Vec<String> {
    let mut forms = vec![op.name().to_owned()];
    match op {
        ArrayOp::Constant { .. }
        | ArrayOp::Unit { .. }
        | ArrayOp::Compute { .. }
        | ArrayOp::Generate { .. }
        | ArrayOp::Map { .. }
        | ArrayOp::Backpermute { .. }
        | ArrayOp::Transform { .. }
        | ArrayOp::Replicate { .. }
        | ArrayOp::ReplicateSegments { .. }
        | ArrayOp::Slice { .. }
        | ArrayOp::Reshape { .. }
        | ArrayOp::Concat { .. }
        | ArrayOp::Scan { .. }
        | ArrayOp::Expand { .. }
        | ArrayOp::Filter { .. }
        | ArrayOp::Nest { .. }
        | ArrayOp::Element { .. }
        | ArrayOp::Cond { .. }
        | ArrayOp::While { .. }
        | ArrayOp::Foreign { .. } => {}
        ArrayOp::Fold { commutes, .. } => forms.extend(commutes.then(|| "fold commutes".to_owned())),
        ArrayOp::Permute { order, keep, .. } => {
            forms.push(format!("permute {order:?}"));
            forms.extend(keep.map(|_| "permute keep".to_owned()));
        }
        ArrayOp::PermutedExpand { order, .. } => forms.push(format!("permuted_expand {order:?}")),
        ArrayOp::Sort { carry, .. } => forms.extend((!carry.is_empty()).then(|| "sort carry".to_owned())),
        ArrayOp::Stencil { boundaries, .. } => {
            forms.extend(boundaries.iter().map(|b| of_boundary(&b.boundary).to_owned()))
        }
        ArrayOp::Consume { sinks, limit, chunks, .. } => {
            forms.extend(sinks.iter().map(|sink| of_sink(sink).to_owned()));
            forms.extend(limit.map(|_| "consume limit".to_owned()));
            forms.extend(chunks.then(|| "consume chunks".to_owned()));
        }
        ArrayOp::Cluster { order, .. } => forms.push(match order {
            Order::Ascending => "cluster ascending".to_owned(),
            Order::Descending => "cluster descending".to_owned(),
            Order::Of(_) => "cluster of".to_owned(),
        }),
    }
    forms
}

/// Every operation and every form.
fn operations() -> Vec<String> {
    let mut all: Vec<String> = [
        "constant",
        "unit",
        "compute",
        "generate",
        "map",
        "backpermute",
        "transform",
        "replicate",
        "replicate_seg",
        "slice",
        "reshape",
        "concat",
        "fold",
        "fold1",
        "fold_seg",
        "fold1_seg",
        "fold commutes",
        "permute",
        "permute keep",
        "expand",
        "permuted_expand",
        "filter",
        "sort",
        "sort carry",
        "stencil",
        "nest",
        "element",
        "cond",
        "while",
        "foreign",
        "consume",
        "consume limit",
        "consume chunks",
        "cluster",
        "cluster ascending",
        "cluster descending",
        "cluster of",
    ]
    .map(str::to_owned)
    .into();
    for direction in [Direction::Left, Direction::Right] {
        for form in [ScanForm::Exclusive, ScanForm::Inclusive, ScanForm::Body] {
            for offsets in [None, Some(fusebox_ir::ArrayId(0))] {
                let (combine, seeds, sources) = (Lambda::default(), Vec::new(), Vec::new());
                let scan = ArrayOp::Scan { direction, form, combine, seeds, sources, offsets, commutes: false };
                all.push(scan.name().to_owned());
            }
        }
    }
    for order in [PermuteOrder::Source, PermuteOrder::Unique, PermuteOrder::Ordered] {
        all.extend([format!("permute {order:?}"), format!("permuted_expand {order:?}")]);
    }
    let boundaries = ["clamp", "mirror", "wrap", "constant", "function"].map(|name| format!("boundary {name}"));
    let sinks = ["elements", "tabulate", "stream_out", "accumulate"].map(|name| format!("sink {name}"));
    all.into_iter().chain(boundaries).chain(sinks).collect()
}

fn of_boundary(boundary: &Boundary) -> &'static str {
    match boundary {
        Boundary::Clamp => "boundary clamp",
        Boundary::Mirror => "boundary mirror",
        Boundary::Wrap => "boundary wrap",
        Boundary::Constant(_) => "boundary constant",
        Boundary::Function(_) => "boundary function",
    }
}

fn of_sink(sink: &Sink) -> &'static str {
    match sink {
        Sink::Elements { .. } => "sink elements",
        Sink::Tabulate => "sink tabulate",
        Sink::StreamOut => "sink stream_out",
        Sink::Accumulate { .. } => "sink accumulate",
    }
}

fn of_instruction(instruction: &Instruction) -> String {
    match &instruction.op {
        ScalarOp::Unary { function, .. } => format!("unary {}", function.text()),
        ScalarOp::Binary { function, .. } => format!("binary {}", function.text()),
        ScalarOp::Fma { .. } => "fma".to_owned(),
        ScalarOp::Convert { to, .. } => format!("to {to}"),
        ScalarOp::Bits { .. } => "bits".to_owned(),
        ScalarOp::Read { .. } => "read".to_owned(),
        ScalarOp::ReadFlat { .. } => "read flat".to_owned(),
        ScalarOp::If { .. } => "if".to_owned(),
        ScalarOp::While { .. } => "while (scalar)".to_owned(),
        ScalarOp::Assert { .. } => "assert".to_owned(),
    }
}

#[track_caller]
fn all_shown(wanted: impl IntoIterator<Item = String>) {
    let shown = shown();
    let missing: Vec<String> = wanted.into_iter().filter(|name| !shown.contains(name)).collect();
    assert!(missing.is_empty(), "no page shows {missing:?}");
}

#[test]
fn every_operation_is_shown() {
    all_shown(operations());
}

/// Nothing that pages show is missing from the list of what is to be shown.
#[test]
fn the_list_of_operations_is_whole() {
    let listed: BTreeSet<String> = operations().into_iter().collect();
    for program in pages().iter().flat_map(|page| programs(page)) {
        for form in program.body.bindings.iter().flat_map(|binding| of_operation(&binding.op)) {
            assert!(listed.contains(&form), "`{form}` is not listed");
        }
    }
}

#[test]
fn every_function_is_shown() {
    all_shown(Unary::ALL.iter().map(|function| format!("unary {}", function.text())));
    all_shown(Binary::ALL.iter().map(|function| format!("binary {}", function.text())));
}

#[test]
fn every_instruction_is_shown() {
    let others = ["fma", "bits", "read", "read flat", "if", "while (scalar)", "assert"].map(str::to_owned);
    let numbers = ElementType::ALL.into_iter().filter(|ty| ty.is_number());
    all_shown(others.into_iter().chain(numbers.map(|ty| format!("to {ty}"))));
}
