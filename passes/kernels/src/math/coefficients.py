#!/usr/bin/env python3
"""Writes coefficients.rs: polynomials and split constants of the functions in this folder.

Needs mpmath (1.3 or later). Run in this folder:  python3 coefficients.py > coefficients.rs && rustfmt coefficients.rs

Polynomials are minimax (Remez exchange) in 60 digits. Then, from the lowest coefficient on, each is rounded to the element
type and the remaining ones are fitted again (for f32; for f64 the first ones at most), so that later ones make good what rounding an earlier one spoilt. The error noted
with each polynomial is the largest weighted error of the rounded polynomial, in exact arithmetic.
"""
import sys
from mpmath import mp, mpf, matrix, lu_solve

mp.dps = 60


def f32(x):
    """The f32 nearest to x (normal ones)."""
    if x == 0:
        return mpf(0)
    e = int(mp.floor(mp.log(abs(x), 2)))
    q = mpf(2) ** (e - 23)
    return mp.nint(x / q) * q


def f64(x):
    return mpf(float(x))


def remez(f, w, exponents, lo, hi):
    """Coefficients c minimising max |w(x) (f(x) - sum c_i x^exponents_i)| over [lo, hi]."""
    n = len(exponents)
    lo, hi = mpf(lo), mpf(hi)
    # Open nodes: f and w may be undefined at the ends or in the middle.
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (mpf(i) + mpf('0.47')) / (n + 1)) for i in range(n + 1)]
    grid_n = 24 * (n + 1)
    grid = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (mpf(i) + mpf(1) / 3) / grid_n) for i in range(grid_n)]
    values = [(x, f(x), w(x)) for x in grid]
    c = None
    for _ in range(30):
        a, b = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for i, x in enumerate(xs):
            for j, e in enumerate(exponents):
                a[i, j] = w(x) * x ** e
            a[i, n] = (-1) ** i
            b[i] = w(x) * f(x)
        s = lu_solve(a, b)
        c, level = [s[j] for j in range(n)], abs(s[n])
        errors = [(w_ * (f_ - sum(cj * x ** e for cj, e in zip(c, exponents))), x) for x, f_, w_ in values]
        # The largest of every run of one sign.
        runs = []
        for e, x in errors:
            if runs and (runs[-1][0] > 0) == (e > 0):
                if abs(e) > abs(runs[-1][0]):
                    runs[-1] = (e, x)
            else:
                runs.append((e, x))
        while len(runs) > n + 1:
            # Drop at an end, or a neighbouring pair inside, whichever holds the least.
            if len(runs) == n + 2:
                runs.pop(0 if abs(runs[0][0]) < abs(runs[-1][0]) else -1)
            else:
                i = min(range(len(runs) - 1), key=lambda i: abs(runs[i][0]) + abs(runs[i + 1][0]))
                del runs[i:i + 2]
        if len(runs) < n + 1:
            break
        xs = [x for _, x in runs]
        worst = max(abs(e) for e, _ in runs)
        if worst <= level * mpf('1.001'):
            break
    return c


def worst(f, w, exponents, c, lo, hi):
    lo, hi, n = mpf(lo), mpf(hi), 400
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * (mpf(i) + mpf(1) / 3) / n) for i in range(n)]
    return max(abs(w(x) * (f(x) - sum(cj * x ** e for cj, e in zip(c, exponents)))) for x in xs)


def fit(name, text, f, w, degree, lo, hi, round_):
    """Prints a table: f over [lo, hi] of that degree. The number of coefficients fixed one by one is the best that was tried."""
    exponents = list(range(degree + 1))
    best = None
    for one_by_one in range(degree + 2 if round_ is f32 else 3):
        done = []
        while len(done) <= degree:
            k = len(done)
            g = lambda x: f(x) - sum(cj * x ** j for j, cj in enumerate(done))
            c = remez(g, w, exponents[k:], lo, hi)
            done += [round_(x) for x in (c[:1] if k < one_by_one else c)]
        error = worst(f, w, exponents, done, lo, hi)
        if best is None or error < best[0]:
            best = (error, done)
    error, done = best
    print(f"/// {text}. Degree {degree} on [{mp.nstr(mpf(lo), 6)}, {mp.nstr(mpf(hi), 6)}], error 2^{mp.nstr(mp.log(error, 2), 4)}.")
    print(f"pub(super) const {name}: [f64; {len(done)}] = [" + ", ".join(repr(float(x)) for x in done) + "];")
    sys.stdout.flush()


