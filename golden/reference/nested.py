"""Arrays of arrays, streams, foreign functions."""

import math

import numpy as np

from reference.common import f32, nested, program, uniform


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
