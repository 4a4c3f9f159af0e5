"""Makes the inputs and expected results of the golden programs: golden/data and golden/programs.json.

Run it with Python 3 and numpy, from anywhere; it writes beside itself. What it writes is committed, so that nothing needs Python
to run the tests. Inputs come from fixed seeds, one for each program, so that a new program changes no other's files.

Expected results are computed here by other means than the program's (plain loops, numpy, hashlib, zlib), in float64 or in exact
integers, and rounded to the declared type at the end. Where a result jumps, as at an edge of an image or at the border of the
Mandelbrot set, inputs are chosen so that float32 and float64 agree; that is checked here.

For each program: data/NAME/INPUT.npy for each input, data/NAME/expected.RESULT.npy for each result. An array of arrays `t` is two
files, `t.extents` and `t.values`. A stream is one file, its elements along the outermost dimension, or a folder of files in
natural order of names. In programs.json, "exact" means equal bits (any NaN equals any other); else a float result may be off
by absolute + relative * |expected| where that is finite; infinities, integers and truth values are exact all the same.
"""

import hashlib
import itertools
import json
import math
import re
import shutil
import struct
import zlib
from fractions import Fraction
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DTYPES = {
    "bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8, "u16": np.uint16,
    "u32": np.uint32, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}
PROGRAMS = {}


def program(relative=None, absolute=0.0):
    """Registers a function from a random generator to inputs and expected results; without `relative`, results are exact."""
    tolerance = "exact" if relative is None else {"relative": relative, "absolute": absolute}

    def register(make):
        PROGRAMS[make.__name__.rstrip("_")] = (make, tolerance)
        return make

    return register


def f32(a):
    return np.asarray(a, dtype=np.float32)


def uniform(rng, low, high, *shape):
    """Uniform float32 values; what follows computes with these values, widened."""
    return f32(rng.uniform(low, high, shape))


def offsets_of(lengths, dtype=np.int64):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


def segments(x, offsets):
    return [x[..., a:b] for a, b in zip(offsets[:-1], offsets[1:])]


def shifted(a, offsets, mode="edge", **more):
    """The array whose element ix is a[ix + offsets], outside by numpy's rule `mode`."""
    width = max(abs(o) for o in offsets)
    padded = np.pad(a, width, mode=mode, **more)
    return padded[tuple(slice(width + o, width + o + n) for o, n in zip(offsets, a.shape))]


def nested(name, arrays, dtype):
    """The two files of an array of arrays of vectors."""
    values = np.concatenate([np.asarray(a, dtype) for a in arrays]) if arrays else np.zeros(0, dtype)
    return {f"{name}.extents": np.array([len(a) for a in arrays], np.int64), f"{name}.values": values}


# ---- one pass or two -------------------------------------------------------------------------------------------------------------


@program(1e-5, 1e-4)
def dotp(rng):
    xs, ys = uniform(rng, -1, 1, 4099), uniform(rng, -1, 1, 4211)
    return dict(xs=xs, ys=ys), dict(s=f32(math.fsum(float(x) * float(y) for x, y in zip(xs, ys))))


@program(1e-5)
def saxpy_sum(rng):
    a, xs, ys = f32(1.75), uniform(rng, -1, 1, 3001), uniform(rng, -1, 1, 3001)
    return dict(a=a, xs=xs, ys=ys), dict(s=f32(math.fsum((float(a) * float(x) + float(y)) ** 2 for x, y in zip(xs, ys))))


@program(1e-5, 6e-5)
def black_scholes(rng):
    n = 1009
    price, strike, years = uniform(rng, 5, 30, n), uniform(rng, 1, 100, n), uniform(rng, 0.25, 10, n)
    price[:3], strike[:3], years[:3] = [20, 30, 5], [20, 25, 1], [1, 2, 10]

    def normal(d):
        return 0.5 * math.erfc(-d / math.sqrt(2))

    calls, puts = [], []
    for s, k, t in zip(price.astype(float), strike.astype(float), years.astype(float)):
        d1 = (math.log(s / k) + (0.02 + 0.045) * t) / (0.3 * math.sqrt(t))
        d2 = d1 - 0.3 * math.sqrt(t)
        call = s * normal(d1) - k * math.exp(-0.02 * t) * normal(d2)
        calls.append(call)
        puts.append(call - s + k * math.exp(-0.02 * t))
    assert np.allclose(calls[:3], [2.564317, 8.124655, 4.200350], atol=1e-4)
    return dict(price=price, strike=strike, years=years), dict(call=f32(calls), put=f32(puts))


@program(1e-5, 1e-5)
def normalise2(rng):
    xs = uniform(rng, 0, 1, 2017)
    wide = xs.astype(float)
    weights = np.arange(len(xs), 0, -1)
    return dict(xs=xs), dict(ys1=f32(wide / wide.sum()), ys2=f32(wide / (wide * weights).sum()))


@program(1e-5, 1e-5)
def normalise2_expanded(rng):
    ys = uniform(rng, 0, 4, 2017)
    wide = np.sqrt(ys.astype(float)) + 1
    weights = np.arange(len(ys), 0, -1)
    return dict(ys=ys), dict(ys1=f32(wide / wide.sum()), ys2=f32(wide / (wide * weights).sum()))


@program(1e-5, 1e-6)
def stats(rng):
    xs = f32(rng.normal(2, 3, 4001))
    wide = xs.astype(float)
    return dict(xs=xs), dict(mean=f32(wide.mean()), variance=f32(wide.var()), least=xs.min(), greatest=xs.max())


@program(1e-5)
def diagonal(rng):
    a = uniform(rng, -3, 3, 2999)
    b = np.exp(a.astype(float))
    return dict(a=a), dict(d=f32(b / b.sum()))


@program(1e-5, 1e-7)
def softmax_rows(rng):
    x = uniform(rng, -5, 5, 37, 53) + f32(200)
    e = np.exp(x.astype(float) - 200)
    return dict(x=x), dict(y=f32(e / e.sum(axis=1, keepdims=True)))


@program()
def argmax(rng):
    x = f32(rng.integers(-40, 40, (61, 47)))
    return dict(x=x), dict(values=x.max(axis=1), columns=x.argmax(axis=1))


@program()
def max_segment_sum(rng):
    xs = rng.integers(-100, 90, 1537).astype(np.int32)
    best = here = 0
    for x in xs.tolist():
        here = max(here + x, 0)
        best = max(best, here)
    return dict(xs=xs), dict(greatest=np.int32(best))


@program(1e-5)
def compensated_sum(rng):
    xs = f32(np.concatenate([rng.uniform(0, 1, 500), [1e7], rng.uniform(0, 1, 2000), [-1e7], rng.uniform(0, 1, 500)]))
    exact = math.fsum(xs.astype(float))
    assert abs(float(np.cumsum(xs, dtype=np.float32)[-1]) - exact) > 1e-4 * exact, "a plain sum must fail"
    return dict(xs=xs), dict(sum=f32(exact))


