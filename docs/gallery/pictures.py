"""Results as pictures, and pictures as PNG files, with nothing but numpy and zlib."""

import struct
import zlib

import numpy as np

BACK, INK = np.array([250, 250, 252]), np.array([28, 34, 48])


def write(path, picture):
    """Grey, of up to 256 colours, or of three colours a pixel: whichever is smallest."""
    picture = np.asarray(np.clip(np.round(picture), 0, 255), np.uint8)
    palette = None
    if picture.ndim == 3:
        colours, at = np.unique(picture.reshape(-1, 3), axis=0, return_inverse=True)
        if len(colours) <= 256:
            palette, picture = colours, at.reshape(picture.shape[:2]).astype(np.uint8)
    h, w = picture.shape[:2]
    kind = 3 if palette is not None else 2 if picture.ndim == 3 else 0
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    part = lambda name, data: struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    out = b"\x89PNG\r\n\x1a\n" + part(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, kind, 0, 0, 0))
    if palette is not None:
        out += part(b"PLTE", palette.tobytes())
    path.write_bytes(out + part(b"IDAT", zlib.compress(rows, 9)) + part(b"IEND", b""))


def shades(values, stops, levels=64):
    """Values between 0 and 1 as colours between those at even stops, of so many levels."""
    values = np.round(np.clip(values, 0, 1) * (levels - 1)) / (levels - 1)
    stops = np.array(stops, float)
    at = values * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    return stops[low] + (at - low)[..., None] * (stops[low + 1] - stops[low])


def halved(picture):
    """Half as wide and high: means of four pixels."""
    h, w = picture.shape[0] // 2 * 2, picture.shape[1] // 2 * 2
    p = np.asarray(picture[:h, :w], float)
    return (p[0::2, 0::2] + p[1::2, 0::2] + p[0::2, 1::2] + p[1::2, 1::2]) / 4


def dots(x, y, colours, size=(320, 480), radius=1):
    """Dots at places between 0 and 1."""
    picture = np.broadcast_to(BACK, (*size, 3)).astype(float).copy()
    i, j = ((1 - y) * (size[0] - 8) + 4).astype(int), (x * (size[1] - 8) + 4).astype(int)
    for a in range(-radius + 1, radius):
        for b in range(-radius + 1, radius):
            picture[np.clip(i + a, 0, size[0] - 1), np.clip(j + b, 0, size[1] - 1)] = colours
    return picture


def unit(a):
    return (a - a.min()) / (a.max() - a.min())


def mandelbrot(given, counts):
    limit = int(given["limit"])
    value = np.where(counts == limit, 0, (np.log(counts + 1.0) / np.log(limit + 1.0)))
    return halved(shades(value, [(0, 0, 20), (20, 40, 110), (70, 150, 210), (250, 240, 200), (240, 150, 40), (120, 20, 10)], 48)) // 6 * 6


def ray(given, image):
    return halved(255 * image)


def canny(given, edges):
    return 255 - halved(255 * edges.astype(float))


def fluid(given, density, u, v):
    return shades(np.sqrt(np.clip(density, 0, None) / 3.0), [(8, 10, 24), (30, 60, 140), (60, 170, 190), (240, 240, 210)], 40)


def life(given, after):
    return np.where(after[..., None] == 1, INK, BACK)


def nbody(given, ax, ay, az):
    strength = unit(np.log(np.sqrt(ax * ax + ay * ay + az * az)))
    order = np.argsort(strength)
    colours = shades(strength[order] ** 1.5, [(40, 60, 130), (190, 70, 110), (250, 200, 80)], 32)
    return dots(unit(given["px"])[order], 0.15 + 0.7 * unit(given["py"])[order], colours, radius=2)


def crystal(given, water):
    """From two axes of the lattice to the plane."""
    n = len(water)
    y, x = np.mgrid[-160:160, -240:240] * 1.05
    i = y / (np.sqrt(3) / 2)
    j = x - i / 2
    i, j = np.round(i + n // 2).astype(int) % n, np.round(j + n // 2).astype(int) % n
    value = water[i, j]
    return shades(np.where(value >= 1, 0.45 + 0.55 * np.clip((value - 1) / 1.2, 0, 1), 0.4 * value), [(14, 22, 48), (40, 80, 140), (150, 200, 235), (255, 255, 255)], 40)


def kmeans(given, centres, counts):
    points = given["points"].T
    own = ((points[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
    hues = np.arange(len(centres)) / len(centres)
    colours = 255 * (0.55 + 0.4 * np.cos(2 * np.pi * (hues[:, None] + np.array([0, 1 / 3, 2 / 3]))))
    low, high = points.min(axis=0), points.max(axis=0)
    place = lambda p: ((p - low) / (high - low)).T
    picture = dots(*place(points), colours[own])
    marks = dots(*place(centres), np.broadcast_to(INK, (len(centres), 3)), radius=4)
    return np.where((marks == BACK).all(axis=2)[..., None], picture, marks)


def pagerank(given, ranks):
    """Links into a page to the right, its rank upwards, both by their logarithms."""
    links = np.log(np.diff(given["offsets"]) + 1.0)
    rank = np.log(ranks)
    return dots(unit(links), unit(rank), shades(unit(rank), [(120, 160, 210), (40, 60, 130), (190, 70, 110)], 16), radius=2)


def sieve(given, count, primes):
    """Ulam's spiral: numbers wind around the middle, and primes are dark."""
    n = 321
    prime = np.zeros(n * n + 1, bool)
    prime[primes[primes <= n * n]] = True
    y, x = np.mgrid[n // 2 : -n // 2 : -1, -(n // 2) : n // 2 + 1][:, :n, :n]
    ring = np.maximum(np.abs(x), np.abs(y))
    largest = (2 * ring + 1) ** 2
    number = np.select([y == -ring, x == -ring, y == ring], [largest - (ring - x), largest - 3 * ring - y, largest - 5 * ring - x], largest - 7 * ring + y)
    return np.where(prime[number][..., None], INK, BACK)[:320, :320]
