"""Inputs of the gallery, by the names that the programs have for them: of fixed seeds, so that everybody has the same pictures."""

import numpy as np

f32 = np.float32
SPHERES = [[0, 1, 2, 1, 0.9, 0.4], [-1.7, 0.7, 1.2, 0.7, 0.7, 0.2], [1.7, 0.5, 0.8, 0.5, 0.8, 0.6], [0.55, 0.3, -0.4, 0.3, 1, 0], [0, -20, 3, 20, 0.6, 0.1]]


def mandelbrot():
    w, h = 960, 640
    return dict(w=w, h=h, x0=f32(-2.2), x1=f32(0.8), y0=f32(-1), y1=f32(1), limit=np.int32(200))


def ray(h=480, w=720):
    fields = [f"sphere.{field}" for field in ("centre.x", "centre.y", "centre.z", "radius", "shade", "mirror")]
    light = np.array([-0.5, 0.7, -0.5]) / np.sqrt(0.99)
    lights = {f"light.{axis}": f32(value) for axis, value in zip("xyz", light)}
    return dict(zip(fields, np.array(SPHERES, f32).T.copy())) | lights | dict(h=h, w=w, bounces=6)


def canny(traced):
    """Edges of the picture that the ray tracer makes, with some noise."""
    noise = np.random.default_rng(1).normal(0, 3, traced.shape)
    return dict(image=f32(np.clip(255 * traced + noise, 0, 255)), low=f32(18), high=f32(40))


def fluid():
    h, w = 240, 320
    zero = np.zeros((h, w), f32)
    density, u, v = (f"fluid.{field}" for field in ("density", "u", "v"))
    row, column = np.array([200, 205, 60, 110]), np.array([70, 240, 160, 40])
    sources = {"source.row": row, "source.column": column, "source.density": f32([9, 9, 6, 7]), "source.u": f32([2.4, -2.8, 0.5, 2.6]),
               "source.v": f32([-3.6, -2.4, 2.2, 0.4])}
    constants = {"constants.dt": f32(0.1), "constants.viscosity": f32(1e-6), "constants.diffusion": f32(1e-7), "constants.relaxations": 20}
    return {density: zero, u: zero, v: zero} | sources | constants | dict(steps=160)


def life():
    grid = np.zeros((256, 384), np.uint8)
    # The R-pentomino, four times.
    for y, x in ((80, 100), (170, 290), (70, 280), (180, 90)):
        for i, j in ((0, 1), (0, 2), (1, 0), (1, 1), (2, 1)):
            grid[y + i, x + j] = 1
    return dict(grid=grid, steps=400)


def nbody():
    rng = np.random.default_rng(2)
    parts = []
    for centre, count, tilt in (((-0.5, -0.1, 0), 2600, 0.5), ((0.65, 0.25, 0), 1496, -0.9)):
        radius, angle = 0.55 * np.sqrt(rng.random(count)) * count / 2600 + 0.02, rng.random(count) * 7
        angle += 5 * radius
        x, y = radius * np.cos(2 * np.round(angle) + 0.35 * rng.normal(size=count) - 6 * radius), radius * np.sin(2 * np.round(angle) + 0.35 * rng.normal(size=count) - 6 * radius)
        parts.append(np.stack([centre[0] + x, centre[1] + y * np.cos(tilt), centre[2] + y * np.sin(tilt)]))
    px, py, pz = f32(np.concatenate(parts, axis=1))
    return dict(mass=f32(rng.uniform(0.5, 2, len(px))), px=px, py=py, pz=pz, eps2=f32(0.001))


def crystal():
    n = 401
    start = np.full((n, n), f32(0.4))
    start[n // 2, n // 2] = 1
    return dict(start=start, alpha=f32(1), gamma=f32(0.001), steps=2400)


def kmeans():
    rng = np.random.default_rng(3)
    k, n = 12, 120_000
    centres = rng.uniform(-1, 1, (k, 2))
    points = centres[rng.integers(0, k, n)].T + rng.normal(0, 0.11, (2, n))
    return dict(points=f32(points), centroids=f32(rng.uniform(-1, 1, (k, 2))), iterations=30)


def pagerank():
    """A web that grows: a new page links to pages chosen by the links that they have."""
    rng = np.random.default_rng(4)
    n, each = 100_000, 8
    targets = np.zeros((n, each), np.int64)
    ends = list(range(each + 1))
    for page in range(n):
        targets[page] = [ends[i] for i in rng.integers(0, len(ends), each)] if page > each else np.arange(1, each + 1) % (each + 1)
        ends.extend(targets[page, :4])
        ends.append(page)
    sources = np.repeat(np.arange(n), each)
    order = np.argsort(targets.ravel(), kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(targets.ravel(), minlength=n))])
    return dict(offsets=np.int32(offsets), sources=np.int32(sources[order]), degrees=np.full(n, each, np.int32), damping=f32(0.85), iterations=40)


def sieve():
    return dict(n=1_000_000)