def split(name, text, value, parts, round_, bits=None):
    """Prints a constant as an unevaluated sum of floats; with `bits`, all but the last have that many significant bits."""
    out, rest = [], mpf(value)
    for i in range(parts):
        part = round_(rest)
        if bits and i + 1 < parts:
            q = mpf(2) ** (int(mp.floor(mp.log(abs(rest), 2))) - bits + 1)
            part = mp.nint(rest / q) * q
        out.append(part)
        rest -= part
    print(f"/// {text}, as a sum of floats.")
    print(f"pub(super) const {name}: [f64; {parts}] = [" + ", ".join(repr(float(x)) for x in out) + "];")


def both(name, text, f, w, degrees, lo, hi):
    for suffix, degree, round_ in (("F32", degrees[0], f32), ("F64", degrees[1], f64)):
        if degree is not None:
            fit(f"{name}_{suffix}", text, f, w, degree, lo, hi, round_)


def both_split(name, text, value, parts):
    split(f"{name}_F32", text, value, parts, f32)
    split(f"{name}_F64", text, value, parts, f64)


def series(f, terms, radius):
    """f, but near 0 by its Taylor coefficients, where the closed form cancels."""
    return lambda x: sum(t * x ** i for i, t in enumerate(terms)) if abs(x) < radius else f(x)


