"""Scalar functions, bits, text, and corners of meaning."""

import hashlib
import itertools
import math
import struct
import zlib
from fractions import Fraction

import numpy as np

from reference.common import f32, offsets_of, program, uniform
from reference.rearrangement import float_order
from reference.reductions import normalise2


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
