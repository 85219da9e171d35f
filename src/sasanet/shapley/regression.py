"""Shapley values as the solution of a weighted regression: KernelSHAP and LeverageSHAP.

Sizes: n rows (one game each), d features, m coalitions, K outputs.

The Shapley values are the best additive fit of the game (Lundberg and Lee, 2017):

    min_φ Σ_{∅ ≠ S ≠ N} μ(S) [v(S) − v(∅) − Σ_{i ∈ S} φ_i]²   with Σ_i φ_i = v(N) − v(∅),

with μ(S) = (d − 1) / (C(d, s) s (d − s)). In a sample each coalition has the weight μ(S) / π(S),
where π(S) is the probability that it is drawn. Coalitions are drawn without replacement: a size
with few coalitions is drawn completely (π = 1), and if every size is, the result is exact.
"""

from __future__ import annotations

import itertools
import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sasanet.arrays import Floats, Masks
from sasanet.errors import InvalidInputError
from sasanet.shapley.game import CheckedGame, ValueFunction
from sasanet.validation import check_integer, make_generator

Sampling = Literal["kernel", "leverage"]


def kernel_shapley(
    value: ValueFunction,
    n_features: int,
    n_coalitions: int,
    paired: bool = True,
    sampling: Sampling = "kernel",
    random_state: int = 0,
) -> Floats:
    """Estimate Shapley values by weighted least squares over random coalitions.

    Unlike :func:`permutation_shapley` it has a small bias, which vanishes faster than the noise,
    and no standard errors.

    Parameters
    ----------
    value : value function
        Masks (m, d) → v(S) as (m,), (n, m) or (n, m, K).
    n_features : int
        d.
    n_coalitions : int
        Coalitions to evaluate besides ∅ and N, even if paired; 2^d − 2 or more means all of them.
        With fewer than d − 1 (if paired, pairs) the solution of smallest norm is returned.
    paired : bool
        Whether to draw each coalition with its complement.
    sampling : {"kernel", "leverage"}
        How sizes s are drawn. ``"kernel"``: in proportion to 1 / (s (d − s)), their total weight in
        the regression (KernelSHAP). ``"leverage"``: all equally likely, in proportion to the
        leverage scores 1 / C(d, s) of the coalitions (LeverageSHAP, Musco and Witter, 2025).
    random_state : int
        Seed of the coalitions.

    Returns
    -------
    ndarray (d,), (n, d) or (n, d, K)
        Sums to v(N) − v(∅) over features.

    Examples
    --------
    >>> kernel_shapley(lambda masks: masks @ [1.0, 2.0, 0.0], 3, n_coalitions=4).round(9) + 0.0
    array([1., 2., 0.])
    """
    d = check_integer("n_features", n_features, 1, None, "a game has at least one feature")
    _check(n_coalitions, paired, sampling)
    game, generator = CheckedGame(value, d), make_generator(random_state)
    masks, weights = _draw(d, n_coalitions, paired, sampling, generator)
    total = game.full - game.empty
    # φ = total / d + β with Σβ = 0, so the constraint holds for every β. On such β a mask acts like
    # the mask minus its mean, and the expected Gram matrix is a multiple of the identity: the
    # normal equations are well conditioned and take (d, d) of memory.
    gram, moment = np.zeros((d, d)), np.zeros((len(total), d, total.shape[1]))
    size = game.chunk()
    for start in range(0, len(masks), size):
        part = masks[start : start + size]
        share = part.mean(axis=1, keepdims=True)
        weighted = (part - share) * weights[start : start + size, None]
        gram += weighted.T @ (part - share)
        rest = game(part) - share * total[:, None]
        moment += np.einsum("nmk,md->ndk", rest, weighted, optimize=True)
    beta = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ moment
    return game.shaped(beta + total[:, None] / d)


