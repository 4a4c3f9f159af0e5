"""Folds, scans, segments."""

import itertools
import math

import numpy as np

from reference.common import f32, offsets_of, program, segments, uniform


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


@program(1e-5, 1e-4)
def segments_of_segments(rng):
    lengths = np.concatenate([rng.poisson(1, 200), rng.exponential(30, 60).astype(int), [1000, 0, 0]])
    rows = offsets_of(lengths, np.int64)
    groups = offsets_of([0, 0, 1, 3, 0, 40, 100, 80, 39, 0], np.int32)
    xs = uniform(rng, -1, 1, rows[-1])
    norms = [math.sqrt(math.fsum(float(x) ** 2 for x in row)) for row in segments(xs, rows)]
    parts = [norms[a:b] for a, b in zip(groups, groups[1:])]
    largest = [max(part, default=0.0) for part in parts]
    running = [math.fsum(part[: i + 1]) for part in parts for i in range(len(part))]
    return dict(xs=xs, rows=rows, groups=groups), dict(largest=f32(largest), total=np.float32(math.fsum(largest)), running=f32(running))


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
