"""Images and grids."""

import itertools
import math

import numpy as np

from reference.common import f32, program, shifted, uniform


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


@program(1e-4, 1e-5)
def crystal(rng):
    n, m, alpha, gamma, steps = 41, 37, f32(1.9), f32(0.0025), 60
    start = np.full((n, m), f32(0.35)) + uniform(rng, 0, 0.002, n, m)
    start[n // 2, m // 2] = 1
    around = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))

    def grow(ty):
        water = start.astype(ty)
        for _ in range(steps):
            ice = water >= 1
            near = ice | np.any([shifted(ice, o) for o in around], axis=0)
            free = np.where(near, ty(0), water)
            mean = sum(shifted(free, o) for o in around) / ty(6)
            water = np.where(near, water + ty(gamma), ty(0)) + free + ty(alpha) / ty(2) * (mean - free)
        return water

    wide, narrow = grow(np.float64), grow(np.float32)
    assert ((wide >= 1) == (narrow >= 1)).all() and (wide >= 1).sum() > 40, "which cells are ice depends on the precision"
    return dict(start=start, alpha=alpha, gamma=gamma, steps=np.int64(steps)), dict(water=f32(wide))


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
    given = {"fluid.density": density, "fluid.u": u, "fluid.v": v, "source.row": row, "source.column": column, "source.density": sd,
             "source.u": su, "source.v": sv, "constants.dt": dt, "constants.viscosity": viscosity, "constants.diffusion": diffusion,
             "constants.relaxations": np.int64(relaxations), "steps": np.int64(steps)}
    return given, dict(density=f32(d), u=f32(a), v=f32(b))


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
    names = [f"sphere.{field}" for field in ("centre.x", "centre.y", "centre.z", "radius", "shade", "mirror")]
    lights = {"light.x": light[0], "light.y": light[1], "light.z": light[2]}
    return dict(zip(names, spheres)) | lights | dict(h=np.int64(h), w=np.int64(w), bounces=np.int64(bounces)), dict(image=f32(image))
