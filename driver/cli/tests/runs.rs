//! What goes right: every kind of file, in and out.

mod support;

use std::fs;

use support::{Folder, f32s, i64s, npy};

/// A program that gives its inputs back, one of each element type.
fn same(types: &[&str]) -> String {
    let inputs = types.iter().map(|ty| format!("{ty}_a: [n]{ty}")).collect::<Vec<_>>().join(", ");
    let given = types.iter().map(|ty| format!("[n]{ty}")).collect::<Vec<_>>().join(", ");
    let maps: String = types.iter().map(|ty| format!("let {ty}_c: [n]{ty} = map(|x| x, {ty}_a)\n")).collect();
    let results = types.iter().map(|ty| format!("{ty}_b: {ty}_c")).collect::<Vec<_>>().join(", ");
    format!("fn same({inputs}) -> {given} {{\n{maps} return {results} }}")
}

const TYPES: [(&str, &str, usize); 12] = [
    ("bool", "b1", 1),
    ("i8", "i1", 1),
    ("i16", "i2", 2),
    ("i32", "i4", 4),
    ("i64", "i8", 8),
    ("u8", "u1", 1),
    ("u16", "u2", 2),
    ("u32", "u4", 4),
    ("u64", "u8", 8),
    ("f16", "f2", 2),
    ("f32", "f4", 4),
    ("f64", "f8", 8),
];

#[test]
fn every_element_type_in_both_byte_orders() {
    let f = Folder::new();
    let names: Vec<_> = TYPES.iter().map(|(name, ..)| *name).collect();
    f.write("same.fbx", same(&names));
    for order in ["<", ">"] {
        let mut arguments = "run same.fbx --backend interp".to_owned();
        let mut expected = Vec::new();
        for (name, descr, width) in TYPES {
            // Elements 1, 0 and one whose bytes all differ, as little-endian bytes.
            let mut elements = vec![0; 3 * width];
            elements[0] = 1;
            if name != "bool" {
                (0..width).for_each(|at| elements[2 * width + at] = at as u8 + 1);
            }
            let mut stored = elements.clone();
            if order == ">" {
                stored.chunks_mut(width).for_each(<[u8]>::reverse);
            }
            let order = if width == 1 { "|" } else { order };
            f.write(&format!("{name}.npy"), npy(&format!("'{order}{descr}'"), false, "(3,)", &stored));
            arguments += &format!(" --input {name}_a={name}.npy --output {name}_b={name}_out.npy");
            expected.push((name, elements));
        }
        f.fusebox(&arguments).ok();
        for (name, elements) in expected {
            let written = f.read(&format!("{name}_out.npy"));
            assert_eq!(written[written.len() - elements.len()..], elements, "{name} {order}");
            assert_eq!((written.len() - elements.len()) % 64, 0, "elements begin at a multiple of 64 bytes");
        }
    }
}

#[test]
fn fortran_order_and_later_versions_are_read() {
    let f = Folder::new();
    f.write("same.fbx", "fn same(a: [p, q, r]i16) -> [p, q, r]i16 { let b: [p, q, r]i16 = map(|x| x, a) return b }");
    let (p, q, r) = (2, 3, 4);
    let mut c = Vec::new();
    let mut fortran = vec![0i16; p * q * r];
    for i in 0..p {
        for j in 0..q {
            for k in 0..r {
                let value = (100 * i + 10 * j + k) as i16;
                c.push(value);
                fortran[i + p * (j + q * k)] = value;
            }
        }
    }
    let bytes = |values: &[i16]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    f.write("c.npy", npy("'<i2'", false, "(2, 3, 4)", &bytes(&c)));
    f.write("fortran.npy", npy("'<i2'", true, "(2, 3, 4)", &bytes(&fortran)));
    // Version 2: four bytes of length.
    let one = npy("'<i2'", false, "(2, 3, 4)", &bytes(&c));
    let mut two = b"\x93NUMPY\x02\x00".to_vec();
    two.extend([one[8], one[9], 0, 0]);
    two.extend(&one[10..]);
    f.write("two.npy", two);
    for name in ["c", "fortran", "two"] {
        f.fusebox(&format!("run same.fbx --backend interp --input a={name}.npy --output r.npy")).ok();
        let written = f.read("r.npy");
        assert!(written.ends_with(&bytes(&c)), "{name}");
        assert!(String::from_utf8_lossy(&written).contains("'fortran_order': False, 'shape': (2, 3, 4)"));
    }
}

