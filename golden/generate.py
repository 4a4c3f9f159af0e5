"""Makes the inputs and expected results of the golden programs: golden/data and golden/programs.json.

Run it with Python 3 and numpy, from anywhere; it writes beside itself. What it writes is committed, so that nothing needs Python
to run the tests. Inputs come from fixed seeds, one for each program, so that a new program changes no other's files.

Expected results are computed in `reference/` by other means than the program's (plain loops, numpy, hashlib, zlib), in float64 or in exact
integers, and rounded to the declared type at the end. Where a result jumps, as at an edge of an image or at the border of the
Mandelbrot set, inputs are chosen so that float32 and float64 agree; that is checked here.

For each program: data/NAME/INPUT.npy for each input, data/NAME/expected.RESULT.npy for each result. An array of arrays `t` is two
files, `t.extents` and `t.values`. A stream is one file, its elements along the outermost dimension, or a folder of files in
natural order of names. In programs.json, "exact" means equal bits (any NaN equals any other); else a float result may be off
by absolute + relative * |expected| where that is finite; infinities, integers and truth values are exact all the same.
"""

import json
import re
import shutil
import zlib
from pathlib import Path

import numpy as np

from reference import grids, linear, nested, nests, rearrangement, reductions, scalars  # noqa: F401: each registers its programs
from reference.common import DTYPES, PROGRAMS

HERE = Path(__file__).resolve().parent


def signature(text):
    """Names and types of the inputs, and types and names of the results, from the text of a program."""
    code = re.sub(r"#[^\n]*", "", text)
    head = re.match(r"\s*fn\s+(\w+)\s*\((.*?)\)\s*->(.*?)\{", code, re.S)
    split = lambda s: [p.strip() for p in re.split(r",(?![^\[]*\])", s) if p.strip()]
    inputs = dict(tuple(part.strip() for part in p.split(":", 1)) for p in split(head[2]))
    results = [p.split(":")[0].strip() for p in split(code[code.rindex("return") + 6 : code.rindex("}")])]
    return head[1], inputs, dict(zip(results, split(head[3]), strict=True))


def files_of(name, ty):
    return [f"{name}.extents", f"{name}.values"] if "][" in ty else [name]


def check(where, value, ty):
    """An array against a declared type: element type and rank."""
    if "][" in ty:
        want, rank = (np.int64 if where.endswith(".extents") else DTYPES[ty.split("]")[-1].strip()]), 1
    else:
        rank = (ty.count(",") + 1 if "[" in ty else 0) + ty.startswith("stream")
        want = DTYPES[ty.split("]")[-1].removeprefix("stream").strip()]
    assert value.dtype == want, f"{where} is {value.dtype}, declared {ty}"
    assert value.ndim == rank, f"{where} is of rank {value.ndim}, declared {ty}"


def main():
    listed = []
    texts = {path.stem for path in (HERE / "programs").glob("*.fbx")}
    assert texts == set(PROGRAMS), f"text or data alone: {texts ^ set(PROGRAMS)}"
    shutil.rmtree(HERE / "data", ignore_errors=True)
    for name, (make, tolerance) in sorted(PROGRAMS.items()):
        called, inputs, results = signature((HERE / "programs" / f"{name}.fbx").read_text())
        assert called == name, f"{name}.fbx calls itself {called}"
        given, expected = make(np.random.default_rng(zlib.crc32(name.encode())))
        folder = HERE / "data" / name
        folder.mkdir(parents=True)
        types = {f: (ty, "") for n, ty in inputs.items() for f in files_of(n, ty)}
        outputs = {f: (ty, "expected.") for n, ty in results.items() for f in files_of(n, ty)}
        assert list(types) == list(given), f"{name}: inputs are {list(types)}, data are {list(given)}"
        assert list(outputs) == list(expected), f"{name}: results are {list(outputs)}, data are {list(expected)}"
        for (file, value), (ty, prefix) in zip(list(given.items()) + list(expected.items()), list(types.values()) + list(outputs.values())):
            if isinstance(value, list):
                (folder / file).mkdir()
                for i, element in enumerate(value):
                    np.save(folder / file / f"{i}.npy", element)
                continue
            value = np.asarray(value)
            check(f"{name}: {file}", value, ty)
            np.save(folder / f"{prefix}{file}.npy", np.ascontiguousarray(value).reshape(value.shape))
        listed.append({"name": name, "tolerance": tolerance, "inputs": list(types), "results": list(outputs)})
    lines = ",\n".join("  " + json.dumps(entry) for entry in listed)
    (HERE / "programs.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
