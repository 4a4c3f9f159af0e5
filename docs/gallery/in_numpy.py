"""The programs of the gallery as people write them with numpy: inputs as those of golden/programs/NAME.fbx, results in the same order."""

import numpy as np

f32 = np.float32
HEXAGON = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))


def moved(a, by, mode="edge"):
    """The array whose element ix is a[ix + by]."""
    width = max(abs(o) for o in by)
    padded = np.pad(a, width, mode=mode)
    return padded[tuple(slice(width + o, width + o + n) for o, n in zip(by, a.shape))]


def mandelbrot(w, h, x0, x1, y0, y1, limit):
    cx, cy = x0 + np.arange(w, dtype=f32) * (x1 - x0) / f32(w), y0 + np.arange(h, dtype=f32) * (y1 - y0) / f32(h)
    zr, zi = np.broadcast_to(cx, (h, w)).copy(), np.broadcast_to(cy[:, None], (h, w)).copy()
    cx, cy, counts = zr.copy(), zi.copy(), np.zeros((h, w), np.int32)
    for _ in range(limit):
        rr, ii = zr * zr, zi * zi
        inside = rr + ii <= 4
        if not inside.any():
            break
        counts += inside
        zr, zi = np.where(inside, rr - ii + cx, zr), np.where(inside, 2 * zr * zi + cy, zi)
    return (counts,)