#[test]
fn complex_and_structured_types_are_components() {
    let f = Folder::new();
    f.write(
        "conjugate.fbx",
        "fn conjugate(z.re: [n]f32, z.im: [n]f32) -> [n]f32, [n]f32 {
           let im: [n]f32 = map(|x| -x, z.im) return w.re: z.re, w.im: im }",
    );
    let floats = |values: &[f32]| values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
    f.write("z.npy", npy("'<c8'", false, "(2,)", &floats(&[1.0, 2.0, 3.0, 4.0])));
    f.fusebox("run conjugate.fbx --backend interp --input z=z.npy --output w=w.npy").ok();
    let written = f.read("w.npy");
    assert!(String::from_utf8_lossy(&written).contains("'descr': '<c8'"));
    assert!(written.ends_with(&floats(&[1.0, -2.0, 3.0, -4.0])));
    // Components one by one, and as an archive of all.
    f.write("re.npy", f32s(&[1.0, 3.0]));
    f.write("im.npy", f32s(&[2.0, 4.0]));
    f.fusebox("run conjugate.fbx --backend interp --input z.re=re.npy --input z.im=im.npy --output w.npz").ok();
    f.fusebox("run conjugate.fbx --backend interp --input z.re=w.npz --input z.im=w.npz")
        .fails(2, &["there is no array `z.re`"]);
    f.write("swap.fbx", "fn swap(w.re: [n]f32, w.im: [n]f32) -> [n]f32 { return w.im }");
    let shown = f.fusebox("run swap.fbx --backend interp --input w.npz --print").ok();
    assert_eq!(shown, "w.im: [2]f32 = [-2.0, -4.0]\n");
    let shown = f.fusebox("run swap.fbx --backend interp --input w=w.npz --print").ok();
    assert_eq!(shown, "w.im: [2]f32 = [-2.0, -4.0]\n");
    // A record with padding and a record inside.
    f.write(
        "fields.fbx",
        "fn fields(p.id: [n]i64, p.at.x: [n]f32) -> [n]f32, [n]f32, [n]i64 {
           return q.at.x: p.at.x, q.at.y: p.at.x, q.id: p.id }",
    );
    let mut elements = Vec::new();
    for (id, x) in [(7i64, 1.5f32), (8, 2.5)] {
        elements.extend(x.to_be_bytes());
        elements.extend([0xaa; 4]);
        elements.extend(id.to_le_bytes());
    }
    let descr = "[('at', [('x', '>f4'), ('', '|V4')]), (('a title', 'id'), '<i8')]";
    f.write("p.npy", npy(descr, false, "(2,)", &elements));
    let shown = f.fusebox("run fields.fbx --backend interp --input p=p.npy --output q=q.npy --print").ok();
    assert_eq!(shown, "q.at.x: [2]f32 = [1.5, 2.5]\nq.at.y: [2]f32 = [1.5, 2.5]\nq.id: [2]i64 = [7, 8]\n");
    let written = f.read("q.npy");
    let header = String::from_utf8_lossy(&written);
    assert!(header.contains("[('at', [('x', '<f4'), ('y', '<f4')]), ('id', '<i8')]"), "{header}");
}

#[test]
fn scalars_by_value_and_by_file() {
    let f = Folder::new();
    f.write("s.fbx", "fn s(k: i32, x: f64, b: bool) -> f64 { let r = if b { x * f64(k) } else { x } return r }");
    f.write("x.npy", npy("'<f8'", false, "()", &2.5f64.to_le_bytes()));
    let shown =
        f.fusebox("run s.fbx --backend interp --input k=-3 --input x=x.npy --input b=true --print --output r.npy").ok();
    assert_eq!(shown, "r: f64 = -7.5\n");
    assert!(f.read("r.npy").ends_with(&(-7.5f64).to_le_bytes()));
    let shown = f.fusebox("run s.fbx --backend interp --input k=3i32 --input x=-inf --input b=true --print").ok();
    assert_eq!(shown, "r: f64 = -inf\n");
}

