//! Everything that a user can get wrong: exit code 2, and a message that says what was expected.

mod support;

use std::io::Write;

use support::{Folder, f32s, i64s, npy};

const ADD: &str =
    "fn add(xs: [n]f32, ys: [n]f32) -> [n]f32 { let zs: [n]f32 = map(|x, y| x + y, xs, ys) return sum: zs }";
const ROWS: &str = "fn rows(a: [h, w]f32) -> [h]f32 { let s: [h]f32 = fold(|x, y| x + y, 0.0, a) return s }";
const TWICE: &str = "fn twice(z.re: [n]f64, z.im: [n]f64) -> [n]f64, [n]f64 {
  let a: [n]f64, b: [n]f64 = map(|x, y| { return x + x, y + y }, z.re, z.im) return w.re: a, w.im: b }";
const SCALAR: &str = "fn up(k: i64) -> i64 { let r = k + 1 return r }";
const GRAY: &str = "fn same(img: [h, w]u8) -> [h, w]u8 { let r: [h, w]u8 = map(|x| x, img) return r }";
const NESTED: &str = "fn all(t: [n][?]f32) -> [n][?]f32 { return t }";
const STREAM: &str = "fn count(s: stream [3]f32) -> i64 {
  let k: i64, v: [k]f32 = consume(|i, x: [3]f32| { let y: f32 = fold(|a, b| a + b, 0.0, x) yield elements(y) }, s) return k }";
const TRUTH: &str = "fn all(b: [n]bool) -> bool { let r: bool = fold(|x, y| x && y, true, b) return r }";
const SPARSE: &str =
    "fn sum(m.value: [n]f32, m.row: [n]i32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, m.value) return s }";

fn folder() -> Folder {
    let folder = Folder::new();
    for (name, text) in [
        ("add", ADD),
        ("rows", ROWS),
        ("twice", TWICE),
        ("scalar", SCALAR),
        ("gray", GRAY),
        ("nested", NESTED),
        ("stream", STREAM),
        ("truth", TRUTH),
        ("sparse", SPARSE),
    ] {
        folder.write(&format!("{name}.fbx"), text);
    }
    folder.write("xs.npy", f32s(&[1.0, 2.0, 3.0]));
    folder.write("ys.npy", f32s(&[4.0, 5.0, 6.0]));
    folder
}

fn bad(folder: &Folder, arguments: &str, says: &[&str]) {
    folder.fusebox(arguments).fails(2, says);
}

#[test]
fn arguments() {
    let f = folder();
    bad(&f, "", &["Usage"]);
    bad(&f, "fly", &["unrecognized subcommand 'fly'"]);
    bad(&f, "run", &["PROGRAM"]);
    bad(&f, "run add.fbx --colour blue", &["unexpected argument '--colour'"]);
    bad(&f, "run add.fbx --threads 0", &["--threads"]);
    bad(&f, "run add.fbx --threads many", &["--threads", "many"]);
    bad(&f, "run add.fbx --repeat 0", &["--repeat"]);
    bad(&f, "run add.fbx --backend gpu", &["there is no backend `gpu`; there are cpu, cuda, sim, interp, auto"]);
    bad(
        &f,
        "dump add.fbx --stage fusing",
        &["there is no stage `fusing`; there are read, simplify, fusion, strictness, clustering, kernels"],
    );
    bad(&f, "dump add.fbx --format yaml", &["yaml", "text, json, dot"]);
    bad(&f, "opt add.fbx", &["--passes"]);
    bad(
        &f,
        "opt add.fbx --passes simplify,polish",
        &[
            "there is no pass `polish`; there are simplify, flattening, streams, fusion, strictness, clustering, kernels",
        ],
    );
    bad(&f, "opt add.fbx --passes sharing", &["`sharing` makes programs of embedded terms"]);
    bad(&f, "opt add.fbx --passes kernels,simplify", &["pass `simplify`", "pass `kernels` before it makes a plan"]);
    bad(&f, "opt nested.fbx --passes kernels", &["pass `kernels` needs a flat program"]);
}