def canny(image, low, high):
    a = image
    for axis in (1, 0):
        a = sum(f32(c) * moved(a, (o, 0) if axis == 0 else (0, o)) for o, c in zip((-2, -1, 0, 1, 2), (1, 4, 6, 4, 1))) / f32(16)
    gx = sum(f32(c) * (moved(a, (s, 1)) - moved(a, (s, -1))) for s, c in zip((-1, 0, 1), (1, 2, 1)))
    gy = sum(f32(c) * (moved(a, (1, s)) - moved(a, (-1, s))) for s, c in zip((-1, 0, 1), (1, 2, 1)))
    m = np.sqrt(gx * gx + gy * gy)
    ax, ay = np.abs(gx), np.abs(gy)
    which = np.where(ay <= f32(0.41421357) * ax, 0, np.where(ay >= f32(2.4142137) * ax, 1, np.where((gx > 0) == (gy > 0), 2, 3)))
    steps = ((0, 1), (1, 0), (1, 1), (1, -1))
    sides = [np.choose(which, [moved(m, (s * i, s * j)) for i, j in steps]) for s in (-1, 1)]
    grade = np.where((m < sides[0]) | (m < sides[1]) | (m < low), 0, np.where(m < high, 1, 2)).astype(np.uint8)
    strong = np.max([moved(grade, (i, j)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j], axis=0) == 2
    return (((grade == 2) | ((grade == 1) & strong)).astype(np.uint8),)


def fluid(density, u, v, row, column, sd, su, sv, dt, viscosity, diffusion, relaxations, steps):
    h, w = density.shape
    rows, columns = np.mgrid[0:h, 0:w].astype(f32)

    def around(a):
        p = np.pad(a, 1)
        return p[1:-1, :-2], p[1:-1, 2:], p[:-2, 1:-1], p[2:, 1:-1]

    def inject(a, source):
        a = a.copy()
        np.add.at(a, (row, column), source)
        return a

    def diffuse(a, constant):
        c, x = f32(dt * constant * f32(h * w)), a
        for _ in range(relaxations):
            x = (a + c * sum(around(x))) / (1 + 4 * c)
        return x

    def project(a, b):
        left, right = around(a)[:2]
        top, bottom = around(b)[2:]
        divergence = f32(-0.5) * (right - left + bottom - top)
        p = divergence
        for _ in range(relaxations):
            p = f32(0.25) * (divergence + sum(around(p)))
        left, right, top, bottom = around(p)
        return a - f32(0.5) * (right - left), b - f32(0.5) * (bottom - top)

    def advect(field, a, b):
        x = np.clip(columns - dt * f32(w) * a, f32(-0.5), f32(w + 0.5))
        y = np.clip(rows - dt * f32(h) * b, f32(-0.5), f32(h + 0.5))
        q, p = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
        fx, fy = x - q.astype(f32), y - p.astype(f32)
        padded = np.pad(field, ((1, 2), (1, 2)))
        at = lambda i, j: padded[p + 1 + i, q + 1 + j]
        return (1 - fy) * ((1 - fx) * at(0, 0) + fx * at(0, 1)) + fy * ((1 - fx) * at(1, 0) + fx * at(1, 1))

    for _ in range(steps):
        u, v = project(diffuse(inject(u, su), viscosity), diffuse(inject(v, sv), viscosity))
        u, v = project(advect(u, u, v), advect(v, u, v))
        density = advect(diffuse(inject(density, sd), diffusion), u, v)
    return density, u, v


def ray(x, y, z, radius, shade, mirror, lx, ly, lz, h, w, bounces):
    centres, to_light = np.stack([x, y, z], axis=1), np.array([lx, ly, lz], f32)
    i, j = np.mgrid[0:h, 0:w].astype(f32)
    d = np.stack([(j + f32(0.5) - f32(w) / 2) / f32(h), (f32(h) / 2 - i - f32(0.5)) / f32(h), np.ones((h, w), f32)], axis=-1).reshape(-1, 3)
    d /= np.sqrt((d * d).sum(axis=1))[:, None]
    o, image = np.broadcast_to(np.array([0, 1, -4], f32), d.shape).copy(), np.zeros(h * w, f32)
    weight, live = np.ones(h * w, f32), np.arange(h * w)

    def ways(p, q):
        b = np.stack([((p - c) * q).sum(axis=1) for c in centres], axis=1)
        square = np.stack([((p - c) ** 2).sum(axis=1) for c in centres], axis=1)
        inside = b * b - (square - radius * radius)
        return np.where(inside > 0, -b - np.sqrt(np.maximum(inside, 0)), f32(-1))

    for _ in range(bounces):
        way = ways(o, d)
        way = np.where(way > f32(0.01), way, f32(np.inf))
        hit = way.argmin(axis=1)
        near = way[np.arange(len(hit)), hit]
        sky = np.isinf(near)
        image[live[sky]] += weight[sky] * (f32(0.5) + f32(0.4) * d[sky, 1])
        o, d, weight, hit, near, live = (a[~sky] for a in (o, d, weight, hit, near, live))
        if not len(live):
            break
        p = o + near[:, None] * d
        normal = (p - centres[hit]) / radius[hit][:, None]
        p = p + f32(0.01) * normal
        facing = np.where((ways(p, np.broadcast_to(to_light, p.shape)) > 0).any(axis=1), f32(0), np.maximum(normal @ to_light, 0))
        image[live] += weight * (1 - mirror[hit]) * shade[hit] * (f32(0.1) + f32(0.9) * facing)
        weight = weight * mirror[hit]
        d = d - 2 * (d * normal).sum(axis=1)[:, None] * normal
        o, d, weight, live = (a[weight > 0] for a in (p, d, weight, live))
    return (image.reshape(h, w),)


def life(grid, steps):
    for _ in range(steps):
        around = sum(np.roll(grid, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        grid = ((around == 3) | ((grid == 1) & (around == 2))).astype(np.uint8)
    return (grid,)


def nbody(mass, px, py, pz, eps2):
    dx, dy, dz = (p[None, :] - p[:, None] for p in (px, py, pz))
    q = dx * dx + dy * dy + dz * dz + eps2
    s = mass / (q * np.sqrt(q))
    return (s * dx).sum(axis=1), (s * dy).sum(axis=1), (s * dz).sum(axis=1)


def crystal(start, alpha, gamma, steps):
    water = start
    for _ in range(steps):
        ice = water >= 1
        near = ice.copy()
        for o in HEXAGON:
            near |= moved(ice, o)
        free = np.where(near, f32(0), water)
        mean = sum(moved(free, o) for o in HEXAGON) / f32(6)
        water = np.where(near, water + gamma, f32(0)) + free + alpha / f32(2) * (mean - free)
    return (water,)


def kmeans(points, centroids, iterations):
    points, k = points.T.copy(), len(centroids)
    for _ in range(iterations):
        distances = ((points[:, None, :] - centroids[None, :, :]) ** 2).sum(axis=2)
        own = distances.argmin(axis=1)
        counts = np.bincount(own, minlength=k)
        sums = np.stack([np.bincount(own, weights=column, minlength=k) for column in points.T], axis=1)
        centroids = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centroids).astype(f32)
    return centroids, counts


def pagerank(offsets, sources, degrees, damping, iterations):
    n = len(degrees)
    targets = np.repeat(np.arange(n), np.diff(offsets))
    ranks = np.full(n, f32(1) / f32(n))
    for _ in range(iterations):
        sums = np.bincount(targets, weights=(ranks / degrees.astype(f32))[sources], minlength=n)
        ranks = ((1 - damping) / f32(n) + damping * sums).astype(f32)
    return (ranks,)


def sieve(n):
    prime = np.ones(n, bool)
    prime[:2] = False
    i = 2
    while i * i < n:
        if prime[i]:
            prime[i * i :: i] = False
        i += 1
    primes = np.flatnonzero(prime)
    return np.int64(len(primes)), primes