#[test]
fn arrays_of_arrays() {
    let f = Folder::new();
    f.write("t.fbx", "fn t(t: [n][?]f32) -> [n][?]f32, [n]f32 {
      let s: [n]f32 = nest([n], |i| { let k: i64, r: [k]f32 = element(t, i) let q: f32 = fold(|a, b| a + b, 0.0, r) return q })
      return u: t, sums: s }");
    f.write("e.npy", i64s(&[2, 0, 1]));
    f.write("v.npy", f32s(&[1.0, 2.0, 3.0]));
    f.fusebox("run t.fbx --backend interp --input t.extents=e.npy --input t.values=v.npy --output r.npz").ok();
    f.write("again.fbx", "fn again(u: [n][?]f32, sums: [n]f32) -> [n]f32 { return sums }");
    assert_eq!(
        f.fusebox("run again.fbx --backend interp --input r.npz --print").ok(),
        "sums: [3]f32 = [3.0, 0.0, 3.0]\n"
    );
    assert_eq!(
        f.fusebox("run again.fbx --backend interp --input u=r.npz --input sums=r.npz --print").ok(),
        "sums: [3]f32 = [3.0, 0.0, 3.0]\n"
    );
    f.fusebox("run t.fbx --backend interp --input t.extents=e.npy --input t.values=v.npy --output u.values=uv.npy --output sums=s.npy").ok();
    assert!(f.read("uv.npy").ends_with(&3f32.to_le_bytes()));
}

