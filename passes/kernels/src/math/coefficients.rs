//! Polynomials and split constants; written by `coefficients.py`, which says how they were found. Lowest degree first.
#![allow(clippy::approx_constant, clippy::excessive_precision, clippy::unreadable_literal)]
/// ln 2, as a sum of floats.
pub(super) const LN2_F32: [f64; 2] = [0.6931471824645996, -1.9046542121259336e-09];
/// ln 2, as a sum of floats.
pub(super) const LN2_F64: [f64; 2] = [0.6931471805599453, 2.3190468138462996e-17];
/// 1 / ln 2, as a sum of floats.
pub(super) const LOG2E_F32: [f64; 2] = [1.4426950216293335, 1.925963033500011e-08];
/// 1 / ln 2, as a sum of floats.
pub(super) const LOG2E_F64: [f64; 2] = [1.4426950408889634, 2.0355273740931033e-17];
/// q of e^r = 1 + r + r^2 q(r), relative to e^r. Degree 4 on [-0.34692, 0.34692], error 2^-28.2.
pub(super) const EXP_F32: [f64; 5] =
    [0.4999999403953552, 0.16666516661643982, 0.041668109595775604, 0.008369098417460918, 0.0013835333520546556];
/// q of e^r = 1 + r + r^2 q(r), relative to e^r. Degree 9 on [-0.34692, 0.34692], error 2^-57.08.
pub(super) const EXP_F64: [f64; 10] = [
    0.5000000000000011,
    0.16666666666665694,
    0.04166666666651952,
    0.008333333333985586,
    0.0013888888947538986,
    0.00019841268396406428,
    2.4801488248671004e-05,
    2.755860709396277e-06,
    2.7632186495655713e-07,
    2.4670593992572602e-08,
];
/// p of log(1 + f) = f - f^2/2 + f^3 p(f), relative to log. Degree 7 on [-0.333333, 0.333333], error 2^-26.25.
pub(super) const LOG_F32: [f64; 8] = [
    0.3333321511745453,
    -0.2499978393316269,
    0.2001047432422638,
    -0.16681188344955444,
    0.1400456726551056,
    -0.12173322588205338,
    0.1399143487215042,
    -0.12924203276634216,
];
/// r of log((1 + s) / (1 - s)) = 2 s + s z r(z), z = s^2, relative to log. Degree 6 on [0.0, 0.0294667], error 2^-59.15.
pub(super) const LOG_F64: [f64; 7] = [
    0.6666666666666735,
    0.39999999999409214,
    0.2857142874375314,
    0.22222198417232306,
    0.18183573295315741,
    0.1531379756868339,
    0.14798733161346303,
];
