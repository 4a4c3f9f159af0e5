"""Rearrangement, sorts, permutes."""

import itertools
import math

import numpy as np

from reference.common import f32, offsets_of, program, uniform


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