#[test]
fn streams_from_arrays_folders_and_archives() {
    let f = Folder::new();
    f.write("double.fbx", "fn double(s: stream [?]f32) -> stream [?]f32, i64 {
      let t: stream [?]f32, n: i64, all: [n]f32 = consume(|i, x: [m]f32| { let y: [m]f32 = map(|a| 2.0 * a, x) yield stream_out(y), elements(y) }, s)
      return t, n }");
    f.write(
        "s.npy",
        npy("'<f4'", false, "(2, 1)", &[1.0f32, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>()),
    );
    f.fusebox("run double.fbx --backend interp --input s=s.npy --output t=t --output n=n.npy").ok();
    let names = |folder: &str| {
        let mut names: Vec<_> = fs::read_dir(f.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names("t"), ["000000.npy", "000001.npy"]);
    assert!(f.read("t/000001.npy").ends_with(&4f32.to_le_bytes()));
    f.fusebox("run double.fbx --backend interp --input s=s.npy --output t=t").fails(2, &["a folder with files in it"]);
    // Natural order: 9 before 10.
    f.write("in/x10.npy", f32s(&[10.0, 11.0]));
    f.write("in/x9.npy", f32s(&[9.0]));
    f.write("in/.hidden", "not an element");
    f.fusebox("run double.fbx --backend interp --input s=in --output t=out.npz").ok();
    let shown = f.fusebox("run double.fbx --backend interp --input s=out.npz --print").ok();
    assert_eq!(shown, "t: stream [?]f32 = stream\n  [36.0]\n  [40.0, 44.0]\nn: i64 = 3\n");
}

#[test]
fn matrices() {
    let f = Folder::new();
    f.write("dense.fbx", "fn dense(m: [h, w]f64, m.height: i64) -> [h, w]f64, i64 { return m, m.height }");
    let _ = "an input and its components at once: the exact name wins";
    f.write("same.fbx", "fn same(m: [h, w]f64) -> [h, w]f64 { return m }");
    f.write("d.mtx", "%%MatrixMarket matrix array real general\n% a comment\n\n2 3\n1\n4\n2\n5e0\n3\n6\n");
    let shown = f.fusebox("run same.fbx --backend interp --input m=d.mtx --output r.mtx --print").ok();
    assert_eq!(shown, "m: [2, 3]f64 = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]\n");
    assert_eq!(
        String::from_utf8(f.read("r.mtx")).unwrap(),
        "%%MatrixMarket matrix array real general\n2 3\n1.0\n4.0\n2.0\n5.0\n3.0\n6.0\n"
    );
    f.write("sym.mtx", "%%MatrixMarket MATRIX array real symmetric\n2 2\n1\n2\n3\n");
    let shown = f.fusebox("run same.fbx --backend interp --input m=sym.mtx --print").ok();
    assert_eq!(shown, "m: [2, 2]f64 = [[1.0, 2.0], [2.0, 3.0]]\n");
    f.write("skew.mtx", "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n");
    let shown = f.fusebox("run same.fbx --backend interp --input m=skew.mtx --print").ok();
    assert_eq!(shown, "m: [3, 3]f64 = [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]]\n");
    f.write(
        "sparse.fbx",
        "fn sparse(m.row: [n]i32, m.column: [n]u8, m.value: [n]f32, m.offsets: [k]i64, m.columns: [n]i64, m.values: [n]f32, m.height: i64, m.width: i64)
          -> [n]i32, [n]u8, [n]f32, [k]i64, [n]i64, [n]f32, i64, i64
          { return m.row, m.column, m.value, m.offsets, m.columns, m.values, m.height, m.width }",
    );
    f.write("s.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 4\n3 1 5\n1 4 2.5\n1 2 -1\n3 3 1D1\n");
    let shown = f.fusebox("run sparse.fbx --backend interp --input m=s.mtx --print").ok();
    for line in [
        "m.row: [4]i32 = [2, 0, 0, 2]",
        "m.column: [4]u8 = [0, 3, 1, 2]",
        "m.value: [4]f32 = [5.0, 2.5, -1.0, 10.0]",
        "m.offsets: [4]i64 = [0, 2, 2, 4]",
        "m.columns: [4]i64 = [1, 3, 0, 2]",
        "m.values: [4]f32 = [-1.0, 2.5, 5.0, 10.0]",
        "m.height: i64 = 3",
        "m.width: i64 = 4",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    f.write("p.fbx", "fn p(g.offsets: [k]i64, g.columns: [n]i64, g.value: [n]bool) -> [k]i64, [n]i64, [n]bool { return g.offsets, g.columns, g.value }");
    f.write("p.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 1\n");
    let shown = f.fusebox("run p.fbx --backend interp --input g=p.mtx --print").ok();
    assert_eq!(
        shown,
        "g.offsets: [4]i64 = [0, 2, 2, 3]\ng.columns: [3]i64 = [0, 2, 0]\ng.value: [3]bool = [true, true, true]\n"
    );
    f.write(
        "c.fbx",
        "fn c(h.value.re: [n]f32, h.value.im: [n]f32) -> [n]f32, [n]f32 { return h.value.re, h.value.im }",
    );
    f.write("c.mtx", "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 5 0\n2 1 1 2\n");
    let shown = f.fusebox("run c.fbx --backend interp --input h=c.mtx --print").ok();
    assert_eq!(shown, "h.value.re: [3]f32 = [5.0, 1.0, 1.0]\nh.value.im: [3]f32 = [0.0, 2.0, -2.0]\n");
}

#[test]
fn images() {
    let f = Folder::new();
    f.write("gray.fbx", "fn gray(img: [h, w]u8) -> [h, w]u8 { let r: [h, w]u8 = map(|x| 255 - x, img) return out: r }");
    f.write("img.npy", npy("'|u1'", false, "(2, 3)", &[0, 1, 2, 3, 4, 255]));
    f.fusebox("run gray.fbx --backend interp --input img=img.npy --output r.png").ok();
    assert_eq!(
        f.fusebox("run gray.fbx --backend interp --input img=r.png --print").ok(),
        "out: [2, 3]u8 = [[0, 1, 2], [3, 4, 255]]\n"
    );
    f.write("float.fbx", "fn float(img: [h, w]f32) -> [h, w]f32 { return out: img }");
    let shown = f.fusebox("run float.fbx --backend interp --input img=r.png --output g.png --print").ok();
    assert!(shown.starts_with("out: [2, 3]f32 = [[1.0, 0.99607843, "), "{shown}");
    assert_eq!(
        f.fusebox("run gray.fbx --backend interp --input img=g.png --print").ok(),
        "out: [2, 3]u8 = [[0, 1, 2], [3, 4, 255]]\n"
    );
    // Channels apart, and inside; gray is all of red, green and blue.
    f.write("planes.fbx", "fn planes(i.r: [h, w]u8, i.g: [h, w]u8, i.b: [h, w]u8) -> [h, w]u8, [h, w]u8, [h, w]u8 { return o.r: i.b, o.g: i.g, o.b: i.r }");
    f.write("inside.fbx", "fn inside(img: [h, w, c]u8) -> [h, w, c]u8 { return img }");
    f.write("rgb.npy", npy("'|u1'", false, "(1, 2, 3)", &[1, 2, 3, 4, 5, 6]));
    f.fusebox("run inside.fbx --backend interp --input img=rgb.npy --output rgb.png").ok();
    f.fusebox("run planes.fbx --backend interp --input i=rgb.png --output o=bgr.png").ok();
    assert_eq!(
        f.fusebox("run inside.fbx --backend interp --input img=bgr.png --print").ok(),
        "img: [1, 2, 3]u8 = [[[3, 2, 1], [6, 5, 4]]]\n"
    );
    let shown = f.fusebox("run planes.fbx --backend interp --input i=r.png --print").ok();
    assert!(shown.starts_with("o.r: [2, 3]u8 = [[255, 254, 253], "), "{shown}");
    f.fusebox("run gray.fbx --backend interp --input img=rgb.png")
        .fails(2, &["expected an image of one channel, found a PNG image of 2 x 1 pixels, channels r, g, b, 8 bits"]);
    f.write("rgba.npy", npy("'|u1'", false, "(1, 1, 4)", &[1, 2, 3, 4]));
    f.fusebox("run inside.fbx --backend interp --input img=rgba.npy --output rgba.png").ok();
    f.fusebox("run planes.fbx --backend interp --input i=rgba.png")
        .fails(2, &["expected the channels `r`, `g`, `b`, found a PNG image of 1 x 1 pixels, channels r, g, b, a"]);
    f.write("deep.fbx", "fn deep(img: [h, w]u16) -> [h, w]u16 { return img }");
    f.write("deep.npy", npy("'<u2'", false, "(1, 2)", &[1, 2, 255, 254]));
    f.fusebox("run deep.fbx --backend interp --input img=deep.npy --output deep.png").ok();
    assert_eq!(
        f.fusebox("run deep.fbx --backend interp --input img=deep.png --print").ok(),
        "img: [1, 2]u16 = [[513, 65279]]\n"
    );
}

const DOT: &str = "fn dotp(xs: [n]f32, ys: [m]f32) -> f32 {
  let k = min(n, m)
  let a: [k]f32 = map(|x, y| x * y, xs, ys)
  let s: f32 = fold(|x, y| x + y, 0.0, a)
  return s }";

#[test]
fn programs_are_checked_dumped_and_read_again() {
    let f = Folder::new();
    f.write("dotp.fbx", DOT);
    assert_eq!(f.fusebox("check dotp.fbx").ok(), "fn dotp(xs: [n]f32, ys: [m]f32) -> s: f32\n");
    let text = f.fusebox("dump dotp.fbx").ok();
    f.write("again.fbx", &text);
    assert_eq!(f.fusebox("dump again.fbx").ok(), text);
    let json = f.fusebox("dump dotp.fbx --format json").ok();
    assert!(json.trim_start().starts_with('{') && json.contains("\"flat\""));
    f.write("dotp.json", &json);
    assert_eq!(f.fusebox("dump dotp.json").ok(), text);
    assert_eq!(f.fusebox("dump dotp.fbx --stage read").ok(), text);
    let dot = f.fusebox("dump dotp.fbx --format dot").ok();
    assert!(dot.starts_with("digraph \"dotp\" {") && dot.contains("[shape=box, label=\"map a\"]"), "{dot}");
    let plan = f.fusebox("dump dotp.fbx --stage kernels --format json").ok();
    assert!(plan.contains("\"kind\": \"plan\"") || plan.contains("\"kind\":\"plan\""), "{plan}");
    assert!(f.fusebox("dump dotp.fbx --stage kernels --fusion none").ok().contains("map `a`"));
    assert!(f.fusebox("dump dotp.fbx --stage kernels --format dot").ok().contains("box3d"));
    let simplified = f.fusebox("opt dotp.fbx --passes simplify").ok();
    assert_eq!(f.fusebox("dump dotp.fbx --stage simplify").ok(), simplified);
    f.write("simple.fbx", simplified);
    f.fusebox("check simple.fbx").ok();
    let passes = f.fusebox("passes").ok();
    for name in ["sharing", "simplify", "kernels"] {
        assert!(passes.lines().any(|line| line.starts_with(name)), "{passes}");
    }
    let devices = f.fusebox("devices").ok();
    for name in ["cpu", "cuda", "sim", "interp", "auto"] {
        assert!(devices.lines().any(|line| line.starts_with(name)), "{devices}");
    }
    // A GPU with its architecture, or why there is none.
    assert!(
        devices.contains(", sm_") || devices.contains("looked for libcuda") || devices.contains("driver"),
        "{devices}"
    );
}

#[test]
fn code_is_printed_for_machines_that_are_not_here() {
    let f = Folder::new();
    f.write("dotp.fbx", DOT);
    let ptx = f.fusebox("dump dotp.fbx --stage code --target sm_80").ok();
    assert!(ptx.contains(".target sm_80") && ptx.contains(".visible .entry") && !ptx.contains("fma"), "{ptx}");
    let [short, long] = ["sse", "avx512"].map(|target| {
        let code = f.fusebox(&format!("dump dotp.fbx --stage code --target {target}")).ok();
        assert!(code.contains("block cluster") && code.contains("for "), "{code}");
        code
    });
    assert_ne!(short, long);
    // Of a plan, which is the stage before.
    f.write("dotp.json", f.fusebox("dump dotp.fbx --stage kernels --format json").ok());
    assert_eq!(f.fusebox("dump dotp.json --stage code --target sm_80").ok(), ptx);
    f.fusebox("dump dotp.fbx --stage code --target sm_1").fails(2, &["sm_1", "sm_90"]);
    f.fusebox("dump dotp.fbx --stage code --format json").fails(2, &["one form"]);
    f.fusebox("dump dotp.fbx --stage fusion --target sm_80").fails(2, &["`schedule` and `code`"]);
}

#[test]
fn vectors_of_any_length_give_the_same() {
    let f = Folder::new();
    f.write("f.fbx", "fn f(x: [n]f32) -> f32, [n]f32 { let s: f32 = fold(|a, b| a + b, 0.0, x) let y: [n]f32 = map(|a| sqrt(a) * 1.7, x) return s, y }");
    f.write("x.npy", f32s(&(0..10_000).map(|i| i as f32 * 0.37).collect::<Vec<_>>()));
    let run = |vector: &str| f.fusebox(&format!("run f.fbx {vector} --input x=x.npy --output r.npz"));
    run("").ok();
    let expected = f.read("r.npz");
    run("--vector 128").ok();
    assert_eq!(f.read("r.npz"), expected);
    for bits in [256, 512] {
        // Where the machine has no such vectors it says so.
        let done = run(&format!("--vector {bits}"));
        if done.err.contains("this machine lacks") {
            done.fails(2, &["processor with"]);
        } else {
            done.ok();
            assert_eq!(f.read("r.npz"), expected);
        }
    }
    run("--vector 64").fails(2, &["128, 256 and 512"]);
}

#[test]
fn a_device_with_little_memory_runs_what_is_larger() {
    let f = Folder::new();
    let source = "fn f(x: [n]f32) -> [n]f32 {
      let a: [n]f32 = generate([n], |i| x[(i * 7) % n] + 1.0)
      let b: [n]f32 = generate([n], |i| a[(i * 5) % n] * 3.0)
      let c: [n]f32 = generate([n], |i| b[(i * 3) % n] - x[i])
      let d: [n]f32 = generate([n], |i| c[(i * 3) % n] - a[(i * 2) % n])
      return d }";
    f.write("f.fbx", source);
    f.write("x.npy", f32s(&(0..1000).map(|i| i as f32).collect::<Vec<_>>()));
    let run = |options: &str| f.fusebox(&format!("run f.fbx {options} --input x=x.npy --output r.npy"));
    run("").ok();
    let expected = f.read("r.npy");
    let stats = run("--backend sim --device-memory 13K --stats").ok();
    assert_eq!(f.read("r.npy"), expected);
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert!(stats["transfers"]["evictions"].as_u64() > Some(0), "{stats}");
    let stats = run("--backend sim --stats").ok();
    let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["transfers"]["evictions"].as_u64(), Some(0), "{stats}");
    run("--backend sim --device-memory 6000")
        .fails(2, &["generate `a`: no room on the device for `x`, 4000 bytes", "`a` of 4000 bytes (in use)"]);
    run("--device-memory much").fails(2, &["4096, 64K, 8M or 1G"]);
    run("--device-memory 99999999999999999G").fails(2, &["more bytes than there can be"]);
}