# ---- scans and segments ----------------------------------------------------------------------------------------------------------


@program()
def prefix_sum(rng):
    xs = rng.integers(-(2**31), 2**31, 3001).astype(np.int32)
    sums = [0]
    for x in xs.tolist():
        sums.append((sums[-1] + x + 2**31) % 2**32 - 2**31)
    return dict(xs=xs), dict(inclusive=np.array(sums[1:], np.int32), exclusive=np.array(sums, np.int32))


@program()
def scans(rng):
    x = rng.integers(-1000, 1000, (23, 71)).astype(np.int32)
    zero = np.zeros((23, 1), np.int32)
    left = np.hstack([zero, np.cumsum(x, axis=1)])
    right = np.cumsum(np.hstack([zero, x[:, ::-1]]), axis=1)[:, ::-1]
    results = dict(l=3 + left, r=right - 5, l1=np.maximum.accumulate(x, axis=1),
                   r1=np.minimum.accumulate(x[:, ::-1], axis=1)[:, ::-1], lb=7 + left[:, :-1], lt=7 + left[:, -1],
                   rb=11 + right[:, 1:], rt=11 + right[:, 0])
    return dict(x=x), {name: r.astype(np.int32) for name, r in results.items()}


@program()
def segmented_scans(rng):
    lengths = np.concatenate([rng.poisson(3, 200), [0, 300, 0, 0], rng.poisson(1, 150)])
    offsets = offsets_of(lengths)
    x = rng.integers(-1000, 1000, offsets[-1])
    results = {name: [] for name in ("l", "r", "l1", "r1", "lb", "lt", "rb", "rt")}
    for segment in segments(x, offsets):
        left = list(itertools.accumulate(segment.tolist(), initial=0))
        right = list(itertools.accumulate(segment.tolist()[::-1], initial=0))[::-1]
        results["l"] += [3 + s for s in left]
        results["r"] += [s - 5 for s in right]
        results["l1"] += left[1:]
        results["r1"] += right[:-1]
        results["lb"] += [7 + s for s in left[:-1]]
        results["lt"].append(7 + left[-1])
        results["rb"] += [11 + s for s in right[1:]]
        results["rt"].append(11 + right[0])
    return dict(x=x, offsets=offsets), {name: np.array(r, np.int64) for name, r in results.items()}


@program(1e-5, 1e-4)
def segmented_sums(rng):
    lengths = np.concatenate([rng.poisson(1, 300), rng.exponential(30, 60).astype(int), [1000, 0, 0]])
    offsets = offsets_of(lengths, np.int32)
    xs = uniform(rng, -1, 1, offsets[-1])
    parts = segments(xs, offsets)
    return dict(xs=xs, offsets=offsets), dict(sums=f32([math.fsum(p) for p in parts]), greatest=f32([max(p, default=-math.inf) for p in parts]))


@program()
def segmented_least(rng):
    offsets = offsets_of(rng.integers(1, 20, 101), np.int32)
    x = rng.integers(-(2**15), 2**15, (3, offsets[-1])).astype(np.int16)
    return dict(x=x, offsets=offsets), dict(least=np.stack([part.min(axis=1) for part in segments(x, offsets)], axis=1))


@program(1e-12, 1e-12)
def linear_recurrence(rng):
    a, b = rng.uniform(-0.99, 0.99, 1777), rng.uniform(-1, 1, 1777)
    y, now = [], 0.0
    for p, q in zip(a, b):
        now = p * now + q
        y.append(now)
    return dict(a=a, b=b), dict(y=np.array(y))


@program()
def moving_average(rng):
    xs, k = rng.integers(-(10**6), 10**6, 1201).astype(np.int32), 64
    means = [sum(xs[i : i + k].tolist()) / k for i in range(len(xs) - k + 1)]
    return dict(xs=xs, k=np.int64(k)), dict(means=np.array(means))


@program()
def integral_image(rng):
    image = rng.integers(0, 256, (61, 47)).astype(np.uint8)
    return dict(image=image), dict(sums=image.astype(np.int64).cumsum(axis=0).cumsum(axis=1).astype(np.int32))


# ---- rearrangement ---------------------------------------------------------------------------------------------------------------


@program()
def transpose(rng):
    a = uniform(rng, -1, 1, 61, 47)
    return dict(a=a), dict(b=np.ascontiguousarray(a.T))


@program()
def outer_product(rng):
    a, b, row = rng.integers(-99, 99, 43).astype(float), rng.integers(-99, 99, 43).astype(float), 17
    product = np.outer(a, b)
    return dict(a=a, b=b, row=np.int64(row)), dict(product=product, diagonal=a * b, trace=np.float64((a * b).sum()), taken=product[row])


@program()
def concat(rng):
    def ints(*shape):
        return rng.integers(-1000, 1000, shape).astype(np.int32)

    a, b, c, d, e = ints(101), ints(57), ints(13, 29), ints(8, 29), ints(13, 8)
    return dict(a=a, b=b, c=c, d=d, e=e), dict(vector=np.hstack([a, b, a]), below=np.vstack([c, d]), beside=np.hstack([c, 2 * e]))


@program()
def filter_(rng):
    xs = uniform(rng, 0, 1, 2503)
    kept = xs[xs > 0.5]
    return dict(xs=xs), dict(count=np.int64(len(kept)), kept=kept)


@program()
def run_length(rng):
    xs = np.repeat(rng.integers(0, 4, 400), rng.geometric(0.3, 400)).astype(np.uint8)
    runs = [(value, len(list(group))) for value, group in itertools.groupby(xs.tolist())]
    return dict(xs=xs), dict(runs=np.int64(len(runs)), values=np.array([v for v, _ in runs], np.uint8),
                             lengths=np.array([n for _, n in runs], np.int64))


@program()
def word_count(rng):
    pieces = [b"a", b"fuse", b"box", b"array", b"parallel", b"x9", b"incomprehensibilities"]
    gaps = [b" ", b" ", b"  ", b"\n", b"\t", b",\n\n", b". "]
    text = b"".join(pieces[rng.integers(len(pieces))] + gaps[rng.integers(len(gaps))] for _ in range(500)) + b"end"
    words = text.split()
    return dict(text=np.frombuffer(text, np.uint8)), dict(lines=np.int64(text.count(b"\n")), words=np.int64(len(words)),
                                                          longest=np.int64(max(map(len, words))))


@program()
def thin(rng):
    xs, least = uniform(rng, 0, 1, 1500), 20
    now, turns = xs.tolist(), 0
    while turns < 10 and len(now) > least:
        now = [x for i, x in enumerate(now) if i == 0 or x > now[i - 1]]
        turns += 1
    return dict(xs0=xs, coarse=np.bool_(False), least=np.int64(least)), dict(size=np.int64(len(now)), kept=f32(now))


# ---- sorts -----------------------------------------------------------------------------------------------------------------------


