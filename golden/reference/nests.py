"""Nested parallelism: operations on the rows of arrays, by loops over the rows."""

import itertools

import numpy as np

from reference.common import f32, nested, program, uniform


def ragged(rng, low, high, sizes, dtype=np.int64):
    return [rng.integers(low, high, size).astype(dtype) for size in sizes]


def lengths(rng, mean, count, *more):
    """Mostly alike, some empty, one much longer than the others."""
    return rng.poisson(mean, count).tolist() + [0, 1] + list(more)


@program()
def nested_quicksort(rng):
    xss = rng.integers(-50, 50, (23, 37))
    return dict(xss=xss), nested("sorted", [sorted(row) for row in xss.tolist()], np.int64)


@program()
def nested_bubble_sort(rng):
    rows = ragged(rng, -99, 99, lengths(rng, 7, 20, 60))
    turns = []
    for row in rows:
        v, before, turn = row.tolist(), None, 0
        while v != before:
            before = list(v)
            for j in [*range(0, len(v) - 1, 2), *range(1, len(v) - 1, 2)]:
                v[j : j + 2] = sorted(v[j : j + 2])
            turn += 1
        turns.append(turn)
    return nested("rows", rows, np.int64), nested("sorted", [np.sort(r) for r in rows], np.int64) | dict(turns=np.array(turns, np.int64))


@program(1e-5, 1e-5)
def nested_smvm(rng):
    m = 53
    columns = ragged(rng, 0, m, lengths(rng, 6, 40, 300))
    values = [uniform(rng, -1, 1, len(c)) for c in columns]
    x = uniform(rng, -1, 1, m)
    y = [np.dot(v.astype(float), x.astype(float)[c]) for c, v in zip(columns, values)]
    return nested("columns", columns, np.int64) | nested("values", values, np.float32) | dict(x=x), dict(y=f32(y))