#[test]
fn gpus_are_chosen_where_they_are() {
    let f = Folder::new();
    f.write("dotp.fbx", DOT);
    f.write("xs.npy", f32s(&[1.0, 2.0, 3.0]));
    f.write("ys.npy", f32s(&[4.0, 5.0, 6.0, 7.0]));
    let run = |backend: &str| {
        f.fusebox(&format!("run dotp.fbx --backend {backend} --input xs=xs.npy --input ys=ys.npy --output s.npy"))
    };
    run("sim").ok();
    assert!(f.read("s.npy").ends_with(&32f32.to_le_bytes()));
    // Without a GPU it says why, and runs on the CPU.
    let done = run("auto");
    let said = done.err.clone();
    done.ok();
    assert!(
        said.contains("auto: cuda, as there is a GPU") || said.contains("auto: cpu, as there is no GPU: "),
        "{said}"
    );
    assert!(f.read("s.npy").ends_with(&32f32.to_le_bytes()));
    if said.contains("auto: cpu") {
        run("cuda").fails(2, &["backend `cuda`"]);
    }
}

#[test]
fn runs_agree_and_say_what_they_took() {
    let f = Folder::new();
    f.write("dotp.fbx", DOT);
    f.write("xs.npy", f32s(&[1.0, 2.0, 3.0]));
    f.write("ys.npy", f32s(&[4.0, 5.0, 6.0, 7.0]));
    for (backend, threads) in [("interp", 1), ("cpu", 1), ("cpu", 2)] {
        let line = f
            .fusebox(&format!("run dotp.fbx --backend {backend} --threads {threads} --input xs=xs.npy --input ys=ys.npy --output s.npy --stats --repeat 3 --verify"))
            .ok();
        assert!(f.read("s.npy").ends_with(&32f32.to_le_bytes()), "{backend}");
        let stats: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line.lines().count(), 1);
        assert_eq!((&stats["backend"], &stats["runs"]), (&backend.into(), &3.into()));
        assert_eq!((&stats["bytes_in"], &stats["bytes_out"]), (&28.into(), &4.into()));
        assert_eq!(stats["threads"], threads);
        if backend == "cpu" {
            assert!(stats["peak_bytes"].as_u64() >= Some(4), "{line}"); // the sum at least
        } else {
            assert!(stats["peak_bytes"].is_null(), "{line}");
        }
        assert!(stats["milliseconds"]["run_median"].as_f64() >= stats["milliseconds"]["run_min"].as_f64());
        if backend == "cpu" {
            assert!(stats["milliseconds"]["passes"]["kernels"].is_number(), "{line}");
            assert!(stats["counts"]["kernels"]["launches"].as_u64() >= Some(1), "{line}");
        }
    }
    // `cpu` is the default.
    assert_eq!(f.fusebox("run dotp.fbx --input xs=xs.npy --input ys=ys.npy").ok(), "s: f32 = 32.0\n");
}