@program()
def radix_sort(rng):
    keys = np.concatenate([rng.integers(-(2**31), 2**31, 700), rng.integers(-5, 5, 80), [2**31 - 1, -(2**31)]]).astype(np.int32)
    return dict(keys=keys), dict(sorted=np.sort(keys))


@program()
def quicksort(rng):
    keys = f32(np.concatenate([rng.normal(0, 1, 1200), rng.integers(-3, 3, 99)]))
    rng.shuffle(keys)
    return dict(keys=keys), dict(sorted=np.sort(keys))


def float_order(x):
    """Keys in the order of `min`: -0 below 0, NaN last, infinities where they belong."""
    return (1, 0.0, 0) if math.isnan(x) else (0, x, 0 if math.copysign(1, x) < 0 else 1)


@program()
def sort_carry(rng):
    x = f32(rng.integers(-20, 20, 800) / 4)
    special = rng.permutation(800)
    x[special[:40]], x[special[40:60]], x[special[60:80]], x[special[80:85]], x[special[85:90]] = 0.0, -0.0, np.nan, np.inf, -np.inf
    y, z = rng.integers(-3, 3, 800), rng.integers(0, 256, 800).astype(np.uint8)
    first = sorted(range(800), key=lambda i: float_order(x[i]))
    second = sorted(range(800), key=lambda i: (y[i], float_order(x[i])))
    return dict(x=x, y=y, z=z), {"sx": x[first], "sy": y[first], "sz": z[first], "ty": y[second], "tx": x[second], "from": np.array(second)}


@program()
def sort_rows(rng):
    x = rng.integers(-(2**15), 2**15, (29, 83)).astype(np.int16)
    return dict(x=x), dict(sorted=np.sort(x, axis=1))


# ---- permutations ----------------------------------------------------------------------------------------------------------------


@program()
def histogram(rng):
    keys = np.clip(rng.normal(50, 18, 4001), 0, 100).astype(np.int32)
    return dict(keys=keys, bins=np.int64(101)), dict(counts=np.bincount(keys, minlength=101).astype(np.int32))


@program()
def expand(rng):
    n, m = 500, 1024
    sizes, start, step, weight = (rng.integers(a, b, n).astype(np.int32) for a, b in ((-2, 17), (0, m), (0, 50), (-1000, 1000)))
    counts = [0] * m
    for z, s, t, v in zip(sizes.tolist(), start.tolist(), step.tolist(), weight.tolist()):
        for j in range(z):
            counts[(s + j * t) % m] += v + j
    return dict(sizes=sizes, start=start, step=step, weight=weight, m=np.int64(m)), dict(counts=np.array(counts, np.int32))


@program()
def permuted_expand(rng):
    n, m = 400, 777
    sizes, start, weight = (rng.integers(a, b, n).astype(np.int32) for a, b in ((-2, 25), (0, 10000), (-1000, 1000)))
    defaults = rng.integers(-50, 50, m).astype(np.int32)
    counts = defaults.tolist()
    for z, s, v in zip(sizes.tolist(), start.tolist(), weight.tolist()):
        for j in range(z):
            if (v + j) % 2 == 0:
                counts[(s + 3 * j) % m] += v + j
    return dict(sizes=sizes, start=start, weight=weight, defaults=defaults), dict(counts=np.array(counts, np.int32))


@program()
def expand_fold(rng):
    n = 301
    rows = [[i * j for j in range(i * i % 7)] for i in range(n)]
    return dict(n=np.int64(n)), dict(total=np.int64(sum(map(len, rows))), sums=np.array([sum(r) for r in rows], np.int64))


@program()
def breadth_first(rng):
    n = 400
    arcs = sorted({(int(a), int(b)) for a, b in zip(rng.integers(0, n, 700), rng.integers(0, n, 700))} | {(i, i + 1) for i in range(10, 40)})
    offsets = offsets_of(np.bincount([a for a, _ in arcs], minlength=n), np.int32)
    near = {i: [b for a, b in arcs if a == i] for i in range(n)}
    distances, queue = {10: 0}, [10]
    for v in queue:
        for w in near[v]:
            if w not in distances:
                distances[w] = distances[v] + 1
                queue.append(w)
    assert len(distances) < n
    return dict(offsets=offsets, targets=np.array([b for _, b in arcs], np.int32), source=np.int64(10)), dict(
        distances=np.array([distances.get(i, -1) for i in range(n)], np.int32))


@program()
def sieve(rng):
    n = 2003
    primes = [p for p in range(2, n) if all(p % q for q in range(2, math.isqrt(p) + 1))]
    return dict(n=np.int64(n)), dict(count=np.int64(len(primes)), primes=np.array(primes, np.int64))


# ---- scalars, bits, text ---------------------------------------------------------------------------------------------------------


@program()
def collatz(rng):
    n, steps = 600, []
    for x in range(n):
        count = 0
        while x > 1:
            x, count = (x // 2 if x % 2 == 0 else 3 * x + 1), count + 1
        steps.append(count)
    return dict(n=np.int64(n)), dict(steps=np.array(steps, np.int32), longest=np.int32(max(steps)), number=np.int64(steps.index(max(steps))))


@program()
def md5(rng):
    messages = [rng.bytes(length) for length in list(range(56)) + list(rng.integers(0, 56, 61))]
    blocks = [m + b"\x80" + bytes(55 - len(m)) + struct.pack("<Q", 8 * len(m)) for m in messages]
    words = np.stack([np.frombuffer(b, "<u4") for b in blocks], axis=1)
    digests = np.stack([np.frombuffer(hashlib.md5(m).digest(), "<u4") for m in messages], axis=1)
    return dict(words=words), dict(digests=digests)


@program()
def checksums(rng):
    rows = rng.integers(0, 256, (53, 77)).astype(np.uint8)
    return dict(rows=rows), dict(sums=np.array([zlib.crc32(r.tobytes()) for r in rows], np.uint32))


@program()
def edit_distance(rng):
    a, b = rng.integers(97, 101, 83).astype(np.uint8), rng.integers(97, 101, 101).astype(np.uint8)
    table = {}
    for i in range(len(a) + 1):
        for j in range(len(b) + 1):
            table[i, j] = i + j if i * j == 0 else min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + int(a[i - 1] != b[j - 1]))
    return dict(a=a, b=b), dict(distance=np.int64(table[len(a), len(b)]))


def wrap(x, bits, signed=True):
    x %= 1 << bits
    return x - (1 << bits) if signed and x >> (bits - 1) else x