#[test]
fn programs() {
    let f = folder();
    bad(&f, "check none.fbx", &["cannot read none.fbx"]);
    bad(&f, "check .", &["cannot read ."]);
    f.write("binary.fbx", [0xff, 0xfe, 0x00]);
    bad(&f, "check binary.fbx", &["binary.fbx: expected a program as text or JSON"]);
    f.write("empty.fbx", "");
    bad(&f, "check empty.fbx", &["empty.fbx:1:1"]);
    f.write("syntax.fbx", "fn f(a: [n]f32) -> f32 {\n  let s: f32 = fold(|x, y| x +* y, 0.0, a)\n  return s }");
    bad(&f, "check syntax.fbx", &["syntax.fbx:2:", "^"]);
    f.write("unknown.fbx", "fn f(a: [n]f32) -> f32 {\n  return b }");
    bad(&f, "run unknown.fbx", &["unknown.fbx:2:", "`b`"]);
    f.write("invalid.fbx", "fn f(a: [n]f32) -> [n]f64 { let b: [n]f64 = map(|x| x, a) return b }");
    bad(&f, "check invalid.fbx", &["invalid.fbx", "f32", "f64"]);
    f.write("other.json", "{\"format\": \"elsewhere\", \"version\": 1}");
    bad(&f, "check other.json", &["other.json", "fusebox"]);
    f.write("later.json", "{\"format\": \"fusebox\", \"version\": 7, \"program\": {}}");
    bad(&f, "check later.json", &["later.json", "`version` is 7"]);
    f.write("cut.json", "{\"format\": \"fusebox\", \"version\": 1, ");
    bad(&f, "check cut.json", &["cut.json", "not JSON"]);
}

/// One run tells all that is wrong, in the order of the text, and nothing that only follows from it.
#[test]
fn everything_that_is_wrong_with_a_text() {
    let f = folder();
    f.write(
        "many.fbx",
        "fn f(xs: [n]f32) -> [n]f32 {
  let a: [n]f32 = map(|x| x + , xs)
  let b: [n]f32 = map(|x, y| x * y, a, xs)
  let s: f32 = reduce(|x, y| x + y, 0.0, b)
  let c: [n]f32 = map(|x| x * z, xs)
  return c }",
    );
    let said = f.fusebox("check many.fbx").err;
    let places: Vec<_> = said.lines().filter_map(|line| line.split_once("many.fbx:")).map(|(_, rest)| rest).collect();
    assert_eq!(
        places,
        [
            "2:31: expected a value, found `,`",
            "4:16: there is no function or operation `reduce`",
            "5:31: unknown name `z`",
        ],
        "{said}"
    );
    assert!(said.contains("`reduce` is written `fold`: `let s: f32 = fold(|x, y| x + y, 0.0, xs)`"), "{said}");
    // Of a program that can be read, what is not valid.
    f.write(
        "shapes.fbx",
        "fn f(xs: [n]f32, ys: [m]f32) -> [n]f32 {
  let a: [n, n]f32 = map(|x| x, xs)
  let b: [n, n]f32 = replicate([_], xs)
  let c: [n]f32 = fold(|x, y| x + y, 0.0, ys)
  return xs }",
    );
    bad(&f, "check shapes.fbx", &["2:22: ", "3:22: ", "4:19: "]);
}

#[test]
fn names_of_inputs() {
    let f = folder();
    bad(&f, "run add.fbx --input xs=xs.npy", &["no file is given for `ys` ([n]f32)"]);
    bad(&f, "run add.fbx", &["`xs` ([n]f32), `ys` ([n]f32)"]);
    let all = "run add.fbx --backend interp --input xs=xs.npy --input ys=ys.npy";
    bad(&f, &format!("{all} --input zs=xs.npy"), &["the program has no input `zs`; it has xs: [n]f32, ys: [n]f32"]);
    bad(&f, &format!("{all} --input xs=ys.npy"), &["input `xs` is given twice"]);
    bad(
        &f,
        "run add.fbx --input xs.npy --input ys=ys.npy",
        &["xs.npy", "expected NAME=FILE, or an .npz archive", "a .npy file"],
    );
    bad(&f, "run add.fbx --input xs=none.npy --input ys=ys.npy", &["none.npy, for `xs`", "No such file"]);
    let wanted = "for `xs`: expected a file, or the elements of [n]f32, found neither: ";
    bad(&f, "run add.fbx --input xs=[1,x] --input ys=ys.npy", &[wanted, "`x`"]);
    bad(&f, "run add.fbx --input xs=[[1],[2]] --input ys=ys.npy", &[wanted]);
    bad(&f, "run add.fbx --input xs=[1,2 --input ys=ys.npy", &[wanted]);
    bad(&f, "run add.fbx --input xs=1 --input ys=ys.npy", &["in brackets, found a single value"]);
    bad(&f, "run scalar.fbx --input k=1.5", &["1.5, for `k`: expected a file, or a value of i64"]);
    bad(&f, "run scalar.fbx --input k=99999999999999999999", &["a value of i64"]);
    f.write("dir/a.npy", f32s(&[1.0]));
    bad(&f, "run add.fbx --input xs=dir --input ys=ys.npy", &["dir, for `xs`: expected a file, found a folder"]);
}