#[test]
fn without_checks_results_are_the_same_and_failures_too() {
    let f = Folder::new();
    f.write("at.fbx", "fn at(a: [n]f32, i: [m]i64) -> [m]f32 { let b: [m]f32 = map(|p| a[p], i) return b }");
    f.write("a.npy", f32s(&[1.0, 2.0, 3.0]));
    f.write("inside.npy", i64s(&[2, 0]));
    f.write("outside.npy", i64s(&[2, 3]));
    f.fusebox("run at.fbx --input a=a.npy --input i=inside.npy --output b.npy --unchecked --repeat 2").ok();
    assert!(f.read("b.npy").ends_with(&[3f32.to_le_bytes(), 1f32.to_le_bytes()].concat()));
    f.fusebox("run at.fbx --input a=a.npy --input i=outside.npy --unchecked").fails(1, &["index [3] is outside"]);
    let plan = f.fusebox("dump at.fbx --stage kernels --format json").ok();
    f.write("plan.json", plan);
    f.fusebox("run plan.json --input a=a.npy --input i=inside.npy --unchecked")
        .fails(2, &["--unchecked is for programs"]);
}

#[test]
fn help_and_version_are_no_errors() {
    let f = Folder::new();
    assert!(f.fusebox("--help").ok().contains("dump"));
    assert!(f.fusebox("run --help").ok().contains("Exit codes"));
    assert!(f.fusebox("--version").ok().starts_with("fusebox "));
}