def _check(n_coalitions: int, paired: bool, sampling: str) -> None:
    remedy = "10 coalitions per feature are a good start"
    check_integer("n_coalitions", n_coalitions, 2 if paired else 1, None, remedy)
    if paired and n_coalitions % 2:
        raise InvalidInputError(
            f"n_coalitions must be even when paired, got {n_coalitions}; "
            "give an even number or paired=False"
        )
    if sampling not in ("kernel", "leverage"):
        raise InvalidInputError(
            f"sampling must be 'kernel' or 'leverage', got {sampling!r}; choose one of them"
        )


def _draw(
    d: int, n_coalitions: int, paired: bool, sampling: str, generator: np.random.Generator
) -> tuple[Masks, Floats]:
    """Draw distinct random coalitions, with μ(S) / π(S) of each up to a factor: (m, d), (m,).

    If paired, the smaller coalition is drawn and its complement added; at s = d / 2 the one drawn
    is the one with feature 0.
    """
    sizes = np.arange(1, d // 2 + 1 if paired else d)
    halved = (2 * sizes == d) & paired  # there are half as many pairs as coalitions
    share = np.where(halved, 0.5, 1.0)
    mass = share / (sizes * (d - sizes))  # μ(S) times the number of S of that size
    totals = [math.comb(d, int(s)) // (1 + int(h)) for s, h in zip(sizes, halved, strict=True)]
    budget = min(n_coalitions // (2 if paired else 1), sum(totals))
    limits = np.array([min(count, budget) for count in totals], dtype=np.float64)
    expected = _allocate(mass if sampling == "kernel" else share, limits, budget)
    counts = _round_at_random(expected, generator)
    drawn = [np.empty((0, d), dtype=bool)]
    for s, h, count in zip(sizes.tolist(), halved, counts.tolist(), strict=True):
        subsets = _subsets(d - int(h), s - int(h), count, generator)
        drawn.append(np.pad(subsets, ((0, 0), (int(h), 0)), constant_values=True))
    masks = np.concatenate(drawn)
    weights = np.repeat(mass / expected, counts)
    return (np.concatenate([masks, ~masks]), np.tile(weights, 2)) if paired else (masks, weights)


def _allocate(mass: Floats, limits: Floats, budget: int) -> Floats:
    """Return the expected number of draws per size: in proportion to the mass, up to the limits.

    What exceeds a limit goes to the other sizes. Shape: (sizes,), (sizes,) → (sizes,).
    """
    expected, free = limits.copy(), np.ones(len(mass), dtype=bool)
    while free.any():
        left = budget - limits[~free].sum()
        expected[free] = left * mass[free] / mass[free].sum()
        over = free & (expected >= limits)
        if not over.any():
            break
        expected[over], free = limits[over], free & ~over
    return expected


def _round_at_random(expected: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    """Round up or down at random, keeping the expected values and the total."""
    whole = np.floor(expected)
    steps = np.floor(np.append(0.0, np.cumsum(expected - whole)) + generator.random())
    return (whole + np.diff(steps)).astype(np.int64)


def _subsets(d: int, size: int, count: int, generator: np.random.Generator) -> Masks:
    """Draw distinct subsets of one size, all equally likely: (count, d) bool."""
    total = math.comb(d, size)
    if 2 * count >= total:  # a large share: list all subsets, at most twice as many as needed
        flat = itertools.chain.from_iterable(itertools.combinations(range(d), size))
        members = np.fromiter(flat, dtype=np.intp, count=total * size).reshape(total, size)
        return _masks_of(members[generator.permutation(total)[:count]], d)
    found = np.empty((0, d), dtype=bool)
    while len(found) < count:  # a small share: draw, and replace duplicates
        members = generator.random((2 * (count - len(found)), d)).argsort(axis=1)[:, :size]
        found = np.concatenate([found, _masks_of(members, d)])
        first = np.unique(np.packbits(found, axis=1), axis=0, return_index=True)[1]
        found = found[np.sort(first)]
    return found[:count]


def _masks_of(members: NDArray[np.intp], d: int) -> Masks:
    """Return lists of features as masks: (m, s) → (m, d) bool."""
    masks = np.zeros((len(members), d), dtype=bool)
    np.put_along_axis(masks, members, True, axis=1)
    return masks
