"""What the paper reports in numbers, each with its place: facts to hold our own figures against.

Kelly, Boyd, Showalter, Steyvers and Smyth: Bayesian Inference for Correlated Human Experts and Classifiers (ICML 2025).
Its figures are drawings: of them only what the text says in numbers is here.
"""

from __future__ import annotations

from quorate.reporting.paper import Claim

PANELS = {
    "chestxray": "ChestX-ray",
    "chaoyang": "Chaoyang",
    "cifar10h": "CIFAR-10H",
    "imagenet16h": "ImageNet-16H",
}
"""The data sets of section 7.1 in the paper's order."""

SHIFT = "imagenet16h_shift"
"""The streams of section 7.4.2 whose images become noisier half-way."""

MAX_ERRORS = (0.0, 0.005, 0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.1, 0.2)
"""The thresholds: those that the authors' program goes through, and the two beyond them."""

THEIRS, OURS, INFEXP, CONFUSION, FLOOR = "bayes:paper", "bayes:quorate", "infexp", "confusion", "hindsight:quorate"

NEVER = Claim(words="never")
REACHED = Claim(words="reached")

ZERO_ERROR = {
    THEIRS: {"chestxray": Claim(2.55), "chaoyang": Claim(1.58), "cifar10h": REACHED, "imagenet16h": REACHED},
    INFEXP: {"chestxray": Claim(3.16), "chaoyang": Claim(1.82), "cifar10h": NEVER, "imagenet16h": NEVER},
    CONFUSION: dict.fromkeys(PANELS, NEVER),
}
"""Section 7.3: mean queries at which the error is 0."""

SMALL = Claim(0.001, below=True)

CALIBRATION = {
    0.05: {"chestxray": Claim(0.009), "chaoyang": Claim(0.008), "cifar10h": Claim(0.007), "imagenet16h": Claim(0.009)},
    0.025: {"chestxray": Claim(0.004), "chaoyang": Claim(0.003), "cifar10h": SMALL, "imagenet16h": Claim(0.003)},
    0.01: dict.fromkeys(PANELS, SMALL),
}
"""Table 1: expected calibration error by error threshold."""

EDGES = {
    "first 50": {"chestxray": 2.56, "chaoyang": 2.10, "cifar10h": 1.98, "imagenet16h": 2.07},
    "last 50": {"chestxray": 1.57, "chaoyang": 1.61, "cifar10h": 1.10, "imagenet16h": 1.32},
}
"""Table 2: queries in the first and the last 50 of 250 cases at a threshold of .01."""

SHIFT_ERROR = Claim(0.0)
"""Section 7.4.2: the error before and after the shift."""
SHIFT_AT = 125
SHIFT_WINDOW = 50
SHIFT_MAX_ERROR = 0.01

EARLY = Claim(words="more early on")
"""Section 4: what larger sigma_mu and sigma_sigma, or eta above 1, are said to lead to."""

ACCURACY: dict[str, tuple[tuple[float, ...], ...]] = {
    "table3": ((86.2,), (90.5,), (92.3,), (83.7,), (93.2,), (88.3,)),
    "table4": (
        (91.2, 55.3, 96.8, 67.2, 80.5),
        (67.5, 78.8, 99.2, 96.3, 85.9),
        (92.3, 62.9, 98.4, 59.9, 81.7),
        (100.0, 96.5, 100.0, 100.0, 99.2),
    ),
    "table5": (
        (82.0, 95.6, 95.6, 91.5),
        (100.0, 78.9, 99.8, 93.7),
        (99.7, 99.7, 75.5, 89.8),
        (69.5, 99.6, 99.9, 99.6),
    ),
    "table6": (
        (81.1, 95.9, 82.4, 86.0),
        (96.6, 82.4, 97.9, 92.6),
        (95.5, 98.1, 81.2, 91.7),
        (86.9, 95.9, 96.0, 92.5),
    ),
    "table7": (
        (85.3, 100.0, 88.8, 87.0),
        (100.0, 100.0, 100.0, 100.0),
        (100.0, 100.0, 86.0, 93.3),
        (80.7, 100.0, 100.0, 89.9),
    ),
    "table8": (
        (78.8, 44.4, 82.4, 81.6),
        (100.0, 44.4, 100.0, 98.7),
        (99.5, 100.0, 57.7, 81.3),
        (35.0, 88.8, 100.0, 64.5),
    ),
}
"""Appendices C and D, per cent: the classifier, then each expert; each class, then all (table 3: all alone)."""

ACCURACY_OF = {
    "table3": "chestxray",
    "table4": "chaoyang",
    "table5": "cifar10h",
    "table6": "imagenet16h",
    "table7": SHIFT,
    "table8": SHIFT,
}
"""The table of votes that each of them describes; 7 and 8 are the streams before and after the shift."""