#[test]
fn one_input_needs_no_name_and_results_without_files_are_printed() {
    let f = Folder::new();
    f.write("twice.fbx", "fn twice(x: [n]f32) -> [n]f32 { let y: [n]f32 = map(|a| 2.0 * a, x) return y }");
    f.write("add.fbx", "fn add(x: [n]f32, k: f32) -> [n]f32 { let y: [n]f32 = map(|a| a + k, x) return y }");
    f.write("square.fbx", "fn square(k: i64) -> i64 { let s = k * k return s }");
    f.write("x.npy", f32s(&[1.0, 2.5]));
    assert_eq!(f.fusebox("run twice.fbx -i x.npy").ok(), "y: [2]f32 = [2.0, 5.0]\n");
    assert_eq!(f.fusebox("run square.fbx -i 7").ok(), "s: i64 = 49\n");
    // Or behind the program, without `-i`.
    assert_eq!(f.fusebox("run square.fbx 7").ok(), "s: i64 = 49\n");
    assert_eq!(f.fusebox("run add.fbx x=x.npy k=1 --backend interp").ok(), "y: [2]f32 = [2.0, 3.5]\n");
    // Small arrays are written out.
    f.write("sums.fbx", "fn sums(x: [n, m]f32) -> [n]f32 { let y: [n]f32 = fold(|a, b| a + b, 0.0, x) return y }");
    assert_eq!(f.fusebox("run twice.fbx [1,2.5,-inf]").ok(), "y: [3]f32 = [2.0, 5.0, -inf]\n");
    assert_eq!(f.fusebox("run add.fbx -i x=[1] -i k=1").ok(), "y: [1]f32 = [2.0]\n");
    assert_eq!(f.fusebox("run add.fbx x=[] k=1").ok(), "y: [0]f32 = []\n");
    assert_eq!(f.fusebox("run sums.fbx [[1,2],[3,4]]").ok(), "y: [2]f32 = [3.0, 7.0]\n");
    f.fusebox("run add.fbx x=x.npy k= --backend interp").fails(2, &["k=: no file"]);
    let done = f.fusebox("run twice.fbx -i x.npy -o y.npy");
    assert!(done.err.contains("wrote y.npy"), "{}", done.err);
    assert_eq!(done.ok(), "");
    assert_eq!(f.fusebox("run twice.fbx -i y.npy --print -o z.npy").ok(), "y: [2]f32 = [4.0, 10.0]\n");
    // An archive has inputs by name also where there is one.
    f.fusebox("run twice.fbx -i x.npy -o y.npz").ok();
    f.fusebox("run twice.fbx -i y.npz").fails(2, &["`y`", "x"]);
    f.fusebox("run add.fbx -i x.npy -i k=1").fails(2, &["expected NAME=FILE"]);
    f.fusebox("run twice.fbx -i nowhere.npy").fails(2, &["nowhere.npy"]);
    let stats = f.fusebox("run twice.fbx -i x.npy --stats").ok();
    assert!(stats.starts_with('{') && stats.lines().count() == 1, "{stats}");
}