@program()
def nested_mandelbrot(rng):
    one, most = 1 << 20, 60
    x, y = np.linspace(-2 * one, one // 2, 33).astype(np.int64), np.linspace(-one, one, 21).astype(np.int64)

    def turns(cx, cy):
        a = b = 0
        for turn in range(most):
            if a * a + b * b > 4 * one * one:
                return turn
            a, b = ((a * a - b * b) >> 20) + cx, ((2 * a * b) >> 20) + cy
        return most

    table = [[turns(int(cx), int(cy)) for cx in x] for cy in y]
    return dict(x=x, y=y, most=np.int64(most)), dict(turns=np.array(table, np.int64))


@program()
def nested_triangle_count(rng):
    n = 30
    edges = {(i, j) for i, j in itertools.combinations(range(n), 2) if rng.random() < (0.9 if i == 3 else 0.25)}
    later = [np.array([j for j in range(n) if (i, j) in edges], np.int64) for i in range(n)]
    counts = [sum((i, j) in edges and (i, k) in edges and (j, k) in edges for j, k in itertools.combinations(range(i + 1, n), 2)) for i in range(n)]
    return nested("later", later, np.int64), dict(counts=np.array(counts, np.int64))


@program()
def nested_nearest(rng):
    px, py, qx, qy = (rng.integers(-1000, 1000, size) for size in (57, 57, 19, 19))
    which, far = [], []
    for x, y in zip(qx.tolist(), qy.tolist()):
        distances = sorted((((a - x) ** 2 + (b - y) ** 2), i) for i, (a, b) in enumerate(zip(px.tolist(), py.tolist())))[:3]
        which.append([i for _, i in distances])
        far.append([d for d, _ in distances])
    return dict(px=px, py=py, qx=qx, qy=qy), nested("which", which, np.int64) | nested("far", far, np.int64)


@program()
def nested_merge(rng):
    a, b = ([np.sort(r) for r in ragged(rng, -30, 30, lengths(rng, 6, 20, *more), np.int32)] for more in ((0, 90), (70, 0)))
    return nested("a", a, np.int32) | nested("b", b, np.int32), nested("merged", [sorted([*x, *y]) for x, y in zip(a, b)], np.int32)


@program()
def nested_find(rng):
    pattern = np.frombuffer(b"aba", np.uint8)
    texts = [bytes(rng.choice(list(b"abab "), size).tolist()) for size in lengths(rng, 12, 20, 2, 400)]
    places = [[s for s in range(len(text)) if text.startswith(b"aba", s)] for text in texts]
    return nested("texts", [np.frombuffer(t, np.uint8) for t in texts], np.uint8) | dict(pattern=pattern.copy()), nested(
        "places", places, np.int64) | dict(counts=np.array([len(p) for p in places], np.int64))


def transforms(rng):
    z = rng.uniform(-1, 1, (7, 32, 32)) + 1j * rng.uniform(-1, 1, (7, 32, 32))
    w = np.fft.fft2(z)
    return {"z.re": z.real, "z.im": z.imag}, nested("w.re", list(w.real.reshape(7, -1)), np.float64) | nested("w.im", list(w.imag.reshape(7, -1)), np.float64)


@program(1e-9, 1e-9)
def nested_fft(rng):
    return transforms(rng)


@program(1e-9, 1e-9)
def nested_fft_rows(rng):
    return transforms(rng)


def ways_of_queens(n):
    # Every order of the columns.
    boards = [p for p in itertools.permutations(range(n)) if all(abs(p[i] - p[j]) != j - i for i in range(n) for j in range(i + 1, n))]
    return dict(n=np.int64(n)), dict(ways=np.array([sum(p[0] == first for p in boards) for first in range(n)], np.int64))


@program()
def nested_queens(rng):
    return ways_of_queens(7)


@program()
def queens(rng):
    return ways_of_queens(8)


@program()
def nested_hull(rng):
    sizes = [2, 3, 4, 200] + rng.poisson(15, 20).clip(3).tolist()
    points = [rng.integers(-(10**6), 10**6, (2, size)) for size in sizes]
    corners = []
    for x, y in points:
        # Chains from left to right and back, which turn to the right only.
        order, hull = sorted(range(len(x)), key=lambda p: (x[p], y[p])), []
        for way in (order, order[::-1]):
            chain = []
            for p in way:
                turn = lambda a, b: (x[b] - x[a]) * (y[p] - y[a]) - (y[b] - y[a]) * (x[p] - x[a])
                while len(chain) > 1 and turn(chain[-2], chain[-1]) >= 0:
                    chain.pop()
                chain.append(p)
            hull += chain[:-1]
        corners.append(hull)
    return nested("x", [p[0] for p in points], np.int64) | nested("y", [p[1] for p in points], np.int64), nested("corners", corners, np.int64)


@program(1e-9, 1e-9)
def nested_volatility(rng):
    strikes, price, volatility = np.array([0.5, 1.0, 1.5]), np.linspace(0.2, 2.5, 19), np.linspace(0.1, 0.6, 11)
    turns, step = 6, 0.05

    def solved(w, d):
        system = np.diag(1 + 2 * w) - np.diag(w[1:], -1) - np.diag(w[:-1], 1)
        return np.linalg.solve(system, d)

    values = []
    for strike in strikes:
        u = np.tile(np.maximum(price - strike, 0), (len(volatility), 1))
        for t in range(turns):
            u = np.array([solved(step * v * v * price * price * (1 + 0.1 * t), row) for v, row in zip(volatility, u)])
            u = solved(step * 0.25 * volatility**2, u)
        values.append(u.ravel())
    given = dict(strikes=strikes, price=price, volatility=volatility, turns=np.int64(turns), step=np.float64(step))
    return given, nested("values", values, np.float64)


@program()
def lanes(rng):
    x = np.concatenate([[1, 2, 97, 96, 64, 2 * 3 * 5 * 7 * 11], rng.integers(1, 500, 20)]).astype(np.int64)
    factors, turns = [], []
    for number in x.tolist():
        own = [p for p in range(2, number + 1) if all(p % q for q in range(2, p)) for e in range(1, 12) if number % p**e == 0]
        factors += own
        # One turn for each factor, and one for each candidate that is passed over.
        rest, candidate, turn = number, 2, 0
        while rest > 1:
            if rest % candidate == 0:
                rest //= candidate
            else:
                candidate = rest if candidate * candidate > rest else candidate + 1
            turn += 1
        turns.append(turn)
    return dict(x=x), dict(factors=np.array(factors, np.int64), turns=np.array(turns, np.int64))