def main():
    print("//! Polynomials and split constants; written by `coefficients.py`, which says how they were found. Lowest degree first.")
    print("#![allow(clippy::approx_constant, clippy::excessive_precision, clippy::unreadable_literal)]")
    ln2 = mp.log(2)

    both_split("LN2", "ln 2", ln2, 2)
    both_split("LOG2E", "1 / ln 2", 1 / ln2, 2)
    # e^r = 1 + r + r^2 q(r)
    half = ln2 / 2 * mpf("1.001")
    q = series(lambda r: (mp.exp(r) - 1 - r) / r ** 2, [1 / mp.factorial(i + 2) for i in range(40)], mpf("0.01"))
    both("EXP", "q of e^r = 1 + r + r^2 q(r), relative to e^r", q, lambda r: r ** 2 / mp.exp(r), (4, 9), -half, half)

    # log(1 + f) = f - f^2/2 + f^3 p(f)
    p = series(lambda f: (mp.log(1 + f) - f + f ** 2 / 2) / f ** 3, [mpf(-1) ** i / (i + 3) for i in range(40)], mpf("0.01"))
    fit("LOG_F32", "p of log(1 + f) = f - f^2/2 + f^3 p(f), relative to log", p,
        lambda f: f ** 2 * (f / mp.log(1 + f)), 7, mpf(-1) / 3, mpf(1) / 3, f32)
    # log((1 + s)/(1 - s)) = 2 s + s z r(z), z = s^2
    r = series(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, [mpf(2) / (2 * i + 3) for i in range(30)], mpf("0.0001"))
    zmax = (3 - 2 * mp.sqrt(2)) ** 2 * mpf("1.001")
    fit("LOG_F64", "r of log((1 + s) / (1 - s)) = 2 s + s z r(z), z = s^2, relative to log", r, lambda z: z / 2, 6, 0, zmax, f64)

    # 2^r = 1 + r q(r)
    q = series(lambda r: (mp.mpf(2) ** r - 1) / r, [ln2 ** (i + 1) / mp.factorial(i + 1) for i in range(40)], mpf("0.01"))
    both("EXP2", "q of 2^r = 1 + r q(r), relative to 2^r", q, lambda r: r / mpf(2) ** r, (5, 10), -mpf("0.502"), mpf("0.502"))
    both_split("INV_LN10", "1 / ln 10", 1 / mp.log(10), 2)
    # n times the first part is exact for every exponent n.
    split("LOG10_2_F32", "log10 2, the first of 16 bits", mp.log(2, 10), 2, f32, 16)
    split("LOG10_2_F64", "log10 2, the first of 42 bits", mp.log(2, 10), 2, f64, 42)
    # atanh s = s (1 + z (1/3 + z q(z)))
    q = series(lambda z: ((mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z - mpf(1) / 3) / z, [mpf(1) / (2 * i + 5) for i in range(40)], mpf("0.0001"))
    both("POW", "q of atanh s = s (1 + z (1/3 + z q(z))), z = s^2, relative to atanh", q, lambda z: z ** 2, (2, 7), 0, zmax)
    both_split("THIRD", "1/3", mpf(1) / 3, 2)
    both_split("TWO_LOG2E", "2 / ln 2", 2 / ln2, 2)

    # Trigonometry
    both_split("HALF_PI", "pi / 2", mp.pi / 2, 3)
    both_split("TWO_OVER_PI", "2 / pi", 2 / mp.pi, 1)
    zmax = (mp.pi / 4 * mpf("1.01")) ** 2
    s = series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [(-1) ** (i + 1) / mp.factorial(2 * i + 3) for i in range(30)], mpf("0.0001"))
    both("SIN", "s of sin r = r + r z s(z), z = r^2, relative to sin", s, lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)), (2, 5), 0, zmax)
    c = series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2, [(-1) ** i / mp.factorial(2 * i + 4) for i in range(30)], mpf("0.0001"))
    both("COS", "c of cos r = 1 - z/2 + z^2 c(z), z = r^2, relative to cos", c, lambda z: z ** 2 / mp.cos(mp.sqrt(z)), (2, 5), 0, zmax)
    tan_taylor = mp.taylor(mp.tan, 0, 61)
    t = series(lambda z: (mp.tan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [tan_taylor[2 * i + 3] for i in range(28)], mpf("0.001"))
    both("TAN", "t of tan r = r + r z t(z), z = r^2, relative to tan", t, lambda z: z * mp.sqrt(z) / mp.tan(mp.sqrt(z)), (6, 14), 0, zmax)
    a = series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mpf(-1) ** (i + 1) / (2 * i + 3) for i in range(60)], mpf("0.001"))
    both("ATAN", "a of atan x = x + x z a(z), z = x^2, relative to atan", a, lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)), (8, 21), 0, 1)
    a = series(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mp.binomial(2 * i + 2, i + 1) / mpf(4) ** (i + 1) / (2 * i + 3) for i in range(60)], mpf("0.001"))
    both("ASIN", "a of asin x = x + x z a(z), z = x^2, relative to asin", a, lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)), (4, 12), 0, mpf(1) / 4)
    print("/// The bits of 2 / pi behind the binary point, 32 in a word, after one word of zeros.")
    with mp.workdps(450):
        words = [0] + [int(mp.floor(2 / mp.pi * mpf(2) ** (32 * i))) & 0xFFFFFFFF for i in range(1, 40)]
    print(f"pub(super) const TWO_OVER_PI_WORDS: [u32; {len(words)}] = [" + ", ".join(hex(w) for w in words) + "];")

    # Hyperbolic functions near 0
    h = series(lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [1 / mp.factorial(2 * i + 3) for i in range(30)], mpf("0.0001"))
    both("SINH", "h of sinh x = x + x z h(z), z = x^2, relative to sinh", h, lambda z: z * mp.sqrt(z) / mp.sinh(mp.sqrt(z)), (3, 7), 0, 1)
    tanh_taylor = mp.taylor(mp.tanh, 0, 61)
    h = series(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [tanh_taylor[2 * i + 3] for i in range(28)], mpf("0.001"))
    both("TANH", "h of tanh x = x + x z h(z), z = x^2, relative to tanh", h, lambda z: z * mp.sqrt(z) / mp.tanh(mp.sqrt(z)), (4, 11), 0, mpf("0.625") ** 2)

    # The error function. erfc x = e^(-x^2) G / (1 + 2x), G a polynomial in t = (x - k) / (x + k), as far as results are not 0.
    k = mpf("3.5")

    def scaled_erfc(x):
        """e^(x^2) erfc x; where it is a difference of large numbers by the asymptotic series."""
        if x < 15:
            with mp.workdps(400):
                return mp.exp(x * x) * mp.erfc(x)
        terms = [mpf(1)]
        for n in range(60):
            terms.append(-terms[-1] * (2 * n + 1) / (2 * x * x))
        return sum(terms) / (x * mp.sqrt(mp.pi))

    def g(t):
        x = k * (1 + t) / (1 - t)
        return (1 + 2 * x) * scaled_erfc(x)

    center = g(mpf(0))
    both_split("ERFC_CENTER", "G at t = 0", center, 2)
    for suffix, degree, most, round_ in (("F32", 9, mpf("10.2"), f32), ("F64", 21, mpf("27.5"), f64)):
        fit(f"ERFC_{suffix}", "p of G = G(0) + t p(t)", lambda t: (g(t) - center) / t, lambda t: t / g(t), degree,
            -1, (most - k) / (most + k), round_)
    both_split("ERF_SLOPE", "2 / sqrt pi", 2 / mp.sqrt(mp.pi), 2)
    slope = 2 / mp.sqrt(mp.pi)
    e = series(lambda z: (mp.erf(mp.sqrt(z)) / mp.sqrt(z) - slope) / z,
               [slope * mpf(-1) ** (i + 1) / (mp.factorial(i + 1) * (2 * i + 3)) for i in range(30)], mpf("0.0001"))
    both("ERF", "e of erf x = 2 / sqrt pi x + x z e(z), z = x^2, relative to erf", e,
         lambda z: z * mp.sqrt(z) / mp.erf(mp.sqrt(z)), (5, 10), 0, 1)


main()