@program()
def integer_functions(rng):
    n, least = 700, -(2**31)
    a, b = (np.concatenate([rng.integers(least, 2**31, n - 60), rng.integers(-9, 9, 60)]).astype(np.int32) for _ in range(2))
    b[b == 0] = 3
    a[:4], b[:4] = [least, least, least, 7], [-1, 1, least, -2]
    s = rng.integers(0, 41, n).astype(np.int32)
    out = {k: [] for k in ("quotient", "remainder", "down", "rest", "product", "turned", "left", "right", "bits", "rotated", "small")}
    for x, y, k in zip(a.tolist(), b.tolist(), s.tolist()):
        q = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        ux, uy = x % 2**32, y % 2**32
        out["quotient"].append(wrap(q, 32))
        out["remainder"].append(x - q * y)
        out["down"].append(wrap(x // y, 32))
        out["rest"].append(x % y)
        out["product"].append(wrap(x * y - wrap(abs(x), 32), 32))
        out["turned"].append(wrap(-x, 32))
        out["left"].append(wrap(x << k, 32) if k < 32 else 0)
        out["right"].append(x >> k)
        lead = 32 - uy.bit_length()
        trail = (uy & -uy).bit_length() - 1
        out["bits"].append(wrap(bin(ux).count("1") + 100 * lead + 10000 * trail + 1000000 * ((x > 0) - (x < 0)), 32))
        word = f"{ux:032b}"
        right = int(word[32 - k % 32 :] + word[: 32 - k % 32], 2)
        out["rotated"].append(right ^ (int(word[5:] + word[:5], 2) ^ (2**32 - 1)))
        out["small"].append(wrap(min(x, y), 8) | wrap(x & y, 8))
    types = {"rotated": np.uint32, "small": np.int8}
    return dict(a=a, b=b, s=s), {name: np.array(v, types.get(name, np.int32)) for name, v in out.items()}


@program(1e-13, 1e-13)
def float_functions(rng):
    n = 501
    x, y = rng.uniform(-3, 3, n), rng.uniform(0.01, 6, n)
    x[:5] = [0.25, 0.75, -0.25, -1.25, 2.0]
    names = ("circular", "inverse", "hyperbolic", "back", "powers", "logs", "errors", "rounded")
    out = {name: [] for name in names}
    for a, b in zip(x.tolist(), y.tolist()):
        out["circular"].append(math.sin(a) + 2 * math.cos(b) + 4 * math.atan(a) + 8 * math.atan2(a, b))
        out["inverse"].append(math.asin(a / 4) + 2 * math.acos(a / 4) + math.tan(a / 4))
        out["hyperbolic"].append(math.sinh(a) + 2 * math.cosh(a) + 4 * math.tanh(a))
        out["back"].append(math.asinh(a) + 2 * math.acosh(1 + b) + 4 * math.atanh(a / 4))
        out["powers"].append(math.pow(b, a) + math.pow(2, a) + math.expm1(a / 8) + math.copysign(abs(a) ** (1 / 3), a))
        out["logs"].append(math.log(b) + 2 * math.log2(b) + 4 * math.log10(b) + 8 * math.log1p(b))
        out["errors"].append(math.erf(a) + 2 * math.erfc(a) + math.hypot(a, b))
        sign = float((a > 0) - (a < 0))
        fused = float(Fraction(a) * Fraction(b) + 1)
        out["rounded"].append(math.floor(2 * a) + 10 * math.ceil(2 * a) + 100 * math.trunc(2 * a) + 1000 * round(2 * a) + sign + fused)
    return dict(x=x, y=y), {name: np.array(v) for name, v in out.items()}


@program()
def conversions(rng):
    x = f32(np.concatenate([rng.normal(0, 100, 300), rng.normal(0, 1e-7, 40), rng.normal(0, 1e19, 60), rng.normal(0, 3e4, 60),
                            [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 1.5, -0.5, -1.5, 255.5, 127.9, -128.9, 65504, 65519.9, 65520, 6e-8, 2.9e-8]]))
    m = np.concatenate([rng.integers(-(2**63), 2**63 - 1, 99), rng.integers(-70000, 70000, 99),
                        [0, 1, -1, 2049, 2051, 65519, 65520, 2**24 + 1, 2**24 + 3, 2**63 - 1, -(2**63), 2**40 + 2**16 + 1]]).astype(np.int64)

    def saturated(v, low, high):
        return 0 if math.isnan(v) else low if v <= low else high if v >= high else math.trunc(v)

    def integers(low, high, dtype):
        return np.array([saturated(float(v), low, high) for v in x], dtype)

    with np.errstate(over="ignore"):
        halves = x.astype(np.float16).astype(np.float32)
        half_bits = m.astype(np.float64).astype(np.float16).view(np.uint16)
    bits = np.where(np.isnan(x), np.uint32(1), np.where(np.isinf(x), np.uint32(2), x.view(np.uint32)))
    nearest = []
    for v in m.tolist():  # the nearest float32 by exact fractions, ties to the even one
        close = np.float32(v)
        around = [np.nextafter(close, np.float32(-np.inf)), close, np.nextafter(close, np.float32(np.inf))]
        nearest.append(min(around, key=lambda c: (abs(Fraction(float(c)) - v), int(np.float32(c).view(np.uint32)) & 1)))
    return dict(x=x, m=m), dict(
        xi=integers(-128, 127, np.int8), xu=integers(0, 255, np.uint8), xl=integers(-(2**63), 2**63 - 1, np.int64), xh=halves, xb=bits,
        mu=np.array([v % 256 for v in m.tolist()], np.uint8), ms=np.array([wrap(v, 16) for v in m.tolist()], np.int16), mf=f32(nearest), mh=half_bits)


@program()
def half_precision(rng):
    x, y = (rng.normal(0, 2, (41, 59)).astype(np.float16) for _ in range(2))
    sums = []
    for row, other in zip(x, y):
        s = np.float16(0)
        for a, b in zip(row, other):
            product = np.float16(float(a) * float(b))
            s = np.float16(float(s) + float(product))
        sums.append(s)
    return dict(x=x, y=y), dict(sums=np.array(sums))


# ---- linear algebra and graphs ---------------------------------------------------------------------------------------------------


@program(1e-5, 1e-5)
def matmul(rng):
    a, b = uniform(rng, -1, 1, 37, 29), uniform(rng, -1, 1, 29, 43)
    return dict(a=a, b=b), dict(c=f32(a.astype(float) @ b.astype(float)))


@program(1e-5, 2e-5)
def smvm(rng):
    rows, n = 301, 257
    lengths = np.concatenate([rng.poisson(5, rows - 2), [120, 0]])
    offsets = offsets_of(lengths, np.int32)
    columns = np.concatenate([np.sort(rng.choice(n, k, replace=False)) for k in lengths]).astype(np.int32)
    values, x = uniform(rng, -1, 1, offsets[-1]), uniform(rng, -1, 1, n)
    dense = np.zeros((rows, n))
    for i in range(rows):
        dense[i, columns[offsets[i] : offsets[i + 1]]] = values[offsets[i] : offsets[i + 1]]
    return dict(offsets=offsets, columns=columns, values=values, x=x), dict(y=f32(dense @ x.astype(float)))


@program(1e-9, 1e-9)
def gauss(rng):
    a, b = rng.uniform(-1, 1, (31, 31)), rng.uniform(-1, 1, 31)
    a[0, 0] = 0
    return dict(a=a, b=b), dict(x=np.linalg.solve(a, b))


@program(0, 1e-10)
def fft(rng):
    re, im = rng.uniform(-1, 1, 1024), rng.uniform(-1, 1, 1024)
    w = np.fft.fft(re + 1j * im)
    return {"z.re": re, "z.im": im}, {"w.re": w.real, "w.im": w.imag}


@program()
def shortest_paths(rng):
    n = 41
    a = np.full((n, n), 30000, np.int16)
    a[rng.integers(0, n, 90), rng.integers(0, n, 90)] = rng.integers(1, 500, 90)
    a[np.arange(n), np.arange(n)] = 0
    ways = []
    for source in range(n):  # Bellman and Ford from every vertex
        length = [math.inf] * n
        length[source] = 0
        for _ in range(n):
            for i, j in zip(*np.nonzero(a < 30000)):
                length[j] = min(length[j], length[i] + int(a[i, j]))
        ways.append([30000 if math.isinf(x) else x for x in length])
    return dict(a=a), dict(lengths=np.array(ways, np.int16))


@program(1e-4)
def pagerank(rng):
    n, iterations, damping = 300, 10, f32(0.85)
    links = sorted({(int(t), int(s)) for t, s in zip(rng.integers(0, n, 2500) ** 2 // n, rng.integers(0, n, 2500))} | {(n - 1 - i, i) for i in range(n)})
    offsets = offsets_of(np.bincount([t for t, _ in links], minlength=n), np.int32)
    degrees = np.bincount([s for _, s in links], minlength=n).astype(np.int32)
    ranks = [1 / n] * n
    for _ in range(iterations):
        sums = [0.0] * n
        for t, s in links:
            sums[t] += ranks[s] / degrees[s]
        ranks = [(1 - float(damping)) / n + float(damping) * s for s in sums]
    return dict(offsets=offsets, sources=np.array([s for _, s in links], np.int32), degrees=degrees, damping=damping,
                iterations=np.int64(iterations)), dict(ranks=f32(ranks))


@program(1e-4, 1e-5)
def kmeans(rng):
    n, k, d, iterations = 777, 9, 3, 3
    centres = rng.uniform(-1, 1, (k - 1, d))
    points = f32(centres[rng.integers(0, k - 1, n)].T + rng.normal(0, 0.15, (d, n)))
    start = f32(np.vstack([centres + rng.normal(0, 0.2, centres.shape), [[50, 50, 50]]]))
    now, wide = start.astype(float), points.T.astype(float)
    for _ in range(iterations):
        distances = np.array([[((p - c) ** 2).sum() for c in now] for p in wide])
        closest = np.sort(distances, axis=1)
        assert (closest[:, 1] - closest[:, 0]).min() > 1e-5, "a point lies between two centroids"
        own = distances.argmin(axis=1)
        now = np.array([wide[own == c].mean(axis=0) if (own == c).any() else now[c] for c in range(k)])
    counts = np.bincount(own, minlength=k)
    assert counts.min() == 0
    return dict(points=points, centroids=start, iterations=np.int64(iterations)), dict(centres=f32(now), counts=counts)


@program(1e-4, 4e-3)
def nbody(rng):
    n, eps2 = 151, f32(0.01)
    mass, *position = uniform(rng, 1, 40, n), uniform(rng, -1, 1, n), uniform(rng, -1, 1, n), uniform(rng, -1, 1, n)
    x = np.array(position, float)
    forces = np.zeros((3, n))
    for i in range(n):
        d = x - x[:, i : i + 1]
        forces[:, i] = (mass.astype(float) * d / ((d**2).sum(axis=0) + float(eps2)) ** 1.5).sum(axis=1)
    # Forces of thousands cancel to a few, hence the absolute tolerance.
    return dict(mass=mass, px=position[0], py=position[1], pz=position[2], eps2=eps2), dict(ax=f32(forces[0]), ay=f32(forces[1]), az=f32(forces[2]))


# ---- images and grids ------------------------------------------------------------------------------------------------------------


@program()
def mandelbrot(rng):
    w, h, limit = 61, 47, 40
    view = [f32(v) for v in (-2.23, 0.83, -1.17, 1.15)]

    def escape(ty):
        x0, x1, y0, y1 = (ty(v) for v in view)
        cx = np.broadcast_to(x0 + np.arange(w).astype(ty) * (x1 - x0) / ty(w), (h, w))
        cy = np.broadcast_to((y0 + np.arange(h).astype(ty) * (y1 - y0) / ty(h))[:, None], (h, w))
        zr, zi, count = cx, cy, np.zeros((h, w), np.int32)
        for _ in range(limit):
            inside = zr * zr + zi * zi <= 4
            count = count + inside
            zr, zi = np.where(inside, zr * zr - zi * zi + cx, zr), np.where(inside, 2 * zr * zi + cy, zi)
        return count.astype(np.int32)

    counts = escape(np.float64)
    assert (counts == escape(np.float32)).all(), "the view has points whose count depends on the precision"
    return dict(w=np.int64(w), h=np.int64(h), x0=view[0], x1=view[1], y0=view[2], y1=view[3], limit=np.int32(limit)), dict(counts=counts)


@program(1e-5, 1e-6)
def blur(rng):
    image = uniform(rng, 0, 1, 61, 47)
    wide = image.astype(float)
    across = shifted(wide, (0, -1)) + 2 * wide + shifted(wide, (0, 1))
    return dict(image=image), dict(blurred=f32((shifted(across, (-1, 0)) + 2 * across + shifted(across, (1, 0))) / 16))


@program(1e-5, 1e-6)
def jacobi(rng):
    image, steps = uniform(rng, 0, 1, 61, 47), 5
    x = image.astype(float)
    for _ in range(steps):
        x = (x + sum(shifted(x, o) for o in ((-1, 0), (1, 0), (0, 1), (0, -1)))) / 5
    return dict(image=image, steps=np.int64(steps)), dict(result=f32(x))


@program(1e-12)
def heat(rng):
    start, outside, rate, steps = rng.uniform(0, 100, (11, 13, 17)), 20.0, 0.125, 4
    x = start
    for _ in range(steps):
        total = sum(shifted(x, o, "constant", constant_values=outside) for o in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, o)) == 1)
        x = x + rate * (total - 6 * x)
    return dict(start=start, outside=np.float64(outside), rate=np.float64(rate), steps=np.int64(steps)), dict(result=x)


@program()
def life(rng):
    grid, steps = rng.integers(0, 2, (61, 47)).astype(np.uint8), 10
    now = grid
    for _ in range(steps):
        around = sum(np.roll(now, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b)
        now = ((around == 3) | ((now == 1) & (around == 2))).astype(np.uint8)
    return dict(grid=grid, steps=np.int64(steps)), dict(after=now)


@program()
def canny(rng):
    h, w, low, high = 47, 61, f32(20), f32(45)
    y, x = np.mgrid[0:h, 0:w]
    scene = 60 + 90 * ((x - 20) ** 2 + (y - 22) ** 2 < 150) + 70 * (x + y > 75) - 40 * (np.abs(x - 50) < 4) + 25 * np.sin(x / 5) * np.cos(y / 7)
    image = f32(np.clip(np.round(scene + rng.normal(0, 4, (h, w))), 0, 255))

    def edges(ty):
        a = image.astype(ty)
        for axis in (1, 0):
            a = sum(ty(c) * shifted(a, (o, 0) if axis == 0 else (0, o)) for o, c in zip((-2, -1, 0, 1, 2), (1, 4, 6, 4, 1))) / ty(16)
        gx, gy = (sum(ty(c) * (shifted(a, (s, 1) if across else (1, s)) - shifted(a, (s, -1) if across else (-1, s)))
                      for s, c in zip((-1, 0, 1), (1, 2, 1))) for across in (True, False))
        m = np.sqrt(gx * gx + gy * gy)
        degrees = np.degrees(np.arctan2(gy.astype(float), gx.astype(float))) % 180
        grade = np.zeros((h, w), int)
        for i, j in np.ndindex(h, w):
            d = degrees[i, j]
            step = (0, 1) if d <= 22.5 or d >= 157.5 else (1, 0) if 67.5 <= d <= 112.5 else (1, 1) if d < 67.5 else (1, -1)
            sides = [m[min(max(i + s * step[0], 0), h - 1), min(max(j + s * step[1], 0), w - 1)] for s in (-1, 1)]
            if m[i, j] >= max(sides) and m[i, j] >= low:
                grade[i, j] = 2 if m[i, j] >= high else 1
        strong = np.pad(grade == 2, 1)
        near = np.any([strong[a : a + h, b : b + w] for a in range(3) for b in range(3)], axis=0)
        return ((grade == 2) | ((grade == 1) & near)).astype(np.uint8)

    found = edges(np.float64)
    assert (found == edges(np.float32)).all() and 100 < found.sum() < 800
    return dict(image=image, low=low, high=high), dict(edges=found)


@program(1e-3, 1e-5)
def fluid(rng):
    h, w, k = 31, 37, 5
    density, u, v = uniform(rng, 0, 1, h, w), uniform(rng, -0.4, 0.4, h, w), uniform(rng, -0.4, 0.4, h, w)
    row, column = rng.integers(0, h, k), rng.integers(0, w, k)
    row[1], column[1] = row[0], column[0]
    su, sv, sd = uniform(rng, -1, 1, k), uniform(rng, -1, 1, k), uniform(rng, 0, 5, k)
    dt, viscosity, diffusion, relaxations, steps = f32(0.1), f32(0.0007), f32(0.0003), 8, 2

    def around(a):
        p = np.pad(a, 1)
        return p[1:-1, :-2], p[1:-1, 2:], p[:-2, 1:-1], p[2:, 1:-1]

    def inject(a, source):
        a = a.copy()
        np.add.at(a, (row, column), source.astype(float))
        return a

    def diffuse(a, constant):
        c = float(dt) * float(constant) * h * w
        x = a
        for _ in range(relaxations):
            x = (a + c * sum(around(x))) / (1 + 4 * c)
        return x

    def project(a, b):
        left, right, _, _ = around(a)
        _, _, top, bottom = around(b)
        divergence = -0.5 * (right - left + bottom - top)
        p = divergence
        for _ in range(relaxations):
            p = 0.25 * (divergence + sum(around(p)))
        left, right, top, bottom = around(p)
        return a - 0.5 * (right - left), b - 0.5 * (bottom - top)

    def advect(field, a, b):
        result = np.zeros((h, w))
        for i, j in np.ndindex(h, w):
            x = min(max(j - float(dt) * w * a[i, j], -0.5), w + 0.5)
            y = min(max(i - float(dt) * h * b[i, j], -0.5), h + 0.5)
            for p in (math.floor(y), math.floor(y) + 1):
                for q in (math.floor(x), math.floor(x) + 1):
                    if 0 <= p < h and 0 <= q < w:
                        result[i, j] += (1 - abs(y - p)) * (1 - abs(x - q)) * field[p, q]
        return result

    d, a, b = density.astype(float), u.astype(float), v.astype(float)
    for _ in range(steps):
        a, b = project(diffuse(inject(a, su), viscosity), diffuse(inject(b, sv), viscosity))
        a, b = project(advect(a, a, b), advect(b, a, b))
        d = advect(diffuse(inject(d, sd), diffusion), a, b)
    return dict(density=density, u=u, v=v, row=row, column=column, su=su, sv=sv, sd=sd, dt=dt, viscosity=viscosity, diffusion=diffusion,
                relaxations=np.int64(relaxations), steps=np.int64(steps)), dict(density=f32(d), u=f32(a), v=f32(b))


@program(1e-5, 1e-5)
def stencil_boundaries(rng):
    u, v = uniform(rng, -2, 2, 501), uniform(rng, -1, 1, 4)
    n, m = len(u), len(v)

    def mirrored(i, n):
        """Along 0, 1, …, n - 1, n - 2, …, 1, 0, 1, … and the same below 0."""
        path = list(range(n)) + list(range(n - 2, 0, -1))
        return path[i % len(path)]

    def outside(i):
        return float(u[i]) if 0 <= i < n else float(i)

    x = u.astype(float)
    return dict(u=u, v=v), dict(
        differences=f32([x[mirrored(i + 2, n)] - x[mirrored(i - 2, n)] for i in range(n)]),
        sums=f32([x[(i - 3) % n] + x[i] + x[(i + 3) % n] for i in range(n)]),
        mixed=f32([outside(i - 1) - 0.5 * (x[i + 1] ** 2 if i + 1 < n else 0.25) + outside(i + 4) for i in range(n)]),
        far=f32([float(v[mirrored(i - 7, m)]) + 10 * float(v[mirrored(i + 9, m)]) for i in range(m)]))


@program(1e-3, 1e-4)
def ray(rng):
    h, w, bounces = 47, 61, 4
    spheres = f32([[0, 1, 2, 1, 0.9, 0.4], [-1.7, 0.7, 1.2, 0.7, 0.7, 0.2], [1.7, 0.5, 0.8, 0.5, 0.8, 0.6], [0.55, 0.3, -0.4, 0.3, 1, 0],
                   [0, -20, 3, 20, 0.6, 0.1]]).T
    light = f32(np.array([-0.5, 0.7, -0.5]) / math.sqrt(0.99))

    def trace(ty):
        (cx, cy, cz, radii, shades, mirrors), to_light = spheres.astype(ty), light.astype(ty)
        centres, unit, image = np.stack([cx, cy, cz], axis=1), ty(1), np.zeros((h, w), ty)
        for i, j in np.ndindex(h, w):
            d = np.array([(ty(j) + ty(0.5) - ty(w) / ty(2)) / ty(h), (ty(h) / ty(2) - ty(i) - ty(0.5)) / ty(h), unit], ty)
            d, o, total, weight = d / np.sqrt(d @ d), np.array([0, 1, -4], ty), ty(0), unit
            for _ in range(bounces):
                def ways(p, q):
                    rel = p - centres
                    b = rel @ q
                    inside = b * b - ((rel * rel).sum(axis=1) - radii * radii)
                    return np.where(inside > 0, -b - np.sqrt(np.maximum(inside, 0)), -unit)

                way = np.array([t if t > 0.01 else np.inf for t in ways(o, d)])
                hit = int(way.argmin())
                if np.isinf(way[hit]):
                    total += weight * (ty(0.5) + ty(0.4) * d[1])
                    break
                p = o + ty(way[hit]) * d
                normal = (p - centres[hit]) / radii[hit]
                p = p + ty(0.01) * normal
                facing = ty(0) if (ways(p, to_light) > 0).any() else max(ty(0), normal @ to_light)
                total += weight * (unit - mirrors[hit]) * shades[hit] * (ty(0.1) + ty(0.9) * facing)
                weight *= mirrors[hit]
                if weight == 0:
                    break
                d, o = d - ty(2) * (d @ normal) * normal, p
            image[i, j] = total
        return image

    image = trace(np.float64)
    assert np.abs(image - trace(np.float32)).max() < 3e-4, "a ray passes an edge too closely"
    names = ("cx", "cy", "cz", "radius", "shade", "mirror")
    return dict(zip(names, spheres)) | dict(lx=light[0], ly=light[1], lz=light[2], h=np.int64(h), w=np.int64(w), bounces=np.int64(bounces)), dict(image=f32(image))


# ---- corners ---------------------------------------------------------------------------------------------------------------------


@program(1e-5, 1e-6)
def attention(rng):
    q, k, v = uniform(rng, -2, 2, 29, 16), uniform(rng, -2, 2, 37, 16), uniform(rng, -1, 1, 37, 11)
    scores = q.astype(float) @ k.astype(float).T / 4
    weights = np.exp(scores)
    return dict(q=q, k=k, v=v), dict(out=f32(weights / weights.sum(axis=1, keepdims=True) @ v.astype(float)))


@program()
def two_smallest(rng):
    n, bins, none = 900, 131, 2**31 - 1
    keys, values = rng.integers(0, bins - 3, n).astype(np.int32), rng.integers(-500, 500, n).astype(np.int32)
    ordered = [sorted(values[keys == b].tolist()) + [none, none] for b in range(bins)]
    return dict(keys=keys, values=values, bins=np.int64(bins)), dict(first=np.array([o[0] for o in ordered], np.int32),
                                                                     second=np.array([o[1] for o in ordered], np.int32))


@program()
def paint(rng):
    h, w, n = 23, 31, 1200
    canvas, colour = rng.integers(0, 9, (h, w)).astype(np.uint8), rng.integers(9, 256, n).astype(np.uint8)
    row, column = rng.integers(-2, h + 2, n), rng.integers(-2, w + 2, n)
    painted, turn = canvas.copy(), np.full((h, w), -1)
    for t in range(n):
        if 0 <= row[t] < h and 0 <= column[t] < w:
            painted[row[t], column[t]], turn[row[t], column[t]] = colour[t], t
    return dict(canvas=canvas, row=row, column=column, colour=colour), dict(painted=painted, turn=turn)


@program()
def function_scans(rng):
    offsets = offsets_of(rng.poisson(4, 150), np.int32)
    a, b = (rng.integers(-(2**31), 2**31, offsets[-1]).astype(np.int32) for _ in range(2))

    def after(f, g):
        """The function that does f, then g."""
        return f[0] * g[0] % 2**32, (f[1] * g[0] + g[1]) % 2**32

    functions = list(zip(a.tolist(), b.tolist()))
    left = list(itertools.accumulate(functions, after))
    right = list(itertools.accumulate(functions[::-1], lambda f, g: after(g, f)))[::-1]
    parts = [functions[i:j] for i, j in zip(offsets[:-1], offsets[1:])]
    whole = list(itertools.accumulate(functions, after, initial=(3, 5)))[-1]
    each = [list(itertools.accumulate(p, after, initial=(3, 5)))[-1] for p in parts]
    before = [f for p in parts for f in list(itertools.accumulate(p, after, initial=(1, 0)))[:-1]]
    results = {}
    for names, pairs in ((("la", "lb"), left), (("ra", "rb"), right), (("wa", "wb"), [whole]), (("sa", "sb"), each), (("xa", "xb"), before)):
        for component, name in enumerate(names):
            values = np.array([wrap(f[component], 32) for f in pairs], np.int32)
            results[name] = values[0] if name in ("wa", "wb") else values
    return dict(a=a, b=b, offsets=offsets), results


@program()
def empty(rng):
    def none(*shape, dtype=np.int32):
        return np.zeros(shape, dtype)

    target = np.array([4, -2, 9], np.int32)
    return dict(xs=none(0), rows=none(3, 0), offsets=none(5, dtype=np.int64), target=target), dict(
        sum=np.int32(7), sums=np.full(3, 9, np.int32), seg=np.full(4, 11, np.int32), scanned=np.full((3, 1), 13, np.int32), inclusive=none(0),
        count=np.int64(0), kept=none(0), total=np.int64(0), expanded=none(0), same=target, sorted=none(0), smooth=none(0), joined=none(0),
        turned=none(0, 3), vector=none(0))


@program()
def nan_order(rng):
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -1.5, 1e-45, 3e38]
    pairs = list(itertools.product(special, special))
    x, y = f32([a for a, _ in pairs]), f32([b for _, b in pairs])

    def chosen(a, b, last):
        return math.nan if math.isnan(a) or math.isnan(b) else sorted((a, b), key=float_order)[last]

    def bits(a, b):
        tests = (a < b, a <= b, a == b, a != b, a >= b, a > b, math.isnan(a), math.isinf(b))
        return sum(t << i for i, t in enumerate(tests))

    def zero(a):
        if math.isnan(a) or math.isinf(a):
            return math.nan
        return a if a == 0 else math.copysign(1.0, a)

    wide = list(zip(x.tolist(), y.tolist()))
    return dict(x=x, y=y), dict(
        low=f32([chosen(a, b, 0) for a, b in wide]), high=f32([chosen(a, b, 1) for a, b in wide]),
        tests=np.array([bits(a, b) for a, b in wide], np.uint8), zero=f32([zero(a) for a, _ in wide]), greatest=f32(math.inf), least=f32(-math.inf),
        spoilt=f32(math.nan))


@program()
def xorshift(rng):
    seeds, draws = rng.integers(1, 2**63, 67).astype(np.uint64), 20
    states, numbers, hits = [], [], 0
    for s in seeds.tolist():
        for _ in range(draws):
            s ^= s >> 12
            s ^= s << 25 & (2**64 - 1)
            s ^= s >> 27
            number = s * 2685821657736338717 % 2**64
            x, y = number >> 43, number >> 22 & (2**21 - 1)
            hits += x * x + y * y < 2**42
        states.append(s)
        numbers.append(number)
    return dict(seeds=seeds, draws=np.int64(draws)), dict(states=np.array(states, np.uint64), numbers=np.array(numbers, np.uint64), hits=np.int64(hits))


@program()
def flat_reads(rng):
    a = rng.integers(-1000, 1000, (37, 23)).astype(np.int32)
    p = rng.integers(0, a.size, 301)
    point = a[-1, -1] + a[0, 0]
    return dict(a=a, p=p), dict(taken=a.ravel()[p], shifted=np.concatenate([[0], a.ravel()[:-1]]).reshape(a.shape).astype(np.int32), corner=a[0, 0],
                                point=point, answer=np.int32(6 * point - 1000 + 16))


@program(1e-5)
def pool(rng):
    image, p, q = uniform(rng, 0, 1, 60, 49), 4, 7
    means = [[image[i : i + p, j : j + q].astype(float).mean() for j in range(0, 49, q)] for i in range(0, 60, p)]
    return dict(image=image, p=np.int64(p), q=np.int64(q)), dict(means=f32(means))


@program()
def closest_pair(rng):
    x, y = (rng.integers(-(2**30), 2**30, 71).astype(np.int32) for _ in range(2))
    points = list(zip(x.tolist(), y.tolist()))
    distance, i, j = min(((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2, i, j) for i, a in enumerate(points) for j, b in enumerate(points) if i < j)
    return dict(x=x, y=y), dict(distance=np.int64(distance), first=np.int64(i), second=np.int64(j))


@program(1e-5, 1e-5)
def clustered_normalise2(rng):
    return normalise2(rng)


@program()
def scalars(rng):
    a, b, xs = 2 * 3 * 7 * 1009, 3 * 7 * 1013 * 4, np.array([123456789**2 + 5, 1])
    return dict(a=np.int64(a), b=np.int64(b), xs=xs), dict(gcd=np.int64(math.gcd(a, b)), low=np.int64(min(a, b)), high=np.int64(max(a, b)),
                                                           root=np.int64(math.isqrt(int(xs[0]))), square=np.bool_(False))


# ---- nested, streams, foreign ----------------------------------------------------------------------------------------------------


@program(1e-5, 1e-7)
def nested_softmax(rng):
    x = uniform(rng, -5, 5, 23, 31)
    e = np.exp(x.astype(float))
    return dict(x=x), nested("y", list(e / e.sum(axis=1, keepdims=True)), np.float32)


@program(1e-5, 1e-5)
def nested_matmul(rng):
    a, b = uniform(rng, -1, 1, 19, 17), uniform(rng, -1, 1, 17, 23)
    return dict(a=a, b=b), dict(c=f32(a.astype(float) @ b.astype(float)))


@program()
def nested_triangles(rng):
    n = 45
    rows = [[i * j for j in range(i)] for i in range(n)]
    return dict(n=np.int64(n)), nested("triangle", rows, np.int64) | dict(sums=np.array([sum(r) for r in rows], np.int64))


@program(1e-5, 1e-5)
def nested_branches(rng):
    x, coarse = uniform(rng, -1, 1, 31, 27), rng.integers(0, 2, 31).astype(bool)
    rows = [r[::2] if c else r[r > 0] for r, c in zip(x, coarse)]
    return dict(x=x, coarse=coarse), nested("rows", rows, np.float32) | dict(
        sizes=np.array([len(r) for r in rows], np.int64), sums=f32([math.fsum(r) for r in rows]))


@program()
def nested_halving(rng):
    sizes, least = np.concatenate([rng.integers(0, 40, 40), [0, 1, 200]]), 4
    rows, turns = [], []
    for i, size in enumerate(sizes.tolist()):
        # Element j of the result is the sum of a block of 2^t neighbours.
        t = next(t for t in range(20) if -(-size // 2**t) <= least)
        start = [i + j * j for j in range(size)]
        rows.append([sum(start[j : j + 2**t]) for j in range(0, size, 2**t)])
        turns.append(t)
    return dict(sizes=sizes, least=np.int64(least)), nested("rows", rows, np.int64) | dict(turns=np.array(turns, np.int64))


@program(1e-5, 1e-5)
def nested_input(rng):
    rows = [uniform(rng, -1, 1, n) for n in [0, 1, 2, 50] + rng.poisson(6, 40).tolist() + [0]]
    means = [math.fsum(r) / len(r) if len(r) else 0 for r in rows]
    return nested("rows", rows, np.float32), nested("sorted", [np.sort(r) for r in rows], np.float32) | dict(means=f32(means))


@program()
def nested_pairs(rng):
    n = 21
    sums = [sum((i + l) * j for j in range(i) for l in range(j)) for i in range(n)]
    return dict(n=np.int64(n)), dict(sums=np.array(sums, np.int64))


@program(1e-5, 1e-5)
def stream_means(rng):
    frames = uniform(rng, 0, 1, 19, 13, 11)
    means = frames.astype(float).mean(axis=(1, 2))
    return dict(frames=frames), dict(number=np.int64(19), means=f32(means), total=f32(means.sum()))


@program()
def stream_rows(rng):
    a, b, limit = rng.integers(-1000, 1000, (40, 29)).astype(np.int32), rng.integers(-1000, 1000, (31, 29)).astype(np.int32), 33
    table = np.array([a[i].astype(np.int64) * b[i] + i for i in range(31)])
    return dict(a=a, b=b, limit=np.int64(limit)), dict(rows=np.int64(31), columns=np.int64(29), table=table.astype(np.int32), number=np.int64(31),
                                                       greatest=table.max(axis=1).astype(np.int32))


@program()
def stream_ragged(rng):
    lines = [rng.integers(-50, 50, n) for n in [3, 12] + rng.integers(2, 11, 20).tolist()]
    values = np.concatenate([x[x > 0] for x in lines])
    table = np.array([2 * x[:2] for x in lines])
    counts = np.bincount([min(len(x), 7) for x in lines], minlength=8)
    return dict(lines=lines), dict(size=np.int64(len(values)), values=values, rows=np.int64(len(lines)), columns=np.int64(2), table=table, counts=counts)


@program(1e-5, 1e-6)
def stream_smooth(rng):
    weights, rows = uniform(rng, 0, 1, 37), uniform(rng, -1, 1, 21, 37)
    padded = np.pad(rows.astype(float), ((0, 0), (1, 1)), mode="reflect")
    return dict(weights=weights, rows=rows), dict(smooth=f32(weights * (padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]) / 3))


@program(1e-5, 1e-4)
def foreign_gemm(rng):
    x, y = uniform(rng, -1, 1, 17, 29), uniform(rng, -1, 1, 29, 13)
    c = x.astype(float) @ y.astype(float)
    return dict(x=x, y=y), dict(c=f32(c), squares=f32(c * c))


@program()
def foreign_select(rng):
    xs = rng.integers(-(10**12), 10**12, 333)
    return dict(xs=xs, rank=np.int64(120)), dict(element=np.int64(sorted(xs.tolist())[120]))


# ---- writing ---------------------------------------------------------------------------------------------------------------------


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