#[test]
fn types_of_inputs() {
    let f = folder();
    let with = |name: &str| format!("run add.fbx --backend interp --input xs=xs.npy --input ys={name}");
    f.write("doubles.npy", npy("'<f8'", false, "(3,)", &[0; 24]));
    bad(
        &f,
        &with("doubles.npy"),
        &["doubles.npy, for `ys`: expected [n]f32, found [3]f64; in numpy `x.astype(np.float32)` converts"],
    );
    f.write("square.npy", npy("'<f4'", false, "(3, 3)", &[0; 36]));
    bad(&f, &with("square.npy"), &["expected [n]f32, found [3, 3]f32"]);
    f.write("long.npy", f32s(&[1.0; 4]));
    bad(&f, &with("long.npy"), &["extent 0 of input `ys` is 4, and should be 3, `n`, from input `xs`"]);
    f.write("pairs.npy", npy("[('a', '<f4'), ('b', '<i2')]", false, "(3,)", &[0; 18]));
    bad(&f, &with("pairs.npy"), &["expected [n]f32, found [3] elements with the fields `a`, `b`"]);
    bad(
        &f,
        "run twice.fbx --input z=xs.npy",
        &["xs.npy, for `z`: expected elements with the fields `re`, `im`, found [3]f32"],
    );
    bad(&f, "run twice.fbx --input z=pairs.npy", &["there is no field `re` in it; there are `a`, `b`"]);
    f.write("single.npy", npy("'<c8'", false, "(1,)", &[0; 8]));
    bad(&f, "run twice.fbx --input z=single.npy", &["expected [n]f64, found [1]f32"]);
}

#[test]
fn damaged_npy() {
    let f = folder();
    let with = |name: &str| format!("run add.fbx --backend interp --input xs=xs.npy --input ys={name}");
    let whole = f32s(&[1.0, 2.0, 3.0]);
    f.write("cut.npy", &whole[..whole.len() - 5]);
    bad(&f, &with("cut.npy"), &["cut.npy, for `ys`: the file is cut: expected 12 bytes of elements, found 7"]);
    f.write("more.npy", [whole.as_slice(), &[0]].concat());
    bad(&f, &with("more.npy"), &["expected 12 bytes of elements, found 13"]);
    f.write("text.npy", "1 2 3\n");
    bad(
        &f,
        &with("text.npy"),
        &["expected .npy, .npz, Matrix Market or PNG, found a file that begins with \"1 2 3\\n\""],
    );
    f.write("empty.npy", "");
    bad(&f, &with("empty.npy"), &["found an empty file"]);
    f.write("header.npy", &whole[..30]);
    bad(&f, &with("header.npy"), &["the header is not that of a .npy file: the file ends in it"]);
    f.write("magic.npy", &whole[..7]);
    bad(&f, &with("magic.npy"), &["the file ends in it"]);
    f.write("version.npy", b"\x93NUMPY\x09\x00\x00\x00");
    bad(&f, &with("version.npy"), &["version 9"]);
    f.write("endless.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}");
    bad(&f, &with("endless.npy"), &["it has 4294967295 bytes"]);
    f.write("deep.npy", [b"\x93NUMPY\x02\x00\x00\x00\x08\x00".as_slice(), &[b'('; 1 << 19]].concat());
    bad(&f, &with("deep.npy"), &["nested more than 32 deep"]);
    for (shape, says) in [
        ("(4611686018427387904,)", "the file is cut"),
        ("(4294967296, 4294967296, 4294967296)", "the file is cut"),
        ("(99999999999999999999999,)", "is too large"),
        ("(-3,)", "literal"),
        ("3", "'shape' is no tuple"),
    ] {
        f.write("shape.npy", npy("'<f4'", false, shape, &[0; 12]));
        bad(&f, &with("shape.npy"), &["shape.npy", says]);
    }
    for (descr, says) in [
        ("'<U3'", "numpy type `<U3`"),
        ("'|O'", "numpy type `|O`"),
        ("'<f16'", "numpy type `<f16`"),
        ("'<M8[s]'", "numpy type"),
        ("[('a', '<f4', (2,))]", "field `a`"),
        ("7", "describes no type"),
        ("[7]", "describes no field"),
    ] {
        f.write("descr.npy", npy(descr, false, "(3,)", &[0; 12]));
        bad(&f, &with("descr.npy"), &["descr.npy", says]);
    }
    f.write("truth.npy", npy("'|b1'", false, "(3,)", &[0, 1, 2]));
    bad(&f, "run truth.fbx --input b=truth.npy", &["byte 2 at position 2 is no bool"]);
}

fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::FileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn archives() {
    let f = folder();
    f.write("some.npz", archive(&[("a.npy", f32s(&[1.0])), ("b.npy", f32s(&[2.0]))]));
    bad(&f, "run add.fbx --input xs=some.npz --input ys=ys.npy", &["there is no array `xs` in it; there are `a`, `b`"]);
    bad(&f, "run add.fbx --input some.npz", &["some.npz, member `a`", "the program has no input `a`"]);
    f.write("half.npz", archive(&[("xs.npy", f32s(&[1.0]))]));
    bad(&f, "run add.fbx --input half.npz", &["no file is given for `ys`"]);
    let whole = archive(&[("xs.npy", f32s(&[1.0; 100])), ("ys.npy", f32s(&[1.0; 100]))]);
    f.write("cut.npz", &whole[..whole.len() / 2]);
    bad(&f, "run add.fbx --input cut.npz", &["cut.npz: not an .npz archive"]);
    f.write("inner.npz", archive(&[("xs.npy", b"nothing".to_vec()), ("ys.npy", f32s(&[1.0]))]));
    bad(&f, "run add.fbx --input inner.npz", &["inner.npz, member `xs`", "header"]);
    // A byte of the elements changed: the checksum tells.
    let stored = {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        let options = zip::write::FileOptions::default().compression_method(zip::CompressionMethod::Stored);
        for name in ["xs.npy", "ys.npy"] {
            zip.start_file(name, options).unwrap();
            zip.write_all(&f32s(&[7.0; 16])).unwrap();
        }
        let mut bytes = zip.finish().unwrap().into_inner();
        let at = bytes.windows(4).position(|bytes| bytes == 7f32.to_le_bytes()).unwrap();
        bytes[at] ^= 1;
        bytes
    };
    f.write("changed.npz", stored);
    bad(&f, "run add.fbx --backend interp --input changed.npz", &["changed.npz, member `xs`", "checksum"]);
}

#[test]
fn matrices_and_images() {
    let f = folder();
    let matrix = |text: &str, says: &[&str]| {
        f.write("m.mtx", text);
        bad(&f, "run rows.fbx --backend interp --input a=m.mtx", says);
    };
    matrix(
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\nx\n4\n",
        &["m.mtx, for `a`: line 5: `x` is no real number"],
    );
    matrix("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", &["line 6: the file ends after 3 of 4 entries"]);
    matrix("%%MatrixMarket matrix array real general\n1 1\n1\n2\n", &["line 4: more than 1 entries"]);
    matrix("%%MatrixMarket matrix array real general\n", &["ends before the line of sizes"]);
    matrix("%%MatrixMarket matrix array real general\n1000000000 1000000000\n1\n", &["cannot hold the entries"]);
    matrix("%%MatrixMarket matrix list real general\n2 2\n", &["expected `array` or `coordinate`, found `list`"]);
    matrix("%%MatrixMarket matrix array real symmetric\n2 3\n", &["are not symmetric"]);
    matrix("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 5\n", &["expected a dense matrix"]);
    matrix(
        "%%MatrixMarket matrix array complex general\n1 1\n1 2\n",
        &["real numbers (complex ones become components"],
    );
    let sparse = |text: &str, says: &[&str]| {
        f.write("s.mtx", text);
        bad(&f, "run sparse.fbx --backend interp --input m=s.mtx", says);
    };
    sparse("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n", &["line 3: row `3` is none from 1 to 2"]);
    sparse(
        "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 0 5\n",
        &["line 3: column `0` is none from 1 to 2"],
    );
    sparse("%%MatrixMarket matrix coordinate real general\n2 2 9999999999999999999\n", &["cannot hold"]);
    sparse("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n", &["line 3: a number is missing"]);
    sparse("%%MatrixMarket matrix array real general\n1 1\n1\n", &["which is of sparse matrices"]);
    f.write("cut.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01");
    bad(&f, "run gray.fbx --input img=cut.png", &["cut.png, for `img`: not a PNG image"]);
    bad(&f, "run gray.fbx --input img=xs.npy", &["expected [h, w]u8, found [3]f32"]);
}

