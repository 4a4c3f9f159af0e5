#!/usr/bin/env python3
"""Writes coefficients.rs: polynomials and split constants of the functions in this folder.

Needs mpmath (1.3 or later). Run in this folder:  python3 coefficients.py > coefficients.rs && rustfmt coefficients.rs

Polynomials are minimax (Remez exchange) in 60 digits. Then, from the lowest coefficient on, each is rounded to the element
type and the remaining ones are fitted again, so that later ones make good what rounding an earlier one spoilt. The error noted
with each polynomial is the largest weighted error of the rounded polynomial, in exact arithmetic.
"""
import struct
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


def fit(name, text, f, w, degree, lo, hi, round_, exact=None, fixed=()):
    """Prints a table: f over [lo, hi] of that degree. `exact` coefficients are fitted again after rounding (default: all for f32)."""
    if exact is None:
        exact = degree + 1 if round_ is f32 else 2
    exponents = list(range(degree + 1))
    done = [mpf(x) for x in fixed]
    while True:
        k = len(done)
        rest = exponents[k:]
        if not rest:
            break
        g = lambda x: f(x) - sum(cj * x ** j for j, cj in enumerate(done))
        c = remez(g, w, rest, lo, hi)
        if k < exact:
            done.append(round_(c[0]))
        else:
            done += [round_(x) for x in c]
    error = worst(f, w, exponents, done, lo, hi)
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


def both(name, text, f, w, degrees, lo, hi, **more):
    for suffix, degree, round_ in (("F32", degrees[0], f32), ("F64", degrees[1], f64)):
        if degree is not None:
            fit(f"{name}_{suffix}", text, f, w, degree, lo, hi, round_, **more)


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


main()
