"""Linear algebra, graphs, particles."""

import math

import numpy as np

from reference.common import f32, offsets_of, program, uniform


# ---- linear algebra and graphs ---------------------------------------------------------------------------------------------------


@program(1e-5, 1e-5)
def matmul(rng):
    a, b = uniform(rng, -1, 1, 37, 29), uniform(rng, -1, 1, 29, 43)
    return dict(a=a, b=b), dict(c=f32(a.astype(float) @ b.astype(float)))


@program(1e-5, 1e-6)
def dense_softmax(rng):
    x, w, bias = uniform(rng, -1, 1, 45, 29), uniform(rng, -1, 1, 29, 150), uniform(rng, -1, 1, 150)
    scores = x.astype(float) @ w.astype(float) + bias
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return dict(x=x, w=w, bias=bias), dict(shares=f32(weights / weights.sum(axis=1, keepdims=True)))


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