#[test]
fn arrays_of_arrays_and_streams() {
    let f = folder();
    f.write("e.npy", i64s(&[2, 1]));
    let run = "run nested.fbx --backend interp --input t.values=xs.npy";
    bad(&f, run, &["no file is given for `t.extents` (the extents of [n][?]f32, of rank 1 and i64)"]);
    bad(
        &f,
        &format!("{run} --input t.extents=ys.npy"),
        &["expected the extents of [n][?]f32, of rank 1 and i64, found [3]f32"],
    );
    f.write("short.npy", i64s(&[1, 1]));
    bad(
        &f,
        &format!("{run} --input t.extents=short.npy"),
        &["input `t`, [n][?]f32: there are 3 values, and the extents need 2"],
    );
    f.write("negative.npy", i64s(&[4, -1]));
    bad(&f, &format!("{run} --input t.extents=negative.npy"), &["extent -1 of array 1 is negative"]);
    bad(
        &f,
        "run stream.fbx --input s=xs.npy",
        &["expected stream [3]f32, all elements as an array of rank 2, found [3]f32"],
    );
    f.write("s/1.npy", f32s(&[1.0; 3]));
    f.write("s/2.npy", f32s(&[1.0; 4]));
    bad(&f, "run stream.fbx --backend interp --input s=s", &["extent 0 of input `s` is 4, and should be 3"]);
    f.write("s/2.npy", i64s(&[1; 3]));
    bad(&f, "run stream.fbx --backend interp --input s=s", &["2.npy, for `s`: expected stream [3]f32, found [3]i64"]);
    bad(&f, "run stream.fbx --input s=s", &["for `s`"]);
    // Every backend holds streams to their types.
    for backend in ["cpu", "interp", "sim"] {
        f.write("s/2.npy", f32s(&[1.0; 2]));
        let run = format!("run stream.fbx --backend {backend} --input s=s");
        bad(&f, &run, &["extent 0 of input `s` is 2, and should be 3"]);
    }
}

#[test]
fn outputs() {
    let f = folder();
    let run = "run add.fbx --backend interp --input xs=xs.npy --input ys=ys.npy";
    bad(&f, &format!("{run} --output r=r.npy"), &["the program has no result `r`; it has sum: [n]f32"]);
    bad(&f, &format!("{run} --output none/r.npy"), &["none/r.npy", "no folder none"]);
    bad(&f, &format!("{run} --output r.csv"), &["r.csv: expected a file that ends in .npy, .npz, .png or .mtx"]);
    bad(&f, &format!("{run} --output r"), &["no ending"]);
    bad(&f, &format!("{run} --output r.npy --output sum=r.npy"), &["given twice"]);
    bad(
        &f,
        &format!("{run} --output r.png"),
        &["r.png: expected an array [h, w] or [h, w, c] of 1 to 4 channels", "[3]f32"],
    );
    bad(
        &f,
        "run twice.fbx --input z=xs.npy --output w.npy",
        &["w.npy: expected an .npz archive, or NAME=FILE for each"],
    );
}

#[test]
fn what_fails_while_it_runs_is_1() {
    let f = folder();
    for (name, text, says) in [
        (
            "index",
            "fn f(xs: [n]f32) -> [n]f32 { let b: [n]f32 = generate([n], |i| xs[i + 1]) return b }",
            "index [3] is outside of `xs`, whose extents are [3]",
        ),
        (
            "zero",
            "fn f(xs: [n]f32) -> [n]i64 { let b: [n]i64 = generate([n], |i| 1 / i) return b }",
            "division by zero",
        ),
        (
            "assert",
            "fn f(xs: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| assert(x > 5.0, \"small\", x), xs) return b }",
            "assertion failed: small",
        ),
        (
            "negative",
            "fn f(xs: [n]f32) -> [?]i64 { let m = 2 - n let b: [m]i64 = generate([m], |i| i) return b }",
            "extent -1 of `b` is negative",
        ),
    ] {
        f.write(&format!("{name}.fbx"), text);
        for backend in ["interp", "cpu"] {
            let done = f.fusebox(&format!("run {name}.fbx --backend {backend} --input xs=xs.npy --output r.npy"));
            done.fails(1, &[says, &format!("{name}.fbx:1:")]);
            assert!(!f.path("r.npy").exists());
        }
    }
}

#[test]
fn programs_that_are_not_valid_are_told_with_their_lines() {
    let f = folder();
    f.write("twice.fbx", "fn twice(xs: [n]f32) -> [n]f32 {\n  let y: [n, 2]f32 = map(|x| x + x, xs)\n  return y }");
    bad(
        &f,
        "check twice.fbx",
        &[
            "result 0 is declared as [n, 2]f32, and is [n]f32\n  2 |   let y: [n, 2]f32 = map(|x| x + x, xs)\n    |  ",
            "^^^",
        ],
    );
}
