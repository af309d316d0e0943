"""The normal distribution between two bounds: its mass, and draws from it."""

from __future__ import annotations

import math

import numpy as np

from quorate.core.arrays import Floats
from quorate.models.compiled import kernel

ROOT2 = math.sqrt(2.0)
FAR = 30.0
"""Standard deviations beyond which a tail is drawn by rejection and its mass taken from its expansion."""
TRIES = 200
IMPOSSIBLE = -1e300
"""Log density of what cannot be; below `POSSIBLE` nothing may start."""
POSSIBLE = -1e290


@kernel
def cdf(x: float) -> float:
    """Standard normal distribution function, accurate in relative terms far into the lower tail."""
    return 0.5 * math.erfc(-x / ROOT2)


@kernel
def horner(coefficients: tuple[float, ...], x: float) -> float:
    """A polynomial, highest power first."""
    value = 0.0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


# Wichura's algorithm AS 241 (PPND16): rational approximations of the normal quantile in three regions.
CENTRE_TOP = (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
              13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608)  # fmt: skip
CENTRE_BOTTOM = (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
                 5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0)  # fmt: skip
NEAR_TOP = (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
            3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734)  # fmt: skip
NEAR_BOTTOM = (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
               0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0)  # fmt: skip
FAR_TOP = (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
           0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772)  # fmt: skip
FAR_BOTTOM = (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
              0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0)  # fmt: skip


@kernel
def quantile(p: float) -> float:
    """Inverse of the standard normal distribution function (algorithm AS 241), sharp for p near 0."""
    centred = p - 0.5
    if abs(centred) <= 0.425:
        r = 0.180625 - centred * centred
        return centred * horner(CENTRE_TOP, r) / horner(CENTRE_BOTTOM, r)
    tail = max(p if centred < 0.0 else 1.0 - p, 1e-320)
    r = math.sqrt(-math.log(tail))
    if r <= 5.0:
        x = horner(NEAR_TOP, r - 1.6) / horner(NEAR_BOTTOM, r - 1.6)
    else:
        x = horner(FAR_TOP, r - 5.0) / horner(FAR_BOTTOM, r - 5.0)
    return -x if centred < 0.0 else x


@kernel
def _far_tail(rng: np.random.Generator, lower: float, upper: float) -> float:
    """A standard normal between bounds far above 0: an exponential proposal, accepted almost always."""
    width = upper - lower
    reach = -math.expm1(-lower * width)  # mass of the exponential below the upper bound
    x = 0.0
    for _ in range(TRIES):
        x = min(-math.log1p(-rng.random() * reach) / lower, width)
        if rng.random() < math.exp(-0.5 * x * x):
            break
    return lower + x


@kernel
def _upper_tail(rng: np.random.Generator, lower: float, upper: float) -> float:
    """A standard normal between two bounds that are not below 0, through its upper tail where digits are not lost."""
    if lower > FAR:
        return _far_tail(rng, lower, upper)
    above_lower, above_upper = cdf(-lower), cdf(-upper)
    return -quantile(above_upper + rng.random() * (above_lower - above_upper))


@kernel
def truncated_normal(rng: np.random.Generator, lower: float, upper: float) -> float:
    """A standard normal between two bounds; the lower one where they leave no room."""
    if not lower < upper:
        return lower
    if lower >= 0.0:
        x = _upper_tail(rng, lower, upper)
    elif upper <= 0.0:
        x = -_upper_tail(rng, -upper, -lower)
    else:
        below, above = cdf(lower), cdf(-upper)
        x = quantile(below + rng.random() * (1.0 - below - above))
    return min(max(x, lower), upper)


@kernel
def _log_far_mass(near: float, far: float) -> float:
    """Log mass between two bounds far below 0 (far < near), by the expansion of the tail."""
    square = 1.0 / (near * near)
    log_tail = -0.5 * near * near - math.log(-near * 2.5066282746310002) + math.log1p(-square * (1.0 - 3.0 * square))
    left_out = -0.5 * (far - near) * (far + near) + math.log(near / far)  # log of the part below `far`, as a share
    share = -math.expm1(left_out)
    return log_tail + math.log(share) if share > 0.0 else IMPOSSIBLE


def _log_cdf_pieces() -> Floats:
    """Polynomials of degree five that meet the logarithm of the normal distribution function and two derivatives."""
    x = np.linspace(-FAR, CERTAIN, round((CERTAIN + FAR) * PIECES) + 1)
    below = np.array([0.5 * math.erfc(-value / ROOT2) for value in x])
    value, step = np.log(below), 1.0 / PIECES
    slope = np.exp(-0.5 * x * x) / (below * math.sqrt(2.0 * math.pi))
    curve = -slope * (x + slope)
    f, g, h = value, step * slope, step * step * curve  # in units of a piece
    rise, turn, bend = f[1:] - f[:-1], g[1:] - g[:-1], h[1:] - h[:-1]
    top = rise - g[:-1] - 0.5 * h[:-1]
    steep = turn - h[:-1]
    cubic = 10.0 * top - 4.0 * steep + 0.5 * bend
    quartic = -15.0 * top + 7.0 * steep - bend
    quintic = 6.0 * top - 3.0 * steep + 0.5 * bend
    return np.ascontiguousarray(np.stack([f[:-1], g[:-1], 0.5 * h[:-1], cubic, quartic, quintic], axis=1))


CERTAIN = 9.0
"""Standard deviations above which the normal distribution function is 1 to the last digit."""
PIECES = 8
LOG_CDF = _log_cdf_pieces()


@kernel
def log_cdf(x: float) -> float:
    """Logarithm of the standard normal distribution function from -FAR on, to 1e-9: many times as fast as erfc."""
    if not x < CERTAIN:  # NaN too: it has no place among the pieces
        return 0.0
    at = (x + FAR) * PIECES
    piece = int(at)
    t = at - piece
    c = LOG_CDF[piece]
    return float(c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * (c[4] + t * c[5])))))


@kernel
def log_mass_between(
    lower: Floats, upper: Floats, mean: Floats, slope: Floats, t: float, scale: float, sd: float
) -> float:
    """Sum over cases of the log mass of N(scale * mean + t * slope, sd) between its bounds: all of shape (n,).

    Shares of a mass are multiplied and their logarithm taken only when the product gets small: logarithms cost most.
    """
    total, product, precision = 0.0, 1.0, 1.0 / sd
    for i in range(mean.shape[0]):
        centre = scale * mean[i] + t * slope[i]
        near, far = (upper[i] - centre) * precision, (lower[i] - centre) * precision
        if near + far > 0.0:  # mirror, so that the mass lies low and the difference keeps its digits
            near, far = -far, -near
        if near < 1.0 - FAR:  # from here on the far side, if it lies beyond FAR, can be left out
            total += _log_far_mass(near, far)
            continue
        log_below = log_cdf(near)
        total += log_below
        if far > -CERTAIN or near < -5.0:  # elsewhere the far side is too small to change a digit
            if not far < near:
                return IMPOSSIBLE
            if far > -FAR:
                product *= -math.expm1(log_cdf(far) - log_below)
            if product < 1e-100:
                if not product > 0.0:
                    return IMPOSSIBLE
                total += math.log(product)
                product = 1.0
    return total + math.log(product)