#[test]
fn programs_come_from_standard_input_and_go_to_files() {
    let f = Folder::new();
    let text = "fn twice(x: [n]f32) -> [n]f32 { let y: [n]f32 = map(|a| 2.0 * a, x) return y }";
    f.write("twice.fbx", text);
    f.fusebox("dump twice.fbx --format json -o twice.json").ok();
    assert_eq!(f.fusebox("dump twice.json").ok(), f.fusebox("dump twice.fbx").ok());
    assert_eq!(f.with_input("check -", text).ok(), f.fusebox("check twice.fbx").ok());
    f.with_input("check -", "fn twice(").fails(2, &["standard input:1"]);
    f.fusebox("opt twice.fbx --passes simplify -o simple.fbx").ok();
    f.fusebox("check simple.fbx").ok();
    f.fusebox("dump twice.fbx -o no/where.fbx").fails(2, &["cannot write no/where.fbx"]);
    // What failed leaves the file as it was.
    f.fusebox("dump twice.fbx --stage polish -o simple.fbx").fails(2, &["there is no stage `polish`"]);
    f.fusebox("check simple.fbx").ok();
}

#[test]
fn shells_and_manuals() {
    let f = Folder::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(f.fusebox(&format!("completions {shell}")).ok().contains("explain"), "{shell}");
    }
    assert!(f.fusebox("man").ok().contains(".TH"));
    assert!(f.fusebox("man run").ok().contains("backend"));
    f.fusebox("man walk").fails(2, &["there is no command `walk`; there are run, test, tune"]);
}
