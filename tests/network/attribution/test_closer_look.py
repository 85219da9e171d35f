"""The closer formula is closer, and its rules integrate what they promise."""

import numpy as np
import torch

from sasanet.network.attribution import closer_look


def test_the_rule_with_slopes_is_exact_to_degree_seven():
    w, slope, inner, middle = closer_look.weights()
    for degree in range(8):

        def f(t, n=degree):
            return t**n

        def steep(t, n=degree):
            return n * t ** max(0, n - 1) if n else 0.0

        found = w * (f(0.0) + f(1.0)) + slope * (steep(0.0) - steep(1.0))
        found += inner * (f(0.2) + f(0.8)) + middle * f(0.5)
        np.testing.assert_allclose(found, 1 / (degree + 1), atol=1e-12)


def test_the_rule_for_wide_tables_is_exact_to_degree_seven():
    ends, inner, middle = closer_look.LOBATTO_WEIGHTS
    early, _, late = closer_look.LOBATTO
    for degree in range(9):
        found = ends * (0.0**degree + 1) + inner * (early**degree + late**degree)
        found += middle * 0.5**degree
        close = abs(found - 1 / (degree + 1)) < 1e-12
        assert close == (degree <= 7)


def test_steep_profiles_are_integrated_nearly():
    w, slope, inner, middle = closer_look.weights()
    for m in (3, 10, 17, 25):
        t = torch.tensor([0.2, 0.8, 0.5], dtype=torch.float64)
        early, late, half = ((1 - t) ** m).tolist()
        found = w - slope * m + inner * (early + late) + middle * half
        assert abs(found * (m + 1) - 1) < 0.04
